// SPDX-License-Identifier: Apache-2.0
#include "apps/support/restart.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace tulle::app {

void restart_with(char const* variable, char const* value) {
  if (std::getenv(variable))
    return;
  setenv(variable, value, 1);
  std::vector<std::string> words;
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(line, word, '\0');)
    words.push_back(word);
  if (words.empty())
    return;
  std::vector<char*> arguments;
  for (std::string& w : words)
    arguments.push_back(w.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
}

} // namespace tulle::app
