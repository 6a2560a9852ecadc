// SPDX-License-Identifier: Apache-2.0

// src/io/matrix_market_write.cpp:  a matrix as Matrix Market text.
//
// Entries are dealt to chunks of a fixed number; threads format chunks while one of them writes
// what the last round made. A compressed chunk is a gzip member of its own: a row of members is a
// gzip file like any other, costs at most 0.3 % in size, and lets deflate, 15 times slower than
// the rest, run on all threads.
#include "tulle/core/error.hpp"
#include "tulle/core/types.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/io/matrix_market.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/symmetric.hpp"
#include "format/detail/without_empty.hpp"
#include "io/parse_number.hpp"
#include "io/text_sink.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <new>
#include <vector>
#include <zlib.h>

namespace tulle {
namespace detail {
namespace {

using matrix_market::field;
using matrix_market::symmetry;

constexpr std::size_t chunk_entries = 1 << 15; // about a megabyte; 2^13: gzip 1.2 % larger
constexpr std::size_t value_bytes = 25;        // -1.2345678901234567e-308 and a separator

/// Entries in stored order, of a CSR (row_ptr) or a COO (row) matrix.
template <class V, class I, class O>
struct entry_list {
  I rows;
  I cols;
  std::size_t nnz;
  O const* row_ptr;
  I const* row;
  I const* col;
  V const* val;

  entry_list(csr_view<V, I, O> a)
      : rows(a.rows), cols(a.cols), nnz(static_cast<std::size_t>(a.nnz)), row_ptr(a.row_ptr),
        row(nullptr), col(a.col), val(a.val) {}
  entry_list(coo_view<V, I, O> a)
      : rows(a.rows), cols(a.cols), nnz(static_cast<std::size_t>(a.nnz)), row_ptr(nullptr),
        row(a.row), col(a.col), val(a.val) {}

  /// f(row, k) for entries [first, last).
  template <class F>
  void walk(std::size_t first, std::size_t last, F f) const {
    if (row) {
      for (std::size_t k = first; k < last; ++k)
        f(row[k], k);
      return;
    }
    if (first == last)
      return;
    auto const n = static_cast<std::size_t>(rows);
    auto i = static_cast<std::size_t>(
        std::upper_bound(row_ptr, row_ptr + n + 1, static_cast<O>(first)) - row_ptr - 1);
    for (std::size_t k = first; k < last; ++k) {
      while (static_cast<std::size_t>(row_ptr[i + 1]) <= k)
        ++i;
      f(static_cast<I>(i), k);
    }
  }
};

template <class V>
auto real_part(V v) {
  if constexpr (is_complex<V>)
    return v.real();
  else
    return v;
}
template <class V>
typename real_of<V>::type imaginary_part(V v) {
  if constexpr (is_complex<V>)
    return v.imag();
  else
    return 0;
}

/// As a.validate(), which takes all threads, with those that the caller allows.
template <class View>
void check(View const& a, int threads) {
  using I = typename View::index;
  auto const n = static_cast<std::size_t>(a.nnz);
  auto const fits = [&](I const* index, I limit) {
    if (a.nnz <= 0 || !index)
      return a.nnz == 0;
    int const parts = parts_for(n, threads, 1 << 18);
    std::atomic<bool> good{true};
    parallel(parts, [&](int part) {
      I outside = 0; // no branch an index: it goes by vectors
      for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k)
        outside = static_cast<I>(outside | (index[k] < 0) | (index[k] >= limit));
      if (outside != 0)
        good = false;
    });
    return good.load();
  };
  bool good = a.rows >= 0 && a.cols >= 0 && (a.val || a.nnz == 0) && fits(a.col, a.cols);
  if constexpr (requires { a.row; })
    good = good && fits(a.row, a.rows);
  else if (good)
    check_pointers("csr: row_ptr", a.row_ptr, static_cast<std::size_t>(a.rows), a.nnz);
  if (!good)
    a.validate(); // says what is wrong
}

/// Whether a value can be written as the field says.
template <class V>
bool fits_field(V v, field f) {
  auto const re = real_part(v);
  if (f == field::complex || f == field::pattern)
    return true;
  if (imaginary_part(v) != 0)
    return false;
  if (f == field::real)
    return true;
  // 2^63 and 2^64 are exact in both types; NaN fails the comparison.
  auto const limit = static_cast<decltype(re)>(f == field::integer ? 0x1p63 : 0x1p64);
  return re < limit && re >= (f == field::integer ? -limit : 0) && re == std::trunc(re);
}

template <class R>
char* put_real(char* p, R v, digits d) {
  constexpr int full = std::numeric_limits<R>::max_digits10 - 1;
  return d == digits::shortest
             ? std::to_chars(p, p + value_bytes, v).ptr
             : std::to_chars(p, p + value_bytes, v, std::chars_format::scientific, full).ptr;
}

template <class V>
char* put_value(char* p, V v, field f, digits d) {
  auto const re = real_part(v);
  switch (f) {
  case field::pattern:
    return p;
  case field::integer:
    *p++ = ' ';
    if (re == 0 && std::signbit(re))
      *p++ = '-';
    return std::to_chars(p, p + value_bytes, static_cast<std::int64_t>(re)).ptr;
  case field::unsigned_integer:
    *p++ = ' ';
    return std::to_chars(p, p + value_bytes, static_cast<std::uint64_t>(re)).ptr;
  case field::real:
    *p++ = ' ';
    return put_real(p, re, d);
  case field::complex:
    *p++ = ' ';
    p = put_real(p, re, d);
    *p++ = ' ';
    return put_real(p, imaginary_part(v), d);
  }
  return p;
}

/// One gzip member; returns its size. `to` has member_bound(n) bytes.
std::size_t put_member(char const* from, std::size_t n, char* to, std::size_t room) {
  z_stream z{};
  constexpr int gzip = 15 + 16;
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from));
  z.avail_in = static_cast<uInt>(n);
  z.next_out = reinterpret_cast<Bytef*>(to);
  z.avail_out = static_cast<uInt>(room);
  int const status = deflate(&z, Z_FINISH);
  std::size_t const size = room - z.avail_out;
  deflateEnd(&z);
  TULLE_ASSERT(status == Z_STREAM_END);
  (void)status;
  return size;
}
std::size_t member_bound(std::size_t n) {
  return compressBound(static_cast<uLong>(n)) + 32;
}

