#pragma once

// What embedded runs learn of jobs, kept between processes. Upstream: embedded_session.
// Downstream: one small file of the user's.

#include <string>

#include "weir/v1/journal.pb.h"

namespace weir::app {

/// Returns env::StateDirectory()/shapes; empty when there is none.
std::string ShapeFilePath();

/// Reads the file. One that is missing, damaged or not readable is an empty one: it is a memory of
/// measurements, not of results.
v1::JobShapes ReadShapeFile(const std::string& path);

/// Replaces the file by a rename, so that a reader never sees half of one. Of two processes that
/// write at once the later one stays; what the other learned is learned again by its next run.
/// Of a kind of job on a kind of data it keeps the last (ShapeHistory; workers of one machine have
/// no speeds to be learned from those before), of these the newest kShapesKept. Failing is not an
/// error of the run.
void WriteShapeFile(const std::string& path, const v1::JobShapes& shapes);

inline constexpr int kShapesKept = 100;

}  // namespace weir::app
