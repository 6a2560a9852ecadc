// SPDX-License-Identifier: Apache-2.0
//
// Rows of a source into arrays of the result's types: lengths, prefix sum, columns, values.
#include "tulle/core/types.hpp"

#include "gen/source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tulle::gen {

void check_sizes(recipe const& r, limits const& most, wide rows, wide cols, wide entries) {
  auto const check = [&](wide n, std::uint64_t limit, char const* what, char const* kind) {
    if (n <= limit)
      return;
    std::string const count =
        n > UINT64_MAX ? "2^64 or more" : std::to_string(static_cast<std::uint64_t>(n));
    fail(errc::overflow, "%s: %s %s do not fit %d-bit %s", text(r).c_str(), count.c_str(), what,
         static_cast<int>(std::bit_width(limit)) + 1, kind);
  };
  check(rows, most.index, "rows", "indices");
  check(cols, most.index, "columns", "indices");
  check(entries, most.offset, "entries", "offsets");
}

source_ptr make_source(recipe const& r, limits const& most, cpu const& where) {
  switch (r.family) {
  case family::poisson2d5:
  case family::poisson2d9:
  case family::poisson3d7:
  case family::poisson3d27:
    return make_grid(r, most);
  case family::diffusion2d5:
  case family::diffusion2d9:
  case family::diffusion3d7:
  case family::diffusion3d27:
    return make_diffusion(r, most);
  case family::lattice:
  case family::banded:
  case family::permutation:
  case family::dense:
    return make_regular(r, most);
  case family::fem:
  case family::rmat:
  case family::random:
    return make_graph(r, most, where);
  case family::circuit:
  case family::lp:
    return make_irregular(r, most);
  case family::like:
    return make_like(r, most, where);
  }
  fail(errc::unsupported, "gen: there is no generator %d", static_cast<int>(r.family));
}

namespace {

/// Rows or entries that a thread should have at least.
constexpr std::size_t grain = 1 << 14;

template <class I, class O>
void fill_pattern(recipe const& r, source const& s, array<O>& row_ptr, array<I>& col,
                  cpu const& where) {
  int parts = parts_for(s.rows, where.threads, grain);
  // Allocated here and not by the threads, since a memory resource need not stand that.
  array<std::int64_t> scratch(
      checked_mul(s.room, static_cast<std::size_t>(parts), "generate: scratch"), where.memory);
  row_ptr = array<O>(s.rows + 1, where.memory);
  row_ptr[0] = 0;
  parallel(parts, [&](int part) {
    std::int64_t* const mine = scratch.data() + static_cast<std::size_t>(part) * s.room;
    for (std::size_t i = split(s.rows, part, parts), end = split(s.rows, part + 1, parts); i < end;
         ++i)
      row_ptr[i + 1] = static_cast<O>(s.length(i, mine));
  });
  std::uint64_t sum = 0;
  std::size_t room = s.room;
  for (std::size_t i = 0; i < s.rows; ++i) {
    auto const n = static_cast<std::size_t>(row_ptr[i + 1]);
    room = std::max(room, n);
    sum += n;
    row_ptr[i + 1] = static_cast<O>(sum);
  }
  // Known beforehand for most; circuit and lp only estimate it.
  check_sizes(r, {UINT64_MAX, static_cast<std::uint64_t>(std::numeric_limits<O>::max())}, s.rows,
              s.cols, sum);

  col = array<I>(sum, where.memory);
  parts = parts_for(sum, where.threads, grain);
  scratch = array<std::int64_t>(
      checked_mul(room, static_cast<std::size_t>(parts), "generate: scratch"), where.memory);
  parallel(parts, [&](int part) {
    std::int64_t* const mine = scratch.data() + static_cast<std::size_t>(part) * room;
    std::size_t const end = split_by_entries(row_ptr.data(), s.rows, part + 1, parts);
    for (std::size_t i = split_by_entries(row_ptr.data(), s.rows, part, parts); i < end; ++i) {
      std::size_t const n = s.row(i, mine);
      I* const out = col.data() + row_ptr[i];
      for (std::size_t k = 0; k < n; ++k)
        out[k] = static_cast<I>(mine[k]);
    }
  });
}

template <class V>
struct random_value; // of 64 random bits: an odd multiple of 2^-23 or 2^-52, so never zero and
                     // never rounded
template <>
struct random_value<float> {
  static float from(std::uint64_t bits) {
    return static_cast<float>(static_cast<std::int32_t>((bits >> 40) | 1) - (1 << 23)) * 0x1p-23F;
  }
};
template <>
struct random_value<double> {
  static double from(std::uint64_t bits) {
    return static_cast<double>(static_cast<std::int64_t>((bits >> 11) | 1) -
                               (std::int64_t(1) << 52)) *
           0x1p-52;
  }
};
template <class R>
struct random_value<std::complex<R>> {
  static std::complex<R> from(std::uint64_t bits) {
    return {random_value<R>::from(bits), random_value<R>::from(hash(bits, 0))};
  }
};

/// A number of type R that is no less than the exact sum of at most 27 positive numbers, of which
/// `sum` was added up in double: a rounding is 2^-53 of it at most.
template <class R>
R at_least(double sum) {
  double const wanted = sum * (1 + 0x1p-48);
  auto const r = static_cast<R>(wanted);
  return static_cast<double>(r) < wanted ? std::nextafter(r, std::numeric_limits<R>::infinity())
                                         : r;
}

template <class V>
struct real_part {
  using type = V;
};
template <class R>
struct real_part<std::complex<R>> {
  using type = R;
};

template <class V>
void fill_couplings(source const& s, std::size_t i, std::size_t n, std::size_t diagonal, V* val) {
  using R = typename real_part<V>::type;
  double coupling[source::most_couplings];
  s.couplings(i, coupling);
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    auto const c = static_cast<R>(coupling[k]); // as it is stored
    val[k] = V(-c);
    sum += static_cast<double>(c);
  }
  val[diagonal] = V(at_least<R>(sum));
}

