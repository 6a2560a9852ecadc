// SPDX-License-Identifier: Apache-2.0

// Building rows: by prefix sum and copy, never by a sort of the entries.
//
// Bytes that must move, double with 32-bit indices: 24 an entry and 24 a row; sorting reads and
// writes what is behind the part of a row that ascends once more for each doubling of its runs.
#include "dynamic/rows.hpp"

#include "primitive/merge.hpp"
#include "primitive/scan.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace tulle::dynamic {
namespace {

constexpr std::size_t pages_aimed_at = 1024; // 16 KiB of table: stays in the first cache
constexpr int least_shift = 6;
constexpr int most_shift = 20;
constexpr std::size_t chunk_part = 8; // a new chunk is at least this part of the pool
constexpr std::size_t insertion_sort_to = 32;
constexpr std::size_t sorted_run = 16; // 8 and 32: as long

int shift_for(std::size_t places) {
  return std::clamp(static_cast<int>(std::bit_width(places / pages_aimed_at)), least_shift,
                    most_shift);
}

template <class V, class I>
void add_pages(dynamic_rows<V, I> const& a, chunk<V, I>& c, std::size_t places,
               dynamic_page<V, I>* to) {
  for (std::size_t p = 0; p < places >> a.shift; ++p)
    to[p] = {c.col.data() + (p << a.shift), c.val.data() + (p << a.shift)};
}

/// A matrix without entries, and without tables.
template <class V, class I>
dynamic_rows<V, I> bare(I rows, I cols, std::size_t places) {
  detail::check_shape("dynamic_csr", rows, cols);
  dynamic_rows<V, I> a;
  auto const n = static_cast<std::size_t>(rows);
  a.rows = rows;
  a.cols = cols;
  a.pitch = (n + 63) / 64 * 64;
  a.shift = shift_for(std::max(places, n));
  a.snapshots = std::make_shared<std::atomic<int>>(0);
  return a;
}

/// Rows [first, last) of groups, on all threads, each group by one of them.
template <class V, class I, class F>
void each_rows(dynamic_rows<V, I> const& a, std::size_t work, int threads, F const& f) {
  int const parts = detail::parts_for(work, threads);
  std::size_t const groups = a.groups();
  detail::parallel(parts, [&](int part) {
    // Groups are many more than parts; those of many entries are as many as those of few.
    for (std::size_t g = static_cast<std::size_t>(part); g < groups;
         g += static_cast<std::size_t>(parts))
      f(part, g, g * group_rows,
        std::min(static_cast<std::size_t>(a.rows), (g + 1) * static_cast<std::size_t>(group_rows)));
  });
}

/// Puts entries [sorted, n) where they belong among those before them, one by one.
template <class V, class I>
void insert_entries(I* col, V* val, std::size_t sorted, std::size_t n) {
  for (std::size_t k = sorted; k < n; ++k) {
    I const c = col[k];
    V const v = val[k];
    std::size_t at = k;
    for (; at > 0 && c < col[at - 1]; --at) {
      col[at] = col[at - 1];
      val[at] = val[at - 1];
    }
    col[at] = c;
    val[at] = v;
  }
}

/// By columns, equal ones as they stand. What is behind the part that ascends is sorted, runs
/// merged in pairs until one is left, and merged into the row from its end on: the first entries of
/// a row stay where they are. col2 and val2 are room for as many. ms of rmat 18 and circuit 200000
/// with a tenth behind, two threads: 21 and 5.8; 33 and 7.4 where all of a row went by runs.
template <class V, class I>
void sort_row(I* col, V* val, std::size_t n, I* col2, V* val2) {
  auto const sorted = static_cast<std::size_t>(std::is_sorted_until(col, col + n) - col);
  if (sorted == n || n <= insertion_sort_to)
    return insert_entries(col, val, sorted, n);
  std::size_t const behind = n - sorted;
  I* from = col + sorted;
  V* from_val = val + sorted;
  auto const end_of_run = [&](std::size_t at) {
    return static_cast<std::size_t>(std::is_sorted_until(from + at, from + behind) - from);
  };
  for (std::size_t at = 0; at < behind;) {
    std::size_t const end = end_of_run(at), next = std::min(behind, std::max(end, at + sorted_run));
    insert_entries(from + at, from_val + at, end - at, next - at);
    at = next;
  }
  while (end_of_run(0) < behind) {
    for (std::size_t a = 0; a < behind;) {
      std::size_t const b = end_of_run(a), c = end_of_run(b);
      primitive::serial_merge(from + a, from_val + a, b - a, from + b, from_val + b, c - b,
                              col2 + a, val2 + a);
      a = c;
    }
    std::swap(from, col2);
    std::swap(from_val, val2);
  }
  if (from == col + sorted) { // to the room
    std::copy_n(from, behind, col2);
    std::copy_n(from_val, behind, val2);
    from = col2;
    from_val = val2;
  }
  std::size_t i = sorted, j = behind;
  for (std::size_t to = n; j > 0;) {
    bool const is_late = i == 0 || col[i - 1] <= from[j - 1];
    --to;
    col[to] = is_late ? from[j - 1] : col[i - 1];
    val[to] = is_late ? from_val[j - 1] : val[i - 1];
    j -= is_late;
    i -= !is_late;
  }
}

/// Adds up neighbours of one column; how many are left.
template <class V, class I>
std::size_t combine_row(I* col, V* val, std::size_t n) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (at > 0 && col[at - 1] == col[k]) {
      val[at - 1] += val[k];
    } else {
      col[at] = col[k];
      val[at++] = val[k];
    }
  }
  return at;
}

