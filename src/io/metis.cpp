// SPDX-License-Identifier: Apache-2.0

// src/io/metis.cpp:  a METIS graph, one vertex per line, into a matrix with both triangles.
//
// That each edge stands at both its ends is checked without memory: a hash of (smaller end, larger
// end, weight) is added at one end and taken away at the other, and the sum is 0 in the end.
#include "tulle/core/error.hpp"

#include "io/found.hpp"
#include "io/parse_number.hpp"

#include <bit>

namespace tulle::detail {
namespace {

text_range word_at(char const* p) {
  text_range word{p, p};
  while (*word.end != '\n' && !is_blank(*word.end))
    ++word.end;
  return word;
}

/// The finalizer of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class graph {
public:
  graph(text_source& source, read_options const& options)
      : lines_(source, options.progress), memory_(options.memory) {}

  found read() {
    read_header();
    text_range line;
    for (std::int64_t i = 0; i < out_.head.rows; ++i) {
      do
        if (!lines_.next(line))
          fail(errc::io, "%s:%llu: %lld vertices promised, the file ends after %lld", lines_.name(),
               lines_.number(), static_cast<long long>(out_.head.rows), static_cast<long long>(i));
      while (*skip_blanks(line.begin) == '%');
      vertex(i, line);
    }
    while (lines_.next(line))
      if (char const* const p = skip_blanks(line.begin); *p != '\n' && *p != '%')
        fail(errc::io, "%s:%llu: expected the end of the file after %lld vertices, found '%s'",
             lines_.name(), lines_.number(), static_cast<long long>(out_.head.rows),
             quoted(word_at(p)).text);
    std::uint64_t const found = out_.entries.size();
    if (found != 2 * edges_)
      fail(errc::io, "%s:%llu: %llu edges promised, which are %llu neighbours, found %llu",
           lines_.name(), header_line_, static_cast<ull>(edges_), static_cast<ull>(2 * edges_),
           static_cast<ull>(found));
    if (balance_ != 0)
      fail(errc::io,
           "%s:%llu: some edge stands on the line of one of its ends only, or has two "
           "weights",
           lines_.name(), lines_.number());
    return std::move(out_);
  }

private:
  /// The next word as a whole number.
  std::uint64_t whole(char const*& p, char const* end, char const* what) {
    char const* const first = p;
    std::uint64_t n = 0;
    parsed const status = parse_index(p, end, n);
    if (*first == '\n')
      fail(errc::io, "%s:%llu: the line ends before %s", lines_.name(), lines_.number(), what);
    if (status == parsed::bad || (*p != '\n' && !is_blank(*p)))
      fail(errc::io, "%s:%llu: expected %s, found '%s'", lines_.name(), lines_.number(), what,
           quoted(word_at(first)).text);
    if (status == parsed::too_large || n > INT64_MAX)
      fail(errc::overflow, "%s:%llu: %s is '%s', which does not fit 63 bits", lines_.name(),
           lines_.number(), what, quoted(word_at(first)).text);
    p = skip_blanks(p);
    return n;
  }

  double weight(char const*& p, char const* end, char const* what) {
    char const* const first = p;
    if (*p == '\n')
      fail(errc::io, "%s:%llu: the line ends before %s", lines_.name(), lines_.number(), what);
    double v = 0;
    parsed const status = parse_real(p, end, v);
    if (status == parsed::bad || (*p != '\n' && !is_blank(*p)))
      fail(errc::io, "%s:%llu: expected %s, found '%s'", lines_.name(), lines_.number(), what,
           quoted(word_at(first)).text);
    if (status == parsed::too_large)
      fail(errc::overflow, "%s:%llu: weight %s is too large for double", lines_.name(),
           lines_.number(), quoted(word_at(first)).text);
    p = skip_blanks(p);
    return v;
  }

