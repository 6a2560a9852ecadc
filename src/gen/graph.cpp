// SPDX-License-Identifier: Apache-2.0
//
// Matrices drawn edge by edge: fem, rmat, random. Edge k is a function of k, so any thread can draw
// it; a counting sort by row and a sort within rows make the order of drawing invisible.
#include "format/detail/counting_sort.hpp"
#include "gen/source.hpp"

#include <algorithm>

namespace tulle::gen {
namespace {

/// Rows of sorted, distinct columns with gaps between them, where duplicates were.
struct adjacency {
  array<std::int64_t> first; ///< rows + 1: where a row begins
  array<std::int64_t> count; ///< rows
  array<std::int64_t> col;
};

/// walk(part, parts, f) calls f(row, col) for each edge of a part; there are at most `edges`.
template <class Walk>
adjacency assemble(std::size_t rows, std::size_t edges, Walk walk, cpu const& where) {
  adjacency g;
  g.col = array<std::int64_t>(edges, where.memory);
  std::int64_t* const col = g.col.data();
  g.first = detail::counting_sort<std::int64_t>(
      rows, edges, walk,
      [col](std::size_t at, std::int64_t const*, std::uint64_t j) {
        col[at] = static_cast<std::int64_t>(j);
      },
      where);
  g.count = array<std::int64_t>(rows, where.memory);
  int const parts = parts_for(edges + rows, where.threads);
  std::int64_t const* const first = g.first.data();
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(first, rows, part + 1, parts);
    for (std::size_t i = split_by_entries(first, rows, part, parts); i < end; ++i) {
      std::sort(col + first[i], col + first[i + 1]);
      g.count[i] = std::unique(col + first[i], col + first[i + 1]) - (col + first[i]);
    }
  });
  return g;
}

class graph final : public source {
public:
  /// block: each edge stands for a full block x block of entries.
  graph(adjacency g, std::size_t height, std::size_t width, std::size_t block)
      : graph_(std::move(g)), block_(block) {
    rows = height;
    cols = width;
  }
  std::size_t length(std::size_t i, std::int64_t*) const override {
    return static_cast<std::size_t>(graph_.count[i / block_]) * block_;
  }
  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::size_t const node = i / block_;
    auto const n = static_cast<std::size_t>(graph_.count[node]);
    std::int64_t const* const from = graph_.col.data() + graph_.first[node];
    auto const block = static_cast<std::int64_t>(block_);
    for (std::size_t k = 0; k < n; ++k)
      for (std::int64_t e = 0; e < block; ++e)
        *out++ = from[k] * block + e;
    return n * block_;
  }

private:
  adjacency graph_;
  std::size_t block_;
};

// Each node draws forward_edges nodes behind it, in runs of run_length, no further than asked for,
// or than a mesh of that many nodes in three dimensions would reach; each edge counts both ways.
source_ptr make_fem(recipe const& r, limits const& most, cpu const& where) {
  constexpr std::uint64_t forward_edges =
      10; // 1 + 2 * 10 nodes, 63 entries a row, fewer at the ends
  constexpr std::uint64_t run_length = 3;
  constexpr std::uint64_t per_node = 1 + 2 * forward_edges;
  wide const wanted = (static_cast<wide>(r.number[0]) + 2) / 3;
  check_sizes(r, most, 3 * wanted, 3 * wanted, 9 * wanted * per_node);
  auto const nodes = static_cast<std::uint64_t>(wanted);
  auto const reach = r.number[1] != 0
                         ? r.number[1]
                         : static_cast<std::uint64_t>(std::ceil(
                               std::cbrt(static_cast<double>(nodes) * static_cast<double>(nodes))));
  auto const walk = [&](int part, int parts, auto f) {
    for (std::uint64_t i = split(nodes, part, parts), end = split(nodes, part + 1, parts); i < end;
         ++i) {
      f(i, i);
      stream draws(mix(r.seed), i);
      std::uint64_t distance = 0;
      for (std::uint64_t k = 0; k < forward_edges; ++k) {
        distance = k % run_length == 0 ? 1 + draws.below(reach) : distance + 1;
        if (distance >= nodes - i)
          continue;
        f(i, i + distance);
        f(i + distance, i);
      }
    }
  };
  auto s = std::make_unique<graph>(assemble(nodes, nodes * per_node, walk, where), 3 * nodes,
                                   3 * nodes, 3);
  s->values = values::symmetric;
  return s;
}

