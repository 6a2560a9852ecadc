// SPDX-License-Identifier: Apache-2.0

// C += A B, C dynamic: spgemm's rows, written where they stay. King et al., sec. 3.2: no csr of the
// product in between, and rows come in any order. The stages of spgemm survey and count; then
//   planned: a row that has the room takes its products there, another gets a segment for them;
//   computed: into places that no reader looks at yet, so readers go on;
//   made: the tables, while nobody reads.
//
// Unlike the paper, rows are counted first and places dealt in their order, not as threads come to
// ask for some, so the matrix does not depend on the schedule. A row is computed as one piece: its
// last segment loses the room that it has to spare, and what fits the room of its segments is
// computed behind all rows and copied there.
#include "tulle/op/spgemm.hpp"

#include "dynamic/batch.hpp"
#include "op/spgemm_operands.hpp"

#include <optional>

namespace tulle {
namespace dynamic {
namespace {

template <class V, class I>
class product_change {
public:
  product_change(dynamic_rows<V, I>& a, dynamic_options const& o, detail::spgemm_stages& stages)
      : a_(a), o_(o), stages_(stages), rows_(static_cast<std::size_t>(a.rows)),
        parts_(detail::parts_for(rows_, o.where.threads)), count_(rows_ + 1, o.where.memory),
        grown_(rows_, o.where.memory), place_(rows_, o.where.memory),
        sums_(static_cast<std::size_t>(parts_), part_sums{}, o.where.memory) {
    products_ = static_cast<std::size_t>(
        narrow<I>(stages.count(count_.data()), "add_product: number of entries"));
  }

  /// Everything that can fail. Whether there is anything to do.
  bool plan() {
    narrow<I>(a_.entries + products_, "add_product: number of entries");
    each_row([&](std::size_t i, std::size_t n, part_sums& s) {
      row_room const r = room_of(a_, i);
      bool const fits = r.length + n <= r.places;
      I const grown = fits ? I(0) : new_segment(a_, o_, r.in_use, r.length + n, r.length);
      grown_[i] = grown;
      s.places += size_of(grown);
      s.passing += fits ? n : 0;
      s.levels = std::max(s.levels, grown > 0 ? r.in_use + 1 : 1);
    });
    std::size_t passing = 0;
    for (part_sums& s : sums_) {
      levels_ = std::max(levels_, s.levels);
      places_ += s.places;
      s.places = places_ - s.places;
      passing += s.passing;
      s.passing = passing - s.passing;
    }
    for (part_sums& s : sums_) // behind all segments
      s.passing += places_;
    if (places_ + passing > a_.places - a_.used)
      growth_.emplace(a_, places_ + passing, o_.limit, o_.where.memory);
    for (int s = 1; s < levels_; ++s)
      if (a_.segment[s].empty())
        tables_[s] = array<I>(2 * a_.pitch, I(0), o_.where.memory);
    each_row([&](std::size_t i, std::size_t n, part_sums& s) {
      std::size_t const stays = grown_[i] < 0 ? room_of(a_, i).length : 0; // before the products
      place_[i] = static_cast<I>(grown_[i] == 0 ? s.passing : s.places + stays);
      s.places += size_of(grown_[i]);
      s.passing += grown_[i] == 0 ? n : 0;
    });
    return products_ > 0;
  }

  /// Room, before anything is computed.
  void grow() noexcept {
    if (growth_)
      growth_->take(a_);
    for (int s = 1; s < levels_; ++s)
      if (a_.segment[s].empty())
        a_.segment[s].swap(tables_[s]);
  }

  /// Writes where no reader looks.
  void compute() noexcept {
    dynamic_view<V, I> const view = a_.view();
    dynamic_page<V, I> const to = a_.at(a_.used); // the rest of its chunk follows
    stages_.fill_at(place_.data(), to.col, to.val);
    each_row([&](std::size_t i, std::size_t n, part_sums&) {
      if (grown_[i] > 0)
        return;
      std::size_t const length = room_of(a_, i).length;
      I const* const col = to.col + place_[i];
      V const* const val = to.val + place_[i];
      if (grown_[i] < 0) { // the row comes before its products
        dynamic_source<V, I>{view}.copy(i, to.col + place_[i] - length,
                                        to.val + place_[i] - length);
        return;
      }
      row_places<V, I> const row(a_, i);
      row_cursor<V, I> at{row};
      at.skip(length);
      for (std::size_t k = 0; k < n; ++k)
        at.put(col[k], val[k]);
    });
  }

