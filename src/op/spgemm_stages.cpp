// SPDX-License-Identifier: Apache-2.0
#include "op/spgemm_stages.hpp"

#include "tulle/core/parallel.hpp"
#include "tulle/op/spgemm.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace tulle::detail {
namespace {

// Blocks that rows are dealt in: enough that the last ones even out, few enough to cost nothing.
// The first row of each begins a program: with 4096 for one thread, lattice and poisson2d5
// take 1.08 times as long, fem 1.05.
constexpr std::size_t blocks_limit = 4096, blocks_a_thread = 256;
constexpr std::size_t least_block = 16; // rows
// Bytes of a thread's scratch under a limit, where there may be more threads instead of more bytes;
// and those that go to its accumulator before any go to lists and groups. Guesses.
constexpr std::size_t least_scratch = 2048, accumulator_first = 4096;
// Products from which a row is split, if those are more than a thread's share of all. Less: other
// rows keep the other threads busy meanwhile. Other numbers have not been measured.
constexpr std::int64_t least_split = 1 << 16;
// Rows may be by scatter if B has at most this many columns per entry of A, for each thread and for
// all threads together: a thread clears as many sums and flags first. Guesses.
constexpr std::size_t scattered_columns = 4, scattered_columns_of_all = 8;
// Entries of a chunk of rows that are kept, of which each thread has one at a time.
constexpr std::size_t fewest_kept = 1 << 12, most_kept_at_once = 1 << 18;

} // namespace

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

void spgemm_stages::deal_blocks(std::size_t blocks) {
  block_rows_ = std::max<std::size_t>(1, (sizes_.rows + blocks - 1) / blocks);
  blocks_ = (sizes_.rows + block_rows_ - 1) / block_rows_;
}

void spgemm_stages::make_tables(bool with_kinds) {
  std::size_t const counters = counter_bytes(blocks_);
  tables_ = {}; // before the new ones
  tables_ = array<std::byte>(counters + (with_kinds ? sizes_.rows + sizes_.rows_b : 0), memory_);
  entries_ = reinterpret_cast<std::size_t*>(tables_.data());
  if (!with_kinds)
    return;
  task_.marks = reinterpret_cast<std::uint8_t*>(tables_.data() + counters);
  task_.kinds = reinterpret_cast<row_kind*>(task_.marks + sizes_.rows_b);
  parallel(threads_, [&](int part) {
    kernel_.mark(task_.b, task_.marks,
                 static_cast<std::int64_t>(split(sizes_.rows_b, part, threads_)),
                 static_cast<std::int64_t>(split(sizes_.rows_b, part + 1, threads_)));
  });
}

void spgemm_stages::drop_tables() {
  tables_ = {};
  entries_ = nullptr;
  task_.marks = nullptr;
  task_.kinds = nullptr;
}

spgemm_stages::spgemm_stages(spgemm_kernel const& kernel, spgemm_sizes const& sizes, void const* a,
                             void const* b, spgemm_options const& o, where const& w,
                             spgemm_room const& room)
    : kernel_(kernel), sizes_(sizes), memory_(w.memory) {
  task_.a = a;
  task_.b = b;
  task_.wanted = o.method;
  task_.sorted = o.sorted;
  task_.first = sizes.first;
  threads_ = parts_for(sizes.nnz + sizes.rows, w.threads);
  task_.most_scattered =
      o.method == spgemm_method::scatter
          ? INT64_MAX
          : static_cast<std::int64_t>(
                std::min(scattered_columns * sizes.nnz, scattered_columns_of_all * sizes.nnz /
                                                            static_cast<std::size_t>(threads_)));
  deal_blocks(std::min({blocks_limit, blocks_a_thread * static_cast<std::size_t>(threads_),
                        sizes.rows / least_block + 1}));
  std::size_t const all_tables = counter_bytes(blocks_) + sizes.rows + sizes.rows_b;
  if (all_tables <= room.limit)
    make_tables(true);
  survey();
  threads_ = parts_for(static_cast<std::size_t>(task_.all.products) + sizes.rows, w.threads);
  task_.tile = (task_.all.widest + 63) / 64 * 64;
  scratch_bytes_ = kernel_.scratch(task_);
  std::size_t const tables = tables_.bytes();
  if (tables == 0 || scratch_bytes_ > (room.limit - tables) / static_cast<std::size_t>(threads_) ||
      room.at_least > room.limit)
    keep_within(room, all_tables);
  scratch_ = array<std::byte>(scratch_bytes_ * static_cast<std::size_t>(threads_), memory_);
  split_rows_within(room.limit - tables_.bytes() - scratch_.bytes());
  std::size_t const each = sizes_.value + sizes_.index;
  if (task_.kinds && static_cast<std::size_t>(task_.all.products) <= room.keep / each)
    keep_ = room.limit - bytes();
}

