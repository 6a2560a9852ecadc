// SPDX-License-Identifier: Apache-2.0
#include "test/backend/queue.hpp"

#include "test/backend/memory.hpp"

#include <memory>
#include <set>
#include <vector>

namespace tulle::test_device {
namespace {

struct item {
  std::function<void()> work;
  void* released = nullptr; // instead of work
};

struct queue {
  std::vector<item> items;
};

struct all_queues {
  queue usual; // where a call names none
  std::set<queue*> made;
  std::size_t launches = 0, waits = 0;
  std::size_t until_launch_fails = 0, until_execution_fails = 0;
};
all_queues& queues() {
  static all_queues* const all = new all_queues;
  return *all;
}

queue& queue_at(void const* handle) {
  all_queues& all = queues();
  auto* const q = const_cast<queue*>(static_cast<queue const*>(handle));
  if (!q)
    return all.usual;
  if (!all.made.contains(q))
    throw failure{{outcome::failed, errc::backend, "queue: there is no such one"}};
  return *q;
}

bool is_due(std::size_t& until) {
  return until != 0 && --until == 0;
}

// Whether all of it ran: what comes after work that failed does not.
bool run(queue& q) {
  if (q.items.empty())
    return true;
  bool is_fine = true;
  opened const memory;
  std::vector<item> items;
  items.swap(q.items);
  for (item& i : items) {
    if (i.released)
      end_release(i.released);
    else if (is_fine && is_due(queues().until_execution_fails))
      is_fine = false;
    else if (is_fine)
      i.work();
    i.work = nullptr;
  }
  return is_fine;
}

} // namespace

std::recursive_mutex& device_lock() {
  static auto* const lock = new std::recursive_mutex;
  return *lock;
}

void check_place(work_place const& at) {
  if (at.device < -1 || at.device > 0)
    throw failure{{outcome::failed, errc::backend, "opencl: there is one device, number 0"}};
  std::lock_guard const lock(device_lock());
  queue_at(at.queue);
}

void launch(work_place const& at, std::function<void()> work) {
  check_place(at);
  std::lock_guard const lock(device_lock());
  ++queues().launches;
  if (is_due(queues().until_launch_fails))
    throw failure{{outcome::failed, errc::backend, "launch: fails as it was told"}};
  queue_at(at.queue).items.push_back({std::move(work)});
}

void release(work_place const& at, void* p) {
  check_place(at);
  std::lock_guard const lock(device_lock());
  queue& q = queue_at(at.queue);
  q.items.reserve(q.items.size() + 1);
  begin_release(p);
  q.items.push_back({nullptr, p});
}

void wait(work_place const& at) {
  check_place(at);
  std::lock_guard const lock(device_lock());
  ++queues().waits;
  if (!run(queue_at(at.queue)))
    throw failure{
        {outcome::failed, errc::backend, "wait: work on the queue failed as it was told"}};
}

void* make_queue() {
  std::lock_guard const lock(device_lock());
  auto* const q = new queue;
  queues().made.insert(q);
  return q;
}
void drop_queue(void* handle) {
  std::lock_guard const lock(device_lock());
  queue& q = queue_at(handle);
  run(q);
  queues().made.erase(&q);
  delete &q;
}
std::size_t pending(void const* handle) {
  std::lock_guard const lock(device_lock());
  return queue_at(handle).items.size();
}
std::size_t launches() {
  std::lock_guard const lock(device_lock());
  return queues().launches;
}
std::size_t waits() {
  std::lock_guard const lock(device_lock());
  return queues().waits;
}
void fail_launch(std::size_t n) {
  std::lock_guard const lock(device_lock());
  queues().until_launch_fails = n;
}
void fail_execution(std::size_t n) {
  std::lock_guard const lock(device_lock());
  queues().until_execution_fails = n;
}

} // namespace tulle::test_device
