// SPDX-License-Identifier: Apache-2.0

// tulle info: what kind of matrix is this?
#include "apps/analysis.hpp"
#include "apps/command.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"
#include "apps/support/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct info_options {
  std::string matrix;
  json_output json;
  bool exact = false;
};

// What is known before duplicates are summed and rows are sorted.
struct origin {
  std::string name, order;
  std::optional<matrix_market_header> header;
  std::optional<file_kind> kind;
  std::uint64_t stored = 0; ///< entries after expansion, duplicates counted
  double seconds = 0;
};

template <class I, class O, class V>
std::string order_of(coo_view<V, I, O> const& a, bool mirrored) {
  bool by_row = true;
  bool by_col = true;
  bool first = true;
  I row = 0;
  I col = 0;
  auto const n = static_cast<std::size_t>(a.nnz);
  for (std::size_t k = 0; k < n && (by_row || by_col); ++k) {
    I const i = a.row[k];
    I const j = a.col[k];
    by_row = by_row && (first || row < i || (row == i && col <= j));
    by_col = by_col && (first || col < j || (col == j && row <= i));
    row = i;
    col = j;
    first = false;
    if (mirrored && i != j) // the reader put the mirror image behind it
      ++k;
  }
  return by_row ? "rows" : by_col ? "columns" : "none";
}

std::string order_of(any_matrix const& coo, bool mirrored) {
  return visit(coo.type(), [&](auto types) {
    using T = decltype(types);
    using view = coo_view<typename T::value, typename T::index, typename T::offset>;
    return order_of(*static_cast<view const*>(coo.ref().view), mirrored);
  });
}

// The matrix in canonical csr, and what that form no longer shows.
std::pair<origin, subject> load_canonical(std::string const& spec) {
  loaded in = load(spec, {.file_order = true});
  origin from{in.name, "rows", in.header, in.kind, in.matrix.nnz(), in.seconds};
  if (in.matrix.format() == format::csr)
    return {from, make_subject(std::move(in.matrix))}; // generators make canonical rows
  from.order = order_of(in.matrix, from.header->symmetry != matrix_market::symmetry::general);
  progress const shown("sorting " + from.name);
  return {from, make_subject(std::move(in.matrix))};
}

char const* symmetry_name(analysis const& a) {
  if (!a.square)
    return "none";
  if (a.is_symmetric && a.is_hermitian)
    return "symmetric";
  return a.is_hermitian   ? "hermitian"
         : a.is_symmetric ? "symmetric"
         : a.is_skew      ? "skew-symmetric"
                          : "none";
}

json lengths_json(length_statistics const& s) {
  json bins = json::array();
  for (std::size_t b = 0; b < s.bins.size(); ++b)
    bins.push_back({{"from", b == 0 ? 0 : std::uint64_t{1} << (b - 1)},
                    {"to", b == 0 ? 0 : (std::uint64_t{1} << b) - 1},
                    {"count", s.bins[b]}});
  return {{"empty", s.empty}, {"min", s.min},   {"mean", s.mean},           {"median", s.median},
          {"max", s.max},     {"gini", s.gini}, {"deviation", s.deviation}, {"histogram", bins}};
}

