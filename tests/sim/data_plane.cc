#include "tests/sim/data_plane.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

bool Contains(const std::vector<transfer::OnePort::Id>& ids, transfer::OnePort::Id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

using transfer::OnePort;

// From the break of a connection, or the refusal of a request, to the one who hears of it.
constexpr absl::Duration kBrokenNoticed = absl::Milliseconds(2);
constexpr absl::Duration kRefusalTravels = absl::Milliseconds(1);
// Only probes ask for what is not bytes: grants travel themselves.
constexpr absl::Duration kProbeRoundTrip = absl::Microseconds(200);
constexpr char kProbeRun[] = "probe";  // what workers name the run that calibration fetches

}  // namespace

class DataPlane::Port {
 public:
  Port(SimProcess& of, const transfer::PublishedRuns& published) : process(of), runs(published) {}
  SimProcess& process;
  const transfer::PublishedRuns& runs;
  OnePort sends;
  OnePort receives;
  std::map<std::string, MovePtr> waiting;  // by job: in the tail of another send of it
  transfer::SendRates rates;
  transfer::DataServerCounters sent;
  transfer::FetcherCounters fetched;
};

// One fetch on its way.
struct DataPlane::Move {
  transfer::FetchOrder order;
  transfer::Fetcher::NearlyDone nearly_done;
  transfer::Fetcher::Done done;
  Port* receiver = nullptr;
  Port* sender = nullptr;           // null: nobody listens there
  std::vector<std::int64_t> marks;  // bytes left at them; the next one last
  std::int64_t bytes_left = 0;      // when it last began to flow, or reached a mark
  std::optional<MonoTime> flows_since;
  std::int64_t first_pacing_bytes_per_s = 0;  // when it began
  std::int64_t pacing_bytes_per_s = 0;        // now
  std::vector<RateChange> rate_changes;       // since it began
  bool probe = false;
  MonoTime asked;
  std::optional<MonoTime> began;
  std::optional<MonoTime> reported;  // nearly done: the master may grant the next
  std::optional<MonoTime> released;  // ports free for the next
  std::optional<OnePort::Id> receiving;
  std::optional<OnePort::Id> sending;
  std::optional<env::EventLoop::TimerId> timer;
  std::list<MovePtr>::iterator place;  // in moves_, until it is over
  bool ending = false;                 // only the news of it is still on its way
  bool over = false;

  absl::Duration TimeOf(std::int64_t bytes) const {
    return absl::Seconds(static_cast<double>(std::max<std::int64_t>(bytes, 0)) * SecondsPerByte());
  }
  static double PortSecondsPerByte(const SimProcess& process) {
    return process.model.channel_seconds_per_byte * process.model.slowness *
           process.faults.network_slowness;
  }
  double SecondsPerByte() const {
    const double ports =
        std::max(PortSecondsPerByte(sender->process), PortSecondsPerByte(receiver->process));
    const auto pace = static_cast<double>(pacing_bytes_per_s);
    return pace > 0 ? std::max(ports, 1 / pace) : ports;
  }
};

DataPlane::DataPlane(World& world) : world_(world) {}

DataPlane::~DataPlane() = default;

DataPlane::Port& DataPlane::AddPort(SimProcess& process, const transfer::PublishedRuns& runs) {
  ports_.push_back(std::make_unique<Port>(process, runs));
  present_[process.data_endpoint()] = ports_.back().get();
  return *ports_.back();
}

template <typename Which>
std::vector<DataPlane::MovePtr> DataPlane::MovesThat(Which which) const {
  std::vector<MovePtr> found;
  for (const MovePtr& move : moves_) {
    if (which(*move)) found.push_back(move);
  }
  return found;
}

DataPlane::Port* DataPlane::FindPort(const std::string& endpoint) const {
  const auto port = present_.find(endpoint);
  if (port == present_.end() || !port->second->process.loop->alive()) return nullptr;
  return port->second;
}

std::vector<std::string> DataPlane::JobsAt(const SimProcess& process) const {
  std::vector<std::string> jobs;
  for (const MovePtr& move : moves_) {
    const bool sends = move->sending && &move->sender->process == &process;
    if (sends || &move->receiver->process == &process) jobs.push_back(move->order.key.job_id);
  }
  return jobs;
}

