// SPDX-License-Identifier: Apache-2.0

/// What dense blocks promise, however their block rows are named: of bcsr, bcoo and bccoo.
#pragma once
#include "format/detail/blocks.hpp"
#include "format/detail/label.hpp"

#include <utility>

namespace tulle::detail {

/// Arrays of blocks have sizes that fit; returns the number of blocks as an O.
template <class O, class V, class I>
O check_block_sizes(char const* name, std::span<I const> block_col, std::span<V const> val,
                    std::span<std::uint64_t const> pattern, int height, int width) {
  std::size_t const slots = block_col.size() * static_cast<std::size_t>(height * width);
  if (val.size() != slots)
    fail(errc::bad_structure, "%s: %zu values for %zu blocks of %d x %d", name, val.size(),
         block_col.size(), height, width);
  if (!pattern.empty() && pattern.size() != (slots + 63) / 64)
    fail(errc::bad_structure, "%s: %zu words of pattern for %zu slots, expected %zu or none", name,
         pattern.size(), slots, (slots + 63) / 64);
  if (!pattern.empty() && !pattern.data())
    fail(errc::bad_structure, "%s: pattern is null, but there are %zu entries", name,
         pattern.size());
  return narrow<O>(block_col.size(), "number of blocks");
}

/// Checks blocks of the format of that name; throws errc::bad_structure.
template <class View>
class block_checker {
public:
  /// Shapes, and arrays as a whole.
  block_checker(char const* name, View const& a) : name_(name), a_(a) {
    check_shape(name, a.rows, a.cols);
    check_block_shape(name, a.height, a.width);
    if (a.blocks < 0)
      fail(errc::bad_structure, "%s: %lld blocks; that may not be negative", name,
           static_cast<long long>(a.blocks));
    size_ = static_cast<std::size_t>(a.height * a.width);
    std::size_t const slots = a.slots();
    block_cols_ = static_cast<I>(a.cols / a.width + (a.cols % a.width != 0));
    check_indices(label(name, "block_col"), a.block_col, static_cast<std::size_t>(a.blocks),
                  block_cols_);
    check_present(label(name, "val"), a.val, slots);
    if (a.pattern && slots % 64 != 0 && a.pattern[slots / 64] >> slots % 64 != 0)
      fail(errc::bad_structure, "%s: pattern has bits beyond the last of %zu slots", name, slots);
    whole_ = size_ == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << size_) - 1;
    auto const [below, beyond] = block_edges(a);
    below_ = below;
    beyond_ = beyond;
  }

  /// Of blocks [k, end), all of block row i.
  std::size_t entries(std::size_t i, std::size_t k, std::size_t end) const {
    std::size_t n = 0;
    for (std::size_t const begin = k; k < end; ++k) {
      if (k != begin && a_.block_col[k - 1] >= a_.block_col[k])
        fail(errc::bad_structure, "%s: block_col[%zu] is %lld after %lld in block row %zu", name_,
             k, static_cast<long long>(a_.block_col[k]),
             static_cast<long long>(a_.block_col[k - 1]), i);
      std::uint64_t const bits =
          a_.pattern ? bits_at(a_.pattern, k * size_, static_cast<int>(size_)) : whole_;
      std::uint64_t const outside = (i + 1 == a_.block_rows() ? below_ : 0) |
                                    (a_.block_col[k] == block_cols_ - 1 ? beyond_ : 0);
      if (bits & outside)
        fail(errc::bad_structure, "%s: block %zu stores slot %d, outside the %lld x %lld matrix",
             name_, k, std::countr_zero(bits & outside), static_cast<long long>(a_.rows),
             static_cast<long long>(a_.cols));
      for (std::uint64_t holes = whole_ & ~bits; holes != 0; holes &= holes - 1) {
        auto const s = k * size_ + static_cast<std::size_t>(std::countr_zero(holes));
        if (!(a_.val[s] == V{}))
          fail(errc::bad_structure, "%s: val[%zu] is a hole and not 0", name_, s);
      }
      n += static_cast<std::size_t>(std::popcount(bits)) * times(i, k, bits);
    }
    return n;
  }

  /// The sum of of_part(part), in parallel.
  template <class F>
  std::size_t count(int parts, F&& of_part) const {
    std::size_t all = 0;
    parallel(parts, [&](int part) {
      std::size_t const mine = of_part(part);
      __atomic_fetch_add(&all, mine, __ATOMIC_RELAXED);
    });
    return all;
  }
  void check_nnz(std::size_t entries) const {
    if (std::cmp_not_equal(entries, a_.nnz))
      fail(errc::bad_structure, "%s: the pattern has %zu entries, expected nnz, %lld", name_,
           entries, static_cast<long long>(a_.nnz));
  }

private:
  using V = typename View::value;
  using I = typename View::index;

  /// How often block k stands in the matrix: twice below the diagonal of symmetric storage.
  std::size_t times(std::size_t i, std::size_t k, std::uint64_t bits) const {
    if constexpr (requires { a_.symmetric; }) {
      if (!a_.symmetric)
        return 1;
      auto const j = static_cast<std::size_t>(a_.block_col[k]);
      if (j > i)
        fail(errc::bad_structure, "%s: block_col[%zu] is %zu, above the diagonal of %zu", name_, k,
             j, i);
      if (j == i && !is_symmetric_block(a_.val + k * size_, bits, a_.height))
        fail(errc::bad_structure, "%s: block %zu, on the diagonal, is not symmetric", name_, k);
      return j == i ? 1 : 2;
    }
    return 1;
  }

  char const* name_;
  View const& a_;
  std::size_t size_; // slots of a block
  I block_cols_;
  std::uint64_t whole_, below_, beyond_; // slots: all, those outside of the matrix at its ends
};

} // namespace tulle::detail
