// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in DIA, symmetric. Included by dia.cpp.
//
// By blocks of rows, as symmetric.hpp says. A strip's values are loaded once: times x of their
// columns they add to the strip's own rows, and times x of their rows to a stretch of y further up.
// Holes are multiplied, except where x is not finite. Where y is large, the rows that are not
// complete are kept in a buffer.
//
// Bytes that must move, double: 8 per slot, 8 per row, 8 per column, and 8 more per row without the
// buffer. Three diagonals: 40 per row where csr has 80; 14: 128 where csr has 344.
//
// Two threads on Zen 4, bound of csr over time, on poisson2d5 4000 and poisson3d27 160 and 100,
// medians of one run: 1.41, 2.37, 1.79; without the buffer 1.24, 2.37, 1.76; neither buffer nor
// prefetch 1.24, 2.17, 1.56. One array per diagonal and no scatter, where values are read a second
// time for the rows above: 1.47, 1.23, .94. Three neighbouring diagonals scattered together: .9 of
// the time in the cache, no gain from memory.
#pragma once
#include "cpu/spmv/symmetric.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Sizes of a slide's buffer; others were not measured. least_slide is more than any block's rows.
constexpr std::int64_t most_slide_bytes = std::int64_t{600} << 10;
constexpr std::int64_t least_slide = 4096;

/// Rows [i, n) of the block, entry by entry.
template <class V, class I, class O>
HWY_NOINLINE std::int64_t symmetric_rows(dia_call<V, I, O> const& c, std::int64_t b, std::int64_t i,
                                         std::int64_t n, std::int64_t first_row, V* window,
                                         std::int64_t stray) {
  std::int64_t const stretch = c.a.block_ptr[b];
  std::int64_t const count = c.a.block_ptr[b + 1] - stretch;
  std::int64_t const bytes = (c.height + 7) / 8;
  I const* const diagonal = c.a.diagonal + c.a.diagonals - count;
  for (; i < n; ++i) {
    std::int64_t const row = b * c.height + i;
    V sum{};
    for (std::int64_t q = 0; q < count; ++q) {
      if ((c.a.mask[(stretch + q) * bytes + i / 8] >> i % 8 & 1) == 0)
        continue;
      V const v = c.a.val[(stretch + q) * c.height + i];
      std::int64_t const column = row + diagonal[q];
      sum = mul_add(v, c.x[column], sum);
      if (column != row) {
        V* const out = (column >= first_row ? c.y : window) + column;
        *out = mul_add(v, c.alpha * c.x[row], *out);
      }
    }
    stray = correct_sums(c, &sum, stretch, diagonal, count, row, i, 1, stray);
    update(c.y + row, c.alpha, sum, c.beta, c.overwrite);
  }
  return stray;
}

/// p[0..n) in the first lanes and zeros in the others; nothing else is read. n may be any number.
template <class D, class V>
HWY_INLINE hn::Vec<D> first_of(D d, V const* p, std::int64_t n) {
  if constexpr (HWY_MAX_BYTES == 16) { // whose masked load needs alignment
    constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
    V some[lanes];
    for (int j = 0; j < lanes; ++j)
      some[j] = j < n ? p[j] : V{};
    return hn::LoadU(d, some);
  } else {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n > 0 ? n : 0)), d, p);
  }
}

/// The rows of y that are not complete, in a buffer that stays in a near cache. Complete rows are
/// written past the caches, and y is not read. With room == 0 there is no buffer, and sums are
/// added to y itself.
template <class V>
struct dia_slide {
  V* buffer;
  std::int64_t room;  // rows
  std::int64_t reach; // how far up a row adds
  bool aligned;       // y, to whole vectors
  std::int64_t held;  // first row in the buffer

  /// Where row 0 would be, computed as an integer since that address is outside the buffer.
  V* origin() const {
    return reinterpret_cast<V*>(reinterpret_cast<std::uintptr_t>(buffer) -
                                static_cast<std::uintptr_t>(held) * sizeof(V));
  }

