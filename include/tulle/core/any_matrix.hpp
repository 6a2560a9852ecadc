// SPDX-License-Identifier: Apache-2.0

/// A matrix whose format and types are known at run time.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/core/registry.hpp"
#include "tulle/core/where.hpp"
#include "tulle/format/csr.hpp"

#include <memory>
#include <utility>

namespace tulle {

/// A borrowed matrix of any format: two tags, its shape, and a pointer to the view of that format
/// and type.
struct matrix_ref {
  tulle::format format{};
  type_tag type{};
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t nnz = 0;
  tulle::space space = tulle::space::host; ///< of its arrays; the view itself is in host memory
  void const* view = nullptr;
  std::uint64_t serial = 0; ///< of the owner's pattern; 0: borrowed arrays

  matrix_ref() = default;
  template <class View>
  requires view_traits<View>::is_view explicit matrix_ref(View const& v)
      : format(view_traits<View>::format),
        type(type_of<typename View::value, typename View::index, typename View::offset>::value),
        rows(static_cast<std::size_t>(v.rows)), cols(static_cast<std::size_t>(v.cols)),
        nnz(static_cast<std::size_t>(v.nnz)), space(view_traits<View>::space), view(&v),
        serial(v.serial) {}
  /// Deleted: it would point at a temporary view. Give the view a name.
  template <class View>
  requires view_traits<View>::is_view explicit matrix_ref(View const&&) = delete;

  /// The view inside, as in as<csr_view<double>>(); errc::unsupported if it is another.
  template <class View>
  requires view_traits<View>::is_view View const& as() const {
    View const none;
    matrix_ref const wanted(none);
    if (!view || format != wanted.format || type != wanted.type || space != wanted.space)
      fail(errc::unsupported, "matrix_ref: a %s of %s was asked for, it is a %s of %s",
           name(wanted.format), name(wanted.type), view ? name(format) : "null", name(type));
    return *static_cast<View const*>(view);
  }
};

/// An owner of any format and built type pair. Copying copies the matrix.
class any_matrix {
  struct holder {
    matrix_ref ref;
    virtual ~holder() = default;
    virtual std::unique_ptr<holder> clone() const = 0;
    virtual void refill(matrix_ref csr, cpu const& where) = 0;
    virtual void validate() const = 0;
    virtual std::size_t bytes() const = 0;
    virtual void* owner() = 0;
  };
  template <class F>
  struct holder_of;

public:
  any_matrix() = default;
  template <class F>
  requires owner_traits<F>::is_owner any_matrix(F owner)
      : holder_(detail::typed_memory(
            "any_matrix", [&] { return std::make_unique<holder_of<F>>(std::move(owner)); })) {}
  any_matrix(any_matrix const& other) : holder_(other.holder_ ? other.holder_->clone() : nullptr) {}
  any_matrix(any_matrix&&) noexcept = default;
  any_matrix& operator=(any_matrix other) noexcept {
    holder_.swap(other.holder_);
    return *this;
  }

  bool empty() const noexcept { return !holder_; }
  tulle::format format() const { return ref().format; }
  type_tag type() const { return ref().type; }
  std::size_t rows() const { return ref().rows; }
  std::size_t cols() const { return ref().cols; }
  std::size_t nnz() const { return ref().nnz; }
  std::size_t bytes() const { return checked().bytes(); }
  void validate() const { checked().validate(); }
  matrix_ref ref() const& { return checked().ref; }
  matrix_ref ref() const&& = delete; ///< it points into the matrix

  /// New values on the same pattern, from a csr of the same types, or of wider offsets that fit. It
  /// is not copied.
  void refill(matrix_ref csr, cpu const& where = {});
  void refill(any_matrix const& csr, cpu const& where = {}) { refill(csr.ref(), where); }
  template <class A>
  requires(view_traits<A>::is_view ||
           owner_traits<A>::is_owner) void refill(A const& csr, cpu const& where = {}) {
    if constexpr (owner_traits<A>::is_owner) {
      auto const view = csr.view();
      refill(matrix_ref(view), where);
    } else {
      refill(matrix_ref(csr), where);
    }
  }
  /// The owner inside, if it is an F; else nullptr.
  template <class F>
  F const* get_if() const {
    bool const fits = holder_ && owner_traits<F>::format == holder_->ref.format &&
                      owner_traits<F>::type == holder_->ref.type;
    return fits ? static_cast<F const*>(holder_->owner()) : nullptr;
  }

private:
  holder& checked() const {
    if (!holder_)
      fail(errc::bad_structure, "any_matrix: nothing has been put into it");
    return *holder_;
  }
  std::unique_ptr<holder> holder_;
};

template <class F>
struct any_matrix::holder_of final : holder {
  F matrix;
  decltype(std::declval<F const&>().view()) view; // what ref points at

  explicit holder_of(F owner) : matrix(std::move(owner)), view(matrix.view()) {
    detail::check_arrays(name(owner_traits<F>::format), matrix);
    ref = matrix_ref(view);
  }
  std::unique_ptr<holder> clone() const override {
    return detail::typed_memory("any_matrix", [&] { return std::make_unique<holder_of>(matrix); });
  }
  void refill(matrix_ref csr, cpu const& where) override {
    using traits = owner_traits<F>;
    using csr_type =
        csr_view<typename traits::value, typename traits::index, typename traits::offset>;
    matrix.refill(csr.as<csr_type>(), where);
    view = matrix.view();
  }
  void validate() const override { matrix.validate(); }
  std::size_t bytes() const override { return matrix.bytes(); }
  void* owner() override { return &matrix; }
};

} // namespace tulle
