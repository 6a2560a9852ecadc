// SPDX-License-Identifier: Apache-2.0

// What a dynamic matrix consists of, how it is built, and who may touch it when.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"

#include <atomic>
#include <bit>
#include <future>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace tulle::dynamic {

/// Part of the pool. Never moves; snapshots share it.
template <class V, class I>
struct chunk {
  array<I> col;
  array<V> val;
};

/// One bin for each length up to 16, then one for each doubling.
constexpr int bin_of(std::size_t length) {
  return length <= 16 ? static_cast<int>(length) : 12 + static_cast<int>(std::bit_width(length));
}
inline constexpr int length_bins = bin_of(SIZE_MAX) + 1;
// Of the rows. ms of a product after 50 rounds with 8 and 1: poisson2d5 1000 less a tenth of its
// entries 6.2, 6.8; rmat 18 5.8, 5.2.
inline constexpr std::size_t reorder_part = 8;

/// Rows by bins of their lengths: King et al., sec. 4.3. Unlike there, a row that changes stays
/// where it is until enough have changed, and then all are counted anew: rows of a bin go by
/// number, so that a product reads x and y in their order. (Rows that trade places with the first
/// or last of a bin at once are in no order soon.)
template <class I>
struct row_order {
  array<I> row;            // empty: by number
  array<std::uint8_t> bin; // of a row
  std::size_t changed = 0; // rows that are among those of another bin

  bool empty() const { return row.empty(); }
  std::size_t bytes() const { return row.bytes() + bin.bytes(); }
  void sort() {
    I next[length_bins + 1] = {};
    for (std::uint8_t const b : bin)
      ++next[b + 1];
    for (int b = 1; b < length_bins; ++b)
      next[b] = static_cast<I>(next[b] + next[b - 1]);
    for (std::size_t i = 0; i < bin.size(); ++i)
      row[static_cast<std::size_t>(next[bin[i]]++)] = static_cast<I>(i);
    changed = 0;
  }
};

/// Pending entries, sorted by row; those of a row in the order they were inserted. They follow all
/// other entries of the row. Never changes: snapshots share it.
template <class V, class I>
struct pending_entries {
  array<I> ptr; // of groups
  array<I> row, col;
  array<V> val;

  std::size_t bytes() const { return ptr.bytes() + row.bytes() + col.bytes() + val.bytes(); }
};

/// Of a matrix.
template <class I>
struct extent {
  I rows;
  I cols;
  friend bool operator==(extent const&, extent const&) = default;
};

template <class V, class I>
struct dynamic_rows {
  I rows = 0;
  I cols = 0;
  std::size_t entries = 0;
  std::size_t pitch = 0; // of the tables: rows, in whole cache lines
  int shift = 0;         // a page has 1 << shift places
  array<I> length;       // empty, as is what follows: it is compact, and row_ptr says it all
  array<I> in_group;
  array<I> segment[most_segments]; // begin, then end at pitch; empty: no row has that many
  std::vector<std::shared_ptr<chunk<V, I>>> chunks;
  array<dynamic_page<V, I>> pages; // of all chunks, and room for more
  std::size_t places = 0;          // of all chunks: whole pages
  std::size_t used = 0;            // places before the first that no row has had
  std::size_t left = 0;            // places that rows have left, or that a chunk's end has lost
  array<I> row_ptr;                // of a compact one
  std::shared_ptr<pending_entries<V, I> const> pending; // of a compact one; null: there are none
  row_order<I> order; // where it is asked for, and the matrix is not compact
  std::shared_ptr<std::atomic<int>> snapshots; // that share the chunks

  /// No entry must be copied for a csr of it.
  bool is_csr() const { return !row_ptr.empty() && !pending; }
  std::size_t pending_count() const { return pending ? pending->row.size() : 0; }
  std::size_t groups() const {
    return (static_cast<std::size_t>(rows) + group_rows - 1) / group_rows;
  }

