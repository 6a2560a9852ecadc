// SPDX-License-Identifier: Apache-2.0

/// What readers find in a file, before the types of the matrix are chosen: so each reader is
/// compiled once, not once for every type.
#pragma once
#include "tulle/io/read.hpp"

#include "io/matrix_market_header.hpp"

#include <cstring>
#include <vector>

namespace tulle::detail {

/// Entries in file order, from 0. Segments grow with what has been added.
class found_entries {
public:
  struct segment {
    array<std::int64_t> row;
    array<std::int64_t> col;
    array<double> re; ///< empty for a pattern
    array<double> im; ///< empty unless complex
    std::size_t count = 0;
  };
  std::vector<segment> segments;

  /// Before the first entry is added.
  void hold(matrix_market::field field, std::pmr::memory_resource* memory) {
    field_ = field;
    memory_ = memory;
  }
  std::size_t size() const { return size_; }

  void add(std::int64_t i, std::int64_t j, double re = 1, double im = 0) {
    if (left_ == 0)
      grow();
    --left_;
    ++size_;
    segment& s = segments.back();
    std::size_t const k = s.count++;
    s.row[k] = i;
    s.col[k] = j;
    if (!s.re.empty())
      s.re[k] = re;
    if (!s.im.empty())
      s.im[k] = im;
  }

private:
  void grow() {
    constexpr std::size_t least = 64;
    constexpr std::size_t most = std::size_t{1} << 18;
    std::size_t const n = size_ < least ? least : size_ < most ? size_ : most;
    segment s;
    s.row = array<std::int64_t>(n, memory_);
    s.col = array<std::int64_t>(n, memory_);
    if (field_ != matrix_market::field::pattern)
      s.re = array<double>(n, memory_);
    if (field_ == matrix_market::field::complex)
      s.im = array<double>(n, memory_);
    segments.push_back(std::move(s));
    left_ = n;
  }

  matrix_market::field field_ = matrix_market::field::real;
  std::pmr::memory_resource* memory_ = nullptr;
  std::size_t size_ = 0;
  std::size_t left_ = 0;
};

struct found {
  matrix_market_header head;
  found_entries entries;
  std::uint64_t inflated = 0; ///< bytes of compressed members, which also pay for rows
};

using ull = unsigned long long;

/// Lines of a source, each with its newline at end[-1].
class line_reader {
public:
  line_reader(text_source& source, read_progress const& progress)
      : source_(source), progress_(progress) {}

  bool next(text_range& out) {
    if (block_.empty()) {
      block_ = source_.block();
      told_ = block_.begin;
      if (block_.empty())
        return false;
    }
    auto const* const newline =
        static_cast<char const*>(std::memchr(block_.begin, '\n', block_.size()));
    out = {block_.begin, newline + 1};
    block_.begin = newline + 1;
    if (number_++ == 0 && out.size() > 3 && std::memcmp(out.begin, "\xEF\xBB\xBF", 3) == 0)
      out.begin += 3; // a byte order mark
    if (block_.begin - told_ > 1 << 20 || block_.empty())
      tell();
    return true;
  }
  ull number() const { return number_; } ///< of the line last given, from 1
  char const* name() const { return source_.name(); }

private:
  void tell() {
    source_.forget({told_, block_.begin});
    told_ = block_.begin;
    if (progress_.call)
      progress_.call(progress_.context, source_.bytes_done(told_), source_.bytes_total());
  }

  text_source& source_;
  read_progress progress_;
  text_range block_;
  char const* told_ = nullptr;
  ull number_ = 0;
};

// A reader for each kind. The source stands at its first byte.
found read_edge_list(text_source& source, read_options const& options, node_ids ids);
found read_metis(text_source& source, read_options const& options);
found read_harwell_boeing(text_source& source, read_options const& options);
found read_npz(text_source& source, read_options const& options);
found read_petsc(text_source& source, read_options const& options);

/// Whether the first lines of a file are those of a Harwell-Boeing file.
bool is_harwell_boeing(text_range text);

} // namespace tulle::detail
