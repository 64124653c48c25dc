#include "planner/wire/plan_wire.h"

#include <xxhash.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/wire/whole_channels.h"

namespace weir::planner {
namespace {

v1::TransferOrder OrderToProto(TransferOrder order) {
  switch (order) {
    case TransferOrder::kStrict:
      return v1::TRANSFER_ORDER_STRICT;
    case TransferOrder::kOvertake:
      return v1::TRANSFER_ORDER_OVERTAKE;
    case TransferOrder::kFetchAll:
      return v1::TRANSFER_ORDER_FETCH_ALL;
    case TransferOrder::kRates:
      return v1::TRANSFER_ORDER_RATES;
  }
  return v1::TRANSFER_ORDER_UNSPECIFIED;
}

absl::StatusOr<TransferOrder> OrderFromProto(v1::TransferOrder order) {
  switch (order) {
    case v1::TRANSFER_ORDER_STRICT:
      return TransferOrder::kStrict;
    case v1::TRANSFER_ORDER_OVERTAKE:
      return TransferOrder::kOvertake;
    case v1::TRANSFER_ORDER_FETCH_ALL:
      return TransferOrder::kFetchAll;
    case v1::TRANSFER_ORDER_RATES:
      return TransferOrder::kRates;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("plan message: unknown transfer order ", static_cast<int>(order)));
  }
}

void NetworkToProto(const NetworkModel& network, v1::NetworkModel* out) {
  out->set_num_workers(network.num_workers);
  out->set_seconds_per_byte(network.seconds_per_byte);
  out->set_latency_s(network.latency_s);
  out->set_pacing_fraction(network.pacing_fraction);
  out->set_sharing_fraction(network.sharing_fraction);
  out->set_cut_sharing_fraction(network.cut_sharing_fraction);
  out->set_sharing_resent_fraction(network.sharing_resent_fraction);
  out->set_transfer_gap_s(network.transfer_gap_s);
  out->mutable_port_slowdown()->Assign(network.port_slowdown.begin(), network.port_slowdown.end());
  out->mutable_port_lag()->Assign(network.port_lag.begin(), network.port_lag.end());
  for (const Cut& cut : network.cuts) {
    v1::Cut* c = out->add_cuts();
    c->set_name(cut.name);
    c->set_channels(cut.channels);
    for (const bool member : cut.from) c->add_from(member);
    for (const bool member : cut.to) c->add_to(member);
  }
}

NetworkModel NetworkFromProto(const v1::NetworkModel& message) {
  NetworkModel network;
  network.num_workers = message.num_workers();
  network.seconds_per_byte = message.seconds_per_byte();
  network.latency_s = message.latency_s();
  network.pacing_fraction = message.pacing_fraction();
  network.sharing_fraction = message.sharing_fraction();
  network.cut_sharing_fraction = message.cut_sharing_fraction();
  network.sharing_resent_fraction = message.sharing_resent_fraction();
  network.transfer_gap_s = message.transfer_gap_s();
  network.port_slowdown.assign(message.port_slowdown().begin(), message.port_slowdown().end());
  network.port_lag.assign(message.port_lag().begin(), message.port_lag().end());
  for (const v1::Cut& c : message.cuts()) {
    network.cuts.push_back(Cut{c.name(),
                               {c.from().begin(), c.from().end()},
                               {c.to().begin(), c.to().end()},
                               c.channels()});
  }
  return network;
}

void StepToProto(const ComputeStep& step, v1::ComputeStep* out) {
  out->set_kind(static_cast<v1::StepKind>(step.kind->number));
  out->set_layer(step.layer);
  out->set_index_in_layer(step.index_in_layer);
  out->set_worker(step.worker);
  out->set_input_begin(step.input_begin);
  out->set_input_end(step.input_end);
  out->set_input_bytes(step.input_bytes);
  out->set_output_bytes(step.output_bytes);
  out->set_load_fraction(step.load_fraction);
  out->set_key_begin(step.key_begin);
  out->set_key_end(step.key_end);
  out->set_release_s(step.release_s);
  out->set_duration_s(step.duration_s);
  out->set_start_s(step.start_s);
  out->set_is_rerun(step.is_rerun);
  out->set_spilled_bytes(step.spilled_bytes);
  out->set_spill_s(step.spill_s);
  out->mutable_after_steps()->Assign(step.after_steps.begin(), step.after_steps.end());
  out->mutable_after_transfers()->Assign(step.after_transfers.begin(), step.after_transfers.end());
}

absl::StatusOr<ComputeStep> StepFromProto(const v1::ComputeStep& message) {
  const std::optional<StepKind> kind = StepKindOf(message.kind());
  if (!kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan message: unknown step kind ", static_cast<int>(message.kind())));
  }
  ComputeStep step;
  step.kind = *kind;
  step.layer = message.layer();
  step.index_in_layer = message.index_in_layer();
  step.worker = message.worker();
  step.input_begin = message.input_begin();
  step.input_end = message.input_end();
  step.input_bytes = message.input_bytes();
  step.output_bytes = message.output_bytes();
  step.load_fraction = message.load_fraction();
  step.key_begin = message.key_begin();
  step.key_end = message.key_end();
  step.release_s = message.release_s();
  step.duration_s = message.duration_s();
  step.start_s = message.start_s();
  step.is_rerun = message.is_rerun();
  step.spilled_bytes = message.spilled_bytes();
  step.spill_s = message.spill_s();
  step.after_steps.assign(message.after_steps().begin(), message.after_steps().end());
  step.after_transfers.assign(message.after_transfers().begin(), message.after_transfers().end());
  return step;
}

using RateList = google::protobuf::RepeatedPtrField<v1::RateChange>;

void RatesToProto(const std::vector<RateChange>& rates, RateList* out) {
  for (const RateChange& rate : rates) {
    v1::RateChange* added = out->Add();
    added->set_at_s(rate.at_s);
    added->set_bytes_per_s(rate.bytes_per_s);
  }
}

std::vector<RateChange> RatesFromProto(const RateList& message) {
  std::vector<RateChange> rates;
  for (const v1::RateChange& rate : message) rates.push_back({rate.at_s(), rate.bytes_per_s()});
  return rates;
}

void TransferToProto(const Transfer& transfer, v1::Transfer* out) {
  out->set_producer(transfer.producer);
  out->set_consumer(transfer.consumer);
  out->set_sender(transfer.sender);
  out->set_receiver(transfer.receiver);
  out->set_offset(transfer.offset);
  out->set_bytes(transfer.bytes);
  out->set_start_s(transfer.start_s);
  out->set_duration_s(transfer.duration_s);
  out->set_rate_bytes_per_s(transfer.rate_bytes_per_s);
  RatesToProto(transfer.rate_changes, out->mutable_rate_changes());
}

Transfer TransferFromProto(const v1::Transfer& message) {
  Transfer transfer;
  transfer.producer = message.producer();
  transfer.consumer = message.consumer();
  transfer.sender = message.sender();
  transfer.receiver = message.receiver();
  transfer.offset = message.offset();
  transfer.bytes = message.bytes();
  transfer.start_s = message.start_s();
  transfer.duration_s = message.duration_s();
  transfer.rate_bytes_per_s = message.rate_bytes_per_s();
  transfer.rate_changes = RatesFromProto(message.rate_changes());
  return transfer;
}

using IndexLists = std::vector<std::vector<std::int32_t>>;

template <typename Repeated>
void ListsToProto(const IndexLists& lists, Repeated* out) {
  for (const std::vector<std::int32_t>& list : lists) {
    out->Add()->mutable_index()->Assign(list.begin(), list.end());
  }
}

template <typename Repeated>
IndexLists ListsFromProto(const Repeated& message) {
  IndexLists lists;
  lists.reserve(static_cast<std::size_t>(message.size()));
  for (const v1::IndexList& list : message) {
    lists.emplace_back(list.index().begin(), list.index().end());
  }
  return lists;
}

// Everything but the id and the names.
v1::Plan ContentToProto(const Plan& plan) {
  v1::Plan out;
  NetworkToProto(plan.network, out.mutable_network());
  for (const ComputeStep& step : plan.steps) StepToProto(step, out.add_steps());
  for (const Transfer& transfer : plan.transfers) TransferToProto(transfer, out.add_transfers());
  for (const Section& section : plan.sections) {
    v1::Section* s = out.add_sections();
    s->set_producer(section.producer);
    s->set_consumer(section.consumer);
    s->set_bytes(section.bytes);
    if (section.indexes) {
      s->mutable_indexes()->set_begin(section.indexes->begin);
      s->mutable_indexes()->set_end(section.indexes->end);
    }
  }
  out.set_transfer_order(OrderToProto(plan.transfer_order));
  out.set_fetch_limit(plan.fetch_limit);
  out.set_port_lanes(plan.port_lanes);
  out.set_rates_over_time(plan.rates_over_time);
  ListsToProto(plan.compute_order, out.mutable_compute_order());
  ListsToProto(plan.send_order, out.mutable_send_order());
  ListsToProto(plan.receive_order, out.mutable_receive_order());
  for (const IndexLists& channels : plan.channel_order) {
    ListsToProto(channels, out.add_channel_order()->mutable_channel());
  }
  out.set_store_channels(plan.store_channels);
  ListsToProto(plan.store_order, out.mutable_store_order());
  for (const Codec codec : plan.run_codec) out.add_run_codec(CodecToProto(codec));
  out.mutable_compute_rate()->Assign(plan.compute_rate.begin(), plan.compute_rate.end());
  if (plan.part_cost != PartCost{}) {
    out.mutable_part_cost()->set_output_growth(plan.part_cost.output_growth);
    out.mutable_part_cost()->set_output_time(plan.part_cost.output_time);
  }
  out.mutable_input_part_ends()->Assign(plan.input_part_ends.begin(), plan.input_part_ends.end());
  out.set_method(plan.summary.method);
  out.set_makespan_s(plan.summary.makespan_s);
  out.set_lower_bound_s(plan.summary.lower_bound_s);
  for (const std::string& note : plan.summary.notes) out.add_notes(note);
  for (const PlanNumber& number : plan.summary.numbers) {
    v1::PlanNumber& message = *out.add_numbers();
    message.set_name(number.name);
    message.set_value(number.value);
    message.set_unit(number.unit);
    message.set_origin(number.origin);
  }
  return out;
}

// Protobuf's wire bytes are the same for equal messages of one schema without maps and unknown
// fields, which is all that an id needs.
std::string IdOf(const v1::Plan& content) {
  const std::string bytes = content.SerializeAsString();
  return absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()));
}

