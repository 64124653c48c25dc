#pragma once

// What makes a shared library a module: jobs of a user's own, outside of Weir's tree. One line in
// one source file of the library,
//
//   WEIR_MODULE(MyDefinition, MyOtherDefinition)
//
// names its JobDefinitions. Upstream: authors of modules. Downstream: task processes, and the
// process that answers for a module (runtime/task/start/module_library.h); nobody else loads one.

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/base/config.h"
#include "jobs/api/job_definition.h"

/// Grows with each change of what a module and Weir know of each other: the classes in jobs/api.
/// Checked by: tests/lint/check_module_api.py.
#define WEIR_MODULE_API 1

#define WEIR_MODULE_TEXT_OF(value) #value
#define WEIR_MODULE_TEXT(value) WEIR_MODULE_TEXT_OF(value)
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_MODULE_SANITIZER " asan"
#elif defined(__SANITIZE_THREAD__)
#define WEIR_MODULE_SANITIZER " tsan"
#else
#define WEIR_MODULE_SANITIZER ""
#endif
#ifndef ABSL_LTS_RELEASE_VERSION
#define ABSL_LTS_RELEASE_VERSION head
#endif

/// What two binaries must share to call each other through C++ classes. A module of another one is
/// refused by name.
#define WEIR_MODULE_ABI \
  "weir-api-" WEIR_MODULE_TEXT(WEIR_MODULE_API)               \
  " gxx-abi-" WEIR_MODULE_TEXT(__GXX_ABI_VERSION)             \
  " cxx11-strings-" WEIR_MODULE_TEXT(_GLIBCXX_USE_CXX11_ABI)  \
  " absl-" WEIR_MODULE_TEXT(ABSL_LTS_RELEASE_VERSION) WEIR_MODULE_SANITIZER

namespace weir {

using ModuleJobs = std::vector<std::unique_ptr<JobDefinition>>;

/// What the entry of a module returns. Read with care: only once `abi` is known to be ours may
/// `add_jobs` be called. Fields are never moved; new ones go to the end.
struct ModuleHead {
  std::uint32_t head_bytes;  // sizeof(ModuleHead) where the module was built
  const char* abi;           // WEIR_MODULE_ABI there
  void (*add_jobs)(ModuleJobs& jobs);
};

/// Name and type of the one thing that a module exports.
inline constexpr char kModuleEntry[] = "weir_module_entry";
using ModuleEntry = const ModuleHead* (*)();

template <typename... Definitions>
void AddModuleJobs(ModuleJobs& jobs) {
  static_assert(sizeof...(Definitions) > 0, "WEIR_MODULE names no job: WEIR_MODULE(MyDefinition)");
  static_assert((std::is_base_of_v<JobDefinition, Definitions> && ...),
                "WEIR_MODULE names a class that is no weir::JobDefinition");
  static_assert((!std::is_abstract_v<Definitions> && ...),
                "WEIR_MODULE names a JobDefinition that lacks one of info, MakeProgram, Present");
  static_assert((std::is_default_constructible_v<Definitions> && ...),
                "WEIR_MODULE names a JobDefinition that cannot be made without arguments");
  (jobs.push_back(std::make_unique<Definitions>()), ...);
}

}  // namespace weir

/// Makes the library it stands in a module with these jobs. Once a library, outside of namespaces.
#define WEIR_MODULE(...)                                                                      \
  extern "C" __attribute__((visibility("default"))) const ::weir::ModuleHead*                 \
  weir_module_entry() {                                                                       \
    static constexpr ::weir::ModuleHead kHead = {sizeof(::weir::ModuleHead), WEIR_MODULE_ABI, \
                                                 &::weir::AddModuleJobs<__VA_ARGS__>};        \
    return &kHead;                                                                            \
  }