  void read_header() {
    text_range line;
    char const* p = nullptr;
    do {
      if (!lines_.next(line))
        fail(errc::io, "%s:%llu: the file ends before the numbers of vertices and edges",
             lines_.name(), lines_.number());
      p = skip_blanks(line.begin);
    } while (*p == '%' || *p == '\n');
    header_line_ = lines_.number();
    out_.head.rows = out_.head.cols =
        static_cast<std::int64_t>(whole(p, line.end, "the number of vertices"));
    edges_ = whole(p, line.end, "the number of edges");
    if (edges_ > INT64_MAX / 2)
      fail(errc::overflow, "%s:%llu: %llu edges are more than 2^62", lines_.name(), header_line_,
           static_cast<ull>(edges_));
    if (*p != '\n')
      read_weights(p, line.end);
    if (*p != '\n')
      fail(errc::io,
           "%s:%llu: expected 2 to 4 numbers (vertices, edges, weights, weights per "
           "vertex), then found '%s'",
           lines_.name(), header_line_, quoted(word_at(p)).text);
    out_.head.field = edge_weights_ ? matrix_market::field::real : matrix_market::field::pattern;
    out_.entries.hold(out_.head.field, memory_);
  }

  void read_weights(char const*& p, char const* end) {
    text_range const word = word_at(p);
    bool good = word.size() <= 3;
    for (char c : std::string_view(word.begin, word.size()))
      good = good && (c == '0' || c == '1');
    if (!good)
      fail(errc::io,
           "%s:%llu: expected which weights there are, up to three digits 0 or 1, found "
           "'%s'",
           lines_.name(), header_line_, quoted(word).text);
    auto const digit = [&](std::size_t from_right) {
      return word.size() > from_right && word.end[-1 - static_cast<int>(from_right)] == '1';
    };
    edge_weights_ = digit(0);
    vertex_weights_ = digit(1) ? 1 : 0;
    vertex_sizes_ = digit(2);
    p = skip_blanks(word.end);
    if (*p == '\n')
      return;
    std::uint64_t const each = whole(p, end, "the number of weights per vertex");
    if (vertex_weights_ == 0 && each != 0)
      fail(errc::io, "%s:%llu: %llu weights per vertex, but '%s' says that vertices have none",
           lines_.name(), header_line_, static_cast<ull>(each), quoted(word).text);
    vertex_weights_ = each;
  }

  void vertex(std::int64_t i, text_range line) {
    char const* p = skip_blanks(line.begin);
    if (vertex_sizes_)
      weight(p, line.end, "the size of a vertex");
    for (std::uint64_t k = 0; k < vertex_weights_; ++k)
      weight(p, line.end, "the weight of a vertex");
    while (*p != '\n') {
      char const* const first = p;
      std::uint64_t const n = whole(p, line.end, "a neighbour");
      if (n - 1 >= static_cast<std::uint64_t>(out_.head.rows))
        fail(errc::io, "%s:%llu: neighbour %s is outside 1..%lld", lines_.name(), lines_.number(),
             quoted(word_at(first)).text, static_cast<long long>(out_.head.rows));
      auto const j = static_cast<std::int64_t>(n - 1);
      if (i == j)
        fail(errc::io, "%s:%llu: vertex %llu is its own neighbour", lines_.name(), lines_.number(),
             static_cast<ull>(n));
      double const v = edge_weights_ ? weight(p, line.end, "the weight of an edge") : 1;
      std::uint64_t hash = mixed(static_cast<std::uint64_t>(std::min(i, j)) + 1);
      hash = mixed(hash + static_cast<std::uint64_t>(std::max(i, j)));
      hash = mixed(hash + std::bit_cast<std::uint64_t>(v));
      balance_ += i < j ? hash : 0 - hash;
      out_.entries.add(i, j, v);
    }
  }

  line_reader lines_;
  std::pmr::memory_resource* memory_;
  found out_;
  std::uint64_t edges_ = 0;
  ull header_line_ = 0;
  bool vertex_sizes_ = false;
  std::uint64_t vertex_weights_ = 0;
  bool edge_weights_ = false;
  std::uint64_t balance_ = 0;
};

} // namespace

found read_metis(text_source& source, read_options const& options) {
  return graph(source, options).read();
}

} // namespace tulle::detail