  dynamic_view<V, I> view() const {
    dynamic_view<V, I> v;
    v.rows = rows;
    v.cols = cols;
    v.entries = static_cast<I>(entries);
    v.scattered = chunks.size() > 1;
    v.shift = shift;
    v.length = length.data();
    v.order = order.row.data();
    v.in_group = in_group.data();
    v.row_ptr = row_ptr.data();
    for (int s = 0; s < most_segments && !segment[s].empty(); ++s) {
      v.begin[s] = segment[s].data();
      v.end[s] = segment[s].data() + pitch;
    }
    v.pages = pages.data();
    if (pending) {
      v.pending_ptr = pending->ptr.data();
      v.pending_row = pending->row.data();
      v.pending_col = pending->col.data();
      v.pending_val = pending->val.data();
    }
    return v;
  }
  dynamic_page<V, I> at(std::size_t place) const {
    dynamic_page<V, I> const page = pages[place >> shift];
    std::size_t const offset = place & ((std::size_t(1) << shift) - 1);
    return {page.col + offset, page.val + offset};
  }
  /// Row i has got longer or shorter.
  void reorder(std::size_t i) {
    int const bin = bin_of(static_cast<std::size_t>(length[i] < 0 ? ~length[i] : length[i]));
    order.changed += order.bin[i] != bin;
    order.bin[i] = static_cast<std::uint8_t>(bin);
    if (order.changed > static_cast<std::size_t>(rows) / reorder_part)
      order.sort();
  }
  std::size_t bytes() const;
};

template <class I>
constexpr std::size_t most_places = static_cast<std::size_t>(std::numeric_limits<I>::max());

/// errc::overflow or out_of_memory where a pool cannot have so many.
template <class I>
void check_places(std::size_t places, std::size_t limit) {
  if (places > most_places<I>)
    fail(errc::overflow, "dynamic_csr: %zu places do not fit a %d-bit index", places,
         static_cast<int>(8 * sizeof(I)));
  if (places > limit)
    fail(errc::out_of_memory, "dynamic_csr: %zu places wanted, the limit is %zu", places, limit);
}

constexpr std::size_t most_slack = std::size_t(1) << 31; // of a row: sums of all rows' fit 64 bits

/// The options of one change: under a workspace_limit with memory that counts what the change
/// allocates and the matrix keeps of it.
struct limited_options {
  detail::limited space;
  dynamic_options o;

  limited_options(char const* op, dynamic_options const& from) : space(op, from.where), o(from) {
    o.where = space.counted();
  }
};

/// Slack of a row of that many entries in a matrix of so many.
inline std::size_t slack_of(dynamic_slack const& s, std::size_t length, std::size_t entries,
                            std::size_t rows) {
  if (s.function)
    return std::min(s.function(length), most_slack);
  if (s.mean)
    return rows == 0 ? 0 : (entries + rows - 1) / rows;
  return static_cast<std::size_t>(s.factor * static_cast<double>(length)) + s.plus;
}

/// A chunk for `wanted` places or more, with its pages in a table: everything that may fail of
/// growing a pool. take() then cannot.
template <class V, class I>
struct growth {
  std::vector<std::shared_ptr<chunk<V, I>>> chunks; // those that are there, and the new one
  array<dynamic_page<V, I>> pages;                  // where the table must grow too
  std::size_t places = 0;                           // of the new chunk

  growth(dynamic_rows<V, I> const& a, std::size_t wanted, std::size_t limit,
         std::pmr::memory_resource* memory);
  void take(dynamic_rows<V, I>& a) noexcept;
};

/// What is built of: rows by number.
template <class V, class I>
struct no_source {
  std::size_t length(std::size_t) const { return 0; }
  void copy(std::size_t, I*, V*) const {}
};
template <class V, class I>
struct csr_source {
  csr_view<V, I, I> a;
  std::size_t length(std::size_t i) const {
    return static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  }
  void copy(std::size_t i, I* col, V* val) const {
    std::copy_n(a.col + a.row_ptr[i], length(i), col);
    std::copy_n(a.val + a.row_ptr[i], length(i), val);
  }
};
template <class V, class I>
struct dynamic_source {
  dynamic_view<V, I> a;
  std::size_t length(std::size_t i) const {
    return static_cast<std::size_t>(a.size(static_cast<I>(i)));
  }
  void copy(std::size_t i, I* col, V* val) const {
    a.each_segment(static_cast<I>(i), [&](I const* c, V const* v, I n) {
      std::copy_n(c, n, col);
      std::copy_n(v, n, val);
      col += n;
      val += n;
    });
  }
};

/// The tables that a compact matrix does without, by its row_ptr.
template <class V, class I>
struct row_tables {
  array<I> length, in_group, segment;

  row_tables(dynamic_rows<V, I> const& a, cpu const& where);
  void swap(dynamic_rows<V, I>& a) noexcept {
    a.length.swap(length);
    a.in_group.swap(in_group);
    a.segment[0].swap(segment);
  }
};

