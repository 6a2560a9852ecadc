// SPDX-License-Identifier: Apache-2.0

// Batches. One is sorted by row and column, stable, so that each row's part lies together and
// entries of one place stay in their order; then
//   planned: how many entries each row gets and where they go, while readers go on;
//   given room: everything that can fail;
//   made: rows are written, by threads that share no row, while nobody reads.
//
// Bytes that must move, double with 32-bit indices: of an entry 16 read, 12 written and 12 read
// because they are written, 4 of the table where a row has few; the sort reads 32 and writes 32.
#include "dynamic/batch.hpp"
#include "dynamic/rows.hpp"
#include "format/detail/canonical.hpp"
#include "primitive/search.hpp"

#include <optional>

namespace tulle {
namespace dynamic {
namespace {

// Pending entries are merged into the rows when they exceed this part of the matrix: a small part
// if batches are small, since products are likely between them. Each batch goes through the pending
// entries, so they are also at most most_pending_times the batch.
constexpr std::size_t pending_part_if_small = 50;
constexpr std::size_t pending_part = 16;
constexpr std::size_t most_pending_times = 64;

enum class change { insert, assign, erase, scale };
constexpr char const* names[] = {"insert", "assign", "erase", "scale_rows"};

// Entries ahead whose row is asked for; other numbers have not been measured.
constexpr std::size_t look_ahead = 16;

/// errc::bad_structure naming the first entry that is outside.
template <class I>
void check_indices(char const* op, I const* row, I const* col, std::size_t n, I rows, I cols,
                   int threads) {
  int const parts = detail::parts_for(n, threads, 1 << 16);
  detail::parallel(parts, [&](int part) {
    std::size_t const first = detail::split(n, part, parts);
    std::size_t const end = detail::split(n, part + 1, parts);
    I outside = 0; // no branch an entry: it goes by vectors
    for (std::size_t k = first; k < end; ++k)
      outside = static_cast<I>(outside | (row[k] < 0) | (row[k] >= rows) | (col[k] < 0) |
                               (col[k] >= cols));
    for (std::size_t k = first; outside != 0 && k < end; ++k)
      if (row[k] < 0 || row[k] >= rows || col[k] < 0 || col[k] >= cols)
        fail(errc::bad_structure, "%s: entry %zu is (%lld, %lld), outside a %lld x %lld matrix", op,
             k, static_cast<long long>(row[k]), static_cast<long long>(col[k]),
             static_cast<long long>(rows), static_cast<long long>(cols));
  });
}

inline void check_lengths(char const* op, std::size_t rows, std::size_t cols, std::size_t vals) {
  if (rows != vals || cols != vals)
    fail(errc::shape_mismatch, "%s: %zu row indices, %zu column indices, %zu values", op, rows,
         cols, vals);
}

/// What one thread found or did.
struct part_sums {
  std::size_t places = 0;  // wanted; then: the first
  std::size_t fresh = 0;   // entries that rows get
  std::size_t removed = 0; // and lose
  std::size_t left = 0;    // places
  int levels = 0;          // segments of the row that has most
};

template <class V, class I>
class batch_change {
public:
  batch_change(change kind, dynamic_rows<V, I>& a, dynamic_options const& o,
               sorted_batch<V, I> const& b)
      : kind_(kind), a_(a), o_(o), b_(b), parts_(detail::parts_for(b.n, o.where.threads, 1 << 13)),
        searches_(kind == change::assign || kind == change::erase ||
                  (kind == change::insert && o.duplicates == on_duplicate::combine)),
        grown_(b.n, o.where.memory), found_(searches_ ? b.n : 0, o.where.memory),
        sums_(static_cast<std::size_t>(parts_), part_sums{}, o.where.memory) {}

  void plan() {
    view_ = a_.view();
    detail::parallel(parts_, [&](int part) {
      part_sums s;
      each_run(part, [&](std::size_t k, std::size_t end, std::size_t) { plan_run(k, end, s); });
      sums_[static_cast<std::size_t>(part)] = s;
    });
    std::size_t sum = 0;
    for (part_sums& s : sums_) {
      std::size_t const places = s.places;
      s.places = sum;
      sum += places;
      levels_ = std::max(levels_, s.levels);
    }
    places_ = sum;
  }

  /// Places that make() writes to. Throws, or leaves nothing that can.
  void find_room() {
    if (places_ > a_.places - a_.used)
      growth_.emplace(a_, places_, o_.limit, o_.where.memory);
    for (int s = 1; s < levels_; ++s)
      if (a_.segment[s].empty())
        tables_[s] = array<I>(2 * a_.pitch, I(0), o_.where.memory);
  }

