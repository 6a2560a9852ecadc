// SPDX-License-Identifier: Apache-2.0

// C = alpha A + beta B, by the bits of merge_bits.hpp: A and B are compared once, and filling C is
// one loop without rows.
//
// Bytes that must move, double with 32-bit indices: 4 an entry of A and B to merge; 12 of each to
// read and 12 to write an entry of C to fill; with a plan 8 of each, and a quarter for the bits.
#include "tulle/op/add.hpp"

#include "tulle/core/limited.hpp"

#include "op/add_row.hpp"
#include "op/known_pattern.hpp"
#include "op/merge_bits.hpp"
#include "reference/add.hpp"

#include <chrono>

namespace tulle {
namespace {

using detail::add_padded;
using detail::before;
using detail::check_operand;
using detail::join_columns;
using detail::join_entries;
using detail::join_values;
using detail::merge_bytes;
using detail::merge_table;
template <class V, class I, class O>
void check_operands(char const* op, csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                    where const& w) {
  check_operand(op, "A", a, w);
  check_operand(op, "B", b, w);
  if (a.rows != b.rows || a.cols != b.cols)
    fail(errc::shape_mismatch, "%s: A is %lld x %lld but B is %lld x %lld", op,
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
}

/// C with its row_ptr and room for its entries; `memory` becomes the merge table.
template <class V, class I, class O>
csr<V, I, O> merged(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, int parts,
                    array<std::byte>& memory, where const& w, std::size_t taken) {
  std::size_t const bytes = merge_bytes(a, b, parts);
  if (taken + bytes > w.workspace_limit)
    fail(errc::out_of_memory, "add: %zu bytes of workspace wanted, the limit is %zu", taken + bytes,
         w.workspace_limit);
  memory = array<std::byte>(bytes, w.memory);
  merge_table const t(memory.data(), parts);
  csr<V, I, O> c(unchecked, a.rows, a.cols,
                 array<O>(static_cast<std::size_t>(a.rows) + 1, w.memory), {}, {});
  c.row_ptr[0] = 0;
  merge(a, b, t, parts, c.row_ptr.data());
  auto const nnz = static_cast<std::size_t>(narrow<O>(t.entry[parts], "add: number of entries"));
  c.col = array<I>(nnz, w.memory);
  c.val = array<V>(nnz, w.memory);
  detail::parallel(parts, [&](int part) {
    for (std::size_t i = t.row[part]; i < t.row[part + 1]; ++i)
      c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + static_cast<O>(t.entry[part]));
  });
  return c;
}

template <class V, class I, class O>
int parts_of(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w) {
  return detail::parts_for(static_cast<std::size_t>(a.nnz) + static_cast<std::size_t>(b.nnz) +
                               static_cast<std::size_t>(a.rows),
                           w.threads);
}

/// a, or its canonical form where that is something else.
template <class V, class I, class O>
csr_view<V, I, O> sorted(csr_view<V, I, O> const& a, bool is_canonical, csr<V, I, O>& copy,
                         detail::limited const& space) {
  if (is_canonical)
    return a;
  copy = a.to_csr(space.counted());
  return copy.view();
}

/// Row by row, by one of the methods for sparse vectors: into room for all entries of both, then
/// together.
template <class V, class I, class O>
csr<V, I, O> add_by_rows(add_method m, V alpha, csr_view<V, I, O> const& a, V beta,
                         csr_view<V, I, O> const& b, where const& w, std::size_t taken) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const cols = static_cast<std::size_t>(a.cols);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < rows; ++i)
    longest = std::max(longest, before(a, b, i + 1) - before(a, b, i));
  int parts = parts_of(a, b, w);
  std::size_t const scratch = add_padded(detail::add_scratch_bytes<V, I>(m, longest, cols));
  std::size_t const room = rows == 0 ? 0 : before(a, b, rows);
  auto const bytes = [&] {
    auto const n = static_cast<std::size_t>(parts);
    return taken + checked_mul(scratch, n, "add") + (n + 1) * sizeof(std::size_t) +
           checked_mul(room, sizeof(V) + sizeof(I), "add");
  };
  while (parts > 1 && bytes() > w.workspace_limit)
    --parts;
  if (bytes() > w.workspace_limit)
    fail(errc::out_of_memory, "add: %zu bytes of workspace wanted, the limit is %zu", bytes(),
         w.workspace_limit);
  array<std::byte> memory(scratch * static_cast<std::size_t>(parts), w.memory);
  array<I> col(room, w.memory);
  array<V> val(room, w.memory);
  array<O> row_ptr(rows + 1, w.memory);
  array<std::size_t> entry(static_cast<std::size_t>(parts) + 1, w.memory);
  row_ptr[0] = 0;
  entry[0] = 0;
  auto const first_row = [&](int part) {
    return detail::split(rows, part, parts); // methods to be compared need no more balance
  };
  detail::parallel(parts, [&](int part) {
    detail::add_scratch const s{memory.data() + scratch * static_cast<std::size_t>(part), cols};
    detail::clear_add_scratch(m, s);
    std::size_t n = 0;
    for (std::size_t i = first_row(part); i < first_row(part + 1); ++i) {
      auto const row_of = [i](csr_view<V, I, O> const& x, V factor) {
        return detail::scaled_row<V, I>{x.col + x.row_ptr[i], x.val + x.row_ptr[i],
                                        static_cast<std::size_t>(x.row_ptr[i + 1] - x.row_ptr[i]),
                                        factor};
      };
      std::size_t const at = before(a, b, i);
      n += detail::add_row(m, row_of(a, alpha), row_of(b, beta), col.data() + at, val.data() + at,
                           s);
      row_ptr[i + 1] = static_cast<O>(n); // fits if all of C does
    }
    entry[static_cast<std::size_t>(part) + 1] = n;
  });
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
    entry[p + 1] += entry[p];
  auto const nnz = static_cast<std::size_t>(narrow<O>(entry.back(), "add: number of entries"));
  csr<V, I, O> c(unchecked, a.rows, a.cols, std::move(row_ptr), array<I>(nnz, w.memory),
                 array<V>(nnz, w.memory));
  detail::parallel(parts, [&](int part) {
    std::size_t from = 0;
    std::size_t const base = entry[static_cast<std::size_t>(part)];
    for (std::size_t i = first_row(part); i < first_row(part + 1); ++i) {
      auto const to = static_cast<std::size_t>(c.row_ptr[i + 1]);
      std::copy_n(col.data() + before(a, b, i), to - from, c.col.data() + base + from);
      std::copy_n(val.data() + before(a, b, i), to - from, c.val.data() + base + from);
      c.row_ptr[i + 1] = static_cast<O>(base + to);
      from = to;
    }
  });
  return c;
}

} // namespace

