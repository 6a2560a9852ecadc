// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/bsell.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/block_check.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/bsell_build.hpp"
#include "format/detail/bsell_refill.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <numeric>

namespace tulle {
namespace detail {

inline void check_chunk(char const* what, int chunk) {
  if (chunk < 1 || chunk > 64 || (chunk & (chunk - 1)) != 0)
    fail(errc::bad_structure, "%s: chunk is %d, expected a power of two up to 64", what, chunk);
}

} // namespace detail

template <class V, class I, class O, space S>
bsell_view<V, I, O, S>::bsell_view(I rows, I cols, int height, int width, int chunk,
                                   bsell_arrays<V, I, O> const& a) requires(S == space::host)
    : bsell_view(unchecked, rows, cols, O(0), height, width, chunk, a) {
  detail::check_shape("bsell", rows, cols);
  detail::check_block_shape("bsell", height, width);
  detail::check_chunk("bsell", chunk);
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "bsell: %s has %zu elements, expected %zu", name, is, expected);
  };
  if (!a.perm.empty())
    sized("perm", a.perm.size(), block_rows());
  sized("len", a.len.size(), block_rows());
  if (rows != 0 || !a.slice_ptr.empty())
    sized("slice_ptr", a.slice_ptr.size(), slices() + 1);
  if (stored < 0)
    fail(errc::bad_structure, "bsell: slice_ptr ends with %lld", static_cast<long long>(stored));
  auto const n = static_cast<std::size_t>(stored);
  sized("base", a.base.size(), a.short_col.empty() ? 0 : slices());
  sized(a.short_col.empty() ? "col" : "short_col", a.col.size() + a.short_col.size(), n);
  sized("val", a.val.size(), n * static_cast<std::size_t>(size()));
  if (!a.pattern.empty())
    sized("pattern", a.pattern.size(), words());
  check(true);
}

template <class V, class I, class O, space S>
std::size_t bsell_view<V, I, O, S>::check_slice(std::size_t s) const {
  auto const bad = [&](char const* what, std::size_t at) {
    fail(errc::bad_structure, "bsell: slice %zu: %s at %zu", s, what, at);
  };
  auto const slots = static_cast<std::size_t>(size());
  std::uint64_t const whole = slots == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << slots) - 1;
  auto const [below, beyond] = detail::block_edges(*this);
  I const block_cols = static_cast<I>(cols / width + (cols % width != 0));
  detail::bsell_places const at = places_of(s);
  std::size_t const steps = static_cast<std::size_t>(slice_ptr[s + 1] - slice_ptr[s]) / at.chunk;
  if (short_col && steps != 0 && (base[s] < 0 || base[s] >= block_cols))
    bad("base outside of the matrix", s);
  std::size_t entries = 0;
  for (std::size_t r = 0; r < at.chunk; ++r) {
    std::size_t const place = s * at.chunk + r;
    bool const is_row = place < block_rows();
    auto const n = is_row ? static_cast<std::size_t>(len[place]) : 0;
    bool const is_last = is_row && static_cast<std::size_t>(row_at(place)) + 1 == block_rows();
    for (std::size_t k = 0; k < steps; ++k) {
      std::size_t const b = at.block(k, r);
      if (k >= n && (short_col ? short_col[b] != 0 : col[b] != 0))
        bad("padding with a column", b);
      I const j = col_at(s, b);
      if (j < 0 || j >= block_cols ||
          (short_col && static_cast<I>(short_col[b]) >= block_cols - base[s]))
        bad("a block column outside of the matrix", b);
      if (k > 0 && k < n && j <= col_at(s, at.block(k - 1, r)))
        bad("block columns do not ascend", b);
      std::uint64_t const kept = pattern ? detail::bits_at(pattern, b * slots, size())
                                 : k < n ? whole
                                         : 0;
      std::uint64_t const outside =
          k >= n ? whole : (is_last ? below : 0) | (j == block_cols - 1 ? beyond : 0);
      if (kept & outside)
        bad(k >= n ? "padding with an entry" : "an entry outside of the matrix", b);
      for (std::uint64_t holes = whole & ~kept; holes != 0; holes &= holes - 1)
        if (!(val[at.value(k, r, static_cast<std::size_t>(std::countr_zero(holes)))] == V{}))
          bad("a hole that is not 0", b);
      entries += static_cast<std::size_t>(std::popcount(kept));
    }
  }
  return entries;
}

