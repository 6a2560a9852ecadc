// SPDX-License-Identifier: Apache-2.0

/// Drawing inline SVG: scales with ticks, axes, curves, marks, legends. All text is escaped, and no
/// number that is not finite reaches the page.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tulle::bench::html {

/// For text and for attributes in double quotes. Control characters become spaces.
std::string escape(std::string_view text);
/// At most that many characters (of UTF-8, not bytes), the last an ellipsis where some were cut.
std::string shorten(std::string const& text, std::size_t characters);

struct tick {
  double at;
  std::string label;
};

/// From data to pixels.
struct scale {
  double from, to;   ///< of the data, from < to; both positive where log
  double start, end; ///< in pixels
  bool log = false;

  /// Finite for every v. What lies far outside stays just outside, where a clip hides it.
  double operator()(double v) const;
  /// Round values within, about as many as asked for.
  std::vector<tick> ticks(int about = 6) const;
};

/// Scales that hold all values with a little room. Values that cannot be drawn are left out;
/// without any, the scale is that of 0 to 1 (or 1 to 10).
scale linear_scale(std::vector<double> const& values, double start, double end);
scale log_scale(std::vector<double> const& values, double start, double end);

enum class shape { none, circle, square, triangle, diamond, wedge, cross, plus };

/// How a contestant is drawn. Colour is never alone: mark, dash or fill differ too.
struct look {
  std::string colour = "#222";
  std::string dash; ///< empty: a solid line
  shape mark = shape::none;
  bool filled = true;
  double width = 1.6;
  std::string inside = "#fff"; ///< of a mark that is not filled
};

struct point {
  double x, y; ///< in pixels
};

struct box {
  double left, top, width, height;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// One picture. Coordinates are pixels at full size; on a narrow screen it shrinks as a whole.
class drawing {
public:
  /// `title` is what a screen reader says.
  drawing(double width, double height, std::string_view title);

  /// `css` names classes of the page's style sheet.
  void line(point from, point to, std::string_view css);
  void line(point from, point to, look const& l);
  /// `attributes` is put into the tag as it is; `tip` is shown under the mouse.
  void rect(box b, std::string_view css, std::string_view attributes, std::string_view tip);
  /// `css` holds start, middle or end too.
  void text(point at, std::string_view css, std::string_view words);
  void text_upwards(point at, std::string_view css, std::string_view words);
  void curve(std::vector<point> const& points, look const& l);
  void mark(point at, look const& l, std::string_view tip = {});
  /// An interval with short ends; one that goes on past `limit` is cut there and has no end.
  void whisker_across(double y, double low, double high, double limit);
  void whisker_up(double x, double low, double high, double limit);
  /// Nothing outside of b is drawn until end_clip().
  void clip(box b);
  void end_clip();

  /// For a page, whose style sheet it follows.
  std::string str() const;
  /// A file of its own, with a style sheet of its own.
  std::string file(std::string_view style) const;

private:
  std::string size_, words_, body_;
};

/// Grid, tick labels and axis labels around b. An empty list of ticks: the scale's own.
void axes(drawing& d, box b, scale const& x, scale const& y, std::string_view x_label,
          std::string_view y_label, std::vector<tick> x_ticks = {}, std::vector<tick> y_ticks = {});

/// One line an entry, downwards from `at`.
void legend(drawing& d, point at, std::vector<std::pair<std::string, look>> const& entries);
constexpr double legend_step = 17;

/// Puts names beside points, each where it covers neither another name nor a point; a name that
/// fits nowhere is left out.
void place_names(drawing& d, box b, std::vector<std::pair<point, std::string>> const& names);

} // namespace tulle::bench::html
