// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/device_matrix.hpp"

#include "tulle/op/convert.hpp"

#include "dispatch/format.hpp"

namespace tulle {

std::size_t device_matrix::bytes() const noexcept {
  std::size_t n = 0;
  for (detail::device_block const& b : blocks_)
    n += b.bytes();
  return n;
}

device_ref device_matrix::ref() const {
  if (!ref_.view)
    fail(errc::bad_structure, "device_matrix: nothing has been put into it");
  return {ref_};
}

void device_matrix::check(tulle::format f, type_tag t) const {
  if (ref().matrix.format != f || ref_.type != t)
    fail(errc::unsupported, "device_matrix: a view of %s of %s is wanted, this is a %s of %s",
         name(f), name(t), name(ref_.format), name(ref_.type));
}

device_matrix upload(matrix_ref a, cuda const& where) {
  if (a.space != space::host)
    fail(errc::unsupported, "upload: the %s is on a device already", name(a.format));
  if (!is_built(a.format, a.type))
    fail(errc::unsupported, "upload: %s is not built for %s", name(a.format), name(a.type));
  dispatch::check_present("upload", a);
  auto const& ops = dispatch::ops(a.format, a.type);
  device_matrix d;
  d.where_ = where;
  d.view_ = std::make_unique<std::byte[]>(ops.view_bytes);
  ops.move(a.view, d.view_.get(), [&](void const* from, std::size_t bytes) {
    d.blocks_.emplace_back(bytes, where);
    detail::device_copy(d.blocks_.back().data(), from, bytes, where);
    return d.blocks_.back().data();
  });
  d.ref_ = a;
  d.ref_.space = space::device;
  d.ref_.view = d.view_.get();
  return d;
}

any_matrix download(device_matrix const& a, cpu const& where) {
  matrix_ref const on_device = a.ref().matrix;
  auto const& ops = dispatch::ops(on_device.format, on_device.type);
  auto const view = std::make_unique<std::byte[]>(ops.view_bytes);
  std::vector<array<std::byte>> arrays;
  ops.move(on_device.view, view.get(), [&](void const* from, std::size_t bytes) {
    arrays.emplace_back(bytes, where.memory);
    detail::device_copy(arrays.back().data(), from, bytes, a.where());
    return arrays.back().data();
  });
  return on_device.format == format::csr ? ops.from_csr(view.get(), "", where)
                                         : ops.to_csr(view.get(), where);
}

} // namespace tulle
