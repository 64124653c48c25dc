#pragma once

// Programs that speak frames as mappers and reducers. Upstream: text files. Downstream: runs of
// typed pairs, output parts as the programs write them.

#include <memory>

#include "jobs/api/program.h"
#include "jobs/stream/framed_spec.h"

namespace weir::stream {

/// One layer. Each slot of a map step has one mapper process, which gets the slot's share of the
/// lines as text, batch by batch; its pairs are sorted by key in memory, equal keys in the order of
/// the input. A reducer is one process, which gets them as groups. Without a reducer the mappers
/// write the result.
///
/// Errors: those of FramedRun.
/// Bounds: the pairs of a map step lie in its memory, beyond it on disk (spilling_pairs.h).
/// Checked by: tests/unit/jobs/stream/frames_test.cc, tests/integration/python_test.py.
std::unique_ptr<JobProgram> MakeFramedProgram(FramedSpec spec);

}  // namespace weir::stream