  void make() noexcept {
    each_row([&](std::size_t i, std::size_t n, part_sums& s) {
      row_room const old = room_of(a_, i);
      bool const moves = grown_[i] < 0;
      if (grown_[i] != 0) {
        s.left += cut_row(a_, i, moves ? 0 : old.length);
        give_segment(a_, i, moves ? 0 : old.in_use,
                     a_.used + static_cast<std::size_t>(place_[i]) - (moves ? old.length : 0),
                     size_of(grown_[i]));
      }
      set_length(a_, i, old.length + n);
      std::atomic_ref(a_.in_group[i / group_rows])
          .fetch_add(static_cast<I>(n), std::memory_order_relaxed);
    });
    for (part_sums const& s : sums_)
      a_.left += s.left;
    a_.used += places_;
    a_.entries += products_;
    a_.row_ptr.swap(old_row_ptr_);
    for (std::size_t i = 0; !a_.order.empty() && i < rows_; ++i)
      a_.reorder(i);
  }

private:
  struct part_sums {
    std::size_t places = 0;  // of new segments; then: the first
    std::size_t passing = 0; // places of products that have room elsewhere; then: the first
    std::size_t left = 0;
    int levels = 0;
  };

  static std::size_t size_of(I grown) {
    return static_cast<std::size_t>(grown < 0 ? ~grown : grown);
  }

  /// f(row, its products, sums of the part) for rows that have any.
  template <class F>
  void each_row(F const& f) {
    detail::parallel(parts_, [&](int part) {
      std::size_t const end = detail::split(rows_, part + 1, parts_);
      part_sums s = sums_[static_cast<std::size_t>(part)];
      for (std::size_t i = detail::split(rows_, part, parts_); i < end; ++i) {
        I const before = i % stages_.block_rows() == 0 ? I(0) : count_[i];
        if (count_[i + 1] != before)
          f(i, static_cast<std::size_t>(count_[i + 1] - before), s);
      }
      sums_[static_cast<std::size_t>(part)] = s;
    });
  }

  dynamic_rows<V, I>& a_;
  dynamic_options const& o_;
  detail::spgemm_stages& stages_;
  std::size_t rows_;
  int parts_;
  array<I> count_; // as the stages leave it
  array<I> grown_; // of a row: places of its new segment; ~places: to which it moves
  array<I> place_; // of its first product, from the first that no row has had
  array<part_sums> sums_;
  std::size_t products_ = 0;
  std::size_t places_ = 0;
  int levels_ = 0;
  std::optional<growth<V, I>> growth_;
  array<I> tables_[most_segments];
  array<I> old_row_ptr_;
};

/// By a csr of the product, which counts.
template <class V, class I>
void merge_product(typename dynamic_csr<V, I>::state& s, csr_view<V, I, I> b, csr_view<V, I, I> c,
                   spgemm_options how) {
  limited_options const with("add_product", s.o);
  where w(with.o.where);
  if (with.space.left() != SIZE_MAX)
    w.workspace_limit = with.space.left() / 2;
  csr<V, I, I> const product = detail::spgemm(w, b, c, how);
  merge<V, I>(s, product.view(), with.o);
}

} // namespace
} // namespace dynamic

template <class V, class I>
void dynamic_csr<V, I>::add_product(csr_view<V, I, I> b, csr_view<V, I, I> c, spgemm_options how) {
  state& s = get();
  where const w(s.o.where);
  detail::check_product(b, c, w);
  auto const check_size = [&](dynamic::extent<I> size) {
    if (size != dynamic::extent<I>{b.rows, c.cols})
      fail(errc::shape_mismatch, "add_product: B C is %lld x %lld, A is %lld x %lld",
           static_cast<long long>(b.rows), static_cast<long long>(c.cols),
           static_cast<long long>(size.rows), static_cast<long long>(size.cols));
  };
  check_size(s.size());
  detail::typed_memory("add_product", [&] {
    if (s.o.duplicates == on_duplicate::combine || how.method == spgemm_method::global_esc)
      return dynamic::merge_product<V, I>(s, b, c, how);
    detail::product_operands<V, I, I> const from(b, c, detail::which_canonical(b, c, w), w);
    auto const stages = detail::make_stages(from.a, from.b, how, w, from.room());
    options o = s.o; // what the product takes comes before what the matrix does
    o.where.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : from.taken + stages->bytes();
    dynamic::limited_options const with("add_product", o);
    std::lock_guard const one_at_a_time(s.writers);
    check_size({s.a.rows, s.a.cols}); // it may have been resized meanwhile
    auto next = s.tidied(false, with.o);
    dynamic::tables_for_change<V, I> tables(s, next, with.o);
    dynamic::product_change<V, I> change(next ? *next : s.a, with.o, *stages);
    if (!change.plan())
      return;
    tables.keep();
    {
      auto const alone = s.changing();
      change.grow();
    }
    change.compute();
    auto const alone = s.changing();
    change.make();
    if (next)
      std::swap(s.a, *next);
  });
}

#define TULLE_PRODUCT(tag, V, I, O)                                                                \
  template void dynamic_csr<V, I>::add_product(csr_view<V, I, I>, csr_view<V, I, I>,               \
                                               spgemm_options);
TULLE_TYPES(TULLE_PRODUCT)
#undef TULLE_PRODUCT

} // namespace tulle
