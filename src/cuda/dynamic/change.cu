// SPDX-License-Identifier: Apache-2.0

// Batches. One is looked at, sorted by row (by row and column where entries are searched for),
// stable, and then
//   planned: which rows grow, by how much, and where their new segments begin;
//   made: by a kernel that does nothing unless all that was planned has room.
// The host reads once what was found; where room was missing, it makes some and has the last two
// done again. So a batch is made whole or not at all, and waits for the device once.
//
// Segments are dealt to blocks by an atomic counter: where they lie may differ from run to run, the
// order of entries in a row does not.
#include "cuda/dynamic/matrix.cuh"
#include "cuda/order.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/turn.cuh"

#include <algorithm>

namespace tulle::simt {
namespace {

constexpr char const* names[] = {"insert", "assign", "erase", "scale_rows"};

/// What is planned for the entries of one row, kept with the first of them.
template <class I>
struct run {
  I length, places; // of the row before
  I begin;          // of the new segment
  I size;           // of it; 0: there is none
  int level;
};

/// How segments are given, as numbers.
struct growth {
  double factor;
  std::size_t plus;
  int most;         // segments behind the first
  std::size_t used; // places
  std::size_t capacity;
  std::size_t longest; // row so far
};

__device__ bool is_fine(findings const& f, growth const& g, int levels) {
  return f.bad == 0 && f.full == 0 && f.levels <= levels && g.used + f.places <= g.capacity;
}

template <class I>
__global__ void look_kernel(std::size_t n, I const* row, I const* col, I rows, I cols,
                            findings* to) {
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  bool const is_bad =
      k < n && (row[k] < 0 || row[k] >= rows || (col && (col[k] < 0 || col[k] >= cols)));
  fold_warp<greatest>(is_bad ? n - k : 0, &to->bad);
}

/// Where the entries from k on that have k's row end.
template <class I>
__device__ std::size_t end_of(I const* row, std::size_t n, std::size_t k) {
  std::size_t step = 1;
  while (k + step < n && row[k + step] == row[k])
    step *= 2;
  std::size_t const from = k + step / 2 + (step > 1);
  std::size_t const to = k + step < n ? k + step : n;
  return step == 1 ? k + 1 : from + upper_bound(row + from, to - from, row[k]);
}
/// The first entry that has the row of all entries from it up to k.
template <class I>
__device__ std::size_t begin_of(I const* row, std::size_t k) {
  std::size_t step = 1;
  while (step <= k && row[k - step] == row[k])
    step *= 2;
  std::size_t const from = step <= k ? k - step + 1 : 0;
  return from + lower_bound(row + from, k - from, row[k]);
}

/// The segment that row i needs for `fresh` more entries.
template <class V, class I>
__device__ run<I> plan_row(fragments<V, I> const& a, growth const& g, I i, std::size_t fresh,
                           findings* f) {
  run<I> r;
  r.length = a.length[i];
  r.places = a.first[i + 1] - a.first[i];
  r.size = 0;
  r.level = 0;
  std::size_t const length = static_cast<std::size_t>(r.length) + fresh;
  for (; r.level < a.levels && length > static_cast<std::size_t>(r.places); ++r.level) {
    segment<I> const s = a.behind(r.level, i);
    if (s.begin == s.end)
      break;
    r.places += s.end - s.begin;
  }
  if (length <= static_cast<std::size_t>(r.places))
    return r;
  if (r.level == g.most) {
    f->full = 1;
    return r;
  }
  if (r.level >= a.levels)
    atomicMax(&f->levels, r.level + 1);
  auto const slack = static_cast<std::size_t>(g.factor * static_cast<double>(length)) + g.plus;
  // A row with a segment behind its first has shown that it grows.
  r.size = static_cast<I>(length - static_cast<std::size_t>(r.places) +
                          (r.level > 0 && slack < length ? length : slack));
  return r;
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    plan_kernel(fragments<V, I> a, growth g, std::size_t n, I const* row, run<I>* runs,
                findings* f) {
  __shared__ unsigned long long of_warp[each_threads / 32], first_place;
  if (f->bad != 0)
    return;
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  bool const is_first = k < n && (k == 0 || row[k - 1] != row[k]);
  run<I> r{};
  unsigned long long length = 0;
  if (is_first) {
    std::size_t const fresh = end_of(row, n, k) - k;
    r = plan_row(a, g, row[k], fresh, f);
    length = static_cast<unsigned long long>(r.length) + fresh;
  }
  auto const size = static_cast<unsigned long long>(r.size);
  unsigned long long const up_to = inclusive_scan(size);
  if (threadIdx.x % 32 == 31)
    of_warp[threadIdx.x / 32] = up_to;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long sum = 0;
    for (unsigned long long& w : of_warp) {
      unsigned long long const here = w;
      w = sum;
      sum += here;
    }
    first_place = sum == 0 ? 0 : atomicAdd(&f->places, sum);
  }
  __syncthreads();
  if (is_first) {
    r.begin = static_cast<I>(g.used + first_place + of_warp[threadIdx.x / 32] + up_to - size);
    runs[k] = r;
  }
  fold_warp<greatest>(length > g.longest ? length : 0, &f->longest);
}

/// The new segment of a row, and its new length.
template <class V, class I>
__device__ void settle(fragments<V, I> const& a, I i, run<I> const& r, I length) {
  a.length[i] = length;
  if (r.size != 0)
    a.behind(r.level, i) = {r.begin, r.begin + r.size};
}
/// Where entry p of the row goes; tables may have the new segment already or not.
template <class V, class I>
__device__ I target(fragments<V, I> const& a, I i, run<I> const& r, I p) {
  return p < r.places ? a.place_of(i, p) : r.begin + (p - r.places);
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    append_kernel(fragments<V, I> a, growth g, std::size_t n, I const* row, I const* perm,
                  I const* col, V const* val, run<I> const* runs, findings const* f) {
  if (!is_fine(*f, g, a.levels))
    return;
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  I const i = k < n ? row[k] : I(-1);
  bool const is_first = k < n && (k == 0 || row[k - 1] != i);
  int const lane = threadIdx.x % 32;
  unsigned const firsts = __ballot_sync(whole_warp, is_first) & (0xffffffffu >> (31 - lane));
  if (k >= n)
    return;
  std::size_t const k0 =
      firsts != 0 ? k - lane + (31 - __clz(static_cast<int>(firsts))) : begin_of(row, k - lane);
  run<I> const r = runs[k0];
  std::size_t const from = perm ? static_cast<std::size_t>(perm[k]) : k;
  I const at = target(a, i, r, r.length + static_cast<I>(k - k0));
  a.col[at] = col[from];
  a.val[at] = val[from];
  if (is_first)
    settle(a, i, r, r.length + static_cast<I>(end_of(row, n, k) - k));
}

/// Entries of a batch by row and column, to be looked for in their rows.
template <class V, class I>
struct wanted {
  dynamic_change kind;
  std::size_t n;
  I const *row, *col; // in order
  I const* perm;
  V const* val;        // as they came
  unsigned char* mark; // of the first of a place: it is there; it has been changed
  enum : unsigned char { absent, present, changed };

  __device__ V value(std::size_t q) const { return val[perm[q]]; }
  /// The first entry of [k, end) with that column; end: there is none.
  __device__ std::size_t find(std::size_t k, std::size_t end, I c) const {
    std::size_t const q = k + lower_bound(col + k, end - k, c);
    return q < end && col[q] == c ? q : end;
  }
  __device__ bool is_fresh(std::size_t k, std::size_t q) const {
    return kind != dynamic_change::erase && (q == k || col[q] != col[q - 1]) && mark[q] == absent;
  }
  /// What the entries of q's place make of v.
  __device__ V joined(V v, std::size_t q, std::size_t end, bool is_new) const {
    I const c = col[q];
    if (is_new)
      v = value(q++);
    for (; q < end && col[q] == c; ++q)
      v = kind == dynamic_change::insert ? v + value(q) : value(q);
    return v;
  }
};

/// A warp each entry; those that are the first of their row have work.
template <class V, class I>
__global__ void plan_search_kernel(fragments<V, I> a, growth g, wanted<V, I> b, run<I>* runs,
                                   findings* f) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  int const lane = threadIdx.x % 32;
  if (f->bad != 0 || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  I const i = b.row[k];
  std::size_t const end = end_of(b.row, b.n, k);
  for (std::size_t q = k + lane; q < end; q += 32)
    b.mark[q] = b.absent;
  __syncwarp();
  for (I p = lane; p < a.length[i]; p += 32) {
    std::size_t const q = b.find(k, end, a.col[a.place_of(i, p)]);
    if (q != end)
      b.mark[q] = b.present;
  }
  __syncwarp();
  int fresh = 0;
  for (std::size_t q = k + lane; q < end; q += 32)
    fresh += b.is_fresh(k, q);
  fresh = reduce<32>(fresh);
  if (lane != 0)
    return;
  run<I> r = plan_row(a, g, i, static_cast<std::size_t>(fresh), f);
  if (r.size != 0)
    r.begin =
        static_cast<I>(g.used + atomicAdd(&f->places, static_cast<unsigned long long>(r.size)));
  runs[k] = r;
  auto const length = static_cast<unsigned long long>(r.length) + fresh;
  if (length > g.longest)
    atomicMax(&f->longest, length);
}

template <class V, class I>
__global__ void change_kernel(fragments<V, I> a, growth g, wanted<V, I> b, run<I> const* runs,
                              findings* f) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  int const lane = threadIdx.x % 32;
  unsigned const before = (1u << lane) - 1;
  if (!is_fine(*f, g, a.levels) || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  I const i = b.row[k];
  run<I> const r = runs[k];
  std::size_t const end = end_of(b.row, b.n, k);
  I kept = 0;
  for (I p0 = 0; p0 < r.length; p0 += 32) {
    I const p = p0 + lane;
    bool stays = p < r.length;
    I const at = stays ? a.place_of(i, p) : I(0);
    I const c = stays ? a.col[at] : I(0);
    V v = stays ? a.val[at] : V(0);
    std::size_t const q = stays ? b.find(k, end, c) : end;
    bool const is_there = q != end;
    // The first entry of a place that has several is the one that changes.
    bool is_next = is_there && b.kind != dynamic_change::erase && b.mark[q] != b.changed;
    unsigned const alike = __match_any_sync(whole_warp, static_cast<unsigned long long>(q));
    is_next = is_next && (alike & before) == 0;
    if (is_there &&
        (b.kind == dynamic_change::erase || (b.kind == dynamic_change::assign && !is_next)))
      stays = false;
    if (is_next)
      v = b.joined(v, q, end, false);
    __syncwarp();
    if (is_next)
      b.mark[q] = b.changed;
    unsigned const all = __ballot_sync(whole_warp, stays);
    if (stays) {
      I const to = a.place_of(i, kept + __popc(all & before));
      a.col[to] = c;
      a.val[to] = v;
    }
    kept += __popc(all);
    __syncwarp();
  }
  I fresh = 0;
  for (std::size_t q0 = k; q0 < end; q0 += 32) {
    std::size_t const q = q0 + lane;
    bool const is_new = q < end && b.is_fresh(k, q);
    unsigned const all = __ballot_sync(whole_warp, is_new);
    if (is_new) {
      I const to = target(a, i, r, kept + fresh + __popc(all & before));
      a.col[to] = b.col[q];
      a.val[to] = b.joined(V(0), q, end, true);
    }
    fresh += __popc(all);
  }
  __syncwarp();
  if (lane != 0)
    return;
  settle(a, i, r, kept + fresh);
  if (fresh != 0)
    atomicAdd(&f->fresh, static_cast<unsigned long long>(fresh));
  if (kept != r.length)
    atomicAdd(&f->removed, static_cast<unsigned long long>(r.length - kept));
}

template <class V, class I>
__global__ void scale_rows_kernel(fragments<V, I> a, wanted<V, I> b, findings const* f) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  if (f->bad != 0 || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  I const i = b.row[k];
  std::size_t const end = end_of(b.row, b.n, k);
  for (I p = threadIdx.x % 32; p < a.length[i]; p += 32) {
    I const at = a.place_of(i, p);
    V v = a.val[at];
    for (std::size_t q = k; q < end; ++q)
      v *= b.value(q);
    a.val[at] = v;
  }
}

/// Memory of batches of up to n entries, in one piece.
template <class V, class I>
struct workspace {
  I *number, *row, *perm; // 0, 1, 2 and so on; rows in order; where they were
  I* sorted_col;
  run<I>* runs;
  unsigned char* mark;
  I *host_row, *host_col; // copies of what is on the host
  V* host_val;
  char* room;
  std::size_t room_bytes;

  workspace(carver& c, std::size_t n, std::size_t room_bytes) : room_bytes(room_bytes) {
    number = c.take<I>(n);
    row = c.take<I>(n);
    perm = c.take<I>(n);
    sorted_col = c.take<I>(n);
    runs = c.take<run<I>>(n);
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
    order_by(m.rows, static_cast<I>(most), none, none, to, to, nullptr, room, m.o.stream);
    carver size;
    workspace<V, I>(size, most, room);
    m.work = m.take(size.used(), 1);
    m.counted = most;
    m.room_bytes = room;
    count_up(m.work.template as<I>(), most, m.o.stream);
  }
  carver c(m.work.template as<char>());
  return workspace<V, I>(c, m.counted, m.room_bytes);
}

template <class V, class I>
growth growth_of(matrix<V, I> const& m) {
  auto const rows = static_cast<std::size_t>(m.rows);
  return {m.o.mean ? 0 : m.o.factor,
          m.o.mean ? ceil_div(m.entries, std::max<std::size_t>(rows, 1)) : m.o.plus,
          m.o.segments - 1,
          m.used,
          m.capacity,
          m.longest};
}

template <class V, class I>
findings read_findings(matrix<V, I>& m) {
  TULLE_CUDA(cudaMemcpyAsync, m.read, m.found.template as<char>(), sizeof(findings),
             cudaMemcpyDeviceToHost, m.stream());
  TULLE_CUDA(cudaStreamSynchronize, m.stream());
  return *m.read;
}

template <class V, class I>
void clear_findings(matrix<V, I>& m) {
  TULLE_CUDA(cudaMemsetAsync, m.found.template as<char>(), 0, sizeof(findings), m.stream());
}

/// As many tables of segments, all rows without in new ones.
template <class V, class I>
void add_levels(matrix<V, I>& m, int levels) {
  std::size_t const table = m.pitch() * sizeof(segment<I>);
  auto const all = static_cast<std::size_t>(levels), there = static_cast<std::size_t>(m.levels);
  if (m.further.bytes() < all * table) {
    owned tables = m.take(all, table);
    if (there != 0)
      TULLE_CUDA(cudaMemcpyAsync, tables.as<char>(), m.further.template as<char>(), there * table,
                 cudaMemcpyDeviceToDevice, m.stream());
    m.further = std::move(tables);
  }
  TULLE_CUDA(cudaMemsetAsync, m.further.template as<char>() + there * table, 0,
             (all - there) * table, m.stream());
  m.levels = levels;
}

/// try_it() plans and makes; it is done again where there was no room.
template <class V, class I, class F>
findings make(matrix<V, I>& m, F const& try_it) {
  for (;;) {
    growth const g = growth_of(m);
    try_it(m.view(), g);
    findings const f = read_findings(m);
    if (f.bad != 0)
      return f;
    if (f.full != 0) {
      defragment(m, false, m.o.combine_at_defragmenting);
    } else if (f.levels > m.levels || g.used + f.places > g.capacity) {
      if (m.levels < f.levels)
        add_levels(m, f.levels);
      grow(m, g.used + f.places);
    } else {
      m.used += f.places;
      m.longest = std::max(m.longest, static_cast<std::size_t>(f.longest));
      return f;
    }
    clear_findings(m);
  }
}

template <class V, class I>
void has_changed(matrix<V, I>& m, std::size_t fresh, std::size_t removed) {
  m.entries += fresh;
  m.entries -= removed;
  if (fresh == 0 && removed == 0)
    return;
  m.compact = false;
  m.planned = false;
}

/// Bytes of a batch from the host; what is on the device stays there.
template <class T>
T const* there(cuda_batch const& b, void const* from, T* to, void* stream) {
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

template <class V, class I>
findings append(matrix<V, I>& m, workspace<V, I> const& w, std::size_t n, I const* row,
                I const* perm, I const* col, V const* val) {
  return make(m, [&](fragments<V, I> const& a, growth const& g) {
    auto* const f = m.found.template as<findings>();
    std::size_t const blocks = ceil_div(n, std::size_t{each_threads});
    launch(plan_kernel<V, I>, blocks, each_threads, m.o.stream, a, g, n, row, w.runs, f);
    launch(append_kernel<V, I>, blocks, each_threads, m.o.stream, a, g, n, row, perm, col, val,
           static_cast<run<I> const*>(w.runs), static_cast<findings const*>(f));
  });
}

} // namespace

template <class V, class I>
void insert_sorted(matrix<V, I>& m, std::size_t n, I const* row, I const* col, V const* val) {
  auto const w = work_for(m, n);
  clear_findings(m);
  append(m, w, n, row, static_cast<I const*>(nullptr), col, val);
  has_changed(m, n, 0);
}

template <class V, class I>
void change(matrix<V, I>& m, cuda_batch const& b) {
  if (b.n == 0)
    return;
  narrow<I>(b.n, "number of entries in a batch");
  auto const w = work_for(m, b.n);
  void* const stream = m.o.stream;
  I const* const row = there(b, b.row, w.host_row, stream);
  I const* const col = there(b, b.col, w.host_col, stream);
  V const* const val = there(b, b.val, w.host_val, stream);
  auto* const f = m.found.template as<findings>();
  auto const n = static_cast<I>(b.n);
  clear_findings(m);
  launch(look_kernel<I>, ceil_div(b.n, std::size_t{each_threads}), each_threads, stream, b.n, row,
         col, m.rows, m.cols, f);
  bool const searches = b.kind == dynamic_change::assign || b.kind == dynamic_change::erase ||
                        (b.kind == dynamic_change::insert && m.o.combine);
  if (searches) {
    order_by(m.rows, m.cols, n, row, col, w.row, w.perm, stream);
    each(b.n, stream, [=, from = col, perm = w.perm, to = w.sorted_col] __device__(std::size_t k) {
      to[k] = from[perm[k]];
    });
  } else {
    std::size_t bytes = w.room_bytes;
    order_by(m.rows, n, row, static_cast<I const*>(w.number), w.row, w.perm, w.room, bytes, stream);
  }
  std::size_t const blocks = ceil_div(b.n, std::size_t{each_threads / 32}); // a warp each entry
  wanted<V, I> const entries{b.kind, b.n, w.row, w.sorted_col, w.perm, val, w.mark};
  findings found;
  if (b.kind == dynamic_change::scale) {
    launch(scale_rows_kernel<V, I>, blocks, each_threads, stream, m.view(), entries,
           static_cast<findings const*>(f));
    found = read_findings(m);
  } else if (searches) {
    found = make(m, [&](fragments<V, I> const& a, growth const& g) {
      launch(plan_search_kernel<V, I>, blocks, each_threads, stream, a, g, entries, w.runs, f);
      launch(change_kernel<V, I>, blocks, each_threads, stream, a, g, entries,
             static_cast<run<I> const*>(w.runs), f);
    });
  } else {
    found =
        append(m, w, b.n, static_cast<I const*>(w.row), static_cast<I const*>(w.perm), col, val);
    found.fresh = b.n;
  }
  if (found.bad != 0)
    refuse_entry(m, b.kind, b.n - static_cast<std::size_t>(found.bad), row, col);
  has_changed(m, static_cast<std::size_t>(found.fresh), static_cast<std::size_t>(found.removed));
}

#define TULLE_CHANGE(tag, V, I, O)                                                                 \
  template void change(matrix<V, I>&, cuda_batch const&);                                          \
  template void insert_sorted(matrix<V, I>&, std::size_t, I const*, I const*, V const*);
TULLE_TYPES(TULLE_CHANGE)

} // namespace tulle::simt
