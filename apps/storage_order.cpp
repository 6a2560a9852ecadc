// SPDX-License-Identifier: Apache-2.0
#include "apps/storage_order.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/named_array.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/op/convert.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace tulle::app {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

using plain = csr<double, std::int32_t, std::int32_t>;
using entries_of = std::vector<storage_order::entry>;

/// The pattern with a number for each entry, from 1; of a pair the same one where `pairs`.
plain numbered(std::size_t rows, std::size_t cols, entries_of const& entries, bool pairs) {
  array<std::int32_t> row_ptr(rows + 1, 0), col(entries.size());
  array<double> val(entries.size());
  std::map<std::pair<std::size_t, std::size_t>, double> numbers;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    auto const [i, j, place] = entries[k];
    ++row_ptr[i + 1];
    col[k] = static_cast<std::int32_t>(j);
    val[k] = pairs
                 ? numbers.try_emplace(std::minmax(i, j), static_cast<double>(k + 1)).first->second
                 : static_cast<double>(k + 1);
  }
  for (std::size_t i = 0; i < rows; ++i)
    row_ptr[i + 1] += row_ptr[i];
  return plain(static_cast<std::int32_t>(rows), static_cast<std::int32_t>(cols), std::move(row_ptr),
               std::move(col), std::move(val));
}

entries_of entries_of_csr(any_matrix const& a) {
  return visit(a.type(), [&](auto types) {
    using T = decltype(types);
    auto const& c = *a.get_if<csr<typename T::value, typename T::index, typename T::offset>>();
    entries_of out;
    for (std::size_t i = 0; i < a.rows(); ++i)
      for (auto k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k)
        out.push_back({i, static_cast<std::size_t>(c.col[static_cast<std::size_t>(k)]), nowhere});
    return out;
  });
}

/// The place of each number, in the order of the arrays of values.
std::vector<std::size_t> places_of(any_matrix const& m, std::size_t numbers, std::size_t& slots) {
  std::vector<std::size_t> place(numbers + 1, nowhere);
  slots = 0;
  for (named_array const& a : arrays(m)) {
    if (a.element != element_type::f64)
      continue;
    for (double const v : a.as<double>()) {
      if (v >= 1 && v <= static_cast<double>(numbers))
        if (std::size_t& at = place[static_cast<std::size_t>(v)]; at == nowhere)
          at = slots;
      ++slots;
    }
  }
  return place;
}

} // namespace

storage_order storage_order_of(any_matrix const& csr, tulle::layout const& layout) {
  storage_order out;
  out.entries = entries_of_csr(csr);
  plain numbers = numbered(csr.rows(), csr.cols(), out.entries, false);
  any_matrix there;
  try {
    there = convert(numbers, layout);
  } catch (error const& e) {
    if (e.code() != errc::unsupported)
      throw;
    // A layout of one triangle needs a matrix that equals its transpose.
    numbers = numbered(csr.rows(), csr.cols(), out.entries, true);
    there = convert(numbers, layout);
  }
  std::vector<std::size_t> const place = places_of(there, out.entries.size(), out.slots);
  for (std::size_t k = 0; k < out.entries.size(); ++k) {
    out.entries[k].place = place[static_cast<std::size_t>(numbers.val[k])];
    if (out.entries[k].place == nowhere)
      fail(errc::unsupported, "spy: %s does not keep the values of all entries",
           name(layout).c_str());
  }
  return out;
}

} // namespace tulle::app
