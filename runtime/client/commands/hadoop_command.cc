// weir hadoop: the calls that programs around Hadoop make; weir hadoop-home: where they find it.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/hadoop/hadoop_files.h"
#include "runtime/client/hadoop/hadoop_job_log.h"
#include "runtime/client/hadoop/hadoop_places.h"

namespace weir::client {
namespace {

// Whose commands and streaming these are; programs ask, since older ones take other words.
constexpr char kHadoopVersion[] = "3.3.6";
constexpr int kNoSuchJar = 255;

bool IsStreamingJar(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return absl::StartsWith(name, "hadoop") && absl::StrContains(name, "streaming") &&
         absl::EndsWith(name, ".jar");
}

// A result's folder may be deeper than what there is.
absl::Status MakeParent(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return error ? absl::UnavailableError(
                     absl::StrCat("cannot make the folder of ", path, ": ", error.message()))
               : absl::OkStatus();
}

int Jar(absl::Span<const std::string> words, const HadoopOptions& options,
        const HadoopPlaces& places, CommandHost& host) {
  if (words.empty()) {
    host.err << "usage: hadoop jar hadoop-streaming.jar -input PATH -output DIR -mapper CMD ...\n";
    return kNoSuchJar;
  }
  if (!IsStreamingJar(words[0])) {
    host.err << "Not a valid JAR: " << words[0]
             << "\nweir: Weir runs no Java; the one jar that it stands for is that of Hadoop "
                "Streaming\n";
    return kNoSuchJar;
  }
  // Scripts call hadoop too, where nobody told them of the user's environment.
  std::vector<std::string> streaming_words = {"-cmdenv",
                                              absl::StrCat("WEIR_HDFS_ROOT=", places.root())};
  streaming_words.insert(streaming_words.end(), words.begin() + 1, words.end());
  std::string output;
  const auto local = [&places](const std::string& word) -> absl::StatusOr<std::string> {
    const auto place = places.Find(word);
    if (!place.ok()) return place.status();
    return place->local;
  };
  ParsedCommandLine parsed = ParseStreamingWords(streaming_words, local, &output);
  host.out << parsed.out << std::flush;
  host.err << parsed.err << std::flush;
  if (!parsed.command) return parsed.exit_code;
  StreamingOptions streaming = std::get<StreamingOptions>(*std::move(parsed.command));
  if (streaming.run.master.address.empty()) streaming.run.master = options.master;
  if (const std::string refused = FlagsWithoutUse(streaming.run.embedded, streaming.run.master);
      !refused.empty()) {
    host.err << "weir: " << refused << '\n';
    return kHadoopFailed;
  }
  streaming.run.quiet = !streaming.run.verbose;
  if (absl::Status made = MakeParent(streaming.run.job.output); !made.ok()) {
    host.err << "weir: " << std::string(made.message()) << '\n';
    return kHadoopIo;
  }
  HadoopJobLog log(host.err, output);
  const RunEnd end =
      RunToTheEnd(streaming.run, host, [&log](const v1::JobStatus& status) { log.Show(status); });
  const int code = FinishStreaming(streaming, end, host);
  if (code != kHadoopOk) host.err << "Streaming Command Failed!\n";
  return code;
}

}  // namespace

int Hadoop(const HadoopOptions& options, CommandHost& host) {
  const HadoopPlaces places(options.hdfs_root.empty() ? host.hdfs_root : options.hdfs_root,
                            host.user.substr(0, host.user.find('@')));
  const std::string command = options.words.empty() ? "" : options.words[0];
  const auto rest = absl::MakeConstSpan(options.words).subspan(options.words.empty() ? 0 : 1);
  if (!places.root().starts_with('/')) {
    host.err << "weir: the directory that is hdfs:/// must be an absolute path; it is '"
             << places.root() << "' (WEIR_HDFS_ROOT)\n";
    return kExitUsage;
  }
  if (command == "version") {
    host.out << "Hadoop " << kHadoopVersion << "\nby weir " << kVersion
             << ", which is no Hadoop and takes its calls (docs/guides/mrjob.md)\n";
    return kExitOk;
  }
  if (command == "fs" || command == "dfs") return RunHadoopFiles(rest, places, host);
  if (command == "jar") return Jar(rest, options, places, host);
  host.err << "weir: hadoop has no command '" << command << "' here; it has version, fs and jar\n";
  return kExitUsage;
}

int HadoopHome(const HadoopHomeOptions&, CommandHost& host) {
  const std::string beside = host.program.substr(0, host.program.rfind('/'));
  // As it is built, and as it is installed.
  for (const char* const place : {"/hadoop", "/../libexec/weir/hadoop"}) {
    const std::string home = std::filesystem::path(beside + place).lexically_normal().string();
    if (!host.storage.Stat(absl::StrCat(home, "/bin/hadoop")).ok()) continue;
    host.out << home << '\n';
    return kExitOk;
  }
  host.err << "weir: there is no libexec/weir/hadoop beside " << beside
           << "; install Weir whole (cmake --install, or its package)\n";
  return kExitRefused;
}

}  // namespace weir::client
