// The plan as a picture (explain.h). Upstream: gantt_lanes, plan_report, time_axis. Downstream:
// README, command line.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "planner/plan/explain.h"
#include "planner/plan/gantt_lanes.h"
#include "planner/plan/plan_report.h"
#include "planner/plan/readable.h"
#include "planner/plan/time_axis.h"

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

// Okabe and Ito's palette: told apart with every common colour blindness.
constexpr char kStyle[] = R"(<style>
text{font-family:Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:19px;font-weight:700}.figures{font-size:12.5px;fill:#57606a}
.legend{font-size:11.5px;fill:#424a53}.group{font-size:12px;font-weight:700}
.detail{font-size:10px;fill:#6e7781}.lane{font-size:10px;fill:#57606a;text-anchor:end}
.over{font-size:10px;font-weight:700;fill:#b00020;text-anchor:end}
.tick{font-size:10.5px;fill:#57606a;text-anchor:middle}.mark{font-size:11px;font-weight:700}
.in{font-size:9.5px;pointer-events:none}
.m{fill:#0072B2;stroke:#0072B2}.r{fill:#D55E00;stroke:#D55E00}.c{fill:#CC79A7;stroke:#CC79A7}
.w{fill:#F0E442;stroke:#a89c00}.s{fill:#56B4E9;stroke:#2f8fc6}.v{fill:#009E73;stroke:#009E73}
.h{fill:#7b8794;stroke:#5b6672}
.p rect{fill-opacity:.28;stroke-width:.9}.a rect{stroke-width:.5}
.p .k{stroke:#1f2328;stroke-width:1.5}
.light{fill:#fff}.band{fill:#f6f8fa}.grid{stroke:#d8dee4;stroke-width:1}
.edge{stroke:#afb8c1;stroke-width:1}
</style>
)";

char ClassOf(BarKind kind) {
  switch (kind) {
    case BarKind::kMap:
      return 'm';
    case BarKind::kReduce:
      return 'r';
    case BarKind::kCombine:
      return 'c';
    case BarKind::kWrite:
      return 'w';
    case BarKind::kSend:
      return 's';
    case BarKind::kReceive:
      return 'v';
    case BarKind::kChannel:
      return 'h';
  }
  return 'h';
}

bool IsStep(BarKind kind) {
  return kind == BarKind::kMap || kind == BarKind::kReduce || kind == BarKind::kCombine ||
         kind == BarKind::kWrite;
}

// Text for XML 1.0: markup escaped, control characters (which it forbids) and bytes that are not
// UTF-8 replaced.
std::string Escaped(absl::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80   ? 1
                               : byte < 0xC2 ? 0
                               : byte < 0xE0 ? 2
                               : byte < 0xF0 ? 3
                               : byte < 0xF5 ? 4
                                             : 0;
    bool valid = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      valid = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    }
    if (!valid || (length == 1 && byte < 0x20)) {
      out += '?';
    } else if (length > 1) {
      out.append(text.substr(i, length).data(), length);
      i += length - 1;
    } else if (byte == '&') {
      out += "&amp;";
    } else if (byte == '<') {
      out += "&lt;";
    } else if (byte == '>') {
      out += "&gt;";
    } else {
      out += text[i];
    }
  }
  return out;
}

// Length of the beginning that all names share, such as "node-" of node-1 and node-12: not inside a
// number, and leaving something of each name.
std::size_t SharedPrefix(const std::vector<WorkerReport>& workers) {
  if (workers.size() < 2) return 0;
  const std::string& first = workers[0].name;
  std::size_t length = first.size();
  for (const WorkerReport& worker : workers) {
    const std::string& name = worker.name;
    length = std::min(length, name.empty() ? 0 : name.size() - 1);
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(length);
    length = static_cast<std::size_t>(std::mismatch(first.begin(), end, name.begin()).first -
                                      first.begin());
  }
  while (length > 0 && absl::ascii_isalnum(static_cast<unsigned char>(first[length - 1]))) --length;
  return length;
}

// Cuts a name so that it fits; counts bytes, which errs to the short side.
std::string Fitted(absl::string_view text, std::size_t chars_max) {
  if (text.size() <= chars_max) return std::string(text);
  return absl::StrCat(text.substr(0, chars_max - 2), "..");
}

class GanttWriter {
 public:
  GanttWriter(const Plan& plan, const Prediction& predicted, const ActualRun* actual,
              const ExplainOptions& options)
      : plan_(plan), actual_(actual), options_(options) {
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
    shared_prefix_ = SharedPrefix(report_.workers);
    LayOut(predicted);
  }

  std::string Write() {
    const double height = kHeaderHeight + lanes_height_ + 34;
    absl::StrAppendFormat(
        &out_,
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">)"
        "\n",
        kWidth, height, kWidth, height);
    absl::StrAppend(&out_, "<title>", Escaped(TitleText()), "</title>\n", kStyle);
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
    const bool shared = plan_.transfer_order == TransferOrder::kFetchAll;
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
                          css_class, x, y, anchor, Escaped(text));
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
    if (plan_.summary.lower_bound_s > 0) {
      absl::StrAppend(&figures, "  ·  lower bound ", ReadableSeconds(plan_.summary.lower_bound_s));
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

  bool HasKind(BarKind kind) const {
    for (const GanttGroup& group : groups_) {
      for (const GanttLane& lane : group.lanes) {
        for (const auto* bars : {&lane.predicted, &lane.actual}) {
          for (const GanttBar& bar : *bars) {
            if (bar.kind == kind) return true;
          }
        }
      }
    }
    return false;
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
    const std::pair<BarKind, const char*> kinds[] = {
        {BarKind::kMap, "map"},         {BarKind::kReduce, "reduce"},
        {BarKind::kCombine, "combine"}, {BarKind::kWrite, "write"},
        {BarKind::kSend, "send"},       {BarKind::kReceive, "receive"},
        {BarKind::kChannel, "channel"},
    };
    for (const auto& [kind, name] : kinds) {
      if (HasKind(kind)) LegendEntry(Swatch("a", std::string(1, ClassOf(kind))), name);
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
      absl::StrAppendFormat(&out_, "<g><title>%s</title>\n", Escaped(group.name));
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
      absl::StrAppendFormat(
          &out_,
          R"(<rect class="%c%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>)"
          "\n",
          ClassOf(bar.kind), bar.critical ? " k" : "", x, top, width, height,
          Escaped(Tooltip(bar, run_class[0] == 'p')));
      if (with_text && height >= kLaneNameHeightMin) {
        WriteBarText(bar, run_class[0] == 'a', x, top, width, height);
      }
    }
    absl::StrAppend(&out_, "</g>\n");
  }

  void WriteBarText(const GanttBar& bar, bool solid, double x, double top, double width,
                    double height) {
    if (bar.count > 1) return;
    for (const std::string& label : Labels(bar)) {
      // An arrow takes three bytes and one place.
      const std::size_t arrows = label.find("\xE2") != std::string::npos ? 2 : 0;
      if (kCharWidth * static_cast<double>(label.size() - arrows) + 5 > width) continue;
      const bool dark_bar = IsStep(bar.kind) && bar.kind != BarKind::kWrite;
      const bool light =
          solid && (dark_bar || bar.kind == BarKind::kReceive || bar.kind == BarKind::kChannel);
      Text(light ? "in light" : "in", x + width / 2, top + height / 2 + 3.4, label,
           " text-anchor=\"middle\"");
      return;
    }
  }

  // What tells the worker from the others: its name without the beginning that all names share.
  std::string ShortName(WorkerIndex worker) const {
    return WorkerName(options_, worker).substr(shared_prefix_);
  }

  // What to write on a bar: the first that fits.
  std::vector<std::string> Labels(const GanttBar& bar) const {
    const auto item = static_cast<std::size_t>(bar.item);
    if (IsStep(bar.kind)) {
      return {StepName(plan_, bar.item), absl::StrCat(plan_.steps[item].index_in_layer)};
    }
    const Transfer& transfer = plan_.transfers[item];
    switch (bar.kind) {
      case BarKind::kSend:
        return {absl::StrCat("to ", WorkerName(options_, transfer.receiver)),
                absl::StrCat("→ ", ShortName(transfer.receiver))};
      case BarKind::kReceive:
        return {absl::StrCat("from ", WorkerName(options_, transfer.sender)),
                absl::StrCat("← ", ShortName(transfer.sender))};
      default:
        return {absl::StrCat(ShortName(transfer.sender), " → ", ShortName(transfer.receiver))};
    }
  }

  std::string Tooltip(const GanttBar& bar, bool predicted) const {
    const std::string when =
        absl::StrCat(predicted ? "predicted " : "actual ", ReadableSeconds(bar.start_s), " to ",
                     ReadableSeconds(bar.finish_s));
    const std::string size = ReadableBytes(static_cast<double>(bar.bytes));
    const auto item = static_cast<std::size_t>(bar.item);
    if (bar.count > 1) {
      return absl::StrCat(bar.count, IsStep(bar.kind) ? " steps, " : " transfers, ", size, ", ",
                          when);
    }
    if (IsStep(bar.kind)) {
      return absl::StrCat(StepName(plan_, bar.item), " on ",
                          WorkerName(options_, plan_.steps[item].worker), ", ", size, " in, ",
                          ReadableBytes(static_cast<double>(plan_.steps[item].output_bytes)),
                          " out, ", when);
    }
    const Transfer& transfer = plan_.transfers[item];
    return absl::StrCat(WorkerName(options_, transfer.sender), " to ",
                        WorkerName(options_, transfer.receiver), ", ",
                        StepName(plan_, transfer.producer), " to ",
                        StepName(plan_, transfer.consumer), ", ", size, ", ", when);
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
  PlanReport report_;
  Seconds span_s_ = 0;
  std::size_t shared_prefix_ = 0;
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
