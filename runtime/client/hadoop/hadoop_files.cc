#include "runtime/client/hadoop/hadoop_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
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
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

namespace fs = std::filesystem;

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUnknownCommand = 255;
constexpr char kManifestName[] = "manifest.json";
constexpr std::int64_t kManifestBytesMax = 64 << 20;  // as the master reads them

// A file or directory that a word names.
struct Found {
  std::string local;
  std::string shown;  // as Hadoop would name it
};

std::string Reason(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory ? "No such file or directory"
                                                       : error.message();
}

bool HasGlob(const std::string& path) { return path.find_first_of("*?[{") != std::string::npos; }

// Whether a path goes by "." or "..", as matches of ".*" and of "{..,a}" do: what a word names lies
// below the root, and what is removed with a folder is not the one above it.
bool HasDots(std::string_view path) {
  return absl::StrContains(absl::StrCat(std::string(path), "/"), "/./") ||
         absl::StrContains(absl::StrCat(std::string(path), "/"), "/../");
}

std::string Below(const std::string& folder, const std::string& name) {
  return absl::StrCat(folder, folder.ends_with('/') ? "" : "/", name);
}

// By what the master writes into one; whoever else has a file of this name may have anything in it.
bool IsManifestOfWeir(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("parts") || !json["parts"].is_array()) return false;
  return json.contains("weir_version") && json.contains("job_id");
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
    if (error) return Say(absl::StrCat(places_.root(), " (hdfs:///): ", Reason(error)));
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
  static const Command kCommands[13];

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
  std::vector<Found> Match(const std::string& word, bool quiet = false) {
    const auto place = places_.Find(word);
    if (!place.ok()) {
      Say(std::string(place.status().message()));
      return {};
    }
    if (HasGlob(place->path)) {
      const std::string base = place->local.substr(0, place->local.size() - place->path.size());
      const auto paths = host_.storage.Glob(Escaped(base) + place->path);
      std::vector<Found> found;
      for (const std::string& path : paths.ok() ? *paths : std::vector<std::string>()) {
        const std::string below = path.substr(base.size());
        if (!HasDots(below)) found.push_back({path, absl::StrCat(place->prefix, below)});
      }
      if (!found.empty()) return found;
    }
    // Also a name that is a glob and matches nothing: -put has made it, and `weir run` reads it.
    if (Exists(place->local)) return {{place->local, Shown(*place)}};
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

  static bool Exists(const std::string& path) {
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error));
  }
  static bool IsFolder(const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
  }

  // Names in a directory, sorted; Weir's manifest is none of Hadoop's files.
  std::vector<std::string> NamesIn(const Found& folder) {
    auto names = host_.storage.ListNames(folder.local);
    if (!names.ok()) {
      Say(folder.shown, std::string(names.status().message()));
      return {};
    }
    const auto manifest = std::find(names->begin(), names->end(), kManifestName);
    const bool parts = std::find(names->begin(), names->end(), "part-00000") != names->end();
    if (manifest != names->end() && parts && HasManifestOfWeir(folder.local)) {
      names->erase(manifest);
    }
    return *std::move(names);
  }
  bool HasManifestOfWeir(const std::string& folder) {
    const std::string path = Below(folder, kManifestName);
    const auto info = host_.storage.Stat(path);
    if (!info.ok() || !info->is_regular) return false;  // a pipe would be waited for
    const auto text = host_.storage.ReadFile(path, kManifestBytesMax);
    return text.ok() && IsManifestOfWeir(*text);
  }

  void List() {
    const bool deep = Has("R") || command_ == "lsr";
    for (const std::string& operand : operands_) {
      for (const Found& found : Match(operand)) {
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
  void ListFolder(const Found& folder, const std::vector<std::string>& names, bool deep) {
    for (const std::string& name : names) {
      const Found inner = {Below(folder.local, name), Below(folder.shown, name)};
      ListOne(inner);
      // A link to a folder is not followed: it may lead round and round.
      std::error_code error;
      if (deep && fs::is_directory(fs::symlink_status(inner.local, error))) {
        ListFolder(inner, NamesIn(inner), true);
      }
    }
  }
  // -rw-r--r--   1 alice alice       3276 2010-01-13 14:00 /foo/bar
  void ListOne(const Found& found) {
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
      for (const Found& found : Match(operand)) {
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
      if (Exists(place->local)) {
        if (!Has("p") || !IsFolder(place->local)) {
          Say(operand, IsFolder(place->local) ? "File exists" : "Is not a directory");
        }
        continue;
      }
      Has("p") ? fs::create_directories(place->local, error)
               : fs::create_directory(place->local, error);
      if (error) Say(operand, Reason(error));
    }
  }

  void Remove() {
    const bool deep = Has("R") || Has("r") || command_ == "rmr";
    for (const std::string& operand : operands_) {
      for (const Found& found : Match(operand, Has("f"))) {
        std::error_code error;
        if (found.local == places_.root() || found.local == "/") {
          Say(found.shown, "is the root; remove what is in it");
        } else if (!deep && fs::is_directory(fs::symlink_status(found.local, error))) {
          Say(found.shown, "Is a directory");
        } else if (fs::remove_all(found.local, error); error) {
          Say(found.shown, Reason(error));
        } else {
          host_.out << "Deleted " << found.shown << '\n';
        }
      }
    }
  }

  std::int64_t BytesOf(const Found& found) {
    if (IsFolder(found.local)) {
      std::int64_t bytes = 0;
      std::error_code error;
      if (fs::is_symlink(found.local, error)) return 0;
      for (const std::string& name : NamesIn(found)) {
        bytes += BytesOf({Below(found.local, name), Below(found.shown, name)});
      }
      return bytes;
    }
    const auto info = host_.storage.Stat(found.local);
    return info.ok() ? info->bytes : 0;
  }
  void DiskUse() {
    for (const std::string& operand : operands_) {
      for (const Found& found : Match(operand)) {
        std::vector<Found> rows = {found};
        if (IsFolder(found.local) && !Has("s")) {
          rows.clear();
          for (const std::string& name : NamesIn(found)) {
            rows.push_back({Below(found.local, name), Below(found.shown, name)});
          }
        }
        for (const Found& row : rows) {
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
    const bool there = place.ok() && Exists(place->local);
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
    std::vector<Found> sources;
    for (const std::string& operand : operands_) {
      sources.push_back({LocalPath(operand), operand});
    }
    CopyAll(sources, {place->local, into});
  }
  void Get() {
    const std::string into = operands_.back();
    operands_.pop_back();
    std::vector<Found> sources;
    for (const std::string& operand : operands_) {
      for (const Found& found : Match(operand)) sources.push_back(found);
    }
    CopyAll(sources, {LocalPath(into), into});
  }

  void CopyAll(const std::vector<Found>& sources, const Found& into) {
    const bool folder = IsFolder(into.local);
    if (sources.size() > 1 && !folder) {
      Say(into.shown, Exists(into.local) ? "Is not a directory" : "No such file or directory");
      return;
    }
    for (const Found& source : sources) {
      std::error_code error;
      if (!fs::exists(source.local, error)) {
        Say(source.shown, "No such file or directory");
        continue;
      }
      Found target = into;
      if (folder) {
        const std::string name = fs::path(source.local).lexically_normal().filename();
        target = {Below(into.local, name), Below(into.shown, name)};
      }
      if (IsFolder(source.local) && IsWithin(target.local, source.local)) {
        Say(source.shown, absl::StrCat("would be copied into itself, to ", target.shown));
      } else if (Exists(target.local) && !(Has("f") && !IsFolder(target.local))) {
        Say(target.shown, "File exists");
      } else {
        Copy(source, target);
      }
    }
  }
  // By what names lead to; `place` need not be there yet.
  static bool IsWithin(const std::string& place, const std::string& folder) {
    std::error_code error, no_folder;
    const fs::path inner = fs::weakly_canonical(place, error);
    const fs::path outer = fs::canonical(folder, no_folder);
    if (error || no_folder) return false;
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first ==
           outer.end();
  }
  bool Copy(const Found& source, const Found& target) {
    std::error_code error;
    if (IsFolder(source.local)) {
      if (fs::create_directory(target.local, error); error) {
        Say(target.shown, Reason(error));
        return false;
      }
      for (const std::string& name : NamesIn(source)) {
        const Found inner = {Below(source.local, name), Below(source.shown, name)};
        // One may lead round and round, or to the whole machine.
        if (IsFolder(inner.local) && fs::is_symlink(inner.local, error)) {
          Say(inner.shown, "is a link to a folder and is not copied");
        } else if (!Copy(inner, {Below(target.local, name), Below(target.shown, name)})) {
          return false;
        }
      }
      return true;
    }
    // As Hadoop calls it meanwhile; no job takes it for input.
    const fs::path place = target.local;
    const fs::path partial =
        place.parent_path() / absl::StrCat("_", place.filename().string(), "._COPYING_");
    fs::copy_file(source.local, partial, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(partial, place, error);
    if (!error) return true;
    Say(target.shown, Reason(error));
    fs::remove(partial, error);
    return false;
  }

  const HadoopPlaces& places_;
  CommandHost& host_;
  std::string command_;
  absl::btree_set<std::string> flags_;
  std::vector<std::string> operands_;
  int code_ = kOk;
};

const Files::Command Files::kCommands[13] = {{"mkdir", "p", 1, &Files::MakeFolder},
                                             {"put", "f", 2, &Files::Put},
                                             {"copyFromLocal", "f", 2, &Files::Put},
                                             {"get", "f", 2, &Files::Get},
                                             {"copyToLocal", "f", 2, &Files::Get},
                                             {"ls", "R d", 0, &Files::List},
                                             {"lsr", "", 0, &Files::List},
                                             {"cat", "", 1, &Files::Cat},
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
