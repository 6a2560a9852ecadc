// SPDX-License-Identifier: Apache-2.0
#include "support/operations.hpp"

#include "tulle/tulle.hpp"

#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace tulle::test {
namespace {

using run = std::function<std::size_t(cpu const&, std::function<void()> const&)>;

/// What all of them work on.
struct operands {
  csr<double> a, mixed, twice, p;
  coo<double> as_coo;
  any_matrix any, any_mixed, any_coo;
  std::vector<double> x, y;
  std::vector<std::int32_t> row, col;
  std::vector<double> val;
  std::vector<element<double, std::int32_t>> elements;

  explicit operands(csr<double> const& from)
      : a(from), mixed(unsorted(a)), twice(duplicated(a)), as_coo(coo<double>::from_csr(a.view())),
        any(a), any_mixed(mixed), any_coo(as_coo), x(4 * static_cast<std::size_t>(a.cols), 1),
        y(4 * static_cast<std::size_t>(a.rows), 2) {
    std::vector<std::int32_t> ptr{0}, to;
    for (std::int32_t i = 0; i < a.rows; ++i) { // aggregates of neighbours
      to.push_back(i / 5);
      ptr.push_back(i + 1);
    }
    p = csr<double>(a.rows, a.rows / 5 + 1, array<std::int32_t>(ptr.data(), ptr.size()),
                    array<std::int32_t>(to.data(), to.size()), array<double>(to.size(), 1.0));
    std::size_t const n = as_coo.val.size();
    for (std::size_t k = 0; k < n; ++k) { // in no order
      std::size_t const q = k * 7919 % n;
      row.push_back(as_coo.row[q]);
      col.push_back(as_coo.col[q]);
      val.push_back(as_coo.val[q]);
    }
    for (std::size_t k = 0; k + 3 <= n / 3; k += 3)
      elements.push_back({{row.data() + k, 3}, {col.data() + k, 3}, {val.data(), 9}});
  }
  operands(operands const&) = delete;
};

/// A change of a dynamic matrix, which is as before where it fails.
template <class F>
run changes(std::shared_ptr<operands const> o, F change) {
  return [o, change](cpu const& w, std::function<void()> const& begin) -> std::size_t {
    auto m = dynamic_csr<double>::from_csr(o->a.view(), {.where = w});
    begin();
    try {
      change(m, *o);
    } catch (error const&) {
      failing_new::stop();
      if (m.shape().entries != o->a.val.size())
        throw std::logic_error("a change that failed has changed the matrix");
      throw;
    }
    return 0;
  };
}

} // namespace