  /// Writes the rows before `end` to y.
  HWY_NOINLINE void release(V* y, std::int64_t end) {
    hn::ScalableTag<V> const d;
    constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
    V const* from = buffer;
    for (; held + lanes <= end; held += lanes, from += lanes)
      if (aligned)
        hn::Stream(hn::LoadU(d, from), d, y + held);
      else
        stream_pieces(d, hn::LoadU(d, from), y + held);
    for (; held < end; ++held)
      y[held] = *from++;
  }

  /// Makes room for rows from `row`, the next one, on.
  void advance(V* y, std::int64_t row) {
    constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
    std::int64_t const before = held;
    release(y, held + (row - reach - held) / lanes * lanes); // whole vectors: y stays aligned
    V const* const from = buffer + (held - before);
    for (std::int64_t j = 0; j < row - held; ++j)
      buffer[j] = from[j];
  }
};

/// What a strip of rows is multiplied with and added to.
template <class V>
struct strip_operands {
  V const* x;
  V const* scaled; // alpha times x of the strip's rows
  V* y;
  V* window;              // instead of y for rows before first_row
  std::int64_t first_row; // as in symmetric_blocks
  std::int64_t row;       // the strip's first
  std::int64_t height;    // slots of a diagonal in the block

  V* out(std::int64_t column) const { return (column >= first_row ? y : window) + column; }
};

/// Sets the sums of a strip to zero and, where alpha is not 1, `scaled` to alpha times x of its
/// rows. False where that is not finite: multiplied holes would show.
template <int vectors, class D, class V>
HWY_INLINE bool begin_strip(D d, V const* x, hn::Vec<D> alpha, bool scales, V* scaled,
                            hn::Vec<D> (&sums)[vectors]) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto none = hn::Zero(d); // NaN where a hole would show
  auto none2 = none;
  for (int u = 0; u < vectors; ++u) {
    auto ax = hn::LoadU(d, x + u * lanes);
    if (scales) {
      ax = hn::Mul(alpha, ax);
      hn::StoreU(ax, d, scaled + u * lanes);
    }
    auto& sum = u % 2 ? none2 : none;
    sum = hn::MulAdd(ax, hn::Zero(d), sum);
    sums[u] = hn::Zero(d);
  }
  none = hn::Add(none, none2);
  return hn::AllFalse(d, hn::IsNaN(none));
}

/// Adds a strip of all diagonals times x to the sums, and the mirror images of the first `far`.
template <int vectors, class D, class V, class I>
HWY_INLINE void add_diagonals(D d, strip_operands<V> const& o, V const* val, I const* diagonal,
                              std::int64_t count, std::int64_t far, hn::Vec<D> (&sums)[vectors]) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int strip = vectors * lanes;
  V const* v = val;
  for (std::int64_t q = 0; q < count; ++q, v += o.height) {
    ask_strip<vectors>(v);
    std::int64_t const column = o.row + diagonal[q];
    V const* from = o.x + column;
    V inside[strip]; // x, with zeros where it begins
    if (column < 0) {
      for (int j = 0; j < strip; ++j)
        inside[j] = column + j >= 0 ? o.x[column + j] : V{};
      from = inside;
    }
    bool const is_own = column >= o.first_row;
    if (q < far && (is_own || (column >= 0 && column + strip <= o.first_row))) {
      V* const out = (is_own ? o.y : o.window) + column;
      for (int u = 0; u < vectors; ++u) {
        auto const vu = hn::LoadU(d, v + u * lanes);
        sums[u] = hn::MulAdd(vu, hn::LoadU(d, from + u * lanes), sums[u]);
        hn::StoreU(
            hn::MulAdd(vu, hn::LoadU(d, o.scaled + u * lanes), hn::LoadU(d, out + u * lanes)), d,
            out + u * lanes);
      }
      continue;
    }
    for (int u = 0; u < vectors; ++u)
      sums[u] = hn::MulAdd(hn::LoadU(d, v + u * lanes), hn::LoadU(d, from + u * lanes), sums[u]);
    for (std::int64_t j = column < 0 ? -column : 0; q < far && j < strip; ++j) {
      V* const out = o.out(column + j);
      *out = mul_add(v[j], o.scaled[j], *out);
    }
  }
}

