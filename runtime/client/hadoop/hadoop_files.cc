#include "runtime/client/hadoop/hadoop_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "runtime/base/errno_status.h"
#include "runtime/client/file_bytes.h"
#include "runtime/client/hadoop/hadoop_copies.h"
#include "runtime/client/hadoop/hadoop_listing.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUnknownCommand = 255;

bool HasGlob(const std::string& path) { return path.find_first_of("*?[{") != std::string::npos; }

// Whether a path goes by "." or "..", as matches of ".*" and of "{..,a}" do: what a word names lies
// below the root, and what is removed with a folder is not the one above it.
bool HasDots(std::string_view path) {
  return absl::StrContains(absl::StrCat(std::string(path), "/"), "/./") ||
         absl::StrContains(absl::StrCat(std::string(path), "/"), "/../");
}

class Files {
 public:
  Files(const HadoopPlaces& places, CommandHost& host) : places_(places), host_(host) {}

  int Run(absl::Span<const std::string> words) {
    if (words.empty()) return Unknown("");
    command_ = words[0].substr(words[0].starts_with("-") ? 1 : 0);
    const Command* known = std::find_if(std::begin(kCommands), std::end(kCommands),
                                        [this](const Command& c) { return c.name == command_; });
    if (!words[0].starts_with("-") || known == std::end(kCommands)) return Unknown(words[0]);
    std::size_t at = 1;
    for (; at < words.size() && words[at].starts_with("-") && words[at].size() > 1; ++at) {
      const std::string flag = words[at].substr(1);
      const std::string_view flags = known->flags;
      if (absl::StrCat(" ", std::string(flags), " ").find(absl::StrCat(" ", flag, " ")) ==
          std::string::npos) {
        return Say(absl::StrCat("Illegal option -", flag));
      }
      flags_.insert(flag);
    }
    operands_.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    if (operands_.empty() && command_.starts_with("ls")) operands_.emplace_back(".");
    if (operands_.size() < known->operands_min) return Say("Not enough arguments");
    std::error_code error;
    fs::create_directories(places_.root(), error);
    if (error) return Say(absl::StrCat(places_.root(), " (hdfs:///): ", HadoopReason(error)));
    (this->*known->run)();
    return code_;
  }

 private:
  struct Command {
    std::string_view name;
    std::string_view flags;
    std::size_t operands_min;
    void (Files::*run)();
  };
  static const Command kCommands[16];

  int Unknown(const std::string& word) {
    std::vector<std::string> names;
    for (const Command& command : kCommands) {
      names.push_back(absl::StrCat("-", std::string(command.name)));
    }
    host_.err << (word.empty() ? "fs: needs a command" : absl::StrCat(word, ": Unknown command"))
              << "\nweir hadoop fs has " << absl::StrJoin(names, ", ") << '\n';
    return kUnknownCommand;
  }
  int Say(const std::string& what) {
    host_.err << command_ << ": " << what << '\n';
    return code_ = kFailed;
  }
  int Say(const std::string& shown, const std::string& why) {
    return Say(absl::StrCat("`", shown, "': ", why));
  }
  bool Has(const char* flag) const { return flags_.contains(flag); }

  static std::string Shown(const HadoopPlace& place) {
    return absl::StrCat(place.prefix, place.path);
  }

  // What a word names, globs taken; an error is said and gives nothing.
  std::vector<HadoopFile> Match(const std::string& word, bool quiet = false) {
    const auto place = places_.Find(word);
    if (!place.ok()) {
      Say(std::string(place.status().message()));
      return {};
    }
    if (HasGlob(place->path)) {
      const std::string base = place->local.substr(0, place->local.size() - place->path.size());
      const auto paths = host_.storage.Glob(Escaped(base) + place->path);
      std::vector<HadoopFile> found;
      for (const std::string& path : paths.ok() ? *paths : std::vector<std::string>()) {
        const std::string below = path.substr(base.size());
        if (!HasDots(below)) found.push_back({path, absl::StrCat(place->prefix, below)});
      }
      if (!found.empty()) return found;
    }
    // Also a name that is a glob and matches nothing: -put has made it, and `weir run` reads it.
    if (IsThere(place->local)) return {{place->local, Shown(*place)}};
    if (!quiet) Say(word, "No such file or directory");
    return {};
  }
  static std::string Escaped(const std::string& path) {
    std::string escaped;
    for (const char c : path) {
      if (std::string_view("*?[]{}\\").find(c) != std::string_view::npos) escaped.push_back('\\');
      escaped.push_back(c);
    }
    return escaped;
  }

  std::vector<std::string> NamesIn(const HadoopFile& folder) {
    auto names = HadoopNamesIn(host_.storage, folder.local);
    if (names.ok()) return *std::move(names);
    Say(folder.shown, std::string(names.status().message()));
    return {};
  }

