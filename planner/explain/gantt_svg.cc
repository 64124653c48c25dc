// The plan as a picture (explain.h). Upstream: gantt_lanes, plan_report, time_axis. Downstream:
// README, command line.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "planner/explain/explain.h"
#include "planner/explain/fitted_text.h"
#include "planner/explain/gantt_bar_texts.h"
#include "planner/explain/gantt_lanes.h"
#include "planner/explain/gantt_style.h"
#include "planner/explain/plan_report.h"
#include "planner/explain/readable.h"
#include "planner/explain/time_axis.h"

namespace weir::planner {
namespace {

// All lengths in pixels.
constexpr double kWidth = 1280;
constexpr double kPlotLeft = 178;
constexpr double kPlotRight = kWidth - 28;
constexpr double kPlotWidth = kPlotRight - kPlotLeft;
constexpr double kHeaderHeight = 128;  // title, figures, legend, markers, upper axis labels
constexpr double kLanesHeightMax = 6000;
constexpr double kGroupGap = 6;
constexpr double kLaneNameHeightMin = 10;  // lower lanes and bars go without text
constexpr double kCharWidth = 5.6;         // of bar text, generous
constexpr int kTicksMax = 13;
// About 200 bytes a bar: keeps the file below 2 MB.
constexpr std::size_t kBarsMax = 8'000;

class GanttWriter {
 public:
  GanttWriter(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
              const ExplainOptions& options)
      : plan_(plan), actual_(actual), options_(options), texts_(plan, options) {
    report_ = MakeReport(plan, predicted, actual, options);
    for (const Interval& interval : predicted.steps) Cover(interval.finish_s);
    for (const Interval& interval : predicted.transfers) Cover(interval.finish_s);
    Cover(report_.predicted_s);
    if (actual != nullptr) {
      for (const Interval& interval : actual->steps) Cover(interval.finish_s);
      for (const Interval& interval : actual->transfers) Cover(interval.finish_s);
      Cover(actual->makespan_s);
    }
    if (span_s_ <= 0) span_s_ = 1;
    LayOut(predicted);
  }

  std::string Write() {
    const double height = kHeaderHeight + lanes_height_ + 34;
    absl::StrAppendFormat(
        &out_,
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">)"
        "\n",
        kWidth, height, kWidth, height);
    absl::StrAppend(&out_, "<title>", XmlText(TitleText()), "</title>\n", kGanttStyle);
    absl::StrAppendFormat(&out_, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", kWidth,
                          height);
    WriteHeader();
    WriteLegend();
    WriteBandsAndGrid();
    WriteMarkers();
    double top = kHeaderHeight;
    for (const GanttGroup& group : groups_) {
      WriteGroup(group, top);
      top += GroupHeight(group) + GroupGap();
    }
    absl::StrAppend(&out_, "</svg>\n");
    return std::move(out_);
  }

 private:
  void Cover(Seconds moment_s) {
    if (std::isfinite(moment_s)) span_s_ = std::max(span_s_, moment_s);
  }

  void LayOut(const Prediction& predicted) {
    Seconds visible_s = 0.5 * span_s_ / kPlotWidth;
    groups_ = LayOutGantt(plan_, predicted, actual_, options_, visible_s);
    const bool shared = !IsOrdered(plan_.transfer_order);
    while (MergeBars(visible_s, shared, &groups_) > kBarsMax && visible_s < span_s_)
      visible_s *= 1.4;
    std::size_t num_lanes = 0;
    for (const GanttGroup& group : groups_) num_lanes += group.lanes.size();
    const double wanted = actual_ == nullptr ? 17 : 23;
    const double room = kLanesHeightMax / static_cast<double>(std::max<std::size_t>(1, num_lanes));
    lane_height_ = std::max(2.0, std::min(wanted, room));
    for (const GanttGroup& group : groups_) lanes_height_ += GroupHeight(group) + GroupGap();
  }

  double GroupGap() const { return lane_height_ >= kLaneNameHeightMin ? kGroupGap : 1; }
  double GroupHeight(const GanttGroup& group) const {
    return lane_height_ * static_cast<double>(group.lanes.size());
  }
  double X(Seconds moment_s) const { return kPlotLeft + kPlotWidth * moment_s / span_s_; }

  std::string TitleText() const { return options_.title.empty() ? "Plan" : options_.title; }

  void Text(const char* css_class, double x, double y, absl::string_view text,
            absl::string_view anchor = "") {
    absl::StrAppendFormat(&out_, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n",
                          css_class, x, y, anchor, XmlText(text));
  }