  void make() noexcept {
    if (growth_)
      growth_->take(a_);
    for (int s = 1; s < levels_; ++s)
      if (a_.segment[s].empty())
        a_.segment[s].swap(tables_[s]);
    view_ = a_.view();
    detail::parallel(parts_, [&](int part) {
      part_sums& s = sums_[static_cast<std::size_t>(part)];
      s.places += a_.used;
      std::size_t group = 0;
      std::size_t in_group = 0; // wraps where entries go
      auto const count = [&] {
        if (in_group != 0)
          std::atomic_ref(a_.in_group[group])
              .fetch_add(static_cast<I>(in_group), std::memory_order_relaxed);
      };
      each_run(part, [&](std::size_t k, std::size_t end, std::size_t ahead) {
        ask_for_row(ahead);
        for (std::size_t q = k; q < end; ++q)
          b_.ask_for(std::min(b_.n - 1, q + look_ahead));
        auto const g = static_cast<std::size_t>(b_.row[k]) / group_rows;
        if (g != group) {
          count();
          group = g;
          in_group = 0;
        }
        std::size_t const before = s.fresh - s.removed;
        make_run(k, end, s);
        in_group += s.fresh - s.removed - before;
      });
      count();
    });
    bool same = places_ == 0;
    a_.used += places_;
    for (part_sums const& s : sums_) {
      a_.entries += s.fresh - s.removed;
      a_.left += s.left;
      same = same && s.fresh == 0 && s.removed == 0;
    }
    if (!same)
      a_.row_ptr.swap(old_row_ptr_);
    for (std::size_t k = 0; !same && !a_.order.empty() && k < b_.n; ++k)
      if (k == 0 || b_.row[k] != b_.row[k - 1])
        a_.reorder(static_cast<std::size_t>(b_.row[k]));
  }

private:
  /// f(first, end, one further on) for each run of entries of one row in that
  /// part.
  template <class F>
  void each_run(int part, F const& f) const {
    auto const begin = [&](int p) { // of an even share, moved to the first of its row
      std::size_t k = detail::split(b_.n, p, parts_);
      while (k > 0 && k < b_.n && b_.row[k] == b_.row[k - 1])
        ++k;
      return k;
    };
    std::size_t const last = begin(part + 1);
    for (std::size_t k = begin(part); k < last;) {
      std::size_t end = k + 1;
      while (end < last && b_.row[end] == b_.row[k])
        ++end;
      f(k, end, std::min(last - 1, k + look_ahead));
      k = end;
    }
  }

  /// Where a row ends that is in one segment. Also the further tables of others, and where a row
  /// begins that may move: no faster.
  void ask_for_row(std::size_t k) const {
    auto const i = static_cast<std::size_t>(b_.row[k]);
    auto const end = static_cast<std::size_t>(a_.segment[0][i]) +
                     static_cast<std::size_t>(std::max(a_.length[i], I(0)));
    if (end < a_.places) {
      auto const at = a_.at(end);
      __builtin_prefetch(at.col, 1);
      __builtin_prefetch(at.val, 1);
    }
  }

  /// The first entry of the run [k, end) with that column; end: there is none.
  std::size_t find(std::size_t k, std::size_t end, I c) const {
    I const* const col = b_.cols();
    if (c < col[k] || c > col[end - 1])
      return end;
    std::size_t const at = k + primitive::lower_bound(col + k, end - k, c);
    return col[at] == c ? at : end;
  }
  bool is_first(std::size_t k, std::size_t q) const { return q == k || b_.col(q) != b_.col(q - 1); }

  std::size_t fresh_of(std::size_t k, std::size_t end) {
    if (kind_ == change::scale)
      return 0;
    if (!searches_)
      return end - k;
    std::fill(found_.data() + k, found_.data() + end, false);
    view_.each_segment(b_.row[k], [&](I const* col, V const*, I n) {
      for (I p = 0; p < n; ++p)
        if (std::size_t const q = find(k, end, col[p]); q != end)
          found_[q] = true;
    });
    std::size_t fresh = 0;
    for (std::size_t q = k; kind_ != change::erase && q < end; ++q)
      fresh += is_first(k, q) && !found_[q];
    return fresh;
  }

