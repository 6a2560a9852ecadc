// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B on a device: check, make a csr of what is not, multiply there.
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm_semiring_device.hpp"

#include "cuda/spgemm/product.hpp"
#include "dispatch/device_result.hpp"

#include <chrono>

namespace tulle {

/// What the module keeps of a product.
struct spgemm_plan<device_matrix, void, void>::state {
  cuda where;
  cuda_spgemm_kernel const* kernel = nullptr;
  cuda_product product;
  std::vector<detail::device_block> kept;
  matrix_ref a, b; // without views
  std::uint64_t place_a = 0, place_b = 0;
};

namespace {

void check_operand(char const* which, matrix_ref const& m) {
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "spgemm: %s: %s is not built for %s", which, name(m.format),
         name(m.type));
  if (m.space != space::device)
    fail(errc::unsupported, "spgemm: %s is not on a device; see upload()", which);
  dispatch::check_present("spgemm", m);
}

cuda_spgemm_kernel const& check_product(device_ref const& a, device_ref const& b) {
  check_operand("A", a.matrix);
  check_operand("B", b.matrix);
  if (a.matrix.type != b.matrix.type)
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.matrix.type),
         name(b.matrix.type));
  if (a.matrix.cols != b.matrix.rows)
    fail(errc::shape_mismatch, "spgemm: A is %zu x %zu but B is %zu x %zu", a.matrix.rows,
         a.matrix.cols, b.matrix.rows, b.matrix.cols);
  cuda_spgemm_kernel const* const kernel = loaded_cuda().spgemm(static_cast<int>(a.matrix.type));
  if (!kernel)
    fail(errc::unsupported, "spgemm: cuda has no kernel for %s", name(a.matrix.type));
  return *kernel;
}

/// A third operand, in the place of C.
void check_third(char const* which, matrix_ref const& m, matrix_ref const& a, matrix_ref const& b) {
  check_operand(which, m);
  if (m.type != a.type)
    fail(errc::unsupported, "spgemm: %s is of %s and A of %s", which, name(m.type), name(a.type));
  if (m.rows != a.rows || m.cols != b.cols)
    fail(errc::shape_mismatch, "spgemm: %s is %zu x %zu but A B is %zu x %zu", which, m.rows,
         m.cols, a.rows, b.cols);
}

device_matrix multiply(cuda const& where, cuda_spgemm_kernel const& kernel, device_ref const& a,
                       device_ref const& b, cuda const& keep_where,
                       std::vector<detail::device_block>& kept, cuda_product& product) {
  product.device = where.device;
  product.stream = where.stream;
  product.workspace_limit = where.workspace_limit;
  dispatch::taken keep{kept, keep_where};
  return dispatch::device_maker::make(
      "spgemm", format::csr, a.matrix.type, where, [&](cuda_result const& to, void* c) {
        cuda_status const status =
            kernel.multiply(a.matrix.view, b.matrix.view, to, keep.result(), product, c);
        if (keep.failure && status.code != cuda_status::fine) // a map is not needed
          std::rethrow_exception(keep.failure);
        return status;
      });
}

// ns of a product by the bin of its row: poisson2d5 1024 (tiny), fem 100000 (window), cage12 (few),
// mono_500Hz (sorted), hood and pwtk (long), rmat 17 (tiled) and the kernels for such rows of hood
// (scattered) on an H200, and those for heavy rows of rmat 12. Small is as tiny: not measured.
// Heads in a heap are only where they are asked for.
constexpr double ns_a_product[row_bins] = {0,    .015, .005, .015, .06, .06, .06,
                                           .037, .037, .022, .27,  .1,  0};

std::string summary(cuda_product const& p) {
  std::string text;
  for (int k = 0; k < row_bins; ++k)
    if (p.all.rows[k] != 0)
      text += (text.empty() ? "" : ", ") + std::to_string(p.all.rows[k]) + " " +
              name(static_cast<row_bin>(k), p.method);
  if (p.group_rows > 1)
    text += ", " + std::to_string(p.group_count) + " groups of window rows";
  if (p.bands > 1)
    text += ", bands of " + std::to_string(p.tiles) + " tiles for " + std::to_string(p.tile_rows) +
            " rows of B";
  if (p.method == spgemm_method::global_esc)
    text += ", counted so and filled by sorts of many rows";
  return text;
}

/// A matrix that is a csr, or the csr that is made of it.
struct as_csr {
  device_matrix made;
  device_ref ref;
  as_csr(device_ref const& a, cuda const& where) : ref(a) {
    if (a.matrix.format == format::csr)
      return;
    made = convert(a, format::csr, where);
    ref = made.ref();
  }
};

device_matrix multiply_once(cuda const& where, cuda_spgemm_kernel const& kernel,
                            device_ref const& a, device_ref const& b, cuda_product& product) {
  as_csr const of_a(a, where), of_b(b, where);
  std::vector<detail::device_block> kept;
  // What is needed meanwhile is of the stream's pool, which gives it back in the stream's order.
  cuda keep_where = where;
  keep_where.memory = nullptr;
  return multiply(where, kernel, of_a.ref, of_b.ref, keep_where, kept, product);
}

} // namespace

device_matrix spgemm(cuda const& where, device_ref const& a, device_ref const& b,
                     spgemm_options o) {
  auto const& kernel = check_product(a, b);
  cuda_product product;
  product.method = o.method;
  return multiply_once(where, kernel, a, b, product);
}

