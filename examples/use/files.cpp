// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/files.md.
#include <cstdio>
#include <tulle/tulle.hpp>

int main() {
  tulle::write_matrix_market("a.mtx.gz", tulle::generate("rmat:8:8"));
  std::FILE* const f = std::fopen("g.txt", "w");
  std::fputs("3 2\n2 3\n1\n1\n", f);
  std::fclose(f);

  // [read]
  auto const a = tulle::read_matrix<double>("a.mtx.gz"); // kind told by content and name
  auto const b = tulle::read_matrix<double>("g.txt", {}, {.kind = tulle::file_kind::metis});
  // [/read]

  // [look]
  tulle::matrix_file file("a.mtx.gz");
  auto const& h = file.header();
  std::printf("%s: %lld rows, %lld columns, %lld entries, %s, %s\n", name(file.kind()),
              static_cast<long long>(h.rows), static_cast<long long>(h.cols),
              static_cast<long long>(h.entries), name(h.field), name(h.symmetry));
  auto const c = file.to_csr<float, std::int32_t, std::int64_t>();
  // [/look]

  // [write]
  tulle::write_matrix_market("b.mtx", b); // compressed if the name ends in .gz
  // [/write]
  std::printf("%zu %zu %zu\n", a.val.size(), b.val.size(), c.val.size());
}
