// SPDX-License-Identifier: Apache-2.0

// Any bytes are a sequence of changes, or a file. After each change the matrix is valid and equals
// a map of places to values; a file is a matrix or a tulle::error.
//
// The first byte says which. Of a sequence, the next four are options; a change is a byte that says
// what, one that says how many entries, and two an entry, all in a matrix of at most 16 x 16.
#include "tulle/core/error.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/format/coo.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <unistd.h>
#include <vector>

namespace {

using namespace tulle;
using matrix = dynamic_csr<double>;

void require(bool condition, char const* what) {
  if (!condition) {
    std::fprintf(stderr, "dynamic_csr_fuzz: %s\n", what);
    std::abort();
  }
}

struct bytes {
  std::uint8_t const* at;
  std::uint8_t const* end;
  unsigned next() { return at == end ? 0 : *at++; }
};

void compare(matrix const& a, std::map<std::pair<int, int>, double> const& m) {
  a.validate();
  csr<double> const c = a.to_csr();
  require(c.val.size() == m.size(), "other places have entries");
  std::size_t k = 0;
  int row = 0;
  for (auto const& [place, v] : m) {
    while (c.row_ptr[static_cast<std::size_t>(row) + 1] <= static_cast<int>(k))
      ++row;
    require(row == place.first && c.col[k] == place.second && c.val[k] == v, "another entry");
    ++k;
  }
}

void sequence(bytes in) {
  dynamic_options o;
  unsigned const how = in.next();
  o.segments = 1 + static_cast<int>(how % 8);
  o.duplicates = static_cast<on_duplicate>(how / 8 % 3);
  o.move_below = how / 32 * 4;
  o.slack.factor = in.next() / 128.0;
  o.slack.plus = in.next() % 4;
  o.width = in.next() % 4;
  o.late_from = o.width == 0 ? how / 8 % 8 : 0;
  o.by_length = o.late_from == 0 && how / 16 % 2 == 1;
  o.waste = 1e-9;
  o.where.threads = 1;
  matrix a(16, 16, o);
  std::map<std::pair<int, int>, double> m;
  dynamic_snapshot<double> kept;
  while (in.at != in.end) {
    unsigned const what = in.next() % 13;
    std::vector<int> row, col;
    std::vector<double> val;
    for (unsigned n = in.next() % 32; n > 0 && in.at != in.end; --n) {
      unsigned const place = in.next();
      row.push_back(static_cast<int>(place / 16));
      col.push_back(static_cast<int>(place % 16));
      val.push_back(static_cast<double>(in.next() % 16) - 8);
    }
    if (what < 3) {
      a.insert(row, col, val);
      for (std::size_t k = 0; k < row.size(); ++k)
        m[{row[k], col[k]}] += val[k];
    } else if (what == 3) {
      a.assign(row, col, val);
      for (std::size_t k = 0; k < row.size(); ++k)
        m[{row[k], col[k]}] = val[k];
    } else if (what == 4) {
      a.erase(row, col);
      for (std::size_t k = 0; k < row.size(); ++k)
        m.erase({row[k], col[k]});
    } else if (what == 5) {
      for (double& v : val)
        v = v < 0 ? -1 : 1;
      a.scale_rows(row, val);
      for (std::size_t k = 0; k < row.size(); ++k)
        for (auto& [place, v] : m)
          if (place.first == row[k])
            v *= val[k];
    } else if (what == 6) {
      a.defragment({.sort = row.size() % 2 == 1, .combine = row.size() % 4 > 1});
    } else if (what == 7) {
      kept = row.empty() ? a.freeze() : a.snapshot();
    } else if (what == 8) {
      kept = {};
      a = matrix::adopt(a.to_csr(), o);
    } else if (what == 9) {
      auto const more = coo_view<double>(16, 16, row, col, val).to_csr();
      a.merge(more.view());
      for (std::size_t k = 0; k < row.size(); ++k)
        m[{row[k], col[k]}] += val[k];
    } else if (what == 10 && !row.empty()) {
      a.insert(row[0], col[0], val[0]);
      m[{row[0], col[0]}] += val[0];
    } else if (what == 11 && !row.empty()) {
      a.assign(row[0], col[0], val[0]);
      m[{row[0], col[0]}] = val[0];
      a.erase(row.back(), col.back());
      m.erase({row.back(), col.back()});
    } else if (!row.empty()) { // refused whole
      auto const before = a.to_csr();
      row.back() = 16;
      try {
        a.insert(row, col, val);
        require(false, "an entry outside was taken");
      } catch (error const&) {
      }
      require(a.to_csr() == before, "a refused batch has changed the matrix");
    }
    compare(a, m);
  }
}

void file(bytes in) {
  static std::string const path = "/tmp/dynamic_csr_fuzz." + std::to_string(::getpid());
  std::FILE* const f = std::fopen(path.c_str(), "wb");
  require(f != nullptr, "no file");
  std::fwrite(in.at, 1, static_cast<std::size_t>(in.end - in.at), f);
  std::fclose(f);
  try {
    matrix::load(path).validate();
  } catch (error const&) { // refused, in words
  }
  ::unlink(path.c_str());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  bytes in{data, data + size};
  in.next() % 8 == 7 ? file(in) : sequence(in);
  return 0;
}
