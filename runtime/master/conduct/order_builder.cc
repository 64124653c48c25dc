#include "runtime/master/conduct/order_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/explain/plan_report.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"

namespace weir::master {

using planner::At;

namespace {

v1::SectionPlace PlaceOf(SectionPlace place) {
  switch (place) {
    case SectionPlace::kOwnRun:
      return v1::SECTION_PLACE_OWN_RUN;
    case SectionPlace::kHandedOver:
      return v1::SECTION_PLACE_HANDED_OVER;
    case SectionPlace::kReceived:
      return v1::SECTION_PLACE_RECEIVED;
  }
  return v1::SECTION_PLACE_UNSPECIFIED;
}

}  // namespace

OrderBuilder::OrderBuilder(const planner::Plan& plan, const InputRanges& input,
                           const std::vector<RegisteredWorker>& workers, OutputPlaces places,
                           GrantOptions options)
    : plan_(plan),
      input_(input),
      workers_(workers),
      places_(std::move(places)),
      options_(options),
      stored_by_(plan.steps.size(), planner::kNoIndex),
      runs_(plan.steps.size()) {
  for (const planner::ComputeStep& step : plan.steps) {
    if (key_ends_.size() <= At(step.layer)) key_ends_.resize(At(step.layer) + 1);
    std::vector<double>& ends = key_ends_[At(step.layer)];
    if (ends.size() <= At(step.index_in_layer)) ends.resize(At(step.index_in_layer) + 1);
    ends[At(step.index_in_layer)] = step.key_end;
  }
  for (const planner::Section& section : plan.sections) {
    if (plan.steps[At(section.consumer)].kind != planner::StepKind::kWrite) continue;
    stored_by_[At(section.producer)] = section.consumer;
  }
  // Rounding in the planner must not leave the last keys without an owner.
  for (std::vector<double>& ends : key_ends_) {
    if (!ends.empty()) ends.back() = 1;
  }
}

void OrderBuilder::RunPublished(planner::StepIndex step, const v1::RunInfo& run) {
  runs_[At(step)] = PublishedRun{run.run_id(), run.path()};
}

bool OrderBuilder::WritesPart(planner::StepIndex step) const {
  return At(plan_.steps[At(step)].layer) + 1 == key_ends_.size();
}

std::int32_t OrderBuilder::KeepFromLayer(const planner::ComputeStep& step) const {
  // A reducer starts when all of the layer before have ended, which read the layer before that. A
  // write step may start while other reducers still read theirs.
  switch (step.kind) {
    case planner::StepKind::kReduce:
      return step.layer - 1;
    case planner::StepKind::kWrite:
      return std::max(0, step.layer - 2);
    case planner::StepKind::kMap:
    case planner::StepKind::kCombine:
      break;
  }
  return 0;
}

std::string OrderBuilder::StepName(planner::StepIndex step) const {
  return planner::StepName(plan_, step);
}

std::string OrderBuilder::TransferName(planner::TransferIndex transfer) const {
  const planner::Transfer& t = plan_.transfers[At(transfer)];
  return absl::StrCat("transfer of ", StepName(t.producer), " to ", StepName(t.consumer));
}

v1::StepOrder OrderBuilder::BuildStep(const StepStart& start, int attempt) const {
  const planner::ComputeStep& step = plan_.steps[At(start.step)];
  v1::StepOrder order;
  order.set_step(start.step);
  order.set_layer(step.layer);
  order.set_index_in_layer(step.index_in_layer);
  order.set_layer_size(static_cast<std::int32_t>(key_ends_[At(step.layer)].size()));
  if (step.kind == planner::StepKind::kMap) {
    order.set_kind(v1::STEP_ORDER_KIND_MAP);
    for (v1::InputRange& range : input_.Cut(step.input_begin, step.input_end)) {
      *order.add_ranges() = std::move(range);
    }
  } else {
    const bool write = step.kind == planner::StepKind::kWrite;
    order.set_kind(write ? v1::STEP_ORDER_KIND_WRITE : v1::STEP_ORDER_KIND_REDUCE);
    for (const StepStart::Input& input : start.inputs) {
      v1::StepInput& message = *order.add_inputs();
      message.set_producer_step(input.producer);
      message.set_run_id(runs_[At(input.producer)].run_id);
      message.set_place(PlaceOf(input.place));
      message.set_offset(input.offset);
      message.set_bytes(input.bytes);
    }
  }
  order.set_keep_from_layer(KeepFromLayer(step));
  if (WritesPart(start.step)) {
    order.set_part_path(
        absl::StrCat(places_.staging, "/", StagedPartName(step.index_in_layer, attempt)));
  } else if (const planner::StepIndex store = stored_by_[At(start.step)];
             store != planner::kNoIndex) {
    order.set_store_consumer(plan_.steps[At(store)].index_in_layer);
  } else {
    for (const double end : key_ends_[At(step.layer) + 1]) order.add_consumer_key_end(end);
    order.set_codec(planner::CodecToProto(planner::CodecOfLayer(plan_.run_codec, step.layer)));
  }
  return order;
}

v1::TransferGrant OrderBuilder::BuildGrant(const TransferStart& start, double grant_delay_s) const {
  const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
  const RegisteredWorker& source = workers_[At(transfer.sender)];
  const PublishedRun& run = runs_[At(transfer.producer)];
  v1::TransferGrant grant;
  grant.set_transfer(start.transfer);
  grant.set_source_endpoint(source.identity.data_endpoint());
  grant.set_source_worker(source.identity.name());
  grant.set_handover(start.handover);
  if (start.handover) grant.set_source_run_path(run.path);
  grant.set_run_id(run.run_id);
  grant.set_offset(start.offset);
  grant.set_bytes(start.bytes);
  // A link in place uses no network; those who fetch from all share it as it comes.
  if (!start.handover && !start.concurrent) {
    const planner::NetworkModel& network = plan_.network;
    const double pacing =
        network.pacing_fraction > 0 ? network.pacing_fraction : options_.pacing_fraction;
    const double seconds_per_byte = network.SecondsPerByte(transfer.sender, transfer.receiver);
    if (pacing > 0 && seconds_per_byte > 0) {
      grant.set_pacing_bytes_per_s(static_cast<std::int64_t>(pacing / seconds_per_byte));
    }
    const std::int64_t most = start.bytes / 2;
    grant.set_look_ahead_bytes(std::min(options_.look_ahead_bytes, most));
    grant.set_grant_ahead_bytes(grant.look_ahead_bytes());
    if (options_.look_ahead_bytes > 0 && seconds_per_byte > 0) {
      // Arrives meanwhile; beyond a transfer's half it makes no difference how much.
      const double meanwhile = std::min(grant_delay_s / seconds_per_byte, double{1 << 30});
      grant.set_grant_ahead_bytes(
          std::min(options_.look_ahead_bytes + static_cast<std::int64_t>(meanwhile), most));
    }
  }
  grant.set_job_token(options_.job_token);
  grant.set_producer_step(transfer.producer);
  grant.set_section_offset(start.section_offset);
  grant.set_section_bytes(start.section_bytes);
  grant.set_concurrent(start.concurrent);
  return grant;
}

}  // namespace weir::master
