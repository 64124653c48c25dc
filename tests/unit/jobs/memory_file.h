#pragma once

// An input file in memory, for tests of what is looked at where it lies.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "jobs/api/program.h"

namespace weir::testing {

/// A file in memory, of a file system that is mapped everywhere.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view contents) : fd_(::memfd_create("input", MFD_CLOEXEC)) {
    EXPECT_EQ(::write(fd_, contents.data(), contents.size()), std::ssize(contents));
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::int64_t bytes() const { return Look().st_size; }
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }
  InputRange range(std::int64_t begin, std::int64_t end) const {
    return {path(), begin, end, bytes()};
  }
  InputRange range() const { return range(0, bytes()); }
  void CutTo(std::int64_t bytes) { ASSERT_EQ(::ftruncate(fd_, bytes), 0); }
  struct stat Look() const {
    struct stat status {};
    EXPECT_EQ(::fstat(fd_, &status), 0);
    return status;
  }

 private:
  const int fd_;
};

}  // namespace weir::testing
