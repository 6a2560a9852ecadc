// SPDX-License-Identifier: Apache-2.0
#include "io/matrix_market_parse.hpp"

namespace tulle::detail {
namespace {

using ull = unsigned long long;

text_range next_word(char const*& p) {
  p = skip_blanks(p);
  text_range word{p, p};
  while (*word.end != '\n' && !is_blank(*word.end))
    ++word.end;
  p = word.end;
  return word;
}

bool is_entry(char const* line) {
  char const first = *skip_blanks(line);
  return first != '\n' && first != '%';
}

/// parse(p, end, out) on one word and nothing else.
template <class T, class Parse>
parsed parse_word(text_range word, T& out, Parse parse) {
  // A copy, since a number ends at a newline.
  std::string copy(word.begin, word.end);
  copy += '\n';
  char const* p = copy.data();
  parsed const status = parse(p, copy.data() + copy.size(), out);
  return status != parsed::bad && p != copy.data() + word.size() ? parsed::bad : status;
}

} // namespace

std::vector<chunk> cut(text_range text, std::size_t bytes) {
  std::vector<chunk> out;
  out.reserve(std::min(text.size() / bytes + 1, text.size() / 2 + 1));
  for (char const* p = text.begin; p != text.end;) {
    char const* last = text.end;
    if (static_cast<std::size_t>(text.end - p) > bytes)
      last = static_cast<char const*>(std::memchr(
                 p + bytes - 1, '\n', static_cast<std::size_t>(text.end - p) - (bytes - 1))) +
             1;
    out.push_back({.text = {p, last}});
    p = last;
  }
  return out;
}

void explain(text_source const& source, std::uint64_t line_number, char const* line,
             line_kind const& kind, bool single) {
  using matrix_market::field;
  char const* const file = source.name();
  auto const at = static_cast<ull>(line_number);

  int const expected = kind.indices + kind.values();
  int found = 0;
  char const* p = line;
  while (!next_word(p).empty())
    ++found;
  p = line;
  std::uint64_t index[2] = {1, 1};
  for (int k = 0; k < std::min(kind.indices, found); ++k) {
    text_range const word = next_word(p);
    char const* const what = k == 0 ? "row" : "column";
    std::uint64_t const limit = k == 0 ? kind.rows : kind.cols;
    parsed const status = parse_word(word, index[k], parse_index);
    std::uint64_t ignored = 0;
    bool const negative = *word.begin == '-' && parse_word({word.begin + 1, word.end}, ignored,
                                                           parse_index) != parsed::bad;
    if (status == parsed::bad && !negative)
      fail(errc::io, "%s:%llu: expected a %s number, found '%s'", file, at, what,
           quoted(word).text);
    if (status != parsed::good || index[k] - 1 >= limit)
      fail(errc::io, "%s:%llu: %s %s is outside 1..%llu", file, at, what, quoted(word).text,
           static_cast<ull>(limit));
  }
  double value[2] = {};
  for (int k = 0; k < std::min(kind.values(), found - kind.indices); ++k) {
    text_range const word = next_word(p);
    bool const integer = kind.field == field::integer || kind.field == field::unsigned_integer;
    parsed status = parsed::bad;
    if (single) {
      float v = 0;
      status = integer ? parse_word(word, v, parse_integer<float>)
                       : parse_word(word, v, parse_real<float>);
      value[k] = v;
    } else {
      status = integer ? parse_word(word, value[k], parse_integer<double>)
                       : parse_word(word, value[k], parse_real<double>);
    }
    if (status == parsed::bad)
      fail(errc::io, "%s:%llu: expected %s number, found '%s'", file, at, integer ? "a whole" : "a",
           quoted(word).text);
    if (status == parsed::too_large)
      fail(errc::overflow, "%s:%llu: value %s is too large for %s", file, at, quoted(word).text,
           single ? "float" : "double");
    if (kind.field == field::unsigned_integer && *word.begin == '-')
      fail(errc::io, "%s:%llu: expected a number without sign, found '%s'", file, at,
           quoted(word).text);
  }
  if (found != expected)
    fail(errc::io, "%s:%llu: expected %d number%s, found %d", file, at, expected,
         expected == 1 ? "" : "s", found);
  if (kind.indices == 2 && index[0] == index[1] &&
      kind.symmetry != matrix_market::symmetry::general)
    fail(errc::io, "%s:%llu: diagonal entry of a %s matrix is %s, expected %s", file, at,
         name(kind.symmetry), quoted({skip_blanks(line), p}).text,
         kind.symmetry == matrix_market::symmetry::skew_symmetric ? "0" : "a real number");
  fail(errc::io, "%s:%llu: not an entry: '%s'", file, at, quoted({line, p}).text);
}

void explain_extra(text_source const& source, std::uint64_t first_line, chunk const& c,
                   std::size_t extra, std::int64_t promised) {
  char const* line = c.text.begin;
  for (std::size_t k = 0;; ++first_line) {
    if (is_entry(line) && k++ == extra)
      break;
    line = static_cast<char const*>(
               std::memchr(line, '\n', static_cast<std::size_t>(c.text.end - line))) +
           1;
  }
  fail(errc::io, "%s:%llu: expected the end of the file after %lld entries, found another",
       source.name(), static_cast<ull>(first_line), static_cast<long long>(promised));
}

} // namespace tulle::detail
