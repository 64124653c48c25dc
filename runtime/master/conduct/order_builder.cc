#include "runtime/master/conduct/order_builder.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/explain/plan_report.h"
#include "planner/plan/input/input_parts.h"
#include "planner/plan/units.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"

namespace weir::master {

using planner::At;

namespace {

// Keys of consumers that follow one another meet but for this.
constexpr double kRounding = 1e-12;

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
                           std::int64_t plan_epoch, GrantOptions options, const PublishedRuns& runs)
    : plan_(plan),
      input_(input),
      workers_(workers),
      places_(std::move(places)),
      plan_epoch_(plan_epoch),
      options_(options),
      runs_(runs),
      sections_of_(plan.steps.size()) {
  std::vector<bool> reads(plan.steps.size(), false);
  for (std::size_t i = 0; i < plan.sections.size(); ++i) {
    const planner::Section& section = plan.sections[i];
    sections_of_[At(section.producer)].push_back(static_cast<std::int32_t>(i));
    if (!plan.steps[At(section.producer)].kind->reads_input() || reads[At(section.consumer)]) {
      continue;
    }
    reads[At(section.consumer)] = true;
    input_readers_.push_back(section.consumer);
  }
  std::sort(input_readers_.begin(), input_readers_.end(),
            [&plan](planner::StepIndex a, planner::StepIndex b) {
              const planner::ComputeStep &x = plan.steps[At(a)], &y = plan.steps[At(b)];
              return std::tie(x.layer, x.index_in_layer) < std::tie(y.layer, y.index_in_layer);
            });
  // By rising range: layers number their steps by rising keys.
  const auto rank = [&plan](std::int32_t index) {
    const planner::Section& section = plan.sections[At(index)];
    const planner::ComputeStep& consumer = plan.steps[At(section.consumer)];
    const planner::IndexRange range = section.indexes.value_or(planner::IndexRange{});
    return std::tuple(range.begin, range.end, consumer.layer, consumer.index_in_layer);
  };
  for (std::vector<std::int32_t>& sections : sections_of_) {
    std::sort(sections.begin(), sections.end(),
              [&rank](std::int32_t a, std::int32_t b) { return rank(a) < rank(b); });
  }
}

std::string OrderBuilder::StepName(planner::StepIndex step) const {
  return planner::StepName(plan_, step);
}

std::string OrderBuilder::TransferName(planner::TransferIndex transfer) const {
  const planner::Transfer& t = plan_.transfers[At(transfer)];
  return absl::StrCat("transfer of ", StepName(t.producer), " to ", StepName(t.consumer));
}

v1::StepOrder OrderBuilder::BuildStep(const StepStart& start) const {
  const planner::ComputeStep& step = plan_.steps[At(start.step)];
  v1::StepOrder order;
  order.set_step(start.step);
  order.set_kind(static_cast<v1::StepKind>(step.kind->number));
  order.set_label(StepName(start.step));
  order.set_layer(step.layer);
  order.set_index_in_layer(step.index_in_layer);
  if (step.kind->reads_input()) {
    const planner::Bytes begin = planner::InputPosition(plan_.input_part_ends, step.input_begin);
    const planner::Bytes end = planner::InputPosition(plan_.input_part_ends, step.input_end);
    for (v1::InputRange& range : input_.Cut(begin, end)) {
      *order.add_ranges() = std::move(range);
    }
  }
  for (const StepStart::Input& input : start.inputs) {
    v1::StepInput& message = *order.add_inputs();
    message.set_producer_step(input.producer);
    message.set_run_id(runs_.Of({input.producer, input.run_attempt}).run_id);
    message.set_place(PlaceOf(input.place));
    message.set_offset(input.offset);
    message.set_bytes(input.bytes);
  }
  for (const RunName& run : start.unread) order.add_unread_runs(runs_.Of(run).run_id);
  SetOutput(start, order);
  return order;
}

std::optional<v1::JobError> OrderBuilder::TooLong(const v1::StepOrder& order) {
  const std::size_t bytes = order.ByteSizeLong();
  if (bytes <= kOrderBytesMax) return std::nullopt;
  v1::JobError error =
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat(order.label(), " reads parts of ", order.ranges_size(),
                                " files and of ", order.inputs_size(), " runs, which takes ", bytes,
                                " bytes to say; the most is ", kOrderBytesMax),
                   "join small files first, take more workers, or more map steps with --mappers N");
  error.set_step(order.label());
  return error;
}

