// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B on a device: check, make a csr of what is not, multiply there.
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm_semiring_device.hpp"

#include "backend/device_result.hpp"

#include <chrono>

namespace tulle {

/// What a backend keeps of a product.
struct spgemm_plan<device_matrix, void, void>::state {
  device where;
  product_kernel const* kernel = nullptr;
  product_facts facts;
  void* kept = nullptr; // the backend's own
  std::vector<detail::device_block> blocks;
  matrix_ref a, b; // without views
  std::uint64_t place_a = 0, place_b = 0;

  state() = default;
  state(state const&) = delete;
  state& operator=(state const&) = delete;
  ~state() {
    if (kept)
      kernel->drop(kept);
  }
};

namespace {

void check_operand(char const* which, matrix_ref const& m, device const& where) {
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "spgemm: %s: %s is not built for %s", which, name(m.format),
         name(m.type));
  if (m.space != space_of(where))
    fail(errc::unsupported, "spgemm: %s is in %s memory, the policy is %s; see upload()", which,
         name(m.space), name(where.backend));
  dispatch::check_present("spgemm", m);
}

product_kernel const& check_product(device const& where, device_ref const& a, device_ref const& b) {
  check_operand("A", a.matrix, where);
  check_operand("B", b.matrix, where);
  if (a.matrix.type != b.matrix.type)
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.matrix.type),
         name(b.matrix.type));
  if (a.matrix.cols != b.matrix.rows)
    fail(errc::shape_mismatch, "spgemm: A is %zu x %zu but B is %zu x %zu", a.matrix.rows,
         a.matrix.cols, b.matrix.rows, b.matrix.cols);
  backend_table const& there = device_table(where.backend);
  product_kernel const* const kernel =
      there.spgemm ? there.spgemm(static_cast<int>(a.matrix.type)) : nullptr;
  if (!kernel)
    fail(errc::unsupported, "spgemm: %s has no kernel for %s", name(where.backend),
         name(a.matrix.type));
  return *kernel;
}

/// A third operand, in the place of C.
void check_third(device const& where, char const* which, matrix_ref const& m, matrix_ref const& a,
                 matrix_ref const& b) {
  check_operand(which, m, where);
  if (m.type != a.type)
    fail(errc::unsupported, "spgemm: %s is of %s and A of %s", which, name(m.type), name(a.type));
  if (m.rows != a.rows || m.cols != b.cols)
    fail(errc::shape_mismatch, "spgemm: %s is %zu x %zu but A B is %zu x %zu", which, m.rows,
         m.cols, a.rows, b.cols);
}

device_matrix multiply(device const& where, product_kernel const& kernel, device_ref const& a,
                       device_ref const& b, product_request request, device const& keep_where,
                       std::vector<detail::device_block>& blocks, product_facts& facts,
                       void*& kept) {
  request.device = where.number;
  request.queue = where.queue;
  request.workspace_limit = where.workspace_limit;
  detail::taken keep{blocks, keep_where};
  return detail::device_maker::make(
      "spgemm", format::csr, a.matrix.type, where, [&](result_memory const& to, void* c) {
        outcome const came_to = kernel.multiply(a.matrix.view, b.matrix.view, request, to,
                                                keep.result(), facts, kept, c);
        if (keep.failure && came_to.code != outcome::fine) // a map is not needed
          std::rethrow_exception(keep.failure);
        return came_to;
      });
}

/// A matrix that is a csr, or the csr that is made of it.
struct as_csr {
  device_matrix made;
  device_ref ref;
  as_csr(device_ref const& a, device const& where) : ref(a) {
    if (a.matrix.format == format::csr)
      return;
    made = convert(a, format::csr, where);
    ref = made.ref();
  }
};

device_matrix multiply_once(device const& where, product_kernel const& kernel, device_ref const& a,
                            device_ref const& b, product_request const& request,
                            product_facts& facts) {
  as_csr const of_a(a, where), of_b(b, where);
  std::vector<detail::device_block> blocks;
  // What is needed meanwhile is of the stream's pool, which gives it back in the stream's order.
  device keep_where = where;
  keep_where.memory = nullptr;
  void* kept = nullptr;
  return multiply(where, kernel, of_a.ref, of_b.ref, request, keep_where, blocks, facts, kept);
}
device_matrix multiply_once(device const& where, product_kernel const& kernel, device_ref const& a,
                            device_ref const& b, product_request const& request) {
  product_facts facts;
  return multiply_once(where, kernel, a, b, request, facts);
}

} // namespace

device_matrix spgemm(device const& where, device_ref const& a, device_ref const& b,
                     spgemm_options o) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.method = o.method;
  return multiply_once(where, kernel, a, b, request);
}