void DataPlane::Fetch(Port& receiver, transfer::FetchOrder order,
                      transfer::Fetcher::NearlyDone nearly_done, transfer::Fetcher::Done done) {
  auto move = std::make_shared<Move>();
  move->order = std::move(order);
  move->nearly_done = std::move(nearly_done);
  move->done = std::move(done);
  move->receiver = &receiver;
  move->bytes_left = move->order.bytes;
  move->pacing_bytes_per_s = move->order.pacing_bytes_per_s;
  move->asked = receiver.process.loop->Now();
  move->marks = {0, move->order.look_ahead_bytes, move->order.grant_ahead_bytes};
  move->marks.erase(std::unique(move->marks.begin(), move->marks.end()), move->marks.end());
  move->place = moves_.insert(moves_.end(), move);
  const std::string& job = move->order.key.job_id;
  const std::int32_t plan_edit = move->order.plan_edit;
  // Concurrent ones supersede nothing.
  const std::vector<OnePort::Id> superseded = move->order.concurrent
                                                  ? std::vector<OnePort::Id>()
                                                  : receiver.receives.Superseded(job, plan_edit);
  for (const MovePtr& other : MovesThat([&](const Move& m) {
         return m.receiver == &receiver && m.receiving && Contains(superseded, *m.receiving);
       })) {
    End(other, absl::CancelledError("the plan was edited without it (simulated)"));
  }
  if (receiver.receives.Ask(job, move->order.concurrent, plan_edit) == OnePort::Admission::kBusy) {
    BlameMaster(*move, "receives", receiver,
                [&](const Move& other) { return other.receiver == &receiver; });
    return Refuse(move, absl::FailedPreconditionError("this worker is busy with another receive"));
  }
  move->receiving = receiver.receives.Begin(job, move->order.bytes, move->order.look_ahead_bytes,
                                            move->order.concurrent, plan_edit);
  move->sender = FindPort(move->order.peer_endpoint);
  if (move->sender == nullptr) {
    return Refuse(move, absl::UnavailableError("connection refused (simulated)"));
  }
  Stall(move);
  if (IsCut(*move)) {
    ++stalled_in_cuts_;
  } else if (move->sender->process.runs()) {
    Serve(move);
  }
}

void DataPlane::StallInCut(const MovePtr& move) {
  ++stalled_in_cuts_;
  Stall(move);
}

bool DataPlane::IsCut(const Move& move) const {
  return world_.network().cuts().Part(move.sender->process.name(), move.receiver->process.name());
}

void DataPlane::SetRates(Port& sender, const std::string& job_id,
                         const std::vector<transfer::SendRate>& rates) {
  for (const transfer::SendRate& rate : rates) {
    if (!sender.rates.Set(job_id, rate)) continue;
    for (const MovePtr& move : MovesThat([&](const Move& m) {
           const bool moves = m.sender == &sender && m.began && !m.ending;
           return moves && m.order.key.job_id == job_id && m.order.transfer == rate.transfer &&
                  m.order.attempt == rate.attempt;
         })) {
      Retime(move, rate.bytes_per_s);
    }
  }
}

void DataPlane::Retime(const MovePtr& move, std::int64_t bytes_per_s) {
  CountFlowed(*move);
  const bool flows = move->flows_since.has_value();
  move->pacing_bytes_per_s = bytes_per_s;
  move->rate_changes.push_back({world_.time().now(), bytes_per_s});
  world_.Note(absl::StrCat(move->sender->process.name(), " paces transfer ", move->order.transfer,
                           " of ", move->order.key.job_id, " at ", bytes_per_s));
  if (flows) Flow(move);
}

void DataPlane::BreakSends(Port& sender, const std::string& job_id) {
  sender.rates.ForgetJob(job_id);
  for (const MovePtr& move : MovesThat([&](const Move& m) {
         // What is on the line arrives all the same.
         const bool sends = m.sender == &sender && (m.sending || !m.began) && !m.ending;
         return sends && (job_id.empty() || m.order.key.job_id == job_id);
       })) {
    EndSend(*move);
    EndLater(move, kBrokenNoticed, absl::UnavailableError("the sender broke off (simulated)"));
  }
}

