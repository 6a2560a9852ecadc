// SPDX-License-Identifier: Apache-2.0

// The work of the blocks of a product in panels, computed once on the host from the pointers of the
// matrix: a unit is a share of a group's entries and the work of a block; its jobs are the work of
// a warp.
//
// Jobs of a unit have phases. Rows of one phase are distinct, so its jobs add to the unit's sums in
// any order with the same bits; phases follow each other. A tile has one phase, or two if rows of
// the rest are also among the rows side by side; jobs whose rows repeat have a phase each.
#pragma once
#include "tulle/format/panels.hpp"

#include "cuda/instantiate.cuh"

#include <algorithm>
#include <bit>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

// Units of all groups, if groups are cut: as many as an H200 runs at once, so that units of equal
// cost end together. lp by 8192 columns: half as many 1.3 times as long, twice as many 1.1 times.
constexpr std::int64_t most_blocks_at_once = 264; // half as many if a block fills a multiprocessor
constexpr std::int64_t least_unit = 4096;         // cost
constexpr std::int64_t unit_entries = 4;          // per row of a unit, or its group is not cut
constexpr std::size_t most_shared = 226 << 10;    // of a block
// x of a panel is staged if a unit has at most this many columns per entry there. 4: rmat 1.06
// times as long; 1/2: up to 1.03; 1/10: 1.06 to 1.15; never: up to 1.25 times.
constexpr std::int64_t columns_an_entry = 2;
// Entries per lane in a job. 64: lp 1.2 times as long; 16: 1.06 times.
constexpr std::int64_t most_length = 32;
constexpr std::int64_t many_length = 4;   // longest rows that a warp takes 128 at a time
constexpr std::int64_t most_piece = 1024; // entries of a row per warp
constexpr std::int64_t job_cost = 256;    // least cost, in entries
constexpr std::int64_t phase_cost = 256;

struct panel_job {
  std::uint32_t entry, slot; // counted from those of the unit
  std::uint32_t shape;
  std::uint32_t after; // jobs of the phases before
  std::int64_t panel;
  // Twice the number of panels staged before, including its own, plus 1 if its own is.
  std::uint32_t stage;
  std::uint32_t pieces; // of mixed jobs: where the pieces are
};

/// The layout of a job's entries. rows: `lanes` side by side, up to 32 in all; many: the same, up
/// to 128; singles: one entry per row, up to 128; mixed: up to 32 rows one after the other, of up
/// to 32 entries each, and `length` in all; piece: one row.
enum class job_kind : std::uint32_t { rows, many, singles, mixed, piece };
constexpr std::uint32_t length_bits = 17, count_bits = 7;
constexpr std::uint32_t repeats_bit = 1u << 31; // rows of the job may repeat
constexpr std::uint32_t shape_of(job_kind kind, std::int64_t length, std::int64_t rows,
                                 bool repeats) {
  return static_cast<std::uint32_t>(length) | static_cast<std::uint32_t>(rows - 1) << length_bits |
         static_cast<std::uint32_t>(kind) << (length_bits + count_bits) |
         (repeats ? repeats_bit : 0);
}

struct panel_unit {
  std::int64_t entry, slot; // first
  std::int64_t row;         // of y, first of the group
  std::int64_t sums;        // their place in the workspace, or -1
  std::int64_t job, stage;  // first
  std::int32_t jobs, stages;
  std::int32_t rows;  // of the group
  std::int32_t whole; // the unit is the whole group
  std::int32_t entries;
};

/// Rows of a group of several units; `parts` threads add the sums of each.
struct panel_join {
  std::int64_t row, sums;
  std::int32_t rows, stride, units, parts;
};
constexpr int join_threads = 512;

/// Properties of a tile's rows: bits of a byte.
constexpr unsigned char wide_repeat = 1, rest_repeat = 2, both_meet = 4;

struct panel_units {
  std::vector<panel_unit> units;
  std::vector<panel_job> jobs;
  std::vector<std::uint16_t> pieces; // entries - 1, plus 32 times where they begin
  std::vector<std::int64_t> stages;  // panels
  std::vector<panel_join> joins;
  std::int64_t sums = 0; // elements of units' sums in the workspace
  std::int64_t most_rows = 0;
  bool sums_in_shared = true;

