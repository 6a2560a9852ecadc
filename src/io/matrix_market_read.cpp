// SPDX-License-Identifier: Apache-2.0

// src/io/matrix_market_read.cpp:  triplets of a file into CSR or COO.
//
// Triplets are dealt to rows by a stable counting sort, mirrored entries on the way, so that only
// what the file stores is held beside the result. Both usual orders of files give sorted rows this
// way; others are sorted row by row. A file already sorted by row needs no second copy: its columns
// and values are the matrix.
#include "tulle/core/error.hpp"
#include "tulle/core/types.hpp"

#include "format/detail/counting_sort.hpp"
#include "format/detail/without_empty.hpp"
#include "io/from_triplets.hpp"

#include <limits>
#include <new>
#include <numeric>

namespace tulle {
namespace detail {
namespace {

template <class V>
V conjugate(V v) {
  if constexpr (is_complex<V>)
    return std::conj(v);
  else
    return v;
}

/// A file's triplets and what the caller wants of them.
template <class V, class I>
class entries {
public:
  entries(triplets<V, I> t, matrix_market_header const& h, read_options const& options)
      : t_(std::move(t)), header_(h), drop_(options.zeros == on_zeros::drop),
        mirror_(options.symmetry == on_symmetry::expand &&
                h.symmetry != matrix_market::symmetry::general) {}

  std::size_t stored() const { return t_.count; }
  bool as_stored() const { return !drop_ && !mirror_; }

  /// The one segment whose arrays are the triplets, all of them and nothing else; null if there is
  /// no such.
  typename triplets<V, I>::segment* whole() {
    bool const good = as_stored() && t_.segments.size() == 1 &&
                      t_.segments[0].val.size() == t_.count &&
                      t_.segments[0].col.size() == t_.count;
    return good ? &t_.segments[0] : nullptr;
  }

  void release() { t_ = {}; }

  /// f(row, column, value) for what stored entries [first, last) contribute, in file order.
  template <class F>
  void walk(std::size_t first, std::size_t last, F f) const {
    if (as_stored())
      return walk_stored(first, last, f);
    walk_stored(first, last, [&](I i, I j, V v) {
      if (drop_ && v == V(0))
        return;
      f(i, j, v);
      if (mirror_ && i != j)
        f(j, i, mirrored(v));
    });
  }

  /// How many entries each of `parts` contributes.
  std::vector<std::size_t> counts(int parts) const {
    std::vector<std::size_t> n(static_cast<std::size_t>(parts));
    parallel(parts, [&](int part) {
      std::size_t const first = split(stored(), part, parts);
      std::size_t const last = split(stored(), part + 1, parts);
      std::size_t mine = last - first;
      if (!as_stored()) {
        mine = 0;
        walk(first, last, [&](I, I, V) { ++mine; });
      }
      n[static_cast<std::size_t>(part)] = mine;
    });
    return n;
  }

private:
  V mirrored(V v) const {
    switch (header_.symmetry) {
    case matrix_market::symmetry::skew_symmetric:
      return -v;
    case matrix_market::symmetry::hermitian:
      return conjugate(v);
    default:
      return v;
    }
  }

  template <class F>
  void walk_stored(std::size_t first, std::size_t last, F f) const {
    if (first == last)
      return;
    auto r = std::upper_bound(t_.regions.begin(), t_.regions.end(), first,
                              [](std::size_t k, auto const& r) { return k < r.first; }) -
             1;
    auto position = array_position(first);
    for (; first != last; ++r) {
      std::size_t k = first - r->first;
      std::size_t const end = std::min(r->count, last - r->first);
      first += end - k;
      if (header_.format == matrix_market::format::array)
        for (; k != end; ++k, step(position))
          f(position.i, position.j, r->val[k]);
      else if (header_.object == matrix_market::object::vector)
        for (; k != end; ++k)
          f(r->row[k], I(0), r->val[k]);
      else
        for (; k != end; ++k)
          f(r->row[k], r->col[k], r->val[k]);
    }
  }

  struct position {
    I i;
    I j;
  };