/// Tables for rows behind those that are there: everything that may fail of appending them.
template <class V, class I>
struct more_rows {
  I rows;
  std::size_t pitch;
  array<I> length, in_group, segment[most_segments], row_ptr;
  std::shared_ptr<pending_entries<V, I> const> pending;

  more_rows(dynamic_rows<V, I> const& a, I rows, std::pmr::memory_resource* memory);
  void swap(dynamic_rows<V, I>& a) noexcept {
    std::swap(a.rows, rows);
    std::swap(a.pitch, pitch);
    a.length.swap(length);
    a.in_group.swap(in_group);
    for (int s = 0; s < most_segments; ++s)
      a.segment[s].swap(segment[s]);
    a.row_ptr.swap(row_ptr);
    a.pending.swap(pending);
  }
};
/// The entries of a that a matrix of that size has, arranged anew.
template <class V, class I>
dynamic_rows<V, I> resized(dynamic_rows<V, I> const& a, I rows, I cols, dynamic_options const& o,
                           bool compact);

/// Rows in one segment each, one after the other, by prefix sum and copy; with room behind each and
/// in tables unless compact.
template <class V, class I, class Source>
dynamic_rows<V, I> arranged(I rows, I cols, std::size_t entries, Source const& source,
                            dynamic_options const& o, bool compact, bool in_tables);
template <class V, class I>
dynamic_rows<V, I> defragmented(dynamic_view<V, I> const& a, dynamic_options const& o,
                                dynamic_defragment d);
/// Takes the arrays of a csr that has entries.
template <class V, class I>
dynamic_rows<V, I> adopted(csr<V, I, I>&& a, dynamic_options const& o);
/// The arrays of a compact one.
template <class V, class I>
csr<V, I, I> released(dynamic_rows<V, I>&& a);

// change.cpp
/// A += B.
template <class V, class I>
void merge(typename dynamic_csr<V, I>::state& s, csr_view<V, I, I> b, dynamic_options const& o);

// pending.cpp
/// A compact matrix with its pending entries merged into the rows, compact again.
template <class V, class I>
dynamic_rows<V, I> settled(dynamic_rows<V, I> const& a, pending_entries<V, I> const& pending,
                           dynamic_options const& o);
template <class V, class I>
struct sorted_batch;
/// Its pending entries, followed by those of a batch.
template <class V, class I>
std::shared_ptr<pending_entries<V, I> const>
joined(dynamic_rows<V, I> const& a, sorted_batch<V, I> const& b, dynamic_options const& o);
// A batch of no more than that part of the entries is small.
inline constexpr std::size_t small_part = 256;
/// Whether batches can stay pending.
inline bool suits_pending(dynamic_options const& o) {
  return o.pending_from != 0 && !o.by_length && o.width == 0 && !o.slack.mean &&
         !o.slack.function && o.duplicates != on_duplicate::combine;
}

/// Whether a matrix of so many is to begin compact. Where no small batch could stay pending, rows
/// with room take its entries one by one.
inline bool starts_compact(dynamic_options const& o, std::size_t entries) {
  return suits_pending(o) && entries / small_part >= o.pending_from;
}

/// f(csr, rest of the policy) for a product of what is one: a compact matrix, or one of no entries,
/// as which it counts where `none` are wanted. Returns whether it is. Pending entries are not in
/// it.
template <class V, class I, class F>
bool with_csr(dynamic_view<V, I> const& a, bool none, cpu const& where, F f) {
  if (!none && !a.row_ptr)
    return false;
  detail::limited const space("dynamic_csr", where);
  array<I> const zeros(none ? static_cast<std::size_t>(a.rows) + 1 : 0, I(0),
                       space.counted().memory);
  f(csr_view<V, I, I>(unchecked, a.rows, a.cols, none ? I(0) : a.row_ptr[a.rows],
                      none ? zeros.data() : a.row_ptr, none ? nullptr : a.pages[0].col,
                      none ? nullptr : a.pages[0].val),
    space.rest(where));
  return true;
}

} // namespace tulle::dynamic

