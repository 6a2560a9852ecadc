// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/dynamic.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  std::vector<double> x(1000, 1.0), y(1000);

  // [insert]
  tulle::dynamic_csr<double> a(1000, 1000);
  std::vector<int> const row{0, 0, 7}, col{1, 2, 7};
  std::vector<double> const val{1, 2, 3};
  a.insert(row, col, val);        // A(row[k], col[k]) += val[k], all of them or none
  a.insert(0, 1, 10.0);           // one entry
  tulle::spmv(1.0, a, x, 0.0, y); // no conversion first
  // [/insert]
  std::printf("%g %g\n", y[0], y[7]);

  // [from]
  tulle::csr<double> graph = tulle::generate("rmat:10:8");
  auto b = tulle::dynamic_csr<double>::from_csr(graph);         // copies
  auto c = tulle::dynamic_csr<double>::adopt(std::move(graph)); // takes the arrays
  // [/from]

  tulle::csr<double> const other = tulle::generate("permutation:1000");
  // [change]
  a.assign(0, 1, 5.0);  // = 5
  a.erase(0, 2);        // a missing entry is ignored
  a.scale_rows(7, 2.0); // row 7 times 2
  a.merge(other);       // A += B
  a.resize(1200, 1000); // 200 more rows, empty
  // [/change]
  std::printf("%g %g\n", a.at(0, 1), a.at(0, 2));

  // [read]
  tulle::csr<double> const whole = a.to_csr(); // rows sorted, duplicates added up
  auto const then = a.snapshot();              // the matrix as it is now
  a.insert(3, 3, 1.0);                         // does not show in the snapshot
  auto const compact = a.freeze();
  auto const view = compact.as_csr(); // a csr_view of its arrays, not a copy
  // [/read]
  std::printf("%zu %zu %d\n", whole.val.size(), then.entries(), view.rows);

  // [file]
  a.save("grown.tulle");
  auto const same = tulle::dynamic_csr<double>::load("grown.tulle");
  // [/file]
  std::printf("%zu\n", same.shape().entries);
  std::printf("%zu %zu\n", b.shape().entries, c.shape().entries);
}
