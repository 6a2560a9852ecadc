// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmm/csr.cpp:  C = alpha*A*B + beta*C, A in CSR, by rows.hpp.
#include "tulle/format/csr.hpp"

#include "cpu/spmm/rows.hpp"

namespace tulle::kernels::TULLE_ISA {
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
  void deal(std::int64_t chunks, std::int64_t* first) const { deal_rows(ptr, rows, chunks, first); }
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

} // namespace tulle::kernels::TULLE_ISA
