// SPDX-License-Identifier: Apache-2.0

// src/io/petsc.cpp:  an AIJ matrix that PETSc's MatView put into a binary file.
//
//     class id 1211216, rows, columns, entries       integers, big endian
//     entries of each row                            integers
//     columns                                        integers, row by row, from 0
//     values                                         scalars, big endian
//
// Integers have 4 or 8 bytes as PETSc was configured; with 8 the class id begins with four zeros.
// Nothing says what a scalar is: what is left of the file tells, or where in it another object
// begins.
#include "tulle/core/error.hpp"

#include "io/bytes.hpp"
#include "io/found.hpp"

namespace tulle::detail {
namespace {

constexpr std::uint32_t matrix_id = 1211216;
constexpr std::uint32_t first_id = 1211211; // of all that PETSc puts into such files
constexpr std::uint32_t last_id = 1211230;

class aij {
public:
  aij(text_source& source, read_options const& options)
      : name_(source.name()), data_(source.rest()), memory_(options.memory) {}

  found read() {
    found out;
    if (data_.size() >= 4 && load<std::uint32_t>(data_.begin, true) == 0)
      width_ = 8;
    std::size_t at = 0;
    std::int64_t const id = integer(at, "the class id");
    if (id != matrix_id)
      fail(errc::io, "%s: byte 0: expected the class id 1211216 of a PETSc matrix, found %lld",
           name_, static_cast<long long>(id));
    std::int64_t const rows = size(at, "rows");
    std::int64_t const cols = size(at, "columns");
    std::size_t const entries_at = at;
    std::int64_t const entries = integer(at, "the number of entries");
    if (entries == -1)
      fail(errc::unsupported, "%s: byte %zu: a dense PETSc matrix, of which only AIJ is read",
           name_, entries_at);
    if (entries < 0)
      fail(errc::io, "%s: byte %zu: %lld entries", name_, entries_at,
           static_cast<long long>(entries));

    std::size_t const lengths = at;
    skip(at, rows, width_, "row lengths");
    std::size_t const columns = at;
    skip(at, entries, width_, "column indices");
    std::size_t const scalar = scalar_bytes(at, static_cast<std::size_t>(entries));
    out.head.rows = rows;
    out.head.cols = cols;
    out.head.field = scalar == 16 ? matrix_market::field::complex : matrix_market::field::real;
    out.entries.hold(out.head.field, memory_);
    std::int64_t done = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      std::size_t const here = lengths + width_ * static_cast<std::size_t>(i);
      std::int64_t const length = integer_at(here);
      if (length < 0 || length > entries - done)
        fail(errc::io, "%s: byte %zu: row %lld has %lld entries, expected 0 to %lld", name_, here,
             static_cast<long long>(i), static_cast<long long>(length),
             static_cast<long long>(entries - done));
      for (std::int64_t const last = done + length; done < last; ++done)
        add(out.entries, i, columns, at, static_cast<std::size_t>(done), scalar, cols);
    }
    if (done != entries)
      fail(errc::io, "%s: byte %zu: %lld entries promised, row lengths add up to %lld", name_,
           entries_at, static_cast<long long>(entries), static_cast<long long>(done));
    return out;
  }

private:
  std::int64_t integer_at(std::size_t at) const {
    return width_ == 8 ? load<std::int64_t>(data_.begin + at, true)
                       : load<std::int32_t>(data_.begin + at, true);
  }
  std::int64_t integer(std::size_t& at, char const* what) const {
    if (data_.size() - at < width_)
      fail(errc::io, "%s: byte %zu: the file ends within %s", name_, data_.size(), what);
    at += width_;
    return integer_at(at - width_);
  }
  std::int64_t size(std::size_t& at, char const* what) const {
    std::int64_t const n = integer(at, what);
    if (n < 0)
      fail(errc::io, "%s: byte %zu: %lld %s", name_, at - width_, static_cast<long long>(n), what);
    return n;
  }
  void skip(std::size_t& at, std::int64_t n, std::size_t each, char const* what) const {
    if (static_cast<std::size_t>(n) > (data_.size() - at) / each)
      fail(errc::io, "%s: byte %zu: expected %lld %s of %zu bytes, but only %zu bytes follow",
           name_, at, static_cast<long long>(n), what, each, data_.size() - at);
    at += static_cast<std::size_t>(n) * each;
  }

  /// Whether the file ends at a byte, or another object begins there.
  bool ends(std::size_t at) const {
    if (at == data_.size())
      return true;
    if (data_.size() - at < 2 * width_)
      return false;
    std::int64_t const id = integer_at(at);
    return id >= first_id && id <= last_id;
  }
  std::size_t scalar_bytes(std::size_t at, std::size_t entries) const {
    std::size_t const left = data_.size() - at;
    for (bool const exactly : {true, false})
      for (std::size_t const bytes : {8, 16, 4})
        if (entries <= left / bytes &&
            (exactly ? at + entries * bytes == data_.size() : ends(at + entries * bytes)))
          return bytes;
    fail(errc::io, "%s: byte %zu: expected %zu values of 4, 8 or 16 bytes, but %zu bytes follow",
         name_, at, entries, left);
  }

  void add(found_entries& out, std::int64_t i, std::size_t columns, std::size_t values,
           std::size_t k, std::size_t scalar, std::int64_t cols) const {
    std::size_t const here = columns + width_ * k;
    std::int64_t const j = integer_at(here);
    if (j < 0 || j >= cols)
      fail(errc::io, "%s: byte %zu: column %lld of row %lld is outside 0..%lld", name_, here,
           static_cast<long long>(j), static_cast<long long>(i), static_cast<long long>(cols) - 1);
    char const* const v = data_.begin + values + scalar * k;
    if (scalar == 4)
      out.add(i, j, static_cast<double>(load<float>(v, true)));
    else
      out.add(i, j, load<double>(v, true), scalar == 16 ? load<double>(v + 8, true) : 0.0);
  }

  char const* name_;
  text_range data_;
  std::pmr::memory_resource* memory_;
  std::size_t width_ = 4; // of an integer
};

} // namespace

found read_petsc(text_source& source, read_options const& options) {
  return aij(source, options).read();
}

} // namespace tulle::detail
