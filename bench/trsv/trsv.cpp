// SPDX-License-Identifier: Apache-2.0
#include "bench/trsv/trsv.hpp"

#include "tulle/core/fail.hpp"
#include "tulle/op/trsm.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tulle::bench {
namespace {

/// A triangle of a, each row's diagonal entry larger than the sum of the others.
template <class V, class I>
csr<V, I, I> factor(csr_view<V, I, I> a, bool upper) {
  std::vector<I> row_ptr{0}, col;
  std::vector<V> val;
  for (I i = 0; i < a.rows; ++i) {
    double sum = 1;
    std::vector<std::pair<I, V>> row;
    for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if (upper ? a.col[k] > i : a.col[k] < i) {
        double const v = -0.125 * static_cast<double>(1 + k % 5);
        row.emplace_back(a.col[k], static_cast<V>(v));
        sum += std::abs(v);
      }
    row.emplace_back(i, static_cast<V>(sum));
    std::sort(row.begin(), row.end(), [](auto p, auto q) { return p.first < q.first; });
    for (auto const& [j, v] : row) {
      col.push_back(j);
      val.push_back(v);
    }
    row_ptr.push_back(static_cast<I>(col.size()));
  }
  return {unchecked,
          a.rows,
          a.rows,
          array<I>(row_ptr.data(), row_ptr.size()),
          array<I>(col.data(), col.size()),
          array<V>(val.data(), val.size())};
}

template <class V, class I>
contestant make_tulle(triangle_problem<V, I> const& p, bool many, trsv_method method) {
  contestant c;
  auto const n = static_cast<std::size_t>(p.a.rows), width = static_cast<std::size_t>(p.columns);
  std::shared_ptr<trsv_plan> plan;
  trsv_options const how{.triangle = p.upper ? triangle::upper : triangle::lower, .method = method};
  cpu const where{.threads = p.threads};
  c.convert_seconds = seconds_of([&] {
    if (many)
      plan = std::make_shared<trsm_plan>(where, p.a, width, how);
    else
      plan = std::make_shared<trsv_plan>(where, p.a, how);
  });
  c.format = std::string("csr") +
             (method == trsv_method::automatic ? "" : std::string(" ") + name(method));
  c.path = plan->path();
  c.bytes = detail::bytes_of(p.a);
  c.peak_bytes = c.bytes + plan->bytes();
  V* const x = keep_result<V>(c, n * width);
  if (many)
    c.run = [p, plan, x, n, width] {
      tulle::trsm(*plan, V(1), p.a, row_major(p.b, n, width), row_major(x, n, width));
    };
  else
    c.run = [p, plan, x, n] {
      tulle::trsv(*plan, V(1), p.a, vector_view<V const>(p.b, n), vector_view<V>(x, n));
    };
  return c;
}

bool is_asked_for(options const& o, trsv_method m) {
  for (std::string const& asked : o.methods)
    if (asked == "all" || asked == name(m))
      return true;
  return false;
}

template <class V, class I>
std::vector<record> run_one(std::string const& matrix, csr<V, I, I> const& a, bool many,
                            int columns, options const& o, std::vector<std::string>& remarks) {
  if (a.rows != a.cols) {
    remarks.push_back(matrix + ": not square");
    return {};
  }
  csr<V, I, I> const t = factor(a.view(), o.upper);
  auto const width = static_cast<std::size_t>(columns), n = static_cast<std::size_t>(a.rows);
  array<V> const b = operand<V>(n * width);
  array<V> x(n * width, V(0));
  triangle_problem<V, I> const p{t.view(), b.data(), columns, o.upper, threads_of(o)};
  contest c;
  c.about = about(matrix, t, many ? "trsm" : "trsv", o);
  c.about.columns = columns;
  c.flops = 2 * static_cast<double>(c.about.nnz) * columns;
  c.vector_bytes = static_cast<double>(b.bytes() + x.bytes());
  c.bound_bytes = static_cast<double>(detail::bytes_of(p.a)) + c.vector_bytes;
  c.verify = [&](contestant const& who) {
    who.result(x.data());
    return is_product(p.a, x.data(), b.data(), width);
  };
  c.contestants.push_back(read_bound({{t.val.data(), t.val.bytes()},
                                      {t.col.data(), t.col.bytes()},
                                      {t.row_ptr.data(), t.row_ptr.bytes()},
                                      {b.data(), b.bytes()},
                                      {x.data(), x.bytes()}},
                                     p.threads));
  for (trsv_method const m :
       {trsv_method::automatic, trsv_method::serial, trsv_method::levels, trsv_method::sync_free})
    if (is_wanted(o.formats, "csr") && (m == trsv_method::automatic || is_asked_for(o, m)))
      c.contestants.push_back(make_tulle(p, many, m));
  for (auto& peer : ask_peers(o.peers, {over_types<triangle_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> trsv(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  return with_matrix(matrix, o,
                     [&](auto const& a) { return run_one(matrix, a, false, 1, o, remarks); });
}

std::vector<record> trsm(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) {
    std::vector<record> all;
    for (int const columns : o.columns)
      for (record const& r : run_one(matrix, a, true, columns, o, remarks))
        all.push_back(r);
    return all;
  });
}

} // namespace tulle::bench