  void plan_run(std::size_t k, std::size_t end, part_sums& s) {
    auto const i = static_cast<std::size_t>(b_.row[k]);
    std::size_t const fresh = fresh_of(k, end);
    grown_[k] = 0;
    if (fresh == 0)
      return;
    if (fits_first(i, fresh)) // most do: the further tables are not touched
      return;
    row_room const r = room_of(a_, i);
    if (r.length + fresh <= r.places)
      return;
    I const grown = grown_[k] = new_segment(a_, o_, r.segments, r.length + fresh, r.places);
    s.places += static_cast<std::size_t>(grown < 0 ? ~grown : grown);
    s.levels = std::max(s.levels, grown < 0 ? 1 : r.segments + 1);
  }

  /// Whether row i and so many more entries are in its first segment.
  bool fits_first(std::size_t i, std::size_t more) const {
    return a_.length[i] >= 0 &&
           static_cast<std::size_t>(a_.length[i]) + more <=
               static_cast<std::size_t>(a_.segment[0][a_.pitch + i] - a_.segment[0][i]);
  }

  /// The room that the plan found, before anything is written there.
  void grow(std::size_t i, I grown, part_sums& s) {
    if (grown == 0)
      return;
    auto const size = static_cast<std::size_t>(grown < 0 ? ~grown : grown);
    row_room const old = room_of(a_, i);
    if (grown < 0) {
      auto const to = a_.at(s.places);
      dynamic_source<V, I>{view_}.copy(i, to.col, to.val);
      s.left += cut_row(a_, i, 0);
    }
    give_segment(a_, i, grown < 0 ? 0 : old.segments, s.places, size);
    set_length(a_, i, old.length);
    s.places += size;
  }

  void make_run(std::size_t k, std::size_t end, part_sums& s) {
    auto const i = static_cast<std::size_t>(b_.row[k]);
    grow(i, grown_[k], s);
    if (kind_ == change::insert && !searches_ && fits_first(i, end - k)) {
      auto const to = a_.at(static_cast<std::size_t>(a_.segment[0][i] + a_.length[i]));
      for (std::size_t q = k; q < end; ++q) {
        to.col[q - k] = b_.col(q);
        to.val[q - k] = b_.val(q);
      }
      a_.length[i] = static_cast<I>(a_.length[i] + static_cast<I>(end - k));
      s.fresh += end - k;
      return;
    }
    auto length = static_cast<std::size_t>(a_.length[i] < 0 ? ~a_.length[i] : a_.length[i]);
    row_places<V, I> const row(a_, i);
    row_cursor<V, I> to{row};
    if (kind_ == change::scale)
      return scale(row, length, k, end);
    if (searches_) {
      std::size_t const kept = rewrite(row, length, to, k, end);
      s.removed += length - kept;
      length = kept;
      for (std::size_t q = k; kind_ != change::erase && q < end; ++q)
        if (is_first(k, q) && !found_[q]) {
          to.put(b_.col(q), value(V(0), q, end, true));
          ++length;
          ++s.fresh;
        }
    } else {
      to.skip(length);
      for (std::size_t q = k; q < end; ++q)
        to.put(b_.col(q), b_.val(q));
      length += end - k;
      s.fresh += end - k;
    }
    set_length(a_, i, length);
  }

  /// What the entries of q's place make of a value v that is there.
  V value(V v, std::size_t q, std::size_t end, bool is_new) const {
    I const c = b_.col(q);
    if (is_new)
      v = b_.val(q++);
    for (; q < end && b_.col(q) == c; ++q)
      v = kind_ == change::insert ? static_cast<V>(v + b_.val(q)) : b_.val(q);
    return v;
  }

  /// Changes the entries that are there and closes the gaps of those that go; how many stay. What
  /// was found and has not been changed yet is found by the first entry of its place alone.
  std::size_t rewrite(row_places<V, I> const& row, std::size_t length, row_cursor<V, I>& to,
                      std::size_t k, std::size_t end) {
    row_cursor<V, I> from{row};
    std::size_t kept = 0;
    constexpr std::uint8_t done = 2;
    for (std::size_t p = 0; p < length; ++p, from.step()) {
      I const c = row.at[from.segment].col[from.offset];
      V v = row.at[from.segment].val[from.offset];
      std::size_t const q = find(k, end, c);
      if (q != end) {
        if (kind_ == change::erase || (kind_ == change::assign && found_[q] == done))
          continue;
        if (found_[q] != done)
          v = value(v, q, end, false);
        found_[q] = done;
      }
      to.put(c, v);
      ++kept;
    }
    return kept;
  }

  void scale(row_places<V, I> const& row, std::size_t length, std::size_t k, std::size_t end) {
    for (int p = 0; length > 0; ++p) {
      std::size_t const n = std::min(length, row.room[p]);
      for (std::size_t q = k; q < end; ++q)
        for (std::size_t e = 0; e < n; ++e)
          row.at[p].val[e] *= b_.val(q);
      length -= n;
    }
  }