void DataPlane::CancelFetches(Port& receiver, const std::string& job_id,
                              std::optional<std::int32_t> transfer) {
  for (const MovePtr& move : MovesThat([&](const Move& m) {
         return m.receiver == &receiver && (job_id.empty() || m.order.key.job_id == job_id) &&
                (!transfer || m.order.transfer == *transfer);
       })) {
    End(move, absl::CancelledError("it is wanted no more (simulated)"));
  }
}

transfer::DataServerCounters DataPlane::SentBy(const Port& sender) { return sender.sent; }

transfer::FetcherCounters DataPlane::FetchedBy(const Port& receiver) { return receiver.fetched; }

absl::Status DataPlane::CheckRequest(const Move& move) const {
  const transfer::FetchOrder& order = move.order;
  Port& sender = *move.sender;
  const absl::StatusOr<transfer::RunFile> run = sender.runs.Find(order.key, order.run_id);
  if (!run.ok()) return run.status();
  if (order.offset + order.bytes > run->bytes) {
    return absl::OutOfRangeError(absl::StrCat("run ", order.run_id, " has ", run->bytes, " bytes"));
  }
  if (run->probe) return absl::OkStatus();
  absl::Status there = sender.process.storage.CheckWritten(run->path, order.offset, order.bytes);
  if (!there.ok()) {
    world_.Wrong(
        absl::StrCat(sender.process.name(), " publishes what is not there: ", there.ToString()));
  }
  return there;
}

void DataPlane::Serve(const MovePtr& move) {
  absl::Status admitted = CheckRequest(*move);
  if (!admitted.ok()) return Refuse(move, std::move(admitted));
  Port& sender = *move->sender;
  move->probe = sender.runs.Find(move->order.key, move->order.run_id)->probe;
  const std::string& job = move->order.key.job_id;
  const std::int32_t plan_edit = move->order.plan_edit;
  const std::vector<OnePort::Id> superseded =
      move->order.concurrent ? std::vector<OnePort::Id>() : sender.sends.Superseded(job, plan_edit);
  for (const MovePtr& other : MovesThat([&](const Move& m) {
         return m.sender == &sender && m.sending && Contains(superseded, *m.sending);
       })) {
    EndSend(*other);
    EndLater(other, kBrokenNoticed, absl::UnavailableError("the sender broke off (simulated)"));
  }
  switch (sender.sends.Ask(job, move->order.concurrent, plan_edit)) {
    case OnePort::Admission::kFree:
      return Begin(move);
    case OnePort::Admission::kNearlyDone:
      if (sender.waiting.emplace(job, move).second) return;
      break;
    case OnePort::Admission::kBusy:
      break;
  }
  BlameMaster(*move, "sends", sender, [&](const Move& other) { return other.sender == &sender; });
  Refuse(move, absl::FailedPreconditionError("the sender is busy with another send"));
}

// Of one job no plan grants what cannot be, and of one round of a calibration no master asks for
// it. What is left of another round, because its request came late, is not its fault.
template <typename Which>
void DataPlane::BlameMaster(const Move& move, const char* what, const Port& port, Which which) {
  const auto same_job = [&](const Move& other) {
    if (&other == &move || !which(other)) return false;
    if (other.order.key.job_id != move.order.key.job_id) return false;
    return move.order.run_id != kProbeRun || other.order.plan_edit == move.order.plan_edit;
  };
  if (MovesThat(same_job).empty()) return;
  world_.Wrong(absl::StrCat("two ", what, " at once on ", port.process.name()));
}

void DataPlane::Begin(const MovePtr& move) {
  const transfer::FetchOrder& order = move->order;
  move->sending = move->sender->sends.Begin(order.key.job_id, order.bytes, order.grant_ahead_bytes,
                                            order.concurrent, order.plan_edit);
  move->began = world_.time().now();
  move->pacing_bytes_per_s =
      move->sender->rates.Find(order.key.job_id, order.transfer, order.attempt)
          .value_or(order.pacing_bytes_per_s);
  move->first_pacing_bytes_per_s = move->pacing_bytes_per_s;
  world_.Note(absl::StrCat(move->receiver->process.name(), " fetches ", order.bytes, " of run ",
                           order.run_id, " of ", order.key.job_id, " from ", order.peer_name));
  Flow(move);
}