  void WriteHeader() {
    Text("title", 16, 30, Fitted(TitleText(), 100));
    std::string figures = absl::StrCat("predicted ", ReadableSeconds(report_.predicted_s));
    if (report_.actual_s.has_value()) {
      absl::StrAppend(&figures, "  ·  actual ", ReadableSeconds(*report_.actual_s));
      if (report_.predicted_s > 0) {
        absl::StrAppendFormat(&figures, " (%+.1f %%)",
                              100 * (*report_.actual_s / report_.predicted_s - 1));
      }
    }
    if (report_.unfinished_s.has_value()) absl::StrAppend(&figures, "  ·  not to its end");
    if (plan_.summary.lower_bound_s > 0) {
      absl::StrAppend(&figures, "  ·  lower bound ",
                      ReadableBound(plan_.summary.lower_bound_s, report_.actual_s));
    }
    absl::StrAppend(&figures, "  ·  limited by ", LimitName(report_.limits.limit));
    if (!plan_.summary.method.empty()) {
      absl::StrAppend(&figures, "  ·  method ", plan_.summary.method);
    }
    absl::StrAppend(&figures, "  ·  ", ReadableBytes(static_cast<double>(report_.moved_bytes)),
                    " in ", plan_.transfers.size(),
                    plan_.transfers.size() == 1 ? " transfer" : " transfers");
    Text("figures", 16, 50, figures);
  }

  // Kinds of bars that are drawn, in the order of the legend.
  std::vector<BarKind> DrawnKinds() const {
    std::map<std::int32_t, BarKind> kinds;
    for (const GanttGroup& group : groups_) {
      for (const GanttLane& lane : group.lanes) {
        for (const auto* bars : {&lane.predicted, &lane.actual}) {
          for (const GanttBar& bar : *bars) kinds.emplace(bar.kind.rank, bar.kind);
        }
      }
    }
    std::vector<BarKind> drawn;
    for (const auto& [rank, kind] : kinds) drawn.push_back(kind);
    return drawn;
  }

  void LegendEntry(absl::string_view swatch, absl::string_view name) {
    absl::StrAppendFormat(&out_, "%s\n", swatch);
    Text("legend", legend_x_ + 20, 71, name);
    legend_x_ += 20 + 6.4 * static_cast<double>(name.size()) + 18;
  }

  std::string Swatch(const char* group_class, absl::string_view rect_class) const {
    return absl::StrFormat(
        R"(<g class="%s"><rect class="%s" x="%.1f" y="62" width="14" height="10"/></g>)",
        group_class, rect_class, legend_x_);
  }

  void WriteLegend() {
    for (const BarKind& kind : DrawnKinds()) {
      LegendEntry(Swatch("a", std::string(1, kind.style)), kind.name);
    }
    legend_x_ += 14;
    LegendEntry(Swatch("p", "h"), "predicted (light)");
    LegendEntry(Swatch("p", "h k"), "critical path (dark outline)");
    if (actual_ != nullptr) LegendEntry(Swatch("a", "h"), "actual (solid)");
  }

  void WriteBandsAndGrid() {
    double top = kHeaderHeight;
    bool shaded = true;
    for (const GanttGroup& group : groups_) {
      const double height = GroupHeight(group) + GroupGap();
      if (shaded) {
        absl::StrAppendFormat(&out_,
                              R"(<rect class="band" x="0" y="%.1f" width="%.0f" height="%.1f"/>)"
                              "\n",
                              top - GroupGap() / 2, kWidth, height);
      }
      shaded = !shaded;
      top += height;
    }
    const double bottom = kHeaderHeight + lanes_height_;
    for (const TimeTick& tick : TimeTicks(span_s_, kTicksMax)) {
      absl::StrAppendFormat(&out_,
                            R"(<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>)"
                            "\n",
                            X(tick.at_s), kHeaderHeight - 4, X(tick.at_s), bottom);
      Text("tick", X(tick.at_s), kHeaderHeight - 9, tick.label);
      Text("tick", X(tick.at_s), bottom + 15, tick.label);
    }
    Text("figures", 16, bottom + 15, "time since start");
    absl::StrAppendFormat(&out_,
                          R"(<line class="edge" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>)"
                          "\n",
                          kPlotLeft, kHeaderHeight - 4, kPlotLeft, bottom);
  }

  void WriteGroup(const GanttGroup& group, double top) {
    const bool named_lanes = lane_height_ >= kLaneNameHeightMin;
    if (GroupHeight(group) >= 9) {
      absl::StrAppendFormat(&out_, "<g><title>%s</title>\n", XmlText(group.name));
      Text("group", 16, top + std::min(13.0, GroupHeight(group) - 1), Fitted(group.name, 14));
      absl::StrAppend(&out_, "</g>\n");
    }
    if (named_lanes && group.lanes.size() > 1 && !group.detail.empty()) {
      Text("detail", 16, top + 27, group.detail);
    }
    for (std::size_t i = 0; i < group.lanes.size(); ++i) {
      const GanttLane& lane = group.lanes[i];
      const double lane_top = top + lane_height_ * static_cast<double>(i);
      if (named_lanes) {
        Text(lane.over_limit ? "over" : "lane", kPlotLeft - 8, lane_top + lane_height_ / 2 + 3.5,
             lane.name);
      }
      WriteLane(lane, lane_top);
    }
  }

