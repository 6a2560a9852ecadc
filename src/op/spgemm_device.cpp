// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B on a device: check, make a csr of what is not, multiply there.
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm_aat.hpp"
#include "tulle/op/spgemm_forecast.hpp"
#include "tulle/op/spgemm_semiring.hpp"

#include "backend/device_result.hpp"
#include "op/spgemm_plan.hpp"
#include "op/transpose_device.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tulle {

namespace {

product_kernel const& check_product(device const& where, matrix_ref const& a, matrix_ref const& b) {
  detail::check_product_operands(a, b, where);
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "spgemm: A is %zu x %zu but B is %zu x %zu", a.rows, a.cols, b.rows,
         b.cols);
  backend_table const& there = device_table(where.backend);
  product_kernel const* const kernel =
      there.spgemm ? there.spgemm(static_cast<int>(a.type)) : nullptr;
  if (!kernel)
    fail(errc::unsupported, "spgemm: %s has no kernel for %s", name(where.backend), name(a.type));
  return *kernel;
}

/// A third operand, in the place of C.
void check_third(device const& where, char const* which, matrix_ref const& m, matrix_ref const& a,
                 matrix_ref const& b) {
  detail::check_product_operand(which, m, where);
  if (m.type != a.type)
    fail(errc::unsupported, "spgemm: %s is of %s and A of %s", which, name(m.type), name(a.type));
  if (m.rows != a.rows || m.cols != b.cols)
    fail(errc::shape_mismatch, "spgemm: %s is %zu x %zu but A B is %zu x %zu", which, m.rows,
         m.cols, a.rows, b.cols);
}

device_matrix multiply(device const& where, product_kernel const& kernel, matrix_ref const& a,
                       matrix_ref const& b, product_request request, device const& keep_where,
                       std::vector<detail::device_block>& blocks, product_facts& facts,
                       void*& kept) {
  request.device = where.number;
  request.queue = where.queue;
  request.workspace_limit = where.workspace_limit;
  detail::taken keep{blocks, keep_where};
  return detail::device_maker::make(
      "spgemm", format::csr, a.type, where, [&](result_memory const& to, void* c) {
        outcome const came_to =
            kernel.multiply(a.view, b.view, request, to, keep.result(), facts, kept, c);
        if (keep.failure && came_to.code != outcome::fine) // a map is not needed
          std::rethrow_exception(keep.failure);
        return came_to;
      });
}

/// A matrix that is a csr, or the csr that is made of it.
struct as_csr {
  device_matrix made;
  matrix_ref ref;
  as_csr(matrix_ref const& a, device const& where) : ref(a) {
    if (a.format == format::csr)
      return;
    made = convert(device_ref(a, where), format::csr, where);
    ref = made.ref().matrix;
  }
};

device_matrix multiply_once(device const& where, product_kernel const& kernel, matrix_ref const& a,
                            matrix_ref const& b, product_request const& request,
                            product_facts& facts) {
  as_csr const of_a(a, where), of_b(b, where);
  std::vector<detail::device_block> blocks;
  // What is needed meanwhile is of the stream's pool, which gives it back in the stream's order.
  device keep_where = where;
  keep_where.memory = nullptr;
  void* kept = nullptr;
  return multiply(where, kernel, of_a.ref, of_b.ref, request, keep_where, blocks, facts, kept);
}
device_matrix multiply_once(device const& where, product_kernel const& kernel, matrix_ref const& a,
                            matrix_ref const& b, product_request const& request) {
  product_facts facts;
  return multiply_once(where, kernel, a, b, request, facts);
}

} // namespace

namespace detail {

device_matrix spgemm(device const& where, matrix_ref const& a, matrix_ref const& b,
                     spgemm_options o) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.method = o.method;
  return multiply_once(where, kernel, a, b, request);
}

device_matrix spgemm(device const& where, std::complex<double> alpha, matrix_ref const& a,
                     matrix_ref const& b, std::complex<double> beta, matrix_ref const& d,
                     spgemm_options o) {
  auto const& kernel = check_product(where, a, b);
  bool const are_real =
      visit(a.type, []<class T>(T) { return std::is_floating_point_v<typename T::value>; });
  if (are_real && (alpha.imag() != 0 || beta.imag() != 0))
    fail(errc::unsupported, "spgemm: a factor is complex, the values are %s", name(a.type));
  check_third(where, "D", d, a, b);
  as_csr const of_d(d, where);
  product_request request;
  request.method = o.method;
  request.added = of_d.ref.view;
  request.alpha = alpha;
  request.beta = beta;
  return multiply_once(where, kernel, a, b, request);
}

device_matrix spgemm_semiring(device const& where, device_mask const* mask, semiring_kind s,
                              matrix_ref const& a, matrix_ref const& b) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.semiring = s;
  if (!mask)
    return multiply_once(where, kernel, a, b, request);
  check_third(where, "the mask", mask->base.matrix, a, b);
  as_csr const of_mask(mask->base.matrix, where);
  request.mask = of_mask.ref.view;
  request.complement = mask->complement;
  return multiply_once(where, kernel, a, b, request);
}

