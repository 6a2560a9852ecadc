// SPDX-License-Identifier: Apache-2.0

// Making and multiplying dynamic matrices on the device.
//
// y = alpha A x + beta y goes over the first segments with csr's kernel, together with the added
// entries that have a partner there, and then over the listed rows. If grown rows have cost as much
// time as defragmenting takes, or first segments have holes, the matrix is defragmented first.
//
// Bytes that must move, double with 32-bit indices: a product moves those of csr, 16 per entry that
// was added later, and 4 per share.
#include "cuda/dynamic/overflow_entries.cuh"
#include "cuda/order.cuh"
#include "cuda/scale.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/compressed.cuh"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

/// Never destroyed: matrices may live as long as the process.
struct notices {
  std::mutex one_at_a_time;
  std::vector<notice*> free; // with capacity for all of them
  std::size_t made = 0;

  static notices& all() {
    static auto* const n = new notices;
    return *n;
  }
};

constexpr std::size_t pool_part = 8; // a pool grows by this part of itself at least

template <class T>
void copy(T* to, T const* from, std::size_t n, cudaStream_t stream) {
  if (n != 0)
    TULLE_CUDA(cudaMemcpyAsync, to, from, n * sizeof(T), cudaMemcpyDeviceToDevice, stream);
}

/// Throws errc::bad_structure if an array is inconsistent.
template <class V, class I>
void check_csr(device_csr<V, I, I> const& a, void* stream) {
  auto const rows = static_cast<std::size_t>(a.rows);
  std::size_t const pointers = fold<sum>(rows + 1, stream, [a, rows] __device__(std::size_t i) {
    I const k = a.row_ptr[i];
    return i == rows ? k != a.nnz : k < 0 || k > a.row_ptr[i + 1] || (i == 0 && k != 0);
  });
  if (pointers != 0)
    fail(errc::bad_structure, "dynamic_csr: row_ptr does not ascend from 0 to %lld",
         static_cast<long long>(a.nnz));
  std::size_t const bad =
      fold<least>(static_cast<std::size_t>(a.nnz), stream, [a] __device__(std::size_t k) {
        return a.col[k] < 0 || a.col[k] >= a.cols ? k : ~std::size_t{0};
      });
  if (bad < static_cast<std::size_t>(a.nnz))
    fail(errc::bad_structure, "dynamic_csr: col[%zu] is outside [0, %lld)", bad,
         static_cast<long long>(a.cols));
}

template <class V, class I>
std::unique_ptr<matrix<V, I>> make(dynamic_request const& o, device_csr<V, I, I> const* a,
                                   spmv_kernel const* csr) {
  auto m = std::make_unique<matrix<V, I>>(o, csr);
  auto const rows = static_cast<std::size_t>(m->rows);
  if (a && rows != 0)
    check_csr(*a, o.queue);
  m->length = m->take(rows + 1, sizeof(I));
  m->first = m->take(rows + 1, sizeof(I));
  m->found = m->take(2, sizeof(findings));
  carver marks;
  marks.take<list_counts>(1);
  marks.take<unsigned char>(rows);
  m->marks = m->take(marks.used(), 1);
  auto const s = m->stream();
  TULLE_CUDA(cudaMemsetAsync, m->found.template as<char>(), 0, m->found.bytes(), s);
  TULLE_CUDA(cudaMemsetAsync, m->marks.template as<char>(), 0, m->marks.bytes(), s);
  if (!a || a->nnz == 0) {
    TULLE_CUDA(cudaMemsetAsync, m->length.template as<char>(), 0, m->length.bytes(), s);
    TULLE_CUDA(cudaMemsetAsync, m->first.template as<char>(), 0, m->first.bytes(), s);
    std::size_t const places = checked_mul(rows, o.width, "device_dynamic_csr: rows of that width");
    grow(*m, places);
    m->spare = {0, rows == 0 ? I(0) : static_cast<I>(o.width), 0};
    m->used = places;
    return m;
  }
  auto const n = static_cast<std::size_t>(a->nnz);
  m->spare = spare_for(*m, n, m->most_places());
  auto const places = static_cast<std::size_t>(m->spare.at(m->rows, a->nnz));
  grow(*m, places);
  m->used = places;
  m->entries = m->in_first = n;
  copy(m->col.template as<I>(), a->col, m->entries, s);
  copy(m->val.template as<V>(), a->val, m->entries, s);
  take_pointers(*m, a->row_ptr);
  return m;
}

