// SPDX-License-Identifier: Apache-2.0

/// The tiles of panels out of the rows of csr, and their values out of another with its pattern.
#pragma once
#include "format/detail/panel_choice.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace tulle::detail {

/// A list that grows in the caller's memory resource, which may allow one thread at a time only.
template <class T>
struct growing {
  array<T> data;
  std::size_t size = 0;
  void push(T const& value, cpu const& where, std::mutex& one_at_a_time) {
    if (size == data.size()) {
      std::lock_guard const lock(one_at_a_time);
      array<T> more(std::max<std::size_t>(64, 2 * size), where.memory);
      std::copy_n(data.data(), size, more.data());
      data.swap(more);
    }
    data[size++] = value;
  }
};

/// Up to `most` objects in memory of the caller's memory resource.
template <class T>
class objects {
public:
  objects() = default;
  objects(std::size_t most, std::pmr::memory_resource* memory) : room_(most * sizeof(T), memory) {}
  objects(objects&& other) noexcept { *this = std::move(other); }
  objects& operator=(objects&& other) noexcept {
    room_.swap(other.room_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~objects() {
    for (T& object : *this)
      object.~T();
  }
  T& add(T&& object) { return *new (begin() + size_++) T(std::move(object)); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  T* begin() { return reinterpret_cast<T*>(room_.data()); }
  T* end() { return begin() + size_; }
  T const* begin() const { return reinterpret_cast<T const*>(room_.data()); }
  T const* end() const { return begin() + size_; }

private:
  array<std::byte> room_;
  std::size_t size_ = 0;
};

/// Prefetches an array from front to back into the second cache, some bytes at a time.
class slow_ask {
public:
  slow_ask() = default;
  template <class T>
  slow_ask(T const* p, std::size_t n)
      : at_(reinterpret_cast<char const*>(p)), end_(reinterpret_cast<char const*>(p + n)) {}
  void go_on(std::size_t bytes) {
    // at_ goes by cache lines and may pass end_.
    char const* const stop = end_ - at_ > static_cast<std::ptrdiff_t>(bytes) ? at_ + bytes : end_;
    for (; at_ < stop; at_ += 64)
      __builtin_prefetch(at_, 0, 2);
  }

private:
  char const* at_ = nullptr;
  char const* end_ = nullptr;
};

/// Goes through a csr by tiles. Work is cut into units of a group by some panels, which are
/// independent of each other.
template <class V, class I, class O>
class tile_builder {
public:
  tile_builder(csr_view<V, I, O> const& a, array<I> const& group_ptr, int width,
               array<I> const& order, cpu const& where);

  /// Columns and values in the order of tiles; the rest is kept until join().
  void shape(panels_options const& o, array<std::uint16_t>& col, array<V>& val);
  std::size_t tiles() const { return tiles_; }
  std::size_t runs() const { return runs_; }
  std::size_t slots() const { return slots_; }
  /// What shape() kept goes into the arrays of b, which have the sizes that it says.
  template <class Panels>
  void join(Panels& b) const;
  /// The values of the csr in the order of b, which has columns in theirs; false where its pattern
  /// is another. No val: only that.
  template <class View>
  bool follow(View const& b, V* val);
  /// The same for any b, with room for the entries.
  template <class View>
  bool refill(View const& b, V* val);

private:
  struct tile {
    std::size_t panel, entry, slot, run; // where it begins; slot and run count from the unit's
  };
  struct run {
    I len;
    O count;
  };
  struct unit {
    std::size_t group, first, last; // panels
    std::size_t begin = 0;          // entries before it
    std::size_t entries = 0, slots = 0;
    growing<tile> tiles;
    growing<run> runs;
  };
  struct segment { // of a row, in a tile
    std::size_t begin, length;
  };
  /// One thread's room: a unit's entries by panel, and what a tile's shape needs.
  struct room {
    array<std::uint16_t> row, col;
    array<V> val;
    array<O> ptr; // where panels begin
    array<segment> segments, sorted;
    array<std::size_t> count;
    array<std::uint64_t> singles;
  };

  std::size_t place(I column) const {
    return static_cast<std::size_t>(place_.empty() ? column
                                                   : place_[static_cast<std::size_t>(column)]);
  }
  /// The first entry of row i from that panel on.
  O row_at(std::size_t i, std::size_t panel) const {
    if (panel == 0 || panel == panels_)
      return a_.row_ptr[i + (panel != 0)];
    return static_cast<O>(
        std::partition_point(a_.col + a_.row_ptr[i], a_.col + a_.row_ptr[i + 1],
                             [&](I j) { return static_cast<std::size_t>(j) >> shift_ < panel; }) -
        a_.col);
  }
  /// The first tile of b from the unit's first panel on, or the first after its last panel.
  template <class View>
  std::size_t first_tile(View const& b, unit const& u, bool behind = false) const {
    return static_cast<std::size_t>(
        std::partition_point(
            b.tile_panel + b.group_tile[u.group], b.tile_panel + b.group_tile[u.group + 1],
            [&](I p) { return static_cast<std::size_t>(p) < (behind ? u.last : u.first); }) -
        b.tile_panel);
  }
  template <class F>
  void each_entry(unit const& u, F&& f) const;
  room make_room() const;
  void make_room_for_shapes(room& r, panels_options const& o) const;
  bool bucket(unit const& u, room& r) const;
  void shape_tile(unit& u, room& r, std::size_t panel, std::size_t begin, std::size_t end,
                  panels_options const& o, std::uint16_t* col, V* val);
  template <class F>
  void each_unit(F&& f);
  template <class View, class T, class F>
  bool follow_tile(View const& b, std::size_t t, O const* row_end, O* at_row, T const* array,
                   slow_ask& soon, F&& f) const;

  csr_view<V, I, O> a_;
  array<I> const& group_ptr_;
  cpu where_;
  int shift_;
  int parts_;
  std::size_t panels_;
  std::size_t most_entries_ = 0, most_rows_ = 0, most_panels_ = 0; // of a unit
  std::size_t tiles_ = 0, runs_ = 0, slots_ = 0;
  array<I> place_;           // of a column, where they go by order
  array<std::uint16_t> row_; // slots of units, each where its entries begin
  objects<unit> units_;
  std::mutex growing_;
};

template <class V, class I, class O>
tile_builder<V, I, O>::tile_builder(csr_view<V, I, O> const& a, array<I> const& group_ptr,
                                    int width, array<I> const& order, cpu const& where)
    : a_(a), group_ptr_(group_ptr), where_(where),
      shift_(std::countr_zero(static_cast<unsigned>(width))),
      parts_(parts_for(static_cast<std::size_t>(a.nnz), where.threads)) {
  auto const places = order.empty() ? static_cast<std::size_t>(a.cols) : order.size();
  panels_ = (places + static_cast<std::size_t>(width) - 1) >> shift_;
  if (!order.empty()) {
    place_ = array<I>(static_cast<std::size_t>(a.cols), I(-1), where.memory);
    for (std::size_t l = 0; l < order.size(); ++l)
      place_[static_cast<std::size_t>(order[l])] = static_cast<I>(l);
  }
  // A few units per thread, and no more entries in one than the last cache holds; by panels only
  // where a row's entries are in their order.
  std::size_t const share = std::min<std::size_t>(
      1 << 20, static_cast<std::size_t>(a.nnz) / (4 * static_cast<std::size_t>(parts_)) + 1);
  std::size_t const groups = group_ptr.empty() ? 0 : group_ptr.size() - 1;
  auto const entries_of = [&](std::size_t g) {
    return static_cast<std::size_t>(a.row_ptr[group_ptr[g + 1]] - a.row_ptr[group_ptr[g]]);
  };
  auto const spans_of = [&](std::size_t g) {
    return order.empty() ? std::clamp<std::size_t>(entries_of(g) / share, 1,
                                                   std::max<std::size_t>(panels_, 1))
                         : 1;
  };
  std::size_t units = 0;
  for (std::size_t g = 0; g < groups; ++g)
    units += spans_of(g);
  units_ = objects<unit>(units, where.memory);
  for (std::size_t g = 0; g < groups; ++g) {
    auto const first = static_cast<std::size_t>(group_ptr[g]);
    auto const last = static_cast<std::size_t>(group_ptr[g + 1]);
    std::size_t const entries = entries_of(g), spans = spans_of(g);
    for (std::size_t s = 0; s < spans; ++s) {
      unit u;
      u.group = g;
      u.first = panels_ * s / spans;
      u.last = panels_ * (s + 1) / spans;
      u.entries = entries;
      units_.add(std::move(u));
      most_panels_ = std::max(most_panels_, panels_ * (s + 1) / spans - panels_ * s / spans);
    }
    most_rows_ = std::max(most_rows_, last - first);
  }
  each_unit([&](unit& u, int) {
    if (u.last - u.first == panels_)
      return;
    u.entries = 0;
    for (I i = group_ptr_[u.group]; i < group_ptr_[u.group + 1]; ++i)
      u.entries += static_cast<std::size_t>(row_at(static_cast<std::size_t>(i), u.last) -
                                            row_at(static_cast<std::size_t>(i), u.first));
  });
  std::size_t begin = 0;
  for (unit& u : units_) {
    u.begin = begin;
    begin += u.entries;
    most_entries_ = std::max(most_entries_, u.entries);
  }
}

/// f(unit, part), in parallel; units of many entries and few do not go to one part.
template <class V, class I, class O>
template <class F>
void tile_builder<V, I, O>::each_unit(F&& f) {
  parallel_each(units_.size(), parts_, [&](std::size_t n, int part) { f(units_[n], part); });
}

/// f(row in group, place, position in csr) for the entries of a unit, row by row.
template <class V, class I, class O>
template <class F>
void tile_builder<V, I, O>::each_entry(unit const& u, F&& f) const {
  auto const first = static_cast<std::size_t>(group_ptr_[u.group]);
  auto const last = static_cast<std::size_t>(group_ptr_[u.group + 1]);
  bool const whole = u.last - u.first == panels_;
  for (std::size_t i = first; i < last; ++i) {
    O const end = whole ? a_.row_ptr[i + 1] : row_at(i, u.last);
    for (O k = whole ? a_.row_ptr[i] : row_at(i, u.first); k < end; ++k)
      f(i - first, place(a_.col[k]), static_cast<std::size_t>(k));
  }
}

template <class V, class I, class O>
auto tile_builder<V, I, O>::make_room() const -> room {
  room r;
  r.row = array<std::uint16_t>(most_entries_, where_.memory);
  r.col = array<std::uint16_t>(most_entries_, where_.memory);
  r.val = array<V>(most_entries_, where_.memory);
  r.ptr = array<O>(most_panels_ + 1, where_.memory);
  return r;
}

template <class V, class I, class O>
void tile_builder<V, I, O>::make_room_for_shapes(room& r, panels_options const& o) const {
  std::size_t const rows = std::min(most_rows_, most_entries_);
  r.segments = array<segment>(rows, where_.memory);
  r.sorted = array<segment>(rows, where_.memory);
  r.count = array<std::size_t>((std::size_t(1) << shift_) + 2, where_.memory);
  r.singles = array<std::uint64_t>(
      std::min(most_entries_, rows * static_cast<std::size_t>(o.piece)), where_.memory);
}

/// The entries of a unit by panel, rows and columns ascending; false where a column has no place.
template <class V, class I, class O>
bool tile_builder<V, I, O>::bucket(unit const& u, room& r) const {
  std::size_t const n = u.last - u.first;
  O* const next = r.ptr.data();
  std::fill_n(next, n + 1, O(0));
  bool good = true;
  each_entry(u, [&](std::size_t, std::size_t place, std::size_t) {
    std::size_t const p = (place >> shift_) - u.first;
    if (p < n)
      ++next[p];
    else
      good = false;
  });
  if (!good)
    return false;
  O sum = 0;
  for (std::size_t p = 0; p <= n; ++p)
    sum = static_cast<O>(sum + std::exchange(next[p], sum));
  auto const mask = (std::size_t(1) << shift_) - 1;
  each_entry(u, [&](std::size_t i, std::size_t place, std::size_t k) {
    auto const at = static_cast<std::size_t>(next[(place >> shift_) - u.first]++);
    r.row[at] = static_cast<std::uint16_t>(i);
    r.col[at] = static_cast<std::uint16_t>(place & mask);
    r.val[at] = a_.val[k];
  });
  for (std::size_t p = n; p > 0; --p) // each is now where its panel ends
    next[p] = next[p - 1];
  next[0] = 0;
  return true;
}

/// Entries [begin, end) of the room as a tile.
template <class V, class I, class O>
void tile_builder<V, I, O>::shape_tile(unit& u, room& r, std::size_t panel, std::size_t begin,
                                       std::size_t end, panels_options const& o, std::uint16_t* col,
                                       V* val) {
  std::size_t at = u.begin + begin; // of the entries written
  std::uint16_t* const slots = row_.data() + u.begin;
  u.tiles.push({panel, at, u.slots, u.runs.size}, where_, growing_);
  std::size_t const first_run = u.runs.size;
  auto const put = [&](std::size_t k) {
    col[at] = r.col[k];
    val[at++] = r.val[k];
  };
  auto const add_to_run = [&](std::size_t length, bool wide) {
    auto const len = static_cast<I>(wide ? static_cast<I>(length) : -static_cast<I>(length));
    if (u.runs.size > first_run && u.runs.data[u.runs.size - 1].len == len)
      ++u.runs.data[u.runs.size - 1].count;
    else
      u.runs.push({len, O(1)}, where_, growing_);
  };

  // Rows, the longest first.
  std::size_t n = 0;
  std::size_t longest = 0;
  for (std::size_t k = begin; k < end;) {
    std::size_t const first = k;
    while (++k < end && r.row[k] == r.row[first]) {
    }
    r.segments[n++] = {first, k - first};
    longest = std::max(longest, k - first);
  }
  std::fill_n(r.count.data(), longest + 2, std::size_t(0));
  for (std::size_t s = 0; s < n; ++s)
    ++r.count[longest - r.segments[s].length + 1];
  for (std::size_t c = 0; c < longest; ++c)
    r.count[c + 1] += r.count[c];
  for (std::size_t s = 0; s < n; ++s)
    r.sorted[r.count[longest - r.segments[s].length]++] = r.segments[s];

  // Side by side while at most half of their entries are left over.
  auto const side = static_cast<std::size_t>(o.lanes);
  std::size_t left = 0; // segments that are left over, from r.segments on
  for (std::size_t s = 0; s < n;) {
    std::size_t sum = 0;
    if (s + side <= n)
      for (std::size_t lane = 0; lane < side; ++lane)
        sum += r.sorted[s + lane].length;
    std::size_t const length = s + side <= n ? r.sorted[s + side - 1].length : 0;
    if (2 * side * length < sum || length == 0) {
      r.segments[left++] = r.sorted[s++];
      continue;
    }
    for (std::size_t lane = 0; lane < side; ++lane) {
      segment const& row = r.sorted[s + lane];
      slots[u.slots++] = r.row[row.begin];
      if (row.length > length)
        r.segments[left++] = {row.begin + length, row.length - length};
    }
    for (std::size_t k = 0; k < length; ++k)
      for (std::size_t lane = 0; lane < side; ++lane)
        put(r.sorted[s + lane].begin + k);
    add_to_run(length, true);
    s += side;
  }

  // The rest, row by row where that is worth it, else entry by entry and by column.
  std::sort(r.segments.data(), r.segments.data() + left, [](segment const& p, segment const& q) {
    return p.length != q.length ? p.length > q.length : p.begin < q.begin;
  });
  std::size_t singles = 0;
  for (std::size_t s = 0; s < left; ++s) {
    segment const& row = r.segments[s];
    if (row.length < static_cast<std::size_t>(o.piece) || row.length == 1) {
      for (std::size_t k = row.begin; k < row.begin + row.length; ++k)
        r.singles[singles++] = static_cast<std::uint64_t>(r.col[k]) << 48 | k;
      continue;
    }
    slots[u.slots++] = r.row[row.begin];
    for (std::size_t k = 0; k < row.length; ++k)
      put(row.begin + k);
    add_to_run(row.length, false);
  }
  std::sort(r.singles.data(), r.singles.data() + singles);
  for (std::size_t s = 0; s < singles; ++s) {
    std::size_t const k = r.singles[s] & ((std::uint64_t(1) << 48) - 1);
    slots[u.slots++] = r.row[k];
    put(k);
    add_to_run(1, false);
  }
}

template <class V, class I, class O>
void tile_builder<V, I, O>::shape(panels_options const& o, array<std::uint16_t>& col,
                                  array<V>& val) {
  auto const nnz = static_cast<std::size_t>(a_.nnz);
  col = array<std::uint16_t>(nnz, where_.memory);
  val = array<V>(nnz, where_.memory);
  row_ = array<std::uint16_t>(nnz, where_.memory);
  objects<room> rooms(static_cast<std::size_t>(parts_), where_.memory);
  for (int part = 0; part < parts_; ++part)
    make_room_for_shapes(rooms.add(make_room()), o);
  each_unit([&](unit& u, int part) {
    room& r = rooms[static_cast<std::size_t>(part)];
    bucket(u, r);
    for (std::size_t p = u.first; p < u.last; ++p) {
      auto const begin = static_cast<std::size_t>(r.ptr[p - u.first]);
      auto const end = static_cast<std::size_t>(r.ptr[p - u.first + 1]);
      if (begin != end)
        shape_tile(u, r, p, begin, end, o, col.data(), val.data());
    }
  });
  for (unit const& u : units_) {
    tiles_ += u.tiles.size;
    runs_ += u.runs.size;
    slots_ += u.slots;
  }
  for (std::size_t const size : {tiles_, runs_, slots_})
    narrow<O>(size, "number of tiles");
}

template <class V, class I, class O>
template <class Panels>
void tile_builder<V, I, O>::join(Panels& b) const {
  std::size_t t = 0;
  std::size_t run = 0;
  std::size_t slot = 0;
  std::size_t group = 0;
  b.group_tile[0] = 0;
  for (unit const& u : units_) {
    for (std::size_t k = 0; k < u.tiles.size; ++k, ++t) {
      tile const& from = u.tiles.data[k];
      b.tile_panel[t] = static_cast<I>(from.panel);
      b.tile_ptr[t] = static_cast<O>(from.entry);
      b.slot_ptr[t] = static_cast<O>(slot + from.slot);
      b.run_ptr[t] = static_cast<O>(run + from.run);
    }
    for (std::size_t k = 0; k < u.runs.size; ++k, ++run) {
      b.run_len[run] = u.runs.data[k].len;
      b.run_count[run] = u.runs.data[k].count;
    }
    std::copy_n(row_.data() + u.begin, u.slots, b.row.data() + slot);
    slot += u.slots;
    group = u.group;
    b.group_tile[group + 1] = static_cast<O>(t);
  }
  b.tile_ptr[t] = a_.nnz;
  b.slot_ptr[t] = static_cast<O>(slot);
  b.run_ptr[t] = static_cast<O>(run);
}

} // namespace tulle::detail
