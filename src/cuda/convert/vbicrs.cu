// SPDX-License-Identifier: Apache-2.0

// csr to vbicrs: runs along the curve (bicrs_runs.cuh), groups of them, then one thread per vector.
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
  __device__ bool begins_block(std::size_t r) const { return of_run[r] != of_run[r + 1]; }
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
  /// The csr's entry that a vector of a group begins with, where `done` entries of each row come
  /// before it.
  __device__ O lead(std::size_t r, std::size_t done) const {
    while (static_cast<std::size_t>(run[r].count) <= done)
      ++r;
    return run[r].begin + static_cast<O>(done);
  }
};

/// The number of vectors of all groups. Waits for the stream.
template <class I, class O>
std::size_t count_vectors(run_groups<I, O> const& g, std::size_t runs, void* stream) {
  return fold<sum>(runs, stream,
                   [=] __device__(std::size_t r) { return g.begins(r) ? g.vectors(r) : 0; });
}

/// How tall vectors are, and how many slots they take.
struct vector_shape {
  int height;
  std::size_t stored;
};

/// The height that takes the fewest slots, the tallest of equal ones, or the one that is asked for.
/// groups_of(height): groups of runs. Waits for the stream.
template <class F>
vector_shape choose_height(vbicrs_options const& o, int lanes, std::size_t runs, F groups_of,
                           void* stream) {
  vector_shape best{lanes, 0};
  for (int h = 1; h <= lanes; h *= 2) {
    if (o.height != 0 && o.height != h)
      continue;
    std::size_t const slots =
        static_cast<std::size_t>(lanes) * count_vectors(groups_of(h), runs, stream);
    if (h == 1 || h == o.height || slots <= best.stored)
      best = {h, slots};
  }
  return best;
}

/// Groups of all runs.
template <class O>
struct device_groups {
  std::size_t count;
  std::unique_ptr<scratch<O>> of_run; // runs + 1: groups that begin before a run
  std::unique_ptr<scratch<O>> run;    // count: the first run of each
  std::unique_ptr<scratch<O>> ptr;    // count + 1: vectors before it
};

/// Waits for the stream.
template <class I, class O>
device_groups<O> find_groups(run_groups<I, O> const& g, std::size_t runs, void* stream) {
  device_groups<O> made{};
  made.of_run = std::make_unique<scratch<O>>(runs + 1, stream);
  O* const of_run = made.of_run->get();
  each(runs, stream, [=] __device__(std::size_t r) { of_run[r] = g.begins(r); });
  to_pointers(of_run, runs, stream);
  made.count = last_of(of_run, runs, stream);
  made.run = std::make_unique<scratch<O>>(made.count, stream);
  made.ptr = std::make_unique<scratch<O>>(made.count + 1, stream);
  O* const first = made.run->get();
  O* const ptr = made.ptr->get();
  each(runs, stream, [=] __device__(std::size_t r) {
    if (of_run[r + 1] == of_run[r])
      return;
    first[of_run[r]] = static_cast<O>(r);
    ptr[of_run[r]] = static_cast<O>(g.vectors(r));
  });
  to_pointers(ptr, made.count, stream);
  return made;
}

/// The arrays that vectors fill.
template <class V>
struct vector_arrays {
  std::int16_t* col;
  V* val;
  std::uint64_t* pattern;
  std::size_t words; // of pattern
};

