// SPDX-License-Identifier: Apache-2.0
#include <tulle/tulle.hpp>

int main() {
  return tulle::generate("lattice:100").rows == 100 ? 0 : 1;
}
