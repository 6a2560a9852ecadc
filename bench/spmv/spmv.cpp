// SPDX-License-Identifier: Apache-2.0
#include "bench/spmv/spmv.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "apps/support/matrix.hpp"
#include "apps/support/progress.hpp"
#include "bench/measure.hpp"
#include "bench/peers/peer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace tulle::bench {
namespace {

bool wanted(std::vector<std::string> const& list, std::string const& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](auto const& w) { return w == "all" || w == name; });
}

/// Whether y is A x, row by row: |y_i - s_i| <= (n_i + 2) eps sum |a_ij x_j| for s in extended
/// precision.
template <class V, class I>
bool verify(csr_view<V, I, I> a, V const* x, V const* y) {
  auto const rows = static_cast<std::size_t>(a.rows);
  int const parts = detail::parts_for(static_cast<std::size_t>(a.nnz), 0);
  std::vector<char> good(static_cast<std::size_t>(parts), 1);
  detail::parallel(parts, [&](int part) {
    for (std::size_t i = detail::split(rows, part, parts); i < detail::split(rows, part + 1, parts);
         ++i) {
      long double sum = 0;
      long double size = 0;
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        long double const product = static_cast<long double>(a.val[k]) * x[a.col[k]];
        sum += product;
        size += std::fabs(product);
      }
      long double const allowed = static_cast<long double>(a.row_ptr[i + 1] - a.row_ptr[i] + 2) *
                                  std::numeric_limits<V>::epsilon() * size;
      if (!(std::fabs(static_cast<long double>(y[i]) - sum) <= allowed))
        good[static_cast<std::size_t>(part)] = 0;
    }
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

template <class V, class I>
contestant make_tulle(spmv_problem<V, I> const& p, format f) {
  struct entry {
    csr_view<V, I, I> hub; // csr itself is used as it is, without a copy
    any_matrix converted;
    matrix_ref matrix;
    std::unique_ptr<spmv_plan> plan;
  };
  cpu const where{.threads = p.threads};
  auto const e = std::make_shared<entry>();
  contestant c;
  c.format = name(f);
  c.convert_seconds = seconds_of([&] {
    e->hub = p.a;
    if (f != format::csr)
      e->converted = convert(matrix_ref(p.a), f, where);
    e->matrix = f == format::csr ? matrix_ref(e->hub) : e->converted.ref();
    e->plan = std::make_unique<spmv_plan>(where, e->matrix);
  });
  c.path = e->plan->path();
  c.bytes = f == format::csr ? detail::bytes_of(p.a) : e->converted.bytes();
  c.peak_bytes = c.bytes + e->plan->bytes();
  c.multiply = [p, e](void* out) {
    vector_view<V const> const x(p.x, static_cast<std::size_t>(p.a.cols));
    vector_view<V> const y(static_cast<V*>(out), static_cast<std::size_t>(p.a.rows));
    tulle::spmv(*e->plan, V(1), e->matrix, x, V(0), y);
  };
  return c;
}

template <class V, class I>
std::vector<record> run(std::string const& matrix, options const& o) {
  int const threads = o.threads > 0 ? o.threads : default_threads();
  cpu const where{.threads = threads};
  app::loaded const source = app::load(matrix, {.type = type_of<V, I, I>::value, .where = where});
  csr<V, I, I> const& a = *source.matrix.get_if<csr<V, I, I>>();
  app::progress progress(matrix);
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const cols = static_cast<std::size_t>(a.cols);
  std::size_t const nnz = a.val.size();
  array<V> x(cols);
  array<V> y(rows);
  for (std::size_t j = 0; j < cols; ++j)
    x[j] = static_cast<V>(1 +
                          static_cast<double>(j * 7 % 13) / 16); // exact, positive: no cancellation
  std::fill(y.begin(), y.end(), V(0));
  spmv_problem<V, I> const p{a.view(), x.data(), threads};

  std::vector<contestant> contestants;
  for (format const f : all_formats)
    if (wanted(o.formats, name(f))) {
      progress.label(matrix + ": converting to " + name(f));
      contestants.push_back(make_tulle(p, f));
    }
  if (!contestants.empty() || wanted(o.peers, "openmp")) {
#define TULLE_PEER(name)                                                                           \
  if (has(isa::avx2) && wanted(o.peers, #name))                                                    \
    contestants.push_back(make_##name(p));
#include "bench/peers_found.def"
#undef TULLE_PEER
  }

  std::vector<bool> verified;
  for (auto const& c : contestants) {
    progress.label(matrix + ": verifying " + (c.peer.empty() ? c.format : c.peer));
    std::fill(y.begin(), y.end(), std::numeric_limits<V>::quiet_NaN());
    c.multiply(y.data());
    verified.push_back(verify(p.a, x.data(), y.data()));
  }

  progress.label(matrix + ": measuring");
  std::vector<stretch> const memory{{a.val.data(), a.val.bytes()},
                                    {a.col.data(), a.col.bytes()},
                                    {a.row_ptr.data(), a.row_ptr.bytes()},
                                    {x.data(), x.bytes()},
                                    {y.data(), y.bytes()}};
  std::vector<std::function<void()>> calls{[&] { stream(memory, threads); }};
  for (auto const& c : contestants)
    calls.push_back([&c, &y] { c.multiply(y.data()); });
  auto const times = measure(calls, {.seconds = o.quick ? 0.1 : 0.5, .cold = o.cold});

  double const csr_bytes = static_cast<double>(nnz * (sizeof(V) + sizeof(I)) +
                                               (rows + 1) * sizeof(I) + (rows + cols) * sizeof(V));
  std::vector<record> records;
  for (std::size_t c = 0; c < contestants.size(); ++c) {
    contestant const& who = contestants[c];
    timing const& t = times[c + 1];
    record r;
    r.matrix = matrix;
    r.rows = rows;
    r.cols = cols;
    r.nnz = nnz;
    r.op = "spmv";
    r.backend = who.backend;
    r.format = who.format;
    r.path = who.path;
    r.value = o.value;
    r.index = o.index;
    r.threads = threads;
    r.seconds = t.median;
    r.fastest = t.fastest;
    r.spread = t.spread;
    r.gflops = 2e-9 * static_cast<double>(nnz) / t.median;
    r.gbytes_per_s =
        1e-9 * (static_cast<double>(who.bytes) + static_cast<double>((rows + cols) * sizeof(V))) /
        t.median;
    r.bound_gbytes_per_s = 1e-9 * csr_bytes / times[0].median;
    r.csr_bound_ratio = times[0].median / t.median;
    r.convert_seconds = who.convert_seconds;
    r.convert_calls = who.convert_seconds / t.median;
    r.bytes = who.bytes;
    r.peak_bytes = who.peak_bytes;
    r.verified = verified[c];
    r.peer = who.peer;
    records.push_back(r);
  }
  return records;
}

} // namespace

std::vector<record> spmv(std::string const& matrix, options const& o) {
  bool const narrow = o.index == "i32";
  if (o.value == "f32")
    return narrow ? run<float, std::int32_t>(matrix, o) : run<float, std::int64_t>(matrix, o);
  return narrow ? run<double, std::int32_t>(matrix, o) : run<double, std::int64_t>(matrix, o);
}

} // namespace tulle::bench
