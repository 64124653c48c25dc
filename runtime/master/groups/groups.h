#pragma once

// Who has joined which group of processes that reduce with each other. Pure: time and entropy are
// passed in. Upstream: JoinGroup calls. Downstream: Master, which answers them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/mono_time.h"
#include "weir/v1/groups.pb.h"

namespace weir::master {

/// Calls of one member that wait for the same answer: its own, one that the network delivered twice
/// and those that it has given up. Beyond them the oldest is told so.
inline constexpr std::size_t kJoinCopiesMax = 4;

/// Members that wait for each other, by the name of their group, and groups that are complete.
///
/// A group is complete when as many members have joined as its first one said. Its name is then
/// free for another group; a member that asks again within kGroupRemembered gets the same answer.
/// Of the network counts what the lowest rank says: all of it where it names a rate, else its
/// channels alone, where it names any.
/// Thread-safety: none; on the control loop.
/// Bounds: kGroupsMax groups that wait, kGroupMembersMax members each.
/// Checked by: tests/unit/master/groups_test.cc.
class Groups {
 public:
  /// What a member that waits is told.
  struct Answer {
    std::string member_key;
    absl::StatusOr<v1::JoinGroupResponse> response;
  };
  /// Drawn by the caller for a group that this join may complete: its id and its token.
  using Entropy = std::array<std::uint64_t, 4>;

  /// Takes a member in. Returns who can be answered now: nobody while members are missing, all when
  /// this was the last, or the newcomer alone when it is refused or was complete already.
  ///
  /// Requires: the request has passed its Check; `known` is the network as the master knows it.
  /// Answers: kFailedPrecondition when the group waits for another number of members;
  ///   kAlreadyExists when its rank is taken; kResourceExhausted beyond kGroupsMax. A member that
  ///   asks again is answered so by what it says now, and is then none of the group any more. One
  ///   that waits where the newcomer listens has died and gives up its place: kAlreadyExists,
  ///   behind the others.
  std::vector<Answer> Join(const v1::JoinGroupRequest& request, const v1::GroupNetwork& known,
                           MonoTime now, const Entropy& entropy);

  /// Gives up members whose wait is over: kDeadlineExceeded, naming who has come. Forgets complete
  /// groups after kGroupRemembered.
  std::vector<Answer> TimeOut(MonoTime now);
  /// When TimeOut has something to do next; nothing when it has not.
  std::optional<MonoTime> NextWake() const;
  /// Gives up all that wait.
  std::vector<Answer> EndAll(const absl::Status& why);

 private:
  struct Member {
    v1::JoinGroupRequest request;
    MonoTime until;
  };
  struct Complete {
    std::map<std::string, v1::JoinGroupResponse> by_key;
    MonoTime until;
  };
  /// In order of arrival.
  using Waiting = std::vector<Member>;

  static std::vector<Answer> TakeReplaced(Waiting& waiting, const v1::JoinGroupRequest& by);
  static std::vector<Answer> Completed(const Waiting& waiting, const v1::GroupNetwork& known,
                                       const Entropy& entropy);

  std::map<std::string, Waiting> waiting_;
  std::vector<Complete> complete_;
};

}  // namespace weir::master
