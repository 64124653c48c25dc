#include "runtime/master/workers/call_back.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::master {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::RegisterRequest Request() {
  v1::RegisterRequest request;
  request.mutable_identity()->set_name("w3");
  request.mutable_identity()->set_control_endpoint("host3:7001");
  request.mutable_identity()->set_incarnation("0123456789abcdef");
  return request;
}

v1::IdentifyResponse Answer(const std::string& name, const std::string& incarnation) {
  v1::IdentifyResponse answer;
  answer.set_name(name);
  answer.set_incarnation(incarnation);
  return answer;
}

TEST(CallBackTest, TheWorkerItselfIsReached) {
  EXPECT_EQ(CheckCallBack(Request(), Answer("w3", "0123456789abcdef")), absl::OkStatus());
}

TEST(CallBackTest, OneThatCannotSayIsTaken) {
  EXPECT_EQ(CheckCallBack(Request(), absl::UnimplementedError("Identify")), absl::OkStatus());
}

TEST(CallBackTest, NobodyThereIsSaidWithWhatToDo) {
  for (const absl::Status& status :
       {absl::UnavailableError("Connection refused"), absl::DeadlineExceededError("no answer"),
        absl::UnauthenticatedError("no token")}) {
    const absl::Status reached = CheckCallBack(Request(), status);
    // Whatever the reason: a daemon tries again only after what may pass.
    EXPECT_TRUE(absl::IsUnavailable(reached)) << reached;
    EXPECT_THAT(std::string(reached.message()),
                HasSubstr("cannot reach worker w3 at host3:7001: "));
    EXPECT_THAT(std::string(reached.message()), HasSubstr(std::string(status.message())));
    EXPECT_THAT(std::string(reached.message()), HasSubstr("check --advertise"));
  }
}

TEST(CallBackTest, AnotherWorkerThereIsNamed) {
  const absl::Status other = CheckCallBack(Request(), Answer("w7", "0123456789abcdef"));
  EXPECT_TRUE(absl::IsUnavailable(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("finds worker w7"));
  const absl::Status namesake = CheckCallBack(Request(), Answer("w3", "fedcba9876543210"));
  EXPECT_TRUE(absl::IsUnavailable(namesake)) << namesake;
  EXPECT_THAT(std::string(namesake.message()), HasSubstr("another daemon of that name"));
  EXPECT_THAT(std::string(namesake.message()), Not(HasSubstr("finds worker")));
}

}  // namespace
}  // namespace weir::master
