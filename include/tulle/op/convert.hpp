// SPDX-License-Identifier: Apache-2.0

/// Converts any format to any other, through csr, for formats known at run time. On a device only
/// sizes come to the host:
///
///     auto d = tulle::upload(a);                                       // a csr
///     auto best = tulle::convert(d, tulle::layout_for(tulle::format::csr5, tulle::backend::cuda));
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <string>
#include <vector>

namespace tulle {

class device_matrix; // core/device_matrix.hpp
struct device_ref;

/// Whether a format is built for a type pair.
bool is_built(format f, type_tag t) noexcept;

/// A format and options that differ from its defaults: "sell:chunk=4:sigma=64".
struct layout {
  tulle::format format{};
  std::string options; ///< "chunk=4:sigma=64"

  layout() = default;
  layout(tulle::format f, std::string options_ = {}) : format(f), options(std::move(options_)) {}
  /// Reads one; errc::unsupported lists the formats there are. Options are read by convert().
  static layout parse(std::string_view text);
};
/// As layout::parse reads it.
std::string name(layout const& l);
/// The format by default, with the options that suit a GPU, and other layouts of it that are worth
/// trying.
std::vector<layout> layouts(format f);

/// The format with the options that suit a backend: sell has wider chunks on a GPU.
layout layout_for(format f, backend b);

/// a in that layout. If the format is built only for offsets as narrow as the indices, wider
/// offsets are narrowed if they fit. errc::unsupported if the format is not built for a's types,
/// has no such option, or would take more memory than its option `limit` allows. The policy's
/// workspace_limit bounds all bytes beyond a that are alive at once, the result's included, because
/// the size of a layout is known only when it is made. errc::out_of_memory names the bytes that
/// exceeded it; a does not change.
any_matrix convert(matrix_ref a, layout const& to, cpu const& where = {});
/// Of an owner or a view, which is not copied first.
template <class A>
requires(view_traits<A>::is_view || owner_traits<A>::is_owner) any_matrix
    convert(A const& a, layout const& to, cpu const& where = {}) {
  if constexpr (owner_traits<A>::is_owner) {
    auto const view = a.view();
    return convert(matrix_ref(view), to, where);
  } else {
    return convert(matrix_ref(a), to, where);
  }
}
inline any_matrix convert(any_matrix const& a, layout const& to, cpu const& where = {}) {
  return convert(a.ref(), to, where);
}

/// The same on the device, with the arrays that upload(convert(a, to)) has; `a` is a csr, coo or
/// csc. errc::unsupported for others; download() brings those to the host. Waits if a size depends
/// on the data, so it cannot be captured in a graph.
device_matrix convert(device_ref const& a, layout const& to, device const& where);
device_matrix convert(device_matrix const& a, layout const& to, device const& where);
/// Where a is.
device_matrix convert(device_matrix const& a, layout const& to);

} // namespace tulle
