// SPDX-License-Identifier: Apache-2.0

/// C = A B over any semiring, optionally restricted to a mask.
///
///     auto d = tulle::spgemm(tulle::min_plus(), a, a);                     // two steps
///     auto t = tulle::spgemm(tulle::mask(l), tulle::plus_pair(), l, l);    // triangles
///     auto n = tulle::spgemm(tulle::mask(a, {.complement = true}), tulle::or_and(), a, a);
///
/// C has the places that products fall on and that are (complement: are not) places of the mask,
/// whatever values those have; rows ascend. An entry's products are added in the order of A's row,
/// so the result is the same for every number of threads. Compiled where it is used, so that any
/// functor may be the semiring; plus_times without a mask is faster by spgemm(a, b).
///
/// Workspace: per thread one value, one byte and one bit per column of B; fewer threads run if
/// workspace_limit requires it. Copies of operands that are not csr, or not canonical, count.
///
/// Matrices on a device take the named semirings of op/semiring.hpp alone, for complex values
/// plus_times alone. Without a mask the usual product comes first, for its places. Beside C a call
/// then takes what that takes; with a mask one value, one offset and one byte per entry of the
/// mask; with the complement of one, all of A B and as much for each of its entries. Calls wait for
/// the device.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/op/detail/operand.hpp"
#include "tulle/op/semiring.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tulle {

struct mask_options {
  bool complement = false; ///< what is not in the mask
};

/// A matrix as a mask: its places count, not its values.
template <class View>
struct mask_view {
  View base;
  bool complement;
};
template <detail::hub_operand M>
auto mask(M const& m, mask_options o = {}) {
  return mask_view<detail::view_type<M>>{detail::view_of(m), o.complement};
}

/// The same on a device.
struct device_mask {
  device_ref base;
  bool complement;
};
inline device_mask mask(device_ref const& m, mask_options o = {}) {
  return {m, o.complement};
}
inline device_mask mask(device_matrix const& m, mask_options o = {}) {
  return {m.ref(), o.complement};
}

namespace detail {

/// Rows of the mask as lists of columns; row_ptr is nullptr where there is none.
template <class I, class O>
struct mask_rows {
  O const* row_ptr = nullptr;
  I const* col = nullptr;
  bool complement = true;   // of nothing: all
  bool gives_order = false; // its rows ascend, and C's have no other places
};

/// One thread's row of C.
template <class S, class V, class I, class O>
class semiring_row {
  enum : std::uint8_t { absent, allowed, present, refused };

public:
  static std::size_t bytes(std::size_t cols) {
    return in_lines(cols) + in_lines(cols * sizeof(V)) + in_lines(words(cols) * 8) +
           in_lines(words(words(cols)) * 8);
  }
  semiring_row(S const& s, csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
               mask_rows<I, O> const& m, std::byte* at)
      : s_(s), a_(a), b_(b), mask_(m) {
    auto const cols = static_cast<std::size_t>(b.cols);
    state_ = reinterpret_cast<std::uint8_t*>(at);
    at += in_lines(cols);
    sum_ = reinterpret_cast<V*>(at);
    at += in_lines(cols * sizeof(V));
    found_ = reinterpret_cast<std::uint64_t*>(at);
    at += in_lines(words(cols) * 8);
    groups_ = reinterpret_cast<std::uint64_t*>(at);
    std::fill_n(state_, cols, std::uint8_t(absent));
    std::fill_n(found_, words(cols), 0);
    std::fill_n(groups_, words(words(cols)), 0);
  }

  /// Entries of row i; they go to col and val unless those are nullptr.
  std::size_t run(I i, I* col, V* val) {
    for_mask(i, [&](I j) { state_[j] = mask_.complement ? refused : allowed; });
    std::uint8_t const open = mask_.complement ? absent : allowed;
    std::size_t n = 0;
    for (O k = a_.row_ptr[i]; k < a_.row_ptr[i + 1]; ++k)
      for (O p = b_.row_ptr[a_.col[k]]; p < b_.row_ptr[a_.col[k] + 1]; ++p) {
        I const j = b_.col[p];
        if (state_[j] == open) {
          state_[j] = present;
          if (!mask_.gives_order)
            note(static_cast<std::size_t>(j));
          ++n;
          if (val)
            sum_[j] = s_.multiply(a_.val[k], b_.val[p]);
        } else if (state_[j] == present && val) {
          sum_[j] = s_.add(sum_[j], s_.multiply(a_.val[k], b_.val[p]));
        }
      }
    auto const put = [&](I j) {
      if (val && state_[j] == present) {
        *col++ = j;
        *val++ = sum_[j];
      }
      state_[j] = absent;
    };
    if (!mask_.gives_order)
      take_noted(put);
    for_mask(i, put);
    return n;
  }

private:
  static std::size_t in_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static std::size_t words(std::size_t bits) { return (bits + 63) / 64; }

