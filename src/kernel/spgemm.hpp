// SPDX-License-Identifier: Apache-2.0

// What passes between op/spgemm and its kernels: plain structs, since kernel files are compiled for
// instruction sets that the rest of the library may not use.
#pragma once
#include "tulle/op/spgemm_method.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

/// How a row of C is computed. A row that follows has the columns of the one before it.
enum class row_kind : std::uint8_t {
  empty,
  copy,    // one row of B
  tiny,    // a sorting network
  program, // tiny, and the row before it moved by one column
  few,     // a sorting network, too: rows of any length
  listed,  // an accumulator as wide as B, and a list of columns that is sorted
  scatter, // an accumulator as wide as B, and flags
  dense,
  follows, // dense, and A's row has the columns of the row before it
  split,   // dense, its columns dealt to all threads
  hash,
  esc,
  heap,
  merge,
};
inline constexpr std::int64_t kept_padding = 64;
inline constexpr int row_kinds = 14;

constexpr char const* name(row_kind k) {
  constexpr char const* names[] = {"empty",  "copy",    "tiny",  "program",       "few",
                                   "listed", "scatter", "dense", "dense grouped", "split",
                                   "hash",   "esc",     "heap",  "merge"};
  return names[static_cast<std::size_t>(k)];
}

/// What is known of all rows before any of them is computed.
struct spgemm_survey {
  std::int64_t products = 0;
  std::int64_t most_entries = 0; // of C, if no two products fall on one place but must
  std::int64_t rows[row_kinds] = {};
  std::int64_t products_by[row_kinds] = {};
  std::int64_t widest = 0;        // columns from the first to the last, of dense rows
  std::int64_t longest = 0;       // most products of a dense row that may be split
  std::int64_t group_columns = 0; // most that a row of a group may have
  std::int64_t listed = 0;        // most products of a row by hash, esc, heap or merge
  std::int64_t heads = 0;         // most entries of A's row, of those by heap
};

/// A row that is split: part p has columns [cut[p], cut[p + 1]), and entries[p] of the row come
/// before it.
struct split_row {
  std::int64_t row;
  int parts;
  std::int64_t* cut;
  std::int64_t* entries;
};

/// Where counting leaves the columns and values of a block's rows that are computed only once.
struct kept_rows {
  void* col = nullptr; // nullptr: they are computed again when C is filled
  void* val = nullptr;
  std::int64_t entries = 0;
};

/// One product C = A B of canonical A and B, and how it is to be done.
struct spgemm_task {
  void const* a = nullptr; // csr_view<V, I, O>
  void const* b = nullptr;
  spgemm_method wanted = spgemm_method::automatic;
  bool sorted = true;
  bool values_only = false; // C's columns are there
  /// For each entry of A, the first one of B's row that counts (O), nullptr: all do. The upper half
  /// of a symmetric C has those from the diagonal on.
  void const* first = nullptr;
  std::uint8_t* marks = nullptr;        // a byte a row of B, by mark(); nullptr: no room for them
  row_kind* kinds = nullptr;            // one a row of A, by survey(); nullptr likewise
  std::int64_t most_listed = INT64_MAX; // products of a row that scratch has room for
  std::int64_t most_grouped = INT64_MAX;
  std::int64_t most_scattered = 0; // columns of B with which rows may be by scatter
  std::int64_t tile = 0;           // columns of the accumulator; wider rows take several turns
  spgemm_survey all;
  split_row const* splits = nullptr;
  int split_count = 0;
  void* row_ptr = nullptr; // of C
  /// First entry of each row of C (O) where rows need not follow one another; row_ptr is not used.
  void const* place = nullptr;
  void* col = nullptr;
  void* val = nullptr;
};

/// One cell of an instruction set's table. All of them work on rows [first, last) with one thread.
struct spgemm_kernel {
  void (*mark)(void const* b, std::uint8_t* marks, std::int64_t first, std::int64_t last);
  /// Adds to s; writes kinds where there is room. Returns the rows' products.
  std::int64_t (*survey)(spgemm_task const& t, std::int64_t first, std::int64_t last,
                         spgemm_survey& s);
  /// Bytes of scratch a thread: a multiple of 64.
  std::size_t (*scratch)(spgemm_task const& t);
  /// Once before the first row; rows leave it so.
  void (*clear)(spgemm_task const& t, void* scratch);
  /// Entries of the rows together; row_ptr[i + 1], where there is one, becomes the entries of rows
  /// [first, i]. Where `kept` has arrays they have room for as many entries as the rows have
  /// products, and kept_padding more.
  std::int64_t (*count)(spgemm_task const& t, std::int64_t first, std::int64_t last, void* scratch,
                        kept_rows& kept);
  /// Columns and values, where `before` entries come before the first row; row_ptr becomes true.
  void (*fill)(spgemm_task const& t, std::int64_t first, std::int64_t last, std::int64_t before,
               void* scratch, kept_rows const& kept);
  /// Cuts a row into parts of about as many products.
  void (*cut)(spgemm_task const& t, split_row const& s);
  /// Entries of a part.
  std::int64_t (*count_part)(spgemm_task const& t, split_row const& s, int part, void* scratch);
  /// Its columns and values, when row_ptr is true.
  void (*fill_part)(spgemm_task const& t, split_row const& s, int part, void* scratch);
};

} // namespace tulle
