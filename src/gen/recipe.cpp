// SPDX-License-Identifier: Apache-2.0
//
// Recipes as text: what stands behind "gen:" on a command line.
#include "gen/like.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <vector>

namespace tulle::gen {
namespace {

// In the order of the enum.
constexpr generator_info table[] = {
    {family::poisson2d5, "poisson2d5", "N",
     "2D grid, N points a side, 5-point stencil: diagonal 4, neighbours -1"},
    {family::poisson2d9, "poisson2d9", "N",
     "2D grid, N points a side, 9-point stencil: diagonal 8, neighbours -1"},
    {family::poisson3d7, "poisson3d7", "N",
     "3D grid, N points a side, 7-point stencil: diagonal 6, neighbours -1"},
    {family::poisson3d27, "poisson3d27", "N",
     "3D grid, N points a side, 27-point stencil: diagonal 26, neighbours -1"},
    {family::diffusion2d5, "diffusion2d5", "N[:jumps=RATIO]",
     "as poisson2d5, with coefficients that differ from cell to cell; jumps: RATIO times as large "
     "in "
     "half of the blocks of 16 cells per side"},
    {family::diffusion2d9, "diffusion2d9", "N[:jumps=RATIO]",
     "the same with 9 points, bilinear finite elements"},
    {family::diffusion3d7, "diffusion3d7", "N[:jumps=RATIO]", "the same in 3D with 7 points"},
    {family::diffusion3d27, "diffusion3d27", "N[:jumps=RATIO]", "the same in 3D with 27 points"},
    {family::fem, "fem", "ROWS[:REACH]",
     "mesh with 3x3 blocks, about 60 entries per row, symmetric; ROWS rounded up to a multiple of "
     "3; "
     "neighbours within about REACH nodes, unless given those of a mesh in 3D"},
    {family::rmat, "rmat", "SCALE:PER_ROW",
     "power-law graph, 2^SCALE rows; PER_ROW edges per row are drawn, duplicates removed"},
    {family::circuit, "circuit", "ROWS",
     "short rows, about 7 entries, and 3 nodes with dense rows and columns"},
    {family::lattice, "lattice", "ROWS",
     "four neighbours on a torus, no diagonal; ROWS rounded to a product of two sides near the "
     "root"},
    {family::lp, "lp", "ROWS:COLS:AVERAGE",
     "rows of log-normal length, AVERAGE entries on average, columns anywhere"},
    {family::banded, "banded", "N:HALFWIDTH",
     "all entries within HALFWIDTH of the diagonal, symmetric"},
    {family::random, "random", "ROWS:COLS:NNZ", "exactly NNZ entries, anywhere"},
    {family::permutation, "permutation", "N", "one 1 in each row and column"},
    {family::dense, "dense", "N[:COLS]",
     "every entry, stored as a sparse matrix; square unless COLS is given"},
    {family::like, "like", "NAME",
     "a stand-in for a matrix of the literature, equal in rows, columns, entries, and in"
     " the shortest and longest row"},
};
static_assert(std::size(table) == static_cast<std::size_t>(family::like) + 1);

/// Insertions, deletions and changes, ignoring case, from a to b.
std::size_t distance(std::string_view a, std::string_view b) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : int(c); };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const change = corner + (lower(a[i]) != lower(b[j]));
      corner = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, change});
    }
  }
  return row.back();
}

/// " (did you mean rmat?)" for the nearest of the names, or nothing.
class suggestion {
public:
  explicit suggestion(std::string_view asked)
      : asked_(asked), best_(std::min<std::size_t>(asked.size() / 2, 3) + 1) {}
  void consider(std::string_view name) {
    std::size_t const d = distance(asked_, name);
    if (d < best_) {
      best_ = d;
      name_ = name;
    }
  }
  bool empty() const { return name_.empty(); }
  std::string text() const { return empty() ? "" : " (did you mean " + std::string(name_) + "?)"; }

private:
  std::string_view asked_;
  std::string_view name_;
  std::size_t best_;
};

template <class F>
void each_word(std::string_view words, char separator, F f) {
  while (!words.empty()) {
    std::size_t const end = std::min(words.find(separator), words.size());
    f(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

/// A generator's parameters, one name per number: "[:COLS]" gives "COLS", which may be left out.
/// "[:jumps=RATIO]" gives "RATIO" and the key "jumps=": a real number, kept as the bits of a
/// double.
struct parameters {
  std::vector<std::string> names;
  std::size_t required = 0;
  std::string key; // of the last one

  explicit parameters(std::string_view text) {
    std::size_t const optional = std::min(text.find('['), text.size());
    each_word(text.substr(0, optional), ':', [this](std::string_view w) { names.emplace_back(w); });
    required = names.size();
    if (optional < text.size())
      names.emplace_back(text.substr(optional + 2, text.size() - optional - 3));
    if (std::size_t const end = names.back().find('='); end != std::string::npos) {
      key = names.back().substr(0, end + 1);
      names.back().erase(0, end + 1);
    }
  }
  bool has_key(std::size_t k) const { return !key.empty() && k + 1 == names.size(); }
};

[[noreturn]] void refuse(errc code, std::string_view spec, std::string const& message) {
  fail(code, "%s: %s", std::string(spec).c_str(), message.c_str());
}

std::uint64_t number(std::string_view spec, std::string_view text, std::string const& what) {
  std::uint64_t n = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (status == std::errc::result_out_of_range)
    refuse(errc::overflow, spec, std::string(text) + " does not fit 64 bits");
  if (status != std::errc() || end != text.data() + text.size())
    refuse(errc::unsupported, spec, "expected " + what + ", not '" + std::string(text) + "'");
  return n;
}

std::uint64_t real_number(std::string_view spec, std::string_view word, std::string const& key,
                          std::string const& what) {
  std::string_view const value = word.substr(std::min(key.size(), word.size()));
  double v = 0;
  auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), v);
  if (!word.starts_with(key) || status != std::errc() || end != value.data() + value.size() ||
      !(v > 0))
    refuse(errc::unsupported, spec, "expected " + what + ", not '" + std::string(word) + "'");
  return std::bit_cast<std::uint64_t>(v);
}

} // namespace

