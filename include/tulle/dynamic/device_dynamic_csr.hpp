// SPDX-License-Identifier: Apache-2.0

/// A matrix on a device that accepts entries while it is in use: the counterpart of dynamic_csr.
///
///     tulle::device_dynamic_csr<double> a(rows, cols);          // or from_csr(view)
///     a.insert(row, col, val);                                  // spans, or arrays on the device
///     tulle::spmv(1.0, a, x, 0.0, y);                           // on the fragments as they lie
///     auto c = a.freeze();                                      // a csr of its arrays, not a copy
///
/// The first segments of all rows are a csr without gaps, as from_csr and defragmenting leave them.
/// Their slack follows after all of them, and entries that do not fit there go to further segments,
/// up to `segments` in all. Rows do not move: a row without a free segment defragments the matrix,
/// and so does a product once the extra cost of grown rows has reached the cost of defragmenting.
///
/// A change is a batch of entries, made whole or not at all: what fails (an index out of range, the
/// pool's limit, an allocation) leaves the matrix as it was. A batch is sorted by row first,
/// stable, so that rows have their entries in the order they came, and products have the same bits
/// on every run of the same calls: the entries after the first segment of a row are summed
/// separately. Batches run on the stream of options::where and wait for it once, until nothing can
/// fail any more; entries on the device are read in that stream's order. Products may use any
/// stream. Calls from several threads come one after the other.
#pragma once
#include "tulle/core/device.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"

namespace tulle {

struct device_dynamic_options {
  /// Slack of all segments; of the first one only up to twice the entries. A row that has two
  /// segments at least doubles. A function is not supported.
  dynamic_slack slack{};
  std::size_t width = 0; ///< places of each row, where the matrix begins without entries
  int segments = 8;      ///< of a row, 2 to 8
  on_duplicate duplicates = on_duplicate::keep;
  std::size_t limit = SIZE_MAX; ///< places of the pool
  /// The pool is mapped: it grows in place, by an eighth. Its memory comes from the driver in
  /// pieces of 2 MiB, not from where.memory.
  bool mapped = false;
  /// For all changes. Without a resource, memory comes from the stream's pool; the stream must
  /// outlive the matrix. With `exact = false`, entries of one row and batch may be stored in
  /// another order on every run.
  device where;
};

/// What a matrix consists of.
struct device_dynamic_shape {
  std::size_t entries = 0;  ///< stored, duplicates counted one by one
  std::size_t places = 0;   ///< of the pool, used or not
  std::size_t segments = 1; ///< of the row that has most
  std::size_t bytes = 0;    ///< with those of the last product's plan and the largest batch
  bool compact = false;     ///< all entries are in first segments: freeze() copies none
};

template <class V, class I = std::int32_t, space S = space::cuda>
class device_dynamic_csr {
public:
  using value = V;
  using index = I;
  using options = device_dynamic_options;
  using csr_there = csr_view<V, I, I, S>;
  template <class T>
  using there = vector_view<T const, S>;

  device_dynamic_csr(I rows, I cols, options const& o = {});
  device_dynamic_csr(device_dynamic_csr&&) noexcept;
  device_dynamic_csr& operator=(device_dynamic_csr&&) noexcept;
  ~device_dynamic_csr();

  /// Rows as a has them.
  static device_dynamic_csr from_csr(csr_view<V, I, I> a, options const& o = {});
  static device_dynamic_csr from_csr(csr_there a, options const& o = {});
  /// Entries of one place are added.
  static device_dynamic_csr from_coo(coo_view<V, I, I> a, options const& o = {});
  static device_dynamic_csr from_coo(coo_view<V, I, I, S> a, options const& o = {});

  I rows() const;
  I cols() const;
  device_dynamic_shape shape() const;

  /// A(row[k], col[k]) += val[k], for all k in order.
  void insert(std::span<I const> row, std::span<I const> col, std::span<V const> val);
  void insert(there<I> row, there<I> col, there<V> val);
  /// A(row[k], col[k]) = val[k], for all k in order: the last one of a place stays.
  void assign(std::span<I const> row, std::span<I const> col, std::span<V const> val);
  void assign(there<I> row, there<I> col, there<V> val);
  /// Removes the listed entries; missing ones are ignored.
  void erase(std::span<I const> row, std::span<I const> col);
  void erase(there<I> row, there<I> col);
  /// Row row[k] times factor[k], for all k in order.
  void scale_rows(std::span<I const> row, std::span<V const> factor);
  void scale_rows(there<I> row, there<V> factor);
  /// A += B.
  void merge(csr_view<V, I, I> b);
  void merge(csr_there b);
  /// A += B C; operands may be results of freeze(). Rows of the product are computed in the pool;
  /// entries for which the row has room are moved there. With on_duplicate::combine the product
  /// becomes a csr first. Same bits and same workspace_limit as spgemm.
  void add_product(csr_there b, csr_there c, spgemm_options how = {});

  /// Puts each row into one segment; the result is always compact.
  void defragment(dynamic_defragment d = {});
  /// The matrix as a csr that borrows its arrays, until the next change: rows as stored, duplicates
  /// mean their sum. No entry is copied if the matrix is compact; otherwise it becomes so.
  csr_there freeze();
  /// Rows sorted, duplicates summed, in host memory. Defragments.
  csr<V, I, I> to_csr();
  /// The same rows as they are stored.
  dynamic_csr<V, I> download(dynamic_options const& o = {});

  struct state;
  state& get() const; ///< errc::bad_structure for one that was moved from

private:
  explicit device_dynamic_csr(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

/// y = alpha A x + beta y without a conversion, on where's stream, not waited for; a compact matrix
/// uses csr's kernel. The first product after a change counts the rows again.
template <class V, class I, space S>
void spmv(device const& where, std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<vector_view<V const, S>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V, S>> y);
/// On the matrix's own stream.
template <class V, class I, space S>
void spmv(std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<vector_view<V const, S>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V, S>> y);

/// C = alpha A B + beta C, likewise.
template <class V, class I, space S>
void spmm(device const& where, std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V, S>> c);
template <class V, class I, space S>
void spmm(std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V, S>> c);

// Bodies are in the library, for the pairs of types.def.
#define TULLE_DYNAMIC(tag, V, I, O, S)                                                             \
  extern template class device_dynamic_csr<V, I, S>;                                               \
  extern template void spmv(device const&, V, device_dynamic_csr<V, I, S> const&,                  \
                            vector_view<V const, S>, V, vector_view<V, S>);                        \
  extern template void spmv(V, device_dynamic_csr<V, I, S> const&, vector_view<V const, S>, V,     \
                            vector_view<V, S>);                                                    \
  extern template void spmm(device const&, V, device_dynamic_csr<V, I, S> const&,                  \
                            dense_view<V const, S>, V, dense_view<V, S>);                          \
  extern template void spmm(V, device_dynamic_csr<V, I, S> const&, dense_view<V const, S>, V,      \
                            dense_view<V, S>);
TULLE_TYPES(TULLE_DYNAMIC, space::cuda)
TULLE_TYPES(TULLE_DYNAMIC, space::opencl)
#undef TULLE_DYNAMIC

} // namespace tulle
