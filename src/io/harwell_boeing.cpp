// SPDX-License-Identifier: Apache-2.0

// src/io/harwell_boeing.cpp:  Harwell-Boeing and Rutherford-Boeing, columns of fixed fields.
//
// How many cards the header promises for each part is not used: Fortran readers do not look at it
// either, and files are found where it is wrong. How many numbers there are follows from the sizes.
#include "tulle/core/error.hpp"

#include "io/fortran_format.hpp"
#include "io/found.hpp"

#include <algorithm>
#include <string_view>

namespace tulle::detail {
namespace {

char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

text_range next_word(text_range& line) {
  while (!line.empty() && (is_blank(*line.begin) || *line.begin == '\n'))
    ++line.begin;
  text_range word{line.begin, line.begin};
  while (word.end != line.end && !is_blank(*word.end) && *word.end != '\n')
    ++word.end;
  line.begin = word.end;
  return word;
}

/// Values, structure, storage: "rua".
struct matrix_type {
  char value, structure, storage;
  explicit matrix_type(text_range line) {
    char c[3] = {};
    for (std::size_t k = 0; k < std::min<std::size_t>(3, line.size()); ++k)
      c[k] = lower_case(line.begin[k]);
    value = c[0];
    structure = c[1];
    storage = c[2];
  }
  bool known() const {
    auto const one_of = [](char c, std::string_view all) {
      return all.find(c) != std::string_view::npos;
    };
    return one_of(value, "rcipq") && one_of(structure, "suhzr") && one_of(storage, "ae");
  }
};

/// One of the formats on the fourth line: up to the ) that closes the first (.
text_range next_format(text_range& line) {
  while (!line.empty() && *line.begin != '(')
    ++line.begin;
  text_range out{line.begin, line.begin};
  for (int open = 0; out.end != line.end;) {
    open += *out.end == '(' ? 1 : *out.end == ')' ? -1 : 0;
    ++out.end;
    if (open == 0)
      break;
  }
  line.begin = out.end;
  return out;
}

class cards {
public:
  cards(text_source& source, read_options const& options)
      : lines_(source, options.progress), memory_(options.memory) {}

  found read() {
    read_header();
    read_pattern();
    if (out_.head.field != matrix_market::field::pattern)
      read_values();
    return std::move(out_);
  }

private:
  /// Without its newline and a CR before it.
  text_range line(char const* what) {
    text_range text;
    if (!lines_.next(text))
      fail(errc::io, "%s:%llu: the file ends before %s", lines_.name(), lines_.number(), what);
    --text.end;
    if (!text.empty() && text.end[-1] == '\r')
      --text.end;
    return text;
  }

  /// Numbers of a header line, `least` to `most` of them; returns how many.
  int numbers(text_range text, std::int64_t* out, int least, int most, char const* what) {
    int n = 0;
    for (text_range word = next_word(text); !word.empty() && n < most; word = next_word(text)) {
      fortran_number const number(word, {.width = std::min(word.size(), fortran_format::widest)});
      std::uint64_t value = 0;
      parsed const status = number.whole(value);
      if (status == parsed::bad || word.size() > fortran_format::widest)
        fail(errc::io, "%s:%llu: expected %s, found '%s'", lines_.name(), lines_.number(), what,
             quoted(word).text);
      if (status == parsed::too_large || value > INT64_MAX - 1)
        fail(errc::overflow, "%s:%llu: '%s' does not fit 63 bits", lines_.name(), lines_.number(),
             quoted(word).text);
      out[n++] = static_cast<std::int64_t>(value);
    }
    if (n < least)
      fail(errc::io, "%s:%llu: expected %s, found %d number%s", lines_.name(), lines_.number(),
           what, n, n == 1 ? "" : "s");
    return n;
  }

  void read_format(text_range& text, fortran_format& out, char const* what) {
    text_range const words = next_format(text);
    if (char const* const wrong = out.parse(words))
      fail(errc::io, "%s:%llu: cannot read the format of %s '%s': %s", lines_.name(),
           lines_.number(), what, quoted(words).text, wrong);
  }

