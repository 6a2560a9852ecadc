// SPDX-License-Identifier: Apache-2.0

// src/io/edge_list.cpp:  one directed edge per line into entries (from, to).
#include "tulle/core/error.hpp"

#include "io/found.hpp"
#include "io/parse_number.hpp"

#include <algorithm>

namespace tulle::detail {
namespace {

constexpr std::size_t most_comments = 4096; // bytes of comments that are kept

bool separates(char c) {
  return is_blank(c) || c == ',' || c == ';';
}

/// Blanks with at most one comma or semicolon among them.
char const* skip_separator(char const* p) {
  p = skip_blanks(p);
  if (*p == ',' || *p == ';')
    p = skip_blanks(p + 1);
  return p;
}

text_range word_at(char const* p) {
  text_range word{p, p};
  while (*word.end != '\n' && !separates(*word.end))
    ++word.end;
  return word;
}

class edges {
public:
  edges(text_source& source, read_options const& options, node_ids ids)
      : lines_(source, options.progress), memory_(options.memory), ids_(ids) {}

  found read() {
    text_range line;
    while (lines_.next(line)) {
      char const* p = skip_blanks(line.begin);
      if (*p == '\n')
        continue;
      if (*p == '#' || *p == '%')
        comment({p + 1, line.end});
      else
        edge(p, line.end);
    }
    if (out_.entries.size() == 0)
      fail(errc::io, "%s:%llu: the file ends without an edge", lines_.name(), lines_.number());
    bool const from_0 =
        ids_ == node_ids::from_0 || (ids_ == node_ids::by_content && smallest_ == 0);
    std::int64_t const base = from_0 ? 0 : 1;
    if (base != 0)
      for (auto& s : out_.entries.segments)
        for (std::size_t k = 0; k < s.count; ++k) {
          s.row[k] -= base;
          s.col[k] -= base;
        }
    out_.head.rows = out_.head.cols = largest_ - base + 1;
    out_.head.comments.insert(0, from_0 ? " edge list, ids from 0\n" : " edge list, ids from 1\n");
    return std::move(out_);
  }

private:
  void comment(text_range text) {
    std::string& kept = out_.head.comments;
    if (numbers_ != 0 || kept.size() + text.size() > most_comments)
      return;
    kept.append(text.begin, text.end - 1);
    if (!kept.empty() && kept.back() == '\r')
      kept.pop_back();
    kept += '\n';
  }

  std::int64_t id(char const*& p, char const* end) {
    char const* const first = p;
    std::uint64_t n = 0;
    parsed const status = parse_index(p, end, n);
    if (status == parsed::bad || (*p != '\n' && !separates(*p)))
      fail(errc::io, "%s:%llu: expected the id of a node, found '%s'", lines_.name(),
           lines_.number(), quoted(word_at(first)).text);
    if (status == parsed::too_large || n >= INT64_MAX)
      fail(errc::overflow, "%s:%llu: id %s does not fit 63 bits", lines_.name(), lines_.number(),
           quoted(word_at(first)).text);
    auto const i = static_cast<std::int64_t>(n);
    if (i == 0 && ids_ == node_ids::from_1)
      fail(errc::io, "%s:%llu: id 0, but ids are to start at 1", lines_.name(), lines_.number());
    smallest_ = std::min(smallest_, i);
    largest_ = std::max(largest_, i);
    return i;
  }

  double weight(char const*& p, char const* end) {
    char const* const first = p;
    double v = 0;
    parsed const status = parse_real(p, end, v);
    if (status == parsed::bad || (*p != '\n' && !separates(*p)))
      fail(errc::io, "%s:%llu: expected a weight, found '%s'", lines_.name(), lines_.number(),
           quoted(word_at(first)).text);
    if (status == parsed::too_large)
      fail(errc::overflow, "%s:%llu: weight %s is too large for double", lines_.name(),
           lines_.number(), quoted(word_at(first)).text);
    return v;
  }

  [[noreturn]] void bad_width(text_range line) const {
    int found = 0;
    for (char const* p = line.begin; *p != '\n'; p = skip_separator(word_at(p).end))
      ++found;
    if (numbers_ == 0)
      fail(errc::io, "%s:%llu: expected 2 or 3 numbers (from, to, weight), found %d", lines_.name(),
           lines_.number(), found);
    fail(errc::io, "%s:%llu: expected %d numbers as on line %llu, found %d", lines_.name(),
         lines_.number(), numbers_, first_line_, found);
  }

  void edge(char const* p, char const* end) {
    text_range const line{p, end};
    std::int64_t const i = id(p, end);
    p = skip_separator(p);
    if (*p == '\n')
      bad_width(line);
    std::int64_t const j = id(p, end);
    p = skip_separator(p);
    bool const weighted = *p != '\n';
    if (numbers_ != 0 && numbers_ != (weighted ? 3 : 2))
      bad_width(line);
    double const v = weighted ? weight(p, end) : 1;
    p = skip_separator(p);
    if (*p != '\n')
      bad_width(line);
    if (numbers_ == 0) {
      numbers_ = weighted ? 3 : 2;
      first_line_ = lines_.number();
      out_.head.field = weighted ? matrix_market::field::real : matrix_market::field::pattern;
      out_.entries.hold(out_.head.field, memory_);
    }
    out_.entries.add(i, j, v);
  }

  line_reader lines_;
  std::pmr::memory_resource* memory_;
  node_ids ids_;
  found out_;
  int numbers_ = 0; // on each line; 0 before the first
  ull first_line_ = 0;
  std::int64_t smallest_ = INT64_MAX;
  std::int64_t largest_ = 0;
};

} // namespace

found read_edge_list(text_source& source, read_options const& options, node_ids ids) {
  return edges(source, options, ids).read();
}

} // namespace tulle::detail