template <class V, class I, class O>
void fill_values(recipe const& r, source const& s, array<O> const& row_ptr, array<I> const& col,
                 array<V>& val, cpu const& where) {
  val = array<V>(col.size(), where.memory);
  std::uint64_t const key = mix(r.seed + 0x5851F42D4C957F2Du);
  auto const diagonal = static_cast<V>(static_cast<float>(s.diagonal)); // a small integer
  int const parts = parts_for(col.size(), where.threads, grain);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(row_ptr.data(), s.rows, part + 1, parts);
    for (std::size_t i = split_by_entries(row_ptr.data(), s.rows, part, parts); i < end; ++i) {
      auto const begin = static_cast<std::size_t>(row_ptr[i]);
      auto const stop = static_cast<std::size_t>(row_ptr[i + 1]);
      switch (s.values) {
      case values::stencil:
        for (std::size_t k = begin; k < stop; ++k)
          val[k] = static_cast<std::size_t>(col[k]) == i ? diagonal : V(-1);
        break;
      case values::couplings:
        fill_couplings(s, i, stop - begin,
                       static_cast<std::size_t>(
                           std::find(col.data() + begin, col.data() + stop, static_cast<I>(i)) -
                           (col.data() + begin)),
                       val.data() + begin);
        break;
      case values::ones:
        for (std::size_t k = begin; k < stop; ++k)
          val[k] = V(1);
        break;
      case values::random:
        for (std::size_t k = begin; k < stop; ++k)
          val[k] = random_value<V>::from(hash(key, i, static_cast<std::uint64_t>(col[k])));
        break;
      case values::symmetric:
        for (std::size_t k = begin; k < stop; ++k) {
          auto const j = static_cast<std::size_t>(col[k]);
          val[k] = random_value<V>::from(hash(key, std::min(i, j), std::max(i, j)));
        }
        break;
      }
    }
  });
}

} // namespace
} // namespace tulle::gen

namespace tulle {

template <class V, class I, class O>
csr<V, I, O> generate(gen::recipe const& recipe, cpu const& where) {
  gen::limits const most{static_cast<std::uint64_t>(std::numeric_limits<I>::max()),
                         static_cast<std::uint64_t>(std::numeric_limits<O>::max())};
  gen::source_ptr const s = gen::make_source(recipe, most, where);
  csr<V, I, O> a;
  a.rows = static_cast<I>(s->rows);
  a.cols = static_cast<I>(s->cols);
  gen::fill_pattern(recipe, *s, a.row_ptr, a.col, where);
  gen::fill_values(recipe, *s, a.row_ptr, a.col, a.val, where);
  return a;
}

#define TULLE_GENERATE(tag, V, I, O) template csr<V, I, O> generate(gen::recipe const&, cpu const&);
TULLE_TYPES(TULLE_GENERATE)
TULLE_BASIC_TYPES(TULLE_GENERATE)
#undef TULLE_GENERATE

} // namespace tulle