  void read_header() {
    text_range text = line("its title");
    while (!text.empty() && is_blank(text.end[-1]))
      --text.end;
    out_.head.comments.assign(1, ' ').append(text.begin, std::min<std::size_t>(text.size(), 80));
    for (char& c : out_.head.comments)
      c = c >= ' ' && c <= '~' ? c : '?';
    out_.head.comments += '\n';

    text = line("the numbers of cards");
    std::int64_t count[5] = {};
    numbers(text, count, 4, 5,
            "4 or 5 numbers of cards (all, pointers, indices, values, right-hand sides)");
    bool const has_values = count[3] != 0;
    bool const has_right_sides = count[4] != 0;

    text = line("the type of the matrix");
    matrix_type const type(text);
    if (!type.known())
      fail(errc::io, "%s:%llu: expected a type such as rua, rsa or pua, found '%s'", lines_.name(),
           lines_.number(),
           quoted({text.begin, text.begin + std::min<std::size_t>(3, text.size())}).text);
    if (type.storage == 'e')
      fail(errc::unsupported,
           "%s:%llu: an elemental matrix, of which only the assembled kind is "
           "read",
           lines_.name(), lines_.number());
    if (type.value == 'q')
      fail(errc::unsupported, "%s:%llu: the values are in another file", lines_.name(),
           lines_.number());
    std::int64_t size[3] = {};
    numbers({text.begin + 3, text.end}, size, 3, 3, "numbers of rows, columns and entries");
    matrix_market_header& h = out_.head;
    h.rows = size[0];
    h.cols = size[1];
    entries_ = size[2];
    using matrix_market::field;
    using matrix_market::symmetry;
    h.field = type.value == 'p' || !has_values ? field::pattern
              : type.value == 'c'              ? field::complex
              : type.value == 'i'              ? field::integer
                                               : field::real;
    h.symmetry = type.structure == 's'   ? symmetry::symmetric
                 : type.structure == 'h' ? symmetry::hermitian
                 : type.structure == 'z' ? symmetry::skew_symmetric
                                         : symmetry::general;
    if (h.symmetry != symmetry::general && h.rows != h.cols)
      fail(errc::io, "%s:%llu: a %s matrix is square, but this one has %lld rows and %lld columns",
           lines_.name(), lines_.number(), matrix_market::name(h.symmetry),
           static_cast<long long>(h.rows), static_cast<long long>(h.cols));
    if (h.field == field::pattern && h.symmetry != symmetry::general)
      h.symmetry = symmetry::symmetric; // no values to be skew or conjugated

    text = line("the formats");
    read_format(text, pointers_, "pointers");
    read_format(text, indices_, "indices");
    if (h.field != field::pattern)
      read_format(text, values_, "values");
    if (has_right_sides)
      line("the kind of the right-hand sides");
  }

  /// Where the numbers of a line stand. SciPy writes columns one narrower than its format says: as
  /// many words as there are numbers are taken for them, wherever they stand.
  std::vector<fortran_field> const& place(fortran_format const& format, text_range line,
                                          std::size_t n) {
    words_.clear();
    if (format.skips)
      return format.fields;
    text_range rest = line;
    for (text_range word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (words_.size() == n || word.size() > fortran_format::widest)
        return format.fields;
      fortran_field f = format.fields[words_.size()];
      f.first = static_cast<std::size_t>(word.begin - line.begin);
      f.width = word.size();
      words_.push_back(f);
    }
    return words_.size() == n ? words_ : format.fields;
  }

  /// f(number) for n numbers of a format.
  template <class F>
  void each(fortran_format const& format, std::int64_t n, char const* what, F f) {
    text_range text;
    for (std::int64_t k = 0; k < n;) {
      if (!lines_.next(text))
        fail(errc::io, "%s:%llu: %lld %s promised, the file ends after %lld", lines_.name(),
             lines_.number(), static_cast<long long>(n), what, static_cast<long long>(k));
      --text.end;
      auto const here = std::min(format.fields.size(), static_cast<std::size_t>(n - k));
      auto const& fields = place(format, text, here);
      for (std::size_t field = 0; field < here; ++field, ++k) {
        fortran_number const number(text, fields[field]);
        if (number.blank())
          fail(errc::io, "%s:%llu: %lld %s promised, field %zu of the line is blank", lines_.name(),
               lines_.number(), static_cast<long long>(n), what, field + 1);
        f(number);
      }
    }
  }

