#pragma once

// The job `stream`: records through scripts. Upstream: stream.h. Downstream: ScriptRun, the
// engine's buffers and merges.

#include <memory>

#include "jobs/api/program.h"
#include "jobs/stream/contract/stream_spec.h"

namespace weir::stream {

/// Makes the program. Map steps run a mapper for each file of a slot's share, one for all of it, or
/// one for every few lines of a file, one at a time; reduce steps one reducer.
///
/// Order: a reducer gets the pairs sorted by the bytes of the key, or by the comparator and then
///   the bytes; pairs of one key in the order of the input. Every pair comes, equal ones too.
/// Combiners run when a slot's share is mapped, and before where its memory is half full: zero or
///   more times for a pair.
/// Bounds: StepContext::spill_above_bytes for the pairs of a map step, beyond which they go to
/// disk;
///   reducing holds one block per producer.
/// Checked by: tests/integration/streaming_test.py, tests/unit/jobs/stream/stream_test.cc.
std::unique_ptr<JobProgram> MakeStreamProgram(StreamSpec spec);

}  // namespace weir::stream