  void WriteLane(const GanttLane& lane, double top) {
    const double pad = lane_height_ >= kLaneNameHeightMin ? 1.5 : 0.25;
    const double room = lane_height_ - 2 * pad;
    if (actual_ == nullptr) {
      WriteBars(lane.predicted, "p", top + pad, room, true);
      return;
    }
    const double predicted_height = 0.34 * room;
    const double gap = lane_height_ >= kLaneNameHeightMin ? 1 : 0;
    WriteBars(lane.predicted, "p", top + pad, predicted_height, false);
    WriteBars(lane.actual, "a", top + pad + predicted_height + gap, room - predicted_height - gap,
              true);
  }

  void WriteBars(const std::vector<GanttBar>& bars, const char* run_class, double top,
                 double height, bool with_text) {
    if (bars.empty()) return;
    absl::StrAppend(&out_, "<g class=\"", run_class, "\">\n");
    for (const GanttBar& bar : bars) {
      const double x = X(bar.start_s);
      const double width = std::max(0.6, X(bar.finish_s) - x);
      // Neighbours are told apart by an edge, where there is room for one.
      const bool parted = run_class[0] == 'a' && width > 4 && height >= kLaneNameHeightMin;
      absl::StrAppendFormat(
          &out_,
          R"(<rect class="%c%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>)"
          "\n",
          bar.kind.style, absl::StrCat(bar.critical ? " k" : "", parted ? " e" : ""), x, top, width,
          height, XmlText(texts_.Tooltip(bar, run_class[0] == 'p')));
      if (with_text && height >= kLaneNameHeightMin) {
        WriteBarText(bar, run_class[0] == 'a', x, top, width, height);
      }
    }
    absl::StrAppend(&out_, "</g>\n");
  }

  void WriteBarText(const GanttBar& bar, bool solid, double x, double top, double width,
                    double height) {
    if (bar.count > 1) return;
    for (const std::string& label : texts_.Labels(bar)) {
      // An arrow takes three bytes and one place.
      const std::size_t arrows = label.find("\xE2") != std::string::npos ? 2 : 0;
      if (kCharWidth * static_cast<double>(label.size() - arrows) + 5 > width) continue;
      const bool light = solid && bar.kind.dark;
      Text(light ? "in light" : "in", x + width / 2, top + height / 2 + 3.4, label,
           " text-anchor=\"middle\"");
      return;
    }
  }

  struct Marker {
    Seconds at_s;
    const char* name;
    const char* colour;
    const char* dashes;
  };

  // Labels stand left of their lines, the latest on top: no line runs through a label.
  void WriteMarkers() {
    std::vector<Marker> markers = {
        {report_.predicted_s, "predicted", "#57606a", " stroke-dasharray=\"6 3\""}};
    if (plan_.summary.lower_bound_s > 0) {
      markers.push_back(
          {plan_.summary.lower_bound_s, "lower bound", "#7b8794", " stroke-dasharray=\"2 3\""});
    }
    if (report_.actual_s.has_value())
      markers.push_back({*report_.actual_s, "actual", "#1f2328", ""});
    std::stable_sort(markers.begin(), markers.end(),
                     [](const Marker& a, const Marker& b) { return a.at_s > b.at_s; });
    double label_y = kHeaderHeight - 22 - 12 * static_cast<double>(markers.size() - 1);
    for (const Marker& marker : markers) {
      const double x = X(marker.at_s);
      absl::StrAppendFormat(
          &out_,
          R"(<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1.4"%s/>)"
          "\n",
          x, label_y - 8, x, kHeaderHeight + lanes_height_, marker.colour, marker.dashes);
      absl::StrAppendFormat(
          &out_,
          R"(<text class="mark" x="%.1f" y="%.1f" text-anchor="end" style="fill:%s">%s %s</text>)"
          "\n",
          x - 5, label_y, marker.colour, marker.name, ReadableSeconds(marker.at_s));
      label_y += 12;
    }
  }

  const Plan& plan_;
  const ActualRun* actual_;
  const ExplainOptions& options_;
  const BarTexts texts_;
  PlanReport report_;
  Seconds span_s_ = 0;
  std::vector<GanttGroup> groups_;
  double lane_height_ = 0;
  double lanes_height_ = 0;
  double legend_x_ = 16;
  std::string out_;
};

}  // namespace

std::string GanttSvg(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
                     const ExplainOptions& options) {
  return GanttWriter(plan, predicted, actual, options).Write();
}

}  // namespace weir::planner
