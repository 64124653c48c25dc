#include "planner/order/plan_assembly.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/order/whole_bytes.h"

namespace weir::planner {
namespace {

// Largest run of one step; far above any disk, far below overflow of a sum of two.
constexpr double kRunBytesMax = 4e18;

// Groups the pieces of each section while their order stays visible. sections are numbered
// producer * num_consumers + consumer.
std::vector<std::vector<std::size_t>> PiecesBySection(absl::Span<const PieceDraft> pieces,
                                                      std::size_t num_producers,
                                                      std::size_t num_consumers) {
  std::vector<std::vector<std::size_t>> by_section(num_producers * num_consumers);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto producer = static_cast<std::size_t>(pieces[i].producer_index);
    const auto consumer = static_cast<std::size_t>(pieces[i].consumer_index);
    by_section[producer * num_consumers + consumer].push_back(i);
  }
  return by_section;
}

struct ByteRange {
  Bytes offset = 0;
  Bytes bytes = 0;
};

// Divides a section among its pieces. An empty section keeps its first piece only.
void DivideSection(Bytes section_bytes, const std::vector<std::size_t>& of_section,
                   absl::Span<const PieceDraft> pieces, std::vector<ByteRange>* ranges,
                   std::vector<bool>* kept) {
  std::vector<double> shares;
  for (const std::size_t piece : of_section) shares.push_back(pieces[piece].share);
  const std::vector<Bytes> sizes = WholeBytes(section_bytes, shares);
  Bytes offset = 0;
  for (std::size_t i = 0; i < of_section.size(); ++i) {
    (*ranges)[of_section[i]] = {offset, sizes[i]};
    (*kept)[of_section[i]] = sizes[i] > 0 || (section_bytes == 0 && i == 0);
    offset += sizes[i];
  }
}

}  // namespace

PlanAssembly::PlanAssembly(NetworkModel network) {
  plan_.network = std::move(network);
  plan_.compute_order.resize(static_cast<std::size_t>(std::max(plan_.network.num_workers, 0)));
}

const ComputeStep& PlanAssembly::StepAt(StepIndex step) const {
  return plan_.steps[static_cast<std::size_t>(step)];
}

PlanAssembly::PlanAssembly(Plan plan, StepIndex last_layer_begin, std::int32_t num_layers)
    : plan_(std::move(plan)), num_layers_(num_layers), consumers_begin_(last_layer_begin) {}

StepIndex PlanAssembly::AddStep(ComputeStep step) {
  const auto index = static_cast<StepIndex>(plan_.steps.size());
  plan_.compute_order[static_cast<std::size_t>(step.worker)].push_back(index);
  plan_.steps.push_back(std::move(step));
  return index;
}

absl::Status PlanAssembly::AddMappers(absl::Span<const MapperDraft> mappers) {
  if (num_layers_ != 0 || mappers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("AddMappers must come first, once, and bring a mapper: layers so far ",
                     num_layers_, ", mappers ", mappers.size()));
  }
  Bytes input_begin = 0;
  for (const MapperDraft& mapper : mappers) {
    if (mapper.worker < 0 || mapper.worker >= plan_.network.num_workers || mapper.input_bytes < 0 ||
        mapper.input_bytes > std::numeric_limits<Bytes>::max() - input_begin ||
        mapper.output_bytes < 0 || static_cast<double>(mapper.output_bytes) > kRunBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("Mapper ", plan_.steps.size(), " is out of range: worker ", mapper.worker,
                       " of ", plan_.network.num_workers, ", input_bytes ", mapper.input_bytes,
                       ", output_bytes ", mapper.output_bytes));
    }
    ComputeStep step;
    step.kind = StepKind::kMap;
    step.index_in_layer = static_cast<std::int32_t>(plan_.steps.size());
    step.worker = mapper.worker;
    step.input_begin = input_begin;
    step.input_end = input_begin + mapper.input_bytes;
    step.input_bytes = mapper.input_bytes;
    step.output_bytes = mapper.output_bytes;
    step.release_s = mapper.release_s;
    step.duration_s = mapper.duration_s;
    input_begin = step.input_end;
    AddStep(std::move(step));
  }
  num_layers_ = 1;
  return absl::OkStatus();
}

