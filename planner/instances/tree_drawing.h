#pragma once

// Pictures of trees and schedules as SVG text. Pure: writes nothing.
// Upstream: Schedule. Downstream: command line (--gantt), docs/planner-trees.md.

#include <string>

#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Draws the tree that one segment takes: the root at the top, an edge per message labelled with
/// its start, senders from left to right in order of arrival. `segment` from 0.
/// Bounds: meant for up to some hundred machines; larger trees are drawn all the same, small.
std::string TreeSvg(const Schedule& schedule, std::int32_t segment, const std::string& title);

/// Draws a Gantt of the whole schedule: per machine a lane for sending, one for receiving and one
/// for combining; bars carry the segment's number, their colour is that of the segment.
/// `ports`: the model in which the schedule's starts hold; it says when a machine combines.
std::string ScheduleSvg(const Schedule& schedule, PortModel ports, const std::string& title);

/// The same for machines that overlap transfers with combining.
std::string ScheduleSvg(const Schedule& schedule, const std::string& title);

}  // namespace weir::planner::tree
