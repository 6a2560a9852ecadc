// SPDX-License-Identifier: Apache-2.0

// Dynamic matrices on a device: checks here, work in the module.
#include "tulle/core/types.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/op/convert.hpp"

#include "backend/tables.hpp"
#include "core/format_table.hpp"
#include "dynamic/sizes.hpp"
#include "op/dense_operands.hpp"

#include <exception>
#include <map>
#include <mutex>

namespace tulle {
namespace {

/// The blocks that a matrix has, and why it got no other.
struct device_memory {
  device where;
  std::map<void*, detail::device_block> blocks;
  std::exception_ptr failure;

  static void* take(void* self, std::size_t bytes) noexcept {
    auto& m = *static_cast<device_memory*>(self);
    try {
      detail::device_block block(bytes, m.where);
      void* const p = block.data();
      m.blocks.emplace(p, std::move(block));
      return p;
    } catch (...) {
      m.failure = std::current_exception();
      return nullptr;
    }
  }
  static void give(void* self, void* p) noexcept {
    static_cast<device_memory*>(self)->blocks.erase(p);
  }
};

dynamic_kernel const& kernel_for(device const& where, type_tag t) {
  backend_table const& there = device_table(where.backend);
  dynamic_kernel const* const kernel = there.dynamic ? there.dynamic(static_cast<int>(t)) : nullptr;
  if (!kernel)
    fail(errc::unsupported, "device_dynamic_csr: %s has none of %s", name(where.backend), name(t));
  return *kernel;
}

dynamic_request numbers_of(device_dynamic_options const& o, long long rows, long long cols,
                           device_memory& memory) {
  if (o.segments < 2 || o.segments > most_segments)
    fail(errc::unsupported, "device_dynamic_csr: %d segments; 2 to %d are possible", o.segments,
         most_segments);
  if (o.slack.function)
    fail(errc::unsupported, "device_dynamic_csr: a slack by a function of the host's");
  if (!(o.slack.factor >= 0) || !(o.slack.factor <= 1e6))
    fail(errc::unsupported, "device_dynamic_csr: a slack of %g times a row's length",
         o.slack.factor);
  return {o.where.number,
          o.where.queue,
          {&memory, device_memory::take, device_memory::give},
          o.slack.factor,
          o.slack.plus,
          o.slack.mean,
          o.width,
          o.segments,
          o.duplicates == on_duplicate::combine,
          o.duplicates == on_duplicate::at_defragmenting,
          o.where.exact,
          o.mapped,
          o.limit,
          o.where.workspace_limit,
          rows,
          cols};
}

} // namespace

template <class V, class I, space S>
struct device_dynamic_csr<V, I, S>::state {
  device_dynamic_options const o;
  I const rows, cols;
  dynamic_kernel const& kernel = kernel_for(o.where, type_of<V, I, I>::value);
  std::mutex one_at_a_time;
  device_memory memory{o.where, {}, {}};
  void* matrix = nullptr; // the module's

  state(I rows, I cols, csr_there const* a, device_dynamic_options const& options)
      : o(options), rows(rows), cols(cols) {
    detail::check_shape("device_dynamic_csr", rows, cols);
    auto const numbers = numbers_of(o, rows, cols, memory);
    run("device_dynamic_csr", [&] { return kernel.make(numbers, a, matrix); });
  }
  state(state const&) = delete;
  state& operator=(state const&) = delete;
  ~state() {
    if (matrix)
      kernel.drop(matrix);
  }

