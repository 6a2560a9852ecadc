// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/from-scipy.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::write_matrix_market("a.npz", tulle::generate("rmat:8:8")); // told by content, not by name

  // [load]
  // A = scipy.sparse.load_npz("a.npz").tocsr()
  tulle::csr<double> const a = tulle::read_matrix<double>("a.npz");
  // [/load]

  // [use]
  std::vector<double> x(a.cols, 1.0), y(a.rows), z(a.cols);
  tulle::spmv(1.0, a, x, 0.0, y);                    // y = A @ x
  tulle::spmv(1.0, tulle::transposed(a), y, 0.0, z); // z = A.T @ y
  auto const c = tulle::spgemm(a, a);                // C = A @ A
  auto const s = tulle::add(1.0, a, -1.0, c);        // S = A - C
  auto const d = tulle::diagonal(a);                 // A.diagonal()
  auto const l = tulle::tril(a, -1);                 // scipy.sparse.tril(A, k=-1)
  // [/use]

  // [coo]
  // coo_array((val, (row, col)), shape=(3, 3)).tocsr()
  std::vector<int> row{0, 2, 0}, col{1, 2, 1};
  std::vector<double> val{1, 2, 3};
  auto const from = tulle::from_triplets<double>(3, 3, row, col, val); // duplicates add up
  // [/coo]
  std::printf("%s %zu\n",
              s.val.size() >= c.val.size() && d.size() == 256 && l.rows == 256 ? "fine" : "?",
              from.val.size());
}