  /// First stored row of a column: arrays of a symmetry hold the lower triangle, column by column.
  I first_row(I j) const {
    switch (header_.symmetry) {
    case matrix_market::symmetry::general:
      return 0;
    case matrix_market::symmetry::skew_symmetric:
      return j + 1;
    default:
      return j;
    }
  }
  position array_position(std::size_t k) const {
    if (header_.format != matrix_market::format::array)
      return {};
    auto const rows = static_cast<std::size_t>(header_.rows);
    if (header_.symmetry == matrix_market::symmetry::general)
      return {static_cast<I>(k % rows), static_cast<I>(k / rows)};
    I j = 0;
    for (;; ++j) {
      std::size_t const length = rows - static_cast<std::size_t>(first_row(j));
      if (k < length)
        return {static_cast<I>(static_cast<std::size_t>(first_row(j)) + k), j};
      k -= length;
    }
  }
  void step(position& p) const {
    if (++p.i == header_.rows) {
      ++p.j;
      p.i = p.j < header_.cols ? first_row(p.j) : I(0);
    }
  }

  triplets<V, I> t_;
  matrix_market_header const& header_;
  bool drop_;
  bool mirror_;
};

template <class O>
void check_total(text_source const& source, std::size_t total) {
  if (!std::in_range<O>(total))
    fail(errc::overflow, "%s: %zu entries do not fit a %d-bit offset", source.name(), total,
         static_cast<int>(8 * sizeof(O)));
}

/// row_ptr of rows that are sorted already.
template <class I, class O>
array<O> pointers_of(array<I> const& row, std::size_t rows, int threads,
                     std::pmr::memory_resource* memory) {
  array<O> ptr(rows + 1, memory);
  std::size_t const n = row.size();
  int const parts = parts_for(n, threads);
  parallel(parts, [&](int part) {
    for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k) {
      std::size_t const from = k == 0 ? 0 : static_cast<std::size_t>(row[k - 1]) + 1;
      for (std::size_t i = from; i <= static_cast<std::size_t>(row[k]); ++i)
        ptr[i] = static_cast<O>(k);
    }
  });
  for (std::size_t i = n == 0 ? 0 : static_cast<std::size_t>(row[n - 1]) + 1; i <= rows; ++i)
    ptr[i] = static_cast<O>(n);
  return ptr;
}

template <class I>
bool is_sorted(array<I> const& row, int threads) {
  std::atomic<bool> good{true};
  int const parts = parts_for(row.size(), threads);
  parallel(parts, [&](int part) {
    constexpr std::size_t step = 1 << 14; // unsorted files are told within the first few
    std::size_t const end = split(row.size(), part + 1, parts);
    for (std::size_t k = split(row.size(), part, parts); k < end && good; k += step) {
      std::size_t const last = std::min(k + step, end);
      if (!std::is_sorted(row.data() + (k == 0 ? 0 : k - 1), row.data() + last))
        good = false;
    }
  });
  return good;
}

/// Threads for the counting sort, which holds a counter a row for each of them: as many as leave
/// the peak below 2.5 times the finished matrix, and 32 MiB.
template <class V, class I, class O>
int sort_threads(std::size_t rows, std::size_t stored, std::size_t total, int threads) {
  auto const result = static_cast<double>((sizeof(V) + sizeof(I)) * total + sizeof(O) * rows);
  auto const held = static_cast<double>((sizeof(V) + 2 * sizeof(I)) * stored);
  double const room = 1.5 * result - held + (32 << 20);
  double const most = room / static_cast<double>(sizeof(O) * (rows + 1));
  return most >= threads ? threads : most > 1 ? static_cast<int>(most) : 1;
}

/// Sorts rows by column, equal columns by position.
template <class V, class I, class O>
void sort_rows(csr<V, I, O>& a, int threads, std::pmr::memory_resource* memory) {
  auto const rows = static_cast<std::size_t>(a.rows);
  int const parts = parts_for(a.col.size(), threads);
  auto each_unsorted_row = [&](int part, auto&& f) {
    std::size_t const end = split_by_entries(a.row_ptr.data(), rows, part + 1, parts);
    for (std::size_t i = split_by_entries(a.row_ptr.data(), rows, part, parts); i < end; ++i) {
      auto const first = static_cast<std::size_t>(a.row_ptr[i]);
      auto const last = static_cast<std::size_t>(a.row_ptr[i + 1]);
      if (!std::is_sorted(a.col.data() + first, a.col.data() + last))
        f(first, last - first);
    }
  };
  if (a.col.empty())
    return;
  std::vector<std::size_t> scratch(static_cast<std::size_t>(parts) + 1);
  parallel(parts, [&](int part) {
    std::size_t longest = 0;
    each_unsorted_row(
        part, [&](std::size_t, std::size_t length) { longest = std::max(longest, length); });
    scratch[static_cast<std::size_t>(part) + 1] = longest;
  });
  std::partial_sum(scratch.begin(), scratch.end(), scratch.begin());
  if (scratch.back() == 0)
    return;
  array<O> order(scratch.back(), memory);
  array<I> col(scratch.back(), memory);
  array<V> val(scratch.back(), memory);
  parallel(parts, [&](int part) {
    std::size_t const at = scratch[static_cast<std::size_t>(part)];
    each_unsorted_row(part, [&](std::size_t first, std::size_t length) {
      O* const o = order.data() + at;
      I* const c = col.data() + at;
      V* const v = val.data() + at;
      std::copy_n(a.col.data() + first, length, c);
      std::copy_n(a.val.data() + first, length, v);
      std::iota(o, o + length, O(0));
      std::sort(o, o + length, [c](O p, O q) { return c[p] != c[q] ? c[p] < c[q] : p < q; });
      for (std::size_t k = 0; k < length; ++k) {
        a.col[first + k] = c[o[k]];
        a.val[first + k] = v[o[k]];
      }
    });
  });
}

std::int64_t row_limit(read_options const& options, std::size_t stored) {
  return options.max_rows != 0 ? options.max_rows : most_rows(stored);
}

template <class V, class I, class O>
csr<V, I, O> to_csr(text_source const& source, matrix_market_header const& h, entries<V, I> e,
                    read_options const& options, int threads) {
  auto const limit = row_limit(options, e.stored());
  if (h.rows > limit)
    fail(errc::io,
         "%s: %lld rows but %zu entries; CSR has an offset for each row, so it takes %lld of them "
         "(max_rows says otherwise), COO any number",
         source.name(), static_cast<long long>(h.rows), e.stored(), static_cast<long long>(limit));

  auto const rows = static_cast<std::size_t>(h.rows);
  csr<V, I, O> a;
  a.rows = static_cast<I>(h.rows);
  a.cols = static_cast<I>(h.cols);
  auto* const whole = e.whole();
  if (whole && is_sorted(whole->row, threads)) {
    check_total<O>(source, e.stored());
    a.row_ptr = pointers_of<I, O>(whole->row, rows, threads, options.memory);
    a.col.swap(whole->col);
    a.val.swap(whole->val);
  } else {
    auto const counts = e.counts(parts_for(e.stored(), threads));
    std::size_t const total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    check_total<O>(source, total);
    a.col = array<I>(total, options.memory);
    a.val = array<V>(total, options.memory);
    a.row_ptr = counting_sort<O>(
        rows, e.stored(),
        [&](int part, int parts, auto&& f) {
          e.walk(split(e.stored(), part, parts), split(e.stored(), part + 1, parts),
                 [&](I i, I j, V v) { f(static_cast<std::size_t>(i), j, v); });
        },
        [&](std::size_t at, O const*, I j, V v) {
          a.col[at] = j;
          a.val[at] = v;
        },
        cpu{.threads = sort_threads<V, I, O>(rows, e.stored(), total, threads),
            .memory = options.memory});
  }
  e.release();
  cpu const where{.threads = threads, .memory = options.memory};
  if (options.duplicates == on_duplicates::keep)
    sort_rows(a, threads, options.memory);
  else if (!a.view().is_canonical(where))
    a = a.to_csr(where);
  return a;
}

template <class V, class I, class O>
coo<V, I, O> to_coo(text_source const& source, matrix_market_header const& h, entries<V, I> e,
                    read_options const& options, int threads) {
  cpu const where{.threads = threads, .memory = options.memory};
  if (options.duplicates == on_duplicates::sum) {
    if (h.rows <= row_limit(options, e.stored())) {
      auto const rows = to_csr<V, I, O>(source, h, std::move(e), options, threads);
      return coo<V, I, O>::from_csr(rows.view(), {}, where);
    }
    read_options as_they_are = options;
    as_they_are.duplicates = on_duplicates::keep;
    auto const all = to_coo<V, I, O>(source, h, std::move(e), as_they_are, threads);
    array<I> label;
    auto const rows = without_empty(all.view(), label, where).to_csr(where);
    auto a = coo<V, I, O>::from_csr(rows.view(), {}, where);
    restore_empty(a, label, all.rows, all.cols);
    return a;
  }

  coo<V, I, O> a;
  a.rows = static_cast<I>(h.rows);
  a.cols = static_cast<I>(h.cols);
  if (auto* const whole = e.whole()) {
    check_total<O>(source, e.stored());
    a.row.swap(whole->row);
    a.col.swap(whole->col);
    a.val.swap(whole->val);
    return a;
  }
  int const parts = parts_for(e.stored(), threads);
  auto ends = e.counts(parts);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  check_total<O>(source, ends.back());
  a.row = array<I>(ends.back(), options.memory);
  a.col = array<I>(ends.back(), options.memory);
  a.val = array<V>(ends.back(), options.memory);
  parallel(parts, [&](int part) {
    std::size_t at = part == 0 ? 0 : ends[static_cast<std::size_t>(part) - 1];
    e.walk(split(e.stored(), part, parts), split(e.stored(), part + 1, parts), [&](I i, I j, V v) {
      a.row[at] = i;
      a.col[at] = j;
      a.val[at] = v;
      ++at;
    });
  });
  return a;
}

/// The diagonal of a hermitian array, which the parser does not know from other entries.
template <class V, class I>
void check_array_diagonal(text_source const& source, matrix_market_header const& h,
                          triplets<V, I> const& t) {
  if constexpr (is_complex<V>) {
    if (h.format != matrix_market::format::array ||
        h.symmetry != matrix_market::symmetry::hermitian)
      return;
    std::size_t next = 0;
    auto length = static_cast<std::size_t>(h.rows);
    for (auto const& r : t.regions)
      for (; next < r.first + r.count; next += length--)
        if (r.val[next - r.first].imag() != 0)
          fail(errc::io, "%s: diagonal entry %lld of a hermitian matrix is not a real number",
               source.name(), static_cast<long long>(h.rows) - static_cast<long long>(length) + 1);
  }
}

template <class V, class I>
void check_types(text_source const& source, parsed_header const& head) {
  matrix_market_header const& h = head.header;
  if (!is_complex<V> && h.field == matrix_market::field::complex)
    fail(errc::unsupported, "%s:1: complex values cannot be read into a real matrix",
         source.name());
  auto check = [&](std::int64_t n, char const* what) {
    if (!std::in_range<I>(n))
      fail(errc::overflow, "%s:%llu: %lld %s do not fit a %d-bit index", source.name(),
           static_cast<unsigned long long>(head.lines), static_cast<long long>(n), what,
           static_cast<int>(8 * sizeof(I)));
  };
  check(h.rows, "rows");
  check(h.cols, "columns");
}

/// What is behind a header.
template <class V, class I, class Build>
auto read_rest(text_source& source, parsed_header const& head, read_options const& options,
               int threads, Build build) {
  check_types<V, I>(source, head);
  auto t = parse_entries<V, I>(source, head, options, threads);
  check_array_diagonal(source, head.header, t);
  return build(source, head.header, entries<V, I>(std::move(t), head.header, options), options,
               threads);
}

int threads_of(read_options const& options) {
  return tulle::threads_of(options.threads);
}

/// Build is to_csr or to_coo.
template <class V, class I, class Build>
auto read(text_input from, read_options const& options, Build build) {
  try {
    stoppable const here;
    int const threads = threads_of(options);
    text_source source(from, {.block_bytes = block_bytes(options),
                              .max_bytes = options.max_bytes,
                              .memory = options.memory});
    parsed_header head = read_header(source);
    auto result = read_rest<V, I>(source, head, options, threads, build);
    if (options.header)
      *options.header = std::move(head.header);
    return result;
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "%s: no memory to read it",
         from.path ? from.path->c_str() : "stream");
  }
}

} // namespace

