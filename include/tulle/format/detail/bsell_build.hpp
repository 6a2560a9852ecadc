// SPDX-License-Identifier: Apache-2.0

/// Conversions of format/bsell.hpp, which includes this file at its end: blocks are found as bcsr,
/// then dealt out to slices.
#pragma once
#include "tulle/format/bsell.hpp"

namespace tulle {
namespace detail {

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

/// Where the entries of the block row at a place begin in an array of the csr.
template <class V, class I, class O, class T>
T const* first_entry(bsell_view<V, I, O> const& b, std::size_t p, csr_view<V, I, O> const& a,
                     T const* array) {
  return array +
         a.row_ptr[static_cast<std::size_t>(b.row_at(p)) * static_cast<std::size_t>(b.height)];
}

/// Whether a has the columns of the blocks at a place, which have no holes: the rows of a block row
/// are alike.
template <class V, class I, class O>
bool is_whole_place(bsell_view<V, I, O> const& b, std::size_t p, csr_view<V, I, O> const& a) {
  std::size_t const s = p / static_cast<std::size_t>(b.chunk);
  std::size_t const r = p % static_cast<std::size_t>(b.chunk);
  bsell_places const at = b.places_of(s);
  std::size_t const top =
      static_cast<std::size_t>(b.row_at(p)) * static_cast<std::size_t>(b.height);
  auto const blocks = static_cast<std::size_t>(b.len[p]);
  auto const n = static_cast<O>(blocks * static_cast<std::size_t>(b.width));
  if (!are_rows_alike(a, top, b.height, n))
    return false;
  I const* const from = first_entry(b, p, a, a.col);
  return known_side(b.width, [&](auto w) {
    I other = 0; // no branch an entry
    auto const compare = [&](auto const* col, I base) {
      auto const block = [&](std::size_t k, std::size_t place) {
        I const left = static_cast<I>((base + static_cast<I>(col[place])) * w);
        for (int e = 0; e < w; ++e)
          other |=
              static_cast<I>(from[k * static_cast<std::size_t>(w) + static_cast<std::size_t>(e)] ^
                             static_cast<I>(left + e));
      };
      std::size_t k = 0;
      for (; k + 4 <= std::min(blocks, at.fours); k += 4) {
        std::size_t const place = at.block(k, r);
        block(k, place);
        block(k + 1, place + 1);
        block(k + 2, place + 2 * at.chunk);
        block(k + 3, place + 2 * at.chunk + 1);
      }
      for (; k < blocks; ++k)
        block(k, at.block(k, r));
    };
    if (b.short_col)
      compare(b.short_col, b.base[s]);
    else
      compare(b.col, I(0));
    return other == 0;
  });
}

/// The values of blocks [k, end) at a place; such blocks have no holes.
template <class V, class I, class O>
void fill_whole_place(bsell_view<V, I, O> const& b, std::size_t p, std::size_t r,
                      bsell_places const& at, csr_view<V, I, O> const& a, std::size_t k, V* val) {
  auto const blocks = static_cast<std::size_t>(b.len[p]);
  V const* const from = first_entry(b, p, a, a.val);
  known_side(b.width, [&](auto w) {
    known_side(b.height, [&](auto h) {
      for (std::size_t j = k; j < blocks; ++j) {
        V* const to = val + at.first(j, r);
        std::size_t const row = blocks * static_cast<std::size_t>(w);
        V const* const block = from + j * static_cast<std::size_t>(w);
        for (int i = 0; i < h; ++i)
          for (int e = 0; e < w; ++e)
            to[at.slot(j, static_cast<std::size_t>(i * w + e))] =
                block[static_cast<std::size_t>(i) * row + static_cast<std::size_t>(e)];
      }
    });
  });
}

/// Blocks [0, fours) of C rows of H x W blocks to a slice, line by line: pairs of blocks, one
/// behind the other, are H W pairs of values. line[r * H + i] is row i of the blocks of row r;
/// those of `next`, the slice behind it, are asked for.
template <int H, int W, int C, class V>
void put_fours(V const* const* line, V const* const* next, std::size_t fours, bool past, V* to) {
  constexpr int size = H * W;
  for (std::size_t k = 0; k < fours; k += 4) {
    std::size_t const at = k * W;
    for (int l = 0; l < H * C; ++l)
      ask_for(next[l] + at, 4 * W);
#pragma GCC unroll 16
    for (int e = 0; e < 2 * size; e += 2)
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
#pragma GCC unroll 4
        for (int r = 0; r < C; ++r, to += 2) {
          auto const value = [&](int n) {
            return line[r * H + n % size / W] + at + (2 * half + n / size) * W + n % size % W;
          };
          long long one, other;
          std::memcpy(&one, value(e), sizeof one);
          std::memcpy(&other, value(e + 1), sizeof other);
          put(two_words{one, other}, to, past);
        }
  }
}

/// What put_fours() can do of a slice, and how many blocks of each row it did.
template <class H, class W, class V, class I, class O>
std::size_t fill_fours(H, W, bsell_view<V, I, O> const& b, std::size_t first,
                       bsell_places const& at, csr_view<V, I, O> const& a, V* val, bool past) {
  constexpr std::size_t chunk = 4; // the usual one
  if constexpr (sizeof(V) == sizeof(long long) && !std::is_same_v<H, int> &&
                !std::is_same_v<W, int>) {
    if (at.chunk != chunk || first + chunk > b.block_rows())
      return 0;
    constexpr std::size_t h = H::value;
    V const* line[h * chunk];
    V const* next[h * chunk];
    std::size_t fours = at.fours;
    for (std::size_t r = 0; r < chunk; ++r) {
      std::size_t const p = first + r;
      std::size_t const then = std::min(p + chunk, b.block_rows() - 1);
      fours = std::min(fours, static_cast<std::size_t>(b.len[p]) / 4 * 4);
      for (std::size_t i = 0; i < h; ++i) {
        line[r * h + i] =
            first_entry(b, p, a, a.val) + i * W::value * static_cast<std::size_t>(b.len[p]);
        next[r * h + i] =
            first_entry(b, then, a, a.val) + i * W::value * static_cast<std::size_t>(b.len[then]);
      }
    }
    put_fours<h, W::value, chunk>(line, next, fours, past, val + at.begin * h * W::value);
    return fours;
  }
  return 0;
}

/// The values of slice s, whose blocks have no holes.
template <class V, class I, class O>
void fill_whole_slice(bsell_view<V, I, O> const& b, std::size_t s, csr_view<V, I, O> const& a,
                      V* val, bool past) {
  bsell_places const at = b.places_of(s);
  std::size_t const first = s * at.chunk;
  std::size_t const fours = known_side(b.height, [&](auto h) {
    return known_side(b.width,
                      [&](auto w) { return fill_fours(h, w, b, first, at, a, val, past); });
  });
  for (std::size_t r = 0; r < at.chunk && first + r < b.block_rows(); ++r)
    fill_whole_place(b, first + r, r, at, a, fours, val);
}

} // namespace detail

template <class V, class I, class O>
bsell<V, I, O> bsell<V, I, O>::from_csr(csr_view<V, I, O> a, bsell_options o, cpu const& where) {
  o = detail::checked_bsell_options<V>(o);
  auto const b = bcsr<V, I, O>::from_csr(a, {o.rows, o.cols, o.limit, false}, where);
  bsell c;
  c.rows = a.rows;
  c.cols = a.cols;
  c.nnz = b.nnz;
  c.height = b.height;
  c.width = b.width;
  c.chunk = o.chunk;
  std::size_t const n = b.view().block_rows();
  c.perm = detail::sliced_order(b, o, where);
  c.len = array<I>(n, where.memory);
  auto const chunk = static_cast<std::size_t>(o.chunk);
  std::size_t const slices = (n + chunk - 1) / chunk;
  c.slice_ptr = array<O>(slices + 1, where.memory);
  c.slice_ptr[0] = 0;
  if (n == 0)
    return c;

  // How long slices are, and how far their columns reach.
  array<I> base(slices, I(0), where.memory);
  std::size_t stored = 0;
  bool is_short = true;
  for (std::size_t s = 0; s < slices; ++s) {
    std::size_t longest = 0;
    I lo = 0, hi = 0;
    bool is_first = true;
    for (std::size_t p = s * chunk; p < std::min(n, (s + 1) * chunk); ++p) {
      auto const i = c.perm.empty() ? p : static_cast<std::size_t>(c.perm[p]);
      O const begin = b.block_ptr[i], end = b.block_ptr[i + 1];
      c.len[p] = static_cast<I>(end - begin);
      longest = std::max(longest, static_cast<std::size_t>(end - begin));
      if (begin == end)
        continue;
      lo = is_first ? b.block_col[begin] : std::min(lo, b.block_col[begin]);
      hi = std::max(hi, b.block_col[end - 1]);
      is_first = false;
    }
    base[s] = lo;
    is_short = is_short && hi - lo <= detail::bsell_most_span;
    stored += (longest + longest % 2) * chunk;
    c.slice_ptr[s + 1] = narrow<O>(stored, "number of blocks");
  }
  if (stored == 0)
    return c;
  auto const size = static_cast<std::size_t>(b.height * b.width);
  bool const holes = !b.pattern.empty();
  detail::check_room("bsell",
                     detail::bsell_bytes<V, I, O>(n, slices, stored, is_short ? 2 : sizeof(I), size,
                                                  !c.perm.empty(), holes),
                     detail::bytes_of(csr_view<V, I, O>(unchecked, a.rows, a.cols, b.nnz, nullptr,
                                                        nullptr, nullptr)),
                     o.limit);
  if (is_short) {
    c.base = std::move(base);
    c.short_col = array<std::uint16_t>(stored, std::uint16_t(0), where.memory);
  } else {
    c.col = array<I>(stored, I(0), where.memory);
  }
  c.val = array<V>(checked_mul(stored, size, "bsell: slots"), V{}, where.memory);
  c.pattern =
      array<std::uint64_t>(holes ? (stored * size + 63) / 64 : 0, std::uint64_t(0), where.memory);
  bsell_view<V, I, O> const to = c.view();
  int const parts = detail::parts_for(stored * size, where.threads);
  detail::parallel(parts, [&](int part) {
    detail::each_place(
        to, part, parts,
        [&](std::size_t p, std::size_t s, std::size_t r, detail::bsell_places const& at) {
          auto const from =
              static_cast<std::size_t>(b.block_ptr[static_cast<std::size_t>(to.row_at(p))]);
          for (std::size_t k = 0; k < static_cast<std::size_t>(c.len[p]); ++k) {
            std::size_t const block = at.block(k, r);
            if (is_short)
              c.short_col[block] = static_cast<std::uint16_t>(b.block_col[from + k] - c.base[s]);
            else
              c.col[block] = b.block_col[from + k];
            for (std::size_t e = 0; e < size; ++e)
              c.val[at.value(k, r, e)] = b.val[(from + k) * size + e];
            if (holes)
              detail::put_bits(
                  c.pattern.data(), block * size, static_cast<int>(size),
                  detail::bits_at(b.pattern.data(), (from + k) * size, static_cast<int>(size)),
                  false);
          }
        });
  });
  return c;
}

template <class V, class I, class O, space S>
csr<V, I, O> bsell_view<V, I, O, S>::to_csr(cpu const& where) const {
  std::size_t const n = block_rows();
  auto const slots = static_cast<std::size_t>(size());
  bcsr<V, I, O> b(unchecked, rows, cols, nnz, height, width, array<O>(n + 1, where.memory), {}, {},
                  {});
  b.block_ptr[0] = 0;
  for (std::size_t p = 0; p < n; ++p)
    b.block_ptr[static_cast<std::size_t>(row_at(p)) + 1] = static_cast<O>(len[p]);
  for (std::size_t i = 0; i < n; ++i)
    b.block_ptr[i + 1] = static_cast<O>(b.block_ptr[i] + b.block_ptr[i + 1]);
  auto const blocks = static_cast<std::size_t>(b.block_ptr[n]);
  b.block_col = array<I>(blocks, where.memory);
  b.val = array<V>(blocks * slots, where.memory);
  if (pattern)
    b.pattern = array<std::uint64_t>((blocks * slots + 63) / 64, std::uint64_t(0), where.memory);
  int const parts = detail::parts_for(b.val.size(), where.threads);
  if (blocks != 0)
    detail::parallel(parts, [&](int part) {
      detail::each_place(
          *this, part, parts,
          [&](std::size_t p, std::size_t s, std::size_t r, detail::bsell_places const& at) {
            auto const to =
                static_cast<std::size_t>(b.block_ptr[static_cast<std::size_t>(row_at(p))]);
            for (std::size_t k = 0; k < static_cast<std::size_t>(len[p]); ++k) {
              std::size_t const block = at.block(k, r);
              b.block_col[to + k] = col_at(s, block);
              for (std::size_t e = 0; e < slots; ++e)
                b.val[(to + k) * slots + e] = val[at.value(k, r, e)];
              if (pattern)
                detail::put_bits(b.pattern.data(), (to + k) * slots, size(),
                                 detail::bits_at(pattern, block * slots, size()), false);
            }
          });
    });
  return b.to_csr(where);
}

template <class V, class I, class O>
void bsell<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("bsell", *this);
  bsell_view<V, I, O> const to = view();
  auto const slots = static_cast<std::size_t>(to.size());
  auto const bits = [&](std::size_t block) {
    return detail::bits_at(to.pattern, block * slots, to.size());
  };
  int const parts = detail::parts_for(val.size() + len.size(), where.threads);
  bool const past = val.bytes() >= detail::past_caches_from;
  auto const first_slice = [&](int part) {
    return to.slices() == 0 ? 0 : detail::split_by_entries(to.slice_ptr, to.slices(), part, parts);
  };
  auto const each_part = [&](auto const& f) {
    if (!len.empty())
      detail::parallel(parts, [&](int part) { detail::each_place(to, part, parts, f); });
  };
  // f(k, slice, row of it, where things lie, column, rows, first, last) for each block of c, which
  // is block k of that row but for those that store nothing, where blocks have holes; false where f
  // is or one is missing.
  auto const walk = [&](csr_view<V, I, O> const& c, auto&& f) {
    bool good = true;
    auto const each = [&](std::size_t p, std::size_t s, std::size_t r,
                          detail::bsell_places const& at) {
      auto const n = static_cast<std::size_t>(len[p]);
      std::size_t k = 0;
      bool same = true;
      auto const skip = [&] {
        while (k < n && bits(at.block(k, r)) == 0)
          ++k;
      };
      detail::each_block(c, height, width, static_cast<std::size_t>(to.row_at(p)), SIZE_MAX,
                         [&](I j, int rows_of, O const* first, O const* last) {
                           skip();
                           same = same && k < n && f(k, s, r, at, j, rows_of, first, last);
                           ++k;
                         });
      skip();
      if (!same || k != n)
        __atomic_store_n(&good, false, __ATOMIC_RELAXED);
    };
    each_part(each);
    return good;
  };
  detail::refill_if(
      "bsell", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        if (!to.pattern) { // as the rows of c lie in memory
          bool good = true;
          array<I> place(perm.size(), where.memory);
          for (std::size_t p = 0; p < perm.size(); ++p)
            place[static_cast<std::size_t>(perm[p])] = static_cast<I>(p);
          detail::parallel(parts, [&](int part) {
            std::size_t const end = detail::split(len.size(), part + 1, parts);
            for (std::size_t i = detail::split(len.size(), part, parts); i < end; ++i)
              if (!detail::is_whole_place(
                      to, place.empty() ? i : static_cast<std::size_t>(place[i]), c))
                return __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
          return good;
        }
        return walk(c, [&](std::size_t k, std::size_t s, std::size_t r,
                           detail::bsell_places const& at, I j, int rows_of, O const* first,
                           O const* last) {
          std::size_t const block = at.block(k, r);
          return j == to.col_at(s, block) &&
                 bits(block) == detail::bits_of_block(c.col, rows_of, width,
                                                      static_cast<I>(j * width), first, last);
        });
      },
      [&](csr_view<V, I, O> const& c) {
        if (!to.pattern)
          return detail::parallel(parts, [&](int part) {
            std::size_t const end = first_slice(part + 1);
            for (std::size_t s = first_slice(part); s < end; ++s)
              detail::fill_whole_slice(to, s, c, val.data(), past);
            detail::after_stores();
          });
        walk(c, [&](std::size_t k, std::size_t, std::size_t r, detail::bsell_places const& at, I j,
                    int rows_of, O const* first, O const* last) {
          for (int s = 0; s < rows_of; ++s)
            for (O e = first[s]; e < last[s]; ++e)
              val[at.value(k, r,
                           static_cast<std::size_t>(
                               s * width + static_cast<int>(c.col[e] - j * width)))] = c.val[e];
          return true;
        });
      });
}

} // namespace tulle
