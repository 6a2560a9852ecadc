// SPDX-License-Identifier: Apache-2.0

// Pending entries of a compact matrix: kept apart, sorted by row, and merged into the rows later.
//
// Bytes that must move, double with 32-bit indices: 16 read and 16 written for each pending entry
// when more come, and 24 for each entry of the matrix when they are put where they belong.
#include "dynamic/batch.hpp"
#include "primitive/search.hpp"

namespace tulle::dynamic {

template <class V, class I>
std::shared_ptr<pending_entries<V, I> const>
joined(dynamic_rows<V, I> const& a, sorted_batch<V, I> const& b, dynamic_options const& o) {
  std::size_t const before = a.pending_count(), n = before + b.n, groups = a.groups();
  std::pmr::memory_resource* const memory = o.where.memory;
  auto const to = std::make_shared<pending_entries<V, I>>(pending_entries<V, I>{
      array<I>(groups + 1, memory), array<I>(n, memory), array<I>(n, memory), array<V>(n, memory)});
  int const parts = detail::parts_for(n, o.where.threads, 1 << 12);
  auto const group_of = [&](int part) { // that of an even share of the batch
    return part >= parts ? groups
           : part == 0
               ? 0
               : static_cast<std::size_t>(b.row[detail::split(b.n, part, parts)]) / group_rows;
  };
  auto const first_of = [](I const* row, std::size_t count, std::size_t group) {
    return primitive::lower_bound(row, count, static_cast<I>(group * group_rows));
  };
  I const* const row = before ? a.pending->row.data() : nullptr;
  detail::parallel(parts, [&](int part) {
    std::size_t g = group_of(part);
    std::size_t const last = group_of(part + 1);
    std::size_t p = first_of(row, before, g), q = first_of(b.row, b.n, g);
    std::size_t const stop = last < groups ? first_of(b.row, b.n, last) : b.n;
    std::size_t const end = last < groups ? first_of(row, before, last) : before;
    while (p < end || q < stop) {
      bool const is_new = p == end || (q < stop && b.row[q] < row[p]);
      I const i = is_new ? b.row[q] : row[p];
      for (; g <= static_cast<std::size_t>(i) / group_rows; ++g)
        to->ptr[g] = static_cast<I>(p + q);
      to->row[p + q] = i;
      to->col[p + q] = is_new ? b.col(q) : a.pending->col[p];
      to->val[p + q] = is_new ? b.val(q) : a.pending->val[p];
      ++(is_new ? q : p);
      if (is_new)
        b.ask_for(std::min(b.n - 1, q + 32)); // 16: as long
    }
    for (; g < last; ++g)
      to->ptr[g] = static_cast<I>(p + q);
  });
  to->ptr[groups] = static_cast<I>(n);
  return to;
}

template <class V, class I>
dynamic_rows<V, I> settled(dynamic_rows<V, I> const& a, pending_entries<V, I> const& l,
                           dynamic_options const& o) {
  auto const rows = static_cast<std::size_t>(a.rows);
  std::size_t const n = static_cast<std::size_t>(a.row_ptr[rows]) + l.row.size();
  std::pmr::memory_resource* const memory = o.where.memory;
  csr<V, I, I> to(unchecked, a.rows, a.cols, array<I>(rows + 1, memory), array<I>(n, memory),
                  array<V>(n, memory));
  I const* const col = a.chunks.empty() ? nullptr : a.chunks[0]->col.data();
  V const* const val = a.chunks.empty() ? nullptr : a.chunks[0]->val.data();
  int const parts = detail::parts_for(n, o.where.threads);
  detail::parallel(parts, [&](int part) {
    auto const group_of = [&](int p) { // by whichever are more
      return p == parts ? a.groups()
             : l.row.size() > n / 2
                 ? detail::split_by_entries(l.ptr.data(), a.groups(), p, parts)
                 : detail::split_by_entries(a.row_ptr.data(), rows, p, parts) / group_rows;
    };
    std::size_t const from = group_of(part), to_group = group_of(part + 1);
    std::size_t i = std::min(rows, from * group_rows);
    std::size_t const end = std::min(rows, to_group * group_rows);
    auto k = static_cast<std::size_t>(l.ptr[from]);
    auto const last = static_cast<std::size_t>(l.ptr[to_group]);
    auto p = static_cast<std::size_t>(a.row_ptr[i]);
    auto const copy = [&](std::size_t stop) {
      std::copy(col + p, col + stop, to.col.data() + p + k);
      std::copy(val + p, val + stop, to.val.data() + p + k);
      p = stop;
    };
    // Up to the next row that has pending entries, and those.
    while (i < end) {
      std::size_t const next = k < last ? static_cast<std::size_t>(l.row[k]) : end;
      for (; i < std::min(next + 1, end); ++i)
        to.row_ptr[i] = static_cast<I>(static_cast<std::size_t>(a.row_ptr[i]) + k);
      copy(static_cast<std::size_t>(a.row_ptr[i]));
      for (; k < last && static_cast<std::size_t>(l.row[k]) == next; ++k) {
        to.col[p + k] = l.col[k];
        to.val[p + k] = l.val[k];
      }
    }
  });
  to.row_ptr[rows] = static_cast<I>(n);
  return adopted(std::move(to), o);
}

#define TULLE_PENDING(tag, V, I, O)                                                                \
  template std::shared_ptr<pending_entries<V, I> const> joined(                                    \
      dynamic_rows<V, I> const&, sorted_batch<V, I> const&, dynamic_options const&);               \
  template dynamic_rows<V, I> settled(dynamic_rows<V, I> const&, pending_entries<V, I> const&,     \
                                      dynamic_options const&);
TULLE_TYPES(TULLE_PENDING)
#undef TULLE_PENDING

} // namespace tulle::dynamic