/// The product of first segments, by csr's kernels, and of the entries that have partners there.
template <class V, class I>
void multiply_pairs(matrix<V, I>& m, fragments<V, I> const& f, void* stream, V alpha, V const* x,
                    V beta, V* y) {
  auto const a = m.as_csr();
  lines<V, I, I> const l{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr};
  carver work(m.how.work);
  auto const s = shares_of<V>(a.rows, a.nnz, m.by_rows ? way::blocks : way::segments, work);
  if (m.stale) {
    TULLE_CUDA(cudaMemsetAsync, f.pairs.count, 0, s.count * sizeof *f.pairs.count,
               static_cast<cudaStream_t>(stream));
    launch(pair_kernel<V, I>, ceil_div(static_cast<std::size_t>(a.rows), std::size_t{each_threads}),
           each_threads, stream, f);
    m.stale = false;
  }
  if (m.by_rows)
    return launch_early(paired_blocks_kernel<V, I>, s.count, row_threads, stream, alpha, l, f, x,
                        beta, y, static_cast<I const*>(s.first), m.many != 0);
  launch_early(paired_segments_kernel<V, I>, s.count, tile_threads, stream, alpha, l, f, x, beta, y,
               s);
  launch_early(segments_join_kernel<V, I, I>, ceil_div<std::size_t>(s.count * 32, row_threads),
               row_threads, stream, alpha, l, beta, y, s);
}

template <class V, class I>
void multiply(matrix<V, I>& m, void* stream, V alpha, V const* x, V beta, V* y) {
  bool const is_empty = m.entries == 0 || alpha == V(0);
  if (!is_empty && !m.compact) {
    double const overflow =
        static_cast<double>(m.entries - m.in_first) / static_cast<double>(m.entries);
    bool const has_pairs = m.share != 0;
    m.debt += has_pairs ? overflow_price * overflow : overflow;
    double const since = has_pairs ? paid_for_pairs * ++m.since_batch : 0;
    if (m.holes || m.unlisted || m.debt + since > most_debt)
      defragment(m, false, false);
  }
  if (!is_empty && !m.planned)
    make_plan(m);
  in_turn(m, stream, [&] {
    if (is_empty)
      return scale(beta, y, static_cast<std::size_t>(m.rows), stream);
    auto const a = m.as_csr();
    auto const f = m.view();
    if (!m.compact && f.pairs.share != 0) {
      multiply_pairs(m, f, stream, alpha, x, beta, y);
    } else {
      outcome const s = m.csr->run({&alpha, &a, x, &beta, y, &m.how, stream});
      if (s.code != outcome::fine)
        throw failure{s};
    }
    std::size_t const overflow = m.entries - m.in_first;
    overflow_blocks const b{
        static_cast<unsigned>(m.crowded ? std::min(overflow / long_overflow + 1, crowded_blocks)
                                        : 0),
        static_cast<unsigned>(std::min(m.many, listed_blocks))};
    launch_early(overflow_kernel<V, I>, b.crowded + b.listed, overflow_threads, stream, alpha, f, b,
                 x, y);
  });
}

template <class V, class I>
dynamic_facts shape(matrix<V, I> const& m) {
  dynamic_facts s{m.entries, m.capacity, static_cast<std::size_t>(m.levels), 0, m.compact};
  for (owned const* o :
       {&m.length, &m.first, &m.marks, &m.lists, &m.pairs, &m.further, &m.col, &m.val, &m.found,
        &m.tallies, &m.work, &m.row_ptr, &m.scan, &m.plan, &m.dense_plan})
    s.bytes += o->bytes();
  return s;
}

} // namespace

