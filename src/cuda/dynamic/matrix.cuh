// SPDX-License-Identifier: Apache-2.0

// A dynamic matrix as the module keeps it.
#pragma once
#include "tulle/core/narrow.hpp"

#include "backend/backend.hpp"
#include "cuda/convert/canonical.cuh"
#include "cuda/dynamic/range.cuh"
#include "cuda/dynamic/rows.cuh"
#include "cuda/spgemm/kernel.hpp"
#include "cuda/workspace.cuh"

#include <limits>
#include <memory>
#include <utility>

namespace tulle::kernels::cuda {

/// Device memory of the caller, or a range that grows.
class owned {
public:
  owned() = default;
  owned(growing_memory const& from, std::size_t bytes) : from_(from), bytes_(bytes) {
    if (bytes == 0)
      return;
    p_ = from.take(from.owner, bytes);
    if (!p_)
      throw failure{worded(outcome::no_memory, "dynamic_csr", "no device memory")};
  }
  explicit owned(std::unique_ptr<growing_range> range)
      : p_(range->data()), bytes_(range->bytes()), range_(std::move(range)) {}
  owned(owned&& other) noexcept { swap(other); }
  owned& operator=(owned other) noexcept {
    swap(other);
    return *this;
  }
  ~owned() {
    if (p_ && !range_)
      from_.give(from_.owner, p_);
  }
  /// Only of a range.
  void grow(std::size_t bytes) {
    range_->grow(bytes);
    bytes_ = range_->bytes();
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }
  std::size_t bytes() const { return bytes_; }

private:
  void swap(owned& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(p_, other.p_);
    std::swap(bytes_, other.bytes_);
    std::swap(range_, other.range_);
  }
  growing_memory from_{};
  void* p_ = nullptr;
  std::size_t bytes_ = 0;
  std::unique_ptr<growing_range> range_;
};

/// What the kernels of a batch find.
struct findings {
  unsigned long long bad;    // n minus the first entry that is out of range; 0: none
  unsigned long long places; // wanted by new segments
  unsigned long long fresh, removed;
  unsigned long long longest; // entries of a row, if more than any row has had
  int levels;                 // of segments, if more than rows have had
  int full;                   // a row has no segment left
  int holes;                  // a row has fewer entries than its first segment has places
  unsigned many;              // rows for a list
  int crowded;                // a row has more than long_overflow overflow entries
  unsigned listed;            // entries of rows that have several: counted.cuh
  unsigned crowds;            // rows that have many
};

/// The same for the host, in pinned memory; `number` is that of the try, and is written last.
struct notice {
  findings found;
  unsigned number;
};

/// A notice in pinned memory. It must not be given back before kernels have ended writing to it. It
/// is kept for reuse, since pinning memory takes the driver a millisecond, and freeing it waits
/// until the device is idle.
struct notice_giver {
  void operator()(notice* n) const noexcept;
};
using pinned_notice = std::unique_ptr<notice, notice_giver>;
pinned_notice take_notice(); // all zero

/// The parameters by which segments are assigned.
struct growth {
  double factor;
  std::size_t plus;
  int most;         // segments after the first and its slack
  std::size_t used; // places
  std::size_t capacity;
  bool tight; // no slack: there is no room for it
};

/// The arguments of the kernels of a batch.
template <class V, class I>
struct batch {
  std::size_t n;
  I const *row, *col; // in the order of the batch
  V const* val;
  fragments<V, I> a;
  growth g;
  findings* found;
  findings* next; // of the next batch: the first kernel of this one clears them
};

/// Entries of a crowded row per block. Other numbers have not been measured.
constexpr int shared_piece = 2048;

/// Room for lists, by places: a listed row has at least one overflow entry, a crowded one more than
/// long_overflow.
template <class V, class I>
row_lists<V, I> lay_lists(carver& c, std::size_t rows, std::size_t places) {
  std::size_t const most = places / long_overflow + 1;
  row_lists<V, I> l;
  l.ticket = c.take<unsigned>(most);
  l.listed = c.take<I>(places < rows ? places : rows);
  l.crowded = c.take<I>(most);
  l.part = c.take<V>(places / shared_piece + most);
  return l;
}

/// Room for first segments of so many entries; counts come first.
template <class V, class I>
paired_entries<V, I> lay_pairs(carver& c, I share, bool by_rows, I const* first_row,
                               std::size_t entries) {
  paired_entries<V, I> p{share, 0, by_rows, first_row, nullptr, nullptr};
  if (share == 0)
    return p;
  std::size_t const shares = ceil_div(entries, static_cast<std::size_t>(share));
  p.shares = static_cast<I>(shares);
  p.count = c.take<pair_count>(shares);
  p.entry = c.take<paired_entry<V, I>>(shares * p.most());
  return p;
}

template <class V, class I>
struct matrix {
  dynamic_request o;
  I rows, cols;
  std::size_t entries = 0;
  std::size_t capacity = 0; // places of the pool
  std::size_t used = 0;     // places in use
  std::size_t in_first = 0; // entries of first segments, when they were made
  bool compact = true;      // all entries are in first segments, which are full
  bool holes = false;       // some first segments are not full
  bool unlisted = false;    // rows are not marked: the next product defragments
  std::size_t many = 0;     // the number of rows that may be listed
  bool crowded = false;     // rows may be crowded
  bool stale = false;       // copies are of entries that have changed
  double debt = 0;          // the extra cost of products for overflow entries: matrix.cu
  int since_batch = 0;      // products
  owned length, first;
  spare_places<I> spare{};
  owned marks; // counts of lists, then of rows: all zero while compact
  owned lists; // of rows, for as many places
  std::size_t listed_for = 0;
  owned pairs; // copies of entries, by shares of so many; none if 0
  I share = 0;
  bool by_rows = false;
  I const* first_row = nullptr; // of shares, in the plan's workspace
  owned further;                // tables of segments
  int levels = 1;               // levels that rows have
  int tables = 1;               // tables that exist; those of levels that no row has are all zero
  owned col, val;
  owned found; // of this batch and the next, in turns
  int turn = 0;
  pinned_notice heard = take_notice();
  unsigned tries = 0;
  owned tallies;               // of rows: counted.cuh
  bool is_tallied = false;     // not all zero
  std::size_t cooperative = 0; // blocks of the kernel that counts, 0: not asked yet
  owned work;                  // of batches
  std::size_t counted = 0;     // the number of entries that `work` suffices for
  std::size_t room_bytes = 0;
  owned row_ptr, scan; // of copies
  owned plan;          // of products with the first segments
  bool planned = false;
  std::size_t longest = 0; // entries of the longest row; 0: unknown
  plan_view how;
  spmv_kernel const* csr = nullptr;
  owned dense_plan; // the same of products with dense matrices, for one B
  bool dense_planned = false;
  plan_view dense_how;
  detail::dense_ref dense_b;
  cudaEvent_t order = nullptr;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(o.queue); }
  std::size_t pitch() const { return (static_cast<std::size_t>(rows) + 31) / 32 * 32; }
  fragments<V, I> view() const {
    carver of_rows(marks.as<char>()), of_lists(lists.as<char>()), of_pairs(pairs.as<char>());
    auto l = lay_lists<V, I>(of_lists, static_cast<std::size_t>(rows), listed_for);
    l.counts = of_rows.take<list_counts>(1);
    return {rows,
            static_cast<I>(entries),
            row_ptr.as<I>(),
            col.as<I>(),
            val.as<V>(),
            length.as<I>(),
            first.as<I>(),
            spare,
            of_rows.take<unsigned char>(static_cast<std::size_t>(rows)),
            l,
            lay_pairs<V>(of_pairs, unlisted ? I(0) : share, by_rows, first_row, in_first),
            further.as<segment<I>>(),
            pitch(),
            levels,
            tables,
            longest != 0 ? static_cast<I>(longest) : std::numeric_limits<I>::max(),
            !unlisted};
  }
  /// The first segments.
  device_csr<V, I, I> as_csr() const {
    return {unchecked,     rows,        cols,       static_cast<I>(in_first),
            first.as<I>(), col.as<I>(), val.as<V>()};
  }
  owned take(std::size_t n, std::size_t each) const {
    return owned(o.memory, checked_mul(n, each, "dynamic_csr"));
  }
  std::size_t most_places() const {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<I>::max());
    return o.limit < most ? o.limit : most;
  }
  /// An array of a pool of so many places.
  owned take_pool(std::size_t places, std::size_t each) const {
    if (!o.maps)
      return take(places, each);
    std::size_t const most = SIZE_MAX / each < most_places() ? SIZE_MAX : most_places() * each;
    auto range = std::make_unique<growing_range>(o.device, o.queue, most);
    range->grow(checked_mul(places, each, "dynamic_csr"));
    return owned(std::move(range));
  }

  matrix(dynamic_request const& options, spmv_kernel const* csr_kernel)
      : o(options), rows(static_cast<I>(options.rows)), cols(static_cast<I>(options.cols)),
        csr(csr_kernel) {
    TULLE_CUDA(cudaEventCreateWithFlags, &order, cudaEventDisableTiming);
  }
  ~matrix() {
    if (order)
      cudaEventDestroy(order);
  }
  matrix(matrix const&) = delete;
  matrix& operator=(matrix const&) = delete;
};

