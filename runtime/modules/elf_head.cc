#include "runtime/modules/elf_head.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kOwnMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr std::uint16_t kOwnMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr std::uint16_t kOwnMachine = EM_PPC64;
#elif defined(__s390x__)
constexpr std::uint16_t kOwnMachine = EM_S390;
#else
constexpr std::uint16_t kOwnMachine = EM_NONE;
#endif

std::string MachineName(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86 (32 bits)";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "ARM (32 bits)";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC (64 bits)";
    case EM_S390:
      return "s390";
    default:
      return absl::StrCat("machine number ", machine);
  }
}

constexpr char kBuildAdvice[] = "build it on a machine like this one, with weir_add_job";

}  // namespace

absl::Status RefusedModule(const std::string& path, const std::string& why,
                           const std::string& advice) {
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kModuleRefused, absl::StrCat("module ", path, " ", why), advice));
}

absl::Status CheckElfHead(std::string_view head, const std::string& path) {
  if (!head.starts_with(std::string_view(ELFMAG, SELFMAG))) {
    return RefusedModule(path, "is no shared library: it is no ELF file",
                         "name the .so file that weir_add_job makes");
  }
  if (head.size() < sizeof(Elf64_Ehdr)) {
    return RefusedModule(path, "is cut off in its first bytes", "build or copy it again");
  }
  static_assert(sizeof(Elf64_Ehdr) == kElfHeadBytes);
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof header);
  // Type and machine lie at the same place in files of both word sizes.
  if (header.e_ident[EI_DATA] !=
      (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)) {
    return RefusedModule(path, "is for a machine with another order of bytes", kBuildAdvice);
  }
  if (header.e_machine != kOwnMachine) {
    return RefusedModule(path,
                         absl::StrCat("is for ", MachineName(header.e_machine),
                                      ", this machine is ", MachineName(kOwnMachine)),
                         kBuildAdvice);
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return RefusedModule(path, "is for programs of 32 bits", kBuildAdvice);
  }
  if (header.e_type != ET_DYN) {
    return RefusedModule(path, "is an ELF file, but no shared library",
                         "name the .so file that weir_add_job makes");
  }
  return absl::OkStatus();
}

}  // namespace weir