namespace detail {

template <class V, class I, class O>
csr<V, I, O> add(where const& w, V alpha, csr_view<V, I, O> a, V beta, csr_view<V, I, O> b,
                 add_options o) {
  stoppable const here;
  check_operands("add", a, b, w);
  return typed_memory("add", [&] {
    limited const space("add", w);
    csr<V, I, O> copy_a, copy_b;
    a = sorted(a, a.is_canonical(w.as_cpu()), copy_a, space);
    b = sorted(b, b.is_canonical(w.as_cpu()), copy_b, space);
    if (w.backend == backend::reference)
      return kernels::reference::add(alpha, a, beta, b, w.memory);
    if (o.method != add_method::automatic && o.method != add_method::merge)
      return add_by_rows(o.method, alpha, a, beta, b, w, space.taken());
    array<std::byte> memory;
    int const parts = parts_of(a, b, w);
    csr<V, I, O> c = merged(a, b, parts, memory, w, space.taken());
    expand_all(a, b, merge_table(memory.data(), parts), parts,
               join_entries<V, I>{{a.col, b.col, c.col.data()},
                                  {alpha, a.val, beta, b.val, c.val.data()}});
    return c;
  });
}

} // namespace detail

template <class V, class I, class O>
add_plan<V, I, O>::add_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b) : where_(w) {
  detail::typed_memory("add", [&] { make(a, b); });
}

