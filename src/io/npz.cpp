// SPDX-License-Identifier: Apache-2.0

// src/io/npz.cpp:  what scipy.sparse.save_npz writes, a zip archive of .npy arrays.
//
//     format.npy  "csr"       shape.npy  (rows, cols)      data.npy  values
//     csr, csc    indices, indptr
//     bsr         indices, indptr, of blocks; data has dimensions (blocks, block rows, block cols)
//     coo         row, col; or coords, which has both
//     dia         offsets; data has dimensions (diagonals, length), entry (d, j) in column j
//
// An .npy array is a magic word, a version, the length of its header, a Python dictionary with the
// type, the order and the dimensions, and then the elements.
#include "tulle/core/error.hpp"

#include "io/bytes.hpp"
#include "io/found.hpp"
#include "io/parse_number.hpp"
#include "io/zip.hpp"

#include <complex>
#include <string_view>

namespace tulle::detail {
namespace {

// Of inflated members where the caller sets no limit; as for gzip.
constexpr std::uint64_t free_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t free_ratio = 200;

/// An array of integers, numbers or text in a member of the archive.
class npy {
public:
  npy(char const* file, std::string name, zip_bytes bytes)
      : file_(file), name_(std::move(name)), bytes_(std::move(bytes)) {
    read_header();
  }
  npy(npy&&) = default; // elements stay where they are

  std::vector<std::size_t> const& dimensions() const { return dimensions_; }
  std::size_t size() const { return size_; } ///< elements
  char kind() const { return kind_; }

  /// Position of element (i, j) or (i, j, k) of the dimensions.
  std::size_t place(std::size_t i, std::size_t j) const {
    return fortran_ ? i + dimensions_[0] * j : i * dimensions_[1] + j;
  }
  std::size_t place(std::size_t i, std::size_t j, std::size_t k) const {
    return fortran_ ? i + dimensions_[0] * (j + dimensions_[1] * k)
                    : (i * dimensions_[1] + j) * dimensions_[2] + k;
  }

  std::int64_t integer(std::size_t k) const { return integer_(address(k), big_endian_); }
  std::complex<double> value(std::size_t k) const { return value_(address(k), big_endian_); }
  std::string text() const {
    std::string out;
    for (char const* p = elements_; p != elements_ + width_; p += kind_ == 'U' ? 4 : 1)
      if (char const c = kind_ == 'U' && big_endian_ ? p[3] : p[0])
        out += c;
    return out;
  }

  void want_dimensions(std::size_t n) const {
    if (dimensions_.size() != n)
      bad(0, "expected an array of " + std::to_string(n) + " dimensions, found " +
                 std::to_string(dimensions_.size()));
  }
  void want_integers() const {
    if (!integer_)
      bad(0, "expected integers, found '" + type_ + "'");
  }
  void want_values() const {
    if (!value_)
      bad(0, "expected numbers, found '" + type_ + "'");
  }
  /// An integer from least to most.
  std::int64_t integer(std::size_t k, std::int64_t least, std::int64_t most,
                       char const* what) const {
    std::int64_t const n = integer(k);
    if (n < least || n > most)
      bad_element(k, std::string(what) + " " + std::to_string(n) + " is outside " +
                         std::to_string(least) + ".." + std::to_string(most));
    return n;
  }

  [[noreturn]] void bad(std::size_t byte, std::string const& what) const {
    fail(errc::io, "%s: %s, byte %zu: %s", file_, name_.c_str(), byte, what.c_str());
  }
  [[noreturn]] void bad_element(std::size_t k, std::string const& what) const {
    bad(static_cast<std::size_t>(address(k) - bytes_.text.begin), what);
  }

private:
  char const* address(std::size_t k) const { return elements_ + k * width_; }

