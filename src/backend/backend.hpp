// SPDX-License-Identifier: Apache-2.0

// What a backend owes: memory, a queue, a timer, properties, and a table of kernels per operation.
// The reference, the instruction sets of the CPU and every device fill the same table. A device's
// table comes from a module, behind one C entry point; docs/hack/add-a-backend.md says how.
#pragma once
#include "tulle/core/space.hpp"
#include "tulle/core/value_kind.hpp"
#include "tulle/op/semiring.hpp"
#include "tulle/op/spgemm_method.hpp"
#include "tulle/view/dense.hpp"

#include "kernel/outcome.hpp"
#include "kernel/spmm.hpp"
#include "kernel/spmv.hpp"

#include <complex>
#include <cstddef>
#include <cstdint>

namespace tulle {

struct device_properties {
  char name[256];
  char architecture[32]; // as paths name it: "sm_90", "avx2"; empty: none to name
  int units;             // multiprocessors, compute units, cores
  std::size_t memory, free_memory, l2;
};

/// Where a call works, and in which order with others.
struct work_place {
  int device = -1;       // -1: the thread's current one, or the first
  void* queue = nullptr; // the device's own kind; nullptr: its default
  int threads = 0;       // on the host
};

/// Whose memory a result takes: take() gives nullptr where there is none, and the owner knows why.
struct result_memory {
  int device;
  void* queue;
  std::size_t workspace_limit; // of bytes beside the result, while it works
  void* owner;
  void* (*take)(void* owner, std::size_t bytes);
  void (*give_all)(void* owner); // what was taken so far
};

/// One cell of the table of conversions; they wait for the device where sizes depend on what is
/// there. Views are written whole, or not at all.
struct conversion {
  outcome (*from_csr)(void const* csr, void const* options, result_memory const& to, void* view);
  outcome (*to_csr)(void const* a, result_memory const& to, void* csr); // nullptr where none is
};

/// What is asked of a product C = A B of three csr.
struct product_request {
  int device = -1;
  void* queue = nullptr;
  std::size_t workspace_limit = SIZE_MAX;
  spgemm_method method = spgemm_method::automatic;
  semiring_kind semiring = semiring_kind::plus_times;
  void const* mask = nullptr; // a csr's view, or its complement's
  bool complement = false;
  void const* added = nullptr; // D of alpha A B + beta D, a csr's view
  std::complex<double> alpha = 1, beta = 0;
  bool upper_only = false;  // of C = A A^T, what lies on and above the diagonal
  bool counts_only = false; // C is not computed: its entries are wanted, no more
  bool is_kept = false;     // values will be computed again
};

/// What is known of a product once its entries are counted.
struct product_facts {
  unsigned long long products = 0;
  unsigned long long most_entries = 0; // of C, if no two products fall on one place but must
  unsigned long long entries = 0;      // of C, where only they were wanted
  std::size_t bytes = 0;               // kept
  double seconds = 0;                  // a guess
  char how[512] = "";                  // by which methods its rows are computed
};

/// One cell of the table of products.
struct product_kernel {
  /// C in memory of `to`, and what fill() needs beside it, in memory of `keep`; `kept` is the
  /// module's own, for drop(), and nullptr where it failed or nothing is to be kept. Waits for the
  /// device. The view is written whole, or not at all.
  outcome (*multiply)(void const* a, void const* b, product_request const& request,
                      result_memory const& to, result_memory const& keep, product_facts& facts,
                      void*& kept, void* c);
  /// C's values again, of operands with the patterns that `kept` is of.
  outcome (*fill)(void const* a, void const* b, void const* kept, void const* c);
  void (*drop)(void* kept);
  /// The one block of memory of `keep` that fill() needs; nullptr: all of them.
  void const* (*needed)(void const* kept);
};

/// Memory that a dynamic matrix takes and gives back.
struct growing_memory {
  void* owner;
  void* (*take)(void* owner, std::size_t bytes); // nullptr where there is none; the owner knows why
  void (*give)(void* owner, void* p);
};

struct dynamic_request {
  int device;
  void* queue;
  growing_memory memory;
  double factor; // of dynamic_slack
  std::size_t plus;
  bool mean;
  std::size_t width;
  int segments;
  bool combine; // duplicates at once
  bool combine_at_defragmenting;
  bool exact;                  // rows have their entries in the order they came
  bool maps;                   // the pool is mapped, and grows in its place
  std::size_t limit;           // places
  std::size_t workspace_limit; // bytes, of products of matrices
  long long rows, cols;
};

enum class dynamic_change : int { insert, assign, erase, scale };

/// Entries that are wherever the driver finds them.
struct dynamic_batch {
  dynamic_change kind;
  std::size_t n;
  void const* row;
  void const* col; // none where rows are scaled
  void const* val; // none where entries are erased
  bool on_host;
};

struct dynamic_facts {
  std::size_t entries, places, segments, bytes;
  bool compact;
};

/// One cell of the table of dynamic matrices. A matrix is the module's own; calls on one are one
/// after the other.
struct dynamic_kernel {
  /// Of a csr's view on the device; nullptr: without entries.
  outcome (*make)(dynamic_request const& o, void const* csr, void*& matrix);
  void (*drop)(void* matrix);
  outcome (*change)(void* matrix, dynamic_batch const& batch);
  outcome (*merge)(void* matrix, void const* csr);
  /// Of two csr's views.
  outcome (*add_product)(void* matrix, void const* b, void const* c, spgemm_method method);
  outcome (*defragment)(void* matrix, bool sort, bool combine);
  /// A csr's view of the matrix, which is compact then.
  outcome (*freeze)(void* matrix, void* csr);
  outcome (*multiply)(void* matrix, void* queue, void const* alpha, void const* x, void const* beta,
                      void* y);
  outcome (*multiply_dense)(void* matrix, void* queue, void const* alpha,
                            detail::dense_ref const& b, void const* beta,
                            detail::dense_ref const& c);
  outcome (*shape)(void* matrix, dynamic_facts& to);
};

/// All of a backend. Functions of kernels give nullptr where none is built; where a whole operation
/// is missing, the function itself is nullptr.
struct backend_table {
  char const* version; // backend_version of the build
  tulle::backend backend;