template <class V, class I, class O>
void add_plan<V, I, O>::make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  where const& w = where_;
  auto const start = std::chrono::steady_clock::now();
  check_operands("add", a, b, w);
  a_canonical_ = a.is_canonical(w.as_cpu());
  b_canonical_ = b.is_canonical(w.as_cpu());
  a_ = detail::know(a, w.threads);
  b_ = detail::know(b, w.threads);
  if (w.backend == backend::reference) {
    result_ = detail::add(w, V(0), a, V(0), b, {});
    path_ = "reference csr";
  } else {
    detail::limited const space("add", w);
    csr<V, I, O> copy_a, copy_b;
    csr_view<V, I, O> const from_a = sorted(a, a_canonical_, copy_a, space);
    csr_view<V, I, O> const from_b = sorted(b, b_canonical_, copy_b, space);
    parts_ = parts_of(from_a, from_b, w);
    result_ = merged(from_a, from_b, parts_, workspace_, w, space.taken());
    expand_all(from_a, from_b, merge_table(workspace_.data(), parts_), parts_,
               join_columns<I>{from_a.col, from_b.col, result_.col.data()});
    std::fill(result_.val.begin(), result_.val.end(), V(0));
    path_ = "cpu csr by merged bits";
  }
  if (!a_canonical_ || !b_canonical_)
    path_ += a_canonical_   ? ", B sorted first"
             : b_canonical_ ? ", A sorted first"
                            : ", A and B sorted first";
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class V, class I, class O>
void add_plan<V, I, O>::check_shape(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) const {
  check_operands("add", a, b, where_);
  if (a.rows != result_.rows || a.cols != result_.cols)
    fail(errc::shape_mismatch, "add: the plan is for %lld x %lld, A is %lld x %lld",
         static_cast<long long>(result_.rows), static_cast<long long>(result_.cols),
         static_cast<long long>(a.rows), static_cast<long long>(a.cols));
}

template <class V, class I, class O>
void add_plan<V, I, O>::check(csr_view<V, I, O> a, csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "add");
  check_shape(a, b);
  detail::check_pattern("add", "A", a, a_, where_.threads);
  detail::check_pattern("add", "B", b, b_, where_.threads);
}

template <class V, class I, class O>
csr<V, I, O> const& add_plan<V, I, O>::run(V alpha, csr_view<V, I, O> a, V beta,
                                           csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "add");
  check_shape(a, b);
  detail::recognise("add", "A", a, a_, where_.threads);
  detail::recognise("add", "B", b, b_, where_.threads);
  if (where_.backend == backend::reference) {
    result_ = detail::add(where_, alpha, a, beta, b, {});
    return result_;
  }
  where rest = where_;
  rest.workspace_limit -= rest.workspace_limit == SIZE_MAX ? 0 : workspace_.bytes();
  detail::limited const space("add", rest);
  csr<V, I, O> copy_a, copy_b;
  a = sorted(a, a_canonical_, copy_a, space);
  b = sorted(b, b_canonical_, copy_b, space);
  expand_all(a, b, merge_table(workspace_.data(), parts_), parts_,
             join_values<V>{alpha, a.val, beta, b.val, result_.val.data()});
  return result_;
}

#define TULLE_ADD(tag, V, I, O)                                                                    \
  template csr<V, I, O> detail::add(where const&, V, csr_view<V, I, O>, V, csr_view<V, I, O>,      \
                                    add_options);                                                  \
  template class add_plan<V, I, O>;
TULLE_TYPES(TULLE_ADD)
TULLE_BASIC_TYPES(TULLE_ADD)
#undef TULLE_ADD

} // namespace tulle
