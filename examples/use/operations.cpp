// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/operations.md.
#include <array>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> a = tulle::generate("diffusion2d5:30");
  tulle::csr<double> const b = tulle::transpose(a);
  std::vector<double> x(a.cols, 1.0), y(a.rows), d(a.rows);

  // [spmv]
  tulle::spmv(2.0, a, x, 1.0, y);                           // y += 2 A x
  tulle::spmv(1.0, tulle::transposed(a), x, 0.0, y);        // y = A^T x
  tulle::spmv(1.0, tulle::scaled(a, 0.5), x, 0.0, y);       // y = (A / 2) x
  tulle::spmv(tulle::cpu{.threads = 4}, 1.0, a, x, 0.0, y); // on four threads at most
  // [/spmv]

  // [spmspv]
  tulle::sparse_vector<double> const few(a.cols, {3, 500}, {1.0, 2.0});
  auto const columns = tulle::csc<double>::from_csr(a.view()); // once
  auto const hit = tulle::spmspv(columns, few);                // a sparse_vector: index, val
  std::vector<double> const seen(a.rows, 0.0);
  auto const next_front = tulle::spmspv(tulle::mask(seen, {.complement = true}), tulle::or_and(),
                                        columns, few); // one step of a search
  // [/spmspv]

  // [spmm]
  std::size_t const k = 8;
  std::vector<double> many(a.cols * k, 1.0), out(a.rows * k);
  tulle::spmm(1.0, a, tulle::row_major(many.data(), a.cols, k), 0.0,
              tulle::row_major(out.data(), a.rows, k));
  tulle::spmm(1.0, tulle::row_major(many.data(), k, a.rows), a, 0.0,
              tulle::row_major(out.data(), k, a.cols)); // dense times sparse
  // [/spmm]

  // [sddmm]
  auto const left = tulle::row_major(many.data(), a.rows, k);  // n x k
  auto const right = tulle::col_major(many.data(), k, a.cols); // k x n
  auto sampled = tulle::sddmm(1.0, left, right, a);            // the product at the places of A
  tulle::sddmm(1.0, left, right, 0.5, sampled);                // plus half of what is there
  auto const weighted = tulle::sddmm(1.0, left, right, a, {.times_values = true});
  // [/sddmm]

  // [sparse]
  auto const c = tulle::spgemm(a, b);        // A B
  auto const s = tulle::add(1.0, a, 2.0, b); // A + 2 B
  auto const t = tulle::transpose(a);
  auto const h = tulle::multiply_elements(a, b); // A .* B
  // [/sparse]

  // [entries]
  for (int i = 0; i < c.rows; ++i)
    for (int k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k)
      d[i] += c.val[k]; // C(i, c.col[k])
  // [/entries]

  // [parts]
  auto const l = tulle::tril(a);        // on and below the diagonal; tril(a, -1): below
  auto const u = tulle::triu(a, 1);     // above
  auto const diag = tulle::diagonal(a); // a tulle::array<double>
  auto const m = tulle::from_diagonal(diag);
  auto const large =
      tulle::select(a, [](auto i, auto j, auto v) { return i != j && (v > 1 || v < -1); });
  // [/parts]

  // [submatrix]
  auto const block = tulle::submatrix(a, {0, 10}, {5, 20}); // rows 0 to 9, columns 5 to 19
  std::vector<int> const chosen{7, 3, 3};
  auto const some = tulle::submatrix(a, chosen, tulle::all_indices); // rows 7, 3 and 3
  std::vector<int> reverse(a.rows);
  for (int i = 0; i < a.rows; ++i)
    reverse[i] = a.rows - 1 - i;
  auto const turned = tulle::permute(a, reverse, reverse);
  // [/submatrix]

  // [stack]
  auto const wide = tulle::hstack(a, b);         // [A B]
  auto const tall = tulle::vstack(a, b);         // A over B
  auto const both = tulle::block_diagonal(a, b); // A and B along the diagonal
  auto const product = tulle::kron(block, some); // every entry of the block times `some`
  // [/stack]

  // [scale]
  tulle::csr<double> e = a;
  std::vector<double> const weights(e.rows, 0.5);
  tulle::scale(2.0, e);                                      // e *= 2
  tulle::scale_rows(weights, e);                             // e = D e; scale_columns(e, d): e D
  auto const de = tulle::scaled_rows(weights, a);            // D A as a new csr
  double const size = tulle::norm(a, tulle::norm_kind::inf); // one, frobenius, max
  // [/scale]

  // [triangles]
  std::vector<double> z(a.rows);
  tulle::trsv(1.0, a, x, z);                                       // L z = x, L the lower triangle
  tulle::trsv(1.0, a, z, z, {.triangle = tulle::triangle::upper}); // in place, by U
  tulle::trsv(1.0, tulle::transposed(a), x, z);                    // L^T z = x
  tulle::trsv(1.0, a, x, z, {.unit_diagonal = true});              // L with ones on the diagonal
  tulle::trsm(1.0, a, tulle::row_major(many.data(), a.rows, k),
              tulle::row_major(out.data(), a.rows, k));

  auto plan = tulle::trsv_plan(a, {.triangle = tulle::triangle::upper}); // once per pattern
  tulle::trsv(plan, 1.0, a, x, z);
  // [/triangles]

  // [vectors]
  double const xy = tulle::dot(x, y); // complex: dotc(x, y) conjugates x
  tulle::axpy(2.0, x, y);             // y += 2 x
  double const n = tulle::norm2(y);   // norm1, norm_inf
  // [/vectors]

  // [assemble]
  std::vector<int> const row{0, 0, 1, 0}, col{0, 1, 1, 0};
  std::vector<double> const val{1, 2, 3, 4};
  auto const from = tulle::from_triplets<double>(2, 2, row, col, val); // 1 and 4 are added up

  std::array<int, 2> const places{0, 1}; // a small dense matrix per element
  std::array<double, 4> const stiffness{1, -1, -1, 1};
  tulle::element_list<double> elements;
  elements.add(places, stiffness);
  auto const k2 = tulle::assemble(2, 2, elements);
  // [/assemble]

  // [boundary]
  std::vector<int> const fixed{0, 29};
  std::vector<double> const values{1.0, 2.0};
  tulle::dirichlet(a, fixed, values, d); // so that A x = d has x[0] = 1 and x[29] = 2
  // [/boundary]

  // [semiring]
  std::vector<double> dist(a.cols, 1e300), next(a.rows);
  dist[0] = 0;
  tulle::spmv(tulle::min_plus(), a, dist, next); // one step of shortest paths
  auto const reach = tulle::spgemm(tulle::or_and(), a, a);
  auto const inside = tulle::spgemm(tulle::mask(a), tulle::plus_pair(), a, a); // at places of A
  // [/semiring]
  std::printf("%zu %zu %zu %zu %zu %zu %zu\n", c.val.size(), s.val.size(), t.val.size(),
              l.val.size() + u.val.size(), m.val.size(), from.val.size(), k2.val.size());
  bool const scaled = de.val.size() == e.val.size() && size > 0;
  std::printf(
      "%s %zu %zu\n",
      scaled && hit.index.size() == next_front.index.size() && turned.val.size() == t.val.size() &&
              wide.cols == tall.rows && both.rows == tall.rows && product.rows == 30 &&
              h.val.size() == t.val.size() && sampled.val[0] == 12 &&
              weighted.val.size() == sampled.val.size() && n > 0 && xy != 0 && large.rows == 900
          ? "fine"
          : "?",
      reach.val.size(), inside.val.size());
}