json to_json(origin const& from, analysis const& a, std::vector<format_bytes> const& memory) {
  json out;
  out["matrix"] = from.name;
  if (from.header) {
    matrix_market_header const& h = *from.header;
    out["file"] = {{"kind", name(*from.kind)},     {"object", name(h.object)},
                   {"format", name(h.format)},     {"field", name(h.field)},
                   {"symmetry", name(h.symmetry)}, {"entries", h.entries},
                   {"comments", h.comments}};
  } else {
    out["file"] = nullptr;
  }
  double const places = static_cast<double>(a.rows) * static_cast<double>(a.cols);
  out["rows"] = a.rows;
  out["cols"] = a.cols;
  out["nnz"] = a.nnz;
  out["density"] = places == 0 ? 0 : static_cast<double>(a.nnz) / places;
  out["type"] = name(a.type);
  out["duplicates"] = from.stored - a.nnz;
  out["order"] = from.order;
  out["symmetry"] = {{"kind", symmetry_name(a)},
                     {"pattern", a.pattern_symmetry},
                     {"symmetric", a.symmetry},
                     {"skew_symmetric", a.skew_symmetry},
                     {"hermitian", a.hermitian_symmetry}};
  out["diagonal"] = {{"entries", a.diagonal},
                     {"full", a.diagonal == std::min(a.rows, a.cols)},
                     {"zeros", a.diagonal_zeros}};
  out["bandwidth"] = {{"lower", a.lower_band}, {"upper", a.upper_band}};
  json cover = json::array();
  for (diagonal_cover const& c : a.cover)
    cover.push_back({{"diagonals", c.diagonals}, {"share", c.share}});
  out["diagonals"] = {{"nonempty", a.diagonals}, {"cover", cover}};
  out["row_lengths"] = lengths_json(a.row);
  out["col_lengths"] = lengths_json(a.col);
  json blocks = json::array();
  for (block_fill const& b : a.blocks)
    blocks.push_back({{"side", b.side}, {"blocks", b.blocks}, {"fill", b.fill}});
  out["blocks"] = {{"sampled", a.blocks_sampled}, {"sides", blocks}};
  out["values"] = {{"zeros", a.zeros},    {"nans", a.nans}, {"infs", a.infs},
                   {"min", a.min},        {"max", a.max},   {"smallest", a.smallest},
                   {"largest", a.largest}};
  if (a.complex) {
    out["values"].erase("min");
    out["values"].erase("max");
  }
  json formats = json::array();
  for (format_bytes const& m : memory) {
    bool const known = m.how == "conversion" || m.how == "formula";
    json const each = known && a.nnz != 0
                          ? json(static_cast<double>(m.bytes) / static_cast<double>(a.nnz))
                          : json(nullptr);
    formats.push_back({{"format", name(m.format)},
                       {"bytes", known ? json(m.bytes) : json(nullptr)},
                       {"bytes_per_entry", each},
                       {"how", m.how}});
  }
  out["memory"] = std::move(formats);
  out["read_seconds"] = from.seconds;
  return out;
}

void line(char const* what, std::string const& text) {
  fmt::print("  {:<12} {}\n", what, text);
}

std::string lengths_text(length_statistics const& s) {
  return fmt::format(
      "min {}, median {:g}, mean {:.4g}, max {}, deviation {:.3g}, Gini {:.2f}, {} empty",
      count_text(s.min), s.median, s.mean, count_text(s.max), s.deviation, s.gini,
      count_text(s.empty));
}

std::string symmetry_text(analysis const& a) {
  if (!a.square)
    return "none, not square";
  std::string kind = symmetry_name(a);
  std::string text = fmt::format("{}; pattern {}, values {}", kind == "none" ? "unsymmetric" : kind,
                                 percent_text(a.pattern_symmetry), percent_text(a.symmetry));
  if (a.skew_symmetry > a.symmetry)
    text += fmt::format(", skew {}", percent_text(a.skew_symmetry));
  if (a.complex)
    text += fmt::format(", Hermitian {}", percent_text(a.hermitian_symmetry));
  return text;
}

void print_histogram(length_statistics const& s) {
  constexpr int width = 40;
  std::uint64_t const most = *std::max_element(s.bins.begin(), s.bins.end());
  fmt::print("\n  entries per row        rows\n");
  for (std::size_t b = 0; b < s.bins.size(); ++b) {
    std::uint64_t const from = b == 0 ? 0 : std::uint64_t{1} << (b - 1);
    std::uint64_t const to = b == 0 ? 0 : (std::uint64_t{1} << b) - 1;
    if (b == 0 && s.bins[0] == 0)
      continue;
    std::string const range =
        from == to ? count_text(from) : count_text(from) + "-" + count_text(to);
    auto const length = static_cast<std::size_t>(
        std::ceil(width * (static_cast<double>(s.bins[b]) /
                           static_cast<double>(most)))); // what is there shows
    fmt::print("  {:<15} {:>11}  {}\n", range, count_text(s.bins[b]), std::string(length, '#'));
  }
}