absl::Status PlanAssembly::AddReducers(const LayerDraft& layer,
                                       absl::Span<const PieceDraft> pieces) {
  if (num_layers_ == 0 || layer.reducers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("AddReducers must follow AddMappers and bring a reducer: layers so far ",
                     num_layers_, ", reducers ", layer.reducers.size()));
  }
  std::vector<double> fractions;
  for (const ReducerDraft& reducer : layer.reducers) {
    if (reducer.worker < 0 || reducer.worker >= plan_.network.num_workers ||
        !(reducer.load_fraction >= 0 && reducer.load_fraction <= 1 + 1e-9)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Reducer ", fractions.size(), " of layer ", num_layers_,
                       " is out of range: worker ", reducer.worker, " of ",
                       plan_.network.num_workers, ", load_fraction ", reducer.load_fraction));
    }
    fractions.push_back(reducer.load_fraction);
  }
  producers_begin_ = consumers_begin_;
  consumers_begin_ = static_cast<StepIndex>(plan_.steps.size());
  std::vector<std::vector<Bytes>> sections;
  for (StepIndex producer = producers_begin_; producer < consumers_begin_; ++producer) {
    sections.push_back(WholeBytes(StepAt(producer).output_bytes, fractions));
  }
  if (absl::Status status = AddSteps(layer, sections); !status.ok()) return status;
  if (absl::Status status = AddTransfers(sections, pieces); !status.ok()) return status;
  ++num_layers_;
  return absl::OkStatus();
}

absl::Status PlanAssembly::AddSteps(const LayerDraft& layer,
                                    const std::vector<std::vector<Bytes>>& sections) {
  double key_begin = 0;
  for (std::size_t k = 0; k < layer.reducers.size(); ++k) {
    ComputeStep step;
    step.kind = StepKind::kReduce;
    step.layer = num_layers_;
    step.index_in_layer = static_cast<std::int32_t>(k);
    step.worker = layer.reducers[k].worker;
    step.load_fraction = layer.reducers[k].load_fraction;
    step.key_begin = key_begin;
    // The last cut ends at 1 exactly, whatever the fractions' rounding left.
    const double key_end =
        layer.reducers[k].key_end >= 0 ? layer.reducers[k].key_end : key_begin + step.load_fraction;
    step.key_end = k + 1 == layer.reducers.size() ? 1 : std::clamp(key_end, key_begin, 1.0);
    key_begin = step.key_end;
    for (const std::vector<Bytes>& of_producer : sections) {
      if (__builtin_add_overflow(step.input_bytes, of_producer[k], &step.input_bytes)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Reducer ", k, " of layer ", num_layers_, " would read over 2^63 bytes"));
      }
    }
    const double output_bytes = static_cast<double>(step.input_bytes) * layer.output_ratio;
    step.duration_s = layer.reduce_seconds(step.worker, step.input_bytes);
    if (!(output_bytes >= 0 && output_bytes <= kRunBytesMax)) {
      return absl::InvalidArgumentError(absl::StrCat("Reducer ", k, " of layer ", num_layers_,
                                                     " would make ", output_bytes,
                                                     " bytes; legal are 0 to ", kRunBytesMax));
    }
    step.output_bytes = std::llround(output_bytes);
    AddStep(std::move(step));
  }
  return absl::OkStatus();
}

absl::Status PlanAssembly::AddTransfers(const std::vector<std::vector<Bytes>>& sections,
                                        absl::Span<const PieceDraft> pieces) {
  const std::size_t num_producers = sections.size();
  const std::size_t num_consumers = sections[0].size();
  for (const PieceDraft& piece : pieces) {
    if (piece.producer_index < 0 ||
        static_cast<std::size_t>(piece.producer_index) >= num_producers ||
        piece.consumer_index < 0 ||
        static_cast<std::size_t>(piece.consumer_index) >= num_consumers ||
        !(piece.share > 0 && piece.share <= kPlanValueMax)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Piece into layer ", num_layers_, " is out of range: producer ",
                       piece.producer_index, " of ", num_producers, ", consumer ",
                       piece.consumer_index, " of ", num_consumers, ", share ", piece.share));
    }
  }
  std::vector<ByteRange> ranges(pieces.size());
  std::vector<bool> kept(pieces.size(), false);
  std::vector<Section> unnamed;
  const auto by_section = PiecesBySection(pieces, num_producers, num_consumers);
  for (std::size_t j = 0; j < num_producers; ++j) {
    for (std::size_t k = 0; k < num_consumers; ++k) {
      const Section section{producers_begin_ + static_cast<StepIndex>(j),
                            consumers_begin_ + static_cast<StepIndex>(k), sections[j][k]};
      plan_.sections.push_back(section);
      const std::vector<std::size_t>& of_section = by_section[j * num_consumers + k];
      if (StepAt(section.producer).worker == StepAt(section.consumer).worker) {
        plan_.steps[static_cast<std::size_t>(section.consumer)].after_steps.push_back(
            section.producer);
      } else if (of_section.empty()) {
        unnamed.push_back(section);
      } else {
        DivideSection(section.bytes, of_section, pieces, &ranges, &kept);
      }
    }
  }
  Seconds last_start_s = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    last_start_s = std::max(last_start_s, pieces[i].start_s);
    if (!kept[i]) continue;
    const Section section{producers_begin_ + pieces[i].producer_index,
                          consumers_begin_ + pieces[i].consumer_index, 0};
    AddTransfer(section, ranges[i].offset, ranges[i].bytes, pieces[i].start_s);
  }
  for (const Section& section : unnamed) AddTransfer(section, 0, section.bytes, last_start_s);
  return absl::OkStatus();
}