// The matrix is defragmented when the grown rows have cost products as much time as defragmenting
// takes, counted in parts of the matrix. Whatever follows, this takes no more than twice the time
// of the better choice. H200, double, rmat 20, poisson2d5 2048 and circuit 2000000: a product of
// listed rows with a tenth in overflow took .05, .06, .05 ms more; defragmenting takes .17, .20,
// .13.
constexpr double most_debt = .2;
// Where entries have partners a product takes .005, .003, .005 ms more for any number of overflow
// entries, which the next batch brings back: so that cost is counted from the last batch on. With
// .07 of the entries in overflow it is .001, .002, .002 more. Rounds of a batch of .2 % and five
// products, mean of 50 rounds in times of csr: 1.08, 1.09, 1.09; with a 24th of the overflow 1.09,
// 1.09, 1.09, a 40th 1.07, 1.10, 1.10; with a tenth, and .002 per product that is never reset,
// 1.09, 1.105, 1.10.
constexpr double paid_for_pairs = .004;
constexpr double overflow_price = 1. / 32;
// With a larger part in overflow, copies have no room, and the next product defragments.
constexpr double most_paired = .125;

/// Slack of first segments of so many entries in a pool of so many places: what was asked for, or
/// none if that would be more than twice the entries or more than the places.
template <class V, class I>
spare_places<I> spare_for(matrix<V, I> const& m, std::size_t entries, std::size_t places) {
  auto const rows = static_cast<std::size_t>(m.rows);
  double const factor = m.o.mean ? 0 : m.o.factor, all = static_cast<double>(entries);
  std::size_t const plus = m.o.mean && rows != 0 ? ceil_div(entries, rows) : m.o.plus;
  double const wanted = static_cast<double>(plus) * static_cast<double>(rows) + factor * all;
  auto const begin = static_cast<I>(entries);
  if (wanted > 2 * all || entries >= places || wanted > static_cast<double>(places - entries))
    return {begin, 0, 0};
  return {begin, static_cast<I>(plus), factor};
}