  outcome (*count)(int& devices);
  outcome (*describe)(int device, device_properties& to);

  outcome (*allocate)(work_place const& at, std::size_t bytes, void*& to);
  outcome (*deallocate)(work_place const& at, void* p);
  /// Between any two places that the backend reaches, the host's among them.
  outcome (*copy)(work_place const& at, void* to, void const* from, std::size_t bytes);
  outcome (*set)(work_place const& at, void* to, unsigned char byte, std::size_t bytes);
  outcome (*wait)(work_place const& at);

  /// The seconds between start and stop, when what was begun between them has ended.
  outcome (*timer_make)(int device, void*& timer);
  outcome (*timer_start)(void* timer, void* queue);
  outcome (*timer_stop)(void* timer, void* queue, double& seconds);
  outcome (*timer_drop)(void* timer);

  /// C = beta C, what is left of a product whose alpha is zero; beta == 0 does not read C.
  outcome (*scale)(work_place const& at, detail::value_kind kind, void const* beta,
                   detail::dense_ref const& c);
  /// to = conj(from), which may be one.
  outcome (*conjugate)(work_place const& at, detail::value_kind kind, detail::dense_ref const& from,
                       detail::dense_ref const& to);
  /// A column of n values from one stride to another.
  outcome (*copy_column)(work_place const& at, detail::value_kind kind, void* to,
                         std::size_t to_stride, void const* from, std::size_t from_stride,
                         std::size_t n);

  spmv_kernel const* (*spmv)(int format, int type);
  spmm_kernel const* (*spmm)(int format, int type);
  conversion const* (*convert)(int format, int type);
  product_kernel const* (*spgemm)(int type);
  dynamic_kernel const* (*dynamic)(int type);
};

/// Versions, formats and structs of both sides must be one build's.
#define TULLE_FORMAT(name, ...) #name " "
constexpr char const* backend_version = "12 "
#include "tulle/format/formats.def"
    ;
#undef TULLE_FORMAT

/// A module's only entry point.
using backend_entry = backend_table const* (*)();
constexpr char const* backend_entry_name = "tulle_backend";

} // namespace tulle