  /// One bit for a column, and one for its word.
  void note(std::size_t j) {
    std::size_t const word = j / 64, group = word / 64;
    found_[word] |= std::uint64_t{1} << (j % 64);
    groups_[group] |= std::uint64_t{1} << (word % 64);
    first_ = std::min(first_, group);
    last_ = std::max(last_, group + 1);
  }
  /// f(j) for the columns that were noted, in ascending order; then none is.
  template <class F>
  void take_noted(F f) {
    for (; first_ < last_; ++first_)
      for (std::uint64_t some = std::exchange(groups_[first_], 0); some; some &= some - 1) {
        std::size_t const word = first_ * 64 + static_cast<std::size_t>(std::countr_zero(some));
        for (std::uint64_t bits = std::exchange(found_[word], 0); bits; bits &= bits - 1)
          f(static_cast<I>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    first_ = SIZE_MAX;
    last_ = 0;
  }
  template <class F>
  void for_mask(I i, F f) {
    if (mask_.row_ptr)
      for (O k = mask_.row_ptr[i]; k < mask_.row_ptr[i + 1]; ++k)
        f(mask_.col[k]);
  }

  S const& s_;
  csr_view<V, I, O> a_, b_;
  mask_rows<I, O> mask_;
  std::uint8_t* state_;
  V* sum_;
  std::uint64_t *found_, *groups_;          // without a mask, or with the complement of one
  std::size_t first_ = SIZE_MAX, last_ = 0; // of groups_
};

template <class S, class V, class I, class O>
csr<V, I, O> spgemm_semiring(where const& w, S const& s, csr_view<V, I, O> a, csr_view<V, I, O> b,
                             mask_rows<I, O> const& m, std::size_t taken) {
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "spgemm over a semiring: no %s backend is loaded", name(w.backend));
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "spgemm: A is %lld x %lld but B is %lld x %lld",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
  cpu left = w.as_cpu();
  left.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : taken;
  limited const space("spgemm", left);
  csr<V, I, O> copy_a, copy_b;
  if (!a.is_canonical(left)) {
    copy_a = a.to_csr(space.counted());
    a = copy_a.view();
  }
  if (!b.is_canonical(left)) {
    copy_b = b.to_csr(space.counted());
    b = copy_b.view();
  }
  auto const rows = static_cast<std::size_t>(a.rows);
  using row = semiring_row<S, V, I, O>;
  std::size_t const each = row::bytes(static_cast<std::size_t>(b.cols));
  int parts = parts_for(static_cast<std::size_t>(a.nnz) + rows, w.threads, 1 << 10);
  while (parts > 1 && each > space.left() / static_cast<std::size_t>(parts))
    --parts;
  if (each > space.left())
    fail(errc::out_of_memory, "spgemm: %zu bytes of workspace wanted at least, the limit is %zu",
         taken + space.taken() + each, w.workspace_limit);
  array<std::byte> scratch(each * static_cast<std::size_t>(parts), w.memory);
  csr<V, I, O> c(unchecked, a.rows, b.cols, array<O>(rows + 1, w.memory), {}, {});
  constexpr std::size_t block = 64; // rows taken at once
  auto const each_row = [&](auto&& f) {
    std::size_t next = 0;
    parallel(parts, [&](int part) {
      row r(s, a, b, m, scratch.data() + each * static_cast<std::size_t>(part));
      for (std::size_t first; (first = __atomic_fetch_add(&next, block, __ATOMIC_RELAXED)) < rows;)
        for (std::size_t i = first; i < std::min(rows, first + block); ++i)
          f(r, i);
    });
  };
  c.row_ptr[0] = 0;
  each_row([&](row& r, std::size_t i) {
    c.row_ptr[i + 1] = static_cast<O>(r.run(static_cast<I>(i), nullptr, nullptr));
  });
  std::size_t nnz = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    nnz += static_cast<std::size_t>(c.row_ptr[i + 1]);
    c.row_ptr[i + 1] = static_cast<O>(nnz);
  }
  narrow<O>(nnz, "spgemm: number of entries");
  c.col = array<I>(nnz, w.memory);
  c.val = array<V>(nnz, w.memory);
  each_row([&](row& r, std::size_t i) {
    r.run(static_cast<I>(i), c.col.data() + c.row_ptr[i], c.val.data() + c.row_ptr[i]);
  });
  return c;
}

} // namespace detail

