// SPDX-License-Identifier: Apache-2.0

/// Reads a matrix from a file of any known kind. The kind is found by content, else by name. Any
/// kind may be compressed by gzip.
///
///     tulle::csr<double> const a = tulle::read_matrix("web-Google.txt.gz");
///
/// edges      an edge list as SNAP, KONECT and others have it: one directed edge per line.
///
///                # from  to  weight            comments start with # or %
///                0       2   0.5               two ids, and on every line or none a weight
///                2       1   1.5               blanks, tabs, a comma or a semicolon between
///
///            Entry (from, to), value 1 without weights. Square, as large as the largest id. Ids
///            start at 0 if one of them is 0 and at 1 otherwise; `node_ids` says so instead. The
///            header's comments tell what was chosen.
/// metis      a graph of METIS, Chaco and the DIMACS challenges: one vertex per line.
///
///                % a comment
///                4 2 001            4 vertices, 2 edges, edges have weights
///                2 5                vertex 1 is a neighbour of 2, by an edge of weight 5
///                1 5 3 7
///                2 7
///                                   vertex 4 has no neighbours
///
///            The third number says which weights there are, a digit each for sizes of vertices,
///            weights of vertices and weights of edges; a fourth, how many weights a vertex has.
///            Vertex sizes and weights are skipped. Each edge stands on the lines of both its ends,
///            else errc::io; the matrix is general and holds both.
/// hb         Harwell-Boeing and Rutherford-Boeing, by columns in fixed Fortran fields.
///
///                Title                                                           Key
///                             3             1             1             1
///                rsa                        2             2             3             0
///                (3i4)           (3i4)           (1p,3d12.4)
///                   1   3   4
///                   1   2   2
///                  1.0000D+00 -1.0000D+00  2.0000D+00
///
///            Types r, c, i (real, complex, integer) and p (pattern); u, r (general, rectangular),
///            s, h, z (symmetric, hermitian, skew); a (assembled). Elemental matrices (e) are
///            errc::unsupported, right-hand sides are skipped. Any format of I, F, E, D, G, X with
///            repeat counts, groups and scale factors; a number without a point has the decimals
///            its format says. A blank field is an error, not the 0 that Fortran reads.
/// npz        scipy.sparse.save_npz: csr, csc, coo, bsr, dia; stored and compressed, zip64; .npy
///            headers of versions 1 to 3; bool, integers, float, complex in either byte order.
///            Zeros in dia arrays are padding and are left out, as SciPy does.
/// petsc      MatView into a binary viewer, AIJ: big endian; 32- or 64-bit indices are told by the
///            first word, float, double and complex double by the length. A vector after the matrix
///            is ignored.
/// mtx        Matrix Market: io/matrix_market.hpp.
///
/// Memory     follows the content of the file, not the sizes it claims: 16 bytes per entry while
///            reading (24 with values, 32 complex), in addition to the result. Inflated npz members
///            count as the text of a gzip file does, against `max_bytes`.
/// Errors     errc::io, with file and line, or for npz and petsc the byte; the others are those of
///            read_matrix_market.
/// Values     are read as double, then rounded to V.
/// From       snap.stanford.edu/data; Karypis, METIS 5.1 manual, sec. 4.1.1; Duff, Grimes & Lewis,
///            Users' Guide for the Harwell-Boeing Collection, 1992, and The Rutherford-Boeing
///            Collection, 1997; numpy.lib.format; PKWARE APPNOTE 6.3; PETSc manual page of MatLoad.
#pragma once
#include "tulle/io/matrix_market.hpp"

#include <memory>

namespace tulle {

enum class file_kind : std::uint8_t { matrix_market, edges, metis, harwell_boeing, npz, petsc };
inline constexpr file_kind all_file_kinds[] = {file_kind::matrix_market, file_kind::edges,
                                               file_kind::metis,         file_kind::harwell_boeing,
                                               file_kind::npz,           file_kind::petsc};

/// "mtx", "edges", "metis", "hb", "npz", "petsc".
char const* name(file_kind k) noexcept;

/// What the ids of an edge list start from.
enum class node_ids : std::uint8_t {
  by_content, ///< 0 if there is a 0, else 1
  from_0,
  from_1,
};

/// What the caller knows of a file.
struct file_hint {
  std::optional<file_kind> kind = std::nullopt; ///< nullopt: by content, then by name
  node_ids ids = node_ids::by_content;          ///< of an edge list
};

/// Looks at the first 64 KiB. errc::io if the kind is unknown.
file_kind kind_of(std::string const& path);

/// A file whose shape and field are known before the types of the matrix are chosen. Of a Matrix
/// Market file only the header has been read by then, of other files everything.
class matrix_file {
public:
  explicit matrix_file(std::string const& path, read_options const& options = {},
                       file_hint const& hint = {});
  explicit matrix_file(std::istream& in, read_options const& options = {},
                       file_hint const& hint = {});
  matrix_file(matrix_file&&) noexcept;
  matrix_file& operator=(matrix_file&&) noexcept;
  ~matrix_file();

  file_kind kind() const noexcept;
  /// In the words of Matrix Market: rows, columns, stored entries, field, symmetry.
  matrix_market_header const& header() const noexcept;

  /// The matrix; may be called once, since entries are moved out. Rows sorted by column, as
  /// read_matrix_market has them.
  template <class V, class I, class O>
  csr<V, I, O> to_csr();
  /// The same in file order.
  template <class V, class I, class O>
  coo<V, I, O> to_coo();

private:
  struct state;
  void open(std::optional<file_kind> kind, node_ids ids);
  void hand_over();
  std::unique_ptr<state> state_;
};

template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_matrix(std::string const& path, read_options const& options = {},
                         file_hint const& hint = {}) {
  return matrix_file(path, options, hint).to_csr<V, I, O>();
}
template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> read_matrix(std::istream& in, read_options const& options = {},
                         file_hint const& hint = {}) {
  return matrix_file(in, options, hint).to_csr<V, I, O>();
}

} // namespace tulle
