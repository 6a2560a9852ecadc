// SPDX-License-Identifier: Apache-2.0

// What the blocks of a product in panels do, worked out once on the host from the pointers of the
// matrix: a unit is a share of a group's entries, a block's work; its jobs are a warp's.
//
// Jobs of a unit have phases. Rows of one phase are distinct, so its jobs add to the unit's sums
// in any order with the same bits; phases follow each other. A tile has one phase, or two where
// what is left of its rows meets the rows side by side; jobs whose rows repeat have one each.
#pragma once
#include "tulle/format/panels.hpp"

#include "cuda/instantiate.cuh"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

namespace tulle::simt {
namespace {

static int knob(char const* name, int otherwise) {
  char const* const s = std::getenv(name);
  return s ? std::atoi(s) : otherwise;
}

constexpr std::int64_t unit_entries = 4; // a row of a unit has at least, or its group is not cut
constexpr std::size_t most_shared = 227 << 10; // of a block

struct panel_job {
  std::uint32_t entry, slot; // from those of the unit
  std::uint32_t shape;
  std::uint32_t phase;
};

/// How a job's entries lie. rows: `lanes` side by side, up to 32 in all; many: the same, or entries
/// of a row each, up to 128; pieces: one row after the other, 1 << lanes_log of them each.
enum class job_kind : std::uint32_t { rows, many, singles, pieces };
constexpr std::uint32_t length_bits = 17, count_bits = 7, log_bits = 3;
constexpr std::uint32_t repeats_bit = 1u << 31; // rows of the job may be the same
constexpr std::uint32_t shape_of(job_kind kind, std::uint32_t length, std::uint32_t rows,
                                 std::uint32_t lanes_log, bool repeats) {
  return length | (rows - 1) << length_bits | lanes_log << (length_bits + count_bits) |
         static_cast<std::uint32_t>(kind) << (length_bits + count_bits + log_bits) |
         (repeats ? repeats_bit : 0);
}

struct panel_phase {
  std::int64_t panel;
  std::int32_t staged; // the phase of the unit with which its x is staged, or -1
  std::int32_t pad;
};

struct panel_unit {
  std::int64_t entry, slot;         // first
  std::int64_t row;                 // of y, first of the group
  std::int64_t sums;                // where they go in the workspace, or -1
  std::int64_t job, phase;          // first
  std::int32_t jobs, phases;
  std::int32_t rows;                // of the group
  std::int32_t whole;               // the group is this unit
};

/// Rows of a group of several units, whose sums have `parts` threads each.
struct panel_join {
  std::int64_t row, sums;
  std::int32_t rows, stride, units, parts;
};
constexpr int join_threads = 512;

/// What a tile's rows are like: bits of a byte.
constexpr unsigned char wide_repeat = 1, rest_repeat = 2, both_meet = 4;

struct panel_units {
  std::vector<panel_unit> units;
  std::vector<panel_job> jobs;
  std::vector<panel_phase> phases;
  std::vector<panel_join> joins;
  std::int64_t sums = 0; // elements of units' sums in the workspace
  std::int64_t most_rows = 0;
  bool sums_in_shared = true;
  bool stages = false;

  std::size_t shared(std::size_t value, std::int64_t width) const {
    return (sums_in_shared ? static_cast<std::size_t>(most_rows) * value : 0) +
           (stages ? static_cast<std::size_t>(width) * value : 0);
  }
};

/// The host's copy of what the units are made from.
template <class I, class O>
struct panel_shape {
  std::int64_t nnz, places;
  int width, lanes;
  std::size_t value; // bytes of one
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
    may_stage_ = bytes(to_.sums_in_shared ? to_.most_rows + a_.width : a_.width) <= most_shared;
    std::int64_t const share = choose_share(groups);
    for (std::int64_t g = 0; g < groups; ++g)
      cut_group(g, share);
    // The longest first.
    std::stable_sort(to_.units.begin(), to_.units.end(), [&](panel_unit const& p, panel_unit const& q) {
      return p.jobs > q.jobs;
    });
    return std::move(to_);
  }

private:
  std::int64_t rows(std::int64_t g) const {
    return static_cast<std::int64_t>(a_.group_ptr[g + 1]) - a_.group_ptr[g];
  }
  std::int64_t entries(std::int64_t g) const {
    return static_cast<std::int64_t>(a_.tile_ptr[a_.group_tile[g + 1]]) -
           a_.tile_ptr[a_.group_tile[g]];
  }
  std::int64_t units_of(std::int64_t g, std::int64_t share) const {
    std::int64_t const least = std::max(share, unit_entries * rows(g));
    return std::max<std::int64_t>(1, ceil_div(entries(g), least));
  }
  /// Entries of a unit, so that they and the groups without as many are most_units.
  std::int64_t choose_share(std::int64_t groups) const {
    std::int64_t const most_units = knob("TULLE_P_UNITS", 264);
    std::int64_t share = std::max<std::int64_t>(knob("TULLE_P_LEAST", 4096), a_.nnz / most_units + 1);
    for (;; share += share / 64 + 1) {
      double units = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        std::int64_t const n = units_of(g, share);
        units += n > 1 ? static_cast<double>(n)
                       : static_cast<double>(entries(g)) / static_cast<double>(share);
      }
      if (units <= static_cast<double>(most_units))
        return share;
    }
  }

