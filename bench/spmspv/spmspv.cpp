// SPDX-License-Identifier: Apache-2.0
#include "bench/spmspv/spmspv.hpp"

#include "tulle/op/spmspv.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/vectors.hpp"

#include <cmath>
#include <fmt/format.h>

namespace tulle::bench {
namespace {

template <class V, class I>
sparse_vector_view<V, I> vector_of(spmspv_problem<V, I> const& p) {
  return {unchecked, p.a.cols, static_cast<I>(p.index.size()), p.index.data(), p.val.data()};
}
/// A vector as what the problem asks for: a csr of one row.
template <class V, class I>
csr<V, I, I> as_row(sparse_vector_view<V, I> y) {
  auto const n = static_cast<std::size_t>(y.nnz);
  return {unchecked, 1, y.size, {0, y.nnz}, array<I>(y.index, n), array<V>(y.val, n)};
}

template <class V, class I, class A>
contestant make_tulle(spmspv_problem<V, I> const& p, std::shared_ptr<A> const& a,
                      std::string const& format, std::string const& path, double convert_seconds) {
  auto const y = std::make_shared<sparse_vector<V, I>>();
  contestant c;
  c.format = format;
  c.path = path;
  c.threads = p.threads;
  c.convert_seconds = convert_seconds;
  c.bytes = c.peak_bytes = a->bytes();
  c.run = [p, a, y] { *y = tulle::spmspv(cpu{.threads = p.threads}, *a, vector_of(p)); };
  c.result = [y](void* to) { *static_cast<csr<V, I, I>*>(to) = as_row<V, I>(y->view()); };
  c.poison = [y] { *y = {}; };
  return c;
}

/// With x filled up, as those do who have spmv alone.
template <class V, class I>
contestant make_dense(spmspv_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  auto const rows = static_cast<std::size_t>(p.a.rows), cols = static_cast<std::size_t>(p.a.cols);
  auto const plan = std::make_shared<spmv_plan>(where, p.a);
  auto const y = std::make_shared<array<V>>(rows, V(0));
  contestant c;
  c.format = "csr spmv";
  c.path = "spmv: " + plan->path();
  c.threads = p.threads;
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  c.run = [p, plan, y, rows, cols] {
    tulle::spmv(*plan, V(1), p.a, vector_view<V const>(p.x, cols), V(0),
                vector_view<V>(y->data(), rows));
  };
  c.result = [y](void* to) {
    *static_cast<csr<V, I, I>*>(to) = as_row<V, I>(
        sparse_vector<V, I>::from_dense(vector_view<V const>(y->data(), y->size())).view());
  };
  c.poison = [y] { std::fill(y->begin(), y->end(), std::numeric_limits<V>::quiet_NaN()); };
  return c;
}

/// Each element within (n + 2) eps sum |a x| of the sum in extended precision, for n products.
template <class V, class I>
bool is_product_of(spmspv_problem<V, I> const& p, csr<V, I, I> const& row) {
  array<V> const y = sparse_vector<V, I>(row.cols, array<I>(row.col), array<V>(row.val)).to_dense();
  if (y.size() != static_cast<std::size_t>(p.a.rows))
    return false;
  return is_product(p.a, p.x, y.data());
}

template <class V, class I>
std::vector<record> run_spmspv(std::string const& matrix, csr<V, I, I> const& a, double density,
                               options const& o, std::vector<std::string>& remarks) {
  auto const cols = static_cast<std::size_t>(a.cols);
  auto const step = static_cast<std::size_t>(std::lround(1 / density));
  std::vector<I> index;
  std::uint64_t state = 1;
  for (std::size_t j = 0; j < cols; ++j) { // a place in `step` on average, always the same ones
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 33) % step == 0)
      index.push_back(static_cast<I>(j));
  }
  array<V> const val = operand<V>(index.size());
  array<V> x(cols, V(0));
  for (std::size_t k = 0; k < index.size(); ++k)
    x[index[k]] = val[k];
  spmspv_problem<V, I> const p{a.view(), index, {val.data(), val.size()}, x.data(), threads_of(o)};
  std::size_t products = 0; // what must be read: the columns that x names
  for (I k = 0; k < p.a.nnz; ++k)
    products += x[a.col[k]] != V(0);
  contest c;
  c.about = about(fmt::format("{} x {:g} %", matrix, 100 * density), a, "spmspv", o);
  c.flops = 2 * static_cast<double>(products);
  c.bound_bytes = c.moved_bytes = static_cast<double>(detail::bytes_of(p.a));
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return is_product_of(p, found);
  };
  c.contestants.push_back(read_bound(stretches({p.a}), p.threads));
  if (is_wanted(o.formats, "csc")) {
    auto by_columns = std::make_shared<csc<V, I, I>>();
    double const seconds =
        seconds_of([&] { *by_columns = csc<V, I, I>::from_csr(p.a, {}, {.threads = p.threads}); });
    c.contestants.push_back(make_tulle(p, by_columns, "csc", "columns", seconds));
  }
  if (is_wanted(o.formats, "csr")) {
    c.contestants.push_back(make_tulle(p, std::make_shared<csr<V, I, I>>(a), "csr", "rows", 0.0));
    c.contestants.push_back(make_dense(p));
  }
  for (auto& peer : ask_peers(o.peers, {over_types<spmspv_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

// The bound reads all of A, as spmv does: a ratio above 1 is what a sparse x saves.
std::vector<record> sparse_products(std::string const& matrix, options const& o,
                                    std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) {
    std::vector<record> all;
    for (double const density : {0.0001, 0.001, 0.01, 0.1})
      for (record const& r : run_spmspv(matrix, a, density, o, remarks))
        all.push_back(r);
    return all;
  });
}

} // namespace tulle::bench
