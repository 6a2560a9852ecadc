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
#include "cuda/dynamic/search.cuh"
#include "cuda/order.cuh"
#include "cuda/turn.cuh"

#include <algorithm>

namespace tulle::simt {
namespace {

constexpr char const* names[] = {"insert", "assign", "erase", "scale_rows"};

class capture_stream {
public:
  capture_stream() { TULLE_CUDA(cudaStreamCreateWithFlags, &s_, cudaStreamNonBlocking); }
  ~capture_stream() { cudaStreamDestroy(s_); }
  capture_stream(capture_stream const&) = delete;
  capture_stream& operator=(capture_stream const&) = delete;
  cudaStream_t get() const { return s_; }

private:
  cudaStream_t s_ = nullptr;
};

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
    m.drop_graph(); // of the memory that goes
    m.last_entries = 0;
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
          m.grown_rows,
          m.grown.bytes() / sizeof(grown_row<I>)};
}

/// What the kernels of the next try read; what they find starts at nothing.
template <class V, class I>
void post(matrix<V, I>& m, I const* row, I const* col, V const* val) {
  *m.post = {{}, row, col, val, m.view(), growth_of(m)};
}
template <class V, class I>
void send(matrix<V, I>& m, cudaStream_t s) {
  TULLE_CUDA(cudaMemcpyAsync, m.posted_there(), m.post, sizeof(posted<V, I>),
             cudaMemcpyHostToDevice, s);
}
template <class V, class I>
void receive(matrix<V, I>& m, cudaStream_t s) {
  TULLE_CUDA(cudaMemcpyAsync, &m.post->found, &m.posted_there()->found, sizeof(findings),
             cudaMemcpyDeviceToHost, s);
}

/// That many bytes, with the first of those that are there.
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

/// As many levels of segments, all rows without in new ones.
template <class V, class I>
void add_levels(matrix<V, I>& m, int levels) {
  if (m.levels == 0) {
    std::size_t const bytes = m.pitch() * sizeof(I);
    if (m.listed.bytes() == 0)
      m.listed = m.take(bytes, 1);
    TULLE_CUDA(cudaMemsetAsync, m.listed.template as<char>(), 0, bytes, m.stream());
    m.levels = 1;
  }
  std::size_t const table = m.pitch() * sizeof(segment<I>);
  auto const all = static_cast<std::size_t>(levels - 1),
             there = static_cast<std::size_t>(m.levels - 1);
  if (all == there)
    return;
  grow(m.further, there * table, all * table, m);
  TULLE_CUDA(cudaMemsetAsync, m.further.template as<char>() + there * table, 0,
             (all - there) * table, m.stream());
  m.levels = levels;
}

/// What came of a try; try_again() plans and makes once more where there was no room.
template <class V, class I, class F>
findings make(matrix<V, I>& m, F const& try_again) {
  for (;;) {
    TULLE_CUDA(cudaStreamSynchronize, m.stream());
    posted<V, I> const b = *m.post;
    findings const& f = b.found;
    if (f.bad != 0)
      return f;
    std::size_t const used = b.g.used + f.places, grown = b.g.grown + f.grown;
    bool const has_room =
        f.levels <= m.levels && used <= b.g.capacity && grown <= b.g.most_grown && f.full == 0;
    if (has_room) {
      m.used = used;
      m.grown_rows = grown;
      m.holes = m.holes || f.holes != 0;
      return f;
    }
    if (f.full != 0) {
      defragment(m, false, m.o.combine_at_defragmenting);
    } else {
      if (m.levels < f.levels)
        add_levels(m, f.levels);
      if (grown > b.g.most_grown)
        grow(m.grown, m.grown_rows * sizeof(grown_row<I>),
             std::min(8 * grown, static_cast<std::size_t>(m.rows)) * sizeof(grown_row<I>), m);
      grow(m, used);
    }
    post(m, b.row, b.col, b.val);
    send(m, m.stream());
    try_again();
    receive(m, m.stream());
  }
}