  // The header: characters of a Python literal, of which a few forms are known.
  void read_header() {
    text_range const all = bytes_.text;
    if (all.size() < 10 || std::memcmp(all.begin, "\x93NUMPY", 6) != 0)
      bad(0, "expected the magic word of a .npy array");
    int const version = static_cast<unsigned char>(all.begin[6]);
    if (version < 1 || version > 3)
      bad(6, "expected version 1, 2 or 3 of .npy, found " + std::to_string(version));
    std::size_t const first = version == 1 ? 10 : 12;
    if (all.size() < first)
      bad(all.size(), "the array ends within its header");
    std::size_t const length =
        version == 1 ? load<std::uint16_t>(all.begin + 8) : load<std::uint32_t>(all.begin + 8);
    if (length > all.size() - first)
      bad(8, "a header of " + std::to_string(length) + " bytes, but " +
                 std::to_string(all.size() - first) + " follow");
    p_ = all.begin + first;
    end_ = elements_ = p_ + length;
    read_dictionary();
    choose_type();
    std::size_t bytes = width_;
    size_ = 1;
    for (std::size_t const n : dimensions_)
      if (__builtin_mul_overflow(size_, n, &size_) || __builtin_mul_overflow(bytes, n, &bytes))
        bad(first, "its dimensions are too large");
    auto const left = static_cast<std::size_t>(all.end - elements_);
    if (bytes != left)
      bad(first + length, "expected " + std::to_string(size_) + " elements of " +
                              std::to_string(width_) + " bytes, but " + std::to_string(left) +
                              " bytes follow");
  }

  [[noreturn]] void bad_here(std::string const& what) const {
    bad(static_cast<std::size_t>(p_ - bytes_.text.begin), what);
  }
  char peek() {
    while (p_ != end_ && (is_blank(*p_) || *p_ == '\n'))
      ++p_;
    return p_ == end_ ? '\0' : *p_;
  }
  bool take(char c) {
    bool const there = peek() == c && p_ != end_;
    p_ += there;
    return there;
  }
  void expect(char c) {
    if (!take(c))
      bad_here(std::string("expected '") + c + "' in the header of the array");
  }
  std::string quoted_text() {
    char const quote = peek();
    if (quote != '\'' && quote != '"')
      bad_here("expected a quoted word in the header of the array");
    char const* const first = ++p_;
    while (p_ != end_ && *p_ != quote)
      ++p_;
    std::string out(first, p_);
    expect(quote);
    if (out.size() > 16)
      out.resize(16);
    return out;
  }

  void read_dictionary() {
    bool has[3] = {};
    expect('{');
    while (!take('}')) {
      std::string const key = quoted_text();
      expect(':');
      if (key == "descr") {
        if (peek() == '[')
          fail(errc::unsupported, "%s: %s: an array of records", file_, name_.c_str());
        type_ = quoted_text();
        has[0] = true;
      } else if (key == "fortran_order") {
        fortran_ = boolean();
        has[1] = true;
      } else if (key == "shape") {
        read_shape();
        has[2] = true;
      } else {
        bad_here("expected descr, fortran_order or shape, found another key");
      }
      if (!take(',') && peek() != '}')
        bad_here("expected ',' or '}' in the header of the array");
    }
    if (peek() != '\0')
      bad_here("expected the end of the header of the array");
    if (!has[0] || !has[1] || !has[2])
      bad_here("the header of the array lacks descr, fortran_order or shape");
  }

  bool boolean() {
    peek();
    for (std::string_view const word : {"True", "False"})
      if (static_cast<std::size_t>(end_ - p_) >= word.size() &&
          std::string_view(p_, word.size()) == word) {
        p_ += word.size();
        return word == "True";
      }
    bad_here("expected True or False");
  }

