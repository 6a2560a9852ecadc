// SPDX-License-Identifier: Apache-2.0

// The stages of C = A B that hang on no type: blocks of rows dealt to threads, memory within the
// limit, and the kernels' calls.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/where.hpp"
#include "tulle/op/spgemm_method.hpp"

#include "kernel/spgemm.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace tulle::detail {

struct spgemm_sizes {
  std::size_t rows, rows_b, nnz; // rows of A and of B, entries of A
  std::size_t value, index;      // bytes of one
  void const* first = nullptr;   // spgemm_task's
};

/// What the policy's limit leaves for the stages.
struct spgemm_room {
  std::size_t limit = SIZE_MAX; // bytes
  std::size_t taken = 0;        // of the policy's limit, by others
  std::size_t at_least = 0;     // what comes after the stages will want as much of `limit`
  /// If all products take at most so many bytes, count() keeps the rows that it computes for
  /// fill(), which must be next, for the same operands.
  std::size_t keep = 0;
};

class spgemm_stages {
public:
  /// Surveys all rows and allocates what counting and filling need.
  spgemm_stages(spgemm_kernel const& kernel, spgemm_sizes const& sizes, void const* a,
                void const* b, spgemm_options const& o, where const& w, spgemm_room const& room);

  /// Entries of C; row_ptr gets those of its block up to each row.
  std::size_t count(void* row_ptr);
  /// Makes a thread's scratch fit for its first row; count() does.
  void clear(int thread);
  /// Entries of row i, by thread 0.
  std::int64_t count_row(std::size_t i);
  /// Columns and values of C, and what is missing in row_ptr; or values alone.
  void fill(void const* a, void const* b, void* row_ptr, void* col, void* val, bool values_only);

  /// Columns and values of the rows at places of their own (O, one a row), in any order.
  void fill_at(void const* place, void* col, void* val);
  /// Rows whose numbers in row_ptr, as count() leaves it, go on from one to the next.
  std::size_t block_rows() const { return block_rows_; }

  /// "17 rows dense, 4 esc, 2 threads"
  std::string summary() const;
  /// Beside what is kept between count() and fill().
  std::size_t bytes() const { return tables_.bytes() + scratch_.bytes() + splits_.bytes(); }
  /// What is kept between count() and fill() at most, if C has so many entries.
  std::size_t kept_bytes(std::size_t entries) const;
  spgemm_task const& task() const { return task_; }
  int threads() const { return threads_; }

private:
  std::int64_t first_row(std::size_t block) const {
    return static_cast<std::int64_t>(block * block_rows_ < sizes_.rows ? block * block_rows_
                                                                       : sizes_.rows);
  }
  // start(thread), and f(thread, k) for k in [0, n) taken in order.
  template <class F, class Start>
  void in_turns(std::size_t n, F f, Start start);
  // The same of f(thread, row, part) for all parts of split rows.
  template <class F, class Start>
  void each_part(F f, Start start);
  void* scratch_of(int thread) {
    return scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
  }
  static std::size_t counter_bytes(std::size_t blocks) {
    return (blocks + 1) * sizeof(std::size_t);
  }
  void deal_blocks(std::size_t blocks);
  void make_tables(bool with_kinds);
  void drop_tables();
  void survey();
  bool has_turns() const;
  std::size_t least_scratch_bytes() const;
  spgemm_task empty_task(std::int64_t tile) const;
  void keep_within(spgemm_room const& room, std::size_t all_tables);
  void share(std::size_t each);
  void split_rows_within(std::size_t limit);
  struct chunk { // of a thread's rows that are kept; what is left of it
    std::byte *val = nullptr, *col = nullptr;
    std::size_t entries = 0;
  };
  kept_rows keep_within(chunk& c, std::size_t products);
  std::size_t chunk_entries() const;
  void count_block(int thread, std::size_t block, chunk& c);

  spgemm_kernel const& kernel_;
  spgemm_sizes sizes_;
  spgemm_task task_;
  int threads_ = 1;
  std::size_t blocks_ = 0, block_rows_ = 1;
  array<std::byte> tables_;        // entries before each block, marks, kinds
  std::size_t* entries_ = nullptr; // blocks + 1; products of each block until it is counted
  array<std::byte> scratch_;       // of each thread
  std::size_t scratch_bytes_ = 0;
  array<std::byte> splits_; // rows that are split, their cuts and entries
  std::size_t keep_ = 0;    // bytes left for rows that are kept
  array<kept_rows> kept_;   // of each block
  std::vector<array<std::byte>> chunks_;
  std::mutex keeping_;
  std::pmr::memory_resource* memory_ = nullptr;
};

} // namespace tulle::detail
