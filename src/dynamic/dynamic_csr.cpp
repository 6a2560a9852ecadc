// SPDX-License-Identifier: Apache-2.0

// Making, defragmenting and reading dynamic matrices. Changes are in change.cpp.
#include "tulle/format/csr_pool.hpp"

#include "dynamic/rows.hpp"
#include "format/detail/segments.hpp"

#include <system_error>

namespace tulle {
namespace dynamic {
namespace {

/// A copy of the tables that shares the pool, counted as long as it lives.
template <class V, class I>
struct shared_rows {
  dynamic_rows<V, I> a;

  shared_rows(dynamic_rows<V, I> const& from, std::pmr::memory_resource* memory) {
    auto const copy = [memory]<class T>(array<T> const& x) {
      return array<T>(x.data(), x.size(), memory);
    };
    a.rows = from.rows;
    a.cols = from.cols;
    a.entries = from.entries;
    a.pitch = from.pitch;
    a.shift = from.shift;
    a.length = copy(from.length);
    a.in_group = copy(from.in_group);
    for (int s = 0; s < most_segments; ++s)
      a.segment[s] = copy(from.segment[s]);
    a.chunks = from.chunks;
    a.pages = copy(from.pages);
    a.places = from.places;
    a.used = from.used;
    a.left = from.left;
    a.row_ptr = copy(from.row_ptr);
    a.pending = from.pending;
    a.order = {copy(from.order.row), copy(from.order.bin), from.order.changed};
    a.snapshots = from.snapshots;
    a.snapshots->fetch_add(1, std::memory_order_relaxed);
  }
  shared_rows(shared_rows const&) = delete;
  // What was read here comes before what a writer does when it sees no snapshot.
  ~shared_rows() { a.snapshots->fetch_sub(1, std::memory_order_release); }
};

void check(dynamic_options const& o) {
  if (o.segments < 1 || o.segments > most_segments)
    fail(errc::unsupported, "dynamic_csr: %d segments; 1 to %d are possible", o.segments,
         most_segments);
  if (!(o.slack.factor >= 0) || !(o.slack.factor <= 1e6))
    fail(errc::unsupported, "dynamic_csr: a slack of %g times a row's length", o.slack.factor);
  if (o.slack.plus > most_slack || o.width > most_slack)
    fail(errc::unsupported, "dynamic_csr: a slack of %zu or a width of %zu; %zu are possible",
         o.slack.plus, o.width, most_slack);
}

} // namespace
} // namespace dynamic

template <class V, class I>
dynamic_csr<V, I>::dynamic_csr(std::unique_ptr<state> s) : state_(std::move(s)) {}
template <class V, class I>
dynamic_csr<V, I>::dynamic_csr(dynamic_csr&&) noexcept = default;
template <class V, class I>
dynamic_csr<V, I>& dynamic_csr<V, I>::operator=(dynamic_csr&&) noexcept = default;
template <class V, class I>
dynamic_csr<V, I>::~dynamic_csr() = default;

template <class V, class I>
dynamic_csr<V, I>::dynamic_csr(I rows, I cols, options const& o) {
  dynamic::check(o);
  detail::typed_memory("dynamic_csr", [&] {
    dynamic::limited_options const with("dynamic_csr", o);
    state_ = std::make_unique<state>(
        o, dynamic::arranged<V, I>(rows, cols, 0, dynamic::no_source<V, I>{}, with.o, false, true));
  });
}

template <class V, class I>
dynamic_csr<V, I> dynamic_csr<V, I>::from_csr(csr_view<V, I, I> a, options const& o) {
  dynamic::check(o);
  a.validate(o.where);
  if (a.rows == 0)
    return dynamic_csr(a.rows, a.cols, o);
  auto const entries = static_cast<std::size_t>(a.nnz);
  bool const compact = dynamic::starts_compact(o, entries);
  return detail::typed_memory("dynamic_csr", [&] {
    dynamic::limited_options const with("dynamic_csr", o);
    return dynamic_csr(std::make_unique<state>(
        o, dynamic::arranged<V, I>(a.rows, a.cols, entries, dynamic::csr_source<V, I>{a}, with.o,
                                   compact, !compact)));
  });
}

template <class V, class I>
dynamic_csr<V, I> dynamic_csr<V, I>::from_coo(coo_view<V, I, I> a, options const& o) {
  dynamic::check(o);
  a.validate(o.where);
  return detail::typed_memory("dynamic_csr", [&] {
    detail::limited const space("dynamic_csr", o.where);
    csr<V, I, I> c = a.to_csr(space.counted());
    options rest = o;
    rest.where.workspace_limit = space.left();
    dynamic_csr made = dynamic::starts_compact(o, c.val.size()) ? adopt(std::move(c), rest)
                                                                : from_csr(c.view(), rest);
    return dynamic_csr(std::make_unique<state>(o, std::move(made.state_->a)));
  });
}

template <class V, class I>
dynamic_csr<V, I> dynamic_csr<V, I>::adopt(csr<V, I, I>&& a, options const& o) {
  dynamic::check(o);
  a.validate(o.where);
  if (a.val.empty())
    return dynamic_csr(a.rows, a.cols, o);
  return detail::typed_memory("dynamic_csr", [&] {
    dynamic::limited_options const with("dynamic_csr", o);
    auto s = std::make_unique<state>(o); // may fail, and then a is as it was
    s->a = dynamic::adopted(std::move(a), with.o);
    return dynamic_csr(std::move(s));
  });
}

template <class V, class I>
typename dynamic_csr<V, I>::state& dynamic_csr<V, I>::get() const {
  if (!state_)
    fail(errc::bad_structure, "dynamic_csr: the matrix was moved from");
  return *state_;
}

template <class V, class I>
I dynamic_csr<V, I>::rows() const {
  return get().size().rows;
}
template <class V, class I>
I dynamic_csr<V, I>::cols() const {
  return get().size().cols;
}

template <class V, class I>
dynamic_shape dynamic_csr<V, I>::shape() const {
  auto const shared = get().reading();
  auto const& a = get().a;
  return {a.entries, a.places, a.left, a.chunks.size(), a.bytes(), a.pending_count(), a.is_csr()};
}

template <class V, class I>
void dynamic_csr<V, I>::validate() const {
  auto const shared = get().reading();
  auto const& a = get().a;
  auto const require = [](bool holds, char const* what, std::size_t i) {
    if (!holds)
      fail(errc::bad_structure, "dynamic_csr: row %zu: %s", i, what);
  };
  detail::segments_sum all;
  if (a.length.empty() && !a.row_ptr.empty()) {
    dynamic::with_csr(a.view(), a.chunks.empty(), get().o.where,
                      [&](auto const& c, cpu const& where) { c.validate(where); });
    all.rooms = all.entries = static_cast<std::size_t>(a.row_ptr.back());
  } else {
    all = detail::check_segments("dynamic_csr", a.view(), a.used);
  }
  std::size_t before = 0;
  for (std::size_t i = 0; !a.length.empty() && i < a.row_ptr.size(); ++i) {
    bool const is_empty = i + 1 == a.row_ptr.size() || a.length[i] == 0;
    require(static_cast<std::size_t>(a.row_ptr[i]) == before &&
                (is_empty || a.segment[0][i] == a.row_ptr[i]),
            "it is not where row_ptr says", i);
    before += is_empty ? 0 : static_cast<std::size_t>(a.length[i]);
  }
  array<bool> seen(a.order.row.size(), false, get().o.where.memory);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    auto const row = static_cast<std::size_t>(a.order.row[i]);
    require(row < seen.size() && !seen[row], "the order has it twice", row);
    seen[row] = true;
    require(a.order.bin[i] ==
                dynamic::bin_of(static_cast<std::size_t>(a.view().size(static_cast<I>(i)))),
            "it is in another bin", i);
  }
  for (std::size_t k = 0; k < a.pending_count(); ++k) {
    auto const& l = *a.pending;
    auto const i = static_cast<std::size_t>(l.row[k]);
    require(i < static_cast<std::size_t>(a.rows) && (k == 0 || l.row[k - 1] <= l.row[k]),
            "its pending entries are out of order", i);
    require(static_cast<std::size_t>(l.ptr[i / group_rows]) <= k &&
                k < static_cast<std::size_t>(l.ptr[i / group_rows + 1]),
            "pending entries are not where their group says", i);
    require(l.col[k] >= 0 && l.col[k] < a.cols, "a pending column is out of range", i);
  }
  require(all.entries + a.pending_count() == a.entries, "the entries are more or fewer", 0);
  require(all.rooms + a.left == a.used, "places that rows have and have left are not all", 0);
}