  void read_shape() {
    dimensions_.clear();
    expect('(');
    while (!take(')')) {
      if (!is_digit(peek()))
        bad_here("expected a dimension");
      std::size_t n = 0;
      for (; p_ != end_ && is_digit(*p_); ++p_)
        if (__builtin_mul_overflow(n, std::size_t{10}, &n) ||
            __builtin_add_overflow(n, static_cast<std::size_t>(*p_ - '0'), &n))
          bad_here("a dimension is too large");
      take('L'); // Python 2
      dimensions_.push_back(n);
      if (dimensions_.size() > 32)
        bad_here("more than 32 dimensions");
      if (!take(',') && peek() != ')')
        bad_here("expected ',' or ')' in the shape of the array");
    }
  }

  template <class T>
  static std::int64_t to_integer(char const* p, bool big) {
    T const n = load<T>(p, big);
    if constexpr (std::is_same_v<T, std::uint64_t>)
      return n > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(n); // too large for any index
    else
      return n;
  }
  template <class T>
  static std::complex<double> to_value(char const* p, bool big) {
    return static_cast<double>(load<T>(p, big));
  }
  template <class T>
  static std::complex<double> to_complex(char const* p, bool big) {
    return {static_cast<double>(load<T>(p, big)), static_cast<double>(load<T>(p + sizeof(T), big))};
  }
  static std::complex<double> to_bool(char const* p, bool) { return *p == 0 ? 0.0 : 1.0; }

  template <class T>
  void is_integer() {
    integer_ = to_integer<T>;
    value_ = to_value<T>;
  }

  void choose_type() {
    std::string_view t = type_;
    if (!t.empty() && std::string_view("<>|=").find(t[0]) != std::string_view::npos) {
      big_endian_ = t[0] == '>';
      t.remove_prefix(1);
    }
    kind_ = t.empty() ? '\0' : t[0];
    for (char const c : t.substr(std::min<std::size_t>(1, t.size()))) {
      if (!is_digit(c) || width_ > 100000000)
        width_ = 0, kind_ = '\0';
      else
        width_ = 10 * width_ + static_cast<std::size_t>(c - '0');
    }
    if (kind_ == 'U')
      width_ *= 4;
    bool known = (kind_ == 'S' || kind_ == 'U') && width_ != 0;
    if (t == "b1")
      value_ = to_bool;
    else if (t == "i1")
      is_integer<std::int8_t>();
    else if (t == "i2")
      is_integer<std::int16_t>();
    else if (t == "i4")
      is_integer<std::int32_t>();
    else if (t == "i8")
      is_integer<std::int64_t>();
    else if (t == "u1")
      is_integer<std::uint8_t>();
    else if (t == "u2")
      is_integer<std::uint16_t>();
    else if (t == "u4")
      is_integer<std::uint32_t>();
    else if (t == "u8")
      is_integer<std::uint64_t>();
    else if (t == "f4")
      value_ = to_value<float>;
    else if (t == "f8")
      value_ = to_value<double>;
    else if (t == "c8")
      value_ = to_complex<float>;
    else if (t == "c16")
      value_ = to_complex<double>;
    known = known || value_;
    if (!known)
      fail(errc::unsupported,
           "%s: %s: elements of type '%s'; read are bool, integers, float32, "
           "float64, complex64, complex128",
           file_, name_.c_str(), quoted({type_.data(), type_.data() + type_.size()}).text);
  }

  char const* file_;
  std::string name_;
  zip_bytes bytes_;
  char const* p_ = nullptr;   // within the header
  char const* end_ = nullptr; // of it
  char const* elements_ = nullptr;
  std::string type_;
  char kind_ = '\0';
  std::size_t width_ = 0; // of an element
  bool big_endian_ = false;
  bool fortran_ = false;
  std::vector<std::size_t> dimensions_;
  std::size_t size_ = 0;
  std::int64_t (*integer_)(char const*, bool) = nullptr;
  std::complex<double> (*value_)(char const*, bool) = nullptr;
};

class saved_matrix {
public:
  saved_matrix(text_source& source, read_options const& options)
      : file_(source.name()), data_(source.rest()), memory_(options.memory),
        zip_(file_, data_,
             options.max_bytes ? options.max_bytes : free_bytes + free_ratio * data_.size(),
             memory_) {}

