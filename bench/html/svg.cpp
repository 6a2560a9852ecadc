// SPDX-License-Identifier: Apache-2.0
#include "bench/html/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace tulle::bench::html {
namespace {

std::string px(double v) {
  return std::isfinite(v) ? fmt::format("{:.1f}", v) : "0";
}

std::string stroke(look const& l) {
  std::string out =
      fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", l.colour, px(l.width));
  if (!l.dash.empty())
    out += fmt::format(" stroke-dasharray=\"{}\"", l.dash);
  return out;
}

/// The outline of a mark around (x, y), r pixels wide each way; open ones are strokes only.
std::string outline(shape s, double x, double y, double r) {
  auto at = [&](double dx, double dy) { return px(x + dx * r) + " " + px(y + dy * r); };
  switch (s) {
  case shape::square:
    return "M" + at(-.9, -.9) + "L" + at(.9, -.9) + "L" + at(.9, .9) + "L" + at(-.9, .9) + "Z";
  case shape::triangle:
    return "M" + at(0, -1.1) + "L" + at(1.1, .9) + "L" + at(-1.1, .9) + "Z";
  case shape::diamond:
    return "M" + at(0, -1.3) + "L" + at(1.3, 0) + "L" + at(0, 1.3) + "L" + at(-1.3, 0) + "Z";
  case shape::wedge:
    return "M" + at(0, 1.1) + "L" + at(1.1, -.9) + "L" + at(-1.1, -.9) + "Z";
  case shape::cross:
    return "M" + at(-1, -1) + "L" + at(1, 1) + "M" + at(-1, 1) + "L" + at(1, -1);
  case shape::plus:
    return "M" + at(-1.2, 0) + "L" + at(1.2, 0) + "M" + at(0, -1.2) + "L" + at(0, 1.2);
  default:
    return {};
  }
}

} // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (char const c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return out;
}

std::string shorten(std::string const& text, std::size_t characters) {
  std::size_t seen = 0;
  std::size_t keep = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) { // not the middle of a character
      if (seen + 1 == characters)
        keep = i;
      if (seen++ == characters)
        return text.substr(0, keep) + "…";
    }
  return text;
}

drawing::drawing(double width, double height, std::string_view title)
    : size_(px(width) + " " + px(height)), words_(escape(title)) {}

std::string drawing::str() const {
  return fmt::format("<svg viewBox=\"0 0 {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", size_,
                     words_, body_);
}

std::string drawing::file(std::string_view style) const {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {}\" role=\"img\" "
                     "aria-label=\"{}\">\n<style>\n{}</style>\n{}</svg>\n",
                     size_, words_, style, body_);
}

void drawing::line(point from, point to, std::string_view css) {
  fmt::format_to(std::back_inserter(body_),
                 "<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", css, px(from.x),
                 px(from.y), px(to.x), px(to.y));
}

void drawing::line(point from, point to, look const& l) {
  fmt::format_to(std::back_inserter(body_), "<path d=\"M{} {}L{} {}\" {}/>\n", px(from.x),
                 px(from.y), px(to.x), px(to.y), stroke(l));
}

void drawing::rect(box b, std::string_view css, std::string_view attributes, std::string_view tip) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}>"
                 "<title>{}</title></rect>\n",
                 css, px(b.left), px(b.top), px(std::max(0.0, b.width)),
                 px(std::max(0.0, b.height)), attributes, escape(tip));
}

void drawing::text(point at, std::string_view css, std::string_view words) {
  fmt::format_to(std::back_inserter(body_), "<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", css,
                 px(at.x), px(at.y), escape(words));
}

void drawing::text_upwards(point at, std::string_view css, std::string_view words) {
  fmt::format_to(std::back_inserter(body_),
                 "<text class=\"{}\" transform=\"translate({} {}) rotate(-90)\">{}</text>\n", css,
                 px(at.x), px(at.y), escape(words));
}

void drawing::curve(std::vector<point> const& points, look const& l) {
  if (points.empty())
    return;
  std::string d;
  for (point const& p : points)
    d += (d.empty() ? "M" : "L") + px(p.x) + " " + px(p.y);
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" {}/>\n", d, stroke(l));
}

