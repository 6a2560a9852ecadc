// SPDX-License-Identifier: Apache-2.0

// What CUB does with whole arrays, compiled once; each takes memory from the stream's pool.
#pragma once
#include <cstddef>

namespace tulle::simt {

/// counts[0..n) to the sums of those before each; counts[n] is the sum of all. In place.
template <class T>
void to_pointers(T* counts, std::size_t n, void* stream);

/// keys in order, none of them negative or above `most`.
template <class I>
void sort_keys(I const* keys, I* sorted, std::size_t n, I most, void* stream);

} // namespace tulle::simt
