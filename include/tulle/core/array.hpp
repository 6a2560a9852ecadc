// SPDX-License-Identifier: Apache-2.0

/// The array that owners are made of.
#pragma once
#include "tulle/core/narrow.hpp"

#include <cstddef>
#include <initializer_list>
#include <type_traits>

// Declared, not included: <memory_resource> costs half a second per file, and only a pointer is
// needed here.
#ifdef __GLIBCXX__
namespace std::pmr {
class memory_resource;
}
#else
#include <memory_resource>
#endif

namespace tulle {

/// The resource used if none is given: 64-byte aligned, on huge pages from 4 MiB up where the
/// system allows; up to 256 MiB of freed blocks are used again (core/recycling.hpp).
std::pmr::memory_resource* default_memory() noexcept;

// Independent of the type: constructors of owners would otherwise repeat this code for every format
// and type.
namespace detail {
/// n elements of that size, or nullptr for none; `memory` is set where it is not. errc::overflow,
/// errc::out_of_memory.
void* new_array(std::size_t n, std::size_t size, std::pmr::memory_resource*& memory);
/// The same, with what is at `from`.
void* copy_array(void const* from, std::size_t n, std::size_t size,
                 std::pmr::memory_resource*& memory);
void free_array(void* p, std::size_t bytes, std::pmr::memory_resource* memory) noexcept;
} // namespace detail

/// A fixed-size array of plain values, 64-byte aligned. Elements start uninitialised, so that the
/// threads that will read them touch them first.
template <class T>
class array {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

public:
  array() = default;
  explicit array(std::size_t n, std::pmr::memory_resource* memory = nullptr)
      : size_(n), memory_(memory),
        data_(static_cast<T*>(detail::new_array(n, sizeof(T), memory_))) {}
  array(std::size_t n, T value, std::pmr::memory_resource* memory = nullptr) : array(n, memory) {
    fill(value);
  }
  array(std::initializer_list<T> values) : array(values.begin(), values.size()) {}
  array(T const* first, std::size_t n, std::pmr::memory_resource* memory = nullptr)
      : size_(n), memory_(memory),
        data_(static_cast<T*>(detail::copy_array(first, n, sizeof(T), memory_))) {}
  array(array const& other) : array(other.data_, other.size_) {}
  array(array&& other) noexcept { swap(other); }
  array& operator=(array other) noexcept {
    swap(other);
    return *this;
  }
  ~array() {
    if (data_)
      detail::free_array(data_, size_ * sizeof(T), memory_);
  }

  void swap(array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
  }

  T* data() noexcept { return data_; }
  T const* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  /// Takes any integer, as a pointer does.
  template <class K>
  T& operator[](K k) noexcept {
    return data_[k];
  }
  template <class K>
  T const& operator[](K k) const noexcept {
    return data_[k];
  }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  T const* begin() const noexcept { return data_; }
  T const* end() const noexcept { return data_ + size_; }
  T& back() noexcept { return data_[size_ - 1]; }
  T const& back() const noexcept { return data_[size_ - 1]; }

  [[gnu::noinline]] friend bool operator==(array const& a, array const& b) {
    if (a.size_ != b.size_)
      return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i]))
        return false;
    return true;
  }

private:
  [[gnu::noinline]] void fill(T value) {
    for (std::size_t i = 0; i < size_; ++i)
      data_[i] = value;
  }

  std::size_t size_ = 0;
  std::pmr::memory_resource* memory_ = nullptr;
  T* data_ = nullptr;
};

} // namespace tulle