std::size_t width(std::int64_t n) {
  std::size_t digits = 1;
  for (; n >= 10; n /= 10)
    ++digits;
  return digits;
}

template <class V, class I>
std::string head_of(I rows, I cols, std::size_t nnz, field f, write_options const& options) {
  std::string head = std::string("%%MatrixMarket matrix coordinate ") + name(f) + ' ' +
                     name(options.symmetry) + '\n';
  std::string const& comments = options.comments;
  for (std::size_t at = 0; at < comments.size();) {
    std::size_t const end = std::min(comments.find('\n', at), comments.size());
    head += '%';
    head.append(comments, at, end - at);
    head += '\n';
    at = end + 1;
  }
  return head + std::to_string(rows) + ' ' + std::to_string(cols) + ' ' + std::to_string(nnz) +
         '\n';
}

template <class V, class I, class O>
matrix_market_header write_entries(text_sink& sink, entry_list<V, I, O> a,
                                   write_options const& options, bool gzip) {
  int const threads = threads_of(options.threads);
  field const f = options.field.value_or(is_complex<V> ? field::complex : field::real);
  int const check_parts = parts_for(a.nnz, threads);
  parallel(check_parts, [&](int part) {
    for (std::size_t k = split(a.nnz, part, check_parts), end = split(a.nnz, part + 1, check_parts);
         k < end; ++k)
      if (!fits_field(a.val[k], f))
        fail(errc::unsupported, "write_matrix_market: value %g%+gi of entry %zu is not %s",
             static_cast<double>(real_part(a.val[k])),
             static_cast<double>(imaginary_part(a.val[k])), k,
             f == field::real      ? "real"
             : f == field::integer ? "a 64-bit integer"
                                   : "an unsigned 64-bit integer");
  });

  std::size_t const chunks = (a.nnz + chunk_entries - 1) / chunk_entries;
  int const parts = static_cast<int>(
      std::min(std::max<std::size_t>(chunks, 1), static_cast<std::size_t>(threads)));
  std::size_t const lane = static_cast<std::size_t>(parts); // chunks a round
  std::size_t const line = width(a.rows) + width(a.cols) + 2 +
                           (f == field::pattern   ? 0
                            : f == field::complex ? 2
                                                  : 1) *
                               value_bytes +
                           1;
  std::string const head = head_of<V>(a.rows, a.cols, a.nnz, f, options);
  std::size_t const text_room = std::max(line * std::min(a.nnz, chunk_entries), head.size());
  std::size_t const out_room = gzip ? member_bound(text_room) : text_room;
  tulle::array<char> text(gzip ? checked_mul(text_room, lane) : 0, options.memory);
  std::array<tulle::array<char>, 2> out = {
      tulle::array<char>(checked_mul(out_room, lane), options.memory),
      tulle::array<char>(chunks > lane ? checked_mul(out_room, lane) : 0, options.memory)};
  std::array<std::vector<std::size_t>, 2> size = {std::vector<std::size_t>(lane),
                                                  std::vector<std::size_t>(lane)};

  if (gzip)
    sink.write(out[0].data(), put_member(head.data(), head.size(), out[0].data(), out_room));
  else
    sink.write(head.data(), head.size());

  auto flush = [&](std::size_t round, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      sink.write(out[round % 2].data() + k * out_room, size[round % 2][k]);
  };
  for (std::size_t round = 0; round * lane < chunks; ++round) {
    std::size_t const first = round * lane;
    std::size_t const count = std::min(lane, chunks - first);
    std::atomic<std::size_t> next{0};
    parallel(parts, [&](int part) {
      if (part == 0 && round != 0)
        flush(round - 1, lane);
      for (std::size_t k = next++; k < count; k = next++) {
        char* const to = out[round % 2].data() + k * out_room;
        char* const begin = gzip ? text.data() + k * text_room : to;
        char* p = begin;
        a.walk((first + k) * chunk_entries, std::min((first + k + 1) * chunk_entries, a.nnz),
               [&](I i, std::size_t e) {
                 p = std::to_chars(p, p + 20, static_cast<std::int64_t>(i) + 1).ptr;
                 *p++ = ' ';
                 p = std::to_chars(p, p + 20, static_cast<std::int64_t>(a.col[e]) + 1).ptr;
                 p = put_value(p, a.val[e], f, options.digits);
                 *p++ = '\n';
               });
        auto const n = static_cast<std::size_t>(p - begin);
        size[round % 2][k] = gzip ? put_member(begin, n, to, out_room) : n;
      }
    });
    if (first + count == chunks)
      flush(round, count);
  }
  sink.finish();
  matrix_market_header written;
  written.field = f;
  written.symmetry = options.symmetry;
  written.rows = static_cast<std::int64_t>(a.rows);
  written.cols = static_cast<std::int64_t>(a.cols);
  written.entries = static_cast<std::int64_t>(a.nnz);
  written.comments = options.comments;
  return written;
}

