// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/own-data.md.
#include <array>
#include <complex>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  int const rows = 2, cols = 3;
  std::vector<int> row_ptr{0, 2, 3}, col{0, 2, 1};
  std::vector<double> val{1, 2, 3};
  std::vector<double> x{1, 10, 100}, y(2);

  // [borrow]
  tulle::csr_view const a(rows, cols, row_ptr, col, val); // types deduced
  tulle::csr_view const b(rows, cols, row_ptr.data(), col.data(), val.data());
  tulle::csr_view const c(rows, cols, 3, row_ptr.data(), col.data(), val.data()); // nnz given
  // [/borrow]
  tulle::spmv(1.0, c, x, 0.0, y);
  std::printf("%g %g, %d %d\n", y[0], y[1], a.nnz, b.nnz);

  std::vector<int> const ptr1{1, 3, 4}, col1{1, 3, 2};
  // [copy]
  auto const d = tulle::csr_from(rows, cols, ptr1, col1, val, {.base = 1}); // as Fortran counts
  auto const e = tulle::csr_from<float>(rows, cols, row_ptr, col, val);     // values converted
  auto const f = tulle::csr_from<double, std::int64_t>(rows, cols, row_ptr, col, val);
  // [/copy]
  std::printf("%g %g %g\n", d.val[2], e.val[2], f.val[2]);

  // [fem]
  tulle::element_list<double> list;
  for (int k = 0; k < 3; ++k) {
    std::array<int, 2> const nodes{k, k + 1};
    std::array<double, 4> const stiffness{1, -1, -1, 1};
    list.add(nodes, stiffness); // copied
  }
  tulle::csr<double> const k = tulle::assemble(4, 4, list);
  // [/fem]
  std::printf("%zu\n", k.val.size());

  // [complex]
  using complex = std::complex<double>;
  std::vector<complex> const values{{1, 1}, {2, 0}, {0, 3}};
  tulle::csr_view const h(rows, cols, row_ptr, col, values);
  std::vector<complex> u(2, complex(1)), v(3);
  tulle::spmv(complex(1), tulle::adjoint(h), u, complex(0), v); // v = A^H u
  // [/complex]
  std::printf("%g %g\n", v[0].real(), v[0].imag());
}