/// Sorts the rows of a matrix that nobody else sees, each in one segment. Whether any got shorter.
template <class V, class I>
bool sort_rows(dynamic_rows<V, I>& a, bool combine, cpu const& where) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
    longest = std::max(longest, static_cast<std::size_t>(a.length[i]));
  auto const parts = static_cast<std::size_t>(detail::parts_for(a.entries, where.threads));
  std::size_t const room = (longest + 63) / 64 * 64;
  array<I> col2(room * parts, where.memory);
  array<V> val2(room * parts, where.memory);
  std::size_t gone = 0;
  each_rows(a, a.entries, where.threads,
            [&](int part, std::size_t g, std::size_t i, std::size_t end) {
              std::size_t const at = room * static_cast<std::size_t>(part);
              std::size_t here = 0;
              for (; i < end; ++i) {
                auto const n = static_cast<std::size_t>(a.length[i]);
                if (n < 2)
                  continue;
                auto const row = a.at(static_cast<std::size_t>(a.segment[0][i]));
                sort_row(row.col, row.val, n, col2.data() + at, val2.data() + at);
                if (combine) {
                  a.length[i] = static_cast<I>(combine_row(row.col, row.val, n));
                  here += n - static_cast<std::size_t>(a.length[i]);
                }
              }
              a.in_group[g] = static_cast<I>(a.in_group[g] - static_cast<I>(here));
              std::atomic_ref(gone).fetch_add(here, std::memory_order_relaxed);
            });
  a.entries -= gone;
  return gone != 0;
}

} // namespace

template <class V, class I>
std::size_t dynamic_rows<V, I>::bytes() const {
  std::size_t sum = length.bytes() + in_group.bytes() + pages.bytes() + row_ptr.bytes() +
                    order.bytes() + (pending ? pending->bytes() : 0);
  for (auto const& s : segment)
    sum += s.bytes();
  for (auto const& c : chunks)
    sum += c->col.bytes() + c->val.bytes();
  return sum;
}

template <class V, class I>
growth<V, I>::growth(dynamic_rows<V, I> const& a, std::size_t wanted, std::size_t limit,
                     std::pmr::memory_resource* memory) {
  std::size_t const page = std::size_t(1) << a.shift;
  auto const whole = [=](std::size_t n) { return (n + page - 1) / page * page; };
  std::size_t const most = std::min(limit, most_places<I>);
  wanted = whole(wanted);
  check_places<I>(a.places + wanted, limit);
  places =
      std::max(wanted, std::min(whole(a.places / chunk_part), (most - a.places) / page * page));
  std::size_t const now = a.places >> a.shift;
  std::size_t const then = (a.places + places) >> a.shift;
  chunks.reserve(a.chunks.size() + 1);
  chunks = a.chunks;
  chunks.push_back(std::make_shared<chunk<V, I>>(
      chunk<V, I>{array<I>(places, memory), array<V>(places, memory)}));
  if (then > a.pages.size()) {
    pages = array<dynamic_page<V, I>>(std::max(then, 2 * now), memory);
    std::copy_n(a.pages.data(), now, pages.data());
  }
}

