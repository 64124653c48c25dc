#include "runtime/reduce/member.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/reduce/member_call.h"
#include "runtime/reduce/operations.h"

namespace weir::reduce {
namespace {

constexpr std::size_t kPlansKept = 64;
constexpr std::size_t kCallsRemembered = 1000;
constexpr absl::Duration kLeavePatience = absl::Seconds(5);

}  // namespace

Answers::Answers(Mesh& mesh, std::int32_t rank)
    : mesh_(mesh), read_(mesh.to.size()), unsent_(mesh.to.size()), left_(mesh.to.size(), false) {
  left_[static_cast<std::size_t>(rank)] = true;
}

absl::StatusOr<std::vector<Answers::Answer>> Answers::Read(std::int32_t peer) {
  const auto at = static_cast<std::size_t>(peer);
  std::vector<Answer> answers;
  bool ended = false;
  for (char buffer[4096];;) {
    const ssize_t got = ::recv(mesh_.to[at].get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      ended = true;
      break;
    }
    read_[at].append(buffer, static_cast<std::size_t>(got));
    if (got < static_cast<ssize_t>(sizeof buffer)) break;
  }
  std::size_t used = 0;
  while (read_[at].size() - used >= kFrameHeaderBytes) {
    const char* frame = read_[at].data() + used;
    const absl::StatusOr<FrameHeader> header = DecodeFrameHeader(frame);
    if (!header.ok()) return header.status();
    const std::size_t whole = kFrameHeaderBytes + header->body_bytes;
    if (header->kind == FrameKind::kData) return absl::DataLossError("data came as an answer");
    if (read_[at].size() - used < whole) break;
    if (absl::Status sound = CheckBody(frame, frame + kFrameHeaderBytes); !sound.ok()) return sound;
    if (header->kind == FrameKind::kBye) left_[at] = true;
    answers.push_back({*header, std::string(frame + kFrameHeaderBytes, header->body_bytes)});
    used += whole;
  }
  read_[at].erase(0, used);
  if (ended && answers.empty() && !left_[at])
    return absl::UnavailableError("its connection ended: it died");
  return answers;
}

void Answers::Write(std::int32_t peer, const std::string& frame) {
  unsent_[static_cast<std::size_t>(peer)] += frame;
  Flush(peer);
}

bool Answers::Flush(std::int32_t peer) {
  const auto at = static_cast<std::size_t>(peer);
  std::string& unsent = unsent_[at];
  while (!unsent.empty()) {
    const ssize_t sent =
        ::send(mesh_.from[at].get(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    // Whoever is gone shows where its answers are read.
    if (sent < 0) {
      unsent.clear();
      break;
    }
    unsent.erase(0, static_cast<std::size_t>(sent));
  }
  return false;
}

Member::Member(const GroupFacts& facts, std::int32_t rank, std::vector<std::string> endpoints,
               Mesh mesh, absl::Duration call_timeout)
    : facts_(facts),
      rank_(rank),
      endpoints_(std::move(endpoints)),
      mesh_(std::move(mesh)),
      answers_(mesh_, rank),
      call_timeout_(call_timeout),
      gathers_(static_cast<std::size_t>(facts.size), 1) {}

Member::~Member() {
  FrameHeader header;
  header.kind = FrameKind::kBye;
  const std::string bye = SmallFrame(header, "");
  for (std::int32_t peer = 0; peer < facts_.size; ++peer) {
    if (peer != rank_) answers_.Write(peer, bye);
  }
  mesh_.Close(kLeavePatience);
}

std::string Member::NameOf(std::int32_t peer) const {
  return absl::StrCat("rank ", peer, " (", endpoints_[static_cast<std::size_t>(peer)], ")");
}

absl::Status Member::Differs(std::int32_t peer, const Signature& theirs,
                             const Signature& ours) const {
  Signature same_schedule = theirs;
  same_schedule.schedule = ours.schedule;
  if (same_schedule == ours) {
    return absl::FailedPreconditionError(
        absl::StrCat(NameOf(peer), " and ", NameOf(rank_), " computed different schedules of ",
                     Describe(ours), ": run the same version on processors that compute alike"));
  }
  return absl::FailedPreconditionError(absl::StrCat("members make different calls: ", NameOf(peer),
                                                    " called ", Describe(theirs), ", ",
                                                    NameOf(rank_), " called ", Describe(ours)));
}

absl::Status Member::Break(absl::Status why) {
  if (!broken_.ok()) return broken_;
  broken_ = std::move(why);
  FrameHeader header;
  header.kind = FrameKind::kAbort;
  header.call = calls_;
  header.transfer = static_cast<std::int64_t>(broken_.code());
  const std::string abort = SmallFrame(header, broken_.message());
  for (std::int32_t peer = 0; peer < facts_.size; ++peer) {
    if (peer != rank_) answers_.Write(peer, abort);
  }
  return broken_;
}

absl::StatusOr<std::shared_ptr<const PlannedCall>> Member::PlanOf(Signature& call,
                                                                  const Operation& operation) {
  auto& [planned, used] = plans_[call];
  used = calls_;
  if (planned == nullptr) {
    absl::StatusOr<std::shared_ptr<const GroupPlan>> plan = MakeGroupPlan(facts_, call, operation);
    if (!plan.ok()) return plan.status();
    absl::StatusOr<MemberProgram> program =
        ProgramOf((*plan)->plan, rank_, static_cast<std::int64_t>(ElementBytes(call.type)),
                  (*plan)->window_bytes);
    if (!program.ok()) return program.status();
    planned =
        std::make_shared<const PlannedCall>(PlannedCall{*std::move(plan), *std::move(program)});
  }
  std::shared_ptr<const PlannedCall> found = planned;
  if (plans_.size() > kPlansKept) {
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
      return a.second.second < b.second.second;
    }));
  }
  call.schedule = found->plan->fingerprint;
  return found;
}

absl::Status Member::CheckCall(const Signature& call, const Operation& operation) const {
  if (!operation.FoldOf(call.type)) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(rank_), ": operation '", operation.name(),
                                                   "' does not take ", TypeName(call.type)));
  }
  if (call.root < 0 || call.root >= facts_.size) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(rank_), ": root is ", call.root,
                                                   "; it must be between 0 and ", facts_.size - 1));
  }
  return absl::OkStatus();
}

absl::Status Member::Prepare(Signature call, const Operation& operation) {
  if (absl::Status status = CheckCall(call, operation); !status.ok()) return status;
  call.operation = OperationNumber(operation);
  return PlanOf(call, operation).status();
}

absl::Status Member::Call(Signature call, void* data, const Operation& operation) {
  ++calls_;
  trace_ = {};
  if (!broken_.ok()) return broken_;
  if (absl::Status status = CheckCall(call, operation); !status.ok()) return Break(status);
  const Operation::Fold fold = operation.FoldOf(call.type);
  call.operation = OperationNumber(operation);
  absl::StatusOr<std::shared_ptr<const PlannedCall>> planned = PlanOf(call, operation);
  if (!planned.ok()) return Break(planned.status());
  last_ = *planned;
  history_.push_back(call);
  if (history_.size() > kCallsRemembered) history_.pop_front();
  absl::Status done = MemberCall(*this, call, static_cast<char*>(data), fold).Run();
  return done.ok() ? done : Break(std::move(done));
}

}  // namespace weir::reduce