// Lets bytes come until the next mark.
void DataPlane::Flow(const MovePtr& move) {
  if (IsCut(*move)) return StallInCut(move);
  move->flows_since = world_.time().now();
  if (move->probe) {
    const absl::Duration takes = move->order.probe ? move->order.probe->end : kProbeRoundTrip;
    return Arm(move, takes, [this, move] { Arrive(move); });
  }
  Arm(move, move->TimeOf(move->bytes_left - move->marks.back()), [this, move] { OnMark(move); });
}

void DataPlane::Count(Move& move, std::int64_t bytes) {
  move.receiver->receives.Move(*move.receiving, bytes);
  if (move.sending) move.sender->sends.Move(*move.sending, bytes);
  move.bytes_left -= bytes;
}

void DataPlane::OnMark(const MovePtr& move) {
  const std::int64_t mark = move->marks.back();
  move->marks.pop_back();
  // A short one is nearly done as soon as it begins.
  Count(*move, std::max<std::int64_t>(move->bytes_left - mark, 0));
  if (mark == 0) return Arrive(move);
  const MonoTime now = world_.time().now();
  if (!move->reported) move->reported = now;
  if (mark <= move->order.look_ahead_bytes) {
    move->released = now;
    // The rest is on the line.
    EndSend(*move);
  }
  Flow(move);
  if (move->nearly_done) move->nearly_done(mark);
}

void DataPlane::CountFlowed(Move& move) {
  if (!move.flows_since || move.probe) return;
  const double seconds = absl::ToDoubleSeconds(world_.time().now() - *move.flows_since);
  const auto flowed = static_cast<std::int64_t>(seconds / move.SecondsPerByte());
  const std::int64_t until_mark = move.bytes_left - move.marks.back();
  Count(move, std::clamp<std::int64_t>(flowed, 0, std::max<std::int64_t>(until_mark, 0)));
}

// The sender, or both ends, may not go on: what flowed is counted, and silence has its limit.
void DataPlane::Stall(const MovePtr& move) {
  CountFlowed(*move);
  move->flows_since.reset();
  Arm(move, limits::kTransferSilence,
      [this, move] { End(move, absl::DeadlineExceededError("no byte came (simulated)")); });
}

void DataPlane::Arrive(const MovePtr& move) {
  const transfer::FetchOrder& order = move->order;
  if (move->probe) return End(move, absl::OkStatus());
  const MonoTime now = world_.time().now();
  if (damage_share_ > 0 && world_.random().Chance(damage_share_)) {
    ++damaged_;
    return End(move, absl::DataLossError("a frame arrived with another checksum (simulated)"));
  }
  Port& receiver = *move->receiver;
  world_.trace().moves.push_back({order.key.job_id, order.peer_name, receiver.process.name(),
                                  *move->began, move->reported.value_or(now),
                                  move->released.value_or(now), order.bytes, order.concurrent,
                                  move->first_pacing_bytes_per_s, move->rate_changes});
  // A step that an edit moves away and another one back has its sections moved again.
  const absl::Status written = receiver.process.storage.WritePiece(
      order.destination_path, order.destination_offset, order.bytes, order.plan_edit > 0);
  if (absl::IsDataLoss(written)) {
    world_.Wrong(absl::StrCat(receiver.process.name(), ": ", written.message()));
  }
  End(move, written);
}

void DataPlane::EndSend(Move& move) {
  if (move.sender == nullptr) return;
  Port& sender = *move.sender;
  const auto waits = sender.waiting.find(move.order.key.job_id);
  if (waits != sender.waiting.end() && waits->second.get() == &move) sender.waiting.erase(waits);
  if (move.sending) sender.sends.End(*std::exchange(move.sending, std::nullopt));
  Wake(sender);
}

void DataPlane::Wake(Port& sender) {
  if (!sender.process.runs()) return;
  std::vector<MovePtr> woken;
  for (const auto& [job, move] : sender.waiting) {
    if (sender.sends.Ask(job, move->order.concurrent, move->order.plan_edit) ==
        OnePort::Admission::kNearlyDone)
      continue;
    woken.push_back(move);
  }
  for (const MovePtr& move : woken) {
    sender.waiting.erase(move->order.key.job_id);
    if (!move->over) Serve(move);
  }
}

