// SPDX-License-Identifier: Apache-2.0

/// The entries of a Matrix Market file, as triplets in file order.
///
/// A block of text is cut at line ends into chunks. One pass counts lines, which bounds the entries
/// of each chunk, so that every chunk has its own place in arrays of the block and threads need
/// nothing of each other; the second pass parses. Blank lines leave gaps behind a chunk, which
/// `region` knows of. A bad line is only marked by the fast parser; explain() then reads it again,
/// slowly, for the message.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"

#include "io/matrix_market_header.hpp"
#include "io/parse_number.hpp"
#include "io/text_source.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tulle::detail {

/// What the lines of a file look like.
struct line_kind {
  matrix_market::field field;
  matrix_market::symmetry symmetry;
  int indices; ///< 2, 1 for vectors in coordinates, 0 for arrays
  std::uint64_t rows;
  std::uint64_t cols;

  int values() const {
    using matrix_market::field;
    return this->field == field::pattern ? 0 : this->field == field::complex ? 2 : 1;
  }
  /// Of the shortest line: each number is a digit and a separator.
  std::size_t least_bytes() const { return static_cast<std::size_t>(2 * (indices + values())); }
};

/// A run of triplets without gaps. Arrays have values only; vectors have no columns, which are all
/// 0.
template <class V, class I>
struct region {
  I const* row;
  I const* col;
  V const* val;
  std::size_t first; ///< ordinal of its first entry in the file
  std::size_t count;
};

template <class V, class I>
struct triplets {
  struct segment { // of one block
    array<I> row;
    array<I> col;
    array<V> val;
  };
  std::vector<segment> segments;
  std::vector<region<V, I>> regions;
  std::size_t count = 0;
};

struct chunk {
  text_range text;
  std::size_t lines = 0;
  std::size_t offset = 0;         // of its place in the segment
  std::size_t count = 0;          // entries found
  char const* bad_line = nullptr; // where parsing stopped
};

enum class value_kind { pattern, integer, real, complex };

/// One value; Kind is the file's, V the matrix's.
template <value_kind Kind, class V>
inline parsed parse_value(char const*& p, char const* end, V& out) {
  using R = typename real_of<V>::type;
  R re = 1;
  R im = 0;
  parsed status = parsed::good;
  if constexpr (Kind == value_kind::integer) {
    status = parse_integer(p, end, re);
  } else if constexpr (Kind == value_kind::real) {
    status = parse_real(p, end, re);
  } else if constexpr (Kind == value_kind::complex) {
    status = parse_real(p, end, re);
    if (status == parsed::good) {
      if (!is_blank(*p))
        return parsed::bad;
      p = skip_blanks(p);
      status = parse_real(p, end, im);
    }
  }
  if constexpr (is_complex<V>)
    out = V(re, im);
  else
    out = re;
  return status;
}

/// Whether a value may stand on the diagonal: 0 in a skew-symmetric matrix, real in a hermitian
/// one.
template <class V>
bool fits_diagonal(matrix_market::symmetry s, V v) {
  if (s == matrix_market::symmetry::skew_symmetric)
    return v == V(0);
  if constexpr (is_complex<V>)
    if (s == matrix_market::symmetry::hermitian)
      return v.imag() == 0;
  return true;
}

template <class V, class I>
struct entry {
  I i = 0;
  I j = 0;
  V v = {};
};

/// One entry and its newline; false, with p anywhere on the line, if it is not exactly that.
/// `Matrix` says that there are two indices; other files are few and short, and ask again for each
/// line.
template <value_kind Kind, bool Matrix, class V, class I>
inline bool parse_entry(char const*& p, char const* end, line_kind const& kind, entry<V, I>& e) {
  int const indices = Matrix ? 2 : kind.indices;
  int const numbers = indices + (Kind == value_kind::pattern ? 0 : 1);
  std::uint64_t i = 1;
  std::uint64_t j = 1;
  if (indices >= 1) {
    if (parse_index(p, end, i) != parsed::good || i - 1 >= kind.rows)
      return false;
    if (numbers > 1 && !is_blank(*p))
      return false;
    p = skip_blanks(p);
  }
  if (indices >= 2) {
    if (parse_index(p, end, j) != parsed::good || j - 1 >= kind.cols)
      return false;
    if (numbers > 2 && !is_blank(*p))
      return false;
    p = skip_blanks(p);
  }
  if (Kind == value_kind::integer && *p == '-' &&
      kind.field == matrix_market::field::unsigned_integer)
    return false;
  if (parse_value<Kind>(p, end, e.v) != parsed::good)
    return false;
  if (*p != '\n') {
    p = skip_blanks(p);
    if (*p != '\n')
      return false;
  }
  ++p;
  e.i = static_cast<I>(i - 1);
  e.j = static_cast<I>(j - 1);
  return indices != 2 || i != j || fits_diagonal(kind.symmetry, e.v);
}

