// SPDX-License-Identifier: Apache-2.0

/// Dense matrices by rows, by columns and with gaps, of types that only run time tells.
#pragma once
#include "tulle/op/spmm.hpp"

#include "support/product.hpp"

#include <cstring>

namespace tulle::test {

enum class arrangement { rows, rows_apart, columns, columns_apart, scattered };
inline constexpr arrangement every_arrangement[] = {
    arrangement::rows, arrangement::rows_apart, arrangement::columns, arrangement::columns_apart,
    arrangement::scattered};
inline char const* name(arrangement a) {
  constexpr char const* names[] = {"by rows", "by rows with gaps", "by columns",
                                   "by columns with gaps", "scattered"};
  return names[static_cast<int>(a)];
}

/// Where the elements of a dense matrix are.
struct places {
  std::size_t rows, cols, row_stride, col_stride, begin = 0;

  std::size_t at(std::size_t i, std::size_t j) const {
    return begin + i * row_stride + j * col_stride;
  }
  /// Of what it lies in.
  std::size_t size() const { return rows == 0 || cols == 0 ? begin : at(rows - 1, cols - 1) + 1; }
  template <class T>
  dense_view<T> view(T* data) const {
    return {data + begin, rows, cols, row_stride, col_stride};
  }
};
inline places packed(std::size_t rows, std::size_t cols) {
  return {rows, cols, cols, 1};
}
inline places arranged(arrangement how, std::size_t rows, std::size_t cols) {
  switch (how) {
  case arrangement::rows:
    return packed(rows, cols);
  case arrangement::rows_apart:
    return {rows, cols, cols + 3, 1, 1};
  case arrangement::columns:
    return {rows, cols, 1, rows};
  case arrangement::columns_apart:
    return {rows, cols, 1, rows + 5, 2};
  case arrangement::scattered:
    break;
  }
  return {rows, cols, 3 * cols + 1, 3, 1};
}

/// `ground` with the elements of another, times a factor, in their places.
inline dense spread(dense const& from, places const& there, places const& here, dense ground,
                    double factor = 1) {
  std::visit(
      [&](auto& to) {
        using vector = std::remove_reference_t<decltype(to)>;
        auto const& values = std::get<vector>(from.values);
        for (std::size_t i = 0; i < here.rows; ++i)
          for (std::size_t j = 0; j < here.cols; ++j)
            to[here.at(i, j)] =
                static_cast<typename vector::value_type>(factor) * values[there.at(i, j)];
      },
      ground.values);
  return ground;
}

/// Equal, 0 and -0 too, or the same bits, as NaN may be.
inline bool same_values(dense const& a, dense const& b) {
  return a.size() == b.size() &&
         std::visit(
             [&](auto const& left) {
               auto const& right = std::get<std::remove_cvref_t<decltype(left)>>(b.values);
               for (std::size_t k = 0; k < left.size(); ++k)
                 if (!(left[k] == right[k]) &&
                     std::memcmp(static_cast<void const*>(&left[k]), &right[k], sizeof left[k]))
                   return false;
               return true;
             },
             a.values);
}

/// One call, with the plan where there is one.
inline void multiply_dense(where const& w, wide alpha, any_matrix const& a, bool transposed,
                           dense const& b, places const& b_places, wide beta, dense& c,
                           places const& c_places, spmm_plan* plan = nullptr) {
  std::visit(
      [&](auto& values) {
        using vector = std::remove_reference_t<decltype(values)>;
        using V = typename vector::value_type;
        dense_view<V const> const in = b_places.view(std::get<vector>(b.values).data());
        dense_view<V> const out = c_places.view(values.data());
        auto const factor = round_to<V>(alpha), scale = round_to<V>(beta);
        if (plan)
          transposed ? spmm(*plan, factor, tulle::transposed(a), in, scale, out)
                     : spmm(*plan, factor, a, in, scale, out);
        else
          transposed ? spmm(w, factor, tulle::transposed(a), in, scale, out)
                     : spmm(w, factor, a, in, scale, out);
      },
      c.values);
}

} // namespace tulle::test
