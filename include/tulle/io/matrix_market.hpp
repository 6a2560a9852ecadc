// SPDX-License-Identifier: Apache-2.0

/// Matrix Market files, in and out: text with one entry per line, plain or gzip.
///
///     %%MatrixMarket matrix coordinate real general       the banner, in any case
///     % what the matrix is about                          comments
///     4 4 7                                               rows, columns, entries
///     1 1 1.0                                             row, column (from 1), value
///     1 3 2.0
///     ...
///
/// Read       coordinate and array; real (or double), integer, unsigned-integer, complex, pattern;
///            general, symmetric, skew-symmetric, hermitian; `vector` objects as n x 1 matrices.
///            gzip is told by its first bytes, not by the name, and may have several members.
///            CRLF, blank lines, indented lines, comments between entries (skipped), a leading '+',
///            Fortran's 1.0D+05, nan and inf are accepted; anything else on a line is an error with
///            its number. The locale plays no part.
/// Memory     follows the content of the file, not the sizes it claims. The finished CSR and one
///            copy of the file's triplets are the peak: 28 bytes per entry for double and 32-bit
///            indices. A file sorted by row needs 16. Blanks and comments cost nothing, compressed
///            or not: the reader's own buffers stay below 64 MiB. Only a CSR result needs memory
///            per row, for row_ptr: a file with more rows than most_rows() of its entries is
///            refused there.
/// Streams    The path "-" is standard input or output. Pipes work. To bound memory, a line that
///            does not come from a plain file may have at most 4 MiB.
/// Order      rows of a CSR result are sorted by column, equal columns in file order; a COO result
///            is in file order. The result is the same for every number of threads and every size
///            of chunk.
/// From       Boisvert, Pozo & Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996;
///            `vector` and `unsigned-integer` are extensions known from fast_matrix_market.
#pragma once
#include "tulle/format/coo.hpp"
#include "tulle/format/csr.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace tulle {
/// The words of a banner.
namespace matrix_market {
enum class object : std::uint8_t { matrix, vector };
enum class format : std::uint8_t { coordinate, array };
enum class field : std::uint8_t { real, integer, unsigned_integer, complex, pattern };
enum class symmetry : std::uint8_t { general, symmetric, skew_symmetric, hermitian };

char const* name(object o) noexcept;
char const* name(format f) noexcept;
char const* name(field f) noexcept;
char const* name(symmetry s) noexcept;
} // namespace matrix_market

/// What a file says about itself before its entries.
struct matrix_market_header {
  matrix_market::object object = matrix_market::object::matrix;
  matrix_market::format format = matrix_market::format::coordinate;
  matrix_market::field field = matrix_market::field::real;
  matrix_market::symmetry symmetry = matrix_market::symmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  /// Lines of the file that are entries: of one triangle where there is a symmetry.
  std::int64_t entries = 0;
  /// Text after the % of each comment before the entries, each ending in a newline; the first MiB
  /// of it.
  std::string comments;

  friend bool operator==(matrix_market_header const&, matrix_market_header const&) = default;
};

enum class on_symmetry : std::uint8_t {
  expand, ///< both triangles; the mirrored entry follows its own
  keep,   ///< the stored triangle only
};
enum class on_duplicates : std::uint8_t {
  keep, ///< each as an entry of its own
  sum,  ///< one entry, added up in file order
};
enum class on_zeros : std::uint8_t {
  keep, ///< stored zeros stay stored, those of array files too
  drop,
};

/// Called from time to time by the reading thread: bytes of the file done, and all of them (0 where
/// not known).
struct read_progress {
  void (*call)(void* context, std::uint64_t done, std::uint64_t total) = nullptr;
  void* context = nullptr;
};