  found read() {
    if (!zip_.has("format.npy"))
      fail(errc::io, "%s: has no member format.npy, so it is no matrix of scipy.sparse.save_npz",
           file_);
    npy const kind = member("format");
    if (kind.kind() != 'S' && kind.kind() != 'U')
      kind.bad(0, "expected the name of a format");
    kind.want_dimensions(0);
    std::string const format = kind.text();
    read_shape();
    npy const values = member("data");
    values.want_values();
    matrix_market_header& h = out_.head;
    using matrix_market::field;
    h.field = values.kind() == 'c'   ? field::complex
              : values.kind() == 'f' ? field::real
              : values.kind() == 'u' ? field::unsigned_integer
                                     : field::integer;
    h.comments = " scipy.sparse " + format + "\n";
    out_.entries.hold(h.field, memory_);
    if (format == "csr")
      compressed(values, h.rows, h.cols, false);
    else if (format == "csc")
      compressed(values, h.cols, h.rows, true);
    else if (format == "bsr")
      blocks(values);
    else if (format == "coo")
      coordinates(values);
    else if (format == "dia")
      diagonals(values);
    else
      fail(errc::unsupported, "%s: a matrix in format '%s'; read are csr, csc, coo, bsr, dia",
           file_, quoted({format.data(), format.data() + format.size()}).text);
    out_.inflated = zip_.inflated();
    return std::move(out_);
  }

private:
  npy member(std::string const& name) { return {file_, name + ".npy", zip_.read(name + ".npy")}; }
  npy integers(std::string const& name, std::size_t dimensions = 1) {
    npy a = member(name);
    a.want_integers();
    a.want_dimensions(dimensions);
    return a;
  }

  void read_shape() {
    npy const shape = integers("shape");
    if (shape.size() != 2)
      fail(errc::unsupported, "%s: an array of %zu dimensions, of which only 2 are read", file_,
           shape.size());
    out_.head.rows = shape.integer(0, 0, INT64_MAX - 1, "the number of rows");
    out_.head.cols = shape.integer(1, 0, INT64_MAX - 1, "the number of columns");
  }

  void add(std::int64_t i, std::int64_t j, std::complex<double> v) {
    out_.entries.add(i, j, v.real(), v.imag());
  }

  /// f(segment, index, position) for the indices of each segment between two pointers.
  template <class F>
  void each_index(std::size_t stored, std::int64_t major, std::int64_t minor,
                  char const* minor_name, F f) {
    npy const pointers = integers("indptr");
    npy const indices = integers("indices");
    if (pointers.size() == 0 || pointers.size() - 1 != static_cast<std::size_t>(major))
      pointers.bad(0, "expected " + std::to_string(major) + " + 1 pointers, found " +
                          std::to_string(pointers.size()));
    std::size_t const most = std::min(indices.size(), stored);
    if (pointers.integer(0) != 0)
      pointers.bad_element(0, "the first pointer is " + std::to_string(pointers.integer(0)) +
                                  ", expected 0");
    std::size_t k = 0;
    for (std::int64_t s = 0; s < major; ++s) {
      auto const at = static_cast<std::size_t>(s) + 1;
      std::int64_t const end = pointers.integer(at);
      if (end < static_cast<std::int64_t>(k) || static_cast<std::size_t>(end) > most)
        pointers.bad_element(at, "pointer " + std::to_string(end) + " is outside " +
                                     std::to_string(k) + ".." + std::to_string(most));
      for (; k < static_cast<std::size_t>(end); ++k)
        f(s, indices.integer(k, 0, minor - 1, minor_name), k);
    }
  }

  void compressed(npy const& values, std::int64_t major, std::int64_t minor, bool by_column) {
    values.want_dimensions(1);
    each_index(values.size(), major, minor, by_column ? "row" : "column",
               [&](std::int64_t s, std::int64_t index, std::size_t k) {
                 by_column ? add(index, s, values.value(k)) : add(s, index, values.value(k));
               });
  }