template <class V, class I>
void dynamic_csr<V, I>::defragment(dynamic_defragment d) {
  state& s = get();
  std::lock_guard const one_at_a_time(s.writers);
  detail::typed_memory("defragment", [&] { s.rearrange(d); });
}

template <class V, class I>
void dynamic_csr<V, I>::defragment_in_background(dynamic_defragment d) {
  state& s = get();
  std::lock_guard const in_turn(s.background_lock);
  if (s.background.valid())
    s.background.get();
  auto const work = [&s, d] {
    std::lock_guard const one_at_a_time(s.writers);
    detail::typed_memory("defragment", [&] { s.rearrange(d); });
  };
  try {
    s.background = std::async(std::launch::async, work);
  } catch (std::system_error const&) { // no thread can be made
    work();
  } catch (std::bad_alloc const&) {
    work();
  }
}

template <class V, class I>
void dynamic_csr<V, I>::wait() {
  state& s = get();
  std::lock_guard const in_turn(s.background_lock);
  if (s.background.valid())
    s.background.get();
}

template <class V, class I>
void dynamic_csr<V, I>::resize(I rows, I cols) {
  state& s = get();
  detail::check_shape("resize", rows, cols);
  std::lock_guard const one_at_a_time(s.writers);
  detail::typed_memory("resize", [&] {
    dynamic::limited_options const with("resize", s.o);
    auto& a = s.a;
    bool const appends = rows >= a.rows && cols >= a.cols && a.rows > 0;
    if (appends && (rows == a.rows || (a.order.empty() && s.o.width == 0))) { // no entry is copied
      std::optional<dynamic::more_rows<V, I>> more;
      if (rows > a.rows)
        more.emplace(a, rows, with.o.where.memory);
      auto const alone = s.changing();
      if (more)
        more->swap(a);
      a.cols = cols;
      return;
    }
    auto next =
        dynamic::resized(a, rows, cols, with.o, rows > 0 && (s.is_tight() || !a.row_ptr.empty()));
    auto const alone = s.changing();
    std::swap(a, next);
  });
}