/// Parses a chunk to row, col, val, those that are not null; stops at the first line that is not an
/// entry, blank or a comment.
template <value_kind Kind, bool Matrix, class V, class I>
void parse_chunk(chunk& c, line_kind const& kind, I* row, I* col, V* val) {
  char const* const end = c.text.end;
  std::size_t n = 0;
  for (char const* p = c.text.begin; p != end;) {
    char const* const line = p;
    p = skip_blanks(p);
    if (*p == '\n') {
      ++p;
      continue;
    }
    entry<V, I> e;
    if (!parse_entry<Kind, Matrix>(p, end, kind, e)) {
      p = skip_blanks(line);
      if (*p != '%') {
        c.bad_line = line;
        break;
      }
      p = static_cast<char const*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
      continue;
    }
    if (Matrix || row)
      row[n] = e.i;
    if (Matrix)
      col[n] = e.j;
    val[n] = e.v;
    ++n;
  }
  c.count = n;
}

/// parse_chunk for a kind known only now.
template <class V, class I>
void parse_chunk(chunk& c, line_kind const& kind, I* row, I* col, V* val) {
  auto with = [&]<value_kind Kind>() {
    if (kind.indices == 2)
      parse_chunk<Kind, true>(c, kind, row, col, val);
    else
      parse_chunk<Kind, false>(c, kind, row, col, val);
  };
  switch (kind.field) {
  case matrix_market::field::pattern:
    return with.template operator()<value_kind::pattern>();
  case matrix_market::field::integer:
  case matrix_market::field::unsigned_integer:
    return with.template operator()<value_kind::integer>();
  case matrix_market::field::real:
    return with.template operator()<value_kind::real>();
  case matrix_market::field::complex:
    return with.template operator()<value_kind::complex>();
  }
}

/// Throws what is wrong with a line that parse_chunk did not take. `single` says that values are
/// float.
[[noreturn]] void explain(text_source const& source, std::uint64_t line_number, char const* line,
                          line_kind const& kind, bool single);
/// Throws that there are more entries than promised; the first of them is entry `extra` (from 0) of
/// the chunk.
[[noreturn]] void explain_extra(text_source const& source, std::uint64_t first_line, chunk const& c,
                                std::size_t extra, std::int64_t promised);

/// Cuts text at line ends into chunks of about `bytes`.
std::vector<chunk> cut(text_range text, std::size_t bytes);

/// Where a chunk's entries go; null in an array that this kind of file does not fill.
template <class T>
T* place(array<T>& a, std::size_t offset) {
  return a.empty() ? nullptr : a.data() + offset;
}

/// Takes over what the chunks of a block put into s.
template <class V, class I>
void add_segment(triplets<V, I>& out, typename triplets<V, I>::segment s,
                 std::vector<chunk> const& chunks, std::size_t found,
                 std::pmr::memory_resource* memory) {
  // Blank lines and comments have left more than half of it empty: move to arrays that fit, since
  // memory is to follow what the file holds.
  bool const move = found < s.val.size() / 2;
  typename triplets<V, I>::segment fit;
  if (move) {
    fit.row = array<I>(s.row.empty() ? 0 : found, memory);
    fit.col = array<I>(s.col.empty() ? 0 : found, memory);
    fit.val = array<V>(found, memory);
  }
  auto& kept = move ? fit : s;
  std::size_t at = 0;
  for (chunk const& c : chunks) {
    if (c.count == 0)
      continue;
    std::size_t const offset = move ? at : c.offset;
    if (move) {
      auto copy = [&](auto& to, auto& from) {
        if (!to.empty())
          std::copy_n(from.data() + c.offset, c.count, to.data() + offset);
      };
      copy(fit.row, s.row);
      copy(fit.col, s.col);
      copy(fit.val, s.val);
    }
    // Chunks without gaps between them are one region.
    V const* const val = kept.val.data() + offset;
    if (at != 0 && out.regions.back().val + out.regions.back().count == val)
      out.regions.back().count += c.count;
    else
      out.regions.push_back(
          {place(kept.row, offset), place(kept.col, offset), val, out.count + at, c.count});
    at += c.count;
  }
  out.count += found;
  out.segments.push_back(std::move(kept));
}

