// SPDX-License-Identifier: Apache-2.0

/// Fortran formats of input, such as (1P,4D20.13) or (10I8), and the numbers they cut from a line.
#pragma once
#include "io/parse_number.hpp"
#include "io/text_source.hpp"

#include <vector>

namespace tulle::detail {

/// Where one number stands on a line, and how it is meant.
struct fortran_field {
  std::size_t first = 0; ///< column, from 0
  std::size_t width = 0; ///< at most fortran_format::widest
  int decimals = 0;      ///< of a number without a point
  int scale = 0;         ///< of a number without an exponent: it was multiplied by 10^scale
};

/// The fields of one line; every line of numbers has the same.
struct fortran_format {
  static constexpr std::size_t widest = 64;
  std::vector<fortran_field> fields;
  bool skips = false; ///< there are columns that belong to no field

  /// "(...)" of I, F, E, D, G, X, P, repeat counts and groups. nullptr, or what is wrong with it.
  char const* parse(text_range text);
};

/// What a field says, without the blanks around it or behind an exponent's letter (1.0E 05).
struct fortran_number {
  /// A line ends before its newline. A field behind its end is blank.
  fortran_number(text_range line, fortran_field const& f);
  bool blank() const { return size_ == 0; }
  text_range text() const { return {text_, text_ + size_}; }
  parsed whole(std::uint64_t& out) const;
  parsed real(double& out) const;

private:
  fortran_field field_;
  std::size_t size_ = 0;
  char text_[fortran_format::widest + 1]; // ends in a newline, where parsers stop
};

} // namespace tulle::detail
