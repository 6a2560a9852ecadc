// SPDX-License-Identifier: Apache-2.0

/// Dynamic CSR: a matrix that accepts entries while it is in use. A row is a few segments of one
/// pool, filled one after the other; the last segment has free places, so most batches move no
/// existing entry.
///
///     1 . 2 .      length    2     1    1    ~4      ~4: four entries, beyond the first segment
///     . 3 . .      begin 0   0     4    6    8       end 0   4     6    8    11
///     . . . 4      begin 1   .     .    .    11      end 1   .     .    .    13
///     5 6 7 8      place     0 1 2 3   4 5   6 7   8 9 10   11 12
///                  col       0 2 - -   1 -   3 -   0 1 2    3 -
///                  val       1 2 - -   3 -   4 -   5 6 7    8 -        - is room
///
/// Good for   graphs that grow, assembly without knowing the pattern, fixed points by insertion.
/// Bad for    fixed patterns: csr has no free places between rows, and other formats store fewer
/// indices.
/// Space      (V + I) * places + I * (2 segments + 1) * rows, segments that no row has left out.
/// From       King et al., Efficient SpMM using Dynamic-CSR on GPUs, sec. 3.1. Unlike the paper, a
/// row that has run out of segments moves to one of its own, and the rest stays where it is; the
/// pool grows by chunks; slack depends on the length of a row; and batches inserted into a compact
/// matrix are stored apart from its rows until they are worth a pass over all of them.
///
/// A change is a batch of entries, made whole or not at all. Batches of several threads come one
/// after the other; spmv, at(), to_csr() and snapshot() see whole batches only. What fails (an
/// index out of range, the pool's limit, an allocation) leaves the matrix as it was. The matrix
/// depends on the batches and their order, not on the number of threads.
#pragma once
#include "tulle/dynamic/dynamic_view.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/op/spgemm_method.hpp"
#include "tulle/view/dense.hpp"
#include "tulle/view/vector.hpp"

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace tulle {

/// Places beyond a row's entries when it gets a new segment: factor * length + plus. Two threads of
/// Zen 4, ms of a round of bench dynamic on rmat 18, the fastest of 50, and MB: as it is 23.1, 52;
/// mean 27.3, 70. plus = 0 on circuit 200000, ms of a batch and of a product: 0.70, 1.85, where 1
/// has 0.36, 1.74.
struct dynamic_slack {
  double factor = .12;
  std::size_t plus = 1;
  bool mean = false; ///< the mean length of all rows instead: the paper's mu
  /// Or anything: called by several threads at once.
  std::size_t (*function)(std::size_t length) = nullptr;
};

/// How several entries of one place are stored. They always mean their sum.
enum class on_duplicate : std::uint8_t {
  keep,             ///< one more entry: the fastest
  at_defragmenting, ///< one more entry, until the matrix is defragmented
  combine,          ///< added to the one that is there
};

struct dynamic_options {
  dynamic_slack slack{};
  std::size_t width = 0;       ///< places of a row that has no entries
  int segments = 4;            ///< of a row, at most 8; one that needs more moves
  std::size_t move_below = 32; ///< entries of a row that moves instead of getting one more segment
  on_duplicate duplicates = on_duplicate::keep;
  /// Rows are stored and multiplied in the order of their lengths, except for up to an eighth of
  /// them that have changed; a compact matrix has no such order until it is defragmented. For rows
  /// of mixed lengths that change seldom.
  bool by_length = false;
  /// If the matrix is compact, a batch that inserts at least this many entries stays pending: its
  /// entries are stored apart, sorted by row. When the pending entries exceed 1/50 of the matrix
  /// (1/16 if batches exceed 1/256 of it), all of them are merged into the rows in one pass.
  /// Products run csr's kernel and then add the pending entries. Disabled if 0, or if `width`,
  /// `by_length`, a slack other than by length or on_duplicate::combine is set.
  std::size_t pending_from = 256;
  /// Abandoned places relative to entries from which a batch first defragments the matrix; 0:
  /// never.
  double waste = .5;
  std::size_t limit = SIZE_MAX; ///< places of the pool
  /// Threads and memory of all changes. Its workspace_limit bounds all bytes that one change
  /// allocates at once, including those that the matrix keeps.
  cpu where;
};

struct dynamic_defragment {
  bool sort = false;    ///< rows by columns, duplicates in the order they came
  bool combine = false; ///< sorted, and duplicates added up
  bool compact = false; ///< no room between rows: csr
};

/// What a matrix consists of.
struct dynamic_shape {
  std::size_t entries = 0; ///< stored, duplicates counted one by one
  std::size_t places = 0;  ///< of the pool, used or not
  std::size_t left = 0;    ///< abandoned places
  std::size_t chunks = 0;  ///< of the pool
  std::size_t bytes = 0;
  std::size_t pending = 0; ///< inserted entries that are stored apart from their rows
  bool compact = false;    ///< rows follow one another without room: freeze() copies no entry
};

/// The matrix as it was when this was made; later batches are not visible. Copies share their
/// arrays.
template <class V, class I = std::int32_t>
class dynamic_snapshot {
public:
  using value = V;
  using index = I;

  dynamic_snapshot() = default;
  dynamic_snapshot(dynamic_snapshot const&) = default;
  dynamic_snapshot(dynamic_snapshot&& s) noexcept { *this = std::move(s); }
  dynamic_snapshot& operator=(dynamic_snapshot const&) = default;
  dynamic_snapshot& operator=(dynamic_snapshot&& s) noexcept { // which is left empty
    view_ = std::exchange(s.view_, {});
    owner_ = std::move(s.owner_);
    return *this;
  }

  I rows() const { return view_.rows; }
  I cols() const { return view_.cols; }
  std::size_t entries() const { return static_cast<std::size_t>(view_.entries); }
  /// f(i, j, v) for all stored entries, row by row; duplicates come one by one.
  template <class F>
  void for_each(F&& f) const {
    for (I i = 0; i < view_.rows; ++i)
      view_.each_segment(i, [&](I const* col, V const* val, I n) {
        for (I k = 0; k < n; ++k)
          f(i, col[k], val[k]);
      });
  }
  csr<V, I, I> to_csr(cpu const& where = {}) const; ///< rows sorted, duplicates summed
  dynamic_view<V, I> const& view() const { return view_; }
  /// Borrows the arrays of a compact one: rows as stored, duplicates mean their sum.
  csr_view<V, I, I> as_csr() const;

private:
  template <class, class>
  friend class dynamic_csr;
  std::shared_ptr<void const> owner_;
  dynamic_view<V, I> view_;
};

template <class V, class I = std::int32_t>
class dynamic_csr {
public:
  using value = V;
  using index = I;
  using options = dynamic_options;

  dynamic_csr(I rows, I cols, options const& o = {});
  dynamic_csr(dynamic_csr&&) noexcept;
  dynamic_csr& operator=(dynamic_csr&&) noexcept;
  ~dynamic_csr();

  /// The rows of a. A small matrix gets room after each row; a large one stays compact, so that
  /// batches can stay pending.
  static dynamic_csr from_csr(csr_view<V, I, I> a, options const& o = {});
  static dynamic_csr from_coo(coo_view<V, I, I> a, options const& o = {});
  /// Takes the arrays themselves; rows have no room until they change.
  static dynamic_csr adopt(csr<V, I, I>&& a, options const& o = {});

  I rows() const;
  I cols() const;
  dynamic_shape shape() const;

  /// A(row[k], col[k]) += val[k], for all k in order.
  void insert(std::span<I const> row, std::span<I const> col, std::span<V const> val);
  /// A(row[k], col[k]) = val[k], for all k in order: the last one of a place stays.
  void assign(std::span<I const> row, std::span<I const> col, std::span<V const> val);
  /// Removes the listed entries; missing ones are ignored.
  void erase(std::span<I const> row, std::span<I const> col);
  /// Row row[k] times factor[k], for all k in order.
  void scale_rows(std::span<I const> row, std::span<V const> factor);
  /// A += B.
  void merge(csr_view<V, I, I> b);
  /// A += B C; operands may be of a snapshot of A. Rows of the product are computed in their final
  /// place, after the entries of the row, while readers continue. With on_duplicate::combine or the
  /// method global_esc the product becomes a csr first. Same bits and same workspace_limit as
  /// spgemm.
  void add_product(csr_view<V, I, I> b, csr_view<V, I, I> c, spgemm_options how = {});

  void insert(I i, I j, V v) { insert({&i, 1}, {&j, 1}, {&v, 1}); }
  void assign(I i, I j, V v) { assign({&i, 1}, {&j, 1}, {&v, 1}); }
  void erase(I i, I j) { erase({&i, 1}, {&j, 1}); }
  void scale_rows(I i, V factor) { scale_rows({&i, 1}, {&factor, 1}); }

  /// Changes the size: entries outside are dropped, new rows and columns are empty. Appending rows
  /// copies their tables, O(rows), and appending columns copies nothing; all else copies the
  /// remaining entries. Snapshots keep their size.
  void resize(I rows, I cols);

  /// Puts each row into one segment. Readers continue meanwhile.
  void defragment(dynamic_defragment d = {});
  /// The same in a background thread; wait() waits for it and rethrows its exception. A second call
  /// waits for the first. If no thread can be created, it is done before this returns.
  void defragment_in_background(dynamic_defragment d = {});
  void wait();

  /// The sum of the entries at (i, j); 0 where there is none. O(length of the row).
  V at(I i, I j) const;
  csr<V, I, I> to_csr() const; ///< rows sorted, duplicates summed
  /// O(rows). While a snapshot exists, the first change in place (anything but inserting separate
  /// entries) copies the matrix.
  dynamic_snapshot<V, I> snapshot() const;
  /// A compact snapshot. No entry is copied if the matrix is compact; otherwise it becomes so.
  dynamic_snapshot<V, I> freeze();

  /// Writes a file for load(). It is written next to its final name and renamed, so that either the
  /// old or the new file is complete, whatever happens. errc::io.
  void save(std::string const& path) const;
  static dynamic_csr load(std::string const& path, options const& o = {});

  /// Throws errc::bad_structure naming the broken invariant: segments that overlap, rows longer
  /// than their segments, columns out of range, sums that do not add up.
  void validate() const;

  struct state;
  state& get() const; ///< errc::bad_structure for one that was moved from

private:
  explicit dynamic_csr(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

/// y = alpha A x + beta y without a conversion; a compact matrix uses csr's kernel.
template <class V, class I>
void spmv(cpu const& where, std::type_identity_t<V> alpha, dynamic_csr<V, I> const& a,
          std::type_identity_t<vector_view<V const>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V>> y);
template <class V, class I>
void spmv(std::type_identity_t<V> alpha, dynamic_csr<V, I> const& a,
          std::type_identity_t<vector_view<V const>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V>> y) {
  spmv(cpu{}, alpha, a, x, beta, y);
}

/// C = alpha A B + beta C, likewise.
template <class V, class I>
void spmm(cpu const& where, std::type_identity_t<V> alpha, dynamic_csr<V, I> const& a,
          std::type_identity_t<dense_view<V const>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V>> c);
template <class V, class I>
void spmm(std::type_identity_t<V> alpha, dynamic_csr<V, I> const& a,
          std::type_identity_t<dense_view<V const>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V>> c) {
  spmm(cpu{}, alpha, a, b, beta, c);
}

// Bodies are in the library, for the pairs of types.def.
#define TULLE_DYNAMIC(tag, V, I, O)                                                                \
  extern template class dynamic_csr<V, I>;                                                         \
  extern template class dynamic_snapshot<V, I>;                                                    \
  extern template void spmv(cpu const&, V, dynamic_csr<V, I> const&, vector_view<V const>, V,      \
                            vector_view<V>);                                                       \
  extern template void spmm(cpu const&, V, dynamic_csr<V, I> const&, dense_view<V const>, V,       \
                            dense_view<V>);
TULLE_TYPES(TULLE_DYNAMIC)
#undef TULLE_DYNAMIC

} // namespace tulle
