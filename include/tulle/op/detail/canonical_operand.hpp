// SPDX-License-Identifier: Apache-2.0

/// A csr operand in canonical form, for operations whose result depends on whole entries:
/// duplicates mean their sum.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/vector.hpp"

namespace tulle::detail {

/// errc::unsupported for a backend that does not have the operation, errc::bad_structure for an
/// operand without its arrays.
template <class V, class I, class O>
void check_host_operand(char const* op, csr_view<V, I, O> const& a, where const& w) {
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "%s: no %s backend is loaded", op, name(w.backend));
  if (char const* const missing = missing_array(a))
    fail(errc::bad_structure, "%s: A has no %s; was it moved from?", op, missing);
}

/// errc::bad_structure where `out` shares a byte with an array of `what`.
template <class V, class T>
void check_apart(char const* op, char const* who, vector_view<V> const& out, char const* what,
                 T const* p, std::size_t n) {
  auto const* const first = reinterpret_cast<char const*>(out.data());
  auto const* const other = reinterpret_cast<char const*>(p);
  if (out.size() != 0 && n != 0 && first < other + n * sizeof(T) &&
      other < first + out.size() * sizeof(V))
    fail(errc::bad_structure, "%s: %s overlaps %s", op, who, what);
}
/// The same of a view in any format.
template <class V, class View>
void check_apart(char const* op, char const* who, vector_view<V> const& out, View const& a) {
  a.arrays([&](char const*, auto const* p, std::size_t n) {
    check_apart(op, who, out, "the arrays of A", p, n);
  });
}

inline void check_workspace(char const* op, std::size_t bytes, where const& w) {
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "%s: %zu bytes of workspace wanted, the limit is %zu", op, bytes,
         w.workspace_limit);
}

/// A view of a where that is canonical, else of a copy that is.
template <class V, class I, class O>
struct canonical_operand {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;
  std::size_t bytes = 0; ///< that making the copy may take

  canonical_operand(char const* op, csr_view<V, I, O> const& a, where const& w) : view(a) {
    if (a.is_canonical(w.as_cpu()))
      return;
    auto const rows = static_cast<std::size_t>(a.rows);
    O longest = 0;
    for (std::size_t i = 0; i < rows; ++i)
      longest = std::max<O>(longest, a.row_ptr[i + 1] - a.row_ptr[i]);
    auto const entries = static_cast<std::size_t>(a.nnz);
    auto const parts = static_cast<std::size_t>(parts_for(entries + rows, w.threads));
    bytes = 2 * entries * (sizeof(V) + sizeof(I)) +
            (rows + 1 + static_cast<std::size_t>(longest) * parts) * sizeof(O);
    check_workspace(op, bytes, w);
    copy = a.to_csr(w.as_cpu());
    view = copy.view();
  }
  canonical_operand(canonical_operand const&) = delete;
};

} // namespace tulle::detail
