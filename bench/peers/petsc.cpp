// SPDX-License-Identifier: Apache-2.0

// PETSc's sequential matrices: AIJ over the arrays as they are, SELL and AIJPERM made from it. One
// thread: PETSc divides work among processes.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <petscmat.h>

namespace tulle::bench {
namespace {

static_assert(sizeof(PetscInt) == 4 && sizeof(PetscScalar) == 8);

void check(PetscErrorCode status, char const* what) {
  if (status != 0)
    fail(errc::backend, "petsc: %s: status %d", what, static_cast<int>(status));
}

// MPI comes with PETSc. It shall run alone: no daemon, no network, no files, no signal handlers,
// no patches of mmap in a process that is not its own. Variables that are set are kept.
void make_mpi_modest() {
  constexpr char const* settings[][2] = {
      {"OMPI_MCA_ess_singleton_isolated", "1"},
      {"OMPI_MCA_orte_create_session_dirs", "0"},
      {"OMPI_MCA_pml", "ob1"},
      {"OMPI_MCA_btl", "self"},
      {"OMPI_MCA_osc", "^ucx"},
      {"OMPI_MCA_mtl", "^ofi"},
      {"OMPI_MCA_memory", "^patcher"},
      {"OMPI_MCA_opal_signal", ""},
      {"OMPI_MCA_mca_base_component_show_load_errors", "0"},
  };
  for (auto const& [name, value] : settings)
    setenv(name, value, 0);
  // Remarks about networks that are not there.
  int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0)
    setenv("OPAL_OUTPUT_STDERR_FD", std::to_string(nowhere).c_str(), 0);
  // Open MPI looks for its plugins where it was built to be, also when it lies elsewhere.
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(&MPI_Init), &where) != 0) {
    std::string const library = where.dli_fname; // <prefix>/lib/<architecture>/libmpi.so.40
    std::size_t const end = library.rfind("/usr/lib/");
    if (end != std::string::npos && end != 0) {
      std::string const prefix = library.substr(0, end) + "/usr";
      setenv("OPAL_PREFIX", prefix.c_str(), 0);
      setenv("PMIX_INSTALL_PREFIX", prefix.c_str(), 0);
    }
  }
}

// Started once, ended when the process ends.
struct session {
  session() {
    make_mpi_modest();
    setenv("PETSC_OPTIONS", "-no_signal_handler", 0);
    check(PetscInitializeNoArguments(), "PetscInitialize");
    // An error is a return value; the default prints a page.
    check(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), "PetscPushErrorHandler");
  }
  ~session() { PetscFinalize(); }
};

std::string version() {
  return "PETSc " + std::to_string(PETSC_VERSION_MAJOR) + "." +
         std::to_string(PETSC_VERSION_MINOR) + "." + std::to_string(PETSC_VERSION_SUBMINOR);
}

using matrix = std::shared_ptr<std::remove_pointer_t<Mat>>;
using vector = std::shared_ptr<std::remove_pointer_t<Vec>>;

matrix keep(Mat m) {
  return matrix(m, [](Mat q) { MatDestroy(&q); });
}

vector borrow(double const* data, PetscInt size) {
  Vec v = nullptr;
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, size, data, &v), "VecCreateSeqWithArray");
  return vector(v, [](Vec q) { VecDestroy(&q); });
}

// Of SELL: slices of 8 rows, as many entries as it says, padding included.
std::size_t sell_bytes(Mat m, PetscInt rows) {
  MatInfo info;
  check(MatGetInfo(m, MAT_LOCAL, &info), "MatGetInfo");
  return static_cast<std::size_t>(info.nz_allocated) * (sizeof(PetscScalar) + sizeof(PetscInt)) +
         (static_cast<std::size_t>(rows) / 8 + 2) * sizeof(PetscInt);
}

contestant multiplier(spmv_problem<double, std::int32_t> const& p, matrix const& aij,
                      char const* format, MatType type) {
  contestant c;
  c.peer = "petsc";
  c.format = format;
  c.path = version() + ", " + type + ", 1 thread";
  c.threads = 1;
  matrix m = aij;
  if (std::string(type) != MATSEQAIJ)
    c.convert_seconds = seconds_of([&] {
      Mat made = nullptr;
      check(MatConvert(aij.get(), type, MAT_INITIAL_MATRIX, &made), "MatConvert");
      m = keep(made);
    });
  c.bytes = c.format == "sell" ? sell_bytes(m.get(), p.a.rows) : detail::bytes_of(p.a);
  c.peak_bytes = c.bytes;
  vector const x = borrow(p.x, p.a.cols);
  vector const y = borrow(keep_result(c, p), p.a.rows);
  c.run = [m, x, y] { check(MatMult(m.get(), x.get(), y.get()), "MatMult"); };
  return c;
}

} // namespace

std::vector<contestant> contestants(spmv_problem<double, std::int32_t> const& p) {
  if (p.a.nnz == 0)
    return {};
  static session const once;
  Mat made = nullptr;
  check(MatCreateSeqAIJWithArrays(
            PETSC_COMM_SELF, p.a.rows, p.a.cols, const_cast<PetscInt*>(p.a.row_ptr),
            const_cast<PetscInt*>(p.a.col), const_cast<double*>(p.a.val), &made),
        "MatCreateSeqAIJWithArrays");
  matrix const aij = keep(made);
  return {multiplier(p, aij, "aij", MATSEQAIJ), multiplier(p, aij, "sell", MATSEQSELL),
          multiplier(p, aij, "perm", MATSEQAIJPERM)};
}

} // namespace tulle::bench

TULLE_PEER
