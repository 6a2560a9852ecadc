// SPDX-License-Identifier: Apache-2.0
#include "io/matrix_market_header.hpp"

#include "tulle/core/error.hpp"

#include "io/parse_number.hpp"

#include <new>

namespace tulle {

namespace matrix_market {

char const* name(object o) noexcept {
  constexpr char const* names[] = {"matrix", "vector"};
  return names[static_cast<std::size_t>(o)];
}
char const* name(format f) noexcept {
  constexpr char const* names[] = {"coordinate", "array"};
  return names[static_cast<std::size_t>(f)];
}
char const* name(field f) noexcept {
  constexpr char const* names[] = {"real", "integer", "unsigned-integer", "complex", "pattern"};
  return names[static_cast<std::size_t>(f)];
}
char const* name(symmetry s) noexcept {
  constexpr char const* names[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
  return names[static_cast<std::size_t>(s)];
}

} // namespace matrix_market

namespace detail {
namespace {

// Of comments that are kept: far more than people write, and a bomb of them stays small.
constexpr std::size_t most_comments = std::size_t{1} << 20;

using line_number = unsigned long long;

bool is_space(char c) {
  return is_blank(c) || c == '\n';
}

text_range next_word(text_range& line) {
  while (!line.empty() && is_space(*line.begin))
    ++line.begin;
  text_range word{line.begin, line.begin};
  while (word.end != line.end && !is_space(*word.end))
    ++word.end;
  line.begin = word.end;
  return word;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal(text_range word, char const* name) {
  for (char const* p = word.begin; p != word.end; ++p, ++name)
    if (*name == '\0' || lower(*p) != *name) // the word may hold a NUL itself
      return false;
  return *name == '\0';
}

/// The member of `all` whose name the word is.
template <class E, std::size_t N>
E choose(text_source const& source, line_number line, text_range word, char const* what,
         E const (&all)[N]) {
  for (E e : all)
    if (equal(word, name(e)))
      return e;
  std::string names;
  for (E e : all)
    names += std::string(names.empty() ? "" : ", ") + name(e);
  if (word.empty())
    fail(errc::io, "%s:%llu: the banner ends before the %s, expected one of %s", source.name(),
         line, what, names.c_str());
  fail(errc::io, "%s:%llu: unknown %s '%s', expected one of %s", source.name(), line, what,
       quoted(word).text, names.c_str());
}

void read_banner(text_source& source, matrix_market_header& h, line_number& line) {
  using namespace matrix_market;
  text_range text;
  bool const some = source.line(text);
  line = 1;
  if (some && text.size() >= 3 && std::memcmp(text.begin, "\xEF\xBB\xBF", 3) == 0)
    text.begin += 3; // a byte order mark, as some editors leave it
  text_range rest = text;
  text_range const word = next_word(rest);
  if (!some || (!equal(word, "%%matrixmarket") && !equal(word, "%matrixmarket")))
    fail(errc::io, "%s:1: expected a banner that starts with %%%%MatrixMarket, found %s%s%s",
         source.name(), some ? "'" : "the end of the file", some ? quoted(text).text : "",
         some ? "'" : "");
  h.object = choose(source, line, next_word(rest), "object", {object::matrix, object::vector});
  h.format = choose(source, line, next_word(rest), "format", {format::coordinate, format::array});
  text_range const kind = next_word(rest);
  h.field = equal(kind, "double") ? field::real
                                  : choose(source, line, kind, "field",
                                           {field::real, field::integer, field::unsigned_integer,
                                            field::complex, field::pattern});
  h.symmetry = choose(
      source, line, next_word(rest), "symmetry",
      {symmetry::general, symmetry::symmetric, symmetry::skew_symmetric, symmetry::hermitian});
  if (text_range const extra = next_word(rest); !extra.empty())
    fail(errc::io, "%s:1: expected the banner to end after '%s', found '%s'", source.name(),
         name(h.symmetry), quoted(extra).text);

  if (h.format == format::array && h.field == field::pattern)
    fail(errc::io, "%s:1: an array has values, but the field is pattern", source.name());
  if (h.object == object::vector && h.symmetry != symmetry::general)
    fail(errc::io, "%s:1: a vector is general, but the symmetry is %s", source.name(),
         name(h.symmetry));
  if (h.field == field::pattern && h.symmetry != symmetry::general &&
      h.symmetry != symmetry::symmetric)
    fail(errc::io, "%s:1: a pattern is general or symmetric, but the symmetry is %s", source.name(),
         name(h.symmetry));
}

/// Up to three sizes of a size line.
int read_sizes(text_source const& source, line_number line, text_range text, std::int64_t* sizes,
               int expected) {
  constexpr char const* what[] = {"a number of rows", "a number of columns", "a number of entries"};
  int found = 0;
  for (text_range word = next_word(text); !word.empty(); word = next_word(text), ++found) {
    if (found >= expected)
      continue;
    char copy[32];
    std::uint64_t n = 0;
    parsed status = parsed::bad;
    if (word.size() + 1 < sizeof copy) {
      std::memcpy(copy, word.begin, word.size());
      copy[word.size()] = '\n';
      char const* p = copy;
      status = parse_index(p, copy + word.size() + 1, n);
      if (p != copy + word.size())
        status = parsed::bad;
    }
    if (status == parsed::bad)
      fail(errc::io, "%s:%llu: expected %s, found '%s'", source.name(), line, what[found],
           quoted(word).text);
    if (status == parsed::too_large || n > INT64_MAX)
      fail(errc::overflow, "%s:%llu: %s is '%s', which does not fit 64 bits", source.name(), line,
           what[found], quoted(word).text);
    sizes[found] = static_cast<std::int64_t>(n);
  }
  return found;
}

/// Entries of an array, a triangle of it where there is a symmetry.
std::int64_t array_entries(text_source const& source, line_number line,
                           matrix_market_header const& h) {
  __extension__ using wide = unsigned __int128;
  wide n = static_cast<wide>(h.rows) * static_cast<wide>(h.cols);
  if (h.symmetry == matrix_market::symmetry::skew_symmetric)
    n = (n - static_cast<wide>(h.rows)) / 2;
  else if (h.symmetry != matrix_market::symmetry::general)
    n = (n + static_cast<wide>(h.rows)) / 2;
  if (n > INT64_MAX)
    fail(errc::overflow,
         "%s:%llu: an array of %lld rows and %lld columns has more than 2^63 entries",
         source.name(), line, static_cast<long long>(h.rows), static_cast<long long>(h.cols));
  return static_cast<std::int64_t>(n);
}

} // namespace

quoted::quoted(text_range from) {
  std::size_t n = 0;
  for (char const* p = from.begin; p != from.end; ++p) {
    if (n + 4 >= sizeof text) {
      std::memcpy(text + n, "...", 3);
      n += 3;
      break;
    }
    if (*p == '\r' && p + 1 == from.end)
      break;
    text[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
  }
  text[n] = '\0';
}

parsed_header read_header(text_source& source) {
  parsed_header out;
  matrix_market_header& h = out.header;
  line_number line = 0;
  read_banner(source, h, line);

  bool const vector = h.object == matrix_market::object::vector;
  bool const array = h.format == matrix_market::format::array;
  int const expected = (vector ? 1 : 2) + (array ? 0 : 1);
  constexpr char const* shapes[2][2] = {{"rows, columns and entries", "rows and columns"},
                                        {"length and entries", "length"}};
  char const* const shape = shapes[vector][array];
  bool kept = true; // all comments so far
  for (text_range text;;) {
    if (!source.line(text))
      fail(errc::io, "%s:%llu: the file ends before the size line, expected %s", source.name(),
           line, shape);
    ++line;
    text_range rest = text;
    text_range const word = next_word(rest);
    if (word.empty())
      continue;
    if (*word.begin == '%') {
      text_range comment{word.begin + 1, text.end};
      if (!comment.empty() && comment.end[-1] == '\r')
        --comment.end;
      kept = kept && comment.size() < most_comments - h.comments.size();
      if (kept) {
        h.comments.append(comment.begin, comment.end);
        h.comments += '\n';
      }
      continue;
    }
    std::int64_t sizes[3] = {};
    int const found = read_sizes(source, line, text, sizes, expected);
    if (found != expected)
      fail(errc::io, "%s:%llu: expected %d numbers (%s), found %d", source.name(), line, expected,
           shape, found);
    h.rows = sizes[0];
    h.cols = vector ? 1 : sizes[1];
    if (h.symmetry != matrix_market::symmetry::general && h.rows != h.cols)
      fail(errc::io, "%s:%llu: a %s matrix is square, but this one has %lld rows and %lld columns",
           source.name(), line, name(h.symmetry), static_cast<long long>(h.rows),
           static_cast<long long>(h.cols));
    h.entries = array ? array_entries(source, line, h) : sizes[expected - 1];
    out.lines = line;
    return out;
  }
}

namespace {

matrix_market_header header_of(text_input from) {
  try {
    text_source source(from, {.block_bytes = 4096});
    return read_header(source).header;
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "%s: no memory to read the header",
         from.path ? from.path->c_str() : "stream");
  }
}

} // namespace
} // namespace detail

matrix_market_header read_matrix_market_header(std::string const& path) {
  return detail::header_of(path);
}
matrix_market_header read_matrix_market_header(std::istream& in) {
  return detail::header_of(in);
}

} // namespace tulle