std::size_t block_bytes(read_options const& options) {
  // A few chunks for each thread, so that it matters little who is late; not more, since two such
  // blocks are held.
  return std::min(checked_mul(std::max<std::size_t>(options.chunk_bytes, 1),
                              2 * static_cast<std::size_t>(threads_of(options))),
                  most_line);
}

template <class V, class I, class O>
csr<V, I, O> csr_behind(text_source& source, parsed_header const& head,
                        read_options const& options) {
  return read_rest<V, I>(source, head, options, threads_of(options), to_csr<V, I, O>);
}
template <class V, class I, class O>
coo<V, I, O> coo_behind(text_source& source, parsed_header const& head,
                        read_options const& options) {
  return read_rest<V, I>(source, head, options, threads_of(options), to_coo<V, I, O>);
}
template <class V, class I, class O>
csr<V, I, O> csr_of(text_source const& source, matrix_market_header const& h, triplets<V, I> t,
                    read_options const& options) {
  return to_csr<V, I, O>(source, h, entries<V, I>(std::move(t), h, options), options,
                         threads_of(options));
}
template <class V, class I, class O>
coo<V, I, O> coo_of(text_source const& source, matrix_market_header const& h, triplets<V, I> t,
                    read_options const& options) {
  return to_coo<V, I, O>(source, h, entries<V, I>(std::move(t), h, options), options,
                         threads_of(options));
}

} // namespace detail