/// The next work goes on another stream: after this work, and this work after it.
template <class V, class I, class F>
void in_turn(matrix<V, I>& m, void* stream, F const& f) {
  auto const s = static_cast<cudaStream_t>(stream);
  bool const elsewhere = s != m.stream();
  if (elsewhere) {
    TULLE_CUDA(cudaEventRecord, m.order, m.stream());
    TULLE_CUDA(cudaStreamWaitEvent, s, m.order, 0);
  }
  f();
  if (elsewhere) {
    TULLE_CUDA(cudaEventRecord, m.order, s);
    TULLE_CUDA(cudaStreamWaitEvent, m.stream(), m.order, 0);
  }
}

// spmm.cu
template <class V, class I>
void spmm(matrix<V, I>& m, void* stream, V alpha, detail::dense_ref const& b, V beta,
          detail::dense_ref const& c);

// matrix.cu
/// The arrays of a pool.
struct pool_arrays {
  owned col, val;
};
/// Makes a pool of at least so many places and copies the entries to their places. Returns the pool
/// that it replaces, if any.
template <class V, class I>
pool_arrays grow(matrix<V, I>& m, std::size_t places);
/// Sets first and length from csr's pointers.
template <class V, class I>
void take_pointers(matrix<V, I>& m, I const* row_ptr);
/// A += B.
template <class V, class I>
void merge(matrix<V, I>& m, device_csr<V, I, I> const& b);
/// Plans csr's product of the first segments, which determines the shares.
template <class V, class I>
void make_plan(matrix<V, I>& m);

// defragment.cu
/// Moves all rows into their first segments: in order, sorted, or sorted and with duplicates added
/// up.
template <class V, class I>
void defragment(matrix<V, I>& m, bool sort, bool combine);

/// Records that all entries, so many, are in first segments without gaps, from the first place on.
template <class V, class I>
void is_compact_now(matrix<V, I>& m, std::size_t entries);
/// Turns the slack of all rows into room for those that need it.
template <class V, class I>
void give_up_slack(matrix<V, I>& m);

// change.cu
/// Makes lists for all places of the pool, with the marked rows; none if n more entries make the
/// next product defragment. (With lists, batches of 10^5 from an empty matrix on took up to a sixth
/// longer.)
template <class V, class I>
void make_lists(matrix<V, I>& m, std::size_t n);
/// Makes tables for as many levels of segments; new ones have no segments.
template <class V, class I>
void add_tables(matrix<V, I>& m, int levels);
/// The current parameters of segments.
template <class V, class I>
growth growth_of(matrix<V, I> const& m);
template <class V, class I>
void change(matrix<V, I>& m, dynamic_batch const& b);
/// Entries in the order of their rows.
template <class V, class I>
void insert_sorted(matrix<V, I>& m, std::size_t n, I const* row, I const* col, V const* val);

// product.cu
/// A += B C.
template <class V, class I>
void add_product(matrix<V, I>& m, typed_product const& spgemm, device_csr<V, I, I> const& b,
                 device_csr<V, I, I> const& c, spgemm_method method);

} // namespace tulle::kernels::cuda
