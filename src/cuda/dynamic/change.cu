// SPDX-License-Identifier: Apache-2.0

// Batches. A batch is checked, put in the order of rows (counted if it is small, otherwise sorted;
// by row and column if entries are searched for), stable, and then
//   planned: which rows grow, by how much, and where their new segments begin;
//   made: by a kernel that does nothing unless all that was planned has room.
// The host reads the findings once; if entries are added, this is while the last kernel begins. If
// room was missing, it makes some and repeats the last two steps. So a batch is made whole or not
// at all, and waits for the device once.
//
// Segments are assigned to blocks by an atomic counter: their places may differ from run to run,
// the order of entries in a row does not.
#include "cuda/dynamic/counted.cuh"
#include "cuda/dynamic/search.cuh"
#include "cuda/order.cuh"
#include "cuda/sort_by_key.cuh"

#include <algorithm>

namespace tulle::kernels::cuda {
namespace {

constexpr char const* names[] = {"insert", "assign", "erase", "scale_rows"};

/// Memory of batches of up to n entries, in one piece.
template <class V, class I>
struct workspace {
  I *number, *row, *perm; // 0, 1, 2 and so on; rows in order; their places before
  I* sorted_col;
  plans<I> planned;
  unsigned char* mark;
  I *host_row, *host_col; // copies of host arrays
  V* host_val;
  char* room;
  std::size_t room_bytes;