device_matrix spgemm(cuda const& where, std::complex<double> alpha, device_ref const& a,
                     device_ref const& b, std::complex<double> beta, device_ref const& d,
                     spgemm_options o) {
  auto const& kernel = check_product(a, b);
  bool const are_real =
      visit(a.matrix.type, []<class T>(T) { return std::is_floating_point_v<typename T::value>; });
  if (are_real && (alpha.imag() != 0 || beta.imag() != 0))
    fail(errc::unsupported, "spgemm: a factor is complex, the values are %s", name(a.matrix.type));
  check_third("D", d.matrix, a.matrix, b.matrix);
  as_csr const of_d(d, where);
  cuda_product product;
  product.method = o.method;
  product.added = of_d.ref.matrix.view;
  product.alpha = alpha;
  product.beta = beta;
  return multiply_once(where, kernel, a, b, product);
}

device_matrix detail::spgemm_semiring(cuda const& where, device_mask const* mask, semiring_kind s,
                                      device_ref const& a, device_ref const& b) {
  auto const& kernel = check_product(a, b);
  cuda_product product;
  product.semiring = s;
  if (!mask)
    return multiply_once(where, kernel, a, b, product);
  check_third("the mask", mask->base.matrix, a.matrix, b.matrix);
  as_csr const of_mask(mask->base, where);
  product.mask = of_mask.ref.matrix.view;
  product.complement = mask->complement;
  return multiply_once(where, kernel, a, b, product);
}

product_forecast spgemm_forecast(cuda const& where, device_ref const& a, device_ref const& b) {
  auto const& kernel = check_product(a, b);
  cuda_product product;
  product.counts_only = true;
  multiply_once(where, kernel, a, b, product);
  product_survey const& all = product.all;
  std::size_t const rows = a.matrix.rows;
  product_forecast f;
  f.products = static_cast<std::size_t>(all.products);
  f.most_entries = static_cast<std::size_t>(all.most_entries);
  f.entries = f.entries_low = f.entries_high = static_cast<double>(product.entries);
  f.sampled_rows = rows;
  f.is_exact = true;
  f.result_bytes = visit(a.matrix.type, [&](auto types) {
    using T = decltype(types);
    return product.entries * (sizeof(typename T::value) + sizeof(typename T::index)) +
           (rows + 1) * sizeof(typename T::offset);
  });
  f.workspace_bytes = product.bytes;
  f.peak_bytes = f.result_bytes + f.workspace_bytes;
  f.path = summary(product);
  double ns = 0, computed = 0;
  for (int k = static_cast<int>(row_bin::tiny); k < row_bins; ++k) {
    ns += ns_a_product[k] * static_cast<double>(all.rows[k]);
    computed += static_cast<double>(all.rows[k]);
  }
  f.seconds = 1e-4;
  if (computed != 0)
    f.seconds += 1e-9 * ns / computed * static_cast<double>(f.products);
  return f;
}

spgemm_plan<device_matrix, void, void>::spgemm_plan(cuda const& where, device_ref const& a,
                                                    device_ref const& b, spgemm_options o)
    : state_(std::make_shared<state>()) {
  auto const start = std::chrono::steady_clock::now();
  state& s = *state_;
  s.where = where;
  s.kernel = &check_product(a, b);
  if (a.matrix.format != format::csr || b.matrix.format != format::csr)
    fail(errc::unsupported, "spgemm: a plan is for csr, A is a %s and B a %s; see convert()",
         name(a.matrix.format), name(b.matrix.format));
  s.a = a.matrix;
  s.b = b.matrix;
  s.place_a = dispatch::place_of(a.matrix);
  s.place_b = dispatch::place_of(b.matrix);
  s.product.method = o.method;
  s.product.maps = true;
  result_ = multiply(s.where, *s.kernel, a, b, s.where, s.kept, s.product);
  if (s.product.map.block_count != 0)
    std::erase_if(s.kept, [&](detail::device_block const& block) {
      return block.data() != s.product.map.memory;
    });
  cuda_properties device;
  check(loaded_cuda().describe(where.device, device), "spgemm");
  path_ = std::string("cuda/sm_") + std::to_string(device.major) + std::to_string(device.minor) +
          " csr, rows: " + summary(s.product);
  if (s.product.map.block_count != 0)
    path_ +=
        ", values by a map of " + std::to_string(s.product.map.code_bytes) + " bytes a product";
  if (!s.product.a_canonical || !s.product.b_canonical)
    path_ += s.product.a_canonical   ? ", B sorted first"
             : s.product.b_canonical ? ", A sorted first"
                                     : ", A and B sorted first";
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t spgemm_plan<device_matrix, void, void>::bytes() const noexcept {
  return state_ ? state_->product.bytes : 0;
}

device_matrix const& spgemm_plan<device_matrix, void, void>::run(device_ref const& a,
                                                                 device_ref const& b) {
  if (!state_)
    fail(errc::bad_structure, "spgemm: the plan was moved from");
  detail::plan_turn const turn(*this, "spgemm");
  state const& s = *state_;
  check_product(a, b);
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
  check(s.kernel->fill(a.matrix.view, b.matrix.view, s.product, result_.ref().matrix.view),
        "spgemm");
  return result_;
}

} // namespace tulle