std::span<generator_info const> generators() {
  return table;
}

recipe like(std::string_view name) {
  std::size_t const k = find_model(name);
  if (k == models().size()) {
    suggestion near(name);
    std::string known;
    for (model const& m : models()) {
      near.consider(m.name);
      each_word(m.aliases, ' ', [&](std::string_view w) { near.consider(w); });
      known.append(known.empty() ? "" : " ").append(m.name);
    }
    std::string const more = near.empty() ? "; there are " + known : near.text();
    refuse(errc::unsupported, "gen:like:" + std::string(name), "no such matrix" + more);
  }
  return {family::like, {k}};
}

recipe parse(std::string_view spec) {
  std::string_view rest = spec;
  if (rest.starts_with("gen:"))
    rest.remove_prefix(4);
  recipe r;
  if (std::size_t const at = rest.rfind('@'); at != rest.npos) {
    r.seed = number(spec, rest.substr(at + 1), "a number after @, the seed");
    rest = rest.substr(0, at);
  }
  std::size_t const colon = std::min(rest.find(':'), rest.size());
  std::string_view const name = rest.substr(0, colon);
  rest.remove_prefix(std::min(colon + 1, rest.size()));

  auto const found = std::find_if(std::begin(table), std::end(table),
                                  [&](generator_info const& g) { return name == g.name; });
  if (found == std::end(table)) {
    suggestion near(name);
    std::string known;
    for (generator_info const& g : table) {
      near.consider(g.name);
      known.append(known.empty() ? "" : " ").append(g.name);
    }
    refuse(errc::unsupported, spec, "no such generator" + near.text() + "; there are " + known);
  }
  if (found->family == family::like)
    return like(rest).seeded(r.seed);

  r.family = found->family;
  parameters const wanted(found->parameters);
  std::string const usage = std::string("gen:") + found->name + ":" + found->parameters;
  std::size_t given = 0;
  each_word(rest, ':', [&](std::string_view word) {
    if (given < wanted.names.size()) {
      std::string const what = "a number for " + wanted.names[given] + " in " + usage;
      r.number[given] = wanted.has_key(given) ? real_number(spec, word, wanted.key, what)
                                              : number(spec, word, what);
    }
    ++given;
  });
  if (given < wanted.required || given > wanted.names.size() || rest.ends_with(':'))
    refuse(errc::unsupported, spec, "expected " + usage);
  if (r.family == family::dense && given == 1)
    r.number[1] = r.number[0];
  return r;
}

namespace {

/// The shortest that reads as v: "10000", "1e+06".
std::string real_text(double v) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

} // namespace

std::string text(recipe const& r) {
  generator_info const& g = table[static_cast<std::size_t>(r.family)];
  std::string s = "gen:" + std::string(g.name);
  if (r.family == family::like) {
    s.append(":").append(r.number[0] < models().size() ? models()[r.number[0]].name : "?");
  } else {
    parameters const p(g.parameters);
    std::uint64_t const unless_given = r.family == family::dense ? r.number[0] : 0;
    bool const is_short = p.required == 1 && r.number[1] == unless_given;
    std::size_t const numbers = is_short ? p.required : p.names.size();
    for (std::size_t k = 0; k < numbers; ++k)
      s.append(":").append(p.has_key(k) ? p.key + real_text(std::bit_cast<double>(r.number[k]))
                                        : std::to_string(r.number[k]));
  }
  return r.seed == 0 ? s : s + "@" + std::to_string(r.seed);
}

std::string help() {
  std::string s = "gen:NAME:PARAMETERS[@SEED]\n\n";
  auto const line = [&s](std::string left, std::size_t width, std::string const& right) {
    left.resize(std::max(left.size() + 1, width), ' ');
    s += "  " + left + right + "\n";
  };
  for (generator_info const& g : table)
    line(std::string(g.name) + ":" + g.parameters, 24, g.help);
  s += "\ngen:like:NAME, by any of its names; case and punctuation do not matter\n\n";
  for (model const& m : models())
    line(m.name, 20,
         std::to_string(m.rows) + " x " + std::to_string(m.cols) + ", " + std::to_string(m.nnz) +
             " entries, " + std::to_string(m.min) + " to " + std::to_string(m.max) + " per row" +
             (m.known ? "" : " (unsure)") + (*m.aliases ? "; also " + std::string(m.aliases) : ""));
  return s;
}

} // namespace tulle::gen