/// Adds the mirror images of the other diagonals, which partly lie in the strip itself.
template <int vectors, class D, class V, class I>
HWY_INLINE void add_near_images(D d, strip_operands<V> const& o, V const* val, I const* diagonal,
                                std::int64_t count, std::int64_t far, hn::Vec<D> (&sums)[vectors]) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int strip = vectors * lanes;
  for (std::int64_t q = far; q < count && diagonal[q] != 0; ++q) {
    std::int64_t const near = -static_cast<std::int64_t>(diagonal[q]);
    std::int64_t const column = o.row - near;
    V const* const v = val + q * o.height;
    for (std::int64_t j = column < 0 ? -column : 0; j < near; ++j) {
      V* const out = o.out(column + j);
      *out = mul_add(v[j], o.scaled[j], *out);
    }
    auto const whole = [&](int u) HWY_ATTR {
      sums[u] = hn::MulAdd(hn::LoadU(d, v + near + u * lanes),
                           hn::LoadU(d, o.x + o.row + near + u * lanes), sums[u]);
    };
    auto const some = [&](int u) HWY_ATTR {
      std::int64_t const left = strip - near - u * lanes;
      sums[u] = hn::MulAdd(first_of(d, v + near + u * lanes, left),
                           first_of(d, o.x + o.row + near + u * lanes, left), sums[u]);
    };
    if (near <= lanes) {
      for (int u = 0; u < vectors - 1; ++u)
        whole(u);
      some(vectors - 1);
    } else {
      for (int u = 0; u < vectors; ++u)
        some(u);
    }
  }
}

/// Blocks [b, end) of rows from first_row on.
template <int vectors, class V, class I, class O>
HWY_NOINLINE void symmetric_blocks(dia_call<V, I, O> c, std::int64_t b, std::int64_t end,
                                   std::int64_t first_row, V* window, dia_slide<V> slide) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int strip = vectors * lanes;
  auto const& a = c.a;
  // Copies: the compiler cannot rule out that stores of vectors change c.
  std::int64_t const height = c.height, rows = c.rows;
  V const* const x = c.x;
  V* const result = c.y;
  V* y = slide.room > 0 ? slide.origin() : c.y;
  c.y = y;
  bool const overwrite = c.overwrite;
  bool const scales = c.alpha != V(1);
  [[maybe_unused]] auto const alpha = hn::Set(d, c.alpha);
  [[maybe_unused]] auto const beta = hn::Set(d, c.beta);
  std::int64_t stray = stray_from(a, b * height);
  std::int64_t next_stray = stray < a.stray_rows ? a.stray_row[stray] : INT64_MAX;
  for (; b < end; ++b) {
    std::int64_t const top = b * height;
    if (slide.room > 0 && top + height > slide.held + slide.room) {
      slide.advance(result, top);
      c.y = y = slide.origin();
    }
    std::int64_t const stretch = a.block_ptr[b];
    std::int64_t const count = a.block_ptr[b + 1] - stretch;
    I const* const diagonal = a.diagonal + a.diagonals - count;
    std::int64_t i = 0;
    if constexpr (vectors > 0)
      for (; i < height && top + height <= rows; i += strip) {
        std::int64_t const row = top + i;
        V const* const val = a.val + stretch * height + i;
        hn::Vec<decltype(d)> s[vectors];
        V scaled[strip];
        if (!begin_strip(d, x + row, alpha, scales, scaled, s)) {
          stray = symmetric_rows(c, b, i, i + strip, first_row, window, stray);
          next_stray = stray < a.stray_rows ? a.stray_row[stray] : INT64_MAX;
          continue;
        }
        strip_operands<V> const o{x, scales ? scaled : x + row, y, window, first_row, row, height};
        std::int64_t far = 0; // diagonals that meet the strip's columns above it alone
        while (far < count && diagonal[far] <= -strip)
          ++far;
        add_diagonals(d, o, val, diagonal, count, far, s);
        auto all = s[0];
        for (int u = 1; u < vectors; ++u)
          all = hn::Add(all, s[u]);
        if (next_stray < row + strip || !hn::AllFalse(d, hn::IsNaN(all))) {
          V sums[strip];
          for (int u = 0; u < vectors; ++u)
            hn::StoreU(s[u], d, sums + u * lanes);
          stray = correct_sums(c, sums, stretch, diagonal, count, row, i, strip, stray);
          next_stray = stray < a.stray_rows ? a.stray_row[stray] : INT64_MAX;
          for (int u = 0; u < vectors; ++u)
            s[u] = hn::LoadU(d, sums + u * lanes);
        }
        add_near_images(d, o, val, diagonal, count, far, s);
        for (int u = 0; u < vectors; ++u) {
          auto sum = hn::Mul(alpha, s[u]);
          if (!overwrite)
            sum = hn::MulAdd(alpha, s[u], hn::Mul(beta, hn::LoadU(d, y + row + u * lanes)));
          hn::StoreU(sum, d, y + row + u * lanes);
        }
      }
    if (i == 0) { // blocks lower than a vector, and the last one where rows end in it
      stray = symmetric_rows(c, b, 0, top + height > rows ? rows - top : height, first_row, window,
                             stray);
      next_stray = stray < a.stray_rows ? a.stray_row[stray] : INT64_MAX;
    }
  }
  if (slide.room > 0)
    slide.release(result, end * height < rows ? end * height : rows);
}

