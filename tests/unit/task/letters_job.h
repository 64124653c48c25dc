#pragma once

// A job small enough to read at a glance: each byte of the input is a record, sent to consumer 0;
// the part is the concatenation of all sections. What it finds in the input makes it misbehave.

#include <unistd.h>

#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "jobs/api/bad_record.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/program.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

class LettersProgram : public JobProgram {
 public:
  absl::StatusOr<StepTotals> Map(const MapOrder& order, RunSink& sink,
                                 StepContext& context) override {
    std::string text;
    for (const InputRange& range : order.ranges) text += Slice(range);
    const absl::Status misbehaved = Misbehave(text, context);
    if (!misbehaved.ok()) return misbehaved;
    return Write(text, sink, context);
  }

  absl::StatusOr<StepTotals> ReduceToRun(ReduceOrder order, RunSink& sink,
                                         StepContext& context) override {
    const absl::StatusOr<std::string> text = ReadAll(order);
    if (!text.ok()) return text.status();
    return Write(*text, sink, context);
  }

  absl::StatusOr<StepTotals> ReduceToPart(ReduceOrder order, PartSink& sink,
                                          StepContext&) override {
    const absl::StatusOr<std::string> text = ReadAll(order);
    if (!text.ok()) return text.status();
    const auto records = static_cast<std::int64_t>(text->size());
    const absl::Status appended = sink.Append(*text, records);
    if (!appended.ok()) return appended;
    return StepTotals{records, records};
  }

 private:
  static std::string Slice(const InputRange& range) {
    std::ifstream in(range.path, std::ios::binary);
    std::string slice(static_cast<std::size_t>(range.end - range.begin), '\0');
    in.seekg(range.begin);
    in.read(slice.data(), static_cast<std::streamsize>(slice.size()));
    return slice;
  }

  static absl::Status Misbehave(const std::string& text, StepContext& context) {
    if (text == "throw") {
      context.slots().RunOnAll([](int) { throw std::runtime_error("no such letter"); });
    }
    if (text == "throw 7") throw 7;
    if (text == "memory") throw std::bad_alloc();
    if (text == "bad record") return BadRecordError({"/in/a.txt", 42, "x;y", "not a letter"});
    if (text == "names") {
      for (int name = 0; name < 20'000; ++name) context.AddCounter(std::to_string(name), 1);
    }
    if (text == "wait") {
      while (!context.cancelled()) ::usleep(1000);
      return absl::CancelledError("the job is being ended");
    }
    if (text == "hang") {
      while (true) ::usleep(1000);
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<StepTotals> Write(const std::string& text, RunSink& sink,
                                          StepContext& context) {
    const auto records = static_cast<std::int64_t>(text.size());
    context.AddProgress(records);
    context.AddCounter("letters", records);
    const absl::Status begun = sink.BeginSection(0);
    if (!begun.ok()) return begun;
    if (!text.empty()) {
      const absl::Status appended = sink.Append(text, records);
      if (!appended.ok()) return appended;
    }
    return StepTotals{records, records};
  }

  static absl::StatusOr<std::string> ReadAll(ReduceOrder& order) {
    std::string text;
    for (const std::unique_ptr<RunSource>& input : order.inputs) {
      while (true) {
        const absl::StatusOr<absl::Span<const char>> block = input->NextBlock();
        if (!block.ok()) return block.status();
        if (block->empty()) break;
        text.append(block->data(), block->size());
      }
    }
    return text;
  }
};

class LettersJob : public JobDefinition {
 public:
  LettersJob() { info_.name = "letters"; }
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return std::make_unique<LettersProgram>();
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

inline JobCatalog LettersCatalog() {
  JobCatalog catalog;
  catalog.emplace("letters", std::make_unique<LettersJob>());
  return catalog;
}

inline v1::TaskCommand::Run MapRun(int step, const std::string& input, std::int64_t bytes,
                                   const std::string& run_path) {
  v1::TaskCommand::Run run;
  run.mutable_fence()->set_attempt(1);
  run.set_run_path(run_path);
  v1::StepOrder* order = run.mutable_order();
  order->set_step(step);
  order->set_kind(v1::STEP_KIND_MAP);
  order->set_label("map 3");
  order->set_index_in_layer(3);
  v1::InputRange* range = order->add_ranges();
  range->set_path(input);
  range->set_end(bytes);
  range->set_file_bytes(bytes);
  v1::StepConsumer* consumer = order->add_consumers();
  consumer->set_step(40);
  consumer->mutable_keys()->set_end(1);
  return run;
}

inline v1::TaskCommand::Run ReduceRun(int step, const v1::RunInfo& input,
                                      const std::string& part_path) {
  v1::TaskCommand::Run run;
  run.mutable_fence()->set_attempt(1);
  v1::StepOrder* order = run.mutable_order();
  order->set_step(step);
  order->set_kind(v1::STEP_KIND_REDUCE);
  order->set_label("reduce 0");
  order->set_layer(1);
  for (const v1::RunSection& section : input.sections()) {
    v1::StepInput* from = order->add_inputs();
    from->set_run_id(input.run_id());
    from->set_path(input.path());
    from->set_path_offset(section.offset());
    from->set_bytes(section.bytes());
  }
  order->add_inputs();  // an empty section has no place
  order->set_part_path(part_path);
  return run;
}

}  // namespace weir::task