  void begin_unit(std::int64_t entry, std::int64_t slot) {
    panel_unit u{};
    u.entry = entry;
    u.slot = slot;
    u.job = static_cast<std::int64_t>(to_.jobs.size());
    u.phase = static_cast<std::int64_t>(to_.phases.size());
    to_.units.push_back(u);
    tile_phase_ = static_cast<std::int64_t>(to_.phases.size());
    tile_entries_ = 0;
    fresh_ = true;
  }
  /// The phases of the tile so far are all that it has in this unit.
  void end_tile(std::int64_t panel) {
    std::int64_t const columns = std::min<std::int64_t>(a_.width, a_.places - panel * a_.width);
    auto const end = static_cast<std::int64_t>(to_.phases.size());
    if (may_stage_ && tile_phase_ < end && tile_entries_ * knob("TULLE_P_STAGE", 2) >= columns) {
      to_.stages = true;
      for (std::int64_t p = tile_phase_; p < end; ++p)
        to_.phases[p].staged = static_cast<std::int32_t>(tile_phase_ - to_.units.back().phase);
    }
    tile_phase_ = end;
    tile_entries_ = 0;
    fresh_ = true;
  }
  void end_unit(std::int64_t g) {
    panel_unit& u = to_.units.back();
    u.row = a_.group_ptr[g];
    u.rows = static_cast<std::int32_t>(rows(g));
    u.jobs = static_cast<std::int32_t>(to_.jobs.size() - u.job);
    u.phases = static_cast<std::int32_t>(to_.phases.size() - u.phase);
    u.whole = units_ == 1;
    u.sums = -1;
    if (units_ > 1 || !to_.sums_in_shared) {
      u.sums = to_.sums;
      to_.sums += u.rows;
    }
  }

  void add_job(std::uint32_t shape, std::int64_t entry, std::int64_t slot, std::int64_t entries) {
    std::int64_t const panel = a_.tile_panel[tile_];
    if (done_ >= next_cut_ && done_ > 0) {
      end_tile(panel);
      end_unit(group_);
      begin_unit(a_.tile_ptr[tile_], a_.slot_ptr[tile_]);
      ++unit_;
      next_cut_ = group_entries_ * (unit_ + 1) / units_;
    }
    if (fresh_ || (shape & repeats_bit)) {
      to_.phases.push_back({panel, -1, 0});
      fresh_ = false;
    }
    panel_unit const& u = to_.units.back();
    to_.jobs.push_back({static_cast<std::uint32_t>(entry - u.entry),
                        static_cast<std::uint32_t>(slot - u.slot), shape,
                        static_cast<std::uint32_t>(to_.phases.size() - u.phase - 1)});
    tile_entries_ += entries;
    done_ += entries;
  }