template <class V, class I, class O, space S>
void bsell_view<V, I, O, S>::check(bool count) {
  detail::check_shape("bsell", rows, cols);
  detail::check_block_shape("bsell", height, width);
  detail::check_chunk("bsell", chunk);
  if (char const* const missing = detail::missing_array(*this))
    fail(errc::bad_structure, "bsell: %s is null, but the matrix needs it", missing);
  std::size_t const n = block_rows();
  detail::check_pointers("bsell: slice_ptr", slice_ptr, slices(), stored);
  if (stored != 0 && !(short_col && base) && !col)
    fail(errc::bad_structure, "bsell: %lld blocks without columns", static_cast<long long>(stored));
  if (std::size_t const bits = static_cast<std::size_t>(stored) * static_cast<std::size_t>(size());
      pattern && bits % 64 != 0 && pattern[bits / 64] >> bits % 64 != 0)
    fail(errc::bad_structure, "bsell: pattern has bits beyond the last of %zu slots", bits);
  if (perm) {
    detail::check_indices("bsell: perm", perm, n, static_cast<I>(n));
    array<std::uint8_t> seen(n, std::uint8_t(0));
    for (std::size_t p = 0; p < n; ++p)
      if (seen[static_cast<std::size_t>(perm[p])]++)
        fail(errc::bad_structure, "bsell: perm names block row %lld again",
             static_cast<long long>(perm[p]));
  }
  for (std::size_t s = 0; s < slices(); ++s) {
    auto const wide = static_cast<std::size_t>(chunk);
    I longest = 0;
    for (std::size_t p = s * wide; p < std::min(n, (s + 1) * wide); ++p) {
      if (len[p] < 0)
        fail(errc::bad_structure, "bsell: len[%zu] is %lld", p, static_cast<long long>(len[p]));
      longest = std::max(longest, len[p]);
    }
    auto const here = static_cast<std::size_t>(slice_ptr[s + 1] - slice_ptr[s]);
    std::size_t const steps =
        static_cast<std::size_t>(longest) + static_cast<std::size_t>(longest) % 2;
    if (here % wide != 0 || here / wide != steps)
      fail(errc::bad_structure, "bsell: slice %zu has %zu blocks, expected %zu times %d", s, here,
           steps, chunk);
  }
  std::size_t entries = 0;
  int const parts = parts_for(static_cast<std::size_t>(stored), 0, 1 << 15);
  parallel(parts, [&](int part) {
    std::size_t mine = 0;
    std::size_t const end = split(slices(), part + 1, parts);
    for (std::size_t s = split(slices(), part, parts); s < end; ++s)
      mine += check_slice(s);
    __atomic_fetch_add(&entries, mine, __ATOMIC_RELAXED);
  });
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  if (nnz < 0 || entries != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "bsell: the pattern has %zu entries, expected nnz, %lld", entries,
         static_cast<long long>(nnz));
}

template <class V, class I, class O>
bsell<V, I, O> bsell<V, I, O>::from_csr(csr_view<V, I, O> a, bsell_options o, cpu const& policy) {
  detail::limited const space("bsell", policy);
  cpu const& where = space.counted();
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
  int const parts = parts_for(stored * size, where.threads);
  parallel(parts, [&](int part) {
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
csr<V, I, O> bsell_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("bsell", policy);
  cpu const& where = space.counted();
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
  int const parts = parts_for(b.val.size(), where.threads);
  if (blocks != 0)
    parallel(parts, [&](int part) {
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
void bsell<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("bsell", policy);
  cpu const& where = space.counted();
  detail::check_arrays("bsell", *this);
  bsell_view<V, I, O> const to = view();
  auto const slots = static_cast<std::size_t>(to.size());
  auto const bits = [&](std::size_t block) {
    return detail::bits_at(to.pattern, block * slots, to.size());
  };
  int const parts = parts_for(val.size() + len.size(), where.threads);
  bool const past = val.bytes() >= detail::past_caches_from;
  auto const first_slice = [&](int part) {
    return to.slices() == 0 ? 0 : split_by_entries(to.slice_ptr, to.slices(), part, parts);
  };
  auto const each_part = [&](auto const& f) {
    if (!len.empty())
      parallel(parts, [&](int part) { detail::each_place(to, part, parts, f); });
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
          parallel(parts, [&](int part) {
            std::size_t const end = split(len.size(), part + 1, parts);
            for (std::size_t i = split(len.size(), part, parts); i < end; ++i)
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
          return parallel(parts, [&](int part) {
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

TULLE_INSTANTIATE_FORMAT(bsell, every)