  change kind_;
  dynamic_rows<V, I>& a_;
  dynamic_view<V, I> view_; // of a_, while nothing grows
  dynamic_options const& o_;
  sorted_batch<V, I> const& b_;
  int parts_;
  bool searches_;             // for entries that are there
  array<I> grown_;            // of a run: places of its new segment; ~places: to which it moves
  array<std::uint8_t> found_; // of the first entry of a place in a run
  array<part_sums> sums_;
  std::size_t places_ = 0;
  int levels_ = 0;
  std::optional<growth<V, I>> growth_;
  array<I> tables_[most_segments];
  array<I> old_row_ptr_;
};

/// A batch into a compact matrix: it stays pending, or all pending entries and it are merged into
/// the rows.
template <class S, class V, class I>
void insert_pending(S& s, sorted_batch<V, I> const& b, dynamic_options const& o) {
  check_places<I>(s.a.entries + b.n, o.limit);
  std::size_t const now = s.a.pending_count() + b.n;
  auto pending = joined(s.a, b, o);
  bool const is_small = b.n <= s.a.entries / small_part;
  if (now <= s.a.entries / (is_small ? pending_part_if_small : pending_part) &&
      now <= most_pending_times * b.n) {
    auto const alone = s.changing();
    std::swap(s.a.pending, pending);
    s.a.entries += b.n;
    return;
  }
  auto next = settled(s.a, *pending, o);
  auto const alone = s.changing();
  std::swap(s.a, next);
}

/// False, and nothing is changed, where the matrix is no longer of the size that b was made for.
template <class S, class V, class I>
bool apply(S& s, change kind, sorted_batch<V, I> const& b, extent<I> size,
           dynamic_options const& o) {
  std::lock_guard const one_at_a_time(s.writers);
  if (size != extent<I>{s.a.rows, s.a.cols})
    return false;
  if (kind == change::insert && suits_pending(o) && b.n >= o.pending_from) {
    if (!s.a.row_ptr.empty()) {
      insert_pending(s, b, o);
      return true;
    }
    if (b.n >= s.a.entries / pending_part) { // rows are moved all at once
      check_places<I>(s.a.entries + b.n, o.limit);
      auto const compact = s.rearranged(s.a, {.compact = true}, o);
      auto next = settled(compact, *joined(compact, b, o), o);
      auto const alone = s.changing();
      std::swap(s.a, next);
      return true;
    }
  }
  auto next = s.tidied(kind != change::insert || o.duplicates == on_duplicate::combine, o);
  tables_for_change<V, I> tables(s, next, o);
  batch_change<V, I> c(kind, next ? *next : s.a, o, b);
  c.plan();
  c.find_room();
  tables.keep();
  if (next)
    c.make(); // nobody sees it yet
  auto const alone = s.changing();
  if (next)
    std::swap(s.a, *next);
  else
    c.make();
  return true;
}

template <class S, class V, class I>
void apply(S& s, change kind, std::span<I const> row, std::span<I const> col,
           std::span<V const> val, dynamic_options const& o) {
  char const* const op = names[static_cast<std::size_t>(kind)];
  check_lengths(op, row.size(), col.size(), val.size());
  for (bool done = row.empty(); !done;) { // again where the matrix was resized meanwhile
    extent<I> const size = s.size();
    check_indices(op, row.data(), col.data(), row.size(), size.rows, size.cols, o.where.threads);
    done = apply(s, kind,
                 sorted_batch<V, I>(
                     row.data(), col.data(), val.data(), row.size(), size.rows, size.cols,
                     kind != change::insert || o.duplicates == on_duplicate::combine, o.where),
                 size, o);
  }
}

/// f(the options of this change), its errors typed.
template <class S, class F>
void change_with(S& s, char const* op, F f) {
  detail::typed_memory(op, [&] {
    limited_options const with(op, s.o);
    f(with.o);
  });
}

template <class V, class I>
void check_merged(csr_view<V, I, I> const& b, extent<I> size) {
  if (size != extent<I>{b.rows, b.cols})
    fail(errc::shape_mismatch, "merge: B is %lld x %lld, A is %lld x %lld",
         static_cast<long long>(b.rows), static_cast<long long>(b.cols),
         static_cast<long long>(size.rows), static_cast<long long>(size.cols));
}

} // namespace

template <class V, class I>
void merge(typename dynamic_csr<V, I>::state& s, csr_view<V, I, I> b, dynamic_options const& o) {
  auto const size = s.size();
  check_merged(b, size);
  detail::canonical<V, I, I> const c(b, o.where);
  auto const n = static_cast<std::size_t>(c.view.nnz);
  if (n == 0)
    return;
  array<I> row(n, o.where.memory);
  int const parts = detail::parts_for(n, o.where.threads);
  detail::parallel(parts, [&](int part) {
    auto const lines = static_cast<std::size_t>(b.rows);
    std::size_t const end = detail::split_by_entries(c.view.row_ptr, lines, part + 1, parts);
    for (std::size_t i = detail::split_by_entries(c.view.row_ptr, lines, part, parts); i < end; ++i)
      std::fill(row.data() + c.view.row_ptr[i], row.data() + c.view.row_ptr[i + 1],
                static_cast<I>(i));
  });
  sorted_batch<V, I> const batch(row.data(), c.view.col, c.view.val, n, b.rows, b.cols, true,
                                 o.where);
  while (!apply(s, change::insert, batch, size, o)) // resized meanwhile
    check_merged(b, s.size());
}

} // namespace dynamic

template <class V, class I>
void dynamic_csr<V, I>::insert(std::span<I const> row, std::span<I const> col,
                               std::span<V const> val) {
  dynamic::change_with(get(), "insert", [&](options const& o) {
    dynamic::apply<state, V, I>(get(), dynamic::change::insert, row, col, val, o);
  });
}

template <class V, class I>
void dynamic_csr<V, I>::assign(std::span<I const> row, std::span<I const> col,
                               std::span<V const> val) {
  dynamic::change_with(get(), "assign", [&](options const& o) {
    dynamic::apply<state, V, I>(get(), dynamic::change::assign, row, col, val, o);
  });
}

template <class V, class I>
void dynamic_csr<V, I>::erase(std::span<I const> row, std::span<I const> col) {
  dynamic::check_lengths("erase", row.size(), col.size(), row.size());
  dynamic::change_with(get(), "erase", [&](options const& o) {
    array<V> const nothing(row.size(), V(0), o.where.memory);
    dynamic::apply<state, V, I>(get(), dynamic::change::erase, row, col, nothing, o);
  });
}

template <class V, class I>
void dynamic_csr<V, I>::scale_rows(std::span<I const> row, std::span<V const> factor) {
  state& s = get();
  if (row.size() != factor.size())
    fail(errc::shape_mismatch, "scale_rows: %zu rows, %zu factors", row.size(), factor.size());
  auto const size = s.size();
  for (std::size_t k = 0; k < row.size(); ++k)
    if (row[k] < 0 || row[k] >= size.rows)
      fail(errc::bad_structure, "scale_rows: row[%zu] is %lld, outside [0, %lld)", k,
           static_cast<long long>(row[k]), static_cast<long long>(size.rows));
  if (row.empty() || size.cols == 0)
    return;
  dynamic::change_with(s, "scale_rows", [&](options const& o) {
    array<I> const first(row.size(), I(0), o.where.memory);
    dynamic::apply<state, V, I>(s, dynamic::change::scale, row, first, factor, o);
  });
}

template <class V, class I>
void dynamic_csr<V, I>::merge(csr_view<V, I, I> b) {
  state& s = get();
  dynamic::change_with(s, "merge", [&](options const& o) { dynamic::merge<V, I>(s, b, o); });
}

#define TULLE_CHANGES(tag, V, I, O)                                                                \
  template void dynamic_csr<V, I>::insert(std::span<I const>, std::span<I const>,                  \
                                          std::span<V const>);                                     \
  template void dynamic_csr<V, I>::assign(std::span<I const>, std::span<I const>,                  \
                                          std::span<V const>);                                     \
  template void dynamic_csr<V, I>::erase(std::span<I const>, std::span<I const>);                  \
  template void dynamic_csr<V, I>::scale_rows(std::span<I const>, std::span<V const>);             \
  template void dynamic::merge<V, I>(dynamic_csr<V, I>::state&, csr_view<V, I, I>,                 \
                                     dynamic_options const&);                                      \
  template void dynamic_csr<V, I>::merge(csr_view<V, I, I>);                                       \
  template void dynamic_csr<V, I>::insert(I, I, V);                                                \
  template void dynamic_csr<V, I>::assign(I, I, V);                                                \
  template void dynamic_csr<V, I>::erase(I, I);                                                    \
  template void dynamic_csr<V, I>::scale_rows(I, V);
TULLE_TYPES(TULLE_CHANGES)
#undef TULLE_CHANGES

} // namespace tulle