/// Each of `count` vectors, by a thread.
template <class V, class I, class O>
void fill_vectors(std::size_t count, device_csr<V, I, O> const& from, run_groups<I, O> const& g,
                  device_groups<O> const& of, I side, vector_arrays<V> const& to, void* stream) {
  constexpr std::size_t slots_of_vector = vbicrs_view<V, I, O>::lanes;
  each(
      count, stream,
      [=, groups = of.count, first = of.run->get(), ptr = of.ptr->get()] __device__(std::size_t v) {
        auto const group =
            static_cast<std::size_t>(upper_bound(ptr, groups, static_cast<O>(v))) - 1;
        auto const r = static_cast<std::size_t>(first[group]);
        std::size_t const done = (v - static_cast<std::size_t>(ptr[group])) * g.width;
        I const lead = from.col[g.lead(r, done)];
        I before = g.run[r].block_col * side; // plus what a jump adds
        if (done != 0) {
          before = from.col[g.lead(r, done - g.width)];
        } else if (!g.begins_block(r)) {
          std::size_t const vectors = static_cast<std::size_t>(ptr[group] - ptr[group - 1]);
          before = from.col[g.lead(static_cast<std::size_t>(first[group - 1]),
                                   (vectors - 1) * g.width)] -
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
          to.val[at] = has ? from.val[k] : V(0);
          to.col[at] = static_cast<std::int16_t>(s == 0 ? lead - before
                                                 : has  ? from.col[k] - lead
                                                        : I(0));
        }
        if (to.words != 0) { // whole bytes
          auto* const bytes =
              reinterpret_cast<unsigned char*>(to.pattern) + v * slots_of_vector / 8;
          for (std::size_t k = 0; k < slots_of_vector / 8; ++k)
            bytes[k] = static_cast<unsigned char>(bits >> 8 * k);
        }
      });
}

template <class V, class I, class O>
vbicrs_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, vbicrs_options const& o,
                                           result const& to) {
  constexpr int lanes = vbicrs_view<V, I, O>::lanes;
  detail::check_bicrs_options("vbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  detail::check_vbicrs_height(o.height, lanes);
  void* const stream = to.stream();
  canonical<V, I, O> const c(a, stream);
  device_csr<V, I, O> const from = c.view;
  auto const runs = find_runs("vbicrs", from, o.block, o.part, to);
  auto const blocks = find_blocks(runs, o.block, to);
  auto const groups_of = [&](int height) {
    auto const h = static_cast<std::size_t>(height);
    return run_groups<I, O>{runs.run(), blocks.of_run(), blocks.first(), h,
                            static_cast<std::size_t>(lanes) / h};
  };
  auto const [height, stored] = choose_height(o, lanes, runs.count, groups_of, stream);
  detail::check_room("vbicrs", static_cast<double>(stored) * (sizeof(V) + 2 + .125),
                     detail::bytes_of(from), o.limit);
  narrow<O>(stored, "vbicrs");
  auto const g = groups_of(height);
  auto const groups = find_groups(g, runs.count, stream);
  std::size_t const jumps = groups.count * g.height;
  narrow<O>(jumps, "vbicrs");
  O* const block_ptr = to.take<O>(blocks.count + 1);
  O* const jump_ptr = to.take<O>(blocks.count + 1);
  auto* const row = to.take<std::int16_t>(jumps);
  auto* const col = to.take<std::int16_t>(stored);
  V* const val = to.take<V>(stored);
  std::size_t const words = stored == static_cast<std::size_t>(from.nnz) ? 0 : (stored + 63) / 64;
  auto* const pattern = to.zeros<std::uint64_t>(words);
  auto const side = static_cast<I>(o.block);
  O const* const of_run = groups.of_run->get();
  O const* const first = groups.run->get();
  O const* const ptr = groups.ptr->get();
  each(blocks.count + 1, stream, [=] __device__(std::size_t b) {
    block_ptr[b] = ptr[of_run[g.first[b]]] * lanes;
    jump_ptr[b] = of_run[g.first[b]] * static_cast<O>(g.height);
  });
  each(jumps, stream, [=] __device__(std::size_t k) {
    auto const r = static_cast<std::size_t>(first[k / g.height]);
    std::size_t const mine = r + k % g.height;
    I before = g.run[r].row;
    if (mine == r)
      before = g.begins_block(r) ? before / side * side : g.run[first[k / g.height - 1]].row;
    row[k] = mine < g.end(r) ? static_cast<std::int16_t>(g.run[mine].row - before) : 0;
  });
  fill_vectors(stored / static_cast<std::size_t>(lanes), from, g, groups, side,
               vector_arrays<V>{col, val, pattern, words}, stream);
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