/// The lower triangle of a, which must be its own mirror image under the symmetry. `label`: what
/// its rows and columns are called in messages, if not by their numbers.
template <class V, class I, class O>
coo<V, I, O> lower_triangle(csr_view<V, I, O> a, symmetry s, cpu const& where,
                            I const* label = nullptr) {
  if (a.rows != a.cols)
    fail(errc::bad_structure,
         "write_matrix_market: a %s matrix is square, but this one is %lld x %lld", name(s),
         static_cast<long long>(a.rows), static_cast<long long>(a.cols));
  canonical<V, I, O> const c(a, where);
  auto const t = csc<V, I, O>::from_csr(c.view, {}, where); // CSR of the transpose
  auto mirror = [s](V v) {
    if constexpr (is_complex<V>)
      if (s == symmetry::hermitian)
        return std::conj(v);
    return s == symmetry::skew_symmetric ? -v : v;
  };
  auto same = [](V x, V y) {
    auto equal = [](auto p, auto q) { return p == q || (p != p && q != q); };
    return equal(real_part(x), real_part(y)) && equal(imaginary_part(x), imaginary_part(y));
  };
  std::size_t n = 0;
  for (I i = 0; i < a.rows; ++i) {
    O const first = c.view.row_ptr[i];
    O const last = c.view.row_ptr[i + 1];
    O q = t.col_ptr[static_cast<std::size_t>(i)];
    for (O k = first; k < last; ++k, ++q) {
      I const j = c.view.col[k];
      bool const there =
          q < t.col_ptr[static_cast<std::size_t>(i) + 1] && t.row[static_cast<std::size_t>(q)] == j;
      if (!there || !same(c.view.val[k], mirror(t.val[static_cast<std::size_t>(q)])))
        fail(errc::bad_structure,
             "write_matrix_market: not %s: entry (%lld, %lld) %s its mirror image", name(s),
             static_cast<long long>(label ? label[i] : i),
             static_cast<long long>(label ? label[j] : j),
             there ? "does not match" : "is stored without");
      n += j < i || (j == i && s != symmetry::skew_symmetric);
    }
  }
  coo<V, I, O> out(unchecked, a.rows, a.cols, array<I>(n, where.memory), array<I>(n, where.memory),
                   array<V>(n, where.memory));
  std::size_t at = 0;
  for (I i = 0; i < a.rows; ++i)
    for (O k = c.view.row_ptr[i]; k < c.view.row_ptr[i + 1]; ++k)
      if (I const j = c.view.col[k]; j < i || (j == i && s != symmetry::skew_symmetric)) {
        out.row[at] = i;
        out.col[at] = j;
        out.val[at] = c.view.val[k];
        ++at;
      }
  return out;
}