template <class V, class I>
void growth<V, I>::take(dynamic_rows<V, I>& a) noexcept {
  if (!pages.empty())
    a.pages.swap(pages);
  add_pages(a, *chunks.back(), places, a.pages.data() + (a.places >> a.shift));
  a.left += a.places - a.used;
  a.used = a.places;
  a.places += places;
  a.chunks.swap(chunks);
}

template <class V, class I>
row_tables<V, I>::row_tables(dynamic_rows<V, I> const& a, cpu const& where)
    : length(a.pitch, where.memory), in_group(a.groups(), where.memory),
      segment(2 * a.pitch, where.memory) {
  each_rows(a, static_cast<std::size_t>(a.rows), where.threads,
            [&](int, std::size_t g, std::size_t i, std::size_t end) {
              in_group[g] = static_cast<I>(a.row_ptr[end] - a.row_ptr[i]);
              for (; i < end; ++i) {
                length[i] = static_cast<I>(a.row_ptr[i + 1] - a.row_ptr[i]);
                segment[i] = length[i] > 0 ? a.row_ptr[i] : I(0);
                segment[a.pitch + i] = length[i] > 0 ? a.row_ptr[i + 1] : I(0);
              }
            });
}

template <class I, class Source>
static row_order<I> ordered(std::size_t n, Source const& source, cpu const& where) {
  row_order<I> to;
  to.row = array<I>(n, where.memory);
  to.bin = array<std::uint8_t>(n, where.memory);
  int const parts = detail::parts_for(n, where.threads);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    for (std::size_t i = detail::split(n, part, parts); i < end; ++i)
      to.bin[i] = static_cast<std::uint8_t>(bin_of(source.length(i)));
  });
  to.sort();
  return to;
}

template <class V, class I, class Source>
dynamic_rows<V, I> arranged(I rows, I cols, std::size_t entries, Source const& source,
                            dynamic_options const& o, bool compact, bool in_tables) {
  detail::check_shape("dynamic_csr", rows, cols);
  auto const n = static_cast<std::size_t>(rows);
  cpu const& where = o.where;
  row_order<I> order;
  if (o.by_length && !compact)
    order = ordered<I>(n, source, where);
  auto const row_at = [&](std::size_t k) {
    return order.empty() ? k : static_cast<std::size_t>(order.row[k]);
  };
  array<std::size_t> at(n + 1, where.memory); // first place of each row, in their order
  int const parts = detail::parts_for(n, where.threads);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    for (std::size_t k = detail::split(n, part, parts); k < end; ++k) {
      std::size_t const length = source.length(row_at(k));
      std::size_t const slack = length == 0 ? 0 : slack_of(o.slack, length, entries, n);
      at[k] = compact ? length : std::max(length + slack, o.width);
    }
  });
  at[n] = primitive::parallel_exclusive_scan(at.data(), n, at.data(), where);
  check_places<I>(at[n], o.limit);
  auto a = bare<V, I>(rows, cols, at[n]);
  if (in_tables) {
    a.length = array<I>(a.pitch, where.memory);
    a.in_group = array<I>(a.groups(), I(0), where.memory);
    a.segment[0] = array<I>(2 * a.pitch, where.memory);
  }
  if (compact)
    a.row_ptr = array<I>(n + 1, where.memory);
  if (at[n] > 0) {
    std::size_t const page = std::size_t(1) << a.shift;
    a.places = (at[n] + page - 1) / page * page;
    std::size_t const size = compact ? at[n] : a.places;
    // What a last page has behind the rows is room, unless the limit is before its end.
    a.used = compact || a.places > std::min(o.limit, most_places<I>) ? a.places : at[n];
    a.left = a.used - at[n];
    a.chunks.push_back(std::make_shared<chunk<V, I>>(
        chunk<V, I>{array<I>(size, where.memory), array<V>(size, where.memory)}));
    a.pages = array<dynamic_page<V, I>>(a.places >> a.shift, where.memory);
    add_pages(a, *a.chunks[0], a.places, a.pages.data());
  }
  int const copies = detail::parts_for(at[n] + n, where.threads);
  std::size_t const groups = a.groups();
  detail::parallel(copies, [&](int part) {
    auto const group_of = [&](int p) { // groups begin where an even share of the places does
      std::size_t const k = detail::split_by_entries(at.data(), n, p, copies);
      return std::min(groups, (k + group_rows - 1) / group_rows);
    };
    auto const last = group_of(part + 1);
    for (std::size_t g = part == 0 ? 0 : group_of(part); g < last; ++g) {
      std::size_t const end = std::min(n, (g + 1) * static_cast<std::size_t>(group_rows));
      std::size_t sum = 0;
      for (std::size_t k = g * group_rows; k < end; ++k) {
        std::size_t const i = row_at(k);
        std::size_t const length = source.length(i);
        bool const has_places = at[k + 1] > at[k]; // one without is at 0: a place that exists
        if (in_tables) {
          a.length[i] = static_cast<I>(length);
          a.segment[0][i] = has_places ? static_cast<I>(at[k]) : I(0);
          a.segment[0][a.pitch + i] = has_places ? static_cast<I>(at[k + 1]) : I(0);
        }
        if (compact)
          a.row_ptr[i] = static_cast<I>(at[k]);
        if (length > 0)
          source.copy(i, a.chunks[0]->col.data() + at[k], a.chunks[0]->val.data() + at[k]);
        sum += length;
        if (!order.empty()) // a group has rows of all of them
          std::atomic_ref(a.in_group[i / group_rows])
              .fetch_add(static_cast<I>(length), std::memory_order_relaxed);
      }
      if (in_tables && order.empty())
        a.in_group[g] = static_cast<I>(sum);
    }
  });
  if (compact)
    a.row_ptr[n] = static_cast<I>(at[n]);
  a.entries = entries;
  a.order = std::move(order);
  return a;
}