template <class V, class I>
V dynamic_csr<V, I>::at(I i, I j) const {
  auto const shared = get().reading();
  get().check_entry("at", i, j);
  V sum(0);
  get().a.view().each_segment(i, [&](I const* col, V const* val, I n) {
    for (I k = 0; k < n; ++k)
      if (col[k] == j)
        sum += val[k];
  });
  return sum;
}

template <class V, class I>
csr<V, I, I> dynamic_csr<V, I>::to_csr() const {
  return detail::typed_memory("to_csr", [&] {
    auto const shared = get().reading();
    dynamic::limited_options const with("to_csr", get().o);
    return dynamic::released(
        dynamic::defragmented(get().a.view(), with.o, {.combine = true, .compact = true}));
  });
}

template <class V, class I>
dynamic_snapshot<V, I> dynamic_csr<V, I>::snapshot() const {
  state& s = get();
  std::lock_guard const no_batch(s.writers);
  auto const copy = detail::typed_memory("snapshot", [&] {
    dynamic::limited_options const with("snapshot", s.o);
    return std::make_shared<dynamic::shared_rows<V, I> const>(s.a, with.o.where.memory);
  });
  dynamic_snapshot<V, I> made;
  made.view_ = copy->a.view();
  made.owner_ = copy;
  return made;
}