void drawing::mark(point at, look const& l, std::string_view tip) {
  if (l.mark == shape::none)
    return;
  bool const open = l.mark == shape::cross || l.mark == shape::plus;
  auto const paint = fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1.3\"",
                                 open       ? "none"
                                 : l.filled ? l.colour
                                            : l.inside,
                                 l.colour);
  if (l.mark == shape::circle)
    fmt::format_to(std::back_inserter(body_), "<circle cx=\"{}\" cy=\"{}\" r=\"3.4\" {}>", px(at.x),
                   px(at.y), paint);
  else
    fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" {}>",
                   outline(l.mark, at.x, at.y, 3.4), paint);
  if (!tip.empty())
    body_ += "<title>" + escape(tip) + "</title>";
  body_ += l.mark == shape::circle ? "</circle>\n" : "</path>\n";
}

void drawing::whisker_across(double y, double low, double high, double limit) {
  std::string d = fmt::format("M{0} {2}L{1} {2}", px(low), px(std::min(high, limit)), px(y));
  for (double const x : {low, high})
    if (x <= limit)
      d += fmt::format("M{0} {1}L{0} {2}", px(x), px(y - 2.5), px(y + 2.5));
  fmt::format_to(std::back_inserter(body_), "<path class=\"whisker\" d=\"{}\"/>\n", d);
}

void drawing::whisker_up(double x, double low, double high, double limit) {
  std::string d = fmt::format("M{2} {0}L{2} {1}", px(low), px(std::max(high, limit)), px(x));
  for (double const y : {low, high})
    if (y >= limit)
      d += fmt::format("M{0} {2}L{1} {2}", px(x - 2.5), px(x + 2.5), px(y));
  fmt::format_to(std::back_inserter(body_), "<path class=\"whisker\" d=\"{}\"/>\n", d);
}

void drawing::clip(box b) {
  // A nested svg clips by itself and needs no id, which another picture of the page might have.
  fmt::format_to(std::back_inserter(body_),
                 "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} "
                 "{3}\">\n",
                 px(b.left), px(b.top), px(b.width), px(b.height));
}

void drawing::end_clip() {
  body_ += "</svg>\n";
}

void legend(drawing& d, point at, std::vector<std::pair<std::string, look>> const& entries) {
  for (auto const& [name, l] : entries) {
    d.line({at.x, at.y}, {at.x + 26, at.y}, l);
    d.mark({at.x + 13, at.y}, l);
    d.text({at.x + 33, at.y + 4}, "start", shorten(name, 26));
    at.y += legend_step;
  }
}

void place_names(drawing& d, box b, std::vector<std::pair<point, std::string>> const& names) {
  std::vector<box> taken;
  for (auto const& [p, name] : names)
    taken.push_back({p.x - 4, p.y - 4, 8, 8});
  auto const clashes = [](box const& a, box const& c) {
    return a.left < c.right() && c.left < a.right() && a.top < c.bottom() && c.top < a.bottom();
  };
  for (auto const& [p, name] : names) {
    auto const words = shorten(name, 24);
    double const width = 5.7 * static_cast<double>(words.size()) + 2; // of 10.5 px sans, measured
    struct place {
      box b;
      point at;
      char const* css;
    };
    place const places[] = {
        {{p.x + 6, p.y - 6, width, 12}, {p.x + 7, p.y + 3.5}, "start small"},
        {{p.x - 6 - width, p.y - 6, width, 12}, {p.x - 7, p.y + 3.5}, "end small"},
        {{p.x - width / 2, p.y - 18, width, 12}, {p.x, p.y - 8.5}, "middle small"},
        {{p.x - width / 2, p.y + 6, width, 12}, {p.x, p.y + 15.5}, "middle small"}};
    for (place const& here : places) {
      if (here.b.left < b.left || here.b.right() > b.right() || here.b.top < b.top ||
          here.b.bottom() > b.bottom() ||
          std::any_of(taken.begin(), taken.end(), [&](box const& t) { return clashes(t, here.b); }))
        continue;
      taken.push_back(here.b);
      d.text(here.at, here.css, words);
      break;
    }
  }
}

} // namespace tulle::bench::html