template <class V, class I, class O>
std::int64_t slide_reach(dia_view<V, I, O> const& a) {
  return a.diagonals > 0 ? -std::int64_t{a.diagonal[0]} : 0;
}

/// Rows of a slide's buffer: twice its reach, so that as many rows are moved as are written. 0
/// where it would not stay in the cache, or y is small.
template <class V, class I, class O>
std::int64_t slide_room(dia_view<V, I, O> const& a) {
  std::int64_t const most = most_slide_bytes / static_cast<std::int64_t>(sizeof(V));
  std::int64_t const room = 2 * slide_reach(a) + least_slide;
  bool const is_large = streams_y && a.rows >= stream_from / static_cast<std::int64_t>(sizeof(V));
  return is_large && room <= most ? room / 64 * 64 : 0;
}

template <class V, class I, class O>
std::size_t prepare_symmetric_dia(dia_view<V, I, O> const& a, plan_view& p) {
  std::int64_t const height = a.block;
  std::int64_t const units = (a.rows + height - 1) / height;
  p.method = a.stray_rows > 0 ? "symmetric diagonals and strays" : "symmetric diagonals";
  return static_cast<std::size_t>(p.threads * slide_room(a)) * sizeof(V) +
         prepare_symmetric<V>(
             height, static_cast<std::int64_t>(a.stored), p,
             [=](std::int64_t b, std::int64_t blocks) { return units * b / blocks; },
             [=](std::int64_t begin, std::int64_t) {
               std::int64_t const lowest = begin * height + (a.diagonals > 0 ? a.diagonal[0] : 0);
               return lowest < 0 ? 0 : lowest;
             });
}

template <class V, class I, class O>
void multiply_symmetric_dia(dia_call<V, I, O> const& c, plan_view p) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  std::int64_t const room = p.info[0] > 0 ? slide_room(c.a) : 0;
  V* const buffers = static_cast<V*>(p.work);
  p.work = buffers + p.threads * room;
  multiply_symmetric(
      c.height, c.rows, c.y, p,
      [&](std::int64_t b, std::int64_t end, std::int64_t first_row, V* window, int part) {
        bool const slides = c.stream && c.height >= lanes;
        dia_slide<V> const slide{buffers + part * room, slides ? room : 0, slide_reach(c.a),
                                 c.aligned, first_row};
        if (c.height % (strip_vectors * lanes) == 0)
          symmetric_blocks<strip_vectors>(c, b, end, first_row, window, slide);
        else if (c.height % (strip_vectors / 2 * lanes) == 0)
          symmetric_blocks<strip_vectors / 2>(c, b, end, first_row, window, slide);
        else if (c.height % lanes == 0)
          symmetric_blocks<1>(c, b, end, first_row, window, slide);
        else
          symmetric_blocks<0>(c, b, end, first_row, window, slide);
        if (slide.room > 0)
          hwy::FlushStream();
      });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
