// SPDX-License-Identifier: Apache-2.0

// Matrices that work on the device makes.
#pragma once
#include "tulle/core/device_matrix.hpp"

#include "backend/tables.hpp"
#include "core/format_table.hpp"

#include <exception>

namespace tulle::detail {

/// The memory that work on the device takes, and why it got none.
struct taken {
  std::vector<device_block>& blocks;
  device const& where;
  std::exception_ptr failure = {};

  static void* take(void* self, std::size_t bytes) noexcept {
    auto& t = *static_cast<taken*>(self);
    try {
      return t.blocks.emplace_back(bytes, t.where).data();
    } catch (...) {
      t.failure = std::current_exception();
      return nullptr;
    }
  }
  static void give_all(void* self) noexcept { static_cast<taken*>(self)->blocks.clear(); }
  result_memory result() {
    return {where.number, where.queue, where.workspace_limit, this, take, give_all};
  }
};

struct device_maker {
  /// A matrix of that format and type whose view and arrays f(result, view) makes.
  template <class F>
  static device_matrix make(char const* op, format f, type_tag type, device const& where, F&& run) {
    auto const& ops = formats::ops(f, type);
    device_matrix d;
    d.where_ = where;
    d.view_ = std::make_unique<std::byte[]>(ops.view_bytes);
    taken memory{d.blocks_, where};
    outcome const status = run(memory.result(), static_cast<void*>(d.view_.get()));
    if (memory.failure)
      std::rethrow_exception(memory.failure);
    check(status, op);
    d.ref_ = ops.ref(d.view_.get());
    d.ref_.space = space_of(where);
    d.ref_.serial = new_serial();
    return d;
  }
};

} // namespace tulle::detail