void spgemm_stages::survey() {
  std::atomic<std::size_t> next{0};
  std::mutex merging;
  spgemm_survey all;
  parallel(threads_, [&](int) {
    spgemm_survey s;
    for (std::size_t b; (b = next.fetch_add(1, std::memory_order_relaxed)) < blocks_;) {
      check_stop();
      std::int64_t const products = kernel_.survey(task_, first_row(b), first_row(b + 1), s);
      if (entries_)
        entries_[b + 1] = static_cast<std::size_t>(products);
    }
    std::lock_guard const one_at_a_time(merging);
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
  });
  task_.all = all;
}

/// What is least for one thread: an accumulator of 64 columns where rows may take turns, else what
/// the method that was asked for needs of its longest row.
std::size_t spgemm_stages::least_scratch_bytes() const {
  if (!has_turns())
    return scratch_bytes_;
  bool any = false;
  for (row_kind const k : {row_kind::few, row_kind::listed, row_kind::scatter, row_kind::dense,
                           row_kind::follows, row_kind::hash, row_kind::esc})
    any = any || task_.all.rows[static_cast<int>(k)] > 0;
  return kernel_.scratch(empty_task(any ? 64 : 0));
}

/// The task without rows: with scratch for a tile alone.
spgemm_task spgemm_stages::empty_task(std::int64_t tile) const {
  spgemm_task t = task_;
  t.all = {};
  t.tile = tile;
  return t;
}

/// Whether any row can be computed a tile of columns at a time.
bool spgemm_stages::has_turns() const {
  using enum spgemm_method;
  return task_.wanted == automatic || task_.wanted == tiny || task_.wanted == dense ||
         task_.wanted == scatter || task_.wanted == global_esc;
}

/// Fewer threads, narrower tiles, shorter lists, fewer blocks: what fits the limit. Each of them
/// grows with the limit or stays: the scratch of all threads is what tables of kinds leave, and
/// half of the limit where they would take more than that.
void spgemm_stages::keep_within(spgemm_room const& room, std::size_t all_tables) {
  std::size_t const limit = room.limit, least = least_scratch_bytes();
  std::size_t const least_counters = counter_bytes(std::min<std::size_t>(1, sizes_.rows));
  std::size_t const wanted = std::max(least_counters + least, room.at_least);
  if (wanted > limit)
    fail(errc::out_of_memory,
         "spgemm: %zu bytes of workspace wanted at least by method %s, the limit is %zu",
         room.taken + wanted, name(task_.wanted), room.taken + limit);
  bool const has_kinds = all_tables <= limit / 2 && limit - all_tables >= least;
  if (!has_kinds)
    drop_tables();
  std::size_t const all =
      has_kinds ? limit - all_tables : std::max(limit / 2, std::min(limit - least_counters, least));
  auto const most_threads = static_cast<std::size_t>(threads_);
  std::size_t const unit = std::max(least, has_turns() ? least_scratch : std::size_t(1));
  std::size_t const threads = std::clamp<std::size_t>(all / unit, 1, most_threads);
  threads_ = static_cast<int>(threads);
  if (has_turns())
    share(threads < most_threads ? std::min(all, unit) : all / threads);
  scratch_bytes_ = kernel_.scratch(task_);
  TULLE_ASSERT(scratch_bytes_ * threads <= all);
  if (has_kinds)
    return;
  std::size_t const counters = (limit - scratch_bytes_ * threads) / sizeof(std::size_t);
  deal_blocks(std::max<std::size_t>(2, std::min(counters, blocks_ + 1)) - 1);
  make_tables(false);
}

