#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/limits.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/reduce/member.h"
#include "runtime/reduce/operations.h"
#include "runtime/reduce/probe.h"
#include "runtime/reduce/rendezvous.h"
#include "runtime/reduce/steady_time.h"

namespace weir::reduce {
namespace {

class JoinedGroup final : public Group {
 public:
  JoinedGroup(std::string id, const GroupFacts& facts, std::int32_t rank,
              std::vector<std::string> endpoints, Mesh mesh, absl::Duration call_timeout)
      : id_(std::move(id)),
        member_(facts, rank, std::move(endpoints), std::move(mesh), call_timeout) {}

  int rank() const override { return member_.rank(); }
  int size() const override { return member_.size(); }
  const std::string& id() const override { return id_; }
  double LastPrediction() const override {
    return member_.last_call() == nullptr ? 0 : member_.last_call()->plan->prediction.makespan_s;
  }
  double LastDuration() const override { return member_.last_trace().duration_s; }
  std::string LastMethod() const override {
    return member_.last_call() == nullptr ? "" : member_.last_call()->plan->plan.summary.method;
  }
  std::string LastReport() const override { return Explained(planner::ExplainText); }
  std::string LastGantt() const override { return Explained(planner::GanttSvg); }

 protected:
  absl::Status Call(Kind kind, void* data, std::size_t count, DataType type,
                    const Operation& operation, int root) override {
    return member_.Call(SignatureOf(kind, count, type, root), data, operation);
  }

  absl::Status Prepare(Kind kind, std::size_t count, DataType type, const Operation& operation,
                       int root) override {
    return member_.Prepare(SignatureOf(kind, count, type, root), operation);
  }

 private:
  static Signature SignatureOf(Kind kind, std::size_t count, DataType type, int root) {
    Signature call;
    call.kind = static_cast<CallKind>(kind);
    call.type = type;
    call.root = root;
    call.count = count;
    return call;
  }

  template <typename Explain>
  std::string Explained(const Explain& explain) const {
    if (member_.last_call() == nullptr) return "";
    planner::ExplainOptions options;
    options.title = absl::StrCat("group ", id_, ", seen by rank ", rank());
    for (int i = 0; i < size(); ++i) options.worker_names.push_back(absl::StrCat("rank ", i));
    const GroupPlan& plan = *member_.last_call()->plan;
    return explain(plan.plan, plan.prediction, &member_.last_trace().run, options);
  }

  const std::string id_;
  Member member_;
};

absl::Status CheckOptions(const GroupOptions& options) {
  const auto wrong = [](absl::string_view field, auto value, absl::string_view legal) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is '", value, "', must be ", legal));
  };
  if (options.group.empty()) return wrong("group", options.group, "a name");
  if (options.size < 1 || options.size > limits::kGroupMembersMax) {
    return wrong("size", options.size, absl::StrCat("between 1 and ", limits::kGroupMembersMax));
  }
  if (options.rank < -1 || options.rank >= options.size) {
    return wrong("rank", options.rank,
                 absl::StrCat("between 0 and ", options.size - 1, ", or -1 for any"));
  }
  const double wait_max_s = absl::ToDoubleSeconds(limits::kGroupWaitMax);
  if (!(options.join_timeout_s > 0 && options.join_timeout_s <= wait_max_s)) {
    return wrong("join_timeout_s", options.join_timeout_s,
                 absl::StrCat("above 0 and at most ", wait_max_s));
  }
  if (!(options.call_timeout_s > 0 && options.call_timeout_s <= 1e9))
    return wrong("call_timeout_s", options.call_timeout_s, "above 0 and at most 1e9");
  if (!(options.network.bytes_per_s >= 0 && options.network.bytes_per_s <= 1e15))
    return wrong("network.bytes_per_s", options.network.bytes_per_s, "between 0 and 1e15");
  if (!(options.network.latency_s >= 0 && options.network.latency_s <= 1000))
    return wrong("network.latency_s", options.network.latency_s, "between 0 and 1000");
  // Start-up and rate are measured together, and take each other's place together.
  if (options.network.latency_s > 0 && options.network.bytes_per_s == 0) {
    return wrong("network.latency_s", options.network.latency_s,
                 "0 where network.bytes_per_s is 0: give both, or none");
  }
  if (options.network.channels < 0)
    return wrong("network.channels", options.network.channels, "0 or more");
  return absl::OkStatus();
}

v1::JoinGroupRequest RequestOf(const GroupOptions& options, const std::string& endpoint) {
  env::KernelRandom random;
  v1::JoinGroupRequest request;
  request.set_group(options.group);
  request.set_size(options.size);
  request.set_rank(options.rank);
  request.set_member_key(absl::StrFormat("%016x%016x", random.Next(), random.Next()));
  request.set_endpoint(endpoint);
  request.set_combine_s_per_byte(MeasureSum(SteadySeconds));
  request.set_wait_ms(std::max(1, static_cast<int>(options.join_timeout_s * 1000)));
  if (options.network.bytes_per_s > 0) {
    v1::GroupNetwork& network = *request.mutable_network();
    network.set_seconds_per_byte(1 / options.network.bytes_per_s);
    network.set_latency_s(options.network.latency_s);
    // As the master's default; a rate that was given is kept to.
    network.set_pacing_fraction(0.97);
  }
  if (options.network.channels > 0) {
    request.mutable_network()->set_channels(options.network.channels);
  }
  return request;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Group>> JoinThrough(Rendezvous& rendezvous,
                                                   const GroupOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<Listener> listener = Listener::Open(options.listen);
  if (!listener.ok()) return listener.status();
  const double begin_s = SteadySeconds();
  const absl::StatusOr<v1::JoinGroupResponse> joined =
      rendezvous.Join(RequestOf(options, listener->endpoint));
  if (!joined.ok()) return joined.status();
  GroupFacts facts;
  facts.size = joined->members_size();
  facts.seconds_per_byte = joined->network().seconds_per_byte();
  facts.latency_s = joined->network().latency_s();
  facts.channels = joined->network().channels();
  facts.pacing_fraction = joined->network().pacing_fraction();
  MeshOptions mesh_options;
  for (const v1::JoinGroupResponse::Member& member : joined->members()) {
    mesh_options.endpoints.push_back(member.endpoint());
    facts.combine_s_per_byte = std::max(facts.combine_s_per_byte, member.combine_s_per_byte());
  }
  mesh_options.group_id = joined->group_id();
  mesh_options.token = joined->token();
  mesh_options.rank = joined->rank();
  if (facts.pacing_fraction > 0)
    mesh_options.paced_bytes_per_s = facts.pacing_fraction / facts.seconds_per_byte;
  const double left_s = options.join_timeout_s - (SteadySeconds() - begin_s);
  // All have joined: they connect within moments.
  mesh_options.timeout = absl::Seconds(std::max(left_s, 5.0));
  absl::StatusOr<Mesh> mesh = Mesh::Connect(*listener, mesh_options);
  if (!mesh.ok()) return mesh.status();
  if (facts.size > 1) {
    const absl::StatusOr<LinkMeasurement> agreed = MeasureLinks(
        *mesh, mesh_options, ProbeBytes(facts), /*given=*/options.network.bytes_per_s > 0);
    if (!agreed.ok()) return agreed.status();
    facts = WithMeasured(facts, *agreed);
  }
  return std::make_unique<JoinedGroup>(joined->group_id(), facts, joined->rank(),
                                       std::move(mesh_options.endpoints), *std::move(mesh),
                                       absl::Seconds(options.call_timeout_s));
}

}  // namespace weir::reduce
