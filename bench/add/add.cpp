// SPDX-License-Identifier: Apache-2.0
#include "bench/add/add.hpp"

#include "tulle/op/add.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/new_matrix.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/shifted.hpp"
#include "bench/source.hpp"
#include "bench/transposed.hpp"

namespace tulle::bench {
namespace {

// A power of two: the product is exact, so that all who are right have the same bits, fused or not.
constexpr double alpha = .5;

template <class V, class I>
contestant make_tulle(add_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  return make_new_matrix<V, I>("add",
                               [p, where] { return tulle::add(where, p.alpha, p.a, V(1), p.b); });
}

template <class V, class I>
contestant make_planned(add_problem<V, I> const& p) {
  using plan_type = add_plan<V, I, I>;
  std::shared_ptr<plan_type> plan;
  double const seconds =
      seconds_of([&] { plan = std::make_shared<plan_type>(cpu{.threads = p.threads}, p.a, p.b); });
  return make_planned_matrix<V, I>(plan, seconds,
                                   [p, plan] { tulle::add(*plan, p.alpha, p.a, V(1), p.b); });
}

/// alpha A + B by a loop that merges rows, without the zeros that come out.
template <class V, class I>
csr<V, I, I> plain_sum(add_problem<V, I> const& p) {
  csr_view<V, I, I> const& a = p.a;
  csr_view<V, I, I> const& b = p.b;
  std::vector<I> row_ptr{0}, col;
  std::vector<V> val;
  for (I i = 0; i < a.rows; ++i) {
    I k = a.row_ptr[i];
    I l = b.row_ptr[i];
    while (k < a.row_ptr[i + 1] || l < b.row_ptr[i + 1]) {
      bool const of_b = k == a.row_ptr[i + 1] || (l < b.row_ptr[i + 1] && b.col[l] <= a.col[k]);
      bool const of_a = l == b.row_ptr[i + 1] || (k < a.row_ptr[i + 1] && a.col[k] <= b.col[l]);
      I const j = of_a ? a.col[k] : b.col[l];
      V const sum = (of_a ? p.alpha * a.val[k++] : V(0)) + (of_b ? b.val[l++] : V(0));
      if (sum != V(0)) {
        col.push_back(j);
        val.push_back(sum);
      }
    }
    row_ptr.push_back(static_cast<I>(col.size()));
  }
  return csr<V, I, I>(unchecked, a.rows, a.cols, array<I>(row_ptr.data(), row_ptr.size()),
                      array<I>(col.data(), col.size()), array<V>(val.data(), val.size()));
}

// The bound reads what a call must read, A and B, and what it must write, C.
template <class V, class I>
std::vector<record> run_add(std::string const& matrix, csr<V, I, I> const& source, options const& o,
                            std::vector<std::string>& remarks) {
  if (o.with == "transpose" && source.rows != source.cols) {
    remarks.push_back(matrix + " is not square and has no sum with its transpose");
    return {};
  }
  csr<V, I, I> const a = source.to_csr({.threads = threads_of(o)});
  csr<V, I, I> const b = o.with == "same"        ? a
                         : o.with == "transpose" ? transposed(a.view())
                                                 : shifted(a.view());
  add_problem<V, I> const p{V(alpha), a.view(), b.view(), threads_of(o)};
  csr<V, I, I> const expected = plain_sum(p);
  contest c;
  c.about = about(o.with == "shift" ? matrix : matrix + " + " + o.with, a, "add", o);
  c.bound_bytes = c.moved_bytes = static_cast<double>(a.bytes() + b.bytes() + expected.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return without_zeros(std::move(found)) == expected;
  };
  c.contestants.push_back(read_bound(stretches({a.view(), b.view(), expected.view()}), p.threads));
  if (is_wanted(o.formats, "csr")) {
    c.contestants.push_back(make_tulle(p));
    c.contestants.push_back(make_planned(p));
  }
  for (auto& peer : ask_peers(o.peers, {over_types<add_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> sums(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_add(matrix, a, o, remarks); });
}

} // namespace tulle::bench