  void List() {
    const bool deep = Has("R") || command_ == "lsr";
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand)) {
        if (!IsFolder(found.local) || Has("d")) {
          ListOne(found);
          continue;
        }
        const std::vector<std::string> names = NamesIn(found);
        if (!deep && !names.empty()) host_.out << "Found " << names.size() << " items\n";
        ListFolder(found, names, deep);
      }
    }
  }
  void ListFolder(const HadoopFile& folder, const std::vector<std::string>& names, bool deep) {
    for (const std::string& name : names) {
      const HadoopFile inner = InFolder(folder, name);
      ListOne(inner);
      // A link to a folder is not followed: it may lead round and round.
      if (deep && IsFolderItself(inner.local)) {
        ListFolder(inner, NamesIn(inner), true);
      }
    }
  }
  // -rw-r--r--   1 alice alice       3276 2010-01-13 14:00 /foo/bar
  void ListOne(const HadoopFile& found) {
    const auto info = host_.storage.Stat(found.local);
    if (!info.ok()) return;  // gone meanwhile, or a link to nowhere
    std::error_code error;
    const auto mode = static_cast<unsigned>(fs::status(found.local, error).permissions());
    std::string letters = info->is_directory ? "d" : "-";
    for (int bit = 8; bit >= 0; --bit) {
      letters.push_back((mode >> bit & 1) != 0 ? "xwr"[bit % 3] : '-');
    }
    const std::string owner = host_.user.substr(0, host_.user.find('@'));
    host_.out << absl::StrFormat(
        "%s %3s %s %s %10d %s %s\n", letters, info->is_directory ? "-" : "1", owner, owner,
        info->is_directory ? 0 : info->bytes,
        absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixNanos(info->version.modified_ns),
                         absl::UTCTimeZone()),
        found.shown);
  }

  void Cat() {
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand)) {
        if (IsFolder(found.local)) {
          Say(found.shown, "Is a directory");
        } else if (const absl::Status read = CatOne(found.local); !read.ok()) {
          Say(found.shown, std::string(read.message()));
        }
      }
    }
    host_.out << std::flush;
  }
  // By one descriptor: a file that is replaced meanwhile is shown as it was.
  absl::Status CatOne(const std::string& path) {
    const absl::Status read = VisitFileBytes(path, [this](std::string_view bytes) {
      host_.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return host_.out ? absl::OkStatus() : absl::CancelledError("nobody reads");
    });
    return host_.out ? read : absl::OkStatus();
  }

  void MakeFolder() {
    for (const std::string& operand : operands_) {
      const auto place = places_.Find(operand);
      if (!place.ok()) {
        Say(std::string(place.status().message()));
        continue;
      }
      std::error_code error;
      if (IsThere(place->local)) {
        if (!Has("p") || !IsFolder(place->local)) {
          Say(operand, IsFolder(place->local) ? "File exists" : "Is not a directory");
        }
        continue;
      }
      Has("p") ? fs::create_directories(place->local, error)
               : fs::create_directory(place->local, error);
      if (error) Say(operand, HadoopReason(error));
    }
  }

  void Remove() {
    const bool deep = Has("R") || Has("r") || command_ == "rmr";
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand, Has("f"))) {
        std::error_code error;
        if (found.local == places_.root() || found.local == "/") {
          Say(found.shown, "is the root; remove what is in it");
        } else if (!deep && IsFolderItself(found.local)) {
          Say(found.shown, "Is a directory");
        } else if (fs::remove_all(found.local, error); error) {
          Say(found.shown, HadoopReason(error));
        } else {
          host_.out << "Deleted " << found.shown << '\n';
        }
      }
    }
  }

  std::int64_t BytesOf(const HadoopFile& found) {
    if (IsFolder(found.local)) {
      std::int64_t bytes = 0;
      std::error_code error;
      if (fs::is_symlink(found.local, error)) return 0;
      for (const std::string& name : NamesIn(found)) {
        bytes += BytesOf(InFolder(found, name));
      }
      return bytes;
    }
    const auto info = host_.storage.Stat(found.local);
    return info.ok() ? info->bytes : 0;
  }
  void DiskUse() {
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand)) {
        std::vector<HadoopFile> rows = {found};
        if (IsFolder(found.local) && !Has("s")) {
          rows.clear();
          for (const std::string& name : NamesIn(found)) {
            rows.push_back(InFolder(found, name));
          }
        }
        for (const HadoopFile& row : rows) {
          const std::int64_t bytes = BytesOf(row);
          host_.out << bytes << "  " << bytes << "  " << row.shown << '\n';
        }
      }
    }
  }

  void Touch() {
    for (const std::string& operand : operands_) {
      const auto place = places_.Find(operand);
      if (!place.ok()) {
        Say(std::string(place.status().message()));
        continue;
      }
      const auto info = host_.storage.Stat(place->local);
      if (info.ok() && (info->is_directory || info->bytes > 0)) {
        Say(operand, info->is_directory ? "Is a directory" : "Not a zero-length file");
      } else if (const absl::Status made = host_.storage.WriteNamed(place->local, ""); !made.ok()) {
        Say(operand,
            absl::IsNotFound(made) ? "No such file or directory" : std::string(made.message()));
      }
    }
  }

  void Test() {
    const auto place = places_.Find(operands_[0]);
    const bool there = place.ok() && IsThere(place->local);
    const bool folder = there && IsFolder(place->local);
    std::error_code error;
    const bool empty = there && !folder && fs::file_size(place->local, error) == 0 && !error;
    const bool holds =
        there && (!Has("d") || folder) && (!Has("f") || !folder) && (!Has("z") || empty);
    if (!holds) code_ = kFailed;
  }

  // A path of this machine: file:///x, or as a shell means it.
  std::string LocalPath(const std::string& word) const {
    if (!word.starts_with("file:")) return AbsolutePath(word, host_.working_directory);
    const auto place = places_.Find(word);
    return place.ok() ? place->local : word;
  }

  void Put() {
    const std::string into = operands_.back();
    operands_.pop_back();
    const auto place = places_.Find(into);
    if (!place.ok()) {
      Say(std::string(place.status().message()));
      return;
    }
    std::vector<HadoopFile> sources;
    for (const std::string& operand : operands_) {
      sources.push_back({LocalPath(operand), operand});
    }
    Copies().Copy(sources, {place->local, into}, Has("f"));
  }
  void Get() {
    const std::string into = operands_.back();
    operands_.pop_back();
    std::vector<HadoopFile> sources;
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand)) sources.push_back(found);
    }
    Copies().Copy(sources, {LocalPath(into), into}, Has("f"));
  }

  void CopyWithin() {
    WithinHdfs([this](const std::vector<HadoopFile>& sources, const HadoopFile& into) {
      Copies().Copy(sources, into, Has("f"));
    });
  }
  void Move() {
    WithinHdfs([this](const std::vector<HadoopFile>& sources, const HadoopFile& into) {
      Copies().Move(sources, into);
    });
  }
  // With all that the words name, the last one as where it goes.
  template <typename Carry>
  void WithinHdfs(Carry carry) {
    const std::string into = operands_.back();
    operands_.pop_back();
    const auto place = places_.Find(into);
    if (!place.ok()) {
      Say(std::string(place.status().message()));
      return;
    }
    // Also where but one of them is there: what is named last would else become its name.
    if (operands_.size() > 1 && !IsFolder(place->local)) {
      Say(into, IsThere(place->local) ? "Is not a directory" : "No such file or directory");
      return;
    }
    std::vector<HadoopFile> sources;
    for (const std::string& operand : operands_) {
      const auto from = places_.Find(operand);
      if (command_ == "mv" && from.ok() && IsOfMachine(*from) != IsOfMachine(*place)) {
        Say(operand, "Does not match target filesystem");
        continue;
      }
      for (const HadoopFile& found : Match(operand)) sources.push_back(found);
    }
    if (!sources.empty()) carry(sources, HadoopFile{place->local, into});
  }
  static bool IsOfMachine(const HadoopPlace& place) { return place.prefix.starts_with("file:"); }
  void GetMerged() {
    const std::string into = operands_.back();
    operands_.pop_back();
    std::vector<HadoopFile> sources;
    for (const std::string& operand : operands_) {
      for (const HadoopFile& found : Match(operand)) sources.push_back(found);
    }
    if (code_ != kOk) return;  // as Hadoop: all of it or nothing
    Copies().Join(sources, {LocalPath(into), into},
                  {.line_end = Has("nl"), .skips_empty_files = Has("skip-empty-file")});
  }
  HadoopCopies Copies() {
    return HadoopCopies(host_.storage, [this](const std::string& shown, const std::string& why) {
      Say(shown, why);
    });
  }

  const HadoopPlaces& places_;
  CommandHost& host_;
  std::string command_;
  absl::btree_set<std::string> flags_;
  std::vector<std::string> operands_;
  int code_ = kOk;
};

const Files::Command Files::kCommands[16] = {
    {"mkdir", "p", 1, &Files::MakeFolder},
    {"put", "f", 2, &Files::Put},
    {"copyFromLocal", "f", 2, &Files::Put},
    {"get", "f", 2, &Files::Get},
    {"copyToLocal", "f", 2, &Files::Get},
    {"ls", "R d", 0, &Files::List},
    {"lsr", "", 0, &Files::List},
    {"cat", "", 1, &Files::Cat},
    {"cp", "f", 2, &Files::CopyWithin},
    {"mv", "", 2, &Files::Move},
    {"getmerge", "nl skip-empty-file", 2, &Files::GetMerged},
    {"rm", "R r f skipTrash", 1, &Files::Remove},
    {"rmr", "skipTrash", 1, &Files::Remove},
    {"du", "s", 1, &Files::DiskUse},
    {"touchz", "", 1, &Files::Touch},
    {"test", "e d f z", 1, &Files::Test}};

}  // namespace

int RunHadoopFiles(absl::Span<const std::string> words, const HadoopPlaces& places,
                   CommandHost& host) {
  return Files(places, host).Run(words);
}

}  // namespace weir::client
