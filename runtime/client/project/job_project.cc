#include "runtime/client/project/job_project.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/client/project/job_templates.h"

namespace weir::client {
namespace {

constexpr char kLegal[] = "letters, digits and '_', a letter first";

// Targets that CMake and its generators have for themselves.
constexpr std::array<const char*, 11> kTaken = {
    "all",        "clean",         "depend",  "edit_cache",     "help", "install",
    "preinstall", "rebuild_cache", "package", "package_source", "test"};

bool IsLegal(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Legal, and as near as can be; empty where nothing is left.
std::string Mended(const std::string& name) {
  std::string mended;
  for (const char c : name) mended.push_back(IsLegal(c) ? c : '_');
  const auto letter = std::find_if(mended.begin(), mended.end(), [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c));
  });
  mended.erase(mended.begin(), letter);
  while (!mended.empty() && mended.back() == '_') mended.pop_back();
  return mended.substr(0, kProjectNameBytesMax);
}

absl::Status Refused(const std::string& name, const std::string& why) {
  const std::string mended = Mended(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' cannot name a job's files and classes: ", why, ".",
      mended.empty() || mended == name ? std::string()
                                       : absl::StrCat(" For example: weir new job ", mended)));
}

// "user_totals" -> "UserTotals".
std::string ClassName(const std::string& name) {
  std::string made;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') {
      made.push_back(begins ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c);
    }
    begins = c == '_';
  }
  return made;
}

}  // namespace

absl::Status CheckProjectName(const std::string& name) {
  if (name.empty()) return Refused(name, absl::StrCat("it is empty; use ", kLegal));
  if (name.size() > kProjectNameBytesMax) {
    return Refused(name, absl::StrCat("it has more than ", kProjectNameBytesMax, " bytes"));
  }
  if (!std::all_of(name.begin(), name.end(), IsLegal) ||
      !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) {
    return Refused(name, absl::StrCat("use ", kLegal));
  }
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end()) {
    return Refused(
        name, absl::StrCat("CMake has a target of this name; use ", name, "_job or another one"));
  }
  return absl::OkStatus();
}

std::vector<ProjectFile> JobProject(const std::string& name, const std::string& version) {
  const std::string class_name = ClassName(name);
  const std::string minor = version.substr(0, version.rfind('.'));
  std::vector<ProjectFile> files;
  for (const EmbeddedText& text : JobTemplates()) {
    files.push_back(
        {absl::StrReplaceAll(text.name, {{"NAME", name}}),
         absl::StrReplaceAll(text.text,
                             {{"@NAME@", name}, {"@CLASS@", class_name}, {"@VERSION@", minor}})});
  }
  return files;
}

}  // namespace weir::client
