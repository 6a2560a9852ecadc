// SPDX-License-Identifier: Apache-2.0

/// Keeps an operation within its workspace_limit, and turns every failed allocation into
/// errc::out_of_memory.
#pragma once
#include "tulle/core/where.hpp"

#include <new>

namespace tulle::detail {

/// Throws errc::out_of_memory: what a failed operator new becomes.
[[noreturn]] void fail_out_of_memory(char const* op);

/// f(), with std::bad_alloc as errc::out_of_memory.
template <class F>
decltype(auto) typed_memory(char const* op, F&& f) {
  try {
    return static_cast<F&&>(f)();
  } catch (std::bad_alloc const&) {
    fail_out_of_memory(op);
  }
}

class limited_memory;

/// The memory of one operation under its policy's workspace_limit: what is allocated from it counts
/// as long as it lives, and an allocation that would pass the limit fails with errc::out_of_memory,
/// naming the bytes wanted. Without a limit it is the policy's own memory. Arrays may outlive it;
/// from then on they are no longer limited.
class limited {
public:
  /// `of_result`: bytes of the result that come from this memory, and do not count.
  limited(char const* op, cpu const& w, std::size_t of_result = 0);
  limited(char const* op, tulle::where const& w) : limited(op, w.as_cpu()) {}
  limited(limited const&) = delete;
  ~limited();

  /// Memory that counts, for conversions and other work without limits of its own.
  cpu const& counted() const noexcept { return counted_; }
  /// Bytes that live now.
  std::size_t taken() const noexcept;
  /// What is left of the limit.
  std::size_t left() const noexcept;
  /// The policy with that as its limit: for work that adapts to one. Its memory does not count.
  template <class Where>
  Where rest(Where w) const noexcept {
    w.workspace_limit = left();
    return w;
  }

private:
  limited_memory* memory_ = nullptr;
  std::size_t limit_;
  cpu counted_;
};

} // namespace tulle::detail