/// Parses all that is left of the source.
template <class V, class I>
triplets<V, I> parse_entries(text_source& source, parsed_header const& head,
                             read_options const& options, int threads) {
  matrix_market_header const& h = head.header;
  bool const is_array = h.format == matrix_market::format::array;
  bool const is_vector = h.object == matrix_market::object::vector;
  line_kind const kind{h.field, h.symmetry,
                       is_array    ? 0
                       : is_vector ? 1
                                   : 2,
                       static_cast<std::uint64_t>(h.rows), static_cast<std::uint64_t>(h.cols)};
  bool const single = std::is_same_v<typename real_of<V>::type, float>;
  auto const promised = static_cast<std::size_t>(h.entries);
  // Between these many bytes progress is told, and a bad line ends the work.
  constexpr std::size_t round_bytes = std::size_t{64} << 20;

  triplets<V, I> out;
  std::uint64_t lines = head.lines;
  for (text_range text = source.block(); !text.empty(); text = source.block()) {
    std::vector<chunk> chunks = cut(text, std::max<std::size_t>(options.chunk_bytes, 1));
    std::size_t const n = chunks.size();
    int const parts = static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(threads)));
    parallel(parts, [&](int part) {
      for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k) {
        chunks[k].lines = count_newlines(chunks[k].text);
        source.forget(chunks[k].text);
      }
    });
    std::size_t room = 0;
    for (chunk& c : chunks) {
      c.offset = room;
      room += std::min(c.lines, c.text.size() / kind.least_bytes());
    }
    typename triplets<V, I>::segment s;
    s.row = array<I>(kind.indices >= 1 ? room : 0, options.memory);
    s.col = array<I>(kind.indices >= 2 ? room : 0, options.memory);
    s.val = array<V>(room, options.memory);

    std::atomic<std::size_t> next{0};
    // The first chunk with a bad line: those behind it need not be looked at.
    std::atomic<std::size_t> bad{n};
    for (std::size_t first = 0; first < n;) {
      std::size_t last = first;
      while (last < n && chunks[last].text.begin - chunks[first].text.begin <
                             static_cast<std::ptrdiff_t>(round_bytes))
        ++last;
      parallel(parts, [&](int part) {
        if (part == 0 && last == n)
          source.prefetch();
        for (std::size_t k = next++; k < last; k = next++) {
          chunk& c = chunks[k];
          if (k > bad)
            continue;
          parse_chunk(c, kind, place(s.row, c.offset), place(s.col, c.offset),
                      place(s.val, c.offset));
          source.forget(c.text);
          if (c.bad_line)
            for (std::size_t old = bad; k < old && !bad.compare_exchange_weak(old, k);) {
            }
        }
      });
      next = last;
      first = bad < n ? n : last;
      if (options.progress.call)
        options.progress.call(options.progress.context,
                              source.bytes_done(chunks[last - 1].text.end), source.bytes_total());
    }

    std::size_t found = 0;
    for (chunk const& c : chunks) {
      if (out.count + found + c.count > promised)
        explain_extra(source, lines + 1, c, promised - out.count - found, h.entries);
      if (c.bad_line)
        explain(source, lines + 1 + count_newlines({c.text.begin, c.bad_line}), c.bad_line, kind,
                single);
      found += c.count;
      lines += c.lines;
    }
    if (found != 0)
      add_segment(out, std::move(s), chunks, found, options.memory);
  }
  if (out.count < promised)
    fail(errc::io, "%s: %lld entries promised, file ends after %zu (line %llu)", source.name(),
         static_cast<long long>(h.entries), out.count, static_cast<unsigned long long>(lines));
  return out;
}

} // namespace tulle::detail
