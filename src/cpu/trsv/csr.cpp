// SPDX-License-Identifier: Apache-2.0

// src/cpu/trsv/csr.cpp:  T X = alpha*B, T a triangle of a CSR matrix or its transpose.
//
// A line is solved as s = alpha b - sum of a_ij x_j, x_i = s (1 / a_ii). Entries far from the
// diagonal come first: what a line waits for longest is what it takes last, and 1 / a_ii is known
// by then, so that a chain of lines costs a product and a sum each and no division. All walks solve
// lines by this one loop, so the bits depend neither on the walk nor on the number of threads.
//
// levels: lines sorted by the length of the longest chain behind them (Anderson & Saad, Int. J.
// High Speed Computing 1, 1989); threads of a team deal a level among themselves and wait for one
// another before the next one. Thin levels that follow one another are one thread's.
// sync_free: chunks of lines in order, taken from one counter, and a number of finished lines for
// each (after Liu, Li, Hogg, Duff & Vinter, Euro-Par 2016, who have counters of dependences). A
// thread waits for lines of chunks before its own alone, which running threads hold.
//
// serial: of several columns, threads take blocks of them and need not wait for one another.
//
// Lines go to a workspace and to X at the end: a diagonal entry that is zero is found before X is
// written, and lines of a level lie together.
//
// Bytes that must move, double with 32-bit indices: 12 an entry below the diagonal; for each row 8
// of the diagonal, 8 of B, 8 of X and 4 of a pointer. Beside these this moves 8 of the positions of
// values and rows, and 16 of the workspace.
#include "tulle/core/types.def"

#include "cpu/trsv/group.hpp"
#include "kernel/team.hpp"
#include "kernel/trsv.hpp"

#include <hwy/cache_control.h>

