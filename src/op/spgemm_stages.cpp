// SPDX-License-Identifier: Apache-2.0
#include "op/spgemm_stages.hpp"

#include "tulle/core/parallel.hpp"
#include "tulle/op/spgemm.hpp"

#include <algorithm>
#include <atomic>

namespace tulle::detail {
namespace {

// Blocks that rows are dealt in: enough that the last ones even out, few enough to cost nothing.
// The first row of each begins a program: with 4096 for one thread, lattice and poisson2d5
// take 1.08 times as long, fem 1.05.
constexpr std::size_t blocks_limit = 4096, blocks_a_thread = 256;
constexpr std::size_t least_block = 16;     // rows
constexpr std::size_t least_scratch = 2048; // of a thread, under a limit
constexpr std::size_t padding = 1024;       // of all arrays in scratch together
// Products from which a row is split, if those are more than a thread's share of all. Less: other
// rows keep the other threads busy meanwhile. Other numbers have not been measured.
constexpr std::int64_t least_split = 1 << 16;

} // namespace

void spgemm_stages_deleter::operator()(spgemm_stages* s) const noexcept {
  delete s;
}

template <class F, class Start>
void spgemm_stages::in_turns(std::size_t n, F f, Start start) {
  std::atomic<std::size_t> next{0};
  parallel(threads_, [&](int thread) {
    start(thread);
    for (std::size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      check_stop();
      f(thread, k);
    }
  });
}

template <class F, class Start>
void spgemm_stages::each_part(F f, Start start) {
  if (task_.split_count == 0)
    return;
  auto const parts = static_cast<std::size_t>(task_.splits->parts);
  in_turns(
      parts * static_cast<std::size_t>(task_.split_count),
      [&](int thread, std::size_t k) {
        f(thread, task_.splits[k / parts], static_cast<int>(k % parts));
      },
      start);
}

spgemm_stages::spgemm_stages(spgemm_kernel const& kernel, spgemm_sizes const& sizes, void const* a,
                             void const* b, spgemm_options const& o, where const& w,
                             std::size_t limit)
    : kernel_(kernel), sizes_(sizes), memory_(w.memory) {
  task_.a = a;
  task_.b = b;
  task_.wanted = o.method;
  task_.sorted = o.sorted;
  task_.first = sizes.first;
  threads_ = parts_for(sizes.nnz + sizes.rows, w.threads);
  blocks_ = std::min({blocks_limit, blocks_a_thread * static_cast<std::size_t>(threads_),
                      sizes.rows / least_block + 1});
  blocks_ = std::clamp<std::size_t>(limit / 8 / sizeof(std::size_t), 2, blocks_ + 1) - 1;
  block_rows_ = std::max<std::size_t>(1, (sizes.rows + blocks_ - 1) / blocks_);
  blocks_ = (sizes.rows + block_rows_ - 1) / block_rows_;
  std::size_t const counters = (blocks_ + 1) * sizeof(std::size_t);
  bool const has_kinds = counters + sizes.rows + sizes.rows_b <= limit / 2;
  std::size_t const bytes = counters + (has_kinds ? sizes.rows + sizes.rows_b : 0);
  if (bytes > limit)
    fail(errc::out_of_memory, "spgemm: %zu bytes of workspace wanted at least, the limit is %zu",
         bytes + least_scratch, limit);
  tables_ = array<std::byte>(bytes, memory_);
  entries_ = reinterpret_cast<std::size_t*>(tables_.data());
  if (has_kinds) {
    task_.marks = reinterpret_cast<std::uint8_t*>(tables_.data() + counters);
    task_.kinds = reinterpret_cast<row_kind*>(task_.marks + sizes.rows_b);
    parallel(threads_, [&](int part) {
      kernel_.mark(b, task_.marks, static_cast<std::int64_t>(split(sizes_.rows_b, part, threads_)),
                   static_cast<std::int64_t>(split(sizes_.rows_b, part + 1, threads_)));
    });
  }
  survey();
  threads_ = parts_for(static_cast<std::size_t>(task_.all.products) + sizes.rows, w.threads);
  task_.tile = (task_.all.widest + 63) / 64 * 64;
  scratch_bytes_ = kernel_.scratch(task_);
  if (scratch_bytes_ * static_cast<std::size_t>(threads_) > limit - bytes)
    keep_within(limit - bytes);
  scratch_ = array<std::byte>(scratch_bytes_ * static_cast<std::size_t>(threads_), memory_);
  split_rows_within(limit - bytes - scratch_.bytes());
}

void spgemm_stages::survey() {
  array<spgemm_survey> of(static_cast<std::size_t>(threads_), spgemm_survey(), memory_);
  in_turns(
      blocks_,
      [&](int thread, std::size_t b) {
        entries_[b + 1] = static_cast<std::size_t>(kernel_.survey(
            task_, first_row(b), first_row(b + 1), of[static_cast<std::size_t>(thread)]));
      },
      [](int) {});
  spgemm_survey& all = task_.all = {};
  for (spgemm_survey const& s : of) {
    all.products += s.products;
    all.most_entries += s.most_entries;
    for (int k = 0; k < row_kinds; ++k) {
      all.rows[k] += s.rows[k];
      all.products_by[k] += s.products_by[k];
    }
    all.widest = std::max(all.widest, s.widest);
    all.longest = std::max(all.longest, s.longest);
    all.group_columns = std::max(all.group_columns, s.group_columns);
    all.listed = std::max(all.listed, s.listed);
    all.heads = std::max(all.heads, s.heads);
  }
}

/// Fewer threads, narrower tiles, shorter lists: what fits the limit. A method that was asked for
/// and needs whole rows does not fit.
void spgemm_stages::keep_within(std::size_t limit) {
  threads_ = std::max(1, static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads_),
                                                                limit / least_scratch)));
  std::size_t const each = limit / static_cast<std::size_t>(threads_);
  std::size_t const wanted = scratch_bytes_;
  auto const share = static_cast<std::int64_t>(each > padding ? (each - padding) / 3 : 0);
  auto const value = static_cast<std::int64_t>(sizes_.value);
  auto const index = static_cast<std::int64_t>(sizes_.index);
  // A third for the accumulator with flags and ranks, a third for groups, a third for lists.
  task_.tile = share / (value + 5) / 64 * 64;
  task_.most_grouped = std::min(task_.tile, share / (4 * value));
  task_.most_listed = share / (6 * (value + index) + 8);
  if (task_.tile < 64) {
    task_.tile = (static_cast<std::int64_t>(each) - 512) / (value + 1) / 64 * 64;
    task_.most_grouped = task_.most_listed = 0;
  }
  survey();
  task_.tile = std::min(task_.tile, (task_.all.widest + 63) / 64 * 64);
  scratch_bytes_ = kernel_.scratch(task_);
  if (scratch_bytes_ > each || (task_.tile < 64 && task_.all.widest > 0))
    fail(errc::out_of_memory,
         "spgemm: %zu bytes of workspace wanted for a thread by method %s, the limit leaves %zu",
         wanted, name(task_.wanted), each);
}