template <class V, class I, class O>
coo<V, I, O> lower_triangle(coo_view<V, I, O> a, symmetry s, cpu const& where) {
  if (a.rows <= most_rows(static_cast<std::uint64_t>(a.nnz)) || a.rows != a.cols) {
    auto const whole = a.to_csr(where);
    return lower_triangle(whole.view(), s, where);
  }
  array<I> label;
  auto const small = without_empty(a, label, where).to_csr(where);
  auto lower = lower_triangle(small.view(), s, where, label.data());
  restore_empty(lower, label, a.rows, a.cols);
  return lower;
}

template <class View>
matrix_market_header write(text_sink& sink, View a, write_options const& options, bool gzip) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  try {
    check(a, options.threads);
    if (options.symmetry == symmetry::general)
      return write_entries<V, I, O>(sink, a, options, gzip);
    if (options.field == field::pattern && options.symmetry != symmetry::symmetric)
      fail(errc::unsupported, "write_matrix_market: a pattern is general or symmetric, not %s",
           name(options.symmetry));
    cpu const where{.threads = options.threads, .memory = options.memory};
    auto const lower = lower_triangle(a, options.symmetry, where);
    return write_entries<V, I, O>(sink, lower.view(), options, gzip);
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "no memory to write a Matrix Market file");
  }
}
template <class View>
matrix_market_header write_file(std::string const& path, View a, write_options const& options) {
  file_sink sink(path);
  return write(sink, a, options, options.gzip.value_or(path.size() > 3 && path.ends_with(".gz")));
}
template <class View>
matrix_market_header write_stream(std::ostream& out, View a, write_options const& options) {
  stream_sink sink(out);
  return write(sink, a, options, options.gzip.value_or(false));
}

} // namespace
} // namespace detail

template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, csr_view<V, I, O> a,
                                         write_options const& options) {
  return detail::write_file(path, a, options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, coo_view<V, I, O> a,
                                         write_options const& options) {
  return detail::write_file(path, a, options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, csr_view<V, I, O> a,
                                         write_options const& options) {
  return detail::write_stream(out, a, options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, coo_view<V, I, O> a,
                                         write_options const& options) {
  return detail::write_stream(out, a, options);
}

#define TULLE_INSTANTIATE(tag, V, I, O)                                                            \
  template matrix_market_header write_matrix_market(std::string const&, csr_view<V, I, O>,         \
                                                    write_options const&);                         \
  template matrix_market_header write_matrix_market(std::string const&, coo_view<V, I, O>,         \
                                                    write_options const&);                         \
  template matrix_market_header write_matrix_market(std::ostream&, csr_view<V, I, O>,              \
                                                    write_options const&);                         \
  template matrix_market_header write_matrix_market(std::ostream&, coo_view<V, I, O>,              \
                                                    write_options const&);
TULLE_TYPES(TULLE_INSTANTIATE)
TULLE_BASIC_TYPES(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

} // namespace tulle