product_forecast spgemm_forecast(device const& where, matrix_ref const& a, matrix_ref const& b) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.counts_only = true;
  product_facts facts;
  multiply_once(where, kernel, a, b, request, facts);
  std::size_t const rows = a.rows;
  product_forecast f;
  f.products = static_cast<std::size_t>(facts.products);
  f.most_entries = static_cast<std::size_t>(facts.most_entries);
  f.entries = f.entries_low = f.entries_high = static_cast<double>(facts.entries);
  f.sampled_rows = rows;
  f.is_exact = true;
  f.result_bytes = visit(a.type, [&](auto types) {
    using T = decltype(types);
    return facts.entries * (sizeof(typename T::value) + sizeof(typename T::index)) +
           (rows + 1) * sizeof(typename T::offset);
  });
  f.workspace_bytes = facts.bytes;
  f.peak_bytes = f.result_bytes + f.workspace_bytes;
  f.path = facts.how;
  f.seconds = facts.seconds;
  return f;
}

device_matrix spgemm_aat(device const& where, matrix_ref const& a, aat_options o) {
  check_product_operands(a, a, where);
  if (o.upper_only && o.method == spgemm_method::global_esc)
    fail(errc::unsupported, "spgemm_aat: global_esc has no halves; the other methods do");
  as_csr const of_a(a, where);
  device_matrix const by_columns = convert(device_ref(of_a.ref, where), format::csc, where);
  return with_transpose(by_columns, [&](matrix_ref const& other) {
    auto const& kernel = check_product(where, of_a.ref, other);
    product_request request;
    request.method = o.method;
    request.upper_only = o.upper_only;
    return multiply_once(where, kernel, of_a.ref, other, request);
  });
}

namespace {

/// A plan of matrices on a device.
class device_product final : public spgemm_plan::state {
public:
  device_product(tulle::where const& w, matrix_ref const& a, matrix_ref const& b, spgemm_options o)
      : state(w, o), kernel_(check_product(w.as_device(), a, b)), a_(a), b_(b),
        place_a_(formats::place_of(a)), place_b_(formats::place_of(b)) {
    device const on = w.as_device();
    product_request request;
    request.method = o.method;
    request.is_kept = true;
    there = multiply(on, kernel_, a, b, request, on, blocks_, facts_, kept_.value);
    kept_.kernel = &kernel_;
    if (void const* const needed = kernel_.needed(kept_.value))
      std::erase_if(blocks_, [&](device_block const& block) { return block.data() != needed; });
    device_properties here;
    tulle::check(device_table(on.backend).describe(on.number, here), "spgemm");
    path = std::string(name(on.backend)) + "/" + here.architecture + " csr, rows: " + facts_.how;
  }

  std::size_t bytes() const noexcept override { return facts_.bytes; }

  void check(matrix_ref const& a, matrix_ref const& b) override {
    check_product(where.as_device(), a, b);
    auto const same = [](matrix_ref const& m, matrix_ref const& planned) {
      return m.format == planned.format && m.type == planned.type && m.rows == planned.rows &&
             m.cols == planned.cols && m.nnz == planned.nnz;
    };
    if (!same(a, a_) || !same(b, b_))
      fail(
          errc::shape_mismatch,
          "spgemm: the plan is for %zu x %zu with %zu entries times %zu x %zu with %zu, A is %zu x "
          "%zu with %zu and B %zu x %zu with %zu",
          a_.rows, a_.cols, a_.nnz, b_.rows, b_.cols, b_.nnz, a.rows, a.cols, a.nnz, b.rows, b.cols,
          b.nnz);
    // Comparing indices would have to wait for the device.
    bool const has_a = formats::place_of(a) == place_a_;
    if (!has_a || formats::place_of(b) != place_b_)
      fail(
          errc::bad_structure,
          "spgemm: the plan is for %s whose indices are elsewhere on the device; see plan.rebind()",
          has_a ? "a B" : "an A");
  }

  void run(matrix_ref const& a, matrix_ref const& b) override {
    check(a, b);
    tulle::check(kernel_.fill(a.view, b.view, kept_.value, there.ref().matrix.view), "spgemm");
  }

private:
  /// What the backend keeps of a product.
  struct keeper {
    product_kernel const* kernel = nullptr;
    void* value = nullptr;
    keeper() = default;
    keeper(keeper const&) = delete;
    keeper& operator=(keeper const&) = delete;
    ~keeper() {
      if (value)
        kernel->drop(value);
    }
  };

  product_kernel const& kernel_;
  product_facts facts_;
  std::vector<device_block> blocks_;
  keeper kept_;
  matrix_ref a_, b_; // whose views are not looked at
  std::uint64_t place_a_, place_b_;
};

} // namespace

std::unique_ptr<spgemm_plan::state> product_on_device(where const& w, matrix_ref const& a,
                                                      matrix_ref const& b, spgemm_options o) {
  return std::make_unique<device_product>(w, a, b, o);
}

} // namespace detail
} // namespace tulle
