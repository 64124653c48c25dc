// Handlers of Master for processes that reduce with each other: it brings them together and tells
// them the network; their data never passes here.

#include <optional>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/master/master_impl.h"
#include "runtime/master/planning/cluster_profile.h"

namespace weir::master {
namespace {

v1::GroupNetwork NetworkOfGroups(const MasterOptions& options) {
  const NetworkSpec known = KnownNetwork(options);
  v1::GroupNetwork network;
  network.set_seconds_per_byte(known.channel_bytes_per_s > 0 ? 1 / known.channel_bytes_per_s
                                                             : options.channel_seconds_per_byte);
  network.set_latency_s(known.latency_s >= 0 ? known.latency_s : options.latency_s);
  NetworkSpec cuts = known;
  const std::int32_t total = TakeTotal(cuts);
  network.set_channels(options.bisection_channels > 0 ? options.bisection_channels : total);
  if (known.channel_bytes_per_s > 0) network.set_pacing_fraction(options.pacing_fraction);
  return network;
}

}  // namespace

void Master::Impl::Handle(rpc::Call<rpc::JoinGroup> call) {
  // A call may come twice, and its sender hears the answer of one copy only: nobody here knows of
  // which.
  auto& copies = joins_[call.request.member_key()];
  copies.push_back(std::move(call.reply));
  std::optional<rpc::Reply<v1::JoinGroupResponse>> oldest;
  if (copies.size() > kJoinCopiesMax) {
    oldest = std::move(copies.front());
    copies.erase(copies.begin());
  }
  AnswerJoins(groups_.Join(
      call.request, NetworkOfGroups(options_), seams_.loop.Now(),
      {seams_.random.Next(), seams_.random.Next(), seams_.random.Next(), seams_.random.Next()}));
  ScheduleGroupWatch();
  if (oldest) (*oldest)(absl::AbortedError("the member has asked again"));
}

void Master::Impl::AnswerJoins(std::vector<Groups::Answer> answers) {
  if (answers.size() > 1 && answers[0].response.ok()) {
    LogInfo("Group complete", {{"group_id", answers[0].response->group_id()},
                               {"members", static_cast<std::int64_t>(answers.size())}});
  }
  for (Groups::Answer& answer : answers) {
    const auto waiting = joins_.find(answer.member_key);
    if (waiting == joins_.end()) continue;
    auto copies = std::move(waiting->second);
    joins_.erase(waiting);
    for (auto& reply : copies) reply(answer.response);
  }
}

void Master::Impl::ScheduleGroupWatch() {
  const std::optional<MonoTime> next = groups_.NextWake();
  if (group_watch_scheduled_ || !next) return;
  group_watch_scheduled_ = true;
  // A shorter wait may come meanwhile: look again within a second.
  seams_.loop.RunAt(std::min(*next, seams_.loop.Now() + absl::Seconds(1)), callbacks_.Guard([this] {
    group_watch_scheduled_ = false;
    AnswerJoins(groups_.TimeOut(seams_.loop.Now()));
    ScheduleGroupWatch();
  }));
}

}  // namespace weir::master
