// SPDX-License-Identifier: Apache-2.0

/// What is computed once per pattern and reused.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/device.hpp"

#include <cstddef>
#include <string>

namespace tulle {

namespace detail {
class plan_turn;
}

/// What every plan reports. A plan is for one pattern and for one call at a time: a call that finds
/// it in use by another thread throws errc::bad_structure. Threads that multiply at the same time
/// need a plan each.
class plan {
public:
  /// The time that it took to make the plan.
  double seconds() const noexcept { return seconds_; }
  /// The memory that it keeps, workspace included.
  std::size_t bytes() const noexcept { return workspace_.bytes() + on_device_.bytes(); }
  /// What runs: "cpu/avx512 csr rows: 76 equal, 5 plain, 2 threads".
  std::string const& path() const noexcept { return path_; }

protected:
  /// Memory of the policy's space, which the plan keeps.
  void* take_workspace(std::size_t bytes, where const& w) {
    if (space_of(w) == space::host) {
      workspace_ = array<std::byte>(bytes, w.memory);
      return workspace_.data();
    }
    on_device_ = detail::device_block(bytes, w.as_device());
    return on_device_.data();
  }
  double seconds_ = 0;
  std::string path_;
  array<std::byte> workspace_;
  detail::device_block on_device_;

private:
  friend class detail::plan_turn;
  bool in_use_ = false;
};

namespace detail {

/// Holds a plan for one call.
class plan_turn {
public:
  plan_turn(plan& p, char const* op) : plan_(p) {
    if (__atomic_exchange_n(&p.in_use_, true, __ATOMIC_ACQUIRE))
      fail(
          errc::bad_structure,
          "%s: the plan is in use by another thread; threads that run at the same time need a plan "
          "each",
          op);
  }
  ~plan_turn() { __atomic_store_n(&plan_.in_use_, false, __ATOMIC_RELEASE); }
  plan_turn(plan_turn const&) = delete;
  plan_turn& operator=(plan_turn const&) = delete;

private:
  plan& plan_;
};

} // namespace detail
} // namespace tulle