template <class V, class I>
dynamic_rows<V, I> defragmented(dynamic_view<V, I> const& v, dynamic_options const& o,
                                dynamic_defragment d) {
  auto const entries = static_cast<std::size_t>(v.entries);
  bool const sorts = (d.sort || d.combine) && entries > 0;
  auto a = arranged<V, I>(v.rows, v.cols, entries, dynamic_source<V, I>{v}, o, d.compact,
                          sorts || !d.compact);
  bool const shorter = sorts && sort_rows(a, d.combine, o.where);
  if (shorter && d.compact)
    return arranged<V, I>(v.rows, v.cols, a.entries, dynamic_source<V, I>{a.view()}, o, true,
                          false);
  if (sorts && d.compact) {
    a.length = {};
    a.in_group = {};
    a.segment[0] = {};
  }
  for (std::size_t i = 0; shorter && !a.order.empty() && i < static_cast<std::size_t>(a.rows); ++i)
    a.reorder(i);
  return a;
}

template <class V, class I>
more_rows<V, I>::more_rows(dynamic_rows<V, I> const& a, I n, std::pmr::memory_resource* memory)
    : rows(n), pitch((static_cast<std::size_t>(n) + 63) / 64 * 64) {
  auto const before = static_cast<std::size_t>(a.rows), after = static_cast<std::size_t>(n);
  std::size_t const groups = (after + group_rows - 1) / group_rows;
  // The first ones of a table that is there, and `rest` behind them.
  auto const longer = [&](array<I> const& from, std::size_t count, std::size_t size, I rest) {
    if (from.empty())
      return array<I>();
    array<I> to(size, rest, memory);
    std::copy_n(from.data(), count, to.data());
    return to;
  };
  length = longer(a.length, before, pitch, I(0));
  in_group = longer(a.in_group, a.groups(), groups, I(0));
  for (int s = 0; s < most_segments && !a.segment[s].empty(); ++s) {
    segment[s] = longer(a.segment[s], before, 2 * pitch, I(0));
    std::copy_n(a.segment[s].data() + a.pitch, before, segment[s].data() + pitch);
  }
  row_ptr = longer(a.row_ptr, before + 1, after + 1, a.row_ptr.empty() ? I(0) : a.row_ptr[before]);
  if (a.pending) {
    auto const& l = *a.pending;
    pending = std::make_shared<pending_entries<V, I> const>(pending_entries<V, I>{
        longer(l.ptr, a.groups() + 1, groups + 1, l.ptr.back()),
        array<I>(l.row.data(), l.row.size(), memory), array<I>(l.col.data(), l.col.size(), memory),
        array<V>(l.val.data(), l.val.size(), memory)});
  }
}