  workspace(carver& c, std::size_t n, std::size_t room_bytes) : room_bytes(room_bytes) {
    number = c.take<I>(n);
    row = c.take<I>(n);
    perm = c.take<I>(n);
    sorted_col = c.take<I>(n);
    planned = {c.take<run<I>>(n), c.take<I>(n)};
    mark = c.take<unsigned char>(n);
    host_row = c.take<I>(n);
    host_col = c.take<I>(n);
    host_val = c.take<V>(n);
    room = c.take<char>(room_bytes);
  }
};

template <class V, class I>
workspace<V, I> work_for(matrix<V, I>& m, std::size_t n) {
  if (n > m.counted) {
    std::size_t const most = std::min<std::size_t>(n + n / 4, std::numeric_limits<I>::max());
    std::size_t room = 0;
    I const* const none = nullptr;
    I* const to = nullptr;
    order_by(m.rows, static_cast<I>(most), none, none, to, to, nullptr, room, m.o.queue);
    carver size;
    workspace<V, I>(size, most, room);
    m.work = m.take(size.used(), 1);
    m.counted = most;
    m.room_bytes = room;
    count_up(m.work.template as<I>(), most, m.o.queue);
  }
  carver c(m.work.template as<char>());
  return workspace<V, I>(c, m.counted, m.room_bytes);
}

/// Room for copies of entries that have partners.
template <class V, class I>
void make_pairs(matrix<V, I>& m) {
  if (!m.planned && m.in_first != 0)
    make_plan(m);
  if (m.share == 0 || !m.compact)
    return;
  carver size;
  lay_pairs<V>(size, m.share, m.by_rows, m.first_row, m.in_first);
  if (m.pairs.bytes() < size.used())
    m.pairs = m.take(size.used() + size.used() / 8, 1);
  auto const pairs = m.view().pairs;
  TULLE_CUDA(cudaMemsetAsync, pairs.count, 0,
             static_cast<std::size_t>(pairs.shares) * sizeof *pairs.count, m.stream());
  m.stale = false;
}

/// The arguments of the next batch's kernels; `more` of its n entries may be new. The kernels must
/// be launched after this, because each batch clears the findings of the next.
template <class V, class I>
batch<V, I> next_batch(matrix<V, I>& m, std::size_t n, std::size_t more, I const* row, I const* col,
                       V const* val) {
  auto* const both = m.found.template as<findings>();
  make_lists(m, more);
  m.turn = 1 - m.turn;
  return {n, row, col, val, m.view(), growth_of(m), both + m.turn, both + (1 - m.turn)};
}

/// The findings of the last try's kernels. Polled: some microseconds faster than a copy, and the
/// last kernel need not have ended.
template <class V, class I>
findings listen(matrix<V, I>& m) {
  auto const* const number = const_cast<unsigned const volatile*>(&m.heard->number);
  for (unsigned k = 1; *number != m.tries; ++k) {
    if (k % 4096 != 0)
      continue;
    cudaError_t const status = cudaStreamQuery(m.stream());
    if (status == cudaErrorNotReady)
      cudaGetLastError(); // clears the error, which the next call would find
    else if (status != cudaSuccess || *number != m.tries)
      check(status == cudaSuccess ? cudaErrorUnknown : status, "cudaStreamQuery");
  }
  return m.heard->found;
}
/// The findings when all kernels have ended.
template <class V, class I>
findings fetch_found(matrix<V, I>& m, batch<V, I> const& b) {
  TULLE_CUDA(cudaMemcpyAsync, &m.heard->found, b.found, sizeof(findings), cudaMemcpyDeviceToHost,
             m.stream());
  TULLE_CUDA(cudaStreamSynchronize, m.stream());
  return m.heard->found;
}

/// Grows to that many bytes, keeping the contents.
template <class V, class I>
void grow(owned& array, std::size_t there, std::size_t bytes, matrix<V, I>& m) {
  if (array.bytes() >= bytes)
    return;
  owned roomy = m.take(bytes, 1);
  if (there != 0)
    TULLE_CUDA(cudaMemcpyAsync, roomy.as<char>(), array.as<char>(), there, cudaMemcpyDeviceToDevice,
               m.stream());
  array = std::move(roomy);
}

/// The final findings; try_it() plans and makes, and is repeated if there was no room.
template <class V, class I, class F>
findings make(matrix<V, I>& m, batch<V, I>& b, F const& try_it) {
  for (;;) {
    findings const f = try_it();
    if (f.bad != 0)
      return f;
    std::size_t const used = b.g.used + f.places;
    bool const has_room = f.levels <= m.tables && used <= b.g.capacity && f.full == 0;
    if (has_room) {
      m.used = used;
      m.levels = std::max(m.levels, f.levels);
      m.holes = m.holes || f.holes != 0;
      m.many += f.many;
      m.crowded = m.crowded || f.crowded != 0;
      m.longest = f.removed != 0 ? 0 : std::max<std::size_t>(m.longest, f.longest);
      return f;
    }
    bool const tight = b.g.tight || used > m.most_places();
    if (f.full != 0) {
      defragment(m, false, m.o.combine_at_defragmenting);
    } else if (tight == b.g.tight && used > m.most_places() && m.used > m.entries) {
      give_up_slack(m);
    } else if (tight == b.g.tight) {
      add_tables(m, f.levels);
      grow(m, used);
    }
    make_lists(m, b.n);
    b.a = m.view();
    b.g = growth_of(m);
    b.g.tight = tight;
    TULLE_CUDA(cudaMemsetAsync, b.found, 0, sizeof(findings), m.stream());
  }
}

template <class V, class I>
void has_changed(matrix<V, I>& m, std::size_t fresh, std::size_t removed) {
  m.entries += fresh;
  m.entries -= removed;
  if (fresh == 0 && removed == 0)
    return;
  m.compact = false;
  m.since_batch = 0;
}

/// Copies arrays of a batch from the host; those on the device are used where they are.
template <class T>
T const* there(dynamic_batch const& b, void const* from, T* to, void* stream) {
  if (!b.on_host || !from)
    return static_cast<T const*>(from);
  TULLE_CUDA(cudaMemcpyAsync, to, from, b.n * sizeof(T), cudaMemcpyHostToDevice,
             static_cast<cudaStream_t>(stream));
  return to;
}

template <class V, class I>
[[noreturn]] void refuse_entry(matrix<V, I> const& m, dynamic_change kind, std::size_t k,
                               I const* row, I const* col) {
  auto const i = static_cast<long long>(fetch(row + k, 1, m.stream())[0]);
  auto const rows = static_cast<long long>(m.rows);
  if (kind == dynamic_change::scale)
    fail(errc::bad_structure, "scale_rows: row[%zu] is %lld, outside [0, %lld)", k, i, rows);
  fail(errc::bad_structure, "%s: entry %zu is (%lld, %lld), outside a %lld x %lld matrix",
       names[static_cast<int>(kind)], k, i,
       static_cast<long long>(fetch(col + k, 1, m.stream())[0]), rows,
       static_cast<long long>(m.cols));
}

/// Adds entries that are in the order of their rows; perm has their places before, unless it is
/// null.
template <class V, class I>
findings append(matrix<V, I>& m, workspace<V, I> const& w, batch<V, I>& b, I const* row,
                I const* perm) {
  std::size_t const blocks = ceil_div(b.n, std::size_t{each_threads});
  return make(m, b, [&] {
    launch_early(plan_kernel<V, I>, blocks, each_threads, m.stream(), b, row, w.planned);
    launch_early(append_kernel<V, I>, blocks, each_threads, m.stream(), b, row, perm, w.planned,
                 ++m.tries, m.heard.get());
    return listen(m);
  });
}

/// The most entries of a batch that is counted.
template <class V, class I>
std::size_t most_counted(matrix<V, I>& m) {
  if (m.cooperative == 0)
    m.cooperative = most_cooperative(counted_kernel<V, I>, each_threads);
  return std::min<std::size_t>(most_bits, m.cooperative * each_threads);
}

/// Adds the entries of a small batch, in order if that is wanted.
template <class V, class I>
findings append_counted(matrix<V, I>& m, workspace<V, I> const& w, batch<V, I>& b) {
  counted const c{m.tallies.template as<tally>(), reinterpret_cast<unsigned*>(w.perm),
                  reinterpret_cast<unsigned*>(w.sorted_col), m.o.exact};
  findings const found = make(m, b, [&] {
    if (m.is_tallied && m.tallies.bytes() != 0)
      TULLE_CUDA(cudaMemsetAsync, m.tallies.template as<char>(), 0, m.tallies.bytes(), m.stream());
    m.is_tallied = true;
    launch_cooperative(counted_kernel<V, I>, ceil_div(b.n, std::size_t{each_threads}), each_threads,
                       m.stream(), b, m.cols, c, w.planned.runs, ++m.tries, m.heard.get());
    return listen(m);
  });
  m.is_tallied = found.bad != 0;
  return found;
}

template <class V, class I>
void look(matrix<V, I>& m, batch<V, I> const& b) {
  launch_early(look_kernel<V, I>, ceil_div(b.n, std::size_t{each_threads}), each_threads,
               m.stream(), b, m.cols);
}

/// Adds entries, assigns to or erases those that are found, or scales rows.
template <class V, class I>
findings search(matrix<V, I>& m, workspace<V, I> const& w, batch<V, I>& b, dynamic_change kind) {
  cudaStream_t const s = m.stream();
  auto const n = static_cast<I>(b.n);
  bool const scales = kind == dynamic_change::scale;
  look(m, b);
  if (scales) {
    order_by(m.rows, n, b.row, w.row, w.perm, s);
  } else {
    order_by(m.rows, m.cols, n, b.row, b.col, w.row, w.perm, s);
    each(b.n, s, [col = b.col, perm = w.perm, to = w.sorted_col] __device__(std::size_t k) {
      to[k] = col[perm[k]];
    });
  }
  std::size_t const blocks = ceil_div(b.n, std::size_t{each_threads / 32}); // one warp per entry
  wanted<V, I> const entries{kind, b.n, w.row, w.sorted_col, w.perm, b.val, w.mark};
  return make(m, b, [&] {
    if (scales) {
      launch(scale_rows_kernel<V, I>, blocks, each_threads, s, entries, b);
    } else {
      launch(plan_search_kernel<V, I>, blocks, each_threads, s, entries, w.planned, b);
      launch(change_kernel<V, I>, blocks, each_threads, s, entries, w.planned, b);
    }
    return fetch_found(m, b);
  });
}

} // namespace

template <class V, class I>
growth growth_of(matrix<V, I> const& m) {
  auto const rows = static_cast<std::size_t>(m.rows);
  return {m.o.mean ? 0 : m.o.factor,
          m.o.mean ? ceil_div(m.entries, std::max<std::size_t>(rows, 1))
                   : std::min(m.o.plus, m.most_places()),
          m.o.segments,
          m.used,
          m.capacity,
          false};
}

template <class V, class I>
void make_lists(matrix<V, I>& m, std::size_t n) {
  auto const all = static_cast<double>(m.entries + n);
  m.unlisted = (m.unlisted && !m.compact) || all - static_cast<double>(m.in_first) >
                                                 (m.share != 0 ? most_paired : most_debt) * all;
  if (m.unlisted)
    return;
  make_pairs(m);
  if (m.listed_for >= m.capacity)
    return;
  carver size;
  lay_lists<V, I>(size, static_cast<std::size_t>(m.rows), m.capacity);
  m.lists = m.take(size.used(), 1);
  m.listed_for = m.capacity;
  TULLE_CUDA(cudaMemsetAsync, m.lists.template as<char>(), 0, m.lists.bytes(), m.stream());
  if (m.compact)
    return;
  auto const a = m.view();
  TULLE_CUDA(cudaMemsetAsync, a.lists.counts, 0, sizeof(list_counts), m.stream());
  each(static_cast<std::size_t>(m.rows), m.o.queue,
       [a] __device__(std::size_t i) { a.list_again(i); });
}

template <class V, class I>
void add_tables(matrix<V, I>& m, int levels) {
  if (levels <= m.tables)
    return;
  std::size_t const table = m.pitch() * sizeof(segment<I>);
  auto const all = static_cast<std::size_t>(levels - 1),
             there = static_cast<std::size_t>(m.tables - 1);
  grow(m.further, there * table, all * table, m);
  TULLE_CUDA(cudaMemsetAsync, m.further.template as<char>() + there * table, 0,
             (all - there) * table, m.stream());
  m.tables = levels;
}

template <class V, class I>
void insert_sorted(matrix<V, I>& m, std::size_t n, I const* row, I const* col, V const* val) {
  auto const w = work_for(m, n);
  auto b = next_batch(m, n, n, row, col, val);
  TULLE_CUDA(cudaMemsetAsync, b.next, 0, sizeof(findings), m.stream());
  append(m, w, b, row, static_cast<I const*>(nullptr));
  has_changed(m, n, 0);
}

template <class V, class I>
void change(matrix<V, I>& m, dynamic_batch const& given) {
  if (given.n == 0)
    return;
  narrow<I>(given.n, "number of entries in a batch");
  auto const w = work_for(m, given.n);
  cudaStream_t const s = m.stream();
  I const* const row = there(given, given.row, w.host_row, s);
  I const* const col = there(given, given.col, w.host_col, s);
  V const* const val = there(given, given.val, w.host_val, s);
  bool const searches = given.kind != dynamic_change::insert || m.o.combine;
  bool const counts = !searches && given.n <= most_counted(m);
  if (counts && m.tallies.bytes() == 0) {
    m.tallies = m.take(static_cast<std::size_t>(m.rows), sizeof(tally));
    m.is_tallied = true; // to be cleared
  }
  bool const adds = given.kind == dynamic_change::insert || given.kind == dynamic_change::assign;
  // A batch that finds a table missing is made twice. Where two of its entries are in one row, the
  // row most likely has no room for both.
  if (adds && given.n / 2 > static_cast<std::size_t>(m.rows) / given.n)
    add_tables(m, 2);
  auto b = next_batch(m, given.n, adds ? given.n : 0, row, col, val);
  findings found;
  if (searches) {
    found = search(m, w, b, given.kind);
    m.stale = true;
  } else {
    if (counts) {
      found = append_counted(m, w, b);
    } else {
      std::size_t bytes = w.room_bytes;
      look(m, b);
      order_by(m.rows, static_cast<I>(b.n), row, static_cast<I const*>(w.number), w.row, w.perm,
               w.room, bytes, s);
      found = append(m, w, b, static_cast<I const*>(w.row), static_cast<I const*>(w.perm));
    }
    found.fresh = b.n;
  }
  if (found.bad != 0)
    refuse_entry(m, given.kind, b.n - static_cast<std::size_t>(found.bad), row, col);
  has_changed(m, static_cast<std::size_t>(found.fresh), static_cast<std::size_t>(found.removed));
}

#define TULLE_CHANGE(tag, V, I, O)                                                                 \
  template growth growth_of(matrix<V, I> const&);                                                  \
  template void make_lists(matrix<V, I>&, std::size_t);                                            \
  template void add_tables(matrix<V, I>&, int);                                                    \
  template void change(matrix<V, I>&, dynamic_batch const&);                                       \
  template void insert_sorted(matrix<V, I>&, std::size_t, I const*, I const*, V const*);
TULLE_TYPES(TULLE_CHANGE)

} // namespace tulle::kernels::cuda