v1::ActualInterval IntervalToProto(const Interval& interval, Bytes bytes) {
  v1::ActualInterval out;
  out.set_start_s(interval.start_s);
  out.set_finish_s(interval.finish_s);
  out.set_bytes(bytes);
  return out;
}

}  // namespace

v1::Codec CodecToProto(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return v1::CODEC_NONE;
    case Codec::kLz4:
      return v1::CODEC_LZ4;
    case Codec::kZstd:
      return v1::CODEC_ZSTD;
  }
  return v1::CODEC_NONE;
}

absl::StatusOr<Codec> CodecFromProto(v1::Codec codec) {
  switch (codec) {
    case v1::CODEC_NONE:
      return Codec::kNone;
    case v1::CODEC_LZ4:
      return Codec::kLz4;
    case v1::CODEC_ZSTD:
      return Codec::kZstd;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("plan message: unknown codec ", static_cast<int>(codec)));
  }
}

v1::Plan PlanToProto(const Plan& plan, const std::vector<std::string>& worker_names) {
  v1::Plan out = ContentToProto(plan);
  out.set_plan_id(IdOf(out));
  for (const std::string& name : worker_names) out.add_worker_names(name);
  return out;
}

absl::StatusOr<Plan> PlanFromProto(const v1::Plan& message) {
  Plan plan;
  plan.network = NetworkFromProto(message.network());
  plan.steps.reserve(static_cast<std::size_t>(message.steps_size()));
  for (const v1::ComputeStep& step : message.steps()) {
    absl::StatusOr<ComputeStep> parsed = StepFromProto(step);
    if (!parsed.ok()) return parsed.status();
    plan.steps.push_back(*std::move(parsed));
  }
  plan.transfers.reserve(static_cast<std::size_t>(message.transfers_size()));
  for (const v1::Transfer& transfer : message.transfers()) {
    plan.transfers.push_back(TransferFromProto(transfer));
  }
  plan.sections.reserve(static_cast<std::size_t>(message.sections_size()));
  for (const v1::Section& section : message.sections()) {
    Section& added = plan.sections.emplace_back();
    added.producer = section.producer();
    added.consumer = section.consumer();
    added.bytes = section.bytes();
    if (section.has_indexes()) {
      added.indexes = IndexRange{section.indexes().begin(), section.indexes().end()};
    }
  }
  absl::StatusOr<TransferOrder> order = OrderFromProto(message.transfer_order());
  if (!order.ok()) return order.status();
  plan.transfer_order = *order;
  plan.fetch_limit = message.fetch_limit();
  plan.port_lanes = message.port_lanes();
  plan.rates_over_time = message.rates_over_time();
  plan.compute_order = ListsFromProto(message.compute_order());
  plan.send_order = ListsFromProto(message.send_order());
  plan.receive_order = ListsFromProto(message.receive_order());
  for (const v1::ChannelList& channels : message.channel_order()) {
    plan.channel_order.push_back(ListsFromProto(channels.channel()));
  }
  plan.store_channels = message.store_channels();
  plan.store_order = ListsFromProto(message.store_order());
  for (const int codec : message.run_codec()) {
    const absl::StatusOr<Codec> known = CodecFromProto(static_cast<v1::Codec>(codec));
    if (!known.ok()) return known.status();
    plan.run_codec.push_back(*known);
  }
  plan.compute_rate.assign(message.compute_rate().begin(), message.compute_rate().end());
  if (message.has_part_cost()) {
    plan.part_cost = {message.part_cost().output_growth(), message.part_cost().output_time()};
  }
  plan.input_part_ends.assign(message.input_part_ends().begin(), message.input_part_ends().end());
  plan.summary.method = message.method();
  plan.summary.makespan_s = message.makespan_s();
  plan.summary.lower_bound_s = message.lower_bound_s();
  plan.summary.notes.assign(message.notes().begin(), message.notes().end());
  for (const v1::PlanNumber& number : message.numbers()) {
    plan.summary.numbers.push_back({number.name(), number.value(), number.unit(), number.origin()});
  }
  SplitWholeChannels(&plan);
  return plan;
}