template <class V, class I>
void has_changed(matrix<V, I>& m, std::size_t fresh, std::size_t removed) {
  m.entries += fresh;
  m.entries -= removed;
  if (fresh == 0 && removed == 0)
    return;
  m.compact = false;
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
void append(matrix<V, I>& m, workspace<V, I> const& w, std::size_t n, I const* row, I const* perm,
            cudaStream_t s) {
  std::size_t const blocks = ceil_div(n, std::size_t{each_threads});
  launch(plan_kernel<V, I>, blocks, each_threads, s, n, row, w.runs, m.posted_there());
  launch(append_kernel<V, I>, blocks, each_threads, s, n, row, perm,
         static_cast<run<I> const*>(w.runs), m.posted_there());
}

template <class V, class I>
void look(matrix<V, I>& m, workspace<V, I> const& w, std::size_t n, cudaStream_t s) {
  launch(look_kernel<V, I>, ceil_div(n, std::size_t{each_threads}), each_threads, s, n,
         m.posted_there(), m.cols, w.host_row);
}

/// All of a batch that adds entries.
template <class V, class I>
void enqueue(matrix<V, I>& m, workspace<V, I> const& w, std::size_t n, cudaStream_t s) {
  std::size_t bytes = w.room_bytes;
  send(m, s);
  look(m, w, n, s);
  order_by(m.rows, static_cast<I>(n), static_cast<I const*>(w.host_row),
           static_cast<I const*>(w.number), w.row, w.perm, w.room, bytes, s);
  append(m, w, n, static_cast<I const*>(w.row), static_cast<I const*>(w.perm), s);
  receive(m, s);
}

/// The same as a graph, from the second batch of as many entries on: a dozen launches in one.
template <class V, class I>
void enqueue(matrix<V, I>& m, workspace<V, I> const& w, std::size_t n) {
  if (!m.graph || m.graph_entries != n) {
    bool const again = m.last_entries == n;
    m.last_entries = n;
    if (!again)
      return enqueue(m, w, n, m.stream());
    m.drop_graph();
    cudaGraph_t made = nullptr;
    capture_stream const s; // the caller's may be the default one, which has no graphs
    TULLE_CUDA(cudaStreamBeginCapture, s.get(), cudaStreamCaptureModeThreadLocal);
    try {
      enqueue(m, w, n, s.get());
    } catch (...) {
      cudaStreamEndCapture(s.get(), &made);
      throw;
    }
    TULLE_CUDA(cudaStreamEndCapture, s.get(), &made);
    cudaError_t const error = cudaGraphInstantiate(&m.graph, made, 0);
    cudaGraphDestroy(made);
    check(error, "cudaGraphInstantiate");
    m.graph_entries = n;
  }
  TULLE_CUDA(cudaGraphLaunch, m.graph, m.stream());
}

} // namespace

template <class V, class I>
void insert_sorted(matrix<V, I>& m, std::size_t n, I const* row, I const* col, V const* val) {
  auto const w = work_for(m, n);
  auto const put = [&] { append(m, w, n, row, static_cast<I const*>(nullptr), m.stream()); };
  post(m, row, col, val);
  send(m, m.stream());
  put();
  receive(m, m.stream());
  make(m, put);
  has_changed(m, n, 0);
}

template <class V, class I>
void change(matrix<V, I>& m, cuda_batch const& b) {
  if (b.n == 0)
    return;
  narrow<I>(b.n, "number of entries in a batch");
  auto const w = work_for(m, b.n);
  cudaStream_t const s = m.stream();
  I const* const row = there(b, b.row, w.host_row, s);
  I const* const col = there(b, b.col, w.host_col, s);
  V const* const val = there(b, b.val, w.host_val, s);
  auto const n = static_cast<I>(b.n);
  bool const searches = b.kind == dynamic_change::assign || b.kind == dynamic_change::erase ||
                        (b.kind == dynamic_change::insert && m.o.combine);
  post(m, row, col, val);
  findings found;
  if (b.kind == dynamic_change::insert && !searches) {
    enqueue(m, w, b.n);
    found = make(m, [&] {
      append(m, w, b.n, static_cast<I const*>(w.row), static_cast<I const*>(w.perm), s);
    });
    found.fresh = b.n;
  } else {
    send(m, s);
    look(m, w, b.n, s);
    if (searches) {
      order_by(m.rows, m.cols, n, row, col, w.row, w.perm, s);
      each(b.n, s, [=, perm = w.perm, to = w.sorted_col] __device__(std::size_t k) {
        to[k] = col[perm[k]];
      });
    } else {
      order_by(m.rows, n, row, w.row, w.perm, s);
    }
    std::size_t const blocks = ceil_div(b.n, std::size_t{each_threads / 32}); // a warp each entry
    wanted<V, I> const entries{b.kind, b.n, w.row, w.sorted_col, w.perm, val, w.mark};
    auto const put = [&] {
      if (!searches)
        return launch(scale_rows_kernel<V, I>, blocks, each_threads, s, entries,
                      static_cast<posted<V, I> const*>(m.posted_there()));
      launch(plan_search_kernel<V, I>, blocks, each_threads, s, entries, w.runs, m.posted_there());
      launch(change_kernel<V, I>, blocks, each_threads, s, entries,
             static_cast<run<I> const*>(w.runs), m.posted_there());
    };
    put();
    receive(m, s);
    found = make(m, put);
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
