// SPDX-License-Identifier: Apache-2.0

// The modules of devices: found, loaded once, and asked.
#include "tulle/core/device.hpp"
#include "tulle/core/diagnostics.hpp"
#include "tulle/core/error.hpp"

#include "backend/tables.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace tulle {
namespace {

/// A backend that a module brings.
struct slot {
  backend which;
  char const* title;
  char const* file;
  char const* variable; // of the environment: names another file
};
constexpr slot slots[] = {{backend::cuda, "CUDA", "libtulle_cuda.so", "TULLE_CUDA_MODULE"},
                          {backend::opencl, "OpenCL", "libtulle_opencl.so", "TULLE_OPENCL_MODULE"}};

// Beside this library, where it is installed and where it is built.
std::string beside_this(char const* file) {
  Dl_info here;
  if (dladdr(reinterpret_cast<void const*>(&beside_this), &here) == 0 || !here.dli_fname)
    return file;
  std::string const path = here.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1) + file;
}

struct opened {
  backend_table const* table = nullptr;
  std::string why; // it is not there
};

opened open_module(slot const& s) {
  char const* const named = std::getenv(s.variable);
  std::string const path = named ? named : beside_this(s.file);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && !named)
    library = dlopen(s.file, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {nullptr, std::string("no ") + s.title + " module: " + dlerror()};
  auto* const entry = reinterpret_cast<backend_entry>(dlsym(library, backend_entry_name));
  if (!entry)
    return {nullptr, std::string("no ") + s.title + " module: " + path + " is none of tulle's"};
  backend_table const* const table = entry();
  if (std::string(table->version) != backend_version)
    return {nullptr, std::string("no ") + s.title + " module: " + path +
                         " is of another build than this library"};
  if (table->backend != s.which)
    return {nullptr,
            std::string("no ") + s.title + " module: " + path + " is for " + name(table->backend)};
  return {table, ""};
}

opened told(opened m) {
  if (!m.table)
    detail::tell(event::module_missing, "%s", m.why.c_str());
  return m;
}

opened const& module_of(backend b) { // never closed: kernels may run until the end
  static opened const cuda = told(open_module(slots[0]));
  static opened const opencl = told(open_module(slots[1]));
  return b == backend::cuda ? cuda : opencl;
}

// How many devices, or why none.
int count_devices(backend b, std::string& why) {
  opened const& m = module_of(b);
  int n = 0;
  if (!m.table) {
    why = m.why;
  } else if (outcome const found = m.table->count(n); found.code != outcome::fine) {
    why = found.text;
    n = 0;
  } else if (n == 0) {
    why = "no device";
  }
  return n;
}

bool has_device(backend b) { // asked once: every allocation and copy comes by
  auto const ask = [](backend which) {
    std::string why;
    return count_devices(which, why) != 0;
  };
  static bool const cuda = ask(backend::cuda);
  static bool const opencl = ask(backend::opencl);
  return b == backend::cuda ? cuda : opencl;
}

} // namespace

backend_table const& device_table(backend b) {
  if (!has_device(b))
    fail(errc::backend, "%s: %s", name(b), backend_state(b).c_str());
  return *module_of(b).table;
}

void fail(outcome const& came_to, char const* op) {
  if (came_to.code == outcome::refused)
    fail(came_to.why, "%s", came_to.text);
  fail(came_to.code == outcome::no_memory     ? errc::out_of_memory
       : came_to.code == outcome::unsupported ? errc::unsupported
                                              : errc::backend,
       "%s: %s", op, came_to.text);
}

std::vector<device_info> devices(backend b) {
  std::vector<device_info> all;
  if (space_of(b) == space::host)
    return all;
  std::string why;
  int const n = count_devices(b, why);
  for (int d = 0; d < n; ++d) {
    device_properties p;
    check(module_of(b).table->describe(d, p), "devices");
    all.push_back({p.name, p.architecture, p.units, p.memory, p.free_memory, p.l2});
  }
  return all;
}

std::string backend_state(backend b) {
  if (space_of(b) == space::host)
    return "built";
  std::string why;
  int const n = count_devices(b, why);
  return n == 0 ? why : std::to_string(n) + (n == 1 ? " device" : " devices");
}

void synchronize(device const& where) {
  check(device_table(where.backend).wait(place_of(where)), "synchronize");
}

device_timer::device_timer(device const& where) : where_(where) {
  check(device_table(where.backend).timer_make(where.number, events_), "timer");
}
device_timer::~device_timer() {
  module_of(where_.backend).table->timer_drop(events_);
}
void device_timer::start() {
  check(module_of(where_.backend).table->timer_start(events_, where_.queue), "timer");
}
double device_timer::stop() {
  double seconds = 0;
  check(module_of(where_.backend).table->timer_stop(events_, where_.queue, seconds), "timer");
  return seconds;
}

namespace detail {

device_block::device_block(std::size_t bytes, device const& where) : bytes_(bytes), where_(where) {
  if (bytes == 0)
    return;
  if (where.memory)
    data_ = new_array(bytes, 1, where_.memory);
  else
    check(device_table(where.backend).allocate(place_of(where), bytes, data_), "device memory");
}

device_block::~device_block() {
  if (!data_)
    return;
  backend_table const* const there = module_of(where_.backend).table;
  if (where_.memory) {
    if (there)                       // no module was needed to get here
      there->wait(place_of(where_)); // the resource knows of no queue, and may give it to anybody
    free_array(data_, bytes_, where_.memory);
  } else {
    there->deallocate(place_of(where_), data_);
  }
}

void device_copy_there(void* to, void const* from, std::size_t bytes, device const& where) {
  if (bytes != 0)
    check(device_table(where.backend).copy(place_of(where), to, from, bytes), "copy");
}

void device_copy(void* to, void const* from, std::size_t bytes, device const& where) {
  device_copy_there(to, from, bytes, where);
  if (bytes != 0)
    synchronize(where);
}

void device_set(void* to, unsigned char byte, std::size_t bytes, device const& where) {
  if (bytes != 0)
    check(device_table(where.backend).set(place_of(where), to, byte, bytes), "set");
}

void check_space(space wanted, device const& where) {
  if (space_of(where) != wanted)
    fail(errc::unsupported, "device_array: its memory is %s, the policy is %s", name(wanted),
         name(where.backend));
}

} // namespace detail
} // namespace tulle