/// Rows less the entries of columns from `cols` on; rows beyond those of a are empty.
template <class V, class I>
struct cut_source {
  dynamic_view<V, I> a;
  I cols;
  array<I> const& kept; // entries of each row
  std::size_t length(std::size_t i) const {
    return i < kept.size() ? static_cast<std::size_t>(kept[i]) : 0;
  }
  void copy(std::size_t i, I* col, V* val) const {
    a.each_segment(static_cast<I>(i), [&](I const* c, V const* v, I n) {
      for (I k = 0; k < n; ++k)
        if (c[k] < cols) {
          *col++ = c[k];
          *val++ = v[k];
        }
    });
  }
};

template <class V, class I>
dynamic_rows<V, I> resized(dynamic_rows<V, I> const& a, I rows, I cols, dynamic_options const& o,
                           bool compact) {
  auto const n = static_cast<std::size_t>(std::min(rows, a.rows));
  dynamic_view<V, I> const v = a.view();
  array<I> kept(n, o.where.memory);
  std::size_t entries = 0;
  int const parts = detail::parts_for(a.entries + n, o.where.threads);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    std::size_t sum = 0;
    for (std::size_t i = detail::split(n, part, parts); i < end; ++i) {
      I inside = 0;
      v.each_segment(static_cast<I>(i), [&](I const* col, V const*, I count) {
        for (I k = 0; k < count; ++k)
          inside = static_cast<I>(inside + (col[k] < cols));
      });
      kept[i] = inside;
      sum += static_cast<std::size_t>(inside);
    }
    std::atomic_ref(entries).fetch_add(sum, std::memory_order_relaxed);
  });
  compact = compact && entries > 0;
  return arranged<V, I>(rows, cols, entries, cut_source<V, I>{v, cols, kept}, o, compact, !compact);
}

template <class V, class I>
dynamic_rows<V, I> adopted(csr<V, I, I>&& c, dynamic_options const& o) {
  std::size_t const entries = c.val.size();
  check_places<I>(entries, o.limit);
  auto a = bare<V, I>(c.rows, c.cols, entries);
  std::size_t const page = std::size_t(1) << a.shift;
  a.places = a.used = (entries + page - 1) / page * page;
  a.left = a.places - entries;
  a.pages = array<dynamic_page<V, I>>(a.places >> a.shift, o.where.memory);
  auto next = std::make_shared<chunk<V, I>>();
  a.chunks.reserve(1);
  // Nothing fails from here on.
  next->col.swap(c.col);
  next->val.swap(c.val);
  a.row_ptr.swap(c.row_ptr);
  add_pages(a, *next, a.places, a.pages.data());
  a.chunks.push_back(std::move(next));
  a.entries = entries;
  return a;
}

template <class V, class I>
csr<V, I, I> released(dynamic_rows<V, I>&& a) {
  csr<V, I, I> c(unchecked, a.rows, a.cols, std::move(a.row_ptr), {}, {});
  if (!a.chunks.empty()) {
    c.col.swap(a.chunks[0]->col);
    c.val.swap(a.chunks[0]->val);
  }
  return c;
}

#define TULLE_ROWS(tag, V, I, O)                                                                   \
  template struct dynamic_rows<V, I>;                                                              \
  template struct growth<V, I>;                                                                    \
  template struct row_tables<V, I>;                                                                \
  template dynamic_rows<V, I> arranged(I, I, std::size_t, no_source<V, I> const&,                  \
                                       dynamic_options const&, bool, bool);                        \
  template dynamic_rows<V, I> arranged(I, I, std::size_t, csr_source<V, I> const&,                 \
                                       dynamic_options const&, bool, bool);                        \
  template dynamic_rows<V, I> defragmented(dynamic_view<V, I> const&, dynamic_options const&,      \
                                           dynamic_defragment);                                    \
  template struct more_rows<V, I>;                                                                 \
  template dynamic_rows<V, I> resized(dynamic_rows<V, I> const&, I, I, dynamic_options const&,     \
                                      bool);                                                       \
  template dynamic_rows<V, I> adopted(csr<V, I, I>&&, dynamic_options const&);                     \
  template csr<V, I, I> released(dynamic_rows<V, I>&&);
TULLE_TYPES(TULLE_ROWS)
#undef TULLE_ROWS

} // namespace tulle::dynamic
