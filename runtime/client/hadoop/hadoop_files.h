#pragma once

// `hadoop fs`: the commands that programs around Hadoop call, on files of this machine. Upstream:
// `weir hadoop fs`. Downstream: files below the directory that is hdfs:///.

#include <string>

#include "absl/types/span.h"
#include "runtime/client/command_host.h"
#include "runtime/client/hadoop/hadoop_places.h"

namespace weir::client {

/// Carries out one command, "-ls", "-R", "hdfs:///tmp". Knows -mkdir, -put (-copyFromLocal), -get
/// (-copyToLocal), -getmerge, -cp, -mv, -ls (-lsr), -cat, -rm (-rmr), -du, -touchz and -test, with
/// the options that change what they do; other commands and options are refused by name.
///
/// The manifest beside the parts of a result is not shown and not copied: Hadoop's results have
/// none, and who reads all files of a result would take it for a part. It stays in a result that is
/// moved. A file of its name that Weir did not write is a file as any other.
/// A folder is not copied into itself, and links to folders inside one that is copied are named and
/// left out.
/// Returns: 0; 1 when something named could not be done, which stderr says as Hadoop does
///   ("ls: `hdfs:///x': No such file or directory"), or for -test that does not hold; 255 for an
///   unknown command.
/// Failure semantics: files appear whole or not at all. Nothing outside of the directory is made
///   or removed but by -get, -getmerge and by names that begin with file:.
/// Checked by: tests/unit/client/hadoop_test.cc, hadoop_copies_test.cc,
///   tests/integration/mrjob_test.py.
int RunHadoopFiles(absl::Span<const std::string> words, const HadoopPlaces& places,
                   CommandHost& host);

}  // namespace weir::client