absl::Status PlanAssembly::AddStore(const StoreDraft& store) {
  const std::size_t num_producers =
      num_layers_ < 2 ? 0 : plan_.steps.size() - static_cast<std::size_t>(consumers_begin_);
  const bool joined = store.writers.size() == 1;
  if (num_producers == 0 || (!joined && store.writers.size() != num_producers)) {
    return absl::InvalidArgumentError(
        absl::StrCat("AddStore must follow AddReducers and bring one writer or one a reducer: ",
                     store.writers.size(), " writers for ", num_producers, " reducers"));
  }
  for (const WorkerIndex worker : store.writers) {
    if (worker >= 0 && worker < plan_.network.num_workers) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Writer is out of range: worker ", worker, " of ", plan_.network.num_workers));
  }
  producers_begin_ = consumers_begin_;
  consumers_begin_ = static_cast<StepIndex>(plan_.steps.size());
  for (std::size_t k = 0; k < store.writers.size(); ++k) {
    ComputeStep step;
    step.kind = StepKind::kWrite;
    step.layer = num_layers_;
    step.index_in_layer = static_cast<std::int32_t>(k);
    step.worker = store.writers[k];
    AddStep(std::move(step));
  }
  std::vector<Section> moved;
  for (std::size_t j = 0; j < num_producers; ++j) {
    const StepIndex producer = producers_begin_ + static_cast<StepIndex>(j);
    const StepIndex consumer = consumers_begin_ + static_cast<StepIndex>(joined ? 0 : j);
    const Section section{producer, consumer, StepAt(producer).output_bytes};
    plan_.sections.push_back(section);
    ComputeStep& writer = plan_.steps[static_cast<std::size_t>(consumer)];
    if (__builtin_add_overflow(writer.input_bytes, section.bytes, &writer.input_bytes)) {
      return absl::InvalidArgumentError("The single output file would hold over 2^63 bytes");
    }
    if (StepAt(producer).worker == writer.worker) {
      writer.after_steps.push_back(producer);
    } else {
      moved.push_back(section);
    }
  }
  std::stable_sort(moved.begin(), moved.end(), [this](const Section& a, const Section& b) {
    return StepAt(a.producer).duration_s < StepAt(b.producer).duration_s;
  });
  for (const Section& section : moved) {
    AddTransfer(section, 0, section.bytes,
                store.begin_s + plan_.steps[static_cast<std::size_t>(section.producer)].duration_s);
  }
  for (std::size_t i = static_cast<std::size_t>(consumers_begin_); i < plan_.steps.size(); ++i) {
    plan_.steps[i].output_bytes = plan_.steps[i].input_bytes;
    plan_.steps[i].duration_s = store.write_seconds(plan_.steps[i].input_bytes);
  }
  ++num_layers_;
  return absl::OkStatus();
}

void PlanAssembly::AddTransfer(const Section& section, Bytes offset, Bytes bytes, Seconds start_s) {
  Transfer transfer;
  transfer.producer = section.producer;
  transfer.consumer = section.consumer;
  transfer.sender = StepAt(section.producer).worker;
  transfer.receiver = StepAt(section.consumer).worker;
  transfer.offset = offset;
  transfer.bytes = bytes;
  transfer.start_s = start_s;
  transfer.duration_s =
      plan_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
  plan_.steps[static_cast<std::size_t>(section.consumer)].after_transfers.push_back(
      static_cast<TransferIndex>(plan_.transfers.size()));
  plan_.transfers.push_back(transfer);
}

Plan PlanAssembly::TakePlan() { return std::move(plan_); }

}  // namespace weir::planner