pinned_notice take_notice() {
  auto& all = notices::all();
  std::lock_guard const in_turn(all.one_at_a_time);
  if (all.free.empty()) {
    constexpr std::size_t page = 4096 / sizeof(notice);
    all.free.reserve(all.made + page);
    notice* some = nullptr;
    TULLE_CUDA(cudaHostAlloc, reinterpret_cast<void**>(&some), page * sizeof(notice),
               cudaHostAllocPortable);
    for (std::size_t k = 0; k < page; ++k)
      all.free.push_back(some + k);
    all.made += page;
  }
  pinned_notice n(all.free.back());
  all.free.pop_back();
  *n = {};
  return n;
}
void notice_giver::operator()(notice* n) const noexcept {
  auto& all = notices::all();
  std::lock_guard const in_turn(all.one_at_a_time);
  all.free.push_back(n);
}

template <class V, class I>
void take_pointers(matrix<V, I>& m, I const* row_ptr) {
  auto const rows = static_cast<std::size_t>(m.rows);
  copy(m.first.template as<I>(), row_ptr, rows + 1, m.stream());
  each(rows + 1, m.o.queue,
       [row_ptr, rows, length = m.length.template as<I>()] __device__(std::size_t i) {
         length[i] = i < rows ? row_ptr[i + 1] - row_ptr[i] : I(0);
       });
}

template <class V, class I>
void merge(matrix<V, I>& m, device_csr<V, I, I> const& b) {
  canonical<V, I, I> const c(b, m.o.queue);
  auto const n = static_cast<std::size_t>(c.view.nnz);
  if (n == 0)
    return;
  scratch<I> const row(n, m.o.queue);
  expand_rows(c.view.rows, c.view.nnz, c.view.row_ptr, row.get(), m.o.queue);
  I const* col = c.view.col;
  V const* val = c.view.val;
  auto const* const pool = m.col.template as<I>();
  // Arrays of freeze(): the pool may move.
  bool const is_own = col >= pool && col < pool + m.capacity;
  scratch<I> const own_col(is_own ? n : 0, m.o.queue);
  scratch<V> const own_val(is_own ? n : 0, m.o.queue);
  if (is_own) {
    copy(own_col.get(), col, n, m.stream());
    copy(own_val.get(), val, n, m.stream());
    col = own_col.get();
    val = own_val.get();
  }
  if (m.o.combine) // searches for existing entries
    change(m, {dynamic_change::insert, n, row.get(), col, val, false});
  else
    insert_sorted(m, n, static_cast<I const*>(row.get()), col, val);
}

template <class V, class I>
void make_plan(matrix<V, I>& m) {
  auto const check = [](outcome const& s) {
    if (s.code != outcome::fine)
      throw failure{s};
  };
  auto const a = m.as_csr();
  std::size_t bytes = 0;
  m.how = {};
  m.how.device = m.o.device;
  m.how.stream = m.o.queue;
  m.how.info[longest_line] = static_cast<std::int64_t>(m.longest);
  check(m.csr->prepare(&a, m.how, bytes));
  if (bytes > m.plan.bytes())
    m.plan = m.take(bytes + bytes / pool_part, 1);
  m.how.work = m.plan.template as<void>();
  check(m.csr->fill(&a, m.how));
  auto const w = static_cast<way>(m.how.info[chosen_way]);
  m.by_rows = w == way::blocks;
  m.share = m.how.info[is_long] != 0 ? 0 : m.by_rows ? tile : w == way::segments ? share : 0;
  if (m.compact) // otherwise those of its first segments were checked
    m.longest = static_cast<std::size_t>(m.how.info[longest_line]);
  carver work(m.how.work);
  if (m.share != 0)
    m.first_row = shares_of<V>(a.rows, a.nnz, w, work).first;
  m.planned = true;
}

