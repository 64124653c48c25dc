#pragma once

// What the tables and pairs of a step take of memory, by the rules of the engine, which the planner
// must not include. Upstream: what is known of a job's records. Downstream: step_spill.h.

#include "planner/plan/units.h"

namespace weir::planner {

/// Returns what a hash table of so many keys takes on average, bytes.
///
/// Model: an entry is three words and a value of 8 bytes (CombineTable::Entry). Beyond 2560 keys a
///   table is 256 sub-tables of 2^k entries, k >= 6, which double when they are half full, from k =
///   10 on at five eighths, or with their neighbour. Keys fall into them as by a Poisson law: how
///   many have doubled is told by the normal law of the same mean and deviation. Keys longer than
///   16 bytes lie beside it, with 1/32 unused (ByteArena). Large values take more than this says,
///   those of 24 bytes 1.5 times as much.
/// `record_bytes`: of a key and its value in a run, lengths included.
/// Source: jobs/engine/table/combine_table.h, table_memory.cc, byte_arena.h.
/// Requires: keys >= 0, record_bytes > 0. Rising in both. Thread-safety: pure.
/// Checked by: tests/unit/jobs/held_bytes_test.cc, against the tables themselves.
double TableBytes(double keys, double record_bytes);

/// Returns what so many bytes of emitted pairs take of memory until they are sorted, bytes.
///
/// Model: each record as it will lie in the run, in whole huge pages beyond 512 KiB, and with 1/32
///   unused where that is more, an entry of 16 bytes with 1/16
///   unused, or half of a chunk of 2 MiB where a consumer has more than one, and as many again for
///   the `largest_part` of them that one consumer gets, which is sorted into a second array
///   (GroupBuffer::memory_bytes). Sort keys take more.
/// Source: jobs/engine/pairs/group_buffer.cc, byte_arena.h.
/// Requires: bytes >= 0, record_bytes > 0, largest_part in (0, 1]. Thread-safety: pure.
/// Checked by: tests/unit/jobs/held_bytes_test.cc, against the buffers themselves.
double PairBytes(double bytes, double record_bytes, double largest_part);

}  // namespace weir::planner
