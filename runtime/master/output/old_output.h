#pragma once

// The output that an overwrite replaces: what may be deleted, and how it goes. Upstream:
// staged_output. Downstream: env::Storage.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "runtime/master/output/output_places.h"

namespace weir::master {

/// Names what lies in a directory and does not belong to an output of Weir, sorted. It belongs when
/// the manifest is ours and the name is the manifest's, that of a part that it lists, or `_weir`
/// with nothing but the files that clients write there. None: the directory, which may be empty,
/// can be replaced without loss.
absl::StatusOr<std::vector<std::string>> ForeignEntries(env::Storage& storage,
                                                        const std::string& directory);

/// Deletes the old output after the new one took its place, unless something foreign lies in it by
/// now: then it stays as `places.replaced` and the log says so.
///
/// Failure semantics: may be repeated after a crash anywhere inside. Nothing is deleted before it
///   has the name `places.removed`, under which everything may be deleted. What goes wrong is
///   logged: an old output that stays costs space, not correctness.
void RetireOldOutput(env::Storage& storage, const OutputPlaces& places);

/// Puts an old output back that a run had moved aside when it was killed, before the new one took
/// its place: the output is absent, `<output>.weir-old-<job>` is there and either
/// `<output>.weir-staging-<job>` is too, or the old output is whole (manifest and all parts that it
/// lists). Otherwise does nothing: a directory that stays aside for another reason is not an
/// output.
///
/// Failure semantics: a run that is between its two renames at this moment fails with its new
/// output
///   unpublished; the old one is back.
absl::Status RestoreOldOutput(env::Storage& storage, const std::string& output_path);

}  // namespace weir::master
