// SPDX-License-Identifier: Apache-2.0

// What passes between src/dynamic/spmv.cpp and the kernel for fragments: plain structs, as in
// kernel/spmv.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tulle {

// Rows whose entries are counted together, so that work is dealt by entries without a pass over
// all rows. Other numbers have not been measured.
inline constexpr std::int64_t group_rows = 256;
// Entries from which a row is summed in pieces by all threads, and of a piece. Both follow from the
// row alone, so the bits do not depend on the number of threads.
inline constexpr std::int64_t long_row = 16384;
inline constexpr std::int64_t piece_entries = 8192;

struct dynamic_piece {
  std::int64_t row;
  std::int64_t first; // entry of the row
};

struct dynamic_call {
  void const* alpha;
  void const* a; // dynamic_view<V, I>
  void const* x;
  void const* beta;
  void* y;
  int threads;
  bool streaming;
  std::int64_t chunks;             // of groups
  std::int64_t const* first_group; // of each chunk, and one more
  std::int64_t pieces;             // of long rows
  dynamic_piece const* piece;
  void* sums;   // V, one a piece
  void* shares; // 64 bytes a thread
};

using dynamic_kernel = void(dynamic_call const& call);

} // namespace tulle
