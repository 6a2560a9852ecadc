// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/vbicrs.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bicrs_blocks.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// The groups and vectors of a block whose runs are known, `height` rows by `width` entries each.
struct vbicrs_size {
  std::size_t height, width;

  template <class Runs>
  bicrs_size operator()(Runs const& runs) const {
    bicrs_size s = {(runs.size() + height - 1) / height * height, 0};
    each_group(runs, [&](auto const&, std::size_t vectors) { s.stored += vectors; });
    s.stored *= height * width;
    return s;
  }
  /// f(runs of the group, vectors).
  template <class Runs, class F>
  void each_group(Runs const& runs, F&& f) const {
    for (std::size_t r = 0; r < runs.size(); r += height) {
      auto const group = runs.subspan(r, std::min(height, runs.size() - r));
      std::size_t most = 0;
      for (auto const& run : group)
        most = std::max(most, static_cast<std::size_t>(run.count));
      f(group, (most + width - 1) / width);
    }
  }
  /// f(slot, entry) for each entry of a group that has so many vectors.
  template <class Runs, class F>
  void each_slot(Runs const& group, F&& f) const {
    for (std::size_t r = 0; r < group.size(); ++r)
      for (std::size_t e = 0; e < static_cast<std::size_t>(group[r].count); ++e)
        f(e * height + r, group[r].begin + static_cast<decltype(group[r].begin)>(e));
  }
};

/// Rows and columns of a block whose runs are known, and its bits where there is a pattern; or,
/// where `compare`, whether rows and columns are there. `at` is its first slot.
template <bool compare, class V, class I, class O>
bool encode_vbicrs(csr_view<V, I, O> const& a, int block, vbicrs_size const& shape,
                   std::span<bicrs_run<I, O> const> runs, std::int16_t* row, std::int16_t* col,
                   std::uint64_t* pattern, std::size_t at) {
  bool same = true;
  std::size_t const lanes = shape.height * shape.width;
  I i = static_cast<I>(runs[0].row / static_cast<I>(block) * static_cast<I>(block));
  I j = static_cast<I>(runs[0].block_col * static_cast<I>(block)); // where the block begins
  bool first = true;
  shape.each_group(runs, [&](auto const& group, std::size_t vectors) {
    for (std::size_t r = 0; r < shape.height; ++r)
      put_or_compare<compare>(
          row++, r < group.size() ? group[r].row - (r == 0 ? i : group[0].row) : 0, same);
    i = group[0].row;
    for (std::size_t v = 0; v < vectors; ++v) {
      std::size_t const done = v * shape.width; // entries of each row
      auto const has = [&](std::size_t s) {
        std::size_t const r = s % shape.height;
        return r < group.size() &&
               done + s / shape.height < static_cast<std::size_t>(group[r].count);
      };
      auto const column = [&](std::size_t s) {
        return a.col[group[s % shape.height].begin + static_cast<O>(done + s / shape.height)];
      };
      std::size_t lead = 0; // the first entry
      while (!has(lead))
        ++lead;
      I const to = column(lead);
      std::uint64_t bits = 0;
      for (std::size_t s = 0; s < lanes; ++s) {
        bits |= std::uint64_t(has(s)) << s;
        std::int64_t const other = has(s) ? distance(to, column(s)) : 0;
        put_or_compare<compare>(
            col++, s == 0 ? distance(j, to) + (v == 0 && !first ? block : 0) : other, same);
      }
      j = to;
      if constexpr (compare) // a hole may look like an entry in the column of the first
        same &= bits == (pattern ? bits_at(pattern, at, static_cast<int>(lanes))
                                 : (std::uint64_t(1) << lanes) - 1);
      else if (pattern)
        put_bits(pattern, at, static_cast<int>(lanes), bits, false);
      at += lanes;
    }
    first = false;
  });
  return same;
}

} // namespace detail

template <class V, class I, class O, space S>
vbicrs_view<V, I, O, S>::vbicrs_view(I rows, I cols, O nnz, int block, int height,
                                     bicrs_block_arrays<V, I, O> const& a) requires(S ==
                                                                                    space::host)
    : vbicrs_view(unchecked, rows, cols, nnz, block, height, a) {
  detail::check_bicrs_sizes("vbicrs", a);
  if (!a.pattern.empty() && a.pattern.size() != (a.val.size() + 63) / 64)
    fail(errc::bad_structure, "vbicrs: %zu words of pattern for %zu slots, expected %zu or none",
         a.pattern.size(), a.val.size(), (a.val.size() + 63) / 64);
  detail::check_present("vbicrs: pattern", a.pattern.data(), a.pattern.size());
  validate();
}

