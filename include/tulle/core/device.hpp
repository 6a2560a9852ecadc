// SPDX-License-Identifier: Apache-2.0

/// Devices, and memory on them. The library links no vendor's code. Modules do, which are loaded on
/// first use (docs/hack/add-a-backend.md).
#pragma once
#include "tulle/core/narrow.hpp"
#include "tulle/core/space.hpp"
#include "tulle/core/where.hpp"
#include "tulle/view/vector.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tulle {

struct device_info {
  std::string name;
  std::string architecture; ///< "sm_90"
  int units = 0;            ///< multiprocessors or compute units
  std::size_t memory = 0, free_memory = 0, l2 = 0;
};

/// The devices that the policy of a backend can name; none where its module or a driver is missing.
std::vector<device_info> devices(backend b);
/// "built", "1 device", or why there is none.
std::string backend_state(backend b);

namespace detail {

/// Owned device memory. Without a resource of the caller it comes from the stream's pool or, if it
/// is large and the pool has none idle, from the driver. It is released in the stream's order, so
/// the stream must outlive it. A resource gets it back when the stream is done.
class device_block {
public:
  device_block() = default;
  device_block(std::size_t bytes, device const& where); ///< errc::out_of_memory, errc::backend
  device_block(device_block&& other) noexcept { swap(other); }
  device_block& operator=(device_block other) noexcept {
    swap(other);
    return *this;
  }
  ~device_block();

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  device const& where() const noexcept { return where_; }

private:
  void swap(device_block& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(where_, other.where_);
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  device where_;
};

/// Within the device, in the stream's order.
void device_copy_there(void* to, void const* from, std::size_t bytes, device const& where);
/// Between any two spaces, in the stream's order; waits until it is done.
void device_copy(void* to, void const* from, std::size_t bytes, device const& where);
/// Each byte, in the stream's order.
void device_set(void* to, unsigned char byte, std::size_t bytes, device const& where);

} // namespace detail

/// Waits for all work on the stream; errc::backend if any of it failed.
void synchronize(device const& where = {});

/// Measures what runs on a stream.
class device_timer {
public:
  explicit device_timer(device const& where = {});
  ~device_timer();
  device_timer(device_timer const&) = delete;
  device_timer& operator=(device_timer const&) = delete;
  void start();
  /// Seconds since start(); waits until what was begun has ended.
  double stop();

private:
  device where_;
  void* events_ = nullptr;
};

namespace detail {
/// errc::unsupported for a policy of another space.
void check_space(space wanted, device const& where);
} // namespace detail

/// A fixed-size array of plain values on a device; they start uninitialised.
template <class T, space S = space::cuda>
class device_array {
  static_assert(std::is_trivially_copyable_v<T> && S != space::host);

public:
  device_array() = default;
  explicit device_array(std::size_t n, device const& where = device(S))
      : size_((detail::check_space(S, where), n)), // before another module is asked for memory
        block_(checked_mul(n, sizeof(T), "device_array"), where) {}
  /// A copy of host memory.
  device_array(T const* first, std::size_t n, device const& where = device(S))
      : device_array(n, where) {
    copy_from(first);
  }
  template <class Container>
  requires(detail::space_of_container<Container> == space::host &&
           std::is_convertible_v<decltype(std::declval<Container const&>().data()),
                                 T const*>) explicit device_array(Container const& c,
                                                                  device const& where = device(S))
      : device_array(c.data(), c.size(), where) {}

  T* data() noexcept { return static_cast<T*>(block_.data()); }
  T const* data() const noexcept { return static_cast<T const*>(block_.data()); }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }

  /// Copies the whole array from or to host memory; waits until it is done.
  void copy_from(T const* host) { detail::device_copy(data(), host, bytes(), block_.where()); }
  void copy_to(T* host) const { detail::device_copy(host, data(), bytes(), block_.where()); }

private:
  std::size_t size_ = 0;
  detail::device_block block_;
};

namespace detail {
template <class T, space S>
inline constexpr space space_of_container<device_array<T, S>> = S;
} // namespace detail

} // namespace tulle