std::int64_t most_rows(std::uint64_t entries) noexcept {
  constexpr std::uint64_t of_any = std::uint64_t{1} << 22;
  constexpr std::uint64_t of_each = 16;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(
      entries > (most - of_any) / of_each ? most : of_any + of_each * entries);
}

template <class V, class I, class O>
csr<V, I, O> read_matrix_market(std::string const& path, read_options const& options) {
  return detail::read<V, I>(path, options, detail::to_csr<V, I, O>);
}
template <class V, class I, class O>
csr<V, I, O> read_matrix_market(std::istream& in, read_options const& options) {
  return detail::read<V, I>(in, options, detail::to_csr<V, I, O>);
}
template <class V, class I, class O>
coo<V, I, O> read_matrix_market_coo(std::string const& path, read_options const& options) {
  return detail::read<V, I>(path, options, detail::to_coo<V, I, O>);
}
template <class V, class I, class O>
coo<V, I, O> read_matrix_market_coo(std::istream& in, read_options const& options) {
  return detail::read<V, I>(in, options, detail::to_coo<V, I, O>);
}

#define TULLE_INSTANTIATE(tag, V, I, O)                                                            \
  template csr<V, I, O> read_matrix_market<V, I, O>(std::string const&, read_options const&);      \
  template csr<V, I, O> read_matrix_market<V, I, O>(std::istream&, read_options const&);           \
  template coo<V, I, O> read_matrix_market_coo<V, I, O>(std::string const&, read_options const&);  \
  template coo<V, I, O> read_matrix_market_coo<V, I, O>(std::istream&, read_options const&);       \
  template csr<V, I, O> detail::csr_behind(text_source&, parsed_header const&,                     \
                                           read_options const&);                                   \
  template coo<V, I, O> detail::coo_behind(text_source&, parsed_header const&,                     \
                                           read_options const&);                                   \
  template csr<V, I, O> detail::csr_of(text_source const&, matrix_market_header const&,            \
                                       triplets<V, I>, read_options const&);                       \
  template coo<V, I, O> detail::coo_of(text_source const&, matrix_market_header const&,            \
                                       triplets<V, I>, read_options const&);
TULLE_TYPES(TULLE_INSTANTIATE)
TULLE_BASIC_TYPES(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

} // namespace tulle