namespace tulle::kernels::TULLE_ISA {
namespace {

using i64 = std::int64_t;

// Lines that a thread solves before it looks whether others have come.
constexpr i64 lines_alone = 256;
// Lines of a chunk after which the others are told.
constexpr i64 lines_told = 8;
// From this many entries on a line has four sums.
constexpr i64 entries_for_four = 8;

template <class V, class I, class O>
struct task {
  I const* row;
  O const* ptr;
  I const* col;
  O const* from;
  V const* val;
  V alpha;
  V const* b;
  i64 b_row, b_col;
  V* x;
  i64 x_row, x_col;
  int width; // columns of the block that there are
  V* y;
  bool unit, conjugated, streaming;
};

template <class V>
HWY_INLINE V conjugate_if(bool yes, V v) {
  if constexpr (is_pair<V>)
    v.im = yes ? -v.im : v.im;
  return v;
}

/// alpha times row i of B.
template <int W, class V, class I, class O>
HWY_INLINE group<V, W> right_side(task<V, I, O> const& t, i64 i) {
  V const* const b = t.b + i * t.b_row;
  group<V, W> s = group<V, W>::zero();
  if (W == 1 || (t.b_col == 1 && t.width == W)) {
    s = group<V, W>::load(b);
  } else {
    alignas(64) V row[W] = {};
    for (int w = 0; w < t.width; ++w)
      row[w] = b[w * t.b_col];
    s = group<V, W>::load(row);
  }
  s.multiply(t.alpha);
  return s;
}

/// Lines [first, last): others.wait_for(col, n) before each, others.tell(line) after it. Returns
/// whether all diagonal entries have been other than zero.
template <int Step, int W, class V, class I, class O, class Others>
HWY_NOINLINE bool solve_lines(task<V, I, O> const& shared, i64 first, i64 last,
                              Others const& others) {
  task<V, I, O> const t = shared; // else each store to y might change it: 6 %
  bool regular = true;
  for (i64 p = first; p < last; ++p) {
    I const* const col = t.col + t.ptr[p];
    i64 n = static_cast<i64>(t.ptr[p + 1] - t.ptr[p]), all = n;
    O const* from = nullptr;
    V const* v = nullptr;
    if constexpr (Step == 0) {
      from = t.from + t.ptr[p];
      while (n > 0 && static_cast<i64>(col[n - 1]) == p)
        --n;
    } else {
      v = t.val + t.from[p];
    }
    auto const value = [&](i64 q) HWY_ATTR {
      if constexpr (Step == 0)
        return conjugate_if(t.conjugated, t.val[from[q]]);
      else
        return conjugate_if(t.conjugated, v[q * Step]);
    };
    others.wait_for(col, n);
    group<V, W> s = right_side<W>(t, t.row ? static_cast<i64>(t.row[p]) : p);
    i64 q = 0;
    if (n >= entries_for_four) {
      group<V, W> s1 = group<V, W>::zero(), s2 = s1, s3 = s1;
      for (i64 const end = (n - 1) & ~i64(3); q < end; q += 4) {
        s.subtract(value(q), t.y + static_cast<i64>(col[q]) * W);
        s1.subtract(value(q + 1), t.y + static_cast<i64>(col[q + 1]) * W);
        s2.subtract(value(q + 2), t.y + static_cast<i64>(col[q + 2]) * W);
        s3.subtract(value(q + 3), t.y + static_cast<i64>(col[q + 3]) * W);
      }
      s.add(s1);
      s2.add(s3);
      s.add(s2);
    }
    for (; q < n; ++q)
      s.subtract(value(q), t.y + static_cast<i64>(col[q]) * W);
    if (!t.unit) {
      V d = value(n);
      if constexpr (Step == 0)
        for (q = n + 1; q < all; ++q)
          d = d + value(q);
      if (has_inverse(d)) [[likely]] {
        s.multiply(inverse(d));
      } else {
        regular &= !is_zero(d);
        s.divide(d);
      }
    }
    s.store(t.y + p * W);
    others.tell(p);
  }
  return regular;
}

struct no_others {
  template <class I>
  HWY_INLINE void wait_for(I const*, i64) const {}
  HWY_INLINE void tell(i64) const {}
};

/// Lines [first, last) of the workspace to X.
template <int W, class V, class I, class O>
void write_lines(task<V, I, O> const& t, i64 first, i64 last) {
  if (t.y == t.x)
    return;
  if constexpr (!is_pair<V> && W * sizeof(V) == 64) {
    if (t.streaming && t.x_col == 1 && t.width == W &&
        (reinterpret_cast<std::uintptr_t>(t.x) | static_cast<std::uintptr_t>(t.x_row) * sizeof(V)) %
                64 ==
            0) {
      for (i64 p = first; p < last; ++p)
        group<V, W>::load(t.y + p * W)
            .stream(t.x + (t.row ? static_cast<i64>(t.row[p]) : p) * t.x_row);
      hwy::FlushStream();
      return;
    }
  }
  for (i64 p = first; p < last; ++p) {
    V* const x = t.x + (t.row ? static_cast<i64>(t.row[p]) : p) * t.x_row;
    if (W == 1 || (t.x_col == 1 && t.width == W))
      group<V, W>::load(t.y + p * W).store(x);
    else
      for (int w = 0; w < t.width; ++w)
        x[w * t.x_col] = t.y[p * W + w];
  }
}

constexpr i64 share(i64 first, i64 last, int part, int parts) {
  return first + (last - first) * part / parts;
}

template <int Step, int W, class V, class I, class O>
bool by_levels(task<V, I, O> const& t, triangle_call const& c) {
  triangle_schedule const& plan = *c.schedule;
  i64 const rows = c.lines->rows, parts = plan.parts;
  team all(c.flags, plan.parts);
  i64 first_stage = 0, first_line = 0; // of the team
  bool regular = true;
  parallel(plan.parts, [&](int) {
    int const me = all.enter();
    if (me == 0) {
      i64 line = 0, stage = 0;
      bool fine = true;
      while (line < rows && !all.is_full() && !(all.has_more() && line >= 2 * lines_alone)) {
        while (plan.bounds[(stage + 1) * parts] <= line)
          ++stage;
        i64 const stage_end = plan.bounds[(stage + 1) * parts];
        i64 const end = stage_end - line < lines_alone ? stage_end : line + lines_alone;
        fine &= solve_lines<Step, W>(t, line, end, no_others());
        line = end;
      }
      while (stage < plan.stages && plan.bounds[(stage + 1) * parts] <= line)
        ++stage;
      first_stage = stage;
      first_line = line;
      if (!fine)
        __atomic_store_n(&regular, false, __ATOMIC_RELAXED);
      all.close();
    } else if (!all.wait_for_close(me)) {
      return;
    }
    int const size = all.size();
    for (i64 stage = first_stage; stage < plan.stages; ++stage) {
      i64 const* const bounds = plan.bounds + stage * parts;
      i64 first = bounds[parts * me / size], last = bounds[parts * (me + 1) / size];
      if (stage == first_stage) { // whose beginning is done
        first = share(first_line, bounds[parts], me, size);
        last = share(first_line, bounds[parts], me + 1, size);
        if (bounds[1] == bounds[parts]) { // levels that are one thread's
          first = me == 0 ? first_line : bounds[parts];
          last = bounds[parts];
        }
      } else {
        all.wait_for(me, stage);
      }
      if (!solve_lines<Step, W>(t, first, last, no_others()))
        __atomic_store_n(&regular, false, __ATOMIC_RELAXED);
      all.tell(me, stage + 1);
    }
    if (first_stage < plan.stages)
      all.wait_for(me, plan.stages);
    if (__atomic_load_n(&regular, __ATOMIC_RELAXED))
      write_lines<W>(t, share(0, rows, me, size), share(0, rows, me + 1, size));
  });
  return regular;
}

/// Threads with other chunks.
struct chunk_owners {
  std::uint64_t* flags;
  std::uint64_t epoch;
  i64 chunk, number, begin, end; // lines in a chunk; this thread's
  mutable i64 finished;          // all lines before are known to be