  void cut_group(std::int64_t g, std::int64_t share) {
    units_ = units_of(g, share);
    group_entries_ = entries(g);
    unit_ = 0;
    done_ = 0;
    next_cut_ = group_entries_ / units_;
    std::int64_t const first_sums = to_.sums;
    std::int64_t const first = a_.group_tile[g];
    std::int64_t const last = a_.group_tile[g + 1];
    begin_unit(a_.tile_ptr[first], a_.slot_ptr[first]);
    for (std::int64_t t = first; t < last; ++t)
      cut_tile(g, t);
    end_unit(g);
    units_ = unit_ + 1; // long rows may leave fewer than wanted
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

  // Rows side by side by all their runs, then what is left. Rows of more entries than a job has
  // take several, with a phase each: the first of all of them, the second, and so on.
  void cut_tile(std::int64_t g, std::int64_t t) {
    group_ = g;
    tile_ = t;
    unsigned char const flags = a_.flags[t];
    for (bool const wide : {true, false}) {
      bool const repeats = (flags & (wide ? wide_repeat : rest_repeat)) != 0;
      if (!wide && (flags & both_meet))
        fresh_ = true;
      std::int64_t more = 1;
      for (std::int64_t part = 0; more > 0; ++part) {
        more = 0;
        if (part > 0)
          fresh_ = true;
        std::int64_t entry = a_.tile_ptr[t];
        std::int64_t slot = a_.slot_ptr[t];
        for (std::int64_t r = a_.run_ptr[t]; r < a_.run_ptr[t + 1]; ++r) {
          std::int64_t const length = a_.run_len[r] > 0 ? a_.run_len[r] : -a_.run_len[r];
          std::int64_t const rows = a_.run_count[r] * (a_.run_len[r] > 0 ? a_.lanes : 1);
          if (wide == (a_.run_len[r] > 0) &&
              (wide ? cut_rows(entry, slot, length, a_.run_count[r], part, repeats)
                    : cut_pieces(entry, slot, length, rows, part, repeats)))
            ++more;
          entry += rows * length;
          slot += rows;
        }
      }
    }
    end_tile(a_.tile_panel[t]);
  }

  /// Whether there is more than this part of the rows.
  bool cut_rows(std::int64_t entry, std::int64_t slot, std::int64_t length, std::int64_t chunks,
                std::int64_t part, bool repeats) {
    std::int64_t const most_length = knob("TULLE_P_LEN", 32);
    std::int64_t const lanes = a_.lanes;
    std::int64_t const begin = part * most_length;
    std::int64_t const here = std::min(most_length, length - begin);
    if (here <= 0)
      return false;
    auto const l = static_cast<std::uint32_t>(here);
    bool const even = std::has_single_bit(static_cast<unsigned>(lanes));
    bool const split = length > most_length;
    bool const many = even && !repeats && length <= knob("TULLE_P_MANY", 4);
    if (!many && (lanes > 32 || split)) {
      for (std::int64_t c = 0; c < chunks; ++c)
        for (std::int64_t lane = 0; lane < lanes; lane += 32) {
          std::int64_t const n = std::min<std::int64_t>(32, lanes - lane);
          add_job(shape_of(job_kind::rows, l, static_cast<std::uint32_t>(n), 0, repeats),
                  entry + (c * length + begin) * lanes + lane, slot + c * lanes + lane, n * here);
        }
      return begin + here < length;
    }
    std::int64_t const most = (many ? 128 : 32) / lanes;
    for (std::int64_t c = 0; c < chunks; c += most) {
      std::int64_t const n = std::min(most, chunks - c) * lanes;
      add_job(shape_of(many ? job_kind::many : job_kind::rows, l, static_cast<std::uint32_t>(n), 0,
                       repeats),
              entry + c * lanes * length, slot + c * lanes, n * length);
    }
    return false;
  }

  bool cut_pieces(std::int64_t entry, std::int64_t slot, std::int64_t length, std::int64_t rows,
                  std::int64_t part, bool repeats) {
    bool const many = length == 1 && !repeats;
    std::uint32_t log = 0; // lanes of a piece, with four entries each, at least
    while (log < 5 && (std::int64_t(8) << log) <= length)
      ++log;
    std::int64_t const most_length = std::int64_t(knob("TULLE_P_LEN", 32)) << 5;
    std::int64_t const begin = part * most_length;
    std::int64_t const here = std::min(most_length, length - begin);
    if (here <= 0)
      return false;
    std::int64_t const most = many ? 128 : 32 >> log; // 1 where there are parts
    for (std::int64_t i = 0; i < rows; i += most) {
      std::int64_t const n = std::min(most, rows - i);
      add_job(shape_of(many ? job_kind::singles : job_kind::pieces,
                       static_cast<std::uint32_t>(here), static_cast<std::uint32_t>(n), log,
                       repeats),
              entry + i * length + begin, slot + i, n * here);
    }
    return begin + here < length;
  }

  panel_shape<I, O> const& a_;
  panel_units to_;
  bool may_stage_ = false;
  bool fresh_ = true; // the next job begins a phase
  std::int64_t units_ = 1, unit_ = 0, group_entries_ = 0, done_ = 0, next_cut_ = 0;
  std::int64_t group_ = 0, tile_ = 0, tile_phase_ = 0, tile_entries_ = 0;
};

} // namespace
} // namespace tulle::simt
