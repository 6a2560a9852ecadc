// SPDX-License-Identifier: Apache-2.0

/// Numbers from text. All functions move `p` behind what they took and rely on a newline at
/// end[-1], which no number contains: it is what stops their loops.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <fast_float/fast_float.h>

namespace tulle::detail {

static_assert(std::endian::native == std::endian::little, "eight digits are taken from one word");

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}
inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}
inline char const* skip_blanks(char const* p) {
  while (is_blank(*p))
    ++p;
  return p;
}

/// Up to eight digits at p as a number; `digits` says how many. Needs eight readable bytes.
/// Word arithmetic after Lemire, "Quickly parsing eight digits", 2018; the first non-digit is found
/// the same way.
inline std::uint32_t parse_8_digits(char const* p, int& digits) {
  std::uint64_t w = 0;
  std::memcpy(&w, p, 8);
  w ^= 0x3030303030303030; // digits become 0 to 9, anything else 10 or more
  std::uint64_t const other = ((w + 0x7676767676767676) | w) & 0x8080808080808080;
  digits = other == 0 ? 8 : std::countr_zero(other) / 8;
  if (digits == 0)
    return 0;
  w <<= 64 - 8 * digits; // leading zeros
  w = w * 10 + (w >> 8);
  std::uint64_t const high = (w & 0x000000FF000000FF) * 0x000F424000000064;
  std::uint64_t const low = ((w >> 16) & 0x000000FF000000FF) * 0x0000271000000001;
  return static_cast<std::uint32_t>((high + low) >> 32);
}

enum class parsed : std::uint8_t { good, bad, too_large };

/// Decimal digits, no sign.
inline parsed parse_digits(char const*& p, char const* end, std::uint64_t& out) {
  char const* const first = p;
  std::uint64_t n = 0;
  if (end - p >= 8) {
    int digits = 0;
    n = parse_8_digits(p, digits);
    p += digits;
    if (digits < 8) {
      out = n;
      return p == first ? parsed::bad : parsed::good;
    }
  }
  bool fits = true;
  for (; is_digit(*p); ++p)
    fits = fits && !__builtin_mul_overflow(n, 10u, &n) &&
           !__builtin_add_overflow(n, static_cast<std::uint64_t>(*p - '0'), &n);
  out = n;
  return p == first ? parsed::bad : fits ? parsed::good : parsed::too_large;
}

/// An index or a size: digits, perhaps behind a '+'.
inline parsed parse_index(char const*& p, char const* end, std::uint64_t& out) {
  if (*p == '+')
    ++p;
  return parse_digits(p, end, out);
}

/// The long way: signs, D exponents, nan and inf, and telling an overflow from an infinity that was
/// written as one.
template <class R>
[[gnu::noinline]] parsed parse_real_slow(char const*& p, char const* end, R& out) {
  if (*p == '+' && p[1] != '-' && p[1] != '+')
    ++p;
  auto result = fast_float::from_chars(p, end, out);
  if (result.ptr == p || result.ec == std::errc::invalid_argument)
    return parsed::bad;
  char const* const number = *p == '-' ? p + 1 : p;
  bool const spelled = !is_digit(*number) && *number != '.'; // nan, inf
  if (!spelled && (*result.ptr == 'D' || *result.ptr == 'd')) {
    char copy[64]; // longer numbers than this with a D exponent are not read
    auto const mantissa = static_cast<std::size_t>(result.ptr - p);
    std::size_t n = mantissa + 1;
    while (n < sizeof copy &&
           (is_digit(p[n]) || ((p[n] == '+' || p[n] == '-') && n == mantissa + 1)))
      ++n;
    if (n >= sizeof copy)
      return parsed::bad;
    std::memcpy(copy, p, n);
    copy[mantissa] = 'e';
    result = fast_float::from_chars(copy, copy + n, out);
    if (result.ptr != copy + n)
      return parsed::bad;
    p += n;
  } else {
    p = result.ptr;
  }
  return !spelled && std::isinf(out) ? parsed::too_large : parsed::good;
}

template <class R>
inline parsed parse_real(char const*& p, char const* end, R& out) {
  return parse_real_slow(p, end, out);
}

/// An integer of any length, rounded to R where it has more digits than R.
template <class R>
inline parsed parse_integer(char const*& p, char const* end, R& out) {
  char const* q = p;
  bool const negative = *q == '-';
  if (negative || *q == '+')
    ++q;
  char const* const first = q;
  std::uint64_t n = 0;
  parsed const status = parse_digits(q, end, n);
  if (status == parsed::bad)
    return parsed::bad;
  p = q;
  if (status == parsed::good) {
    out = static_cast<R>(n);
  } else {
    fast_float::from_chars(first, q, out);
    if (std::isinf(out))
      return parsed::too_large;
  }
  if (negative)
    out = -out;
  return parsed::good;
}

template <class V>
struct real_of {
  using type = V;
};
template <class R>
struct real_of<std::complex<R>> {
  using type = R;
};
template <class V>
inline constexpr bool is_complex = !std::is_same_v<V, typename real_of<V>::type>;

} // namespace tulle::detail