template <class V, class I, class O, space S>
void vbicrs_view<V, I, O, S>::validate() const {
  if (height < 1 || height > lanes || (height & (height - 1)) != 0)
    fail(errc::bad_structure, "vbicrs: vectors of %d rows, expected a power of two up to %d",
         height, lanes);
  auto const slots = static_cast<std::size_t>(this->stored);
  if (pattern && slots % 64 != 0 && pattern[slots / 64] >> slots % 64 != 0)
    fail(errc::bad_structure, "vbicrs: pattern has bits beyond the last of %zu slots", slots);
  detail::check_bicrs_blocks("vbicrs", *this, [&](std::size_t b, int rows_here, int cols_here) {
    return check_block(b, rows_here, cols_here);
  });
}

/// Returns the entries of a block of so many rows and columns.
template <class V, class I, class O, space S>
std::size_t vbicrs_view<V, I, O, S>::check_block(std::size_t b, int rows_here,
                                                 int cols_here) const {
  auto const first = static_cast<std::size_t>(this->block_ptr[b]);
  auto const end = static_cast<std::size_t>(this->block_ptr[b + 1]);
  auto jump = static_cast<std::size_t>(this->jump_ptr[b]);
  auto const last_jump = static_cast<std::size_t>(this->jump_ptr[b + 1]);
  auto const n = static_cast<std::size_t>(height);
  if ((end - first) % lanes != 0 || (last_jump - jump) % n != 0 || jump == last_jump)
    fail(errc::bad_structure, "vbicrs: block %zu has %zu slots and %zu rows, not whole vectors", b,
         end - first, last_jump - jump);
  std::size_t entries = 0;
  int row_before = -1, top = 0, base_col = 0;
  int at_row[std::size_t(lanes)], last_col[std::size_t(lanes)]; // of the group; -1: none yet
  std::size_t group = jump;
  auto const begin_group = [&] {
    top += this->row[group];
    for (std::size_t r = 0; r < n; ++r) {
      at_row[r] = top + (r == 0 ? 0 : this->row[group + r]);
      last_col[r] = -1;
    }
  };
  auto const end_group = [&] {
    for (std::size_t r = 0; r < n; ++r) {
      bool const has = last_col[r] >= 0;
      if (has ? at_row[r] <= row_before || at_row[r] >= rows_here
              : r == 0 || group + n != last_jump || this->row[group + r] != 0)
        fail(errc::bad_structure, "vbicrs: row[%zu] is %d, to row %d of %d after %d in block %zu",
             group + r, this->row[group + r], at_row[r], rows_here, row_before, b);
      if (has)
        row_before = at_row[r];
      else if (r + 1 < n && last_col[r + 1] >= 0)
        fail(errc::bad_structure, "vbicrs: row[%zu] names a row without entries", group + r);
    }
  };
  begin_group();
  for (std::size_t k = first; k < end; k += lanes) {
    base_col += this->col[k];
    if (k != first && base_col >= this->block) {
      base_col -= this->block;
      end_group();
      if ((group += n) == last_jump)
        fail(errc::bad_structure, "vbicrs: block %zu has too few rows for col[%zu]", b, k);
      begin_group();
    }
    if (base_col < 0 || base_col >= cols_here)
      fail(errc::bad_structure, "vbicrs: col[%zu] is %d, to column %d of %d in block %zu", k,
           this->col[k], base_col, cols_here, b);
    std::uint64_t const here = bits(k);
    if (here == 0)
      fail(errc::bad_structure, "vbicrs: the vector at slot %zu is empty", k);
    bool lead = true;
    for (std::size_t s = 0; s < static_cast<std::size_t>(lanes); ++s) {
      int const off = s == 0 ? 0 : this->col[k + s];
      if (here >> s & 1) {
        int& last = last_col[s % n];
        int const j = base_col + off;
        if ((lead && off != 0) || j < 0 || j >= cols_here || j <= last ||
            (s >= n && !(here >> (s - n) & 1)))
          fail(errc::bad_structure, "vbicrs: col[%zu] is %d, to column %d of %d after %d", k + s,
               off, j, cols_here, last);
        last = j;
        lead = false;
        ++entries;
      } else if (off != 0 || !(this->val[k + s] == V{})) {
        fail(errc::bad_structure, "vbicrs: slot %zu is a hole, but col or val is not 0", k + s);
      }
    }
  }
  end_group();
  if (group + n != last_jump)
    fail(errc::bad_structure, "vbicrs: block %zu has %zu rows that no entry is in", b,
         last_jump - group - n);
  return entries;
}

