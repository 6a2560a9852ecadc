// SPDX-License-Identifier: Apache-2.0

// Stable sorts of entries by a key, for example to order them by columns once per plan.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tulle::kernels::cuda {

/// Whether key[0..nnz) does not decrease. Waits for the stream.
template <class I, class O>
bool is_sorted(I const* key, O nnz, void* stream);

/// ptr[0..lines]: where each line begins among keys that do not decrease.
template <class I, class O>
void line_pointers(I lines, O nnz, I const* key, O* ptr, void* stream);

/// The row of each entry.
template <class I, class O>
void expand_rows(I rows, O nnz, O const* row_ptr, I* row, void* stream);

/// The length of the longest row. Waits for it.
template <class I, class O>
std::int64_t longest_row(I rows, O const* row_ptr, void* stream);

/// A stable order of keys in [0, lines): perm gets the places.
template <class I, class O>
void order_by(I lines, O nnz, I const* key, I* sorted, O* perm, void* stream);

/// A stable order of pairs (line, other), by line first; sorted gets the lines.
template <class I, class O>
void order_by(I lines, I others, O nnz, I const* line, I const* other, I* sorted, O* perm,
              void* stream);

/// A stable order of entries by key: perm gets the places, `to` gets other[perm[k]], ptr where
/// lines begin. Takes memory from the stream's pool while it works.
template <class I, class O>
void sort_by_key(I lines, O nnz, I const* key, I const* other, O* ptr, I* to, O* perm,
                 void* stream);

/// order[0..n): the places of count[0..n), largest count first, equal ones in order; count is
/// sorted alike. Takes memory from the stream's pool while it works.
template <class I>
void order_by_count(std::size_t n, unsigned* count, I* order, void* stream);

} // namespace tulle::kernels::cuda