std::vector<operation> every_operation(csr<double> const& from) {
  auto const o = std::make_shared<operands const>(from);
  std::vector<operation> all;
  auto const add_one = [&](std::string name, auto f) {
    all.push_back({std::move(name), [o, f](cpu const& w, std::function<void()> const& begin) {
                     begin();
                     return f(w, *o).bytes();
                   }});
  };
  auto const add_none = [&](std::string name, auto f) {
    all.push_back(
        {std::move(name), [o, f](cpu const& w, std::function<void()> const& begin) -> std::size_t {
           auto y = o->y;
           begin();
           f(w, *o, y);
           return 0;
         }});
  };
  auto const add_planned = [&](std::string name, auto f) {
    all.push_back(
        {std::move(name), [o, f](cpu const& w, std::function<void()> const& begin) -> std::size_t {
           begin();
           return f(w, *o);
         }});
  };

  for (std::size_t k = 0; k < spgemm_method_count; ++k) {
    auto const m = static_cast<spgemm_method>(k);
    add_one(std::string("spgemm ") + name(m),
            [m](cpu const& w, operands const& q) { return spgemm(w, q.a, q.a, {.method = m}); });
    add_one(std::string("spgemm of unsorted ") + name(m), [m](cpu const& w, operands const& q) {
      return spgemm(w, q.mixed, q.a, {.method = m});
    });
  }
  add_one("spgemm of duplicates",
          [](cpu const& w, operands const& q) { return spgemm(w, q.twice, q.mixed); });
  add_one("spgemm of coo",
          [](cpu const& w, operands const& q) { return spgemm(w, q.as_coo, q.as_coo); });
  add_one("spgemm of any_matrix",
          [](cpu const& w, operands const& q) { return spgemm(w, q.any_coo, q.any_coo); });
  add_one("spgemm of three",
          [](cpu const& w, operands const& q) { return spgemm(w, 2.0, q.a, q.mixed, 3.0, q.a); });
  add_planned("spgemm planned", [](cpu const& w, operands const& q) {
    spgemm_plan plan(w, q.a, q.a);
    return spgemm(plan, q.a, q.a).bytes();
  });
  add_one("spgemm over a semiring",
          [](cpu const& w, operands const& q) { return spgemm(w, min_plus(), q.a, q.a); });
  add_one("spgemm over a semiring, of unsorted",
          [](cpu const& w, operands const& q) { return spgemm(w, min_plus(), q.mixed, q.twice); });
  add_one("spgemm masked", [](cpu const& w, operands const& q) {
    return spgemm(w, mask(q.as_coo), plus_pair(), q.mixed, q.as_coo);
  });
  for (bool const half : {false, true}) {
    add_one(half ? "spgemm_aat, upper half" : "spgemm_aat",
            [half](cpu const& w, operands const& q) {
              return spgemm_aat(w, q.a, {.upper_only = half});
            });
    add_one(half ? "spgemm_aat of unsorted, upper half" : "spgemm_aat of unsorted",
            [half](cpu const& w, operands const& q) {
              return spgemm_aat(w, q.mixed, {.upper_only = half});
            });
  }
  add_planned("spgemm_forecast", [](cpu const& w, operands const& q) -> std::size_t {
    spgemm_forecast(w, q.mixed, q.a, 50);
    return 0;
  });
  for (galerkin_order const order : {galerkin_order::automatic, galerkin_order::ap_first}) {
    std::string const what =
        order == galerkin_order::automatic ? "galerkin" : "galerkin, A P first";
    add_one(what, [order](cpu const& w, operands const& q) {
      return galerkin(w, q.a, q.p, {.order = order});
    });
    add_one(what + ", of unsorted in blocks", [order](cpu const& w, operands const& q) {
      return galerkin(w, q.mixed, q.p, {.order = order, .blocks = 3});
    });
  }

  for (add_method const m : {add_method::automatic, add_method::spa, add_method::heap})
    add_one("add", [m](cpu const& w, operands const& q) {
      return add(w, 1.0, q.a, 2.0, q.a, {.method = m});
    });
  add_one("add of unsorted",
          [](cpu const& w, operands const& q) { return add(w, 1.0, q.mixed, 2.0, q.twice); });
  add_one("add of coo",
          [](cpu const& w, operands const& q) { return add(w, 1.0, q.as_coo, 2.0, q.a); });
  add_planned("add planned", [](cpu const& w, operands const& q) {
    add_plan plan(w, q.mixed, q.a);
    return add(plan, 1.0, q.mixed, 2.0, q.a).bytes();
  });
  add_one("multiply_elements",
          [](cpu const& w, operands const& q) { return multiply_elements(w, q.mixed, q.as_coo); });
  add_planned("multiply_elements planned", [](cpu const& w, operands const& q) {
    multiply_elements_plan plan(w, q.mixed, q.a);
    return multiply_elements(plan, q.mixed, q.a).bytes();
  });
  add_one("multiply_elements with a dense one", [](cpu const& w, operands const& q) {
    auto const n = static_cast<std::size_t>(q.a.rows);
    return multiply_elements(w, q.mixed, dense_view<double const>{q.x.data(), n, n, 1, 0});
  });
  add_one("submatrix", [](cpu const& w, operands const& q) {
    return submatrix(w, q.mixed, {1, q.a.rows}, {2, q.a.cols - 1});
  });
  add_one("permute", [to = std::make_shared<std::vector<std::int32_t>>(o->a.rows)](
                         cpu const& w, operands const& q) {
    for (std::size_t k = 0; k < to->size(); ++k)
      (*to)[k] = static_cast<std::int32_t>(to->size() - 1 - k);
    return permute(w, q.as_coo, *to, *to);
  });
  add_one("hstack", [](cpu const& w, operands const& q) { return hstack(w, q.mixed, q.as_coo); });
  add_one("vstack", [](cpu const& w, operands const& q) { return vstack(w, q.a, q.as_coo); });
  add_one("block_diagonal",
          [](cpu const& w, operands const& q) { return block_diagonal(w, q.a, q.twice); });
  add_one("kron", [](cpu const& w, operands const& q) {
    return kron(w, q.as_coo, csr<double>(2, 2, {0, 2, 3}, {1, 0, 1}, {1, 2, 3}));
  });
  add_one("spmspv", [](cpu const& w, operands const& q) {
    return spmspv(w, q.mixed, sparse_vector<double>(q.a.cols, {0, 5, 8}, {1, 2, 3}));
  });
  add_one("spmspv by columns", [](cpu const& w, operands const& q) {
    return spmspv(w, transposed(q.mixed), sparse_vector<double>(q.a.rows, {0, 5, 8}, {1, 2, 3}));
  });
  add_one("spmspv of coo", [](cpu const& w, operands const& q) {
    return spmspv(w, q.as_coo, sparse_vector<double>(q.a.cols, {0, 5, 8}, {1, 2, 3}));
  });
  add_one("transpose", [](cpu const& w, operands const& q) { return transpose(w, q.a); });
  add_one("transpose of coo",
          [](cpu const& w, operands const& q) { return transpose(w, q.as_coo); });
  add_one("transpose of any_matrix",
          [](cpu const& w, operands const& q) { return transpose(w, q.any_coo); });
  add_planned("transpose planned", [](cpu const& w, operands const& q) {
    transpose_plan plan(w, q.a);
    return transpose(plan, q.a).bytes();
  });

  add_one("scaled_rows", [](cpu const& w, operands const& q) {
    return scaled_rows(w, {q.x.data(), static_cast<std::size_t>(q.a.rows)}, q.as_coo);
  });
  add_none("spmm, dense times sparse", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const n = static_cast<std::size_t>(q.a.rows);
    spmm(w, 1.0, row_major(q.x.data(), 4, n), q.as_coo, 0.0, row_major(y.data(), 4, n));
  });
  add_none("spmm into a dense one", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const n = static_cast<std::size_t>(q.a.rows);
    csr<double> const few(4, q.a.rows, {0, 1, 1, 2, 3}, {0, 3, 1}, {1, 2, 3});
    spmm(w, 1.0, few, q.mixed, 0.0, row_major(y.data(), 4, n));
  });
  add_one("sddmm", [](cpu const& w, operands const& q) {
    auto const n = static_cast<std::size_t>(q.a.rows);
    return sddmm(w, 1.0, col_major(q.x.data(), n, 4), row_major(q.y.data(), 4, n), q.twice);
  });
  add_none("sddmm into duplicates",
           [to = std::make_shared<std::vector<double>>(o->twice.val.size())](
               cpu const& w, operands const& q, std::vector<double>&) {
             auto const n = static_cast<std::size_t>(q.a.rows);
             sddmm(w, 1.0, row_major(q.x.data(), n, 4), col_major(q.x.data(), 4, n), 0.0,
                   q.twice.view(), *to);
           });
  add_planned("norm", [](cpu const& w, operands const& q) -> std::size_t {
    for (auto const kind : {norm_kind::one, norm_kind::inf, norm_kind::frobenius})
      norm(w, q.twice, kind);
    return 0;
  });

  add_none("spmv", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmv(w, 1.0, q.a, vector_view<double const>(q.x.data(), rows), 0.0,
         vector_view<double>(y.data(), rows));
  });
  add_none("spmv by merge", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmv(w, 1.0, q.a, vector_view<double const>(q.x.data(), rows), 0.0,
         vector_view<double>(y.data(), rows), {.method = spmv_method::merge});
  });
  add_none("spmv of a transpose", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmv(w, 1.0, transposed(q.a), vector_view<double const>(q.x.data(), rows), 0.0,
         vector_view<double>(y.data(), rows));
  });
  add_none("spmm", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmm(w, 1.0, q.a, row_major(q.x.data(), rows, 4), 0.0, row_major(y.data(), rows, 4));
  });
  add_none("spmm of coo", [](cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmm(w, 1.0, q.as_coo, row_major(q.x.data(), rows, 4), 0.0, row_major(y.data(), rows, 4));
  });

  for (trsv_method const m :
       {trsv_method::automatic, trsv_method::serial, trsv_method::levels, trsv_method::sync_free}) {
    trsv_options const how{.unit_diagonal = true, .method = m};
    std::string const by = std::string(" ") + name(m);
    add_none("trsv" + by, [how](cpu const& w, operands const& q, std::vector<double>& y) {
      auto const rows = static_cast<std::size_t>(q.a.rows);
      trsv(w, 0.0625, q.a, vector_view<double const>(q.x.data(), rows),
           vector_view<double>(y.data(), rows), how);
    });
    add_none("trsm of unsorted" + by,
             [how](cpu const& w, operands const& q, std::vector<double>& y) {
               auto const rows = static_cast<std::size_t>(q.a.rows);
               trsm(w, 0.0625, transposed(q.mixed), row_major(q.x.data(), rows, 4),
                    row_major(y.data(), rows, 4), how);
             });
    add_planned("trsv of coo planned" + by, [how](cpu const& w, operands const& q) {
      trsv_plan const plan(w, q.as_coo, how);
      return plan.bytes();
    });
  }

  any_matrix const any(o->a);
  for (format const f : all_formats)
    for (layout const& l : layouts(f)) {
      any_matrix made;
      try {
        made = convert(any, l);
      } catch (error const&) { // one that does not take this matrix
        continue;
      }
      add_one("convert to " + name(l),
              [l, any](cpu const& w, operands const&) { return convert(any, l, w); });
      add_one("convert unsorted to " + name(l),
              [l](cpu const& w, operands const& q) { return convert(q.any_mixed, l, w); });
      add_one("convert from " + name(l),
              [made](cpu const& w, operands const&) { return convert(made, format::csr, w); });
      all.push_back({"refill of " + name(l),
                     [made, any](cpu const& w, std::function<void()> const& begin) -> std::size_t {
                       any_matrix to = made;
                       begin();
                       to.refill(any, w);
                       return 0;
                     }});
    }
  add_planned("recommend", [any](cpu const& w, operands const&) -> std::size_t {
    recommend(any.ref(), {}, w);
    return 0;
  });
  add_one("optimize", [any](cpu const& w, operands const&) { return optimize(any.ref(), {}, w); });

  add_one("from_triplets", [](cpu const& w, operands const& q) {
    return from_triplets<double>(q.a.rows, q.a.cols, q.row, q.col, q.val, combine::sum, w);
  });
  add_one("assemble", [](cpu const& w, operands const& q) {
    return assemble<double>(q.a.rows, q.a.cols, q.elements, combine::sum, w);
  });

  auto const add_dynamic = [&](std::string name, auto f) {
    all.push_back({"dynamic_csr: " + name, changes(o, f)});
  };
  using dynamic = dynamic_csr<double>;
  all.push_back({"dynamic_csr: from_coo",
                 [o](cpu const& w, std::function<void()> const& begin) -> std::size_t {
                   begin();
                   dynamic::from_coo(o->as_coo.view(), {.where = w});
                   return 0;
                 }});
  add_dynamic("insert", [](dynamic& m, operands const& q) { m.insert(q.row, q.col, q.val); });
  add_dynamic("insert a few", [](dynamic& m, operands const& q) {
    m.insert({q.row.data(), 5}, {q.col.data(), 5}, {q.val.data(), 5});
  });
  add_dynamic("assign", [](dynamic& m, operands const& q) { m.assign(q.row, q.col, q.val); });
  add_dynamic("erase", [](dynamic& m, operands const& q) { m.erase(q.row, q.col); });
  add_dynamic("scale_rows", [](dynamic& m, operands const& q) { m.scale_rows(q.row, q.val); });
  add_dynamic("merge", [](dynamic& m, operands const& q) { m.merge(q.mixed.view()); });
  add_dynamic("add_product",
              [](dynamic& m, operands const& q) { m.add_product(q.a.view(), q.mixed.view()); });
  add_dynamic("defragment", [](dynamic& m, operands const&) { m.defragment({.sort = true}); });
  add_dynamic("to_csr", [](dynamic& m, operands const&) { m.to_csr(); });
  add_dynamic("freeze", [](dynamic& m, operands const&) { m.freeze(); });
  add_dynamic("snapshot", [](dynamic& m, operands const&) { m.snapshot(); });
  add_none("spmv of dynamic_csr", [m = std::make_shared<dynamic>(dynamic::from_csr(o->a.view()))](
                                      cpu const& w, operands const& q, std::vector<double>& y) {
    auto const rows = static_cast<std::size_t>(q.a.rows);
    spmv(w, 1.0, *m, vector_view<double const>(q.x.data(), rows), 0.0,
         vector_view<double>(y.data(), rows));
  });
  // Members of formats, called without convert().
  auto const add_members = [&]<class F>(std::type_identity<F>) {
    std::shared_ptr<F const> m;
    try {
      m = std::make_shared<F const>(F::from_csr(o->a.view()));
    } catch (error const&) {
      return; // a format for other matrices
    }
    std::string const format = name(owner_traits<F>::format);
    add_one(format + "::from_csr of unsorted",
            [](cpu const& w, operands const& q) { return F::from_csr(q.mixed.view(), {}, w); });
    add_one(format + "::to_csr", [m](cpu const& w, operands const&) { return m->to_csr(w); });
    all.push_back({format + "::refill of unsorted",
                   [o, m](cpu const& w, std::function<void()> const& begin) -> std::size_t {
                     F changed = *m;
                     begin();
                     changed.refill(o->mixed.view(), w);
                     return 0;
                   }});
  };
  [&]<class... F>(std::type_identity<std::tuple<F...>>) {
    (add_members(std::type_identity<F>()), ...);
  }(std::type_identity<formats_over<double, std::int32_t, std::int32_t>::type>());
  return all;
}

} // namespace tulle::test