/// Lays out a thread's scratch of at most `each` bytes, at least as many as the least.
void spgemm_stages::share(std::size_t each) {
  std::size_t const value = sizes_.value, index = sizes_.index;
  std::size_t const flags = kernel_.scratch(empty_task(64)) - 64 * (1 + value); // beyond the tile
  // Flags, sums and ranks.
  auto const columns = [](std::size_t bytes, std::size_t of_each) {
    return bytes / of_each / 64 * 64;
  };
  std::size_t tile, listed = 0, grouped = 0;
  if (task_.wanted == spgemm_method::dense) {
    tile = columns(each > flags ? each - flags : 0, value + 1);
  } else {
    std::size_t const first = std::min(each, accumulator_first), third = (each - first) / 3;
    tile = columns(first > flags ? first - flags : 0, value + 5) + columns(third, value + 5);
    // A table of up to four slots for each product, at least 16, and two lists; whole lines.
    std::size_t const lines = 16 * (value + index) + 7 * 64;
    listed = (third > lines ? third - lines : 0) / (6 * (value + index) + 4);
    grouped = std::min(tile, (third > 64 ? third - 64 : 0) / (4 * value));
  }
  task_.tile = static_cast<std::int64_t>(std::max<std::size_t>(64, tile));
  task_.most_listed = static_cast<std::int64_t>(listed);
  task_.most_grouped = static_cast<std::int64_t>(grouped);
  task_.most_scattered = 0;
  survey();
  task_.tile = std::min(task_.tile, (task_.all.widest + 63) / 64 * 64);
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
  std::size_t const table = blocks_ * sizeof(kept_rows);
  if (keep_ > table) {
    kept_ = array<kept_rows>(blocks_, memory_);
    keep_ -= table;
  }
  std::vector<chunk> chunks(static_cast<std::size_t>(threads_));
  in_turns(
      blocks_,
      [&](int thread, std::size_t b) {
        count_block(thread, b, chunks[static_cast<std::size_t>(thread)]);
      },
      [&](int thread) {
        if (task_.split_count == 0)
          clear(thread);
      });
  for (std::size_t b = 0; b < blocks_; ++b)
    entries_[b + 1] += entries_[b];
  return entries_[blocks_];
}

std::size_t spgemm_stages::chunk_entries() const {
  auto const all = static_cast<std::size_t>(task_.all.products);
  return std::clamp(all / (4 * static_cast<std::size_t>(threads_)), fewest_kept, most_kept_at_once);
}

std::size_t spgemm_stages::kept_bytes(std::size_t entries) const {
  // Each thread leaves some of its last chunk, and of those before what a block did not fit in.
  std::size_t const unused = 2 * static_cast<std::size_t>(threads_) * chunk_entries();
  std::size_t const all =
      blocks_ * sizeof(kept_rows) + (entries + unused) * (sizes_.value + sizes_.index);
  return std::min(keep_, all);
}

/// Room for the entries of a block in the thread's chunk, or none if that would be too much.
kept_rows spgemm_stages::keep_within(chunk& c, std::size_t products) {
  std::size_t const value = sizes_.value, each = value + sizes_.index;
  auto const wanted = products + static_cast<std::size_t>(kept_padding);
  if (wanted > c.entries) {
    std::size_t const entries = std::max(wanted, chunk_entries());
    std::lock_guard const one_at_a_time(keeping_);
    if (entries > keep_ / each)
      return {};
    chunks_.emplace_back(entries * each, memory_);
    keep_ -= entries * each;
    c = {chunks_.back().data(), chunks_.back().data() + entries * value, entries};
  }
  return {c.col, c.val};
}

void spgemm_stages::count_block(int thread, std::size_t block, chunk& c) {
  kept_rows kept;
  if (!kept_.empty())
    kept = keep_within(c, entries_[block + 1]);
  entries_[block + 1] = static_cast<std::size_t>(
      kernel_.count(task_, first_row(block), first_row(block + 1), scratch_of(thread), kept));
  if (!kept_.empty())
    kept_[block] = kept;
  if (!kept.col)
    return;
  auto const n = static_cast<std::size_t>(kept.entries);
  c = {c.val + n * sizes_.value, c.col + n * sizes_.index, c.entries - n};
}

void spgemm_stages::clear(int thread) {
  if (scratch_bytes_ > 0)
    kernel_.clear(task_, scratch_of(thread));
}

std::int64_t spgemm_stages::count_row(std::size_t i) {
  task_.row_ptr = nullptr;
  kept_rows none;
  return kernel_.count(task_, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1,
                       scratch_of(0), none);
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
                     static_cast<std::int64_t>(entries_[block]), scratch_of(thread),
                     kept_.empty() ? kept_rows{} : kept_[block]);
      },
      [](int) {});
  each_part([&](int thread, split_row const& s,
                int part) { kernel_.fill_part(task_, s, part, scratch_of(thread)); },
            [](int) {});
  kept_ = {};
  chunks_.clear();
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