void DataPlane::Refuse(const MovePtr& move, absl::Status why) {
  EndLater(move, kRefusalTravels, std::move(why));
}

void DataPlane::EndLater(const MovePtr& move, absl::Duration delay, absl::Status status) {
  move->ending = true;
  Arm(move, delay, [this, move, status = std::move(status)] { End(move, status); });
}

void DataPlane::End(const MovePtr& move, const absl::Status& status) {
  if (move->over) return;
  move->over = true;
  Disarm(*move);
  moves_.erase(move->place);
  if (move->receiving) move->receiver->receives.End(*move->receiving);
  EndSend(*move);
  transfer::FetcherCounters& fetched = move->receiver->fetched;
  if (status.ok()) {
    ++fetched.fetches;
    fetched.bytes += move->order.bytes;
    move->sender->rates.Forget(move->order.key.job_id, move->order.transfer, move->order.attempt);
    ++move->sender->sent.sends;
    move->sender->sent.bytes += move->order.bytes;
  } else {
    ++fetched.fetches_failed;
  }
  absl::StatusOr<transfer::FetchResult> result = ResultOf(*move);
  if (!status.ok()) {
    result = transfer::WithBytesBefore(status, move->order.bytes - move->bytes_left);
  }
  move->receiver->process.loop->Post(
      [done = std::move(move->done), result]() mutable { done(std::move(result)); });
}

transfer::FetchResult DataPlane::ResultOf(const Move& move) const {
  transfer::FetchResult result;
  result.bytes = move.order.bytes;
  result.seconds = absl::ToDoubleSeconds(world_.time().now() - move.asked);
  if (move.probe) result.first_byte_s = absl::ToDoubleSeconds(kProbeRoundTrip);
  if (move.order.probe) {
    result.seconds = absl::ToDoubleSeconds(move.order.probe->to - move.order.probe->from);
    result.bytes = std::llround(result.seconds / move.SecondsPerByte());
  }
  return result;
}

void DataPlane::OnKilled(const SimProcess& process) {
  for (const MovePtr& move :
       MovesThat([&](const Move& m) { return &m.receiver->process == &process; })) {
    End(move, absl::CancelledError("the receiver is dead (simulated)"));
  }
  for (const MovePtr& move : MovesThat(
           [&](const Move& m) { return m.sender != nullptr && &m.sender->process == &process; })) {
    EndLater(move, kBrokenNoticed, absl::UnavailableError("the connection broke (simulated)"));
  }
}

void DataPlane::OnHung(const SimProcess& process) {
  for (const MovePtr& move : MovesThat([&](const Move& m) {
         return m.sending && m.flows_since && &m.sender->process == &process;
       })) {
    Stall(move);
  }
}

void DataPlane::OnGoesOn(const SimProcess& process) {
  for (const MovePtr& move : MovesThat([&](const Move& m) {
         return !m.flows_since && !m.ending && m.sender != nullptr &&
                &m.sender->process == &process;
       })) {
    GoOn(move);
  }
}

void DataPlane::OnCutsChanged() {
  for (const MovePtr& move :
       MovesThat([&](const Move& m) { return !m.ending && m.sender != nullptr; })) {
    if (IsCut(*move)) {
      if (move->flows_since) StallInCut(move);
    } else if (!move->flows_since && move->sender->process.runs()) {
      GoOn(move);
    }
  }
}

void DataPlane::GoOn(const MovePtr& move) {
  if (move->over || IsCut(*move)) return;
  const auto waits = move->sender->waiting.find(move->order.key.job_id);
  if (waits != move->sender->waiting.end() && waits->second == move) {
    Wake(*move->sender);
  } else if (move->sending) {
    Flow(move);
  } else {
    Serve(move);
  }
}

void DataPlane::Arm(const MovePtr& move, absl::Duration delay, env::Task task) {
  Disarm(*move);
  const auto& loop = move->receiver->process.loop;
  move->timer = loop->RunAt(loop->Now() + delay, [move, run = std::move(task)]() mutable {
    move->timer.reset();
    if (!move->over) run();
  });
}

void DataPlane::Disarm(Move& move) {
  if (move.timer)
    move.receiver->process.loop->CancelTimer(*std::exchange(move.timer, std::nullopt));
}

}  // namespace weir::sim
