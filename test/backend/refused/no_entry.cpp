// SPDX-License-Identifier: Apache-2.0

// A library that is not a module: it has no entry point.
extern "C" __attribute__((visibility("default"))) int tulle_test_no_entry() {
  return 0;
}