/// A thread that has one row of a large share would work when the others are done. Its columns are
/// dealt to all instead, so that what falls on an entry is still added by one, in the same order.
void spgemm_stages::split_rows_within(std::size_t limit) {
  std::int64_t const least = std::max(least_split, task_.all.products / threads_ + 1);
  auto const parts = static_cast<std::size_t>(threads_); // and fewer rows than that
  std::size_t const numbers = 2 * (parts + 1);
  std::size_t const bytes = parts * (sizeof(split_row) + numbers * sizeof(std::int64_t));
  if (threads_ == 1 || !task_.kinds || task_.all.longest < least || bytes > limit)
    return;
  splits_ = array<std::byte>(bytes, memory_);
  auto* const rows = reinterpret_cast<split_row*>(splits_.data());
  auto* at = reinterpret_cast<std::int64_t*>(rows + parts);
  for (std::size_t b = 0; b < blocks_; ++b)
    for (std::int64_t i = first_row(b); i < first_row(b + 1); ++i) {
      if (static_cast<std::int64_t>(entries_[b + 1]) < least)
        break;
      spgemm_survey of;
      kernel_.survey(task_, i, i + 1, of);
      if (of.longest < least)
        continue;
      --task_.all.rows[static_cast<int>(task_.kinds[i])];
      task_.kinds[i] = row_kind::split;
      ++task_.all.rows[static_cast<int>(row_kind::split)];
      split_row& s = rows[task_.split_count++];
      s = {i, threads_, at, at + parts + 1};
      at += numbers;
      kernel_.cut(task_, s);
    }
  task_.splits = rows;
}

std::size_t spgemm_stages::count(void* row_ptr) {
  task_.row_ptr = row_ptr;
  entries_[0] = 0;
  each_part(
      [&](int thread, split_row const& s, int part) {
        s.entries[part + 1] = kernel_.count_part(task_, s, part, scratch_of(thread));
      },
      [&](int thread) { clear(thread); });
  for (int k = 0; k < task_.split_count; ++k) {
    split_row const& s = task_.splits[k];
    s.entries[0] = 0;
    for (int part = 0; part < s.parts; ++part)
      s.entries[part + 1] += s.entries[part];
  }
  in_turns(
      blocks_,
      [&](int thread, std::size_t b) {
        entries_[b + 1] = static_cast<std::size_t>(
            kernel_.count(task_, first_row(b), first_row(b + 1), scratch_of(thread)));
      },
      [&](int thread) {
        if (task_.split_count == 0)
          clear(thread);
      });
  for (std::size_t b = 0; b < blocks_; ++b)
    entries_[b + 1] += entries_[b];
  return entries_[blocks_];
}

void spgemm_stages::clear(int thread) {
  if (scratch_bytes_ > 0)
    kernel_.clear(task_, scratch_of(thread));
}

std::int64_t spgemm_stages::count_row(std::size_t i) {
  task_.row_ptr = nullptr;
  return kernel_.count(task_, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1,
                       scratch_of(0));
}

void spgemm_stages::fill(void const* a, void const* b, void* row_ptr, void* col, void* val,
                         bool values_only) {
  task_.a = a;
  task_.b = b;
  task_.row_ptr = row_ptr;
  task_.col = col;
  task_.val = val;
  task_.values_only = values_only;
  in_turns(
      blocks_,
      [&](int thread, std::size_t block) {
        kernel_.fill(task_, first_row(block), first_row(block + 1),
                     static_cast<std::int64_t>(entries_[block]), scratch_of(thread));
      },
      [](int) {});
  each_part([&](int thread, split_row const& s,
                int part) { kernel_.fill_part(task_, s, part, scratch_of(thread)); },
            [](int) {});
}

void spgemm_stages::fill_at(void const* place, void* col, void* val) {
  task_.place = place;
  fill(task_.a, task_.b, nullptr, col, val, false);
}

std::string spgemm_stages::summary() const {
  std::string text;
  for (int k = 0; k < row_kinds; ++k)
    if (std::int64_t const n = task_.all.rows[k])
      text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + name(static_cast<row_kind>(k));
  if (task_.all.widest > task_.tile)
    text += ", tiles of " + std::to_string(task_.tile) + " columns";
  return text + ", " + std::to_string(threads_) + (threads_ == 1 ? " thread" : " threads");
}

} // namespace tulle::detail