template <class V, class I>
dynamic_snapshot<V, I> dynamic_csr<V, I>::freeze() {
  state& s = get();
  return detail::typed_memory("freeze", [&] {
    dynamic::limited_options const with("freeze", s.o);
    std::lock_guard const one_at_a_time(s.writers);
    std::optional<dynamic::dynamic_rows<V, I>> next;
    if (!s.a.is_csr())
      next = s.rearranged(s.a, {.compact = true}, with.o);
    auto const copy =
        std::make_shared<dynamic::shared_rows<V, I> const>(next ? *next : s.a, with.o.where.memory);
    dynamic_snapshot<V, I> made;
    made.view_ = copy->a.view();
    made.owner_ = copy;
    if (next) {
      auto const alone = s.changing();
      std::swap(s.a, *next);
    }
    return made;
  });
}

template <class V, class I>
csr<V, I, I> dynamic_snapshot<V, I>::to_csr(cpu const& where) const {
  return detail::typed_memory("to_csr", [&] {
    dynamic_options o;
    o.where = where;
    dynamic::limited_options const with("to_csr", o);
    return dynamic::released(
        dynamic::defragmented(view_, with.o, {.combine = true, .compact = true}));
  });
}

template <class V, class I>
csr_view<V, I, I> dynamic_snapshot<V, I>::as_csr() const {
  if (!view_.row_ptr || view_.pending_ptr)
    fail(errc::unsupported, "dynamic_snapshot: its rows have room between them, or entries apart; "
                            "freeze() makes a compact one");
  return {unchecked,
          view_.rows,
          view_.cols,
          view_.entries,
          view_.row_ptr,
          view_.entries ? view_.pages[0].col : nullptr,
          view_.entries ? view_.pages[0].val : nullptr};
}

#define TULLE_MEMBERS(tag, V, I, O)                                                                \
  template dynamic_csr<V, I>::dynamic_csr(std::unique_ptr<state>);                                 \
  template dynamic_csr<V, I>::dynamic_csr(dynamic_csr&&) noexcept;                                 \
  template dynamic_csr<V, I>& dynamic_csr<V, I>::operator=(dynamic_csr&&) noexcept;                \
  template dynamic_csr<V, I>::~dynamic_csr();                                                      \
  template dynamic_csr<V, I>::dynamic_csr(I, I, options const&);                                   \
  template dynamic_csr<V, I> dynamic_csr<V, I>::from_csr(csr_view<V, I, I>, options const&);       \
  template dynamic_csr<V, I> dynamic_csr<V, I>::from_coo(coo_view<V, I, I>, options const&);       \
  template dynamic_csr<V, I> dynamic_csr<V, I>::adopt(csr<V, I, I>&&, options const&);             \
  template dynamic_csr<V, I>::state& dynamic_csr<V, I>::get() const;                               \
  template I dynamic_csr<V, I>::rows() const;                                                      \
  template I dynamic_csr<V, I>::cols() const;                                                      \
  template dynamic_shape dynamic_csr<V, I>::shape() const;                                         \
  template void dynamic_csr<V, I>::validate() const;                                               \
  template void dynamic_csr<V, I>::defragment(dynamic_defragment);                                 \
  template void dynamic_csr<V, I>::defragment_in_background(dynamic_defragment);                   \
  template void dynamic_csr<V, I>::wait();                                                         \
  template void dynamic_csr<V, I>::resize(I, I);                                                   \
  template V dynamic_csr<V, I>::at(I, I) const;                                                    \
  template csr<V, I, I> dynamic_csr<V, I>::to_csr() const;                                         \
  template dynamic_snapshot<V, I> dynamic_csr<V, I>::snapshot() const;                             \
  template dynamic_snapshot<V, I> dynamic_csr<V, I>::freeze();                                     \
  template class dynamic_snapshot<V, I>;
TULLE_TYPES(TULLE_MEMBERS)
#undef TULLE_MEMBERS

} // namespace tulle
