// SPDX-License-Identifier: Apache-2.0

// src/io/read.cpp:  which kind of file this is, its reader, and the types of the matrix.
#include "tulle/io/read.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/types.hpp"

#include "io/bytes.hpp"
#include "io/found.hpp"
#include "io/from_triplets.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string_view>
#include <utility>

namespace tulle {
namespace detail {
namespace {

constexpr std::size_t looked_at = std::size_t{1} << 16;
// Rows that bytes of a file pay for, as for Matrix Market files.
constexpr std::int64_t free_rows = std::int64_t{1} << 20;
constexpr std::int64_t rows_per_byte = 64;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// "mtx" of "a/b.mtx.gz", in lower case; "" if there is none.
std::string extension(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  std::string out;
  for (char const c : path)
    out += lower(c);
  if (out.ends_with(".gz"))
    out.resize(out.size() - 3);
  std::size_t const dot = out.rfind('.');
  return dot == std::string::npos ? "" : out.substr(dot + 1);
}

bool starts_with(text_range text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin,
                                                  [](char a, char b) { return a == lower(b); });
}

/// Words of a line that are numbers, separated as in an edge list; 0 if one is not.
int count_numbers(std::string_view line) {
  int n = 0;
  bool inside = false;
  for (char const c : line) {
    bool const part = is_digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
    if (!part && !is_blank(c) && c != ',' && c != ';')
      return 0;
    n += part && !inside;
    inside = part;
  }
  return n;
}

/// Edge lists have as many numbers on each line; a METIS graph most likely has not.
std::optional<file_kind> kind_by_lines(text_range head) {
  std::string_view text(head.begin, head.size());
  int first = 0;
  bool blank = false;
  for (std::size_t newline; !text.empty(); text.remove_prefix(std::min(newline + 1, text.size()))) {
    newline = std::min(text.find('\n'), text.size());
    if (newline == text.size() && head.size() == looked_at)
      break; // cut off
    std::string_view const line = text.substr(0, newline);
    std::size_t const at = line.find_first_not_of(" \t\r\v\f");
    if (at == std::string_view::npos) {
      blank = first != 0;
      continue;
    }
    if (line[at] == '#')
      return file_kind::edges;
    if (line[at] == '%')
      continue;
    int const n = count_numbers(line.substr(at));
    if (n == 0)
      break;
    if (first != 0 && (n != first || blank))
      return file_kind::metis;
    first = n;
  }
  if (first == 0)
    return std::nullopt;
  return first <= 3 ? file_kind::edges : file_kind::metis;
}

std::optional<file_kind> kind_by_content(text_range head) {
  if (starts_with(head, "pk\3\4") || starts_with(head, "pk\5\6"))
    return file_kind::npz;
  constexpr std::uint32_t petsc = 1211216;
  if (head.size() >= 8 && (load<std::uint32_t>(head.begin, true) == petsc ||
                           load<std::uint64_t>(head.begin, true) == petsc))
    return file_kind::petsc;
  text_range text = head;
  if (starts_with(text, "\xEF\xBB\xBF"))
    text.begin += 3;
  while (!text.empty() && is_blank(*text.begin))
    ++text.begin;
  if (starts_with(text, "%%matrixmarket") || starts_with(text, "%matrixmarket"))
    return file_kind::matrix_market;
  if (is_harwell_boeing(head))
    return file_kind::harwell_boeing;
  return std::nullopt;
}

std::optional<file_kind> kind_by_name(std::string_view path) {
  struct known {
    file_kind kind;
    std::string_view names;
  };
  constexpr known all[] = {
      {file_kind::matrix_market, " mtx mm "},
      {file_kind::metis, " graph metis "},
      {file_kind::harwell_boeing, " hb rb rua rsa rza rra pua psa cua csa cha cza "},
      {file_kind::npz, " npz "},
      {file_kind::petsc, " petsc "},
      {file_kind::edges, " edges edgelist el wel snap txt csv tsv "},
  };
  std::string name(1, ' ');
  name.append(extension(path)).append(1, ' ');
  for (auto const& [kind, names] : all)
    if (name.size() > 2 && names.find(name) != std::string_view::npos)
      return kind;
  return std::nullopt;
}

file_kind kind_of(text_source& source) {
  text_range const head = source.peek(looked_at);
  if (auto const kind = kind_by_content(head))
    return *kind;
  if (auto const kind = kind_by_name(source.name()))
    return *kind;
  if (auto const kind = kind_by_lines(head))
    return *kind;
  if (head.empty())
    fail(errc::io, "%s:1: the file is empty, expected a matrix", source.name());
  auto const* const newline = static_cast<char const*>(std::memchr(head.begin, '\n', head.size()));
  fail(
      errc::io,
      "%s:1: expected %%%%MatrixMarket, an edge list, a METIS graph, Harwell-Boeing, npz or PETSc, "
      "found '%s'",
      source.name(), quoted({head.begin, newline ? newline : head.end}).text);
}

template <class V, class I>
triplets<V, I> with_types(text_source const& source, found_entries from,
                          std::pmr::memory_resource* memory) {
  using R = typename real_of<V>::type;
  auto const real = [&](double v) {
    auto const r = static_cast<R>(v);
    if (std::isinf(r) && !std::isinf(v))
      fail(errc::overflow, "%s: value %.17g is too large for float", source.name(), v);
    return r;
  };
  triplets<V, I> out;
  for (auto& s : from.segments) {
    typename triplets<V, I>::segment to{array<I>(s.count, memory), array<I>(s.count, memory),
                                        array<V>(s.count, memory)};
    for (std::size_t k = 0; k < s.count; ++k) {
      to.row[k] = static_cast<I>(s.row[k]);
      to.col[k] = static_cast<I>(s.col[k]);
      if constexpr (is_complex<V>)
        to.val[k] = V(s.re.empty() ? R(1) : real(s.re[k]), s.im.empty() ? R(0) : real(s.im[k]));
      else
        to.val[k] = s.re.empty() ? R(1) : real(s.re[k]);
    }
    out.regions.push_back({to.row.data(), to.col.data(), to.val.data(), out.count, s.count});
    out.count += s.count;
    out.segments.push_back(std::move(to));
    s = {};
  }
  return out;
}

} // namespace
} // namespace detail

