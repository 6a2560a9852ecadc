// SPDX-License-Identifier: Apache-2.0

/// The strongest rival of a dynamic matrix on a GPU: a csr into which each sorted batch is merged
/// by merge path, from one set of arrays into another of the final size.
#pragma once
#include "tulle/format/csr.hpp"

#include <memory>

namespace tulle::bench {

template <class V, class I>
class merged_on_device {
public:
  /// `most` entries in the end, batches of up to `batch`. Arrays of a are in host memory.
  merged_on_device(csr_view<V, I, I> a, std::size_t most, std::size_t batch);
  merged_on_device(merged_on_device&&) noexcept;
  ~merged_on_device();
  /// Triplets on the device, of places that have no entry. On the default stream.
  void merge(I const* row, I const* col, V const* val, std::size_t n);
  csr_view<V, I, I, space::cuda> view() const;
  std::size_t bytes() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace tulle::bench
