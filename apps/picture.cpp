// SPDX-License-Identifier: Apache-2.0
#include "apps/picture.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/format/coo.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <png.h>

namespace tulle::app {
namespace {

constexpr std::size_t margin_pixels = 7;
// A side is drawn no shorter than this part of the other, or a wide matrix would be a line.
constexpr std::size_t longest_ratio = 6;
constexpr std::size_t grid_from = 8; // pixels a cell, from which cells are told apart by lines
constexpr std::uint64_t one = std::uint64_t{1}
                              << 16; // an entry's weight, in fixed point: sums have no order

axis make_axis(std::size_t n, std::size_t pixels) {
  if (n == 0)
    return {0, 1, pixels};
  if (n > pixels)
    return {n, pixels, 1};
  return {n, n, pixels / n};
}

// The bins that [i, i + 1) of n covers, when n >= bins: `first`, and the next for what is left of
// the weight.
struct place {
  std::uint32_t first;
  std::uint32_t in_first; ///< of `unit`
};
constexpr std::uint32_t unit = 256;

// Where the rows or columns of a matrix fall.
class places {
public:
  places(axis const& a, std::size_t entries) : bins_(a.bins), n_(a.n) {
    for (; n_ >> 48 != 0; ++shift_) // products with bins are to fit 64 bits
      n_ = n_ / 2 + 1;
    if (a.n > entries)
      return;
    table_.reserve(a.n); // an entry should not cost a division
    for (std::size_t i = 0; i < a.n; ++i)
      table_.push_back(compute(i));
  }
  place operator[](std::size_t i) const { return table_.empty() ? compute(i) : table_[i]; }

private:
  place compute(std::size_t index) const {
    std::size_t const i = index >> shift_;
    std::size_t const first = i * bins_ / n_;
    std::size_t const border = (first + 1) * n_; // in units of 1 / bins of a row
    std::size_t const end = (i + 1) * bins_;
    std::size_t const over = end > border ? (end - border) * unit / bins_ : 0;
    return {static_cast<std::uint32_t>(first), unit - static_cast<std::uint32_t>(over)};
  }

