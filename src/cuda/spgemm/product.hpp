// SPDX-License-Identifier: Apache-2.0

// How the rows of a product are computed: what is needed for the values once the pattern is known.
// Plain structs, since the library keeps them for the module.
#pragma once
#include "tulle/op/semiring.hpp"
#include "tulle/op/spgemm_method.hpp"

#include <complex>
#include <cstddef>
#include <cstdint>

namespace tulle {

/// The method that computes a row of C.
enum class row_bin : std::uint8_t {
  empty,
  tiny,   // a thread merges up to eight rows of B
  window, // by one warp; sums are at the ranks of their columns, by a bitmap of the row's window
  small,  // a thread merges up to sixteen rows of B
  // By one block in shared memory, of three sizes; products are sorted by column, or hashed.
  short_s,
  short_m,
  short_l,
  long_m, // of the two sizes before, by default, rows whose rows of B are long
  long_l,
  tiled,     // one warp per tile of columns, sums in a dense accumulator; or merged, if asked for
  scattered, // products of many rows sorted at once
  heavy,     // by one block, with a sum for every column of the window, if such rows are few
  heap,      // by one thread, with the heads of up to 32 rows of B in a heap
};
inline constexpr int row_bins = 13;

/// Whether rows of no other bin are merged, and whether short rows are sorted with products.
constexpr bool is_merging(spgemm_method m) {
  return m == spgemm_method::merge || m == spgemm_method::heap_esc_merge;
}
constexpr bool is_sorting(spgemm_method m) {
  return m == spgemm_method::esc || m == spgemm_method::heap_esc_merge;
}

/// Short rows, and rows of no other bin, are computed by the method that is asked for.
constexpr char const* name(row_bin b, spgemm_method m) {
  constexpr char const* names[][row_bins] = {
      {"empty", "tiny", "window", "small", "few", "sorted 1K", "sorted 4K", "long 1K", "long 4K",
       "tiled", "scattered", "heavy", "heap"},
      {"empty", "tiny", "window", "small", "esc 256", "esc 1K", "esc 4K", "", "", "tiled",
       "scattered", "heavy", "heap"},
      {"empty", "tiny", "window", "small", "hash 256", "hash 1K", "hash 4K", "", "", "tiled",
       "scattered", "heavy", "heap"},
      {"empty", "", "", "", "", "", "", "", "", "merge", "", "", ""},
      {"empty", "", "", "", "esc 256", "esc 512", "", "", "", "merge", "", "", "heap"}};
  using enum spgemm_method;
  return names[m == esc              ? 1
               : m == hash           ? 2
               : m == merge          ? 3
               : m == heap_esc_merge ? 4
                                     : 0][static_cast<int>(b)];
}

/// The result of a pass over the patterns.
struct product_survey {
  unsigned long long products;
  // The most entries that C can have: as if products met only where they must.
  unsigned long long most_entries;
  unsigned long long rows[row_bins];
  unsigned long long longest_tiny; // entries of A's row
  unsigned long long widest;       // columns from the first to the last, of window rows
  unsigned long long widest_heavy; // the same of heavy rows
  unsigned long long widest_small; // and of small ones
  unsigned long long scattered;    // products of such rows
};

/// Classes of window and of long rows by their entries, so that a few long rows do not determine
/// the shared memory of the others.
inline constexpr int window_classes = 7;
inline constexpr int window_entries[window_classes] = {128, 512, 768, 1024, 1536, 4096, 16384};
constexpr int window_class(int entries) {
  return entries <= 128    ? 0
         : entries <= 512  ? 1
         : entries <= 768  ? 2
         : entries <= 1024 ? 3
         : entries <= 1536 ? 4
         : entries <= 4096 ? 5
                           : 6;
}

struct window_found {
  unsigned long long is_there[window_classes];
  unsigned long long most[window_classes]; // entries of a row
};

/// The products of C's entries; no map if block_count is 0.
struct product_map {
  std::size_t block_count = 0;
  void* memory = nullptr;               // holds all arrays that follow
  void* blocks = nullptr;               // map_block<O>, and one more
  void* first = nullptr;                // O: of the row of B that each entry of A names
  std::uint16_t const* start = nullptr; // of each entry of C, among products
  void* codes = nullptr;                // a product each
  int code_bytes = 0, shift = 0;        // bits of a code for the entry of B's row; others: of A
  unsigned long long most_terms = 0;    // entries of A that a block needs
};

/// Where C's entries go, if not to memory of the result: called once its pointers are known, with
/// these (of type O) and the number of entries. May throw.
struct product_places {
  void* owner = nullptr;
  void (*take)(void* owner, void const* row_ptr, std::size_t n, void*& col, void*& val) = nullptr;
};

struct product_state {
  int device = -1;
  spgemm_method method = spgemm_method::automatic;
  semiring_kind semiring = semiring_kind::plus_times;
  void const* mask = nullptr; // a csr's view, or its complement's
  bool complement = false;
  void const* added = nullptr;              // D of alpha A B + beta D, a csr's view
  std::complex<double> alpha = 1, beta = 0; // V uses the real part, or both
  bool upper_only = false;                  // what lies on and above the diagonal
  bool counts_only = false;                 // C is not computed, only its entries are counted
  unsigned long long entries = 0;           // of C, then
  product_places places = {};
  void* stream = nullptr;
  std::size_t workspace_limit = SIZE_MAX;
  bool a_canonical = true, b_canonical = true;
  bool is_square = false; // A's pattern is B's
  int multiprocessors = 0;
  product_survey all = {};
  row_bin* bins = nullptr; // one per row
  void* list = nullptr;    // I: rows of all listed bins, one bin after the other
  void* groups = nullptr;  // window_group<I>
  std::int64_t group_count = 0;
  int group_rows = 1;           // most rows of a group
  bool has_runs = false;        // some rows of B have the columns of the row before
  std::uint8_t* same = nullptr; // which
  window_found windows = {}, longs = {};
  // Tiled rows: the columns go in bands of `tiles` tiles each.
  std::int64_t tiles = 0, bands = 0;
  std::int64_t tile_rows = 0;  // rows of B in tile_ptr: all, or those that tiled rows name
  void* named_rows = nullptr;  // I: which, then
  void* named_terms = nullptr; // I: A's columns as places in that list, of tiled rows
  void* tile_ptr = nullptr;    // O: tiles + 1 for each of those rows
  void* offset = nullptr;      // O: tiles + 1 for each tiled row
  void* before = nullptr;      // O: entries of the bands before, for each tiled row
  unsigned long long* ticket = nullptr;
  bool maps = false;     // a map is wanted
  product_map map = {};  // if there is one, nothing above is needed
  std::size_t bytes = 0; // kept
};

} // namespace tulle