device_matrix spgemm(device const& where, std::complex<double> alpha, device_ref const& a,
                     device_ref const& b, std::complex<double> beta, device_ref const& d,
                     spgemm_options o) {
  auto const& kernel = check_product(where, a, b);
  bool const are_real =
      visit(a.matrix.type, []<class T>(T) { return std::is_floating_point_v<typename T::value>; });
  if (are_real && (alpha.imag() != 0 || beta.imag() != 0))
    fail(errc::unsupported, "spgemm: a factor is complex, the values are %s", name(a.matrix.type));
  check_third(where, "D", d.matrix, a.matrix, b.matrix);
  as_csr const of_d(d, where);
  product_request request;
  request.method = o.method;
  request.added = of_d.ref.matrix.view;
  request.alpha = alpha;
  request.beta = beta;
  return multiply_once(where, kernel, a, b, request);
}

device_matrix detail::spgemm_semiring(device const& where, device_mask const* mask, semiring_kind s,
                                      device_ref const& a, device_ref const& b) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.semiring = s;
  if (!mask)
    return multiply_once(where, kernel, a, b, request);
  check_third(where, "the mask", mask->base.matrix, a.matrix, b.matrix);
  as_csr const of_mask(mask->base, where);
  request.mask = of_mask.ref.matrix.view;
  request.complement = mask->complement;
  return multiply_once(where, kernel, a, b, request);
}

product_forecast spgemm_forecast(device const& where, device_ref const& a, device_ref const& b) {
  auto const& kernel = check_product(where, a, b);
  product_request request;
  request.counts_only = true;
  product_facts facts;
  multiply_once(where, kernel, a, b, request, facts);
  std::size_t const rows = a.matrix.rows;
  product_forecast f;
  f.products = static_cast<std::size_t>(facts.products);
  f.most_entries = static_cast<std::size_t>(facts.most_entries);
  f.entries = f.entries_low = f.entries_high = static_cast<double>(facts.entries);
  f.sampled_rows = rows;
  f.is_exact = true;
  f.result_bytes = visit(a.matrix.type, [&](auto types) {
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

spgemm_plan<device_matrix, void, void>::spgemm_plan(device const& where, device_ref const& a,
                                                    device_ref const& b, spgemm_options o)
    : state_(std::make_shared<state>()) {
  auto const start = std::chrono::steady_clock::now();
  state& s = *state_;
  s.where = where;
  s.kernel = &check_product(where, a, b);
  if (a.matrix.format != format::csr || b.matrix.format != format::csr)
    fail(errc::unsupported, "spgemm: a plan is for csr, A is a %s and B a %s; see convert()",
         name(a.matrix.format), name(b.matrix.format));
  s.a = a.matrix;
  s.b = b.matrix;
  s.place_a = dispatch::place_of(a.matrix);
  s.place_b = dispatch::place_of(b.matrix);
  product_request request;
  request.method = o.method;
  request.is_kept = true;
  result_ = multiply(s.where, *s.kernel, a, b, request, s.where, s.blocks, s.facts, s.kept);
  if (void const* const needed = s.kernel->needed(s.kept))
    std::erase_if(s.blocks,
                  [&](detail::device_block const& block) { return block.data() != needed; });
  device_properties there;
  check(device_table(where.backend).describe(where.number, there), "spgemm");
  path_ = std::string(name(where.backend)) + "/" + there.architecture + " csr, rows: " +
          s.facts.how;
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t spgemm_plan<device_matrix, void, void>::bytes() const noexcept {
  return state_ ? state_->facts.bytes : 0;
}

device_matrix const& spgemm_plan<device_matrix, void, void>::run(device_ref const& a,
                                                                 device_ref const& b) {
  if (!state_)
    fail(errc::bad_structure, "spgemm: the plan was moved from");
  detail::plan_turn const turn(*this, "spgemm");
  state const& s = *state_;
  check_product(s.where, a, b);
  auto const same = [](matrix_ref const& m, matrix_ref const& planned) {
    return m.format == planned.format && m.type == planned.type && m.rows == planned.rows &&
           m.cols == planned.cols && m.nnz == planned.nnz;
  };
  if (!same(a.matrix, s.a) || !same(b.matrix, s.b))
    fail(errc::shape_mismatch,
         "spgemm: the plan is for %zu x %zu with %zu entries times %zu x %zu with %zu, A is %zu x "
         "%zu with %zu and B %zu x %zu with %zu",
         s.a.rows, s.a.cols, s.a.nnz, s.b.rows, s.b.cols, s.b.nnz, a.matrix.rows, a.matrix.cols,
         a.matrix.nnz, b.matrix.rows, b.matrix.cols, b.matrix.nnz);
  // Comparing indices would have to wait for the device.
  bool const has_a = dispatch::place_of(a.matrix) == s.place_a;
  if (!has_a || dispatch::place_of(b.matrix) != s.place_b)
    fail(errc::bad_structure,
         "spgemm: the plan is for %s whose indices are elsewhere on the device",
         has_a ? "a B" : "an A");
  check(s.kernel->fill(a.matrix.view, b.matrix.view, s.kept, result_.ref().matrix.view),
        "spgemm");
  return result_;
}

} // namespace tulle