  std::size_t bins_, n_;
  int shift_ = 0;
  std::vector<place> table_;
};

// f(row, column) for the entries of one part.
template <class V, class I, class O, class F>
void each_entry(csr_view<V, I, O> const& a, int part, int parts, F f) {
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const end = tulle::split_by_entries(a.row_ptr, n, part + 1, parts);
  for (std::size_t i = tulle::split_by_entries(a.row_ptr, n, part, parts); i < end; ++i)
    for (auto k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      f(i, static_cast<std::size_t>(a.col[k]));
}
template <class V, class I, class O, class F>
void each_entry(coo_view<V, I, O> const& a, int part, int parts, F f) {
  auto const n = static_cast<std::size_t>(a.nnz);
  std::size_t const end = tulle::split(n, part + 1, parts);
  for (std::size_t k = tulle::split(n, part, parts); k < end; ++k)
    f(static_cast<std::size_t>(a.row[k]), static_cast<std::size_t>(a.col[k]));
}

struct colour {
  double l, a, b;
};

double to_linear(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}
double from_linear(double c) {
  return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
}

// OKLab (B. Ottosson, 2020): equal steps look equal, so a mix of two colours in it has no muddy
// middle.
colour to_oklab(rgb const& c) {
  double const r = to_linear(c[0] / 255.0);
  double const g = to_linear(c[1] / 255.0);
  double const b = to_linear(c[2] / 255.0);
  double const l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  double const m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  double const s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

rgb from_oklab(colour const& c) {
  double const l = std::pow(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
  double const m = std::pow(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
  double const s = std::pow(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);
  auto byte = [](double v) {
    return static_cast<std::uint8_t>(
        std::lround(255 * std::clamp(from_linear(std::clamp(v, 0.0, 1.0)), 0.0, 1.0)));
  };
  return {byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

struct theme {
  rgb paper, frame, grid;
  std::array<rgb, 6> scale; ///< from no entry to the fullest bin, evenly spaced
};

constexpr theme light{{255, 255, 255},
                      {150, 158, 168},
                      {234, 237, 241},
                      {{{255, 255, 255},
                        {173, 220, 222},
                        {82, 170, 196},
                        {42, 112, 173},
                        {44, 60, 130},
                        {27, 18, 62}}}};
constexpr theme night{{16, 18, 26},
                      {84, 90, 106},
                      {34, 38, 50},
                      {{{16, 18, 26},
                        {74, 35, 110},
                        {157, 46, 116},
                        {226, 84, 84},
                        {251, 162, 85},
                        {252, 240, 190}}}};

// Of a sequence, first to last: blue, green, yellow, red. Neighbours differ in lightness too.
constexpr std::array<rgb, 6> sequence = {
    {{38, 60, 140}, {34, 120, 190}, {50, 172, 150}, {150, 205, 95}, {250, 205, 70}, {225, 85, 60}}};

// 256 steps of a scale.
std::array<rgb, 256> ramp(std::array<rgb, 6> const& scale) {
  std::array<rgb, 256> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    double const at = static_cast<double>(i) / 255 * static_cast<double>(scale.size() - 1);
    std::size_t const k = std::min(static_cast<std::size_t>(at), scale.size() - 2);
    double const f = at - static_cast<double>(k);
    colour const p = to_oklab(scale[k]);
    colour const q = to_oklab(scale[k + 1]);
    out[i] = from_oklab({p.l + f * (q.l - p.l), p.a + f * (q.a - p.a), p.b + f * (q.b - p.b)});
  }
  return out;
}

// A frame around the bins, each in the colour that f says.
template <class F>
std::vector<std::uint8_t> paint_bins(layout const& l, theme const& t, F&& colour_of) {
  std::size_t const width = l.width();
  std::size_t const height = l.height();
  std::vector<std::uint8_t> pixels(3 * width * height);
  auto set = [&](std::size_t y, std::size_t x, rgb const& c) {
    std::copy(c.begin(), c.end(),
              pixels.begin() + static_cast<std::ptrdiff_t>(3 * (y * width + x)));
  };
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      set(y, x, t.paper);
  std::size_t const left = l.margin;
  std::size_t const right = width - 1 - l.margin;
  std::size_t const bottom = height - 1 - l.margin;
  for (std::size_t x = left; x <= right; ++x) {
    set(left, x, t.frame);
    set(bottom, x, t.frame);
  }
  for (std::size_t y = left; y <= bottom; ++y) {
    set(y, left, t.frame);
    set(y, right, t.frame);
  }
  bool const lines = std::min(l.y.cell, l.x.cell) >= grid_from && l.y.n != 0 && l.x.n != 0;
  std::size_t const origin = l.margin + 1;
  for (std::size_t y = 0; y < l.y.pixels(); ++y)
    for (std::size_t x = 0; x < l.x.pixels(); ++x) {
      bool const on_line = lines && (((y + 1) % l.y.cell == 0 && y + 1 != l.y.pixels()) ||
                                     ((x + 1) % l.x.cell == 0 && x + 1 != l.x.pixels()));
      set(origin + y, origin + x,
          on_line ? t.grid : colour_of(y / l.y.cell * l.x.bins + x / l.x.cell));
    }
  return pixels;
}

} // namespace

layout lay_out(std::size_t rows, std::size_t cols, std::size_t size) {
  layout l;
  l.margin = size > 8 * margin_pixels ? margin_pixels : 0;
  std::size_t const room = std::max<std::size_t>(size - 2 * (l.margin + 1), 1);
  std::size_t const n = std::max<std::size_t>({rows, cols, 1});
  // Square cells; a side that would vanish is stretched.
  auto wanted = [&](std::size_t side) {
    double const exact =
        static_cast<double>(room) * static_cast<double>(side) / static_cast<double>(n);
    std::size_t const scaled = n <= room ? room / n * side : static_cast<std::size_t>(exact + 0.5);
    return std::max({scaled, room / longest_ratio, std::size_t{1}});
  };
  l.y = make_axis(rows, wanted(rows));
  l.x = make_axis(cols, wanted(cols));
  return l;
}

std::vector<double> bin_entries(any_matrix const& a, layout const& l) {
  std::size_t const bins = l.y.bins * l.x.bins;
  std::vector<double> out(bins);
  if (a.nnz() == 0)
    return out;
  places const rows(l.y, a.nnz());
  places const cols(l.x, a.nnz());
  auto const deal = [&](auto const& view) {
    int const parts = tulle::parts_for(a.nnz(), 0, std::max(bins, std::size_t{1} << 18));
    std::vector<std::vector<std::uint64_t>> mine(static_cast<std::size_t>(parts));
    tulle::parallel(parts, [&](int part) {
      auto& count = mine[static_cast<std::size_t>(part)];
      count.resize(bins);
      each_entry(view, part, parts, [&](std::size_t i, std::size_t j) {
        place const y = rows[i];
        place const x = cols[j];
        std::uint64_t* const upper = count.data() + y.first * l.x.bins;
        upper[x.first] += y.in_first * x.in_first;
        if (x.in_first != unit)
          upper[x.first + 1] += y.in_first * (unit - x.in_first);
        if (y.in_first != unit) {
          std::uint64_t* const lower = upper + l.x.bins;
          lower[x.first] += (unit - y.in_first) * x.in_first;
          if (x.in_first != unit)
            lower[x.first + 1] += (unit - y.in_first) * (unit - x.in_first);
        }
      });
    });
    static_assert(unit * unit == one);
    for (auto const& count : mine)
      for (std::size_t b = 0; b < bins; ++b)
        out[b] += static_cast<double>(count[b]) / static_cast<double>(one);
  };
  visit(a.type(), [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    void const* const view = a.ref().view;
    if (a.format() == format::coo)
      deal(*static_cast<coo_view<V, I, O> const*>(view));
    else
      deal(*static_cast<csr_view<V, I, O> const*>(view));
  });
  return out;
}

std::vector<std::uint8_t> paint(std::vector<double> const& weight, layout const& l, bool dark) {
  theme const& t = dark ? night : light;
  std::array<rgb, 256> const colours = ramp(t.scale);
  // By the logarithm of the weight, from `single` for one entry to `top` for the fullest bin; parts
  // of an entry fade out below that. The closer the bins are in weight, the darker one entry, and
  // black needs a contrast to show.
  double const most = weight.empty() ? 0 : *std::max_element(weight.begin(), weight.end());
  double const range = std::log(std::max(most, 1.0));
  double const top = 0.8 + 0.2 * std::min(1.0, range / std::log(8.0));
  double const single = 0.8 - 0.42 * std::min(1.0, range / std::log(200.0));
  return paint_bins(l, t, [&](std::size_t bin) {
    double const w = weight[bin];
    double const s = w <= 1 ? w * single : single + (top - single) * std::log(w) / range;
    return colours[static_cast<std::size_t>(std::lround(255 * std::clamp(s, 0.0, 1.0)))];
  });
}

std::vector<std::uint8_t> paint_sequence(std::vector<double> const& at, layout const& l,
                                         bool dark) {
  theme const& t = dark ? night : light;
  std::array<rgb, 256> const colours = ramp(sequence);
  return paint_bins(l, t, [&](std::size_t bin) {
    return at[bin] < 0
               ? t.paper
               : colours[static_cast<std::size_t>(std::lround(255 * std::min(at[bin], 1.0)))];
  });
}

void write_png(std::string const& path, std::vector<std::uint8_t> const& pixels, std::size_t width,
               std::size_t height) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<unsigned char> bytes(size);
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr))
    fail(errc::io, "%s: %s", path.c_str(), image.message);
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (!file)
    fail(errc::io, "%s: cannot be written: %s", path.c_str(), std::strerror(errno));
  bool good = std::fwrite(bytes.data(), 1, size, file) == size;
  good = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good)
    fail(errc::io, "%s: cannot be written: %s", path.c_str(), std::strerror(errno));
}

} // namespace tulle::app
