// SPDX-License-Identifier: Apache-2.0

/// The layout that suits a matrix, by what it looks like.
///
///     auto best = tulle::optimize(a, {.calls = 500});       // picked and converted
///     tulle::spmv(1.0, best, x, 0.0, y);
///     std::puts(best.why().c_str());                        // what was considered, and why not
///
/// A few stretches of rows are read (see choose/features.hpp), and a model fitted to measured times
/// foretells the product in each layout. A candidate costs its conversion once and a product in
/// each call. The choice takes about a quarter of a millisecond; only layouts of one triangle,
/// which are considered where the matrix does not fit the caches, are looked at longer. It depends
/// on the matrix and the options alone, so the same matrix gets the same layout in every run. A
/// workspace_limit bounds all bytes alive at once, the result's included, as in convert(); layouts
/// that would exceed it are left out.
#pragma once
#include "tulle/op/convert.hpp"
#include "tulle/view/transposed.hpp"

#include <string>
#include <vector>

namespace tulle {

struct optimize_options {
  double calls = 1000; ///< number of products that will follow
  /// The candidates. Empty: every core format with default options, dia with shared stretches, and
  /// dia and bcsr with one triangle.
  std::vector<layout> among{};
  /// refill() will follow: excludes layouts that rely on equal values, which are dia with shared
  /// stretches and all that store one triangle.
  bool values_change = false;
};

/// One layout that was considered. Costs are in products of csr.
struct candidate {
  tulle::layout layout;
  double bytes = 0;   ///< of the whole matrix: the chosen one's, or estimated; 0 if not looked at
  double call = 0;    ///< one product
  double convert = 0; ///< conversion, once
  double total = 0;   ///< for all calls
  std::string remark; ///< why it was left out
};

/// A matrix in the chosen layout, with all candidates that were considered.
class optimized : public any_matrix {
public:
  optimized(any_matrix matrix, std::vector<candidate> considered)
      : any_matrix(std::move(matrix)), considered_(std::move(considered)) {}
  /// The chosen one first, then the others from best to worst, then those left out.
  std::vector<candidate> const& considered() const noexcept { return considered_; }
  /// One line per candidate.
  std::string why() const;

private:
  std::vector<candidate> considered_;
};

/// What optimize() would pick, with the bytes of all candidates, for which samples of rows are
/// converted: this takes hundreds of products.
std::vector<candidate> recommend(matrix_ref a, optimize_options const& o = {},
                                 cpu const& where = {});
/// a in the best layout. Offsets wider than the indices become as narrow, if they fit.
optimized optimize(matrix_ref a, optimize_options const& o = {}, cpu const& where = {});

namespace detail {
template <matrix A, class F>
decltype(auto) with_ref(A const& a, F&& f) {
  auto const view = view_of(a);
  if constexpr (std::is_same_v<decltype(view), matrix_ref const>)
    return f(view);
  else
    return f(matrix_ref(view));
}
} // namespace detail

/// Of an owner, a view or any_matrix.
template <matrix A>
std::vector<candidate> recommend(A const& a, optimize_options const& o = {},
                                 cpu const& where = {}) {
  return detail::with_ref(a, [&](matrix_ref m) { return recommend(m, o, where); });
}
template <matrix A>
optimized optimize(A const& a, optimize_options const& o = {}, cpu const& where = {}) {
  return detail::with_ref(a, [&](matrix_ref m) { return optimize(m, o, where); });
}

} // namespace tulle