// Chakrabarti, Zhan, Faloutsos, SDM 2004: each bit of row and column by one throw.
source_ptr make_rmat(recipe const& r, limits const& most, cpu const& where) {
  constexpr std::uint64_t a = static_cast<std::uint64_t>(.57 * 65536);
  constexpr std::uint64_t ab = static_cast<std::uint64_t>(.76 * 65536);
  constexpr std::uint64_t abc = static_cast<std::uint64_t>(.95 * 65536);
  std::uint64_t const scale = r.number[0];
  wide const wanted = static_cast<wide>(1) << std::min<std::uint64_t>(scale, 64);
  check_sizes(r, most, wanted, wanted, product(wanted, r.number[1]));
  auto const rows = static_cast<std::uint64_t>(wanted);
  std::uint64_t const edges = rows * r.number[1];
  std::uint64_t const key = mix(r.seed);
  auto const walk = [=](int part, int parts, auto f) {
    for (std::uint64_t k = split(edges, part, parts), end = split(edges, part + 1, parts); k < end;
         ++k) {
      std::uint64_t i = 0;
      std::uint64_t j = 0;
      std::uint64_t bits = 0;
      for (std::uint64_t level = 0; level < scale; ++level) {
        bits = level % 4 == 0 ? hash(key, k, level) : bits >> 16; // 16 bits a throw
        std::uint64_t const q = bits & 0xFFFF;
        std::uint64_t const down = q >= ab;
        i = i << 1 | down;
        j = j << 1 | (down ? q >= abc : q >= a);
      }
      f(i, j);
    }
  };
  return std::make_unique<graph>(assemble(rows, edges, walk, where), rows, rows, 1);
}

// Entry k lies at the k-th place of a shuffle of all places, so that no two meet.
source_ptr make_random(recipe const& r, limits const& most, cpu const& where) {
  std::uint64_t const rows = r.number[0];
  std::uint64_t const cols = r.number[1];
  std::uint64_t const nnz = r.number[2];
  check_sizes(r, most, rows, cols, nnz);
  wide const places = static_cast<wide>(rows) * cols;
  if (nnz > places)
    fail(errc::bad_structure,
         "%s: %llu entries, but %llu rows of %llu columns have places for %llu", text(r).c_str(),
         static_cast<unsigned long long>(nnz), static_cast<unsigned long long>(rows),
         static_cast<unsigned long long>(cols), static_cast<unsigned long long>(places));
  if (places > UINT64_MAX)
    fail(errc::overflow, "%s: rows times columns do not fit 64 bits", text(r).c_str());
  shuffle const place(static_cast<std::uint64_t>(places), mix(r.seed));
  auto const walk = [=](int part, int parts, auto f) {
    for (std::uint64_t k = split(nnz, part, parts), end = split(nnz, part + 1, parts); k < end;
         ++k) {
      std::uint64_t const p = place(k);
      f(p / cols, p % cols);
    }
  };
  return std::make_unique<graph>(assemble(rows, nnz, walk, where), rows, cols, 1);
}

} // namespace

source_ptr make_graph(recipe const& r, limits const& most, cpu const& where) {
  switch (r.family) {
  case family::fem:
    return make_fem(r, most, where);
  case family::rmat:
    return make_rmat(r, most, where);
  default:
    return make_random(r, most, where);
  }
}

} // namespace tulle::gen