  /// Bytes of shared memory for sums, and in all: x of a panel follows the sums, aligned.
  std::size_t shared_sums(std::size_t value) const {
    return sums_in_shared
               ? ceil_div(static_cast<std::size_t>(most_rows) * value, std::size_t{16}) * 16
               : 0;
  }
  std::size_t shared(std::size_t value, std::int64_t width) const {
    return shared_sums(value) +
           (!stages.empty() ? static_cast<std::size_t>(width) * value + 16 : 0);
  }
};

/// The host's copy of the arrays that units are made from.
template <class I, class O>
struct panel_shape {
  std::int64_t nnz, places;
  int width, lanes;
  std::size_t value; // bytes of a value
  std::vector<I> group_ptr, tile_panel, run_len;
  std::vector<O> group_tile, tile_ptr, slot_ptr, run_ptr, run_count;
  std::vector<unsigned char> flags; // of tiles
};

template <class I, class O>
class panel_cutter {
public:
  explicit panel_cutter(panel_shape<I, O> const& a) : a_(a) {}

  panel_units cut() {
    auto const groups = static_cast<std::int64_t>(a_.group_ptr.size()) - 1;
    for (std::int64_t g = 0; g < groups; ++g)
      to_.most_rows = std::max(to_.most_rows, rows(g));
    auto const bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n) * a_.value; };
    to_.sums_in_shared = bytes(to_.most_rows) <= most_shared;
    may_stage_ = to_.shared_sums(a_.value) + bytes(a_.width) + 16 <= most_shared;
    counting_ = true;
    for (std::int64_t g = 0; g < groups; ++g) {
      cost_ = 0;
      for (std::int64_t t = a_.group_tile[g]; t < a_.group_tile[g + 1]; ++t)
        cut_tile(t);
      costs_.push_back(cost_);
    }
    counting_ = false;
    bool const is_alone = to_.shared_sums(a_.value) + bytes(a_.width) + 16 > most_shared / 2;
    most_units_ = is_alone ? most_blocks_at_once / 2 : most_blocks_at_once;
    std::int64_t const share = choose_share(groups);
    for (std::int64_t g = 0; g < groups; ++g)
      cut_group(g, share);
    // The longest first.
    std::vector<std::size_t> order(to_.units.size());
    for (std::size_t u = 0; u < order.size(); ++u)
      order[u] = u;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t p, std::size_t q) { return unit_costs_[p] > unit_costs_[q]; });
    std::vector<panel_unit> sorted;
    for (std::size_t const u : order)
      sorted.push_back(to_.units[u]);
    to_.units.swap(sorted);
    return std::move(to_);
  }

