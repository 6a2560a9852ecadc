// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/device_matrix.hpp"

#include "tulle/op/convert.hpp"

#include "backend/device_result.hpp"

namespace tulle {
namespace {

/// The view with each array that is not empty where place(array, bytes) says.
template <class F>
std::unique_ptr<std::byte[]> moved(matrix_ref const& a, F place) {
  auto const& ops = formats::ops(a.format, a.type);
  auto view = std::make_unique<std::byte[]>(ops.view_bytes);
  std::memcpy(view.get(), a.view, ops.view_bytes);
  for (formats::array_of const& array : ops.arrays(view.get())) {
    void const* const to = array.n == 0 ? nullptr : place(array.data(), array.bytes());
    std::memcpy(const_cast<void*>(array.at), &to, sizeof to);
  }
  return view;
}

} // namespace

std::size_t device_matrix::bytes() const noexcept {
  std::size_t n = 0;
  for (detail::device_block const& b : blocks_)
    n += b.bytes();
  return n;
}

device_ref device_matrix::ref() const& {
  if (!ref_.view)
    fail(errc::bad_structure, "device_matrix: nothing has been put into it");
  return {ref_, where_};
}

void device_matrix::check(tulle::format f, type_tag t, tulle::space s) const {
  if (ref().matrix.format != f || ref_.type != t || ref_.space != s)
    fail(
        errc::unsupported,
        "device_matrix: a view of %s of %s in %s memory is wanted, this is a %s of %s in %s memory",
        name(f), name(t), name(s), name(ref_.format), name(ref_.type), name(ref_.space));
}

device_matrix upload(matrix_ref a, device const& where) {
  if (a.space != space::host)
    fail(errc::unsupported, "upload: the %s is on a device already", name(a.format));
  if (!is_built(a.format, a.type))
    fail(errc::unsupported, "upload: %s is not built for %s", name(a.format), name(a.type));
  formats::check_present("upload", a);
  device_matrix d;
  d.where_ = where;
  d.view_ = moved(a, [&](void const* from, std::size_t bytes) {
    d.blocks_.emplace_back(bytes, where);
    detail::device_copy(d.blocks_.back().data(), from, bytes, where);
    return d.blocks_.back().data();
  });
  d.ref_ = a;
  d.ref_.space = space_of(where);
  d.ref_.view = d.view_.get();
  d.ref_.serial = detail::new_serial();
  return d;
}

device_matrix convert(device_ref const& a, layout const& to, device const& where) {
  matrix_ref const& from = a.matrix;
  if (!is_built(from.format, from.type) || !is_built(to.format, from.type))
    fail(errc::unsupported, "convert: %s to %s is not built for %s", name(from.format),
         name(to.format), name(from.type));
  formats::check_present("convert", from);
  if (from.space != space_of(where))
    fail(errc::unsupported, "convert: the %s is in %s memory, the policy is %s; see upload()",
         name(from.format), name(from.space), name(where.backend));
  auto const& ops = formats::ops(to.format, from.type);
  auto const options = std::make_unique<std::byte[]>(ops.options_bytes);
  ops.options(to.options, options.get());
  backend_table const& there = device_table(where.backend);
  auto const conversions = [&](tulle::format f) {
    return there.convert ? there.convert(static_cast<int>(f), static_cast<int>(from.type))
                         : nullptr;
  };
  auto const make = [&](tulle::format f, auto&& run) {
    return detail::device_maker::make("convert", f, from.type, where, run);
  };
  device_matrix csr;
  void const* view = from.view;
  if (from.format != format::csr) {
    conversion const* const back = conversions(from.format);
    if (!back || !back->to_csr)
      fail(errc::unsupported, "convert: no %s of %s is turned to csr on a device; see download()",
           name(from.format), name(from.type));
    csr = make(format::csr, [&](result_memory const& result, void* made) {
      return back->to_csr(from.view, result, made);
    });
    if (to.format == format::csr)
      return csr;
    view = csr.ref().matrix.view;
  }
  conversion const* const from_csr = conversions(to.format);
  if (!from_csr)
    fail(errc::unsupported, "convert: no %s of %s is made on a device; convert() on the host",
         name(to.format), name(from.type));
  return make(to.format, [&](result_memory const& result, void* made) {
    return from_csr->from_csr(view, options.get(), result, made);
  });
}

device_matrix convert(device_matrix const& a, layout const& to, device const& where) {
  return convert(a.ref(), to, where);
}
device_matrix convert(device_matrix const& a, layout const& to) {
  return convert(a.ref(), to, a.where());
}

any_matrix download(device_matrix const& a, cpu const& where) {
  matrix_ref const on_device = a.ref().matrix;
  std::vector<array<std::byte>> arrays;
  auto const view = moved(on_device, [&](void const* from, std::size_t bytes) {
    arrays.emplace_back(bytes, where.memory);
    detail::device_copy(arrays.back().data(), from, bytes, a.where());
    return arrays.back().data();
  });
  auto const& ops = formats::ops(on_device.format, on_device.type);
  return on_device.format == format::csr ? ops.from_csr(view.get(), "", where)
                                         : ops.to_csr(view.get(), where);
}

} // namespace tulle
