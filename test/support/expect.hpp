// SPDX-License-Identifier: Apache-2.0

/// Expectations that gtest lacks.
#pragma once
#include "tulle/core/error.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tulle::test {

/// That f() throws a tulle::error of that code whose message has each of the words.
template <class F>
testing::AssertionResult fails_with(errc code, std::vector<std::string> const& words, F&& f) {
  try {
    f();
  } catch (error const& e) {
    if (e.code() != code)
      return testing::AssertionFailure()
             << "expected " << name(code) << ", got " << name(e.code()) << ": " << e.what();
    for (std::string const& word : words)
      if (std::string(e.what()).find(word) == std::string::npos)
        return testing::AssertionFailure() << "no '" << word << "' in: " << e.what();
    return testing::AssertionSuccess();
  } catch (std::exception const& e) {
    return testing::AssertionFailure() << "not a tulle::error: " << e.what();
  }
  return testing::AssertionFailure() << "nothing was thrown, expected " << name(code);
}

/// The view of a matrix that lives until the end of the statement.
template <class A>
auto borrowed(A const& a) {
  return a.view();
}

/// Bytes equal: NaN is itself here, and -0 is not 0.
template <class A, class B>
bool same_bits(A const& a, B const& b) {
  static_assert(sizeof(*a.data()) == sizeof(*b.data()));
  return a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0);
}

/// That f() fails so, and leaves its output as it was.
template <class Output, class F>
void expect_refused(errc code, std::vector<std::string> const& words, Output& output, F&& f) {
  Output const before = output;
  EXPECT_TRUE(fails_with(code, words, f));
  EXPECT_TRUE(same_bits(output, before)) << "the output was touched";
}

/// The same matrix to the last bit: shape and every array, in the order of arrays().
template <class View>
testing::AssertionResult same_arrays(View const& a, View const& b) {
  if (a.rows != b.rows || a.cols != b.cols || a.nnz != b.nnz)
    return testing::AssertionFailure()
           << +a.rows << " x " << +a.cols << " with " << +a.nnz << " entries, and " << +b.rows
           << " x " << +b.cols << " with " << +b.nnz;
  struct bytes {
    char const* name;
    void const* data;
    std::size_t size;
  };
  std::vector<bytes> left, right;
  a.arrays([&](char const* n, auto const* p, std::size_t k) {
    left.push_back({n, p, k * sizeof(*p)});
  });
  b.arrays([&](char const* n, auto const* p, std::size_t k) {
    right.push_back({n, p, k * sizeof(*p)});
  });
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i].size != right[i].size ||
        (left[i].size != 0 && std::memcmp(left[i].data, right[i].data, left[i].size) != 0))
      return testing::AssertionFailure() << left[i].name << " differs";
  return testing::AssertionSuccess();
}

} // namespace tulle::test