namespace tulle {

/// Who changes the matrix holds `writers` throughout, so that it may look without a lock, and
/// `rows_lock` alone while others would see it half done. Who reads shares `rows_lock`; who goes
/// through `gate` first, or a stream of readers would keep writers out for ever.
template <class V, class I>
struct dynamic_csr<V, I>::state {
  dynamic_options const o;
  std::mutex writers;
  std::mutex gate;
  std::shared_mutex rows_lock;
  dynamic::dynamic_rows<V, I> a;
  std::mutex background_lock;
  std::future<void> background; // last: its end waits for a thread that uses the rest

  explicit state(dynamic_options const& options, dynamic::dynamic_rows<V, I>&& b = {})
      : o(options), a(std::move(b)) {}

  /// As it is now; with writers or a lock held it is that of `a` and stays.
  dynamic::extent<I> size() {
    auto const shared = reading();
    return {a.rows, a.cols};
  }

  std::shared_lock<std::shared_mutex> reading() {
    std::lock_guard const in_turn(gate);
    return std::shared_lock(rows_lock);
  }
  std::unique_lock<std::shared_mutex> changing() {
    std::lock_guard const in_turn(gate);
    return std::unique_lock(rows_lock);
  }
  dynamic::dynamic_rows<V, I> rearranged(dynamic::dynamic_rows<V, I> const& from,
                                         dynamic_defragment d, dynamic_options const& o) const {
    d.combine = d.combine || o.duplicates == on_duplicate::at_defragmenting;
    bool const settles = from.pending && d.compact && !d.sort && !d.combine;
    return settles ? dynamic::settled(from, *from.pending, o)
                   : dynamic::defragmented(from.view(), o, d);
  }
  /// With writers held: the same matrix, arranged anew. Readers go on until it is there.
  void rearrange(dynamic_defragment d) {
    dynamic::limited_options const with("defragment", o);
    auto b = rearranged(a, d, with.o);
    auto const alone = changing();
    std::swap(a, b);
  }
  /// With writers held: what a change is made on, to be the matrix then, or nothing where that is
  /// the matrix itself. Entries that change in place must not be a snapshot's too, and rows must
  /// not have left too many places. There is room between rows where there may be and was.
  std::optional<dynamic::dynamic_rows<V, I>> tidied(bool in_place, dynamic_options const& o) const {
    std::optional<dynamic::dynamic_rows<V, I>> next;
    bool const tight = is_tight();
    if (a.pending) // unless few come
      next = rearranged(a, {.compact = in_place || tight}, o);
    auto const& now = next ? *next : a;
    bool const shared = in_place && now.snapshots->load(std::memory_order_acquire) > 0;
    bool const wasteful = o.waste > 0 && static_cast<double>(now.left) >
                                             o.waste * static_cast<double>(now.entries) + 4096;
    if (shared || wasteful)
      next = rearranged(now, {.compact = tight || !now.row_ptr.empty()}, o);
    return next;
  }
  /// Whether room between rows might be more than there may be.
  bool is_tight() const { return o.limit != SIZE_MAX || a.entries > dynamic::most_places<I> / 2; }
  void check_entry(char const* op, I i, I j) const {
    if (i < 0 || i >= a.rows || j < 0 || j >= a.cols)
      fail(errc::bad_structure, "%s: entry (%lld, %lld) is outside a %lld x %lld matrix", op,
           static_cast<long long>(i), static_cast<long long>(j), static_cast<long long>(a.rows),
           static_cast<long long>(a.cols));
  }
};

namespace dynamic {

/// With writers held: tables for rows that are to change, of the matrix or of what it is to be.
/// They go again unless they are kept.
template <class V, class I>
class tables_for_change {
public:
  tables_for_change(typename dynamic_csr<V, I>::state& s, std::optional<dynamic_rows<V, I>>& next,
                    dynamic_options const& o)
      : s_(s), a_(next ? *next : s.a), is_seen_(!next) {
    if (!a_.length.empty())
      return;
    tables_.emplace(a_, o.where);
    exchange();
  }
  tables_for_change(tables_for_change const&) = delete;
  ~tables_for_change() {
    if (tables_)
      exchange();
  }
  void keep() noexcept { tables_.reset(); }

private:
  void exchange() {
    std::unique_lock<std::shared_mutex> alone;
    if (is_seen_)
      alone = s_.changing();
    tables_->swap(a_);
  }
  typename dynamic_csr<V, I>::state& s_;
  dynamic_rows<V, I>& a_;
  bool is_seen_; // by readers
  std::optional<row_tables<V, I>> tables_;
};

} // namespace dynamic

} // namespace tulle
