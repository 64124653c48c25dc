#include "jobs/api/part_lines.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"

namespace weir {
namespace {

absl::Status PartError(const std::string& path, int error_number) {
  return StepErrorStatus(
      error_number == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kPermissionDenied,
      {std::string(error_number == ENOENT ? step_error::kInputNotFound
                                          : step_error::kInputUnreadable),
       absl::StrCat("cannot read output part ", path, ": ",
                    std::generic_category().message(error_number)),
       "check the output directory", path});
}

absl::Status VisitLines(const std::string& path,
                        const std::function<absl::Status(std::string_view)>& visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) return PartError(path, errno);
  char* line = nullptr;
  std::size_t room = 0;
  absl::Status status;
  while (status.ok()) {
    const ssize_t bytes = ::getline(&line, &room, file.get());
    if (bytes < 0) break;
    std::string_view text(line, static_cast<std::size_t>(bytes));
    if (text.back() == '\n') text.remove_suffix(1);
    status = visit(text);
  }
  if (status.ok() && std::ferror(file.get()) != 0) status = PartError(path, errno);
  std::free(line);
  return status;
}

}  // namespace

absl::Status VisitPartLines(absl::Span<const std::string> part_paths,
                            const std::function<absl::Status(std::string_view)>& visit) {
  for (const std::string& path : part_paths) {
    if (absl::Status status = VisitLines(path, visit); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DamagedPartLine(std::string_view line) {
  return absl::DataLossError(absl::StrCat("output part is damaged; this is no line of it: '",
                                          absl::Utf8SafeCEscape(std::string(line.substr(0, 200))),
                                          "'"));
}

}  // namespace weir