/// C = A B over a semiring.
template <class S, detail::hub_operand A, detail::hub_operand B>
requires semiring<S, value_t<A>>
auto spgemm(where const& w, S const& s, A const& a, B const& b) {
  detail::limited const space("spgemm", w);
  auto const of_a = detail::hub_of(a, space.counted());
  auto const of_b = detail::hub_of(b, space.counted());
  return detail::spgemm_semiring(w, s, of_a.view, of_b.view, {}, space.taken());
}
template <class S, detail::hub_operand A, detail::hub_operand B>
requires semiring<S, value_t<A>>
auto spgemm(S const& s, A const& a, B const& b) {
  return spgemm(where{}, s, a, b);
}
/// Restricted to a mask, which has C's shape and the operands' index types.
template <class M, class S, detail::hub_operand A, detail::hub_operand B>
requires semiring<S, value_t<A>>
auto spgemm(where const& w, mask_view<M> const& mask, S const& s, A const& a, B const& b) {
  detail::limited const space("spgemm", w);
  auto const of_a = detail::hub_of(a, space.counted());
  auto const of_b = detail::hub_of(b, space.counted());
  auto const of_m = detail::hub_of(mask.base, space.counted());
  if (of_m.view.rows != of_a.view.rows || of_m.view.cols != of_b.view.cols)
    fail(errc::shape_mismatch, "spgemm: the mask is %lld x %lld but A B is %lld x %lld",
         static_cast<long long>(of_m.view.rows), static_cast<long long>(of_m.view.cols),
         static_cast<long long>(of_a.view.rows), static_cast<long long>(of_b.view.cols));
  return detail::spgemm_semiring(w, s, of_a.view, of_b.view,
                                 {of_m.view.row_ptr, of_m.view.col, mask.complement,
                                  !mask.complement && of_m.view.is_canonical(w.as_cpu())},
                                 space.taken());
}
template <class M, class S, detail::hub_operand A, detail::hub_operand B>
requires semiring<S, value_t<A>>
auto spgemm(mask_view<M> const& mask, S const& s, A const& a, B const& b) {
  return spgemm(where{}, mask, s, a, b);
}

namespace detail {
/// Without a mask where that is nullptr.
device_matrix spgemm_semiring(device const& where, device_mask const* mask, semiring_kind s,
                              matrix_ref const& a, matrix_ref const& b);
template <plain_matrix_on_device A, plain_matrix_on_device B>
device_matrix spgemm_semiring(device const& where, device_mask const* mask, semiring_kind s,
                              A const& a, B const& b) {
  return with_matrix(a, [&](matrix_ref const& of_a) {
    return with_matrix(
        b, [&](matrix_ref const& of_b) { return spgemm_semiring(where, mask, s, of_a, of_b); });
  });
}
} // namespace detail

/// On a device.
template <named_semiring S, detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(device const& where, S const&, A const& a, B const& b) {
  return detail::spgemm_semiring(where, nullptr, S::kind, a, b);
}
template <named_semiring S, detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(S const& s, A const& a, B const& b) {
  return spgemm(detail::home(a).as_device(), s, a, b);
}
template <named_semiring S, detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(device const& where, device_mask const& mask, S const&, A const& a,
                     B const& b) {
  return detail::spgemm_semiring(where, &mask, S::kind, a, b);
}
template <named_semiring S, detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(device_mask const& mask, S const& s, A const& a, B const& b) {
  return spgemm(detail::home(a).as_device(), mask, s, a, b);
}

} // namespace tulle
