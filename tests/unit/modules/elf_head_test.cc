#include "runtime/modules/elf_head.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "runtime/base/job_errors.h"

namespace weir {
namespace {

// This program's own head, as that of a shared library.
std::string OwnHead() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string head(kElfHeadBytes, '\0');
  file.read(head.data(), kElfHeadBytes);
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof header);
  header.e_type = ET_DYN;
  std::memcpy(head.data(), &header, sizeof header);
  return head;
}

std::string RefusalOf(const std::string& head) {
  const absl::Status checked = CheckElfHead(head, "/tmp/a.so");
  if (checked.ok()) return "taken";
  const v1::JobError error = JobErrorFromStatus(checked);
  EXPECT_EQ(error.code(), job_error::kModuleRefused);
  EXPECT_TRUE(absl::StrContains(error.message(), "/tmp/a.so"));
  EXPECT_NE(error.advice(), "");
  return error.message();
}

TEST(ElfHeadTest, TakesASharedLibraryForThisMachine) { EXPECT_EQ(RefusalOf(OwnHead()), "taken"); }

TEST(ElfHeadTest, RefusesWhatIsNone) {
  EXPECT_TRUE(absl::StrContains(RefusalOf(""), "no ELF file"));
  EXPECT_TRUE(absl::StrContains(RefusalOf("#!/bin/sh\necho hello\n"), "no ELF file"));
  EXPECT_TRUE(absl::StrContains(RefusalOf(std::string(64, '\0')), "no ELF file"));
  EXPECT_TRUE(absl::StrContains(RefusalOf(OwnHead().substr(0, 20)), "cut off"));
}

TEST(ElfHeadTest, NamesTheOtherMachine) {
  const auto with = [](auto change) {
    std::string head = OwnHead();
    Elf64_Ehdr header;
    std::memcpy(&header, head.data(), sizeof header);
    change(header);
    std::memcpy(head.data(), &header, sizeof header);
    return RefusalOf(head);
  };
  EXPECT_TRUE(absl::StrContains(with([](Elf64_Ehdr& h) { h.e_machine = EM_S390; }), "s390"));
  EXPECT_TRUE(absl::StrContains(with([](Elf64_Ehdr& h) { h.e_machine = 4711; }), "4711"));
  EXPECT_TRUE(
      absl::StrContains(with([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }), "32 bits"));
  EXPECT_TRUE(absl::StrContains(with([](Elf64_Ehdr& h) { h.e_ident[EI_DATA] ^= 3; }), "order"));
  EXPECT_TRUE(
      absl::StrContains(with([](Elf64_Ehdr& h) { h.e_type = ET_REL; }), "no shared library"));
}

// Whatever stands there: it answers, and takes only what differs in nothing that it looks at.
TEST(ElfHeadTest, EachBitOfItsFieldsCounts) {
  const std::string head = OwnHead();
  int refused = 0;
  for (std::size_t at = 0; at < head.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = head;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      if (RefusalOf(other) != "taken") ++refused;
    }
  }
  EXPECT_EQ(refused, 8 * (4 + 1 + 1 + 2 + 2)) << "magic, class, order, type, machine";
}

}  // namespace
}  // namespace weir
