#include "runtime/master/groups/groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

std::string NameOf(const v1::JoinGroupRequest& request) {
  return request.rank() < 0 ? request.endpoint()
                            : absl::StrCat(request.endpoint(), " (rank ", request.rank(), ")");
}

/// Whether a member that joins agrees with one that waits.
absl::Status CheckBeside(const v1::JoinGroupRequest& waits, const v1::JoinGroupRequest& joins) {
  if (waits.size() != joins.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("group '", joins.group(), "' waits for ", waits.size(), " members, as ",
                     NameOf(waits), " said; ", NameOf(joins), " says ", joins.size()));
  }
  if (joins.rank() >= 0 && waits.rank() == joins.rank()) {
    return absl::AlreadyExistsError(absl::StrCat("rank ", joins.rank(), " of group '",
                                                 joins.group(), "' is taken by ", waits.endpoint(),
                                                 "; ", joins.endpoint(), " wants it too"));
  }
  return absl::OkStatus();
}

bool Given(const v1::GroupNetwork& network) { return network.seconds_per_byte() > 0; }

}  // namespace

std::vector<Groups::Answer> Groups::Join(const v1::JoinGroupRequest& request,
                                         const v1::GroupNetwork& known, MonoTime now,
                                         const Entropy& entropy) {
  for (const Complete& group : complete_) {
    if (const auto at = group.by_key.find(request.member_key()); at != group.by_key.end()) {
      return {{request.member_key(), at->second}};
    }
  }
  std::vector<Answer> replaced;
  const auto refuse = [&](absl::Status why) {
    replaced.insert(replaced.begin(), {request.member_key(), std::move(why)});
    return std::move(replaced);
  };
  if (!waiting_.contains(request.group()) &&
      static_cast<std::int64_t>(waiting_.size()) >= limits::kGroupsMax) {
    return refuse(absl::ResourceExhaustedError(
        absl::StrCat(limits::kGroupsMax, " groups wait for members already; join later")));
  }
  Waiting& waiting = waiting_[request.group()];
  replaced = TakeReplaced(waiting, request);
  const auto same = std::find_if(waiting.begin(), waiting.end(), [&](const Member& member) {
    return member.request.member_key() == request.member_key();
  });
  absl::Status fits;
  for (auto member = waiting.begin(); member != waiting.end() && fits.ok(); ++member) {
    if (member != same) fits = CheckBeside(member->request, request);
  }
  if (!fits.ok()) {
    // Nobody shall wait for one that has been refused.
    if (same != waiting.end()) waiting.erase(same);
    return refuse(std::move(fits));
  }
  Member joined{request, now + absl::Milliseconds(request.wait_ms())};
  if (same != waiting.end()) {
    // It gave up its earlier call; what it says and how long it waits is the new one's.
    *same = std::move(joined);
  } else {
    waiting.push_back(std::move(joined));
  }
  if (static_cast<std::int32_t>(waiting.size()) < request.size()) return replaced;
  std::vector<Answer> answers = Completed(waiting, known, entropy);
  waiting_.erase(request.group());
  Complete complete{{}, now + limits::kGroupRemembered};
  for (const Answer& answer : answers) complete.by_key[answer.member_key] = *answer.response;
  complete_.push_back(std::move(complete));
  answers.insert(answers.end(), replaced.begin(), replaced.end());
  return answers;
}

// One process listens at an endpoint: who waits there under another key has died, or has given up.
std::vector<Groups::Answer> Groups::TakeReplaced(Waiting& waiting, const v1::JoinGroupRequest& by) {
  std::vector<Answer> replaced;
  std::erase_if(waiting, [&](const Member& member) {
    const v1::JoinGroupRequest& waits = member.request;
    if (waits.endpoint() != by.endpoint() || waits.member_key() == by.member_key()) return false;
    replaced.push_back(
        {waits.member_key(), absl::AlreadyExistsError(absl::StrCat(
                                 "another member of group '", by.group(), "' listens at ",
                                 by.endpoint(), " by now, and takes the place of this one"))});
    return true;
  });
  return replaced;
}

std::vector<Groups::Answer> Groups::Completed(const Waiting& waiting, const v1::GroupNetwork& known,
                                              const Entropy& entropy) {
  std::vector<const v1::JoinGroupRequest*> by_rank(waiting.size(), nullptr);
  for (const Member& member : waiting) {
    if (member.request.rank() >= 0) by_rank[member.request.rank()] = &member.request;
  }
  auto free = by_rank.begin();
  for (const Member& member : waiting) {
    if (member.request.rank() >= 0) continue;
    free = std::find(free, by_rank.end(), nullptr);
    *free = &member.request;
  }
  v1::JoinGroupResponse response;
  response.set_group_id(absl::StrFormat("%016x%016x", entropy[0], entropy[1]));
  response.set_token(absl::StrFormat("%016x%016x", entropy[2], entropy[3]));
  *response.mutable_network() = known;
  for (auto request = by_rank.rbegin(); request != by_rank.rend(); ++request) {
    const v1::GroupNetwork& told = (*request)->network();
    if (Given(told)) {
      *response.mutable_network() = told;
    } else if (told.channels() > 0) {
      response.mutable_network()->set_channels(told.channels());
    }
  }
  for (const v1::JoinGroupRequest* request : by_rank) {
    v1::JoinGroupResponse::Member& member = *response.add_members();
    member.set_endpoint(request->endpoint());
    member.set_combine_s_per_byte(request->combine_s_per_byte());
  }
  std::vector<Answer> answers;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    response.set_rank(static_cast<std::int32_t>(rank));
    answers.push_back({by_rank[rank]->member_key(), response});
  }
  return answers;
}

std::vector<Groups::Answer> Groups::TimeOut(MonoTime now) {
  std::vector<Answer> answers;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Waiting& waiting = at->second;
    std::vector<std::string> present;
    for (const Member& member : waiting) present.push_back(NameOf(member.request));
    for (const Member& member : waiting) {
      if (member.until > now) continue;
      answers.push_back({member.request.member_key(),
                         absl::DeadlineExceededError(absl::StrCat(
                             "group '", at->first, "' has ", waiting.size(), " of ",
                             member.request.size(), " members after ", member.request.wait_ms(),
                             " ms: ", absl::StrJoin(present, ", ")))});
    }
    std::erase_if(waiting, [&](const Member& member) { return member.until <= now; });
    at = waiting.empty() ? waiting_.erase(at) : std::next(at);
  }
  std::erase_if(complete_, [&](const Complete& group) { return group.until <= now; });
  return answers;
}

std::optional<MonoTime> Groups::NextWake() const {
  std::optional<MonoTime> next;
  const auto take = [&](MonoTime when) { next = next ? std::min(*next, when) : when; };
  for (const auto& [name, waiting] : waiting_) {
    for (const Member& member : waiting) take(member.until);
  }
  for (const Complete& group : complete_) take(group.until);
  return next;
}

std::vector<Groups::Answer> Groups::EndAll(const absl::Status& why) {
  std::vector<Answer> answers;
  for (const auto& [name, waiting] : waiting_) {
    for (const Member& member : waiting) answers.push_back({member.request.member_key(), why});
  }
  waiting_.clear();
  return answers;
}

}  // namespace weir::master
