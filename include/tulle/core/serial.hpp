// SPDX-License-Identifier: Apache-2.0

/// Numbers that identify patterns. An address cannot, because memory is reused.
#pragma once
#include <cstdint>
#include <utility>

namespace tulle::detail {

/// A number that no owner in this process has had; never 0.
std::uint64_t new_serial() noexcept;

/// An owner's number: new for each matrix that is made or copied, and moved with its arrays.
/// Matrices that are equal have different ones.
class serial_number {
public:
  serial_number() noexcept : number_(new_serial()) {}
  serial_number(serial_number const&) noexcept : serial_number() {}
  serial_number(serial_number&& other) noexcept
      : number_(std::exchange(other.number_, new_serial())) {}
  serial_number& operator=(serial_number const& other) noexcept {
    if (this != &other)
      number_ = new_serial();
    return *this;
  }
  serial_number& operator=(serial_number&& other) noexcept {
    if (this != &other)
      number_ = std::exchange(other.number_, new_serial());
    return *this;
  }
  operator std::uint64_t() const noexcept { return number_; }
  friend bool operator==(serial_number const&, serial_number const&) { return true; }

private:
  std::uint64_t number_;
};

/// The view of an owner with that number.
template <class View>
View numbered(View v, serial_number const& s) {
  v.serial = s;
  return v;
}

} // namespace tulle::detail