void OrderBuilder::SetOutput(const StepStart& start, v1::StepOrder& order) const {
  const planner::ComputeStep& step = plan_.steps[At(start.step)];
  const std::vector<std::int32_t>& sections = sections_of_[At(start.step)];
  if (sections.empty()) {
    order.set_part_path(absl::StrCat(
        places_.staging, "/", StagedPartName(step.index_in_layer, plan_epoch_, start.attempt)));
    return;
  }
  // What is stored is text already, and text of parts is never packed.
  order.set_text(plan_.steps[At(plan_.sections[At(sections.back())].consumer)].kind->stores);
  for (const std::int32_t index : sections) AddConsumer(plan_.sections[At(index)], order);
  if (!order.text() && step.kind->reads_input()) AddNobodys(order);
  // Rounding in the planner must not leave the last keys without an owner.
  v1::StepConsumer& last = *order.mutable_consumers(order.consumers_size() - 1);
  if (last.has_keys()) last.mutable_keys()->set_end(1);
  if (!order.text()) {
    order.set_codec(planner::CodecToProto(
        planner::CodecOfLayer(plan_.run_codec, step.kind->layer_made(step.layer))));
    // Nobody packs what is handed over in place.
    order.set_no_codec_trials(SameHost(workers_));
  }
}

void OrderBuilder::AddNobodys(v1::StepOrder& order) const {
  double covered_until = 0;
  bool tiles = true;
  std::set<planner::StepIndex> own;
  for (const v1::StepConsumer& consumer : order.consumers()) {
    if (!consumer.has_keys()) return;
    tiles = tiles && consumer.keys().begin() <= covered_until + kRounding;
    covered_until = consumer.keys().end();
    own.insert(consumer.step());
  }
  if (tiles && covered_until >= 1 - kRounding) return;
  order.clear_consumers();
  for (const planner::StepIndex reader : input_readers_) {
    AddConsumer({.producer = order.step(), .consumer = reader}, order);
    if (!own.contains(reader)) order.mutable_consumers()->rbegin()->set_step(planner::kNoIndex);
  }
}

void OrderBuilder::AddConsumer(const planner::Section& section, v1::StepOrder& order) const {
  v1::StepConsumer& consumer = *order.add_consumers();
  consumer.set_step(section.consumer);
  if (section.indexes) {
    consumer.mutable_indexes()->set_begin(section.indexes->begin);
    consumer.mutable_indexes()->set_end(section.indexes->end);
  } else {
    const planner::ComputeStep& step = plan_.steps[At(section.consumer)];
    consumer.mutable_keys()->set_begin(step.key_begin);
    consumer.mutable_keys()->set_end(step.key_end);
  }
}

std::int64_t OrderBuilder::WholeRate(double bytes_per_s) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes_per_s));
}

v1::TransferGrant OrderBuilder::BuildGrant(const TransferStart& start, double grant_delay_s) const {
  const planner::Transfer& transfer = plan_.transfers[At(start.transfer)];
  const RegisteredWorker& source = workers_[At(transfer.sender)];
  const PublishedRuns::Run& run = runs_.Of({transfer.producer, start.run_attempt});
  v1::TransferGrant grant;
  grant.set_transfer(start.transfer);
  grant.set_source_endpoint(source.identity.data_endpoint());
  grant.set_source_worker(source.identity.name());
  grant.set_handover(start.handover);
  if (start.handover) grant.set_source_run_path(run.path);
  grant.set_run_id(run.run_id);
  grant.set_offset(start.offset);
  grant.set_bytes(start.bytes);
  // A link in place uses no network; those who fetch from all share it as it comes, and those at
  // rates of their own keep them, or have others as the conductor says: nothing is granted ahead.
  if (!start.handover && start.rate_bytes_per_s > 0) {
    grant.set_pacing_bytes_per_s(WholeRate(start.rate_bytes_per_s));
  }
  if (!start.handover && !start.concurrent) {
    const planner::NetworkModel& network = plan_.network;
    const double pacing =
        network.pacing_fraction > 0 ? network.pacing_fraction : options_.pacing_fraction;
    const double seconds_per_byte =
        network.NominalSecondsPerByte(transfer.sender, transfer.receiver);
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
  grant.set_section_offset(start.section_offset);
  grant.set_section_bytes(start.section_bytes);
  grant.set_concurrent(start.concurrent);
  return grant;
}

}  // namespace weir::master
