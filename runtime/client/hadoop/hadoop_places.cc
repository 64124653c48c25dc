#include "runtime/client/hadoop/hadoop_places.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::client {
namespace {

absl::Status NoPlace(std::string_view word, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(word), "' ", why));
}

// "/a/b" of "/a//./x/../b/"; false where ".." leads above "/".
bool Normal(std::string_view path, std::string& normal) {
  std::vector<std::string> names;
  for (const std::string& name :
       std::vector<std::string>(absl::StrSplit(std::string(path), '/', absl::SkipEmpty()))) {
    if (name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (names.empty()) {
      return false;
    } else {
      names.pop_back();
    }
  }
  normal = absl::StrCat("/", absl::StrJoin(names, "/"));
  return true;
}

}  // namespace

absl::StatusOr<HadoopPlace> HadoopPlaces::Find(std::string_view word) const {
  if (word.empty() || word.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos) {
    return NoPlace(word, "is no path");
  }
  HadoopPlace place;
  std::string_view path = word;
  const std::size_t colon = word.find(':');
  const std::string_view scheme =
      colon < word.find('/') ? word.substr(0, colon) : std::string_view();
  if (!scheme.empty()) {
    if (scheme != "hdfs" && scheme != "file") {
      return NoPlace(word, "is of a file system that Weir does not know; it has hdfs and file");
    }
    path = word.substr(colon + 1);
    place.prefix = absl::StrCat(std::string(scheme), ":");
    if (path.starts_with("//")) {
      const std::size_t slash = std::min(path.find('/', 2), path.size());
      absl::StrAppend(&place.prefix, std::string(path.substr(0, slash)));
      path.remove_prefix(slash);
    }
    if (path.empty()) path = "/";
    if (!path.starts_with('/')) return NoPlace(word, "has no '/' behind its file system");
  }
  const std::string from_root = path.starts_with('/')
                                    ? std::string(path)
                                    : absl::StrCat("/user/", user_, "/", std::string(path));
  if (!Normal(from_root, place.path)) return NoPlace(word, "leads above the root");
  place.local = scheme == "file"    ? place.path
                : place.path == "/" ? root_
                                    : absl::StrCat(root_ == "/" ? "" : root_, place.path);
  return place;
}

}  // namespace weir::client
