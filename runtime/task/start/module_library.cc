#include "runtime/task/start/module_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/module.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/fd.h"
#include "runtime/base/job_errors.h"
#include "runtime/modules/elf_head.h"
#include "runtime/task/start/guarded_call.h"

namespace weir::task {
namespace {

absl::Status CheckFile(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open module ", path));
  std::array<char, kElfHeadBytes> head;
  const ssize_t got = ::pread(fd.get(), head.data(), head.size(), 0);
  if (got < 0) return ErrnoStatus(errno, absl::StrCat("cannot read module ", path));
  return CheckElfHead({head.data(), static_cast<std::size_t>(got)}, path);
}

std::string LoaderError() {
  const char* error = ::dlerror();
  return error == nullptr ? "the dynamic loader does not say why" : error;
}

// Who submitted the job has loaded it: this machine lacks what it needs, or has another version.
absl::Status OfThisMachine(const absl::Status& refused) {
  v1::JobError error = JobErrorFromStatus(refused);
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return StatusFromJobError(refused.code(), error);
}

absl::StatusOr<JobCatalog> CatalogOf(ModuleJobs jobs, const std::string& path) {
  JobCatalog catalog;
  for (std::unique_ptr<JobDefinition>& job : jobs) {
    const std::string name = job->info().name;
    if (name.empty()) {
      return RefusedModule(path, "has a job without a name", "set info().name of each job");
    }
    if (!catalog.emplace(name, std::move(job)).second) {
      return RefusedModule(path, absl::StrCat("has two jobs of the name '", name, "'"),
                           "give each job a name of its own");
    }
  }
  if (catalog.empty()) {
    return RefusedModule(path, "has no jobs", "name them in WEIR_MODULE(...)");
  }
  return catalog;
}

}  // namespace

absl::StatusOr<JobCatalog> LoadModule(const std::string& path) {
  if (absl::Status file = CheckFile(path); !file.ok()) return file;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return OfThisMachine(
        RefusedModule(path, absl::StrCat("cannot be loaded: ", LoaderError()),
                      "link what it needs into it, or install that here and on all workers"));
  }
  const auto entry = reinterpret_cast<ModuleEntry>(::dlsym(library, kModuleEntry));
  if (entry == nullptr) {
    return RefusedModule(path, absl::StrCat("does not export ", kModuleEntry),
                         "write WEIR_MODULE(MyDefinition) into one of its source files");
  }
  return GuardedCall([&]() -> absl::StatusOr<JobCatalog> {
    const ModuleHead* head = entry();
    if (head == nullptr || head->head_bytes < sizeof(ModuleHead) || head->abi == nullptr ||
        std::string_view(head->abi) != WEIR_MODULE_ABI) {
      const std::string built = head == nullptr || head->abi == nullptr ? "nothing" : head->abi;
      return RefusedModule(
          path,
          absl::StrCat("was built with '", built, "', this weir with '", WEIR_MODULE_ABI, "'"),
          "build it again with the headers and the compiler of this weir");
    }
    ModuleJobs jobs;
    head->add_jobs(jobs);
    return CatalogOf(std::move(jobs), path);
  });
}

absl::StatusOr<const JobCatalog*> JobsOf(const v1::TaskCommand::Start& start, const JobCatalog& own,
                                         JobCatalog& module) {
  if (start.module_path().empty()) return &own;
  absl::StatusOr<JobCatalog> loaded = LoadModule(start.module_path());
  if (!loaded.ok()) return loaded.status();
  module = *std::move(loaded);
  return &module;
}

}  // namespace weir::task
