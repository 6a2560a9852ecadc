// SPDX-License-Identifier: Apache-2.0
#include "io/fortran_format.hpp"

#include <algorithm>
#include <cstdio>

namespace tulle::detail {
namespace {

constexpr int deepest = 8;             // groups within groups
constexpr int most_items = 10000;      // a line of more is not a card
constexpr std::size_t longest = 65536; // columns

class format_parser {
public:
  format_parser(text_range text, fortran_format& out) : p_(text.begin), end_(text.end), out_(out) {}

  char const* parse() {
    if (peek() != '(')
      return "it does not start with (";
    ++p_;
    if (!list(0))
      return wrong_;
    if (peek() != '\0')
      return "something follows its last )";
    return out_.fields.empty() ? "it has no number" : nullptr;
  }

private:
  /// The next character in upper case; 0 at the end.
  char peek() {
    while (p_ != end_ && is_blank(*p_))
      ++p_;
    if (p_ == end_)
      return '\0';
    return *p_ >= 'a' && *p_ <= 'z' ? static_cast<char>(*p_ - 'a' + 'A') : *p_;
  }
  bool bad(char const* why) {
    wrong_ = why;
    return false;
  }
  bool number(std::size_t& out) {
    if (!is_digit(peek()))
      return false;
    out = 0;
    for (; is_digit(peek()); ++p_)
      out = std::min<std::size_t>(10 * out + static_cast<std::size_t>(*p_ - '0'), 1000000);
    return true;
  }

  /// Items up to and with the ) that closes them.
  bool list(int depth) {
    if (depth == deepest)
      return bad("it has too many groups within groups");
    for (;;) {
      if (!item(depth))
        return false;
      while (peek() == ',')
        ++p_;
      if (peek() == ')') {
        ++p_;
        return true;
      }
    }
  }

  bool item(int depth) {
    if (++items_ > most_items)
      return bad("it is too long");
    bool const minus = peek() == '-';
    if (minus || peek() == '+')
      ++p_;
    std::size_t repeat = 1;
    bool const counted = number(repeat);
    char const kind = peek();
    if (kind == '\0')
      return bad("it ends before its )");
    ++p_;
    if (kind == 'P' && counted && repeat <= 99) {
      scale_ = minus ? -static_cast<int>(repeat) : static_cast<int>(repeat);
      return true;
    }
    if (minus)
      return bad("only a scale factor may be negative");
    if (repeat == 0)
      return bad("a repeat count is 0");
    if (kind == 'X') {
      out_.skips = true;
      return move(repeat);
    }
    if (kind == '(')
      return group(repeat, depth);
    if (kind == 'I' || kind == 'F' || kind == 'E' || kind == 'D' || kind == 'G')
      return fields(kind, repeat);
    return bad("only I, F, E, D, G, X and P are read");
  }

  bool group(std::size_t repeat, int depth) {
    char const* const first = p_;
    for (std::size_t k = 0; k < repeat; ++k) {
      p_ = first;
      if (!list(depth + 1))
        return false;
    }
    return true;
  }

  bool fields(char kind, std::size_t repeat) {
    if (kind == 'E' && (peek() == 'N' || peek() == 'S'))
      ++p_;
    std::size_t width = 0;
    std::size_t decimals = 0;
    std::size_t exponent = 0;
    if (!number(width) || width == 0)
      return bad("a field has no width");
    if (width > fortran_format::widest)
      return bad("a field is wider than 64");
    if (peek() == '.') {
      ++p_;
      if (!number(decimals))
        return bad("a point has no digits after it");
    }
    if (kind != 'I' && kind != 'F' && peek() == 'E') {
      ++p_;
      if (!number(exponent))
        return bad("the width of an exponent is missing");
    }
    if (decimals > 1000)
      return bad("a field has too many decimals");
    for (std::size_t k = 0; k < repeat; ++k) {
      if (++items_ > most_items)
        return bad("it is too long");
      out_.fields.push_back({.first = column_,
                             .width = width,
                             .decimals = kind == 'I' ? 0 : static_cast<int>(decimals),
                             .scale = kind == 'I' ? 0 : scale_});
      if (!move(width))
        return false;
    }
    return true;
  }

  bool move(std::size_t columns) {
    column_ += columns;
    return column_ <= longest || bad("it is too long");
  }

  char const* p_;
  char const* end_;
  fortran_format& out_;
  char const* wrong_ = nullptr;
  int items_ = 0;
  int scale_ = 0;
  std::size_t column_ = 0;
};

bool is_exponent_letter(char c) {
  return c == 'E' || c == 'e' || c == 'D' || c == 'd' || c == 'Q' || c == 'q';
}

} // namespace

char const* fortran_format::parse(text_range text) {
  *this = {};
  return format_parser(text, *this).parse();
}

fortran_number::fortran_number(text_range line, fortran_field const& f) : field_(f) {
  char const* p = line.begin + std::min(f.first, line.size());
  char const* end = line.begin + std::min(f.first + f.width, line.size());
  while (p != end && is_blank(*p))
    ++p;
  while (p != end && is_blank(end[-1]))
    --end;
  for (; p != end; ++p)
    if (!is_blank(*p) || !is_exponent_letter(text_[size_ - 1])) // the first is no blank
      text_[size_++] = *p;
  text_[size_] = '\n';
}

parsed fortran_number::whole(std::uint64_t& out) const {
  char const* p = text_;
  parsed const status = parse_index(p, text_ + size_ + 1, out);
  return p == text_ + size_ ? status : parsed::bad;
}

// As text, so that it is rounded once: the digits, then an exponent that counts decimals and scale
// too.
parsed fortran_number::real(double& out) const {
  char const* p = text_;
  if (*p == '+' || *p == '-')
    ++p;
  if (!is_digit(*p) && *p != '.') { // nan, inf
    p = text_;
    parsed const status = parse_real(p, text_ + size_ + 1, out);
    return p == text_ + size_ ? status : parsed::bad;
  }
  bool point = false;
  while (is_digit(*p) || (*p == '.' && !point))
    point = *p++ == '.' || point;
  auto const mantissa = static_cast<std::size_t>(p - text_);
  int exponent = 0;
  bool const letter = is_exponent_letter(*p);
  if (letter || *p == '+' || *p == '-') {
    p += letter;
    bool const minus = *p == '-';
    if (minus || *p == '+')
      ++p;
    if (!is_digit(*p))
      return parsed::bad;
    for (; is_digit(*p); ++p)
      exponent = std::min(10 * exponent + (*p - '0'), 100000);
    if (minus)
      exponent = -exponent;
  } else {
    exponent = -field_.scale;
  }
  if (p != text_ + size_)
    return parsed::bad;
  if (!point)
    exponent -= field_.decimals;
  char copy[fortran_format::widest + 16];
  std::memcpy(copy, text_, mantissa);
  int const more = std::snprintf(copy + mantissa, sizeof copy - mantissa, "e%d\n", exponent);
  char const* q = copy;
  char const* const end = copy + mantissa + static_cast<std::size_t>(more);
  parsed const status = parse_real(q, end, out);
  return q == end - 1 ? status : parsed::bad;
}

} // namespace tulle::detail
