#include "planner/instances/tree_drawing.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "planner/tree/model/schedule_timing.h"

namespace weir::planner::tree {

namespace {

constexpr double kNodeGap = 46;
constexpr double kLevelGap = 64;
constexpr double kMargin = 34;
constexpr double kLaneHeight = 12;
constexpr double kTimeWidth = 900;

// Colour-blind safe (Okabe and Ito 2008), repeated after eight segments.
constexpr std::array<const char*, 8> kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                 "#56B4E9", "#D55E00", "#F0E442", "#999999"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string Header(double width, double height, const std::string& title) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<title>%s</title>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "<text x=\"%.0f\" y=\"18\" font-size=\"13\">%s</text>\n",
      width, height, Escaped(title), kMargin, Escaped(title));
}

/// One machine of the drawn tree.
struct Node {
  double x = 0;
  std::int32_t level = 0;
  std::vector<const Message*> arrivals;  // by start
};

/// Lays a tree out: leaves at equal distances, receivers above the middle of their senders.
class TreeLayout {
 public:
  TreeLayout(const Schedule& schedule, std::int32_t segment)
      : nodes_(static_cast<std::size_t>(schedule.num_machines)) {
    for (const Message& message : schedule.messages) {
      const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
      const std::int32_t wrapped = segment < message.segment_begin ? segment + q : segment;
      if (wrapped < message.segment_begin || wrapped >= message.segment_end) continue;
      nodes_[message.receiver].arrivals.push_back(&message);
    }
    for (Node& node : nodes_) {
      std::stable_sort(node.arrivals.begin(), node.arrivals.end(),
                       [](const Message* a, const Message* b) { return a->start_s < b->start_s; });
    }
    Place(schedule.root, 0);
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  double width() const { return next_x_ + kMargin; }
  double height() const { return kMargin * 3 + kLevelGap * deepest_; }

 private:
  void Place(MachineIndex machine, std::int32_t level) {
    Node& node = nodes_[machine];
    node.level = level;
    deepest_ = std::max(deepest_, level);
    if (node.arrivals.empty()) {
      node.x = next_x_;
      next_x_ += kNodeGap;
      return;
    }
    for (const Message* message : node.arrivals) {
      // A machine may pass a segment through twice (reduce-scatter): drawn once.
      if (drawn_.size() < nodes_.size()) drawn_.resize(nodes_.size(), false);
      if (drawn_[message->sender]) continue;
      drawn_[message->sender] = true;
      Place(message->sender, level + 1);
    }
    node.x = (nodes_[node.arrivals.front()->sender].x + nodes_[node.arrivals.back()->sender].x) / 2;
  }

  std::vector<Node> nodes_;
  std::vector<bool> drawn_;
  double next_x_ = kMargin * 1.5;
  std::int32_t deepest_ = 0;
};

double NodeY(const Node& node) { return kMargin * 1.7 + kLevelGap * node.level; }

// One bar of a Gantt lane.
void AppendBar(std::string& svg, double x, double y, double width, std::int32_t segment,
               const std::string& label) {
  const char* colour = kColours[static_cast<std::size_t>(segment) % kColours.size()];
  absl::StrAppendFormat(&svg,
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
                        "stroke=\"white\"><title>%s</title></rect>\n",
                        x, y, std::max(width, 0.5), kLaneHeight - 1, colour, Escaped(label));
  if (width > 12) {
    absl::StrAppendFormat(&svg,
                          "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" fill=\"white\">%d</text>\n",
                          x + 3, y + kLaneHeight - 3, segment + 1);
  }
}

void AppendTimeAxis(std::string& svg, double left, double bottom, Seconds makespan_s) {
  for (int tick = 0; tick <= 10; ++tick) {
    const double x = left + kTimeWidth * tick / 10;
    absl::StrAppendFormat(
        &svg,
        "<line x1=\"%.1f\" y1=\"30\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.4g</text>\n",
        x, x, bottom, x, bottom + 14, makespan_s * tick / 10);
  }
}

}  // namespace