  void take(i64 k, i64 rows) {
    number = k;
    begin = k * chunk;
    end = begin + chunk < rows ? begin + chunk : rows;
  }
  template <class I>
  HWY_INLINE void wait_for(I const* col, i64 n) const {
    for (i64 q = 0; q < n; ++q) {
      i64 const k = static_cast<i64>(col[q]);
      if (k >= finished && k < begin)
        wait_for(k);
    }
  }
  // Not of every line: others read this while it changes.
  HWY_INLINE void tell(i64 p) const {
    if ((p + 1 - begin) % lines_told == 0 || p + 1 == end)
      __atomic_store_n(flags + number * flags_per_line,
                       epoch << 32 | static_cast<std::uint64_t>(p + 1 - begin), __ATOMIC_RELEASE);
  }

private:
  bool is_done(i64 which, i64 lines) const {
    std::uint64_t const f = __atomic_load_n(flags + which * flags_per_line, __ATOMIC_ACQUIRE);
    return f >> 32 == epoch && static_cast<i64>(f & 0xffffffffu) >= lines;
  }
  void wait_for(i64 k) const {
    i64 const of = k / chunk;
    wait_until([&] { return is_done(of, k - of * chunk + 1); });
    while (finished < begin && is_done(finished / chunk, chunk))
      finished += chunk;
  }
};

template <int Step, int W, class V, class I, class O>
bool without_levels(task<V, I, O> const& t, triangle_call const& c) {
  triangle_schedule const& plan = *c.schedule;
  i64 const rows = c.lines->rows, chunk = plan.chunk, chunks = (rows + chunk - 1) / chunk;
  std::uint64_t const epoch = ++*c.epoch;
  i64 taken = 0, done = 0, written = 0;
  bool regular = true;
  parallel(plan.parts, [&](int) {
    chunk_owners owners{c.flags, epoch, chunk, 0, 0, 0, 0};
    for (i64 k; (k = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < chunks;) {
      owners.take(k, rows);
      if (!solve_lines<Step, W>(t, owners.begin, owners.end, owners))
        __atomic_store_n(&regular, false, __ATOMIC_RELAXED);
      __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    }
    wait_until([&] { return __atomic_load_n(&done, __ATOMIC_ACQUIRE) == chunks; });
    if (!__atomic_load_n(&regular, __ATOMIC_RELAXED))
      return;
    constexpr i64 piece = 4096;
    for (i64 p; (p = __atomic_fetch_add(&written, piece, __ATOMIC_RELAXED)) < rows;)
      write_lines<W>(t, p, p + piece < rows ? p + piece : rows);
  });
  return regular;
}

/// Blocks of columns side by side. Each finds a diagonal entry that is zero before it writes.
template <int Step, int W, class V, class I, class O>
bool by_columns(task<V, I, O> const& t, triangle_call const& c) {
  i64 const rows = c.lines->rows, blocks = (c.columns + W - 1) / W;
  i64 taken = 0;
  bool regular = true;
  parallel(static_cast<int>(blocks < c.schedule->parts ? blocks : c.schedule->parts),
           [&](int part) {
             task<V, I, O> own = t;
             own.y = t.y + rows * W * part;
             for (i64 k; (k = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < blocks;) {
               own.width = static_cast<int>(c.columns - k * W < W ? c.columns - k * W : W);
               own.b = t.b + k * W * t.b_col;
               own.x = t.x + k * W * t.x_col;
               if (solve_lines<Step, W>(own, 0, rows, no_others()))
                 write_lines<W>(own, 0, rows);
               else
                 __atomic_store_n(&regular, false, __ATOMIC_RELAXED);
             }
           });
  return regular;
}

template <int Step, int W, class V, class I, class O>
bool solve_block(task<V, I, O> const& t, triangle_call const& c) {
  if (c.schedule->walk == triangle_schedule::levels && c.schedule->parts > 1)
    return by_levels<Step, W>(t, c);
  if (c.schedule->walk == triangle_schedule::sync_free)
    return without_levels<Step, W>(t, c);
  if (!solve_lines<Step, W>(t, 0, c.lines->rows, no_others()))
    return false;
  write_lines<W>(t, 0, c.lines->rows);
  return true;
}

template <int Step, class V, class I, class O>
bool solve_columns(task<V, I, O> t, triangle_call const& c) {
  i64 const width = c.block;
  if (c.schedule->walk == triangle_schedule::serial && c.schedule->parts > 1 && c.columns > width)
    return width == 1   ? by_columns<Step, 1>(t, c)
           : width == 4 ? by_columns<Step, 4>(t, c)
                        : by_columns<Step, 8>(t, c);
  for (i64 j = 0; j < c.columns; j += width) {
    t.width = static_cast<int>(c.columns - j < width ? c.columns - j : width);
    bool const regular = width == 1   ? solve_block<Step, 1>(t, c)
                         : width == 4 ? solve_block<Step, 4>(t, c)
                                      : solve_block<Step, 8>(t, c);
    if (!regular) // of the first columns as of the others
      return false;
    t.b += width * t.b_col;
    t.x += width * t.x_col;
  }
  return true;
}

template <class Value, class I, class O>
bool solve(triangle_call const& c) {
  using V = plain<Value>;
  triangle_lines const& l = *c.lines;
  task<V, I, O> const t{static_cast<I const*>(l.row),
                        static_cast<O const*>(l.ptr),
                        static_cast<I const*>(l.col),
                        static_cast<O const*>(l.from),
                        static_cast<V const*>(c.val),
                        *static_cast<V const*>(c.alpha),
                        static_cast<V const*>(c.b),
                        c.b_row,
                        c.b_col,
                        static_cast<V*>(c.x),
                        c.x_row,
                        c.x_col,
                        1,
                        static_cast<V*>(c.y),
                        l.unit,
                        c.conjugated,
                        c.streaming};
  return l.step == 0  ? solve_columns<0>(t, c)
         : l.step > 0 ? solve_columns<1>(t, c)
                      : solve_columns<-1>(t, c);
}

#define TULLE_TRIANGLE_CELL(tag, V, I, O)                                                          \
  static bool solve_##tag(triangle_call const& c) {                                                \
    return solve<V, I, O>(c);                                                                      \
  }

} // namespace

TULLE_TYPES(TULLE_TRIANGLE_CELL)
TULLE_BASIC_TYPES(TULLE_TRIANGLE_CELL)
#undef TULLE_TRIANGLE_CELL

#define TULLE_TRIANGLE_CELL(tag, V, I, O)                                                          \
  extern triangle_kernel const trsv_csr_##tag;                                                     \
  triangle_kernel const trsv_csr_##tag = {solve_##tag};
TULLE_TYPES(TULLE_TRIANGLE_CELL)
TULLE_BASIC_TYPES(TULLE_TRIANGLE_CELL)
#undef TULLE_TRIANGLE_CELL

} // namespace tulle::kernels::TULLE_ISA
