// SPDX-License-Identifier: Apache-2.0

// Contestants that must not take a place: one that is off by a little, one that does nothing, one
// that throws. The fourth is right, if not fast. So it goes for each operation.
#include "tulle/op/assemble.hpp"
#include "tulle/op/spgemm.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

#include <stdexcept>

namespace tulle::bench {

template <class V, class I>
contestant make(spmv_problem<V, I> const& p, std::string const& format, V factor) {
  contestant c;
  c.peer = "broken";
  c.format = format;
  c.path = "made to be found out";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const y = keep_result(c, p);
  c.run = [p, y, factor] {
    for (I i = 0; i < p.a.rows; ++i) {
      y[i] = 0;
      for (I k = p.a.row_ptr[i]; k < p.a.row_ptr[i + 1]; ++k)
        y[i] += factor * p.a.val[k] * p.x[p.a.col[k]];
    }
  };
  return c;
}

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  contestant off = make(p, "off", V(1.0001));
  contestant lazy = make(p, "lazy", V(1));
  lazy.run();
  lazy.run = [] {};
  contestant thrower = make(p, "thrower", V(1));
  thrower.run = [] { throw std::runtime_error("out of luck"); };
  return {off, lazy, thrower, make(p, "right", V(1))};
}

contestant named(std::string const& format) {
  contestant c;
  c.peer = "broken";
  c.format = format;
  c.path = "made to be found out";
  return c;
}

/// One who makes what make() gives.
template <class V, class I, class Make>
contestant maker(std::string const& format, Make const& make) {
  contestant c = named(format);
  auto const kept = keep_matrix<V, I>(c);
  c.run = [make, kept] { *kept = make(); };
  return c;
}

/// The row of each entry.
template <class V, class I>
std::vector<I> rows_of(csr_view<V, I, I> const& a) {
  std::vector<I> row;
  for (I i = 0; i < a.rows; ++i)
    row.insert(row.end(), static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]), i);
  return row;
}

template <class V, class I>
std::vector<contestant> contestants(transpose_problem<V, I> const& p) {
  auto const nnz = static_cast<std::size_t>(p.a.nnz);
  return {maker<V, I>("untouched", [p] { return p.a.to_csr(); }), maker<V, I>("right", [p, nnz] {
            return from_triplets<V, I>(p.a.cols, p.a.rows, {p.a.col, nnz}, rows_of(p.a),
                                       {p.a.val, nnz});
          })};
}

// Zeros in the whole of row 0 are no part of the sum and do no harm.
template <class V, class I>
csr<V, I, I> sum(add_problem<V, I> const& p, V alpha, bool zeros) {
  std::vector<I> row = rows_of(p.a);
  std::vector<I> const rows_of_b = rows_of(p.b);
  row.insert(row.end(), rows_of_b.begin(), rows_of_b.end());
  std::vector<I> col(p.a.col, p.a.col + p.a.nnz);
  col.insert(col.end(), p.b.col, p.b.col + p.b.nnz);
  std::vector<V> val(p.a.val, p.a.val + p.a.nnz);
  for (V& v : val)
    v *= alpha;
  val.insert(val.end(), p.b.val, p.b.val + p.b.nnz);
  for (I j = 0; zeros && j < p.a.cols; ++j) {
    row.push_back(0);
    col.push_back(j);
    val.push_back(0);
  }
  return from_triplets<V, I>(p.a.rows, p.a.cols, row, col, val);
}

template <class V, class I>
std::vector<contestant> contestants(add_problem<V, I> const& p) {
  return {maker<V, I>("unscaled", [p] { return sum(p, V(1), false); }),
          maker<V, I>("right", [p] { return sum(p, p.alpha, false); }),
          maker<V, I>("right with zeros", [p] { return sum(p, p.alpha, true); })};
}

template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p) {
  return {maker<V, I>("one entry off",
                      [p] {
                        csr<V, I, I> c = tulle::spgemm(reference{}, p.a, p.b);
                        c.val[c.val.size() / 2] += V(1);
                        return c;
                      }),
          maker<V, I>("right", [p] { return tulle::spgemm(reference{}, p.a, p.b); })};
}

template <class V, class I>
std::vector<contestant> contestants(assemble_problem<V, I> const& p) {
  auto const assembled = [p] { return from_triplets<V, I>(p.rows, p.cols, p.row, p.col, p.val); };
  return {maker<V, I>("unsorted",
                      [assembled] {
                        csr<V, I, I> a = assembled();
                        std::swap(a.col[0], a.col[1]);
                        std::swap(a.val[0], a.val[1]);
                        return a;
                      }),
          maker<V, I>("right", assembled)};
}

// One that does nothing, and of scatter one that also writes where x has no entry.
template <class V, class I>
std::vector<contestant> contestants(level1_problem<V, I> const& p) {
  contestant idle = named("idle");
  idle.run = [] {};
  if (p.function == level1_function::dot || p.function == level1_function::dense_dot)
    keep_result<V>(idle, 1);
  if (p.function == level1_function::add)
    keep_matrix<V, I>(idle);
  if (p.function != level1_function::scatter)
    return {idle};
  auto const scatter = [p] {
    for (std::size_t k = 0; k < p.index.size(); ++k)
      p.y[static_cast<std::size_t>(p.index[k])] = p.val[k];
  };
  contestant stray = named("stray");
  stray.run = [p, scatter] {
    std::fill(p.y.begin(), p.y.end(), V(0));
    scatter();
  };
  contestant right = named("right");
  right.run = scatter;
  return {idle, stray, right};
}

} // namespace tulle::bench

TULLE_PEER
