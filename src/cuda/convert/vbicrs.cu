// SPDX-License-Identifier: Apache-2.0

// csr to vbicrs: runs along the curve (bicrs_runs.cuh), groups of them, then a thread a vector.
#include "tulle/format/vbicrs.hpp"

#include "cuda/convert/bicrs_blocks.cuh"
#include "format/detail/check_room.hpp"

namespace tulle::kernels::cuda {
namespace {

/// Groups of `height` runs of a block; of_run and first as those of device_blocks.
template <class I, class O>
struct run_groups {
  detail::bicrs_run<I, O> const* run;
  O const *of_run, *first;
  std::size_t height, width;

  __device__ bool begins(std::size_t r) const {
    std::size_t const block = static_cast<std::size_t>(of_run[r + 1]) - 1;
    return (r - static_cast<std::size_t>(first[block])) % height == 0;
  }
  /// Of the group that begins with run r.
  __device__ std::size_t end(std::size_t r) const {
    auto const last = static_cast<std::size_t>(first[of_run[r + 1]]);
    return last - r < height ? last : r + height;
  }
  __device__ std::size_t vectors(std::size_t r) const {
    std::size_t most = 0;
    for (std::size_t k = r; k < end(r); ++k)
      most = max(most, static_cast<std::size_t>(run[k].count));
    return ceil_div(most, width);
  }
  /// The csr's entry that a vector of a group begins with, `done` entries of each row having come
  /// before.
  __device__ O lead(std::size_t r, std::size_t done) const {
    while (static_cast<std::size_t>(run[r].count) <= done)
      ++r;
    return run[r].begin + static_cast<O>(done);
  }
};

template <class V, class I, class O>
vbicrs_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, vbicrs_options const& o,
                                             result const& to) {
  constexpr int lanes = vbicrs_view<V, I, O>::lanes;
  constexpr std::size_t slots_of_vector = lanes;
  detail::check_bicrs_options("vbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  detail::check_vbicrs_height(o.height, lanes);
  canonical<V, I, O> const c(a, to.stream());
  device_csr<V, I, O> const from = c.view;
  auto const runs = find_runs("vbicrs", from, o.block, o.part, to);
  auto const blocks = find_blocks(runs, o.block, to);
  auto const groups_of = [&](int height) {
    auto const h = static_cast<std::size_t>(height);
    return run_groups<I, O>{runs.run(), blocks.of_run(), blocks.first(), h, slots_of_vector / h};
  };
  std::size_t stored = 0;
  int height = lanes;
  for (int h = 1; h <= lanes; h *= 2) {
    if (o.height != 0 && o.height != h)
      continue;
    auto const g = groups_of(h);
    std::size_t const slots =
        slots_of_vector * fold<sum>(runs.count, to.stream(), [=] __device__(std::size_t r) {
          return g.begins(r) ? g.vectors(r) : 0;
        });
    if (h == 1 || h == o.height || slots <= stored) {
      stored = slots;
      height = h;
    }
  }
  detail::check_room("vbicrs", static_cast<double>(stored) * (sizeof(V) + 2 + .125),
                     detail::bytes_of(from), o.limit);
  narrow<O>(stored, "vbicrs");
  auto const g = groups_of(height);
  scratch<O> const group_of(runs.count + 1, to.stream()); // groups that begin before a run
  O* const of_run = group_of.get();
  each(runs.count, to.stream(), [=] __device__(std::size_t r) { of_run[r] = g.begins(r); });
  to_pointers(of_run, runs.count, to.stream());
  std::size_t const groups = last_of(of_run, runs.count, to.stream());
  scratch<O> const group_run(groups, to.stream()), group_ptr(groups + 1, to.stream());
  O* const first = group_run.get(); // run
  O* const ptr = group_ptr.get();   // vectors
  each(runs.count, to.stream(), [=] __device__(std::size_t r) {
    if (of_run[r + 1] == of_run[r])
      return;
    first[of_run[r]] = static_cast<O>(r);
    ptr[of_run[r]] = static_cast<O>(g.vectors(r));
  });
  to_pointers(ptr, groups, to.stream());
  std::size_t const jumps = groups * g.height;
  narrow<O>(jumps, "vbicrs");
  O* const block_ptr = to.take<O>(blocks.count + 1);
  O* const jump_ptr = to.take<O>(blocks.count + 1);
  auto* const row = to.take<std::int16_t>(jumps);
  auto* const col = to.take<std::int16_t>(stored);
  V* const val = to.take<V>(stored);
  std::size_t const words = stored == static_cast<std::size_t>(from.nnz) ? 0 : (stored + 63) / 64;
  auto* const pattern = to.zeros<std::uint64_t>(words);
  auto const side = static_cast<I>(o.block);
  each(blocks.count + 1, to.stream(), [=] __device__(std::size_t b) {
    block_ptr[b] = ptr[of_run[g.first[b]]] * lanes;
    jump_ptr[b] = of_run[g.first[b]] * static_cast<O>(g.height);
  });
  auto const begins_block = [=] __device__(std::size_t r) {
    return g.of_run[r] != g.of_run[r + 1];
  };
  each(jumps, to.stream(), [=] __device__(std::size_t k) {
    auto const r = static_cast<std::size_t>(first[k / g.height]);
    std::size_t const mine = r + k % g.height;
    I before = g.run[r].row;
    if (mine == r)
      before = begins_block(r) ? before / side * side : g.run[first[k / g.height - 1]].row;
    row[k] = mine < g.end(r) ? static_cast<std::int16_t>(g.run[mine].row - before) : 0;
  });
  each(stored / slots_of_vector, to.stream(), [=] __device__(std::size_t v) {
    auto const group = static_cast<std::size_t>(upper_bound(ptr, groups, static_cast<O>(v))) - 1;
    auto const r = static_cast<std::size_t>(first[group]);
    std::size_t const done = (v - static_cast<std::size_t>(ptr[group])) * g.width;
    I const lead = from.col[g.lead(r, done)];
    I before = g.run[r].block_col * side; // and what a jump adds
    if (done != 0) {
      before = from.col[g.lead(r, done - g.width)];
    } else if (!begins_block(r)) {
      std::size_t const vectors = static_cast<std::size_t>(ptr[group] - ptr[group - 1]);
      before =
          from.col[g.lead(static_cast<std::size_t>(first[group - 1]), (vectors - 1) * g.width)] -
          side;
    }
    unsigned bits = 0;
    for (std::size_t s = 0; s < slots_of_vector; ++s) {
      std::size_t const mine = r + s % g.height;
      std::size_t const e = done + s / g.height;
      bool const has = mine < g.end(r) && e < static_cast<std::size_t>(g.run[mine].count);
      O const k = has ? g.run[mine].begin + static_cast<O>(e) : O(0);
      std::size_t const at = v * slots_of_vector + s;
      bits |= static_cast<unsigned>(has) << s;
      val[at] = has ? from.val[k] : V(0);
      col[at] = static_cast<std::int16_t>(s == 0 ? lead - before : has ? from.col[k] - lead : I(0));
    }
    if (words != 0) { // whole bytes
      auto* const bytes = reinterpret_cast<unsigned char*>(pattern) + v * slots_of_vector / 8;
      for (std::size_t k = 0; k < slots_of_vector / 8; ++k)
        bytes[k] = static_cast<unsigned char>(bits >> 8 * k);
    }
  });
  return {unchecked,
          a.rows,
          a.cols,
          from.nnz,
          o.block,
          height,
          {{runs.parts.row, runs.parts.count + 1},
           {blocks.part_block, runs.parts.count + 1},
           {blocks.row, blocks.count},
           {blocks.col, blocks.count},
           {block_ptr, blocks.count + 1},
           {jump_ptr, blocks.count + 1},
           {row, jumps},
           {col, stored},
           {val, stored},
           {pattern, words}}};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(vbicrs)

} // namespace tulle::kernels::cuda