v1::ActualRun ActualToProto(const ActualRun& actual) {
  v1::ActualRun out;
  const auto bytes_at = [](const std::vector<Bytes>& bytes, std::size_t i) {
    return i < bytes.size() ? bytes[i] : 0;
  };
  for (std::size_t i = 0; i < actual.steps.size(); ++i) {
    v1::ActualInterval& step = *out.add_steps();
    step = IntervalToProto(actual.steps[i], bytes_at(actual.step_input_bytes, i));
    step.set_output_bytes(bytes_at(actual.step_output_bytes, i));
    step.set_unpacked_output_bytes(bytes_at(actual.step_unpacked_output_bytes, i));
    step.set_spilled_bytes(bytes_at(actual.step_spilled_bytes, i));
  }
  for (std::size_t i = 0; i < actual.transfers.size(); ++i) {
    v1::ActualInterval& transfer = *out.add_transfers();
    transfer = IntervalToProto(actual.transfers[i], bytes_at(actual.transfer_bytes, i));
    transfer.set_in_flight_bytes(bytes_at(actual.transfer_in_flight_bytes, i));
    if (i < actual.transfer_rates.size()) {
      RatesToProto(actual.transfer_rates[i], transfer.mutable_rates());
    }
  }
  out.set_makespan_s(actual.makespan_s);
  return out;
}