template <class V, class I, class O, space S>
csr<V, I, O> vbicrs_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("vbicrs", policy);
  cpu const& where = space.counted();
  return detail::bicrs_to_csr(*this, where);
}

template <class V, class I, class O>
vbicrs<V, I, O> vbicrs<V, I, O>::from_csr(csr_view<V, I, O> a, vbicrs_options o,
                                          cpu const& policy) {
  detail::limited const space("vbicrs", policy);
  cpu const& where = space.counted();
  detail::check_bicrs_options("vbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  detail::check_vbicrs_height(o.height, lanes);
  detail::canonical<V, I, O> const c(a, where);
  vbicrs b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.nnz = c.view.nnz;
  b.block = o.block;
  b.part_row = detail::greedy_parts(c.view, o.part, where);
  detail::bicrs_runs<V, I, O> runs("vbicrs", c.view, o.block, b.part_row.data(),
                                   b.part_row.size() - 1, where);
  // Slots by height: what is chosen, and whether it is too much, before anything is allocated.
  std::size_t slots[8] = {};
  runs.each_part([&](std::size_t, auto const& of_part) {
    for (int h = 1, at = 0; h <= lanes; h *= 2, ++at) {
      if (o.height != 0 && o.height != h)
        continue;
      std::size_t here = 0;
      detail::each_bicrs_block(of_part, [&](auto const& block) {
        here += detail::vbicrs_size{std::size_t(h), std::size_t(lanes / h)}(block).stored;
      });
      __atomic_fetch_add(&slots[at], here, __ATOMIC_RELAXED);
    }
  });
  std::size_t stored = 0;
  for (int h = 1, at = 0; h <= lanes; h *= 2, ++at)
    if (o.height == 0 ? h == 1 || slots[at] <= stored : o.height == h) {
      stored = slots[at];
      b.height = h;
    }
  detail::check_room("vbicrs", static_cast<double>(stored) * (sizeof(V) + 2 + .125),
                     detail::bytes_of(c.view), o.limit);
  detail::vbicrs_size const shape = {std::size_t(b.height), std::size_t(lanes / b.height)};
  detail::bicrs_layout("vbicrs", b, runs, where, shape);
  if (std::cmp_not_equal(stored, b.nnz))
    b.pattern = array<std::uint64_t>((stored + 63) / 64, std::uint64_t(0), where.memory);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    auto at = static_cast<std::size_t>(b.part_block[p]);
    detail::each_bicrs_block(of_part, [&](auto const& block) {
      auto slot = static_cast<std::size_t>(b.block_ptr[at]);
      detail::encode_vbicrs<false>(c.view, b.block, shape, block, b.row.data() + b.jump_ptr[at],
                                   b.col.data() + slot, b.pattern.data(), slot);
      shape.each_group(block, [&](auto const& group, std::size_t vectors) {
        V* const to = b.val.data() + slot;
        std::fill_n(to, vectors * lanes, V{});
        shape.each_slot(group, [&](std::size_t s, O k) { to[s] = c.view.val[k]; });
        slot += vectors * lanes;
      });
      ++at;
    });
  });
  return b;
}

template <class V, class I, class O>
void vbicrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("vbicrs", policy);
  cpu const& where = space.counted();
  detail::check_arrays("vbicrs", *this);
  detail::vbicrs_size const shape = {std::size_t(height), std::size_t(lanes / height)};
  auto const runs_of = [&](csr_view<V, I, O> const& c) {
    return detail::bicrs_runs<V, I, O>("vbicrs", c, this->block, this->part_row.data(),
                                       view().parts, where);
  };
  detail::refill_if(
      "vbicrs", this->rows, this->cols, this->nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        return detail::bicrs_same(*this, runs_of(c), shape, [&](std::size_t b, auto const& block) {
          return detail::encode_vbicrs<true>(c, this->block, shape, block,
                                             this->row.data() + this->jump_ptr[b],
                                             this->col.data() + this->block_ptr[b], pattern.data(),
                                             static_cast<std::size_t>(this->block_ptr[b]));
        });
      },
      [&](csr_view<V, I, O> const& c) {
        runs_of(c).each_part([&](std::size_t p, auto const& of_part) {
          auto at = static_cast<std::size_t>(this->part_block[p]);
          detail::each_bicrs_block(of_part, [&](auto const& block) {
            V* to = this->val.data() + this->block_ptr[at++];
            shape.each_group(block, [&](auto const& group, std::size_t vectors) {
              shape.each_slot(group, [&](std::size_t s, O k) { to[s] = c.val[k]; });
              to += vectors * lanes;
            });
          });
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(vbicrs, every)
