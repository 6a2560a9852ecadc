// SPDX-License-Identifier: Apache-2.0

// C = A B, all csr on the device, by rows: c_i = sum over k of a_ik b_k.
//
// The stages of Liu, thesis 2015, sec. 9.4, but with a count instead of temporary rows: one pass
// over the patterns finds products, width and bin of each row. Each bin has its method, which
// counts and, once C is allocated with its exact size, writes columns and values.
//
// An entry's products are multiplied, rounded and added one after another in the order of A's row,
// whatever the method: the bits are those of the cpu backend. There is no atomic addition of
// values; races in lists of rows only decide which thread computes a row, and when.
#include "tulle/core/narrow.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/side_streams.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spgemm/few.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/spgemm/heavy.cuh"
#include "cuda/spgemm/kernel.hpp"
#include "cuda/spgemm/mapped.cuh"
#include "cuda/spgemm/semiring.cuh"
#include "cuda/spgemm/small.cuh"
#include "cuda/spgemm/sorted.cuh"
#include "cuda/spgemm/stacked.cuh"
#include "cuda/spgemm/survey.cuh"
#include "cuda/spgemm/tiles.cuh"
#include "cuda/spgemm/window.cuh"
#include "cuda/types.hpp"

#include <optional>
#include <utility>

namespace tulle::kernels::cuda {
namespace {

constexpr std::size_t few_small = 8192; // rows; others were not tried

/// Memory that stays with the product; it counts against the limit.
class kept {
public:
  kept(result_memory const& from, product_state& p) : from_(from), product_(p) {}
  template <class T>
  T* take(std::size_t n) const {
    scratch_limit::take(n * sizeof(T));
    product_.bytes += n * sizeof(T);
    return result(from_).take<T>(n);
  }

private:
  result_memory const& from_;
  product_state& product_;
};

/// A and B in canonical form; for A A the matrix is checked once.
template <class V, class I, class O>
struct operands {
  std::optional<canonical<V, I, O>> of_a, of_b;
  device_csr<V, I, O> a, b;
  bool is_square; // A is B