private:
  std::int64_t rows(std::int64_t g) const {
    return static_cast<std::int64_t>(a_.group_ptr[g + 1]) - a_.group_ptr[g];
  }
  std::int64_t units_of(std::int64_t g, std::int64_t share) const {
    std::int64_t const least = std::max(share, unit_entries * rows(g));
    return std::max<std::int64_t>(1, ceil_div(costs_[g], least));
  }
  /// Entries of a unit, such that there are most_units_ units, including whole groups of fewer
  /// entries.
  std::int64_t choose_share(std::int64_t groups) const {
    std::int64_t all = 0;
    for (std::int64_t const c : costs_)
      all += c;
    std::int64_t share = std::max(least_unit, all / most_units_ + 1);
    for (;; share += share / 64 + 1) {
      double units = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        std::int64_t const n = units_of(g, share);
        units += n > 1 ? static_cast<double>(n)
                       : static_cast<double>(costs_[g]) / static_cast<double>(share);
      }
      if (units <= static_cast<double>(most_units_))
        return share;
    }
  }

  void begin_unit(std::int64_t tile) {
    panel_unit u{};
    u.entry = a_.tile_ptr[tile];
    u.slot = a_.slot_ptr[tile];
    u.job = static_cast<std::int64_t>(to_.jobs.size());
    u.stage = static_cast<std::int64_t>(to_.stages.size());
    to_.units.push_back(u);
    unit_begin_ = cost_;
    after_ = 0;
    begin_tile();
  }
  void begin_tile() {
    tile_job_ = to_.jobs.size();
    tile_entries_ = 0;
    fresh_ = true;
  }
  /// Ends the part of the tile that is in this unit.
  void end_tile(std::int64_t panel) {
    std::int64_t const columns = std::min<std::int64_t>(a_.width, a_.places - panel * a_.width);
    bool const stages =
        may_stage_ && tile_job_ < to_.jobs.size() && tile_entries_ * columns_an_entry >= columns;
    if (stages)
      to_.stages.push_back(panel);
    std::size_t const before = to_.stages.size() - to_.units.back().stage;
    for (std::size_t j = tile_job_; j < to_.jobs.size(); ++j)
      to_.jobs[j].stage = static_cast<std::uint32_t>(2 * before + stages);
    begin_tile();
  }
  void end_unit(std::int64_t g) {
    panel_unit& u = to_.units.back();
    u.row = a_.group_ptr[g];
    u.rows = static_cast<std::int32_t>(rows(g));
    u.jobs = static_cast<std::int32_t>(to_.jobs.size() - u.job);
    u.stages = static_cast<std::int32_t>(to_.stages.size() - u.stage);
    u.whole = units_ == 1;
    u.sums = -1;
    if (units_ > 1 || !to_.sums_in_shared) {
      u.sums = to_.sums;
      to_.sums += u.rows;
    }
    unit_costs_.push_back(cost_ - unit_begin_);
  }

  void add_job(std::uint32_t shape, std::int64_t entry, std::int64_t slot, std::int64_t entries,
               std::size_t pieces = 0) {
    std::int64_t const panel = a_.tile_panel[tile_];
    bool const begins = fresh_ || (shape & repeats_bit);
    if (!counting_ && cost_ >= next_cut_ && unit_ + 1 < units_) {
      end_tile(panel);
      end_unit(group_);
      begin_unit(tile_);
      ++unit_;
      next_cut_ = costs_[group_] * (unit_ + 1) / units_;
    }
    fresh_ = false;
    cost_ += std::max(entries, job_cost) + (begins ? phase_cost : 0);
    if (counting_)
      return;
    panel_unit& u = to_.units.back();
    if (begins)
      after_ = static_cast<std::uint32_t>(to_.jobs.size() - u.job);
    to_.jobs.push_back({static_cast<std::uint32_t>(entry - u.entry),
                        static_cast<std::uint32_t>(slot - u.slot), shape, after_, panel, 0,
                        static_cast<std::uint32_t>(pieces)});
    tile_entries_ += entries;
    u.entries += static_cast<std::int32_t>(entries);
  }

  void cut_group(std::int64_t g, std::int64_t share) {
    group_ = g;
    units_ = units_of(g, share);
    unit_ = 0;
    cost_ = 0;
    next_cut_ = costs_[g] / units_;
    std::int64_t const first_sums = to_.sums;
    begin_unit(a_.group_tile[g]);
    for (std::int64_t t = a_.group_tile[g]; t < a_.group_tile[g + 1]; ++t)
      cut_tile(t);
    end_unit(g);
    units_ = unit_ + 1; // cut phases cost again, and large jobs may leave fewer units
    if (units_ == 1) {
      to_.units.back().whole = 1;
      return;
    }
    int parts = 1;
    while (parts < 16 && parts * 8 < units_)
      parts *= 2;
    for (std::int64_t i = 0; i < rows(g); i += join_threads / parts)
      to_.joins.push_back(
          {a_.group_ptr[g] + i, first_sums + i,
           static_cast<std::int32_t>(std::min<std::int64_t>(join_threads / parts, rows(g) - i)),
           static_cast<std::int32_t>(rows(g)), static_cast<std::int32_t>(units_), parts});
  }

  // First all runs of rows side by side, then the rest. Rows with more entries than a job take
  // several jobs, with a phase each: the first jobs of all rows, the second ones, and so on.
  void cut_tile(std::int64_t t) {
    tile_ = t;
    fresh_ = true;
    unsigned char const flags = a_.flags[t];
    for (bool const wide : {true, false}) {
      bool const repeats = (flags & (wide ? wide_repeat : rest_repeat)) != 0;
      if (!wide && (flags & both_meet))
        fresh_ = true;
      bool more = true;
      for (std::int64_t part = 0; more; ++part) {
        more = false;
        if (part > 0)
          fresh_ = true;
        std::int64_t entry = a_.tile_ptr[t];
        std::int64_t slot = a_.slot_ptr[t];
        for (std::int64_t r = a_.run_ptr[t]; r < a_.run_ptr[t + 1]; ++r) {
          std::int64_t const length = a_.run_len[r] > 0 ? a_.run_len[r] : -a_.run_len[r];
          std::int64_t const rows = a_.run_count[r] * (a_.run_len[r] > 0 ? a_.lanes : 1);
          if (wide == (a_.run_len[r] > 0))
            more |= wide ? cut_rows(entry, slot, length, a_.run_count[r], part, repeats)
                         : cut_rest(entry, slot, length, rows, part, repeats);
          else
            flush(repeats); // mixed jobs take one run after the other
          entry += rows * length;
          slot += rows;
        }
        flush(repeats);
      }
    }
    if (!counting_)
      end_tile(a_.tile_panel[t]);
  }

  /// Whether rows have more entries than this part.
  bool cut_rows(std::int64_t entry, std::int64_t slot, std::int64_t length, std::int64_t chunks,
                std::int64_t part, bool repeats) {
    std::int64_t const lanes = a_.lanes;
    std::int64_t const begin = part * most_length;
    std::int64_t const here = std::min(most_length, length - begin);
    if (here <= 0)
      return false;
    bool const even = std::has_single_bit(static_cast<unsigned>(lanes));
    bool const many = even && !repeats && length <= many_length;
    if (!many && (lanes > 32 || length > most_length)) {
      for (std::int64_t c = 0; c < chunks; ++c)
        for (std::int64_t lane = 0; lane < lanes; lane += 32) {
          std::int64_t const n = std::min<std::int64_t>(32, lanes - lane);
          add_job(shape_of(job_kind::rows, here, n, repeats),
                  entry + (c * length + begin) * lanes + lane, slot + c * lanes + lane, n * here);
        }
      return begin + here < length;
    }
    std::int64_t const most = (many ? 128 : 32) / lanes;
    for (std::int64_t c = 0; c < chunks; c += most) {
      std::int64_t const n = std::min(most, chunks - c) * lanes;
      add_job(shape_of(many ? job_kind::many : job_kind::rows, length, n, repeats),
              entry + c * lanes * length, slot + c * lanes, n * length);
    }
    return false;
  }

  bool cut_rest(std::int64_t entry, std::int64_t slot, std::int64_t length, std::int64_t rows,
                std::int64_t part, bool repeats) {
    if (length == 1 && !repeats) {
      flush(repeats);
      for (std::int64_t i = 0; i < rows && part == 0; i += 128) {
        std::int64_t const n = std::min<std::int64_t>(128, rows - i);
        add_job(shape_of(job_kind::singles, 1, n, false), entry + i, slot + i, n);
      }
      return false;
    }
    if (length <= 32) {
      for (std::int64_t i = 0; i < rows && part == 0; ++i) {
        if (mixed_ == 0) {
          mixed_entry_ = entry + i * length;
          mixed_slot_ = slot + i;
        }
        piece_[mixed_++] =
            static_cast<std::uint16_t>((entry + i * length - mixed_entry_) << 5 | (length - 1));
        mixed_entries_ += length;
        if (mixed_ == 32)
          flush(repeats);
      }
      return false;
    }
    flush(repeats);
    std::int64_t const begin = part * most_piece;
    std::int64_t const here = std::min(most_piece, length - begin);
    for (std::int64_t i = 0; i < rows && here > 0; ++i)
      add_job(shape_of(job_kind::piece, here, 1, repeats), entry + i * length + begin, slot + i,
              here);
    return begin + here < length;
  }
  void flush(bool repeats) {
    if (mixed_ == 0)
      return;
    std::size_t const at = to_.pieces.size();
    if (!counting_)
      to_.pieces.insert(to_.pieces.end(), piece_, piece_ + mixed_);
    add_job(shape_of(job_kind::mixed, mixed_entries_, mixed_, repeats), mixed_entry_, mixed_slot_,
            mixed_entries_, at);
    mixed_ = 0;
    mixed_entries_ = 0;
  }

  panel_shape<I, O> const& a_;
  panel_units to_;
  bool may_stage_ = false;
  std::int64_t most_units_ = 0;
  bool counting_ = false; // costs of groups, in entries
  bool fresh_ = true;     // the next job begins a phase
  std::vector<std::int64_t> costs_, unit_costs_;
  std::int64_t units_ = 1, unit_ = 0, cost_ = 0, unit_begin_ = 0, next_cut_ = 0;
  std::int64_t group_ = 0, tile_ = 0, tile_entries_ = 0;
  std::size_t tile_job_ = 0;
  std::uint32_t after_ = 0;
  std::uint16_t piece_[32]; // of a mixed job that is not full
  int mixed_ = 0;
  std::int64_t mixed_entry_ = 0, mixed_slot_ = 0, mixed_entries_ = 0;
};

} // namespace
} // namespace tulle::kernels::cuda
