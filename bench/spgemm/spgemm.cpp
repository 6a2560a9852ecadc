// SPDX-License-Identifier: Apache-2.0
#include "bench/spgemm/spgemm.hpp"

#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spgemm_forecast.hpp"

#include "bench/backend.hpp"
#include "bench/contest.hpp"
#include "bench/cuda_pool.hpp"
#include "bench/device.hpp"
#include "bench/peer_modules.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"
#include "bench/source.hpp"
#include "bench/transposed.hpp"
#include "bench/vectors.hpp"

namespace tulle::bench {
namespace {

/// y = A x in double, and the size of what was added.
template <class V, class I>
void multiply(csr_view<V, I, I> a, array<double> const& x, array<double>& y) {
  auto const rows = static_cast<std::size_t>(a.rows);
  int const parts = tulle::parts_for(static_cast<std::size_t>(a.nnz), 0);
  tulle::parallel(parts, [&](int part) {
    for (std::size_t i = tulle::split(rows, part, parts), end = tulle::split(rows, part + 1, parts);
         i < end; ++i) {
      double sum = 0;
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        sum += static_cast<double>(a.val[k]) * x[static_cast<std::size_t>(a.col[k])];
      y[i] = sum;
    }
  });
}

template <class V, class I>
csr<V, I, I> absolute(csr_view<V, I, I> a) {
  csr<V, I, I> b(unchecked, a.rows, a.cols,
                 array<I>(a.row_ptr, static_cast<std::size_t>(a.rows) + 1),
                 array<I>(a.col, static_cast<std::size_t>(a.nnz)),
                 array<V>(a.val, static_cast<std::size_t>(a.nnz)));
  for (V& v : b.val)
    v = std::fabs(v);
  return b;
}

/// Whether C v = A (B v) row by row, for a v that no two columns share: Freivalds' check, at the
/// cost of three products with a vector. C's arrays are validated; what it cannot see is an
/// explicit zero too many.
template <class V, class I>
class product_check {
public:
  explicit product_check(spgemm_problem<V, I> const& p) : p_(p), v_(narrow(p.b.cols)) {
    for (std::size_t j = 0; j < v_.size(); ++j)
      v_[j] = 1 + static_cast<double>(j * 2654435761u % 4093) / 4096;
    array<double> bv(narrow(p.b.rows));
    expected_ = size_ = array<double>(narrow(p.a.rows));
    multiply(p.b, v_, bv);
    multiply(p.a, bv, expected_);
    auto const absolute_b = absolute(p.b);
    auto const absolute_a = absolute(p.a);
    multiply(absolute_b.view(), v_, bv);
    multiply(absolute_a.view(), bv, size_);
  }
  bool holds(csr<V, I, I> const& c) const {
    if (c.rows != p_.a.rows || c.cols != p_.b.cols)
      return false;
    c.validate();
    array<double> y(narrow(c.rows));
    multiply(c.view(), v_, y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double const terms = static_cast<double>(c.row_ptr[i + 1] - c.row_ptr[i] +
                                               p_.a.row_ptr[i + 1] - p_.a.row_ptr[i]);
      if (!(std::fabs(y[i] - expected_[i]) <=
            (terms + 8) * std::numeric_limits<V>::epsilon() * size_[i]))
        return false;
    }
    return true;
  }

private:
  static std::size_t narrow(I n) { return static_cast<std::size_t>(n); }
  spgemm_problem<V, I> p_;
  array<double> v_, expected_, size_;
};

template <class V, class I>
contestant make_tulle(spgemm_problem<V, I> const& p, spgemm_options const& how) {
  cpu const where{.threads = p.threads};
  contestant c;
  if (how.method != spgemm_method::automatic)
    c.format = std::string("csr by ") + name(how.method);
  auto const kept = keep_matrix<V, I>(c);
  c.run = [p, where, kept, how] {
    *kept = {}; // its memory first, as in a loop of a user's
    *kept = tulle::spgemm(where, p.a, p.b, how);
  };
  {
    spgemm_plan const plan(where, p.a, p.b, how);
    c.path = plan.path();
    c.bytes = plan.result<csr<V, I, I>>().bytes();
    c.peak_bytes = plan.bytes();
    if (how.method == spgemm_method::automatic) // with the rows that a call keeps
      c.peak_bytes = spgemm_forecast(where, p.a, p.b).workspace_bytes;
  }
  return c;
}

/// Into a matrix that may grow on.
template <class V, class I>
contestant make_dynamic(spgemm_problem<V, I> const& p) {
  using matrix = dynamic_csr<V, I>;
  dynamic_options o;
  o.where.threads = p.threads;
  auto const kept = std::make_shared<matrix>(p.a.rows, p.b.cols, o);
  contestant c;
  c.format = "dynamic_csr";
  c.path = "add_product";
  c.run = [p, o, kept] {
    *kept = matrix(p.a.rows, p.b.cols, o);
    kept->add_product(p.a, p.b);
  };
  c.run();
  c.bytes = kept->shape().bytes;
  c.result = [kept](void* to) { *static_cast<csr<V, I, I>*>(to) = kept->to_csr(); };
  return c;
}

template <class V, class I>
contestant make_planned(spgemm_problem<V, I> const& p) {
  contestant c;
  std::shared_ptr<spgemm_plan> plan;
  c.convert_seconds = seconds_of(
      [&] { plan = std::make_shared<spgemm_plan>(cpu{.threads = p.threads}, p.a, p.b); });
  c.format = "csr planned";
  c.path = plan->path();
  c.bytes = plan->result<csr<V, I, I>>().bytes();
  c.peak_bytes = plan->bytes();
  c.run = [p, plan] { tulle::spgemm(*plan, p.a, p.b); };
  c.result = [plan](void* to) { *static_cast<csr<V, I, I>*>(to) = plan->result<csr<V, I, I>>(); };
  return c;
}

/// On a device, into fresh memory: what the product before had is given back, and the driver has it
/// again, before the clock starts.
template <class V, class I>
contestant make_there(std::shared_ptr<device_matrix> const& a,
                      std::shared_ptr<device_matrix> const& b, int threads,
                      std::shared_ptr<stopwatch> const& watch, bool keeps_memory,
                      spgemm_options const& how) {
  auto const kept = std::make_shared<kept_matrix>(a->where());
  contestant c;
  c.backend = name(a->where().backend);
  c.watch = watch;
  if (how.method != spgemm_method::automatic)
    c.format = std::string("csr by ") + name(how.method);
  if (keeps_memory)
    c.format = "csr kept";
  device const where = keeps_memory ? with_memory(a->where(), *kept->memory) : a->where();
  c.run = [a, b, kept, where, how] {
    kept->matrix = device_matrix();
    kept->matrix = tulle::spgemm(where, *a, *b, how);
  };
  if (!keeps_memory)
    c.timed_run = [kept, where, watch, run = c.run] {
      kept->matrix = device_matrix();
      synchronize(where);
      watch->start();
      run();
      return watch->stop();
    };
  {
    // Which has no map where the method is told; tiny is automatic else.
    spgemm_options told = how;
    if (told.method == spgemm_method::automatic)
      told.method = spgemm_method::tiny;
    spgemm_plan const plan(*a, *b, told);
    c.path = plan.path();
    c.bytes = plan.result<device_matrix>().bytes();
  }
  if (auto const peak =
          peak_of(where, [&] { device_matrix const made = tulle::spgemm(*a, *b, how); }))
    c.peak_bytes = *peak - c.bytes;
  c.result = [kept, threads](void* to) {
    any_matrix back = download(kept->matrix, {.threads = threads});
    *static_cast<csr<V, I, I>*>(to) = std::move(*back.get_if<csr<V, I, I>>());
    kept->matrix = device_matrix(); // others need the memory
  };
  return c;
}

template <class V, class I, space S>
contestant make_dynamic_there(std::shared_ptr<device_matrix> const& a,
                              std::shared_ptr<device_matrix> const& b,
                              std::shared_ptr<stopwatch> const& watch) {
  using matrix = device_dynamic_csr<V, I, S>;
  auto const left = a->template view<typename matrix::csr_there>();
  auto const right = b->template view<typename matrix::csr_there>();
  std::shared_ptr<std::pmr::memory_resource> const memory = kept_memory(a->where());
  device_dynamic_options o;
  o.where = with_memory(a->where(), *memory);
  auto const kept = std::make_shared<std::unique_ptr<matrix>>();
  contestant c;
  c.backend = name(a->where().backend);
  c.format = "dynamic_csr kept";
  c.path = "add_product";
  c.watch = watch;
  c.run = [a, b, left, right, o, memory, kept] {
    kept->reset();
    *kept = std::make_unique<matrix>(left.rows, right.cols, o);
    (*kept)->add_product(left, right);
  };
  c.run();
  c.bytes = (*kept)->shape().bytes;
  c.result = [kept](void* to) {
    *static_cast<csr<V, I, I>*>(to) = (*kept)->to_csr();
    kept->reset(); // others need the memory
  };
  return c;
}

template <class V, class I>
contestant make_planned_there(std::shared_ptr<device_matrix> const& a,
                              std::shared_ptr<device_matrix> const& b, int threads,
                              std::shared_ptr<stopwatch> const& watch) {
  contestant c;
  std::shared_ptr<spgemm_plan> plan;
  c.convert_seconds = seconds_of([&] {
    plan = std::make_shared<spgemm_plan>(*a, *b);
    synchronize(a->where());
  });
  c.backend = name(a->where().backend);
  c.format = "csr planned";
  c.watch = watch;
  c.path = plan->path();
  c.bytes = plan->result<device_matrix>().bytes();
  c.peak_bytes = plan->bytes();
  c.run = [a, b, plan] { tulle::spgemm(*plan, *a, *b); };
  c.result = [plan, threads](void* to) {
    any_matrix back = download(plan->result<device_matrix>(), {.threads = threads});
    *static_cast<csr<V, I, I>*>(to) = std::move(*back.get_if<csr<V, I, I>>());
  };
  return c;
}

template <class V, class I>
std::vector<record> run_spgemm(std::string const& matrix, csr<V, I, I> const& a, options const& o,
                               std::vector<std::string>& remarks) {
  bool const is_aat = o.product == "aat";
  if (!is_aat && a.rows != a.cols) {
    remarks.push_back(matrix + " is not square and has no product with itself");
    return {};
  }
  csr<V, I, I> const other = is_aat ? transposed(a.view()) : csr<V, I, I>();
  spgemm_problem<V, I> const p{a.view(), is_aat ? other.view() : a.view(), threads_of(o)};
  contest c;
  c.about = about(is_aat ? matrix + " A A^T" : matrix, a, "spgemm", o);
  for (std::size_t k = 0; k < a.col.size(); ++k) {
    auto const j = static_cast<std::size_t>(a.col[k]);
    c.flops += 2 * static_cast<double>(p.b.row_ptr[j + 1] - p.b.row_ptr[j]);
  }
  product_check<V, I> const check(p);
  c.verify = [&](contestant const& who) {
    csr<V, I, I> product;
    who.result(&product);
    return check.holds(product);
  };
  // Each keeps a result, and one more is looked at.
  std::size_t const bytes =
      o.backend == "cpu" ? 2 * spgemm_forecast(cpu{.threads = p.threads}, p.a, p.b).result_bytes
                         : 0;
  auto const enter = [&](char const* called, auto make) {
    c.entrants.push_back({std::string("tulle ") + called, bytes,
                          [make] { return std::vector<contestant>{make()}; }});
  };
  if (o.backend == "cpu" && is_wanted(o.formats, "csr")) {
    enter("csr", [p] { return make_tulle(p, {}); });
    enter("csr planned", [p] { return make_planned(p); });
    for (std::size_t m = 1; m < spgemm_method_count; ++m)
      if (auto const method = static_cast<spgemm_method>(m); is_wanted(o.methods, name(method)))
        enter(name(method), [p, method] { return make_tulle(p, {.method = method}); });
  }
  if (o.backend == "cpu" && is_wanted(o.formats, "dynamic_csr"))
    enter("dynamic_csr", [p] { return make_dynamic(p); });
  if (o.backend != "cpu" && is_wanted(o.formats, "csr")) {
    if (auto const where = device_for(o, remarks)) {
      auto const watch = event_watch(*where);
      auto const there_a = std::make_shared<device_matrix>(upload(a, *where));
      auto const there_b =
          is_aat ? std::make_shared<device_matrix>(upload(other, *where)) : there_a;
      for (bool const keeps_memory : {false, true})
        c.contestants.push_back(
            make_there<V, I>(there_a, there_b, p.threads, watch, keeps_memory, {}));
      c.contestants.push_back(make_planned_there<V, I>(there_a, there_b, p.threads, watch));
      for (std::size_t m = 1; m < spgemm_method_count; ++m)
        if (auto const method = static_cast<spgemm_method>(m); is_wanted(o.methods, name(method)))
          c.contestants.push_back(
              make_there<V, I>(there_a, there_b, p.threads, watch, false, {.method = method}));
      auto const make_dynamic_one = [=, there = where->backend] {
        return with_space(there, [&]<space S>() {
          return std::vector<contestant>{make_dynamic_there<V, I, S>(there_a, there_b, watch)};
        });
      };
      if (is_wanted(o.formats, "dynamic_csr"))
        c.entrants.push_back({"tulle dynamic_csr kept", 0, make_dynamic_one});
    }
  }
  any_problem const asked{over_types<spgemm_problem>(p), o.backend};
  constexpr std::size_t results_of_peer = 4; // oneMKL has three contestants
  for (entrant& peer : peer_entrants(o.peers, asked, results_of_peer * bytes))
    c.entrants.push_back(std::move(peer));
  return hold(c, o, remarks);
}

} // namespace

std::vector<record> spgemm(std::string const& matrix, options const& o,
                           std::vector<std::string>& remarks) {
  return with_matrix(matrix, o, [&](auto const& a) { return run_spgemm(matrix, a, o, remarks); });
}

} // namespace tulle::bench