  std::int64_t index(fortran_number const& number, char const* what, std::int64_t least,
                     std::int64_t most) {
    std::uint64_t n = 0;
    if (number.whole(n) != parsed::good || n < static_cast<std::uint64_t>(least) ||
        n > static_cast<std::uint64_t>(most))
      fail(errc::io, "%s:%llu: expected %s from %lld to %lld, found '%s'", lines_.name(),
           lines_.number(), what, static_cast<long long>(least), static_cast<long long>(most),
           quoted(number.text()).text);
    return static_cast<std::int64_t>(n);
  }

  void read_pattern() {
    std::vector<std::int64_t> pointers; // grows with what is read: sizes are only claims
    each(pointers_, out_.head.cols + 1, "pointers", [&](fortran_number const& number) {
      std::int64_t const least = pointers.empty() ? 1 : pointers.back();
      std::int64_t const most = pointers.empty() ? 1 : entries_ + 1;
      pointers.push_back(index(number, "a pointer", least, most));
    });
    if (pointers.back() != entries_ + 1)
      fail(errc::io, "%s:%llu: the last pointer is %lld, but %lld entries make it %lld",
           lines_.name(), lines_.number(), static_cast<long long>(pointers.back()),
           static_cast<long long>(entries_), static_cast<long long>(entries_ + 1));
    out_.entries.hold(out_.head.field, memory_);
    std::int64_t k = 0;
    std::size_t j = 0;
    each(indices_, entries_, "row indices", [&](fortran_number const& number) {
      std::int64_t const i = index(number, "a row", 1, out_.head.rows);
      for (++k; pointers[j + 1] <= k;)
        ++j;
      out_.entries.add(i - 1, static_cast<std::int64_t>(j));
    });
  }

  void read_values() {
    bool const complex = out_.head.field == matrix_market::field::complex;
    auto segment = out_.entries.segments.begin();
    std::size_t k = 0; // within the segment
    bool imaginary = false;
    each(values_, complex ? 2 * entries_ : entries_, "values", [&](fortran_number const& number) {
      double v = 0;
      parsed const status = number.real(v);
      if (status == parsed::bad)
        fail(errc::io, "%s:%llu: expected a number, found '%s'", lines_.name(), lines_.number(),
             quoted(number.text()).text);
      if (status == parsed::too_large)
        fail(errc::overflow, "%s:%llu: value %s is too large for double", lines_.name(),
             lines_.number(), quoted(number.text()).text);
      check_diagonal(segment->row[k] == segment->col[k], imaginary, v);
      (imaginary ? segment->im : segment->re)[k] = v;
      if (complex)
        imaginary = !imaginary;
      if (!imaginary && ++k == segment->count) {
        ++segment;
        k = 0;
      }
    });
  }

  void check_diagonal(bool diagonal, bool imaginary, double v) {
    using matrix_market::symmetry;
    symmetry const s = out_.head.symmetry;
    if (diagonal && v != 0 &&
        (s == symmetry::skew_symmetric || (s == symmetry::hermitian && imaginary)))
      fail(errc::io, "%s:%llu: a diagonal entry of a %s matrix is not %s", lines_.name(),
           lines_.number(), matrix_market::name(s),
           s == symmetry::skew_symmetric ? "0" : "a real number");
  }

  line_reader lines_;
  std::pmr::memory_resource* memory_;
  found out_;
  std::int64_t entries_ = 0;
  fortran_format pointers_, indices_, values_;
  std::vector<fortran_field> words_;
};

} // namespace

bool is_harwell_boeing(text_range text) {
  text_range lines[4];
  for (text_range& l : lines) {
    auto const* const newline =
        text.empty() ? nullptr
                     : static_cast<char const*>(std::memchr(text.begin, '\n', text.size()));
    if (!newline)
      return false;
    l = {text.begin, newline};
    text.begin = newline + 1;
  }
  text_range rest{lines[3]};
  text_range const format = next_word(rest);
  return matrix_type(lines[2]).known() && !format.empty() && *format.begin == '(';
}

found read_harwell_boeing(text_source& source, read_options const& options) {
  return cards(source, options).read();
}

} // namespace tulle::detail
