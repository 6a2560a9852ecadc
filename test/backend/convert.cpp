// SPDX-License-Identifier: Apache-2.0

// Conversions, by the library's own from_csr and to_csr: a result has the arrays that the host's
// has.
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/types.hpp"

#include "test/backend/cells.hpp"
#include "test/backend/entries.hpp"
#include "test/backend/memory.hpp"
#include "test/backend/result.hpp"

namespace tulle::test_device {
namespace {

cpu alone(result_memory const& to) {
  return {.threads = 1, .workspace_limit = to.workspace_limit};
}

template <template <class, class, class> class Format, class V, class I, class O>
outcome from_csr(void const* csr, void const* options, result_memory const& to, void* view) {
  return guarded([&] {
    using owner = Format<V, I, O>;
    wait(place_of(to));
    opened const memory;
    detail::limited const room("convert", alone(to));
    auto made =
        owner::from_csr(*static_cast<csr_view<V, I, O> const*>(csr),
                        *static_cast<typename owner::options const*>(options), room.counted());
    auto const there = put(std::move(made), to);
    new (view) auto(there);
  });
}

template <template <class, class, class, space> class View, class V, class I, class O>
outcome to_csr(void const* a, result_memory const& to, void* csr) {
  return guarded([&] {
    wait(place_of(to));
    opened const memory;
    detail::limited const room("convert", alone(to));
    auto const& view = *static_cast<View<V, I, O, space::host> const*>(a);
    view.validate();
    auto const there = put(view.to_csr(room.counted()), to);
    new (csr) auto(there);
  });
}

#define TULLE_ONE_WAY(tag, V, I, O, format) {from_csr<format, V, I, O>, nullptr},
#define TULLE_BOTH_WAYS(tag, V, I, O, format)                                                      \
  {from_csr<format, V, I, O>, to_csr<format##_view, V, I, O>},
constexpr conversion of_csr[] = {TULLE_TYPES(TULLE_ONE_WAY, csr)
                                     TULLE_BASIC_TYPES(TULLE_ONE_WAY, csr)};
constexpr conversion of_csc[] = {TULLE_TYPES(TULLE_BOTH_WAYS, csc)
                                     TULLE_BASIC_TYPES(TULLE_BOTH_WAYS, csc)};
constexpr conversion of_coo[] = {TULLE_TYPES(TULLE_BOTH_WAYS, coo)
                                     TULLE_BASIC_TYPES(TULLE_BOTH_WAYS, coo)};
constexpr conversion of_ell[] = {TULLE_TYPES(TULLE_ONE_WAY, ell)};
constexpr conversion of_sell[] = {TULLE_TYPES(TULLE_ONE_WAY, sell)};
#undef TULLE_BOTH_WAYS
#undef TULLE_ONE_WAY

template <std::size_t n>
conversion const* at(conversion const (&cells)[n], int type) {
  return static_cast<std::size_t>(type) < n ? &cells[type] : nullptr;
}

} // namespace

conversion const* convert(int f, int type) {
  switch (static_cast<format>(f)) {
  case format::csr:
    return at(of_csr, type);
  case format::csc:
    return at(of_csc, type);
  case format::coo:
    return at(of_coo, type);
  case format::ell:
    return at(of_ell, type);
  case format::sell:
    return at(of_sell, type);
  default:
    return nullptr;
  }
}

} // namespace tulle::test_device
