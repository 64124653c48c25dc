#pragma once

// Line charts and heat maps as SVG text, for the figures of docs/planner-trees.md.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace weir::planner::tree {

// Colour-blind safe (Okabe and Ito 2008).
inline constexpr std::array<const char*, 8> kChartColours = {
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"};

inline std::string Fixed(double value, const char* format = "%.1f") {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// 100, 3.2k, 1M: short enough for a column head.
inline std::string ShortNumber(double value) {
  if (value >= 1e6) return Fixed(value / 1e6, "%.2gM");
  if (value >= 1e3) return Fixed(value / 1e3, value >= 1e5 ? "%.3gk" : "%.2gk");
  return Fixed(value, "%.3g");
}

struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct ChartAxes {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool x_log = false;
  double y_from = 0;
  double y_to = 1;
};

inline std::string SvgText(double x, double y, const std::string& text,
                           const std::string& more = "") {
  return "<text x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" " + more + ">" + text + "</text>\n";
}

inline std::string SvgOpen(double width, double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Fixed(width, "%.0f") +
         "\" height=\"" + Fixed(height, "%.0f") +
         "\" font-family=\"sans-serif\" font-size=\"11\">\n<title>" + title +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         SvgText(20, 18, title, "font-size=\"13\"");
}

// Draws lines over a common frame with ten ticks a side.
inline std::string LineChart(const ChartAxes& axes, const std::vector<ChartLine>& lines) {
  constexpr double kLeft = 60, kTop = 34, kWidth = 620, kHeight = 300;
  auto at_x = [&](double x) { return axes.x_log ? std::log10(x) : x; };
  double x_from = 1e300, x_to = -1e300;
  for (const ChartLine& line : lines) {
    for (const auto& point : line.points) {
      x_from = std::min(x_from, at_x(point.first));
      x_to = std::max(x_to, at_x(point.first));
    }
  }
  auto px = [&](double x) {
    return kLeft + kWidth * (at_x(x) - x_from) / std::max(1e-12, x_to - x_from);
  };
  auto py = [&](double y) {
    return kTop + kHeight * (1 - (y - axes.y_from) / (axes.y_to - axes.y_from));
  };
  std::string svg = SvgOpen(kLeft + kWidth + 170, kTop + kHeight + 50, axes.title);
  for (int tick = 0; tick <= 5; ++tick) {
    const double y = axes.y_from + (axes.y_to - axes.y_from) * tick / 5;
    svg += "<line x1=\"" + Fixed(kLeft) + "\" x2=\"" + Fixed(kLeft + kWidth) + "\" y1=\"" +
           Fixed(py(y)) + "\" y2=\"" + Fixed(py(y)) + "\" stroke=\"#dddddd\"/>\n" +
           SvgText(kLeft - 6, py(y) + 4, Fixed(y, "%.3g"), "text-anchor=\"end\"");
    const double x = x_from + (x_to - x_from) * tick / 5;
    svg += SvgText(kLeft + kWidth * tick / 5, kTop + kHeight + 16,
                   Fixed(axes.x_log ? std::pow(10, x) : x, "%.4g"), "text-anchor=\"middle\"");
  }
  svg += SvgText(kLeft + kWidth / 2, kTop + kHeight + 36, axes.x_label, "text-anchor=\"middle\"");
  svg += SvgText(8, kTop - 4, axes.y_label);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::string colour = kChartColours[k % kChartColours.size()];
    svg += "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.4\" points=\"";
    for (const auto& [x, y] : lines[k].points) svg += Fixed(px(x)) + "," + Fixed(py(y)) + " ";
    svg += "\"/>\n" + SvgText(kLeft + kWidth + 10, kTop + 14 + 16 * static_cast<double>(k),
                              lines[k].name, "fill=\"" + colour + "\"");
  }
  return svg + "</svg>\n";
}

// One map of winners: rows from bottom to top, cells name an entry of the legend.
struct HeatMap {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::vector<std::vector<std::string>> winner;  // [row][column]
  std::vector<std::vector<std::string>> label;   // printed in the cell; may be empty
};

inline std::string HeatMaps(const std::string& title, const std::string& x_label,
                            const std::string& y_label, const std::vector<HeatMap>& maps) {
  constexpr double kCellWidth = 40, kCellHeight = 20, kLeft = 70;
  std::vector<std::string> names;
  for (const HeatMap& map : maps) {
    for (const auto& row : map.winner) {
      for (const std::string& name : row) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  std::sort(names.begin(), names.end());
  const double map_height = 60 + kCellHeight * static_cast<double>(maps.front().rows.size());
  const double width = kLeft + kCellWidth * static_cast<double>(maps.front().columns.size());
  std::string svg = SvgOpen(width + 200, 40 + map_height * static_cast<double>(maps.size()), title);
  for (std::size_t m = 0; m < maps.size(); ++m) {
    const double top = 50 + map_height * static_cast<double>(m);
    svg += SvgText(kLeft, top - 6, maps[m].title, "font-weight=\"bold\"");
    for (std::size_t r = 0; r < maps[m].rows.size(); ++r) {
      const double y = top + kCellHeight * static_cast<double>(maps[m].rows.size() - 1 - r);
      svg += SvgText(kLeft - 6, y + 14, maps[m].rows[r], "text-anchor=\"end\"");
      for (std::size_t c = 0; c < maps[m].columns.size(); ++c) {
        const std::string& name = maps[m].winner[r][c];
        const auto colour =
            static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
        const double x = kLeft + kCellWidth * static_cast<double>(c);
        svg += "<rect x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" width=\"" +
               Fixed(kCellWidth - 1) + "\" height=\"" + Fixed(kCellHeight - 1) + "\" fill=\"" +
               kChartColours[colour % kChartColours.size()] + "\"><title>" + name +
               "</title></rect>\n";
        if (!maps[m].label.empty()) {
          svg += SvgText(x + kCellWidth / 2, y + 13, maps[m].label[r][c],
                         "text-anchor=\"middle\" font-size=\"9\" fill=\"white\"");
        }
      }
    }
    for (std::size_t c = 0; c < maps[m].columns.size(); ++c) {
      svg += SvgText(kLeft + kCellWidth * (static_cast<double>(c) + 0.5),
                     top + kCellHeight * static_cast<double>(maps[m].rows.size()) + 12,
                     maps[m].columns[c], "text-anchor=\"middle\"");
    }
    svg += SvgText(kLeft, top + kCellHeight * static_cast<double>(maps[m].rows.size()) + 26,
                   x_label + "; rows: " + y_label);
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double y = 54 + 18 * static_cast<double>(k);
    svg += "<rect x=\"" + Fixed(width + 16) + "\" y=\"" + Fixed(y) +
           "\" width=\"12\" height=\"12\" fill=\"" + kChartColours[k % kChartColours.size()] +
           "\"/>\n" + SvgText(width + 34, y + 10, names[k]);
  }
  return svg + "</svg>\n";
}

}  // namespace weir::planner::tree
