// SPDX-License-Identifier: Apache-2.0
#include "apps/drawing.hpp"

#include "tulle/format/formats.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace tulle::app {
namespace {

constexpr std::size_t page = 100; // columns

// Arrays that are drawn below one another. The elements of `each` come in groups with `gap` spaces
// between them. Groups end where the array `cut` says, or have as many elements as the parameters
// in `cut` multiply to. Arrays of `group` have one element for each group, or one more; `outer`, an
// array or a parameter, counts groups in the same way.
struct aligned {
  char const* format;
  int gap;
  char const* cut;
  char const* each;
  char const* group = "";
  char const* outer = "";
};

// A format without a line here, or an array, is drawn as plain numbers.
constexpr aligned alignments[] = {
    {"csr", 3, "row_ptr", "col val"},
    {"csc", 3, "col_ptr", "row val"},
    {"csr5", 2, "omega", "col val", "", "sigma"},
    {"sell", 3, "chunk", "perm len", "step_ptr kind col_ptr base"},
    {"sell", 3, "chunk", "val col short_col"},
    {"sell", 3, "long_ptr", "long_col long_val", "long_row"},
    {"dia", 3, "block", "val", "mask", "block_ptr"},
    {"dia", 3, "stray_ptr", "stray_col stray_val", "stray_row"},
    {"ell", 3, "stride", "col val"},
    {"hyb", 3, "stride", "col val"},
    {"bcsr", 2, "height*width", "val", "block_col", "block_ptr"},
    {"bsell", 2, "height*width", "val", "", "slice_ptr"},
    {"cmrs", 3, "strip_ptr", "col val"},
    {"panels", 3, "run_ptr", "run_len run_count"},
    {"panels", 3, "slot_ptr", "row"},
    {"panels", 3, "tile_ptr", "col val", "tile_panel", "group_tile"},
    {"scsr", 3, "row_ptr", "col val"},
    {"jds", 3, "diag_ptr", "col val"},
    {"jds_csr", 3, "place_ptr", "perm"},
    {"jds_csr", 3, "diag_ptr", "col val", "", "section_ptr"},
    {"jds_ell", 3, "place_ptr", "perm len"},
    {"jds_ell", 3, "section_ptr", "col val"},
    {"bicrs", 3, "part_jump", "row"},
    {"bicrs", 3, "part_ptr", "col val"},
    {"cbicrs", 3, "jump_ptr", "row"},
    {"cbicrs", 3, "block_ptr", "col val", "block_row block_col", "part_block"},
    {"vbicrs", 3, "jump_ptr", "row"},
    {"vbicrs", 3, "block_ptr", "col val", "block_row block_col", "part_block"},
    {"acsr", 3, "row_ptr", "col val"},
    {"acsr", 3, "bin_ptr", "bin_row"},
    {"csr_adaptive", 3, "row_ptr", "col val", "", "row_block"},
    {"brc", 3, "block_ptr", "col val", "", "level_ptr"},
    {"scoo", 3, "slice_ptr", "row col val"},
    {"bcoo", 2, "height*width", "val", "block_row block_col"},
    {"bccoo", 2, "height*width", "val", "block_col"},
};

template <class T>
std::string text_of(T const& v) {
  if constexpr (std::is_integral_v<T>)
    return std::to_string(v);
  else if constexpr (std::is_floating_point_v<T>)
    return fmt::format("{:.6g}", v);
  else
    return fmt::format("{:.6g}{:+.6g}i", v.real(), v.imag());
}

// Numbers of an array that counts something; empty for values.
std::vector<std::size_t> counts_in(named_array const& a) {
  return visit(a, [](auto const& all) -> std::vector<std::size_t> {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(all[0])>>)
      return {all.begin(), all.end()};
    else
      return {};
  });
}

struct line {
  std::string name;
  std::vector<std::string> cells;
  std::string text, note;
  int set = -1; // of those drawn below one another
};