  void blocks(npy const& values) {
    values.want_dimensions(3);
    auto const& n = values.dimensions();
    auto const rows = static_cast<std::size_t>(out_.head.rows);
    auto const cols = static_cast<std::size_t>(out_.head.cols);
    if (n[1] == 0 || n[2] == 0 || rows % n[1] != 0 || cols % n[2] != 0)
      values.bad(0, "blocks of " + std::to_string(n[1]) + " x " + std::to_string(n[2]) +
                        " do not tile a matrix of " + std::to_string(rows) + " x " +
                        std::to_string(cols));
    each_index(n[0], static_cast<std::int64_t>(rows / n[1]), static_cast<std::int64_t>(cols / n[2]),
               "block column", [&](std::int64_t s, std::int64_t index, std::size_t k) {
                 for (std::size_t i = 0; i < n[1]; ++i)
                   for (std::size_t j = 0; j < n[2]; ++j)
                     add(static_cast<std::int64_t>(static_cast<std::size_t>(s) * n[1] + i),
                         static_cast<std::int64_t>(static_cast<std::size_t>(index) * n[2] + j),
                         values.value(values.place(k, i, j)));
               });
  }

  void coordinates(npy const& values) {
    values.want_dimensions(1);
    std::int64_t const rows = out_.head.rows;
    std::int64_t const cols = out_.head.cols;
    auto const check = [&](npy const& a, std::size_t found) {
      if (found != values.size())
        a.bad(0, "expected " + std::to_string(values.size()) +
                     " indices as there are values, "
                     "found " +
                     std::to_string(found));
    };
    if (zip_.has("coords.npy")) {
      npy const coords = integers("coords", 2);
      if (coords.dimensions()[0] != 2)
        coords.bad(0,
                   "expected 2 rows of indices, found " + std::to_string(coords.dimensions()[0]));
      check(coords, coords.dimensions()[1]);
      for (std::size_t k = 0; k < values.size(); ++k)
        add(coords.integer(coords.place(0, k), 0, rows - 1, "row"),
            coords.integer(coords.place(1, k), 0, cols - 1, "column"), values.value(k));
      return;
    }
    npy const row = integers("row");
    npy const col = integers("col");
    check(row, row.size());
    check(col, col.size());
    for (std::size_t k = 0; k < values.size(); ++k)
      add(row.integer(k, 0, rows - 1, "row"), col.integer(k, 0, cols - 1, "column"),
          values.value(k));
  }

  void diagonals(npy const& values) {
    values.want_dimensions(2);
    npy const offsets = integers("offsets");
    auto const& n = values.dimensions();
    if (offsets.size() != n[0])
      offsets.bad(0, "expected " + std::to_string(n[0]) +
                         " offsets as there are diagonals, found " +
                         std::to_string(offsets.size()));
    std::int64_t const rows = out_.head.rows;
    auto const length =
        static_cast<std::int64_t>(std::min(n[1], static_cast<std::size_t>(out_.head.cols)));
    for (std::size_t d = 0; d < n[0]; ++d) {
      std::int64_t const offset = offsets.integer(d);
      if (offset <= -rows || offset >= length)
        continue;
      std::int64_t const last =
          std::min(length, offset > 0 && rows > INT64_MAX - offset ? length : rows + offset);
      for (std::int64_t j = std::max<std::int64_t>(offset, 0); j < last; ++j)
        if (auto const v = values.value(values.place(d, static_cast<std::size_t>(j))); v != 0.0)
          add(j - offset, j, v);
    }
  }

  char const* file_;
  text_range data_;
  std::pmr::memory_resource* memory_;
  zip_archive zip_;
  found out_;
};

} // namespace

found read_npz(text_source& source, read_options const& options) {
  return saved_matrix(source, options).read();
}

} // namespace tulle::detail