absl::StatusOr<ActualRun> ActualFromProto(const v1::ActualRun& message, const Plan& plan) {
  if (static_cast<std::size_t>(message.steps_size()) != plan.steps.size() ||
      static_cast<std::size_t>(message.transfers_size()) != plan.transfers.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "actual run has ", message.steps_size(), " steps and ", message.transfers_size(),
        " transfers; its plan has ", plan.steps.size(), " and ", plan.transfers.size()));
  }
  ActualRun actual;
  for (const v1::ActualInterval& step : message.steps()) {
    actual.steps.push_back(Interval{step.start_s(), step.finish_s()});
    actual.step_input_bytes.push_back(step.bytes());
    actual.step_output_bytes.push_back(step.output_bytes());
    actual.step_unpacked_output_bytes.push_back(step.unpacked_output_bytes());
    actual.step_spilled_bytes.push_back(step.spilled_bytes());
  }
  for (const v1::ActualInterval& transfer : message.transfers()) {
    actual.transfers.push_back(Interval{transfer.start_s(), transfer.finish_s()});
    actual.transfer_bytes.push_back(transfer.bytes());
    actual.transfer_in_flight_bytes.push_back(transfer.in_flight_bytes());
    if (plan.rates_over_time) actual.transfer_rates.push_back(RatesFromProto(transfer.rates()));
  }
  actual.makespan_s = message.makespan_s();
  return actual;
}

}  // namespace weir::planner