std::vector<std::string> words_of(char const* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string joined(std::vector<std::string> const& cells) {
  return fmt::format("{}", fmt::join(cells, " "));
}

// Puts `cell` at column `at` of the text, or behind what is there already.
void put(std::string& text, std::size_t at, std::string const& cell) {
  text.resize(std::max(at, text.empty() ? 0 : text.size() + 1), ' ');
  text += cell;
}

class drawer {
public:
  drawer(matrix_ref const& a, parameter_list const& parameters)
      : format_(name(a.format)), parameters_(parameters.begin(), parameters.end()),
        arrays_(arrays(a)) {
    for (named_array const& one : arrays_) {
      line l{one.name, {}, {}, {}, -1};
      visit(one, [&](auto const& all) {
        for (auto const& v : all)
          l.cells.push_back(text_of(v));
      });
      if (a.format == format::csr5 && l.name == "tile_desc") // which is bits
        for (std::size_t k = 0; k < one.size; ++k)
          l.cells[k] = fmt::format("0x{:08x}", one.as<std::uint32_t>()[k]);
      l.text = joined(l.cells);
      lines_.push_back(std::move(l));
    }
    int set = 0;
    for (aligned const& rule : alignments)
      if (format_ == rule.format)
        align(rule, set++);
    describe_bits();
  }

  std::vector<line> const& lines() const { return lines_; }

private:
  line* find(std::string const& name) {
    for (line& l : lines_)
      if (l.name == name)
        return &l;
    return nullptr;
  }
  std::vector<std::size_t> counts(std::string const& name) const {
    for (named_array const& one : arrays_)
      if (one.name == name)
        return counts_in(one);
    return {};
  }
  // The product of the parameters in "height*width"; 0 where it names none.
  std::size_t product(std::string const& text) const {
    std::istringstream in(text);
    std::size_t n = text.empty() ? 0 : 1;
    for (std::string factor; std::getline(in, factor, '*');) {
      auto const found = parameters_.find(factor);
      n *= found == parameters_.end() ? 0 : found->second;
    }
    return n;
  }

  // Where the groups of n elements begin, and n. Empty where they do not cover 0 to n.
  std::vector<std::size_t> cuts(aligned const& rule, std::size_t n) {
    if (find(rule.cut)) {
      auto ptr = counts(rule.cut);
      bool const fits = ptr.size() > 1 && ptr.front() == 0 && ptr.back() == n &&
                        std::is_sorted(ptr.begin(), ptr.end());
      return fits ? ptr : std::vector<std::size_t>();
    }
    std::size_t const step = product(rule.cut);
    std::size_t const groups = product(rule.outer); // in whole outer ones; the rest is one group
    if (step == 0)
      return {};
    std::size_t const whole = groups == 0 ? n : n / (step * groups) * (step * groups);
    std::vector<std::size_t> at;
    for (std::size_t k = 0; k < whole; k += step)
      at.push_back(k);
    if (whole < n)
      at.push_back(whole);
    at.push_back(n);
    return at;
  }

  void align(aligned const& rule, int set) {
    std::vector<line*> each;
    for (std::string const& name : words_of(rule.each))
      if (line* const l = find(name); l && !l->cells.empty())
        if (each.empty() || l->cells.size() == each.front()->cells.size())
          each.push_back(l);
    if (each.empty())
      return;
    std::size_t const n = each.front()->cells.size();
    auto const at = cuts(rule, n);
    if (at.empty())
      return;
    std::size_t const groups = at.size() - 1;
    // Lines with an element at the beginning of groups, and at the end.
    std::vector<std::pair<line*, std::vector<std::size_t>>> marks;
    auto const mark = [&](std::string const& name, auto group_of) {
      line* const l = find(name);
      if (!l || l->cells.empty())
        return;
      std::vector<std::size_t> where;
      for (std::size_t k = 0; k < l->cells.size(); ++k)
        where.push_back(group_of(k));
      if (where.size() <= groups + 1 && where.back() <= groups &&
          std::is_sorted(where.begin(), where.end()))
        marks.emplace_back(l, std::move(where));
    };
    auto const by_number = [](std::size_t k) { return k; };
    mark(rule.cut, by_number);
    for (std::string const& name : words_of(rule.group))
      if (line const* const l = find(name); l && l->cells.size() >= groups)
        mark(name, by_number);
    auto const outer = counts(rule.outer);
    mark(rule.outer, [&](std::size_t k) { return outer[k]; });
    std::size_t const outer_step = product(rule.outer);

    std::vector<std::size_t> start(groups + 1, 0); // columns
    std::vector<std::size_t> column(n, 0);
    for (std::size_t g = 0; g < groups; ++g) {
      std::size_t width = 0;
      for (std::size_t k = at[g]; k < at[g + 1]; ++k) {
        column[k] = start[g] + width + (k == at[g] ? 0 : 1);
        std::size_t most = 0;
        for (line const* const l : each)
          most = std::max(most, l->cells[k].size());
        width = column[k] + most - start[g];
      }
      for (auto const& [l, where] : marks) {
        std::size_t wide = 0; // several marks may stand at one group
        for (std::size_t k = 0; k < where.size(); ++k)
          if (where[k] == g)
            wide += l->cells[k].size() + (wide != 0);
        width = std::max(width, wide);
      }
      bool const outer_end = outer_step != 0 && (g + 1) % outer_step == 0;
      start[g + 1] = start[g] + width + static_cast<std::size_t>(rule.gap) + outer_end;
    }
    for (line* const l : each) {
      l->text.clear();
      l->set = set;
      for (std::size_t k = 0; k < n; ++k)
        put(l->text, column[k], l->cells[k]);
    }
    for (auto const& [l, where] : marks) {
      l->text.clear();
      l->set = set;
      for (std::size_t k = 0; k < where.size(); ++k)
        put(l->text, start[where[k]], l->cells[k]);
    }
  }

  // Words of bits, one for each slot or block, beside their numbers.
  void describe_bits() {
    constexpr std::size_t most = 64;
    std::size_t n = 0;      // slots
    std::size_t vector = 1; // slots of a vector of vbicrs
    auto const bits = [&](char const* name, std::size_t n, char const* what, auto ends) {
      line* const l = find(name);
      if (!l || l->cells.empty() || n > most)
        return;
      auto const words = counts(name);
      std::string text;
      for (std::size_t k = 0; k < n; ++k) {
        bool const set = (words[k / 64] >> k % 64 & 1) != 0;
        text += set ? '1' : '0';
        if (ends(k, set) && k + 1 < n)
          text += ' ';
      }
      l->note = fmt::format("    a bit a {}: {}", what, text);
    };
    for (named_array const& val : arrays_)
      if (std::string_view(val.name) == "val")
        n = val.size, vector = 64 / bytes_of(val.element);
    std::size_t const block =
        format_ == "vbicrs" ? vector : std::max<std::size_t>(1, product("height*width"));
    bits("pattern", n, "slot", [&](std::size_t k, bool) { return (k + 1) % block == 0; });
    bits("flag", n / block, "block", [](std::size_t, bool goes_on) { return !goes_on; });
  }

  std::string format_;
  std::map<std::string, std::size_t> parameters_;
  std::vector<named_array> arrays_;
  std::vector<line> lines_;
};

// Columns at which lines of a set may be cut: none is in the middle of a number.
std::vector<std::size_t> breaks(std::vector<line const*> const& set, std::size_t width) {
  std::size_t longest = 0;
  for (line const* const l : set)
    longest = std::max(longest, l->text.size());
  std::vector<std::size_t> at = {0};
  while (longest - at.back() > width) {
    std::size_t end = at.back() + width;
    auto const is_free = [&](std::size_t c) {
      return std::all_of(set.begin(), set.end(), [&](line const* l) {
        return c >= l->text.size() || l->text[c - 1] == ' ';
      });
    };
    while (end > at.back() && !is_free(end))
      --end;
    at.push_back(end > at.back() ? end : at.back() + width);
  }
  at.push_back(longest);
  return at;
}

void trim(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
}

// All arrays, and how long the longest line is.
std::vector<std::string> array_lines(std::vector<line> const& lines, std::size_t width) {
  std::size_t names = 0;
  for (line const& l : lines)
    names = std::max(names, l.name.size());
  std::vector<std::string> out;
  auto const add = [&](line const& l, std::string text) {
    out.push_back(fmt::format("{:<{}}   {}", l.name, names, text));
    trim(out.back());
  };
  std::vector<bool> done(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (done[i])
      continue;
    std::vector<line const*> set = {&lines[i]};
    std::size_t longest = lines[i].text.size();
    for (std::size_t k = 0; k < lines.size() && lines[i].set >= 0; ++k)
      if (k != i && lines[k].set == lines[i].set) {
        set.push_back(&lines[k]);
        longest = std::max(longest, lines[k].text.size());
      }
    if (names + 3 + longest <= width) {
      add(lines[i], lines[i].text + lines[i].note);
      continue;
    }
    auto const at = breaks(set, width - names - 3);
    for (std::size_t part = 0; part + 1 < at.size(); ++part) {
      for (std::size_t k = 0; k < lines.size(); ++k)
        if (std::find(set.begin(), set.end(), &lines[k]) != set.end()) {
          done[k] = true;
          if (lines[k].text.size() > at[part] || part == 0)
            add(lines[k], lines[k].text.substr(std::min(at[part], lines[k].text.size()),
                                               at[part + 1] - at[part]));
        }
      if (set.size() > 1)
        out.emplace_back();
    }
  }
  while (!out.empty() && out.back().empty())
    out.pop_back();
  return out;
}

std::size_t longest_of(std::vector<std::string> const& lines) {
  std::size_t n = 0;
  for (std::string const& l : lines)
    n = std::max(n, l.size());
  return n;
}

template <class View>
parameter_list parameters_of_view(View const& v) {
  parameter_list all;
  auto const add = [&](char const* name, auto value) {
    all.emplace_back(name, static_cast<std::size_t>(value));
  };
#define TULLE_PARAMETER(field)                                                                     \
  if constexpr (requires { requires std::integral<std::remove_cvref_t<decltype(v.field)>>; })      \
    add(#field, v.field);
  TULLE_PARAMETER(omega)
  TULLE_PARAMETER(chunk)
  TULLE_PARAMETER(sigma)
  TULLE_PARAMETER(block)
  TULLE_PARAMETER(height)
  TULLE_PARAMETER(width)
  TULLE_PARAMETER(stride)
  TULLE_PARAMETER(lanes)
  TULLE_PARAMETER(entries)
  TULLE_PARAMETER(segments)
#undef TULLE_PARAMETER
  if constexpr (requires { v.layout.height; })
    add("height", v.layout.height);
  return all;
}

template <class... Formats>
parameter_list parameters_by_format(matrix_ref const& a, std::tuple<Formats...> const*) {
  parameter_list all;
  auto const fill = [&]<class Owner>(Owner const*) {
    using view = decltype(std::declval<Owner const&>().view());
    if (a.format == owner_traits<Owner>::format)
      all = parameters_of_view(*static_cast<view const*>(a.view));
  };
  (fill(static_cast<Formats const*>(nullptr)), ...);
  return all;
}

} // namespace

parameter_list parameters_of(matrix_ref const& a) {
  return visit(a.type, [&](auto types) {
    using T = decltype(types);
    using formats =
        typename formats_over<typename T::value, typename T::index, typename T::offset>::type;
    return parameters_by_format(a, static_cast<formats const*>(nullptr));
  });
}

bool is_drawn(std::size_t rows, std::size_t cols) {
  return rows <= 50 && cols <= 50;
}

std::vector<std::string> matrix_lines(matrix_ref const& csr) {
  std::vector<std::vector<std::string>> cells(csr.rows, std::vector<std::string>(csr.cols, "."));
  auto const row_ptr = counts_in(array_of(csr, "row_ptr"));
  auto const col = counts_in(array_of(csr, "col"));
  visit(array_of(csr, "val"), [&](auto const& val) {
    for (std::size_t i = 0; i < csr.rows; ++i)
      for (std::size_t k = row_ptr[i]; k < row_ptr[i + 1]; ++k)
        cells[i][col[k]] = text_of(val[k]);
  });
  std::vector<std::string> lines(csr.rows);
  for (std::size_t j = 0; j < csr.cols; ++j) {
    std::size_t width = 0;
    for (auto const& row : cells)
      width = std::max(width, row[j].size());
    for (std::size_t i = 0; i < csr.rows; ++i)
      lines[i] += fmt::format("{}{:>{}}", j == 0 ? "" : " ", cells[i][j], width);
  }
  return lines;
}

std::string drawing(std::vector<std::string> const& matrix, matrix_ref const& a,
                    parameter_list const& parameters) {
  drawer const drawn(a, parameters);
  std::vector<std::string> left = matrix;
  std::size_t names = 0;
  for (auto const& [name, value] : parameters)
    names = std::max(names, name.size());
  if (!left.empty() && !parameters.empty())
    left.emplace_back();
  for (auto const& [name, value] : parameters)
    left.push_back(fmt::format("{:<{}} = {}", name, names, value));
  std::size_t margin = left.empty() ? 0 : longest_of(left) + 4;
  if (!matrix.empty())
    margin = std::max(margin, longest_of(matrix) + 6);
  auto const right = array_lines(drawn.lines(), std::string::npos);
  std::string text;
  auto const add = [&](std::string l) {
    trim(l);
    text += l + "\n";
  };
  if (margin + longest_of(right) <= page) {
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i)
      add(fmt::format("{:<{}}{}", i < left.size() ? left[i] : "", margin,
                      i < right.size() ? right[i] : ""));
    return text;
  }
  for (std::string const& l : left)
    add(l);
  if (!left.empty())
    add("");
  for (std::string const& l : array_lines(drawn.lines(), page))
    add(l);
  return text;
}

} // namespace tulle::app
