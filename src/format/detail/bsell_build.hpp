// SPDX-License-Identifier: Apache-2.0

/// csr to bsell and back: blocks are found as in bcsr, then assigned to slices.
#pragma once
#include "tulle/format/bsell.hpp"

#include "format/detail/bcsr_build.hpp"
#include "format/detail/blocks.hpp"

namespace tulle::detail {

/// Options that can be, as they will be; errc::unsupported for others.
template <class V>
bsell_options checked_bsell_options(bsell_options o) {
  checked_bcsr_options({o.rows, o.cols, o.limit, false}, "bsell");
  if (o.chunk == 0)
    o.chunk = 32 / static_cast<int>(sizeof(V)); // a vector of 256 bits
  if (o.chunk < 1 || o.chunk > 64 || (o.chunk & (o.chunk - 1)) != 0)
    fail(errc::unsupported, "bsell: option chunk is %d, expected a power of two up to 64", o.chunk);
  if (o.sigma != 1 && (o.sigma < 1 || o.sigma % o.chunk != 0))
    fail(errc::unsupported, "bsell: option sigma is %d, expected 1 or a multiple of chunk, %d",
         o.sigma, o.chunk);
  return o;
}

/// Columns of a slice that are so many apart, at most, are kept as 16 bits.
inline constexpr int bsell_most_span = 65535;

template <class V, class I, class O>
double bsell_bytes(std::size_t block_rows, std::size_t slices, std::size_t stored,
                   std::size_t column, std::size_t size, bool sorted, bool holes) {
  return double(block_rows) * double(sizeof(I)) * (sorted ? 2 : 1) +
         double(slices + 1) * double(sizeof(O)) + (column == 2 ? double(slices) * sizeof(I) : 0) +
         double(stored) * double(column) + double(stored) * double(size) * double(sizeof(V)) +
         (holes ? double(stored) * double(size) / 8 : 0);
}

/// Places in the order of slices: the longest first within windows, then the longest slices; empty
/// where all stay as they are.
template <class V, class I, class O>
array<I> sliced_order(bcsr<V, I, O> const& b, bsell_options const& o, cpu const& where) {
  std::size_t const n = b.view().block_rows();
  auto const chunk = static_cast<std::size_t>(o.chunk);
  if (o.sigma == 1 || n == 0)
    return {};
  auto const length = [&](I i) {
    return b.block_ptr[static_cast<std::size_t>(i) + 1] - b.block_ptr[static_cast<std::size_t>(i)];
  };
  array<I> order(n, where.memory);
  std::iota(order.begin(), order.end(), I(0));
  auto const sigma = static_cast<std::size_t>(o.sigma);
  std::size_t const windows = (n + sigma - 1) / sigma;
  int const parts = parts_for(n, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(windows, part + 1, parts);
    for (std::size_t w = split(windows, part, parts); w < end; ++w)
      std::sort(order.data() + w * sigma, order.data() + std::min(n, (w + 1) * sigma),
                [&](I i, I j) { return length(i) != length(j) ? length(i) > length(j) : i < j; });
  });
  // Windows hold whole slices; what is not whole is the last one's, and stays there.
  array<I> slice(n / chunk, where.memory);
  std::iota(slice.begin(), slice.end(), I(0));
  auto const steps = [&](I s) {
    return (length(order[static_cast<std::size_t>(s) * chunk]) + 1) / 2;
  };
  std::sort(slice.begin(), slice.end(),
            [&](I s, I t) { return steps(s) != steps(t) ? steps(s) > steps(t) : s < t; });
  array<I> perm(n, where.memory);
  for (std::size_t s = 0; s < slice.size(); ++s)
    std::copy_n(order.data() + static_cast<std::size_t>(slice[s]) * chunk, chunk,
                perm.data() + s * chunk);
  std::copy(order.data() + slice.size() * chunk, order.data() + n,
            perm.data() + slice.size() * chunk);
  for (std::size_t p = 0; p < n; ++p)
    if (perm[p] != static_cast<I>(p))
      return perm;
  return {};
}

/// f(place, slice, row of it, places) for each place of part `part` of the slices.
template <class View, class F>
void each_place(View const& a, int part, int parts, F&& f) {
  auto const chunk = static_cast<std::size_t>(a.chunk);
  std::size_t const n = a.block_rows();
  std::size_t const end = split_by_entries(a.slice_ptr, a.slices(), part + 1, parts);
  for (std::size_t s = split_by_entries(a.slice_ptr, a.slices(), part, parts); s < end; ++s)
    for (std::size_t r = 0; r < chunk && s * chunk + r < n; ++r)
      f(s * chunk + r, s, r, a.places_of(s));
}

/// The bits of a block of a csr, row by row: [first[s], last[s]) are the entries of its row s.
template <class I, class O>
std::uint64_t bits_of_block(I const* col, int rows, int width, I left, O const* first,
                            O const* last) {
  std::uint64_t bits = 0;
  for (int s = 0; s < rows; ++s)
    for (O k = first[s]; k < last[s]; ++k)
      bits |= std::uint64_t(1) << (s * width + static_cast<int>(col[k] - left));
  return bits;
}

} // namespace tulle::detail
