// SPDX-License-Identifier: Apache-2.0
#include "bench/kron/kron.hpp"

#include "tulle/op/kron.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/new_matrix.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/source.hpp"

namespace tulle::bench {
namespace {

template <class V, class I>
contestant make_tulle(kron_problem<V, I> const& p) {
  cpu const where{.threads = p.threads};
  return make_new_matrix<V, I>("kron", [p, where] { return tulle::kron(where, p.a, p.b); });
}

template <class V, class I>
csr<V, I, I> tridiagonal(I n) {
  std::vector<I> row_ptr{0}, col;
  std::vector<V> val;
  for (I i = 0; i < n; ++i) {
    for (I j = std::max<I>(0, i - 1); j <= std::min<I>(n - 1, i + 1); ++j) {
      col.push_back(j);
      val.push_back(static_cast<V>(i == j ? 2 : -1)); // exact, so that all have the same bits
    }
    row_ptr.push_back(static_cast<I>(col.size()));
  }
  return csr<V, I, I>(n, n, array<I>(row_ptr.data(), row_ptr.size()),
                      array<I>(col.data(), col.size()), array<V>(val.data(), val.size()));
}

template <class V, class I>
csr<V, I, I> plain_product(kron_problem<V, I> const& p) {
  csr_view<V, I, I> const &a = p.a, &b = p.b;
  std::vector<I> row_ptr{0}, col;
  std::vector<V> val;
  for (I i = 0; i < a.rows; ++i)
    for (I m = 0; m < b.rows; ++m) {
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        for (I l = b.row_ptr[m]; l < b.row_ptr[m + 1]; ++l) {
          col.push_back(a.col[k] * b.cols + b.col[l]);
          val.push_back(a.val[k] * b.val[l]);
        }
      row_ptr.push_back(static_cast<I>(col.size()));
    }
  return csr<V, I, I>(unchecked, a.rows * b.rows, a.cols * b.cols,
                      array<I>(row_ptr.data(), row_ptr.size()), array<I>(col.data(), col.size()),
                      array<V>(val.data(), val.size()));
}

// The bound reads what a call must read, A, and what it must write.
template <class V, class I>
std::vector<record> run_kron(std::string const& matrix, csr<V, I, I> const& source,
                             options const& o, std::vector<std::string>& remarks) {
  csr<V, I, I> const a = source.to_csr({.threads = threads_of(o)});
  csr<V, I, I> const b = tridiagonal<V, I>(8);
  kron_problem<V, I> const p{a.view(), b.view(), threads_of(o)};
  csr<V, I, I> const expected = plain_product(p);
  contest c;
  c.about = about(matrix, a, "kron", o);
  c.bound_bytes = c.moved_bytes = static_cast<double>(a.bytes() + expected.bytes());
  c.verify = [&](contestant const& who) {
    csr<V, I, I> found;
    who.result(&found);
    return found == expected;
  };
  c.contestants.push_back(read_bound(stretches({a.view(), expected.view()}), p.threads));
  if (is_wanted(o.formats, "csr"))
    c.contestants.push_back(make_tulle(p));
  for (auto& peer : ask_peers(o.peers, {over_types<kron_problem>(p), o.backend}, remarks))
    c.contestants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> kronecker_products(std::string const& matrix, options const& o,
                                       std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_kron(matrix, a, o, remarks); });
}

} // namespace tulle::bench
