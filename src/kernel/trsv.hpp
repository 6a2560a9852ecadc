// SPDX-License-Identifier: Apache-2.0

// What passes between op/trsv and its kernels: plain structs, since kernel files are compiled for
// instruction sets that the rest of the library may not use.
#pragma once
#include <cstdint>

namespace tulle {

/// The rows of a triangle in the order in which they are solved: lines. Columns are numbers of
/// lines, so that each line depends on lines before it.
struct triangle_lines {
  std::int64_t rows = 0;
  void const* row = nullptr;  // I: the row of the triangle that a line is; nullptr: line p is row p
  void const* ptr = nullptr;  // O, rows + 1: the columns of a line in col
  void const* col = nullptr;  // I: those far from the diagonal in the matrix come first
  void const* from = nullptr; // O: where in A the values are, see step
  int step = 1;      // 1, -1: those of a line begin at from[p], and the diagonal's follows; 0: from
                     // is as long as col, and diagonal entries are columns p at the end of line p
  bool unit = false; // the diagonal is not read
};

/// Who solves which lines when.
struct triangle_schedule {
  enum walk : std::uint8_t { serial, levels, sync_free } walk = serial;
  int parts = 1;           // of serial: threads that take blocks of columns, with a workspace each
  std::int64_t stages = 0; // of levels
  std::int64_t const* bounds = nullptr; // stages * parts + 1: part t of stage s begins at the line
                                        // bounds[s * parts + t]
  std::int64_t chunk = 0;               // of sync_free: lines that one thread takes at a time
};

struct triangle_call {
  triangle_lines const* lines;
  triangle_schedule const* schedule;
  void const* alpha;
  void const* val;
  bool conjugated; // the values are
  void const* b;
  std::int64_t b_row, b_col; // strides
  void* x;
  std::int64_t x_row, x_col;
  bool streaming; // X is written past the caches
  std::int64_t columns;
  int block;            // columns that are solved together: block_of_columns()
  void* y;              // workspace: lines of `block` values each; of serial one for each part
  std::uint64_t* flags; // workspace, zero at first: triangle_flags()
  std::uint32_t* epoch; // of the flags, zero at first
};

/// Columns that are solved together. Fewer are filled up with zeros.
constexpr int block_of_columns(std::int64_t columns) {
  return columns >= 5 ? 8 : columns >= 2 ? 4 : 1;
}

inline constexpr std::int64_t flags_per_line = 8; // numbers in a cache line

/// Numbers in the flags of a schedule.
constexpr std::int64_t triangle_flags(triangle_schedule const& s, std::int64_t rows) {
  return s.walk == triangle_schedule::levels      ? s.parts * flags_per_line
         : s.walk == triangle_schedule::sync_free ? (rows + s.chunk - 1) / s.chunk * flags_per_line
                                                  : 0;
}

struct triangle_kernel {
  /// False where an entry on the diagonal is zero: x is then as it was.
  bool (*solve)(triangle_call const& call);
};

} // namespace tulle