  /// Checks the operands that are not known to be canonical.
  operands(device_csr<V, I, O> const& from_a, device_csr<V, I, O> const& from_b, bool look_at_a,
           bool look_at_b, void* stream)
      : a(from_a), b(from_b),
        is_square(a.row_ptr == b.row_ptr && a.col == b.col && a.val == b.val && a.nnz == b.nnz &&
                  a.rows == b.rows && a.cols == b.cols) {
    check_aligned(a.val, b.val);
    if (look_at_a)
      a = of_a.emplace(from_a, stream).view;
    if (is_square)
      b = a;
    else if (look_at_b)
      b = of_b.emplace(from_b, stream).view;
  }
};

/// Makes heavy rows window rows where they are too many or too wide, and small rows where they are
/// few: a thread takes 170 us for a small row, and rmat of 2^10 rows waited for 71 of them.
template <class V, class I, class O>
void choose_windows(product_state& p, std::size_t rows) {
  std::size_t const heavy = rows_in(p, row_bin::heavy), small = rows_in(p, row_bin::small);
  bool const leave_heavy = heavy != 0 && !takes_heavy<V, I, O>(p, rows);
  bool const leave_small = small != 0 && small <= few_small;
  auto const leave = [&](row_bin bin, unsigned long long widest) {
    p.all.rows[static_cast<int>(row_bin::window)] +=
        std::exchange(p.all.rows[static_cast<int>(bin)], 0);
    p.all.widest = std::max(p.all.widest, widest);
  };
  if (leave_heavy)
    leave(row_bin::heavy, p.all.widest_heavy);
  if (leave_small)
    leave(row_bin::small, p.all.widest_small);
  if (leave_heavy || leave_small)
    each(rows, p.stream, [=, bins = p.bins] __device__(std::size_t i) {
      if ((leave_heavy && bins[i] == row_bin::heavy) || (leave_small && bins[i] == row_bin::small))
        bins[i] = row_bin::window;
    });
}

/// Makes lists of the rows of all bins but tiny, and groups of window rows.
template <class I, class O>
void deal(product_state& p, pattern<I, O> const& a, pattern<I, O> const& b, kept const& memory) {
  auto const rows = static_cast<std::size_t>(a.rows);
  unsigned long long at[row_bins] = {};
  std::size_t listed = 0;
  for (int b = static_cast<int>(row_bin::small); b < row_bins; ++b) {
    at[b] = listed;
    listed += p.all.rows[b];
  }
  std::size_t const windows = rows_in(p, row_bin::window);
  if (listed + windows == 0)
    return;
  auto const s = static_cast<cudaStream_t>(p.stream);
  p.list = memory.take<I>(listed);
  p.groups = memory.take<window_group<I>>(windows);
  scratch<unsigned long long> const places(row_bins, s);
  TULLE_CUDA(cudaMemcpyAsync, places.get(), at, sizeof at, cudaMemcpyHostToDevice, s);
  scratch<std::uint8_t> const same_a(windows != 0 && !p.is_square ? rows : 0, s);
  std::uint8_t const* same = same_a.get();
  if (windows != 0) {
    p.same = memory.take<std::uint8_t>(static_cast<std::size_t>(b.rows));
    p.has_runs = find_same(b, p.same, s);
    if (p.is_square)
      same = p.same;
    else
      find_same(a, same_a.get(), s);
  }
  launch(deal_kernel<I>, ceil_div(rows, std::size_t{each_threads}), each_threads, s, rows,
         static_cast<row_bin const*>(p.bins), same, most_group_rows, static_cast<I*>(p.list),
         static_cast<window_group<I>*>(p.groups), places.get());
  if (p.method == spgemm_method::heap_esc_merge)
    order_heap_rows(p, a, b);
  if (windows != 0)
    p.group_count =
        static_cast<std::int64_t>(fetch(places.get() + static_cast<int>(row_bin::window), 1, s)[0]);
  p.group_rows = static_cast<std::size_t>(p.group_count) < windows ? most_group_rows : 1;
}

/// Lists the rows of B that tiled rows of A name, if they are few, and their places in the list.
/// Returns its bytes.
template <class I, class O>
std::size_t name_rows(product_state& p, pattern<I, O> const& a, std::size_t nnz,
                      pattern<I, O> const& b, kept const& memory) {
  auto const rows = static_cast<std::size_t>(b.rows);
  if ((rows + nnz) * sizeof(I) > std::min(tile_ptr_bytes / 2, scratch_limit::rest() / 4))
    return 0;
  std::size_t const tiled = rows_in(p, row_bin::tiled);
  I const* const list = listed<I>(p, row_bin::tiled);
  scratch<I> const places(rows + 1, p.stream); // of each row of B in the list
  I* const place = places.get();
  TULLE_CUDA(cudaMemsetAsync, place, 0, rows * sizeof(I), static_cast<cudaStream_t>(p.stream));
  each_warp(tiled, p.stream, [=] __device__(std::size_t h, int lane) {
    for (O k = a.ptr[list[h]] + lane; k < a.ptr[list[h] + 1]; k += 32)
      place[a.col[k]] = 1;
  });
  to_pointers(place, rows, p.stream);
  std::size_t const n = last_of(place, rows, p.stream);
  if (n > rows / 4)
    return 0;
  I* const named = memory.take<I>(n);
  I* const terms = memory.take<I>(nnz);
  each(rows, p.stream, [=] __device__(std::size_t j) {
    if (place[j] != place[j + 1])
      named[place[j]] = static_cast<I>(j);
  });
  each_warp(tiled, p.stream, [=] __device__(std::size_t h, int lane) {
    for (O k = a.ptr[list[h]] + lane; k < a.ptr[list[h] + 1]; k += 32)
      terms[k] = place[a.col[k]];
  });
  p.named_rows = named;
  p.named_terms = terms;
  p.tile_rows = static_cast<std::int64_t>(n);
  return (n + nnz) * sizeof(I);
}

template <class I, class O>
void make_room_for_tiles(product_state& p, pattern<I, O> const& a, std::size_t nnz,
                         pattern<I, O> const& b, kept const& memory) {
  if (rows_in(p, row_bin::tiled) == 0 || is_merging(p.method))
    return;
  plan_tiles(p, b, static_cast<std::int64_t>(b.rows));
  if (p.bands > 1)
    if (std::size_t const bytes = name_rows(p, a, nnz, b, memory); bytes != 0)
      plan_tiles(p, b, p.tile_rows, bytes);
  auto const each_row = static_cast<std::size_t>(p.tiles + 1);
  p.tile_ptr = memory.take<O>(each_row * static_cast<std::size_t>(p.tile_rows));
  p.offset = memory.take<O>(each_row * rows_in(p, row_bin::tiled));
  p.before = memory.take<O>(rows_in(p, row_bin::tiled));
  int device = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &p.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  p.ticket = memory.take<unsigned long long>(1);
}

/// Streams for bins of rows, which need not wait for each other.
side_streams streams_for(product_state const& p) {
  int bins = 0;
  for (int k = static_cast<int>(row_bin::tiny); k < row_bins; ++k)
    bins += p.all.rows[k] != 0;
  return side_streams(p.stream, bins > 1);
}
product_state on(void* stream, product_state p) {
  p.stream = stream;
  return p;
}

/// Computes C's values, and its columns if they are not known yet.
template <class V, class I, class O>
void fill(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b, O* c_ptr,
          I* c_col, V* c_val, bool with_columns) {
  I const* const col = c_col;
  if (p.method == spgemm_method::global_esc)
    return fill_global_esc(p, a, b, c_ptr, c_col, c_val);
  side_streams streams = streams_for(p);
  fill_tiny(on(streams.side(0), p), a, b, c_ptr, c_col, c_val, with_columns);
  fill_small(on(streams.side(0), p), a, b, c_ptr, c_col, c_val, with_columns);
  if (p.group_count != 0) {
    if (with_columns)
      run_windows<true>(p, a, b, c_ptr, static_cast<window_found*>(nullptr), c_col);
    fill_windows(p, a, b, c_ptr, col, c_val);
  }
  if (is_sorting(p.method)) {
    fill_esc(p, a, b, c_ptr, c_col, c_val);
  } else if (p.method == spgemm_method::hash) {
    fill_hash(p, a, b, c_ptr, c_col, c_val);
  } else {
    fill_few(on(streams.side(1), p), a, b, c_ptr, c_col, c_val, with_columns);
    product_state const sorted = on(streams.ahead(0), p), longs = on(streams.ahead(1), p);
    if (with_columns) {
      write_sorted_columns<I, O>(sorted, of_short_terms, a, b, c_ptr, c_col);
      write_sorted_columns<I, O>(longs, of_long_terms, a, b, c_ptr, c_col);
    }
    fill_sorted(sorted, of_short_terms, a, b, c_ptr, col, c_val);
    fill_sorted(longs, of_long_terms, a, b, c_ptr, col, c_val);
  }
  fill_heap(p, a, b, c_ptr, c_col, c_val);
  if (is_merging(p.method))
    fill_merge(p, a, b, c_ptr, c_col, c_val);
  else
    fill_tiles(p, a, b, c_ptr, c_col, c_val, with_columns);
  fill_scattered(on(streams.ahead(2), p), a, b, c_ptr, c_col, c_val);
  fill_heavy(on(streams.ahead(2), p), a, b, c_ptr, c_col, c_val, with_columns);
}

template <class V, class I>
struct entries {
  I* col;
  V* val;
};
/// Takes columns and values in one piece, the wider type first: an allocation takes the driver 30
/// us or more.
template <class V, class I>
entries<V, I> take_entries(result const& to, std::size_t n) {
  auto* const all = to.take<char>(checked_mul(n, sizeof(V) + sizeof(I), "spgemm: C"));
  if constexpr (sizeof(I) > sizeof(V))
    return {reinterpret_cast<I*>(all), reinterpret_cast<V*>(all + n * sizeof(I))};
  else
    return {reinterpret_cast<I*>(all + n * sizeof(V)), reinterpret_cast<V*>(all)};
}

template <class V, class I>
entries<V, I> ask_for_places(product_places const& p, void const* row_ptr, std::size_t n) {
  void *col = nullptr, *val = nullptr;
  p.take(p.owner, row_ptr, n, col, val);
  return {static_cast<I*>(col), static_cast<V*>(val)};
}

template <class V, class I, class O>
device_csr<V, I, O> multiply(device_csr<V, I, O> const& from_a, device_csr<V, I, O> const& from_b,
                             result_memory const& to, result_memory const& keep, product_state& p,
                             bool are_canonical = false) {
  void* const stream = p.stream;
  auto const s = static_cast<cudaStream_t>(stream);
  result const c(to);
  kept const memory(keep, p);
  operands<V, I, O> const from(from_a, from_b, !are_canonical, !are_canonical, stream);
  p.is_square = from.is_square;
  p.a_canonical = from.a.col == from_a.col;
  p.b_canonical = from.b.col == from_b.col;
  auto const a = operand_of(from.a), b = operand_of(from.b);
  auto const rows = static_cast<std::size_t>(a.rows);
  O* const row_ptr = c.zeros<O>(rows + 1);
  auto* const c_ptr = reinterpret_cast<unsigned_t<O>*>(row_ptr);
  if (from.a.nnz == 0 || from.b.nnz == 0) {
    p.all.rows[static_cast<int>(row_bin::empty)] = rows;
    return {unchecked, a.rows, b.cols, O(0), row_ptr, nullptr, nullptr};
  }

  p.bins = memory.take<row_bin>(rows);
  {
    scratch<product_survey> const found(1, s);
    TULLE_CUDA(cudaMemsetAsync, found.get(), 0, sizeof(product_survey), s);
    survey(a, b, static_cast<std::size_t>(from.a.nnz), p.method, wide_window_of<V>,
           can_scatter(static_cast<std::size_t>(b.cols)), p.bins, found.get(), stream);
    p.all = fetch(found.get(), 1, s)[0];
  }
  choose_windows<V, I, unsigned_t<O>>(p, rows);
  deal(p, a, b, memory);
  make_room_for_tiles<I, unsigned_t<O>>(p, a, static_cast<std::size_t>(from.a.nnz), b, memory);

  std::optional<scratch<window_found>> found; // of windows, of long rows
  if (p.group_count != 0 || long_rows(p) != 0) {
    found.emplace(2, s);
    TULLE_CUDA(cudaMemsetAsync, found->get(), 0, 2 * sizeof(window_found), s);
  }
  {
    side_streams streams = streams_for(p);
    count_tiny(on(streams.side(0), p), a, b, c_ptr);
    count_small(on(streams.side(0), p), a, b, c_ptr);
    if (p.group_count != 0)
      run_windows<false>(p, a, b, c_ptr, found->get(), static_cast<I*>(nullptr));
    if (is_sorting(p.method)) {
      count_esc(p, a, b, c_ptr);
    } else if (p.method == spgemm_method::hash) {
      count_hash(p, a, b, c_ptr);
    } else {
      count_few<I, unsigned_t<O>>(on(streams.side(1), p), a, b, c_ptr);
      count_sorted<I, unsigned_t<O>>(on(streams.ahead(0), p), of_short_terms, a, b, c_ptr, nullptr);
      if (long_rows(p) != 0)
        count_sorted<I, unsigned_t<O>>(on(streams.ahead(1), p), of_long_terms, a, b, c_ptr,
                                       found->get() + 1);
    }
    count_heap(p, a, b, c_ptr);
    if (is_merging(p.method))
      count_merge(p, a, b, c_ptr);
    else
      count_tiles(p, a, b, c_ptr);
    count_scattered(on(streams.ahead(2), p), a, b, c_ptr);
    count_heavy<I, unsigned_t<O>>(on(streams.ahead(2), p), a, b, c_ptr);
  }
  bool const may_overflow =
      p.all.most_entries > static_cast<unsigned long long>(std::numeric_limits<O>::max());
  if (may_overflow || p.counts_only) {
    p.entries = fold<sum>(rows, stream, [=] __device__(std::size_t i) { return row_ptr[i]; });
    if (p.counts_only)
      return {unchecked, a.rows, b.cols, O(0), row_ptr, nullptr, nullptr};
    narrow<O>(p.entries, "spgemm: number of entries");
  }
  to_pointers(row_ptr, rows, stream);
  if (found) {
    auto const classes = fetch(found->get(), 2, s);
    p.windows = classes[0];
    p.longs = classes[1];
  }
  std::size_t const nnz = last_of(row_ptr, rows, stream);

  auto const [c_col, c_val] = p.places.take && nnz != 0
                                  ? ask_for_places<V, I>(p.places, row_ptr, nnz)
                                  : take_entries<V, I>(c, nnz);
  fill(p, a, b, c_ptr, c_col, c_val, true);
  if (p.maps)
    map_products<I, unsigned_t<O>>(p, a, b, {c_ptr, c_col, a.rows, b.cols}, sizeof(V) + sizeof(I),
                                   keep);
  return {unchecked, a.rows, b.cols, static_cast<O>(nnz), row_ptr, c_col, c_val};
}

/// The same over a semiring, restricted to a mask.
template <class V, class I, class O>
device_csr<V, I, O> multiply_semiring(device_csr<V, I, O> const& from_a,
                                      device_csr<V, I, O> const& from_b, result_memory const& to,
                                      result_memory const& keep, product_state& p) {
  if (!std::is_floating_point_v<V> && p.semiring != semiring_kind::plus_times)
    fail(errc::unsupported, "spgemm: of the semirings only plus_times is built for complex values");
  bool const has_mask = p.mask != nullptr, needs_places = !has_mask || p.complement;
  auto t = needs_places ? multiply(from_a, from_b, has_mask ? keep : to, keep, p)
                        : device_csr<V, I, O>();
  if (!has_mask && p.semiring == semiring_kind::plus_times)
    return t;
  operands<V, I, O> const from(from_a, from_b, true, true, p.stream);
  auto const a = operand_of(from.a), b = operand_of(from.b);
  if (!has_mask) {
    fill_semiring(p, a, b, operand_of(t), const_cast<V*>(t.val),
                  static_cast<std::uint8_t*>(nullptr), false);
    return t;
  }
  canonical<V, I, O> const mask(*static_cast<device_csr<V, I, O> const*>(p.mask), p.stream);
  if (p.complement)
    scratch_limit::take(static_cast<std::size_t>(t.nnz) * (sizeof(V) + sizeof(I)));
  else
    t = mask.view;
  auto const places = static_cast<std::size_t>(t.nnz);
  scratch<std::uint8_t> const has(places, p.stream);
  scratch<V> const val(places, p.stream);
  fill_semiring(p, a, b, operand_of(t), val.get(), has.get(), true);
  if (p.complement)
    find_outside<I, unsigned_t<O>>(operand_of(t), operand_of(mask.view), has.get(), p.stream);
  return leave(t, static_cast<V const*>(val.get()), static_cast<std::uint8_t const*>(has.get()),
               result(to));
}

/// alpha A B + beta D.
template <class V, class I, class O>
device_csr<V, I, O> multiply_and_add(device_csr<V, I, O> const& a, device_csr<V, I, O> const& b,
                                     result_memory const& to, result_memory const& keep,
                                     product_state& p) {
  auto const both = stack(rounded<V>(p.alpha), a, b, rounded<V>(p.beta),
                          *static_cast<device_csr<V, I, O> const*>(p.added), p.stream);
  return multiply(both.left.view, both.right.view, to, keep, p, both.are_canonical);
}

/// What lies on and above the diagonal.
template <class V, class I, class O>
device_csr<V, I, O> multiply_upper(device_csr<V, I, O> const& a, device_csr<V, I, O> const& b,
                                   result_memory const& to, result_memory const& keep,
                                   product_state& p) {
  device_csr<V, I, O> const all = multiply(a, b, keep, keep, p);
  auto const n = static_cast<std::size_t>(all.nnz);
  scratch<I> const row(n, p.stream);
  expand_rows(all.rows, all.nnz, all.row_ptr, row.get(), p.stream);
  scratch<std::uint8_t> const is_upper(n, p.stream);
  each(n, p.stream,
       [row = row.get(), col = all.col, to = is_upper.get()] __device__(std::size_t k) {
         to[k] = col[k] >= row[k];
       });
  return leave(all, all.val, static_cast<std::uint8_t const*>(is_upper.get()), result(to));
}

} // namespace

#define TULLE_CUDA_SPGEMM_CELL(tag, V, I, O)                                                       \
  static outcome multiply_##tag(void const* a, void const* b, result_memory const& to,             \
                                result_memory const& keep, product_state& p, void* c) {            \
    return guarded([&] {                                                                           \
      device_guard const on(to.device);                                                            \
      scratch_limit const limit(to.workspace_limit);                                               \
      auto const* const of_a = static_cast<device_csr<V, I, O> const*>(a);                         \
      auto const* const of_b = static_cast<device_csr<V, I, O> const*>(b);                         \
      new (c) device_csr<V, I, O>(p.added        ? multiply_and_add(*of_a, *of_b, to, keep, p)     \
                                  : p.upper_only ? multiply_upper(*of_a, *of_b, to, keep, p)       \
                                                 : multiply_semiring(*of_a, *of_b, to, keep, p));  \
    });                                                                                            \
  }                                                                                                \
  static outcome fill_##tag(void const* a, void const* b, product_state const& p, void const* c) { \
    return guarded([&] {                                                                           \
      device_guard const on(p.device);                                                             \
      scratch_limit const limit(p.workspace_limit - std::min(p.workspace_limit, p.bytes));         \
      auto const& to = *static_cast<device_csr<V, I, O> const*>(c);                                \
      operands<V, I, O> const from(*static_cast<device_csr<V, I, O> const*>(a),                    \
                                   *static_cast<device_csr<V, I, O> const*>(b), !p.a_canonical,    \
                                   !p.b_canonical, p.stream);                                      \
      if (p.map.block_count != 0)                                                                  \
        return fill_mapped<V, I, unsigned_t<O>>(p, from.a.val, from.b.val,                         \
                                                const_cast<V*>(to.val));                           \
      auto* const c_ptr = const_cast<unsigned_t<O>*>(operand_of(to).ptr);                          \
      fill(p, operand_of(from.a), operand_of(from.b), c_ptr, const_cast<I*>(to.col),               \
           const_cast<V*>(to.val), false);                                                         \
    });                                                                                            \
  }                                                                                                \
  extern constexpr typed_product spgemm_csr_##tag = {multiply_##tag, fill_##tag};                  \
  extern product_kernel const product_##tag;                                                       \
  product_kernel const product_##tag = product_cell<&spgemm_csr_##tag>();
TULLE_KERNEL_TYPES(TULLE_CUDA_SPGEMM_CELL)

} // namespace tulle::kernels::cuda
