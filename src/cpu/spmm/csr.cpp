// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmm/csr.cpp:  C = alpha*A*B + beta*C, A in CSR, by rows.hpp.
#include "tulle/format/csr.hpp"

#include "cpu/spmm/rows.hpp"

namespace tulle::simd::TULLE_ISA {
namespace {

template <class V, class I, class O>
struct csr_rows {
  static constexpr int most_pieces = 1;
  std::int64_t rows, entries;
  O const* ptr;
  I const* col;
  V const* val;

  std::int64_t row(std::int64_t k) const { return k; }
  std::int64_t size(std::int64_t i) const { return ptr[i + 1] - ptr[i]; }
  int cut(std::int64_t i, std::int64_t from, std::int64_t to, piece<V, I>* list) const {
    *list = {val + ptr[i] + from, col + ptr[i] + from, to - from, nullptr};
    return 1;
  }
  void deal(std::int64_t chunks, std::int64_t* first) const {
    double const all = static_cast<double>(entries) + static_cast<double>(row_cost * rows);
    for (std::int64_t u = 0; u <= chunks; ++u) {
      auto const wanted =
          static_cast<std::int64_t>(all / static_cast<double>(chunks) * static_cast<double>(u));
      std::int64_t lo = u == 0 ? 0 : first[u - 1];
      std::int64_t hi = rows;
      while (u < chunks && lo < hi) {
        std::int64_t const mid = (lo + hi) / 2;
        if (ptr[mid] + row_cost * mid < wanted)
          lo = mid + 1;
        else
          hi = mid;
      }
      first[u] = u < chunks ? lo : rows;
    }
  }
};

template <class V, class I, class O>
std::size_t prepare(csr_view<V, I, O> const& a, detail::dense_ref const& b,
                    detail::dense_ref const&, plan_view& p) {
  return prepare_rows<plain<V>>(a.rows, a.nnz, b, p);
}

template <class V, class I, class O>
void spmm(V alpha, csr_view<V, I, O> const& a, detail::dense_ref const& b, V beta,
          detail::dense_ref const& c, plan_view const& p) {
  csr_rows<plain<V>, I, O> const rows = {a.rows, a.nnz, a.row_ptr, a.col, as_plain(a.val)};
  multiply<plain<V>, I>(*as_plain(&alpha), rows, b, *as_plain(&beta), c, p);
}

} // namespace

TULLE_INSTANTIATE_SPMM_BASIC(csr)

} // namespace tulle::simd::TULLE_ISA
