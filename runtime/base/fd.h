#pragma once

#include <unistd.h>

#include <utility>

namespace weir {

/// Owns an open file descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Fd() { Reset(); }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// Gives the descriptor up without closing it.
  int Release() { return std::exchange(fd_, -1); }
  /// Closes now, and takes over `fd`.
  void Reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace weir
