// SPDX-License-Identifier: Apache-2.0

// What plans of products with dense operands have in common, on every backend: the matrix they are
// for, the kernel's view of them, and whether another matrix is as good.
#pragma once
#include "tulle/core/diagnostics.hpp"
#include "tulle/core/plan.hpp"
#include "tulle/op/convert.hpp"

#include "backend/tables.hpp"
#include "core/format_table.hpp"
#include "op/known_pattern.hpp"
#include "op/operands.hpp"

#include <string>

namespace tulle::detail {

struct kernel_plan {
  tulle::where where{};
  format matrix_format{};
  type_tag type{};
  std::size_t rows = 0, cols = 0, nnz = 0;
  backend_table const* there = nullptr;
  plan_view view;
  bool conjugated = false; // of complex values: adjoint(a), conjugated(a)
  known_pattern known;     // on a device its mark alone: of where the indices lie

  void begin(tulle::where const& w, spmv_operand a) {
    where = w;
    matrix_format = a.matrix.format;
    type = a.matrix.type;
    rows = a.matrix.rows;
    cols = a.matrix.cols;
    nnz = a.matrix.nnz;
    there = &table_of(w.backend);
    view.transposed = a.transposed;
    conjugated = a.conjugated;
  }
  bool is_host() const { return space_of(where) == space::host; }
};

inline void check_built(char const* op, matrix_ref const& m) {
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "%s: %s is not built for %s", op, name(m.format), name(m.type));
}

/// A matrix is multiplied where its arrays are.
inline void check_space(char const* op, matrix_ref const& m, backend b) {
  if (m.space != space_of(b)) [[unlikely]]
    fail(errc::unsupported, "%s: A is in %s memory, the policy is %s; see upload()", op,
         name(m.space), name(b));
}

inline char const* wrapped(bool transposed, bool conjugated) {
  return transposed ? conjugated ? " adjoint" : " transposed" : conjugated ? " conjugated" : "";
}

inline void check_same_shape(char const* op, kernel_plan const& p, spmv_operand a) {
  matrix_ref const& m = a.matrix;
  if (p.matrix_format != m.format || p.type != m.type || p.view.transposed != a.transposed ||
      p.rows != m.rows || p.cols != m.cols || p.nnz != m.nnz) [[unlikely]]
    fail(errc::shape_mismatch,
         "%s: the plan is for a %s%s of %zu x %zu with %zu entries, A is a %s%s of %zu x %zu with "
         "%zu",
         op, name(p.matrix_format), wrapped(p.view.transposed, p.conjugated), p.rows, p.cols, p.nnz,
         name(m.format), wrapped(a.transposed, a.conjugated), m.rows, m.cols, m.nnz);
}

inline void check_workspace(char const* op, std::size_t bytes, std::size_t limit) {
  if (bytes > limit)
    fail(errc::out_of_memory, "%s: %zu bytes of workspace wanted, the limit is %zu", op, bytes,
         limit);
}

/// Tells the kernel of a device where it works; others know from the call.
inline device_properties describe(char const* op, kernel_plan& p) {
  device_properties found;
  check(p.there->describe(p.where.number, found), op);
  p.view.device = p.where.number;
  p.view.stream = p.where.queue;
  p.view.multiprocessors = found.units;
  return found;
}

/// For what a call takes and gives back: memory of the queue, which takes it back in its order. To
/// a resource of the caller's it would have to be waited for.
inline where with_queue_memory(where w) {
  w.memory = nullptr;
  return w;
}

/// "cpu/avx2 csr rows, 2 threads"
inline std::string path_of(kernel_plan const& p, device_properties const& d) {
  std::string text = name(p.where.backend);
  if (*d.architecture)
    text += std::string("/") + d.architecture;
  text += std::string(" ") + name(p.matrix_format) + wrapped(p.view.transposed, p.conjugated);
  if (*p.view.method)
    text += std::string(" ") + p.view.method;
  if (p.where.backend == backend::cpu)
    text += ", " + std::to_string(p.view.threads) + (p.view.threads == 1 ? " thread" : " threads");
  return text;
}

/// The same for a format that has no kernel on the host.
inline std::string path_through_csr(kernel_plan const& p) {
  return std::string(name(p.where.backend)) + ", " + name(p.matrix_format) + " through csr" +
         wrapped(p.view.transposed, p.conjugated);
}

/// A csr that is made of the operand for one call.
inline any_matrix csr_of(where const& w, matrix_ref const& m) {
  tell_converted(m.format);
  return convert(m, format::csr, w.as_cpu());
}

/// All indices of a are read.
inline void tell_compared(char const* op, format f) noexcept {
  tell(event::pattern_compared,
       "%s: the plan met arrays of a %s that it did not know, and reads all indices", op, name(f));
}

[[noreturn]] inline void fail_other_pattern(char const* op, format f) {
  fail(errc::bad_structure,
       "%s: the plan is for another pattern: this %s has other indices than the one it was made "
       "for; see plan.rebind()",
       op, name(f));
}

/// On a device comparing indices would have to wait.
inline void check_place(char const* op, kernel_plan const& p, matrix_ref const& m) {
  if (formats::place_of(m) != p.known.mark)
    fail(errc::bad_structure,
         "%s: the plan is for a %s whose indices are elsewhere on the device; see plan.rebind()",
         op, name(m.format));
}

} // namespace tulle::detail