struct matrix_file::state {
  state(detail::text_input from, read_options const& given)
      : options(given), source(from, {.block_bytes = detail::block_bytes(given),
                                      .max_bytes = given.max_bytes,
                                      .memory = given.memory}) {}

  read_options options;
  detail::text_source source;
  file_kind kind{};
  detail::parsed_header head;
  detail::found_entries entries; // of all but Matrix Market
  bool handed_over = false;
};

char const* name(file_kind k) noexcept {
  constexpr char const* names[] = {"mtx", "edges", "metis", "hb", "npz", "petsc"};
  return names[static_cast<std::size_t>(k)];
}

file_kind kind_of(std::string const& path) {
  detail::text_source source(path, {.block_bytes = detail::looked_at + 1});
  return detail::kind_of(source);
}

matrix_file::matrix_file(std::string const& path, read_options const& options,
                         file_hint const& hint)
    : state_(std::make_unique<state>(path, options)) {
  open(hint.kind, hint.ids);
}
matrix_file::matrix_file(std::istream& in, read_options const& options, file_hint const& hint)
    : state_(std::make_unique<state>(in, options)) {
  open(hint.kind, hint.ids);
}
matrix_file::matrix_file(matrix_file&&) noexcept = default;
matrix_file& matrix_file::operator=(matrix_file&&) noexcept = default;
matrix_file::~matrix_file() = default;

void matrix_file::open(std::optional<file_kind> kind, node_ids ids) {
  state& s = *state_;
  try {
    s.kind = kind ? *kind : detail::kind_of(s.source);
    if (s.kind == file_kind::matrix_market) {
      s.head = detail::read_header(s.source);
      return;
    }
    detail::found found = [&] {
      switch (s.kind) {
      case file_kind::edges:
        return detail::read_edge_list(s.source, s.options, ids);
      case file_kind::metis:
        return detail::read_metis(s.source, s.options);
      case file_kind::harwell_boeing:
        return detail::read_harwell_boeing(s.source, s.options);
      case file_kind::npz:
        return detail::read_npz(s.source, s.options);
      default:
        return detail::read_petsc(s.source, s.options);
      }
    }();
    s.head.header = std::move(found.head);
    s.head.header.entries = static_cast<std::int64_t>(found.entries.size());
    s.entries = std::move(found.entries);
    if (s.options.max_rows == 0)
      s.options.max_rows =
          detail::free_rows +
          detail::rows_per_byte * static_cast<std::int64_t>(s.source.text_bytes() + found.inflated);
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "%s: no memory to read it", s.source.name());
  }
}

file_kind matrix_file::kind() const noexcept {
  return state_->kind;
}
matrix_market_header const& matrix_file::header() const noexcept {
  return state_->head.header;
}

void matrix_file::hand_over() {
  if (std::exchange(state_->handed_over, true))
    fail(errc::bad_structure, "%s: its matrix has been taken already", state_->source.name());
}

namespace detail {
namespace {

template <class V, class I>
void check_types(text_source const& source, matrix_market_header const& h) {
  if (!is_complex<V> && h.field == matrix_market::field::complex)
    fail(errc::unsupported, "%s: complex values cannot be read into a real matrix", source.name());
  auto const check = [&](std::int64_t n, char const* what) {
    if (!std::in_range<I>(n))
      fail(errc::overflow, "%s: %lld %s do not fit a %d-bit index", source.name(),
           static_cast<long long>(n), what, static_cast<int>(8 * sizeof(I)));
  };
  check(h.rows, "rows");
  check(h.cols, "columns");
}

} // namespace
} // namespace detail

template <class V, class I, class O>
csr<V, I, O> matrix_file::to_csr() {
  hand_over();
  state& s = *state_;
  try {
    if (s.options.header)
      *s.options.header = s.head.header;
    if (s.kind == file_kind::matrix_market)
      return detail::csr_behind<V, I, O>(s.source, s.head, s.options);
    detail::check_types<V, I>(s.source, s.head.header);
    return detail::csr_of<V, I, O>(
        s.source, s.head.header,
        detail::with_types<V, I>(s.source, std::move(s.entries), s.options.memory), s.options);
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "%s: no memory to read it", s.source.name());
  }
}

template <class V, class I, class O>
coo<V, I, O> matrix_file::to_coo() {
  hand_over();
  state& s = *state_;
  try {
    if (s.options.header)
      *s.options.header = s.head.header;
    if (s.kind == file_kind::matrix_market)
      return detail::coo_behind<V, I, O>(s.source, s.head, s.options);
    detail::check_types<V, I>(s.source, s.head.header);
    return detail::coo_of<V, I, O>(
        s.source, s.head.header,
        detail::with_types<V, I>(s.source, std::move(s.entries), s.options.memory), s.options);
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "%s: no memory to read it", s.source.name());
  }
}

#define TULLE_INSTANTIATE(tag, V, I, O)                                                            \
  template csr<V, I, O> matrix_file::to_csr<V, I, O>();                                            \
  template coo<V, I, O> matrix_file::to_coo<V, I, O>();
TULLE_TYPES(TULLE_INSTANTIATE)
TULLE_BASIC_TYPES(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

} // namespace tulle
