// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/device.hpp"

#include "tulle/core/error.hpp"

#include "core/cuda_module.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <memory_resource>

namespace tulle {
namespace {

constexpr char const* file_name = "libtulle_cuda.so";

// Beside this library, where it is installed and where it is built.
std::string beside_this() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void const*>(&beside_this), &here) == 0 || !here.dli_fname)
    return file_name;
  std::string const path = here.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1) + file_name;
}

struct opened {
  cuda_module const* module = nullptr;
  std::string why; // it is not there
  void* library = nullptr;
};

opened open_module() {
  char const* const named = std::getenv("TULLE_CUDA_MODULE");
  std::string const path = named ? named : beside_this();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && !named)
    library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {nullptr, std::string("not loaded: ") + dlerror()};
  auto* const entry =
      reinterpret_cast<cuda_module const* (*)()>(dlsym(library, "tulle_cuda_module"));
  if (!entry)
    return {nullptr, "not loaded: " + path + " is no module of tulle"};
  cuda_module const* const module = entry();
  if (std::string(module->version) != cuda_module_version)
    return {nullptr, "not loaded: " + path + " is of another build than this library"};
  return {module, "", library};
}

opened const& the_module() {
  static opened const once = open_module(); // never closed: kernels may run until the end
  return once;
}

std::string text(cuda_status const& s) {
  return std::string(s.call) + ": " + s.text;
}

// How many devices, or why none.
int count_devices(std::string& why) {
  opened const& m = the_module();
  int n = 0;
  if (!m.module) {
    why = m.why;
  } else if (cuda_status const s = m.module->count(n); s.code != cuda_status::fine) {
    why = text(s);
    n = 0;
  } else if (n == 0) {
    why = "no device";
  }
  return n;
}

} // namespace

cuda_module const& loaded_cuda() {
  static bool const has_device = [] { // asked once: every allocation and copy comes by
    std::string why;
    return count_devices(why) != 0;
  }();
  if (!has_device)
    fail(errc::backend, "cuda: %s", cuda_state().c_str());
  return *the_module().module;
}

void* loaded_cuda_entry(char const* name) {
  loaded_cuda();
  void* const entry = dlsym(the_module().library, name);
  if (!entry)
    fail(errc::backend, "cuda: not loaded: the module has no %s", name);
  return entry;
}

void check(cuda_status const& s, char const* op) {
  if (s.code == cuda_status::refused)
    fail(s.why, "%s", s.text);
  if (s.code != cuda_status::fine)
    fail(s.code == cuda_status::no_memory     ? errc::out_of_memory
         : s.code == cuda_status::unsupported ? errc::unsupported
                                              : errc::backend,
         "%s: %s: %s", op, s.call, s.text);
}

std::vector<device_info> cuda_devices() {
  std::string why;
  int const n = count_devices(why);
  std::vector<device_info> all;
  for (int d = 0; d < n; ++d) {
    cuda_properties p;
    check(the_module().module->describe(d, p), "devices");
    all.push_back({p.name, p.major, p.minor, p.multiprocessors, p.memory, p.free_memory, p.l2});
  }
  return all;
}

std::string cuda_state() {
  std::string why;
  int const n = count_devices(why);
  return n == 0 ? why : std::to_string(n) + (n == 1 ? " device" : " devices");
}

void synchronize(cuda const& where) {
  check(loaded_cuda().synchronize(where.device, where.stream), "synchronize");
}

device_timer::device_timer(cuda const& where) : where_(where) {
  check(loaded_cuda().timer_make(where.device, events_), "timer");
}
device_timer::~device_timer() {
  the_module().module->timer_drop(events_);
}
void device_timer::start() {
  check(the_module().module->timer_start(events_, where_.stream), "timer");
}
double device_timer::stop() {
  double seconds = 0;
  check(the_module().module->timer_stop(events_, where_.stream, seconds), "timer");
  return seconds;
}

namespace detail {

device_block::device_block(std::size_t bytes, cuda const& where) : bytes_(bytes), where_(where) {
  if (bytes == 0)
    return;
  if (where.memory)
    data_ = new_array(bytes, 1, where_.memory);
  else
    check(loaded_cuda().allocate(where.device, where.stream, bytes, data_), "device memory");
}

device_block::~device_block() {
  if (!data_)
    return;
  if (where_.memory)
    free_array(data_, bytes_, where_.memory);
  else
    the_module().module->deallocate(where_.device, where_.stream, data_);
}

void device_copy_there(void* to, void const* from, std::size_t bytes, cuda const& where) {
  if (bytes != 0)
    check(loaded_cuda().copy(where.device, where.stream, to, from, bytes), "copy");
}

void device_copy(void* to, void const* from, std::size_t bytes, cuda const& where) {
  device_copy_there(to, from, bytes, where);
  if (bytes != 0)
    synchronize(where);
}

void device_set(void* to, unsigned char byte, std::size_t bytes, cuda const& where) {
  if (bytes != 0)
    check(loaded_cuda().set(where.device, where.stream, to, byte, bytes), "set");
}

} // namespace detail
} // namespace tulle