void print_text(origin const& from, analysis const& a, std::vector<format_bytes> const& memory) {
  fmt::print("{}\n", from.name);
  if (from.header) {
    matrix_market_header const& h = *from.header;
    std::string order = from.order == "none" ? "in no order" : "in order of " + from.order;
    if (h.format == matrix_market::format::array)
      order = "column by column";
    line("file",
         fmt::format("{}: {} {} {}, {} entries {}", name(*from.kind), name(h.format), name(h.field),
                     name(h.symmetry), count_text(static_cast<std::uint64_t>(h.entries)), order));
    if (*from.kind != file_kind::matrix_market && !h.comments.empty()) // what its reader says of it
      line("", h.comments.substr(1, h.comments.find('\n') - 1));
  }
  double const places = static_cast<double>(a.rows) * static_cast<double>(a.cols);
  line("shape", fmt::format("{} x {}", count_text(a.rows), count_text(a.cols)));
  line("entries", fmt::format("{}, density {}, {} duplicates summed", count_text(a.nnz),
                              percent_text(places == 0 ? 0 : static_cast<double>(a.nnz) / places),
                              from.stored == a.nnz ? "no" : count_text(from.stored - a.nnz)));
  line("symmetry", symmetry_text(a));
  if (a.nnz == 0)
    return;
  std::uint64_t const whole = std::min(a.rows, a.cols);
  line("diagonal", a.diagonal == whole
                       ? "full" + (a.diagonal_zeros ? fmt::format(", {} stored zeros",
                                                                  count_text(a.diagonal_zeros))
                                                    : std::string())
                       : fmt::format("{} of {} stored", count_text(a.diagonal), count_text(whole)));
  line("bandwidth", fmt::format("{} below, {} above the diagonal", count_text(a.lower_band),
                                count_text(a.upper_band)));
  std::string cover;
  for (diagonal_cover const& c : a.cover)
    cover += fmt::format("{} {}: {}", cover.empty() ? "; share of the fullest" : ",", c.diagonals,
                         percent_text(c.share));
  line("diagonals", fmt::format("{} with entries{}", count_text(a.diagonals), cover));
  line("rows", lengths_text(a.row));
  line("columns", lengths_text(a.col));
  std::string blocks;
  for (block_fill const& b : a.blocks)
    blocks +=
        fmt::format("{}{}x{} {}", blocks.empty() ? "" : ", ", b.side, b.side, percent_text(b.fill));
  line("block fill", blocks + (a.blocks_sampled ? " (sampled)" : ""));
  if (a.complex)
    line("values", fmt::format("magnitude {:.4g} to {:.4g}", a.smallest, a.largest));
  else
    line("values",
         fmt::format("{:.4g} to {:.4g}, smallest magnitude {:.4g}", a.min, a.max, a.smallest));
  line("", fmt::format("{} stored zeros, {} NaN, {} infinite", count_text(a.zeros),
                       count_text(a.nans), count_text(a.infs)));
  print_histogram(a.row);
  fmt::print("\n  {:<15} {:>11}  bytes per entry ({})\n", "format", "memory", name(a.type));
  for (format_bytes const& m : memory)
    if (m.bytes != 0)
      fmt::print("  {:<15} {:>11}  {:.2f}\n", name(m.format), bytes_text(m.bytes),
                 static_cast<double>(m.bytes) / static_cast<double>(a.nnz));
    else
      fmt::print("  {:<15} {:>11}  {}\n", name(m.format), "-", m.how);
}

void run(info_options const& o) {
  auto const [from, matrix] = load_canonical(o.matrix);
  progress shown("looking at " + from.name);
  analysis const found = analyse(matrix);
  shown.label("converting " + from.name);
  auto const memory = bytes_by_format(matrix, o.exact);
  shown.clear();
  if (o.json)
    o.json.print(to_json(from, found, memory));
  if (!o.json.alone())
    print_text(from, found, memory);
}

} // namespace

void add_info_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("info", "What kind of matrix this is");
  auto const o = std::make_shared<info_options>();
  command->add_option("MATRIX", o->matrix, matrix_help)->required();
  command->add_flag("--exact", o->exact,
                    "Convert to every format to see its memory, however large the matrix");
  add_threads_option(*command);
  add_json_option(*command, o->json);
  command->footer("Examples:\n"
                  "  tulle info bcsstk13.mtx.gz\n"
                  "  tulle info gen:rmat:18:16 --json");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app
