#pragma once

// What some places of an input hold, counted without its job. Upstream: ExpandInputs. Downstream:
// planning, which compares it with that of earlier runs; what runs teach.

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "runtime/env/storage.h"
#include "runtime/master/input/input_ranges.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Places of an input that are looked at, as far apart as they can be: one place may be a title, or
/// rows of one day.
inline constexpr int kLookPlaces = 8;
/// Of each place, bytes. All of them together are counted in a fraction of a millisecond; rows of a
/// few hundred keys show nearly all of these, and rows of ten thousand ten times as many.
inline constexpr std::int64_t kLookPlaceBytes = 8 << 10;

/// Counts lines and words, and words that differ. A word is a run of ASCII letters, digits and
/// bytes beyond ASCII, within one of the texts. Checked by: tests/unit/master/input_look_test.cc.
v1::JobShapeLearned::InputLook CountLook(absl::Span<const std::string> texts);

/// Looks at places of the plain files of the input: each in the middle of its eighth, but within
/// one file. What is packed, or cannot be read here, is not looked at; an input of which nothing
/// was, has no look. Blocking: up to kLookPlaces reads. Thread-safety: as storage. Checked by:
/// tests/unit/master/input_look_test.cc.
void LookAtInput(env::Storage& storage, InputList& input);

}  // namespace weir::master