struct read_options {
  on_symmetry symmetry = on_symmetry::expand;
  on_duplicates duplicates = on_duplicates::keep;
  on_zeros zeros = on_zeros::keep;
  int threads = 0; ///< 0: default_threads()
  /// Of the result, triplets and buffers; nullptr: default_memory().
  std::pmr::memory_resource* memory = nullptr;
  /// Most bytes of text, after decompression. 0: any number of plain text, and for gzip 64 MiB and
  /// 200 times the compressed size: real matrices compress 2 to 8 times, a bomb about 1000.
  std::uint64_t max_bytes = 0;
  /// Most rows of a CSR result, whose row_ptr a short file could make arbitrarily large; 0: as
  /// most_rows() says. A COO result has no such limit.
  std::int64_t max_rows = 0;
  std::size_t chunk_bytes = std::size_t{1} << 20; ///< text one thread parses at a time
  read_progress progress = {};
  /// If given, receives the file's header once all has been read.
  matrix_market_header* header = nullptr;
};

/// The most rows that a file with so many entries may have in CSR unless more are asked for (and
/// columns, where vectors are that long): 2^22 plus 16 per entry.
std::int64_t most_rows(std::uint64_t entries) noexcept;

/// Reads only the header, no entry. A stream or pipe is left somewhere after it.
matrix_market_header read_matrix_market_header(std::string const& path);
matrix_market_header read_matrix_market_header(std::istream& in);

/// Reads a matrix. Errors are errc::io with file and line ("a.mtx:17: column 9 is outside 1..5") or
/// where there are too many rows, errc::overflow for a number that does not fit its type,
/// errc::unsupported for complex values into a real V, errc::out_of_memory for an allocation that
/// failed or text beyond max_bytes. The file must not shrink while it is read: it is mapped.
template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_matrix_market(std::string const& path, read_options const& options = {});
template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_matrix_market(std::istream& in, read_options const& options = {});

/// The same in coordinates, in file order; sorted by row and column where duplicates are summed.
template <class V = double, class I = std::int32_t, class O = I>
coo<V, I, O> read_matrix_market_coo(std::string const& path, read_options const& options = {});
template <class V = double, class I = std::int32_t, class O = I>
coo<V, I, O> read_matrix_market_coo(std::istream& in, read_options const& options = {});

/// How many digits a value is written with. Both read back to the same bits.
enum class digits : std::uint8_t {
  shortest, ///< as few as needed
  full,     ///< 17 significant for double, 9 for float
};

struct write_options {
  std::string comments = {}; ///< one line of text each, as in matrix_market_header::comments
  /// Other than general: one triangle is written, after checking that the matrix is its own mirror
  /// image (errc::bad_structure if not). Duplicates are summed then; zeros on a skew-symmetric
  /// diagonal are left out.
  matrix_market::symmetry symmetry = matrix_market::symmetry::general;
  /// nullopt: real or complex, as V is. integer, unsigned_integer and real need values that are so;
  /// pattern leaves them out.
  std::optional<matrix_market::field> field = std::nullopt;
  tulle::digits digits = tulle::digits::shortest;
  std::optional<bool> gzip = std::nullopt;     ///< nullopt: if the name ends in .gz
  int threads = 0;                             ///< 0: default_threads()
  std::pmr::memory_resource* memory = nullptr; ///< of buffers; nullptr: default_memory()
};

/// Writes a coordinate file, entries in stored order, and returns what its header says. A
/// compressed file has members of a fixed number of entries, so that threads share the work. A file
/// is written next to `path` and renamed when it is whole: a write that fails leaves the old file
/// as it was, and remains of a killed writer are removed by the next write of the same name.
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, csr_view<V, I, O> a,
                                         write_options const& options = {});
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, coo_view<V, I, O> a,
                                         write_options const& options = {});
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, csr_view<V, I, O> a,
                                         write_options const& options = {});
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, coo_view<V, I, O> a,
                                         write_options const& options = {});

template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, csr<V, I, O> const& a,
                                         write_options const& options = {}) {
  return write_matrix_market(path, a.view(), options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::string const& path, coo<V, I, O> const& a,
                                         write_options const& options = {}) {
  return write_matrix_market(path, a.view(), options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, csr<V, I, O> const& a,
                                         write_options const& options = {}) {
  return write_matrix_market(out, a.view(), options);
}
template <class V, class I, class O>
matrix_market_header write_matrix_market(std::ostream& out, coo<V, I, O> const& a,
                                         write_options const& options = {}) {
  return write_matrix_market(out, a.view(), options);
}

} // namespace tulle