  /// f(), with what the memory threw before what the module says.
  template <class F>
  void run(char const* op, F const& f) {
    std::lock_guard const in_turn(one_at_a_time);
    memory.failure = nullptr;
    outcome const status = f();
    if (status.code == outcome::no_memory && memory.failure)
      std::rethrow_exception(memory.failure);
    check(status, op);
  }
  void change(char const* op, dynamic_change kind, std::size_t n, void const* row, void const* col,
              void const* val, bool on_host) {
    run(op, [&] { return kernel.change(matrix, {kind, n, row, col, val, on_host}); });
  }
  void check_shape(char const* what, I m, I n) const {
    if (m != rows || n != cols)
      fail(errc::shape_mismatch, "%s is %lld x %lld, A is %lld x %lld", what,
           static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(rows),
           static_cast<long long>(cols));
  }
};

namespace {

void check_lengths(char const* op, std::size_t rows, std::size_t cols, std::size_t vals) {
  if (rows != vals || cols != vals)
    fail(errc::shape_mismatch, "%s: %zu row indices, %zu column indices, %zu values", op, rows,
         cols, vals);
}

/// f(a's view on the device).
template <space S, class V, class I, class F>
void with_copy(csr_view<V, I, I> const& a, device const& where, F const& f) {
  a.validate();
  auto const n = static_cast<std::size_t>(a.nnz);
  device_array<I, S> const row_ptr(a.row_ptr, a.row_ptr ? static_cast<std::size_t>(a.rows) + 1 : 0,
                                   where),
      col(a.col, n, where);
  device_array<V, S> const val(a.val, n, where);
  f(csr_view<V, I, I, S>(unchecked, a.rows, a.cols, a.nnz, row_ptr.data(), col.data(), val.data()));
  synchronize(where); // before the copies go
}

} // namespace

template <class V, class I, space S>
device_dynamic_csr<V, I, S>::device_dynamic_csr(I rows, I cols, options const& o)
    : state_(std::make_unique<state>(rows, cols, nullptr, o)) {}
template <class V, class I, space S>
device_dynamic_csr<V, I, S>::device_dynamic_csr(std::unique_ptr<state> s) : state_(std::move(s)) {}
template <class V, class I, space S>
device_dynamic_csr<V, I, S>::device_dynamic_csr(device_dynamic_csr&&) noexcept = default;
template <class V, class I, space S>
device_dynamic_csr<V, I, S>&
device_dynamic_csr<V, I, S>::operator=(device_dynamic_csr&&) noexcept = default;
template <class V, class I, space S>
device_dynamic_csr<V, I, S>::~device_dynamic_csr() = default;

template <class V, class I, space S>
typename device_dynamic_csr<V, I, S>::state& device_dynamic_csr<V, I, S>::get() const {
  if (!state_)
    fail(errc::bad_structure, "device_dynamic_csr: the matrix was moved from");
  return *state_;
}

template <class V, class I, space S>
device_dynamic_csr<V, I, S> device_dynamic_csr<V, I, S>::from_csr(csr_there a, options const& o) {
  return device_dynamic_csr(std::make_unique<state>(a.rows, a.cols, &a, o));
}
template <class V, class I, space S>
device_dynamic_csr<V, I, S> device_dynamic_csr<V, I, S>::from_csr(csr_view<V, I, I> a,
                                                                  options const& o) {
  std::unique_ptr<state> made;
  if (a.rows == 0)
    return device_dynamic_csr(a.rows, a.cols, o);
  with_copy<S>(a, o.where, [&](csr_there const& there) {
    made = std::make_unique<state>(a.rows, a.cols, &there, o);
  });
  return device_dynamic_csr(std::move(made));
}

template <class V, class I, space S>
device_dynamic_csr<V, I, S> device_dynamic_csr<V, I, S>::from_coo(coo_view<V, I, I, S> a,
                                                                  options const& o) {
  device_matrix const c = convert(device_ref{matrix_ref(a)}, format::csr, o.where);
  return from_csr(c.template view<csr_there>(), o);
}
template <class V, class I, space S>
device_dynamic_csr<V, I, S> device_dynamic_csr<V, I, S>::from_coo(coo_view<V, I, I> a,
                                                                  options const& o) {
  device_matrix const there = upload(matrix_ref(a), o.where);
  return from_coo(there.template view<coo_view<V, I, I, S>>(), o);
}

template <class V, class I, space S>
I device_dynamic_csr<V, I, S>::rows() const {
  return get().rows;
}
template <class V, class I, space S>
I device_dynamic_csr<V, I, S>::cols() const {
  return get().cols;
}
template <class V, class I, space S>
device_dynamic_shape device_dynamic_csr<V, I, S>::shape() const {
  state& s = get();
  dynamic_facts found{};
  s.run("shape", [&] { return s.kernel.shape(s.matrix, found); });
  return {found.entries, found.places, found.segments, found.bytes, found.compact};
}

template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::insert(std::span<I const> row, std::span<I const> col,
                                         std::span<V const> val) {
  check_lengths("insert", row.size(), col.size(), val.size());
  get().change("insert", dynamic_change::insert, row.size(), row.data(), col.data(), val.data(),
               true);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::insert(there<I> row, there<I> col, there<V> val) {
  check_lengths("insert", row.size(), col.size(), val.size());
  get().change("insert", dynamic_change::insert, row.size(), row.data(), col.data(), val.data(),
               false);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::assign(std::span<I const> row, std::span<I const> col,
                                         std::span<V const> val) {
  check_lengths("assign", row.size(), col.size(), val.size());
  get().change("assign", dynamic_change::assign, row.size(), row.data(), col.data(), val.data(),
               true);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::assign(there<I> row, there<I> col, there<V> val) {
  check_lengths("assign", row.size(), col.size(), val.size());
  get().change("assign", dynamic_change::assign, row.size(), row.data(), col.data(), val.data(),
               false);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::erase(std::span<I const> row, std::span<I const> col) {
  check_lengths("erase", row.size(), col.size(), row.size());
  get().change("erase", dynamic_change::erase, row.size(), row.data(), col.data(), nullptr, true);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::erase(there<I> row, there<I> col) {
  check_lengths("erase", row.size(), col.size(), row.size());
  get().change("erase", dynamic_change::erase, row.size(), row.data(), col.data(), nullptr, false);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::scale_rows(std::span<I const> row, std::span<V const> factor) {
  if (row.size() != factor.size())
    fail(errc::shape_mismatch, "scale_rows: %zu rows, %zu factors", row.size(), factor.size());
  get().change("scale_rows", dynamic_change::scale, row.size(), row.data(), nullptr, factor.data(),
               true);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::scale_rows(there<I> row, there<V> factor) {
  if (row.size() != factor.size())
    fail(errc::shape_mismatch, "scale_rows: %zu rows, %zu factors", row.size(), factor.size());
  get().change("scale_rows", dynamic_change::scale, row.size(), row.data(), nullptr, factor.data(),
               false);
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::merge(csr_view<V, I, I> b) {
  get().check_shape("merge: B", b.rows, b.cols);
  if (b.nnz != 0)
    with_copy<S>(b, get().o.where, [&](csr_there const& there) { merge(there); });
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::merge(csr_there b) {
  state& s = get();
  s.check_shape("merge: B", b.rows, b.cols);
  if (b.nnz != 0)
    s.run("merge", [&] { return s.kernel.merge(s.matrix, &b); });
}
template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::add_product(csr_there b, csr_there c, spgemm_options how) {
  state& s = get();
  formats::check_present("add_product", matrix_ref(b));
  formats::check_present("add_product", matrix_ref(c));
  if (b.cols != c.rows)
    fail(errc::shape_mismatch, "add_product: B is %lld x %lld but C is %lld x %lld",
         static_cast<long long>(b.rows), static_cast<long long>(b.cols),
         static_cast<long long>(c.rows), static_cast<long long>(c.cols));
  s.check_shape("add_product: B C", b.rows, c.cols);
  if (b.nnz != 0 && c.nnz != 0)
    s.run("add_product", [&] { return s.kernel.add_product(s.matrix, &b, &c, how.method); });
}

template <class V, class I, space S>
void device_dynamic_csr<V, I, S>::defragment(dynamic_defragment d) {
  state& s = get();
  s.run("defragment", [&] { return s.kernel.defragment(s.matrix, d.sort, d.combine); });
}
template <class V, class I, space S>
typename device_dynamic_csr<V, I, S>::csr_there device_dynamic_csr<V, I, S>::freeze() {
  state& s = get();
  csr_there a;
  s.run("freeze", [&] { return s.kernel.freeze(s.matrix, &a); });
  return a;
}

namespace {

/// The matrix as a csr in host memory, copied before anybody else changes it.
template <class V, class I, space S>
csr<V, I, I> fetched(typename device_dynamic_csr<V, I, S>::state& s) {
  csr<V, I, I> c;
  s.run("freeze", [&] {
    csr_view<V, I, I, S> a;
    outcome const status = s.kernel.freeze(s.matrix, &a);
    if (status.code != outcome::fine)
      return status;
    auto const n = static_cast<std::size_t>(a.nnz);
    c = {unchecked,   a.rows,     a.cols, array<I>(static_cast<std::size_t>(a.rows) + 1),
         array<I>(n), array<V>(n)};
    detail::device_copy(c.row_ptr.data(), a.row_ptr, c.row_ptr.bytes(), s.o.where);
    detail::device_copy(c.col.data(), a.col, c.col.bytes(), s.o.where);
    detail::device_copy(c.val.data(), a.val, c.val.bytes(), s.o.where);
    return status;
  });
  return c;
}

} // namespace

template <class V, class I, space S>
csr<V, I, I> device_dynamic_csr<V, I, S>::to_csr() {
  return fetched<V, I, S>(get()).to_csr();
}
template <class V, class I, space S>
dynamic_csr<V, I> device_dynamic_csr<V, I, S>::download(dynamic_options const& o) {
  return dynamic_csr<V, I>::adopt(fetched<V, I, S>(get()), o);
}

template <class V, class I, space S>
void spmv(device const& where, std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<vector_view<V const, S>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V, S>> y) {
  auto& s = a.get();
  detail::check_sizes(s.rows, s.cols, x.size(), y.size());
  if ((!x.data() && x.size() != 0) || (!y.data() && y.size() != 0))
    fail(errc::bad_structure, "spmv: x or y is null");
  if (detail::overlap(x.data(), x.size() * sizeof(V), y.data(), y.size() * sizeof(V)))
    fail(errc::bad_structure, "spmv: x and y overlap");
  s.run("spmv", [&] {
    return s.kernel.multiply(s.matrix, where.queue, &alpha, x.data(), &beta, y.data());
  });
}
template <class V, class I, space S>
void spmv(std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<vector_view<V const, S>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V, S>> y) {
  spmv(a.get().o.where, alpha, a, x, beta, y);
}

template <class V, class I, space S>
void spmm(device const& where, std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V, S>> c) {
  auto& s = a.get();
  detail::check_dense("spmm", false, static_cast<std::size_t>(s.rows),
                      static_cast<std::size_t>(s.cols), sizeof(V), b, c);
  s.run("spmm",
        [&] { return s.kernel.multiply_dense(s.matrix, where.queue, &alpha, b, &beta, c); });
}
template <class V, class I, space S>
void spmm(std::type_identity_t<V> alpha, device_dynamic_csr<V, I, S> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V, S>> c) {
  spmm(a.get().o.where, alpha, a, b, beta, c);
}

#define TULLE_DYNAMIC(tag, V, I, O, S)                                                             \
  template class device_dynamic_csr<V, I, S>;                                                      \
  template void spmv(device const&, V, device_dynamic_csr<V, I, S> const&,                         \
                     vector_view<V const, S>, V, vector_view<V, S>);                               \
  template void spmv(V, device_dynamic_csr<V, I, S> const&, vector_view<V const, S>, V,            \
                     vector_view<V, S>);                                                           \
  template void spmm(device const&, V, device_dynamic_csr<V, I, S> const&, dense_view<V const, S>, \
                     V, dense_view<V, S>);                                                         \
  template void spmm(V, device_dynamic_csr<V, I, S> const&, dense_view<V const, S>, V,             \
                     dense_view<V, S>);
TULLE_TYPES(TULLE_DYNAMIC, space::cuda)
TULLE_TYPES(TULLE_DYNAMIC, space::opencl)
#undef TULLE_DYNAMIC

} // namespace tulle
