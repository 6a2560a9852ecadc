// SPDX-License-Identifier: Apache-2.0
// Complex numbers: <A x, y> is <x, A^H y>, and indices from another library count from 1.
// prints: \(7,-13\) is \(7,-13\)
#include <complex>
#include <iostream>
#include <tulle/interop/arrays.hpp>
#include <tulle/tulle.hpp>
#include <vector>

using complex = std::complex<double>;

int main() {
  std::vector<long long> const row_ptr{1, 3, 4}, col{1, 2, 2};
  std::vector<complex> const val{{1, 2}, {0, 1}, {3, -1}};
  auto const a = tulle::csr_from<complex>(2, 2, row_ptr, col, val, {.base = 1});
  std::vector<complex> const x{{1, 1}, {2, 0}}, y{{0, 1}, {1, 2}};
  std::vector<complex> ax(2), ay(2);
  tulle::spmv(complex(1), a, x, complex(0), ax);
  tulle::spmv(complex(1), tulle::adjoint(a), y, complex(0), ay);
  std::cout << tulle::dotc(y, ax) << " is " << tulle::dotc(ay, x) << "\n";
}
