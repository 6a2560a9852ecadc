// SPDX-License-Identifier: Apache-2.0

// sell and panels by trees that tools/choose/train.py fitted to measured times; dia and bcsr by the
// mean of the matrices that have diagonals or blocks at all, since others are several times as slow
// there. Held out by family, the pick reaches .974 of the fastest of these and csr in the mean;
// with a linear model it reached .964, with trees of eight leaves .971 (188 cases, two threads of
// Zen 5).
#include "choose/model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tulle::choose {
namespace {

/// Asks question 0, then 1 where the value is at most the threshold, else 2; two leaves for each.
struct tree {
  int field[3];
  float threshold[3];
  float leaf[4];

  double at(float const* x) const {
    int const side = x[field[0]] <= threshold[0] ? 1 : 2;
    int const leaf_of = 2 * (side - 1) + !(x[field[side]] <= threshold[side]);
    return static_cast<double>(leaf[leaf_of]);
  }
};

#include "choose/trees.inc"

template <std::size_t n>
double ratio_of(double base, tree const (&trees)[n], features const& m) {
  auto const nnz = static_cast<double>(m.nnz), rows = static_cast<double>(m.rows);
  auto const cols = static_cast<double>(m.cols), value = static_cast<double>(m.value_bytes);
  // In the order of FIELDS in train.py.
  double const fields[] = {std::log2(std::max(m.row_length, .5)),
                           m.changed_rows,
                           m.stepped_rows,
                           m.empty_rows,
                           m.far_entries,
                           m.distant_entries,
                           m.sliced_fill,
                           m.shifted,
                           m.same_columns,
                           m.diagonals,
                           std::log2(std::max(rows, 1.)),
                           std::log2(std::max(cols * value, 1.)),
                           std::log2(std::max(nnz * (value + 4) + 4 * rows, 1.)),
                           value};
  float x[std::size(fields)];
  std::transform(std::begin(fields), std::end(fields), x, [](double f) { return float(f); });
  double sum = base;
  for (tree const& t : trees)
    sum += t.at(x);
  return std::exp(sum);
}

// Diagonals of a stretch, stored whole, may take so many slots per entry: with 2.6 (bcsstk16) dia
// takes 1.5 times as long as csr.
constexpr double most_diagonal_fill = 2.2, longest_row_of_diagonals = 200;
constexpr double least_repeated = .6;

} // namespace

bool has_diagonals(features const& m) {
  return m.nnz > 0 && m.diagonal_fill < most_diagonal_fill &&
         m.row_length < longest_row_of_diagonals;
}
bool has_repeated_values(features const& m) {
  return has_diagonals(m) && m.repeated_values > least_repeated;
}

double product_of(format f, features const& m) {
  if (m.nnz == 0)
    return 1;
  bool const is_small_value = m.value_bytes <= 4; // indices are more of the bytes then
  switch (f) {
  case format::csr:
    return 1;
  case format::sell:
    return ratio_of(sell_base, sell_trees, m);
  case format::panels:
    return ratio_of(panels_base, panels_trees, m);
  case format::dia:
    return !has_diagonals(m) ? 3 : is_small_value ? .45 : .55;
  case format::bcsr:
    return m.same_columns < .5 ? 1.3 : is_small_value ? .65 : .72;
  case format::csr5: // means of 132 cases from here on: rarely the fastest, never by much
    return 1.25;
  case format::hyb:
  case format::cmrs:
    return 1.6;
  case format::ell:
    return 2;
  case format::coo:
    return 2.8;
  case format::csc:
  case format::scsr:
    return 3.1;
  case format::bsell:
    return 8;
  default:
    return 2;
  }
}

double triangle_of(format f, bool is_cached) {
  switch (f) { // from diffusion and fem of 10^5 to 10^6 rows
  case format::dia:
    return is_cached ? 2.2 : 1.2;
  case format::bcsr:
    return is_cached ? 2.5 : 1.35;
  case format::sell:
    return 3;
  default:
    return 2;
  }
}

double conversion_of(format f) {
  switch (f) { // medians of 188 cases, planning included
  case format::csr:
    return 0;
  case format::csr5:
  case format::bcsr:
    return cheapest_conversion;
  case format::sell:
    return 16;
  case format::hyb:
    return 18;
  case format::panels:
    return 29;
  case format::dia:
    return 45;
  default:
    return 27;
  }
}

} // namespace tulle::choose