std::string TreeSvg(const Schedule& schedule, std::int32_t segment, const std::string& title) {
  const TreeLayout layout(schedule, segment);
  // Wide enough for the title.
  const double title_width = 2 * kMargin + 7.5 * static_cast<double>(title.size());
  std::string svg = Header(std::max(layout.width(), title_width), layout.height(), title);
  for (const Node& node : layout.nodes()) {
    for (const Message* message : node.arrivals) {
      const Node& sender = layout.nodes()[message->sender];
      absl::StrAppendFormat(
          &svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#777777\"/>\n",
          node.x, NodeY(node), sender.x, NodeY(sender));
      absl::StrAppendFormat(
          &svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"#D55E00\">%.4g</text>\n",
          (node.x + 2 * sender.x) / 3 + 3, (NodeY(node) + 2 * NodeY(sender)) / 3, message->start_s);
    }
  }
  for (std::size_t i = 0; i < layout.nodes().size(); ++i) {
    const Node& node = layout.nodes()[i];
    absl::StrAppendFormat(
        &svg,
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"12\" fill=\"%s\" stroke=\"#0072B2\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
        node.x, NodeY(node), static_cast<MachineIndex>(i) == schedule.root ? "#cfe8f7" : "white",
        node.x, NodeY(node) + 4, static_cast<int>(i));
  }
  return svg + "</svg>\n";
}

std::string ScheduleSvg(const Schedule& schedule, const std::string& title) {
  return ScheduleSvg(schedule, PortModel{true, true, true}, title);
}

std::string ScheduleSvg(const Schedule& schedule, PortModel ports, const std::string& title) {
  const double left = kMargin * 3;
  const double machine_height = 3 * kLaneHeight + 4;
  const double bottom = 34 + machine_height * schedule.num_machines;
  const double scale = schedule.makespan_s > 0 ? kTimeWidth / schedule.makespan_s : 0;
  std::string svg = Header(left + kTimeWidth + kMargin, bottom + 26, title);
  AppendTimeAxis(svg, left, bottom, schedule.makespan_s);
  for (std::int32_t i = 0; i < schedule.num_machines; ++i) {
    const double top = 34 + machine_height * i;
    absl::StrAppendFormat(&svg, "<text x=\"4\" y=\"%.1f\">machine %d</text>\n",
                          top + 2 * kLaneHeight, i);
    const std::array<const char*, 3> lanes = {"send", "recv", "comb"};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      absl::StrAppendFormat(
          &svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"8\" fill=\"#777777\">%s</text>\n",
          left - 22, top + kLaneHeight * (static_cast<double>(lane) + 1) - 3, lanes[lane]);
    }
  }
  const std::vector<Seconds> ends_s = CombineEnds(schedule, ports);
  for (std::size_t k = 0; k < schedule.messages.size(); ++k) {
    const Message& m = schedule.messages[k];
    const std::string label = absl::StrFormat("segment %d: %d -> %d at %.6g", m.segment_begin + 1,
                                              m.sender, m.receiver, m.start_s);
    const Seconds arrival_s = m.start_s + m.flight_s + m.port_s;
    auto lane_y = [&](MachineIndex machine, int lane) {
      return 34 + machine_height * machine + kLaneHeight * lane;
    };
    AppendBar(svg, left + scale * m.start_s, lane_y(m.sender, 0), scale * m.port_s, m.segment_begin,
              label);
    AppendBar(svg, left + scale * (arrival_s - m.port_s), lane_y(m.receiver, 1), scale * m.port_s,
              m.segment_begin, label);
    if (m.combine_s <= 0) continue;
    AppendBar(svg, left + scale * (ends_s[k] - m.combine_s), lane_y(m.receiver, 2),
              scale * m.combine_s, m.segment_begin, label);
  }
  return svg + "</svg>\n";
}

}  // namespace weir::planner::tree
