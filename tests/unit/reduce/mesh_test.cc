// Connections between members, where they cannot be had.

#include "runtime/reduce/mesh.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "runtime/base/errno_status.h"

namespace weir::reduce {
namespace {

TEST(MeshTest, WithoutDescriptorsForItsMembersItSaysSo) {
  const absl::StatusOr<Listener> own = Listener::Open("127.0.0.1:0");
  const absl::StatusOr<Listener> other = Listener::Open("127.0.0.1:0");
  ASSERT_TRUE(own.ok() && other.ok()) << own.status() << other.status();
  MeshOptions options;
  options.group_id = "g";
  options.token = "t";
  options.endpoints = {own->endpoint, other->endpoint};
  options.timeout = absl::Milliseconds(50);
  // Nobody comes; and what a first connection opens besides is open.
  EXPECT_TRUE(absl::IsDeadlineExceeded(Mesh::Connect(*own, options).status()));

  // The other member connects.
  MeshOptions others = options;
  others.rank = 1;
  static_cast<void>(Mesh::Connect(*other, others));

  // UBSan looks through a pipe at objects of a type that it has not met yet.
  static_cast<void>(ErrnoStatus(EMFILE, "met"));
  // One descriptor for the way there, none for the way back.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  Fd next(::dup(own->fd.get()));
  ASSERT_TRUE(next.valid());
  const rlimit one = {static_cast<rlim_t>(next.get()) + 1, before.rlim_max};
  next.Reset();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one), 0);
  options.timeout = absl::Seconds(5);
  const absl::Status connected = Mesh::Connect(*own, options).status();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(connected)) << connected;
}

}  // namespace
}  // namespace weir::reduce