template <class V, class I>
pool_arrays grow(matrix<V, I>& m, std::size_t places) {
  if (places > static_cast<std::size_t>(std::numeric_limits<I>::max()))
    fail(errc::overflow, "dynamic_csr: %zu places do not fit a %d-bit index", places,
         static_cast<int>(8 * sizeof(I)));
  if (places > m.o.limit)
    fail(errc::out_of_memory, "dynamic_csr: %zu places wanted, the limit is %zu", places,
         m.o.limit);
  if (places <= m.capacity)
    return {};
  // A range that grows in place need not double its size to move rarely.
  bool const is_there = m.o.maps && m.capacity != 0;
  std::size_t const roomy = std::max(places + places / pool_part, is_there ? 0 : 2 * m.capacity);
  std::size_t const capacity = std::min(roomy, m.most_places());
  if (is_there) {
    m.col.grow(checked_mul(capacity, sizeof(I), "dynamic_csr"));
    m.val.grow(checked_mul(capacity, sizeof(V), "dynamic_csr"));
    m.capacity = capacity;
    return {};
  }
  pool_arrays next{m.take_pool(capacity, sizeof(I)), m.take_pool(capacity, sizeof(V))};
  copy(next.col.as<I>(), m.col.template as<I>(), m.used, m.stream());
  copy(next.val.as<V>(), m.val.template as<V>(), m.used, m.stream());
  std::swap(m.col, next.col);
  std::swap(m.val, next.val);
  m.capacity = capacity;
  return next;
}

#define TULLE_DYNAMIC_CELL(tag, V, I, O)                                                           \
  template pool_arrays grow(matrix<V, I>&, std::size_t);                                           \
  template void take_pointers(matrix<V, I>&, I const*);                                            \
  template void merge(matrix<V, I>&, device_csr<V, I, I> const&);                                  \
  template void make_plan(matrix<V, I>&);                                                          \
  extern spmv_kernel const spmv_csr_##tag;                                                         \
  extern typed_product const spgemm_csr_##tag;                                                     \
  extern dynamic_kernel const dynamic_##tag;                                                       \
  dynamic_kernel const dynamic_##tag =                                                             \
      cell<V, I>::template table<&spmv_csr_##tag, &spgemm_csr_##tag>();

namespace {

template <class V, class I>
struct cell {
  using M = matrix<V, I>;
  using view = device_csr<V, I, I>;

  template <class F>
  static outcome on(void* matrix, F const& f) {
    return guarded([&] {
      auto& m = *static_cast<M*>(matrix);
      device_guard const there(m.o.device);
      f(m);
    });
  }
  template <spmv_kernel const* csr, typed_product const* spgemm>
  static constexpr dynamic_kernel table() {
    return {
        [](dynamic_request const& o, void const* a, void*& made) {
          return guarded([&] {
            device_guard const there(o.device);
            made = make<V, I>(o, static_cast<view const*>(a), csr).release();
          });
        },
        [](void* matrix) { on(matrix, [](M& m) { delete &m; }); },
        [](void* matrix, dynamic_batch const& b) {
          return on(matrix, [&](M& m) { change(m, b); });
        },
        [](void* matrix, void const* b) {
          return on(matrix, [&](M& m) { merge(m, *static_cast<view const*>(b)); });
        },
        [](void* matrix, void const* b, void const* c, spgemm_method method) {
          return on(matrix, [&](M& m) {
            add_product(m, *spgemm, *static_cast<view const*>(b), *static_cast<view const*>(c),
                        method);
          });
        },
        [](void* matrix, bool sort, bool combine) {
          return on(matrix,
                    [&](M& m) { defragment(m, sort, combine || m.o.combine_at_defragmenting); });
        },
        [](void* matrix, void* a) {
          return on(matrix, [&](M& m) {
            defragment(m, false, false);
            *static_cast<view*>(a) = m.as_csr();
          });
        },
        [](void* matrix, void* stream, void const* alpha, void const* x, void const* beta,
           void* y) {
          return on(matrix, [&](M& m) {
            multiply(m, stream, *static_cast<V const*>(alpha), static_cast<V const*>(x),
                     *static_cast<V const*>(beta), static_cast<V*>(y));
          });
        },
        [](void* matrix, void* stream, void const* alpha, detail::dense_ref const& b,
           void const* beta, detail::dense_ref const& c) {
          return on(matrix, [&](M& m) {
            spmm(m, stream, *static_cast<V const*>(alpha), b, *static_cast<V const*>(beta), c);
          });
        },
        [](void* matrix, dynamic_facts& to) { return on(matrix, [&](M& m) { to = shape(m); }); }};
  }
};

} // namespace

TULLE_TYPES(TULLE_DYNAMIC_CELL)

} // namespace tulle::kernels::cuda
