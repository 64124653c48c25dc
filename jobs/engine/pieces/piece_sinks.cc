#include "jobs/engine/pieces/piece_sinks.h"

namespace weir {
namespace {

absl::Status NotNeeded() { return absl::AbortedError("an earlier piece of the step failed"); }

}  // namespace

absl::Status PieceRunSink::BeginSection(int consumer) {
  section_ = consumer;
  return absl::OkStatus();
}

absl::Status PieceRunSink::AppendStandIn(std::string_view block, std::int64_t records,
                                         std::int64_t stands_for_bytes) {
  if (turn_.IsNow()) {
    absl::Status status = HandOnHeld();
    if (status.ok()) status = Enter(run_, section_);
    if (!status.ok()) return status;
    return stands_for_bytes > 0 ? run_.sink.AppendStandIn(block, records, stands_for_bytes)
                                : run_.sink.Append(block, records);
  }
  ReadyBlock& ready = held_.emplace_back(Held{section_, {run_.spare.Take()}}).block;
  run_.sink.Ready(section_, block, records, ready);
  ready.stands_for_bytes = stands_for_bytes;
  const auto bytes = static_cast<std::int64_t>(ready.stored.size());
  held_bytes_ += bytes;
  if (turn_.Hold(bytes)) return absl::OkStatus();
  return turn_.Await() ? HandOnHeld() : NotNeeded();
}

absl::Status PieceRunSink::Finish() {
  if (held_.empty() || turn_.IsNow()) return HandOnHeld();
  turn_.Leave(std::exchange(held_bytes_, 0),
              [&run = run_, blocks = std::exchange(held_, {})]() mutable {
                return HandOnAll(run, blocks);
              });
  return absl::OkStatus();
}

absl::Status PieceRunSink::Enter(SharedRun& run, int section) {
  if (section == run.section) return absl::OkStatus();
  run.section = section;
  return run.sink.BeginSection(section);
}

absl::Status PieceRunSink::HandOnAll(SharedRun& run, std::vector<Held>& blocks) {
  for (Held& held : blocks) {
    absl::Status status = Enter(run, held.section);
    if (status.ok()) status = run.sink.AppendReady(held.block);
    if (!status.ok()) return status;
    run.spare.Return(std::move(held.block.stored));
  }
  return absl::OkStatus();
}

absl::Status PieceRunSink::HandOnHeld() {
  absl::Status status = HandOnAll(run_, held_);
  held_.clear();
  turn_.Hold(-std::exchange(held_bytes_, 0));
  return status;
}

absl::Status PiecePartSink::Append(std::string_view bytes, std::int64_t records) {
  if (turn_.IsNow()) {
    absl::Status status = HandOnHeld();
    return status.ok() ? part_.sink.Append(bytes, records) : status;
  }
  return Hold(std::string(bytes), records);
}

absl::Status PiecePartSink::AppendText(std::string& text, std::int64_t records) {
  if (turn_.IsNow()) {
    absl::Status status = HandOnHeld();
    return status.ok() ? part_.sink.AppendText(text, records) : status;
  }
  std::string next = part_.spare.Take();
  next.reserve(text.size());  // what follows is as long, most often
  return Hold(std::exchange(text, std::move(next)), records);
}

absl::Status PiecePartSink::Hold(std::string text, std::int64_t records) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  held_bytes_ += bytes;
  held_.push_back({std::move(text), records});
  if (turn_.Hold(bytes)) return absl::OkStatus();
  return turn_.Await() ? HandOnHeld() : NotNeeded();
}

absl::Status PiecePartSink::Finish() {
  if (held_.empty() || turn_.IsNow()) return HandOnHeld();
  turn_.Leave(std::exchange(held_bytes_, 0),
              [&part = part_, texts = std::exchange(held_, {})]() mutable {
                return HandOnAll(part, texts);
              });
  return absl::OkStatus();
}

absl::Status PiecePartSink::HandOnAll(SharedPart& part, std::vector<Held>& texts) {
  for (Held& held : texts) {
    absl::Status status = part.sink.Append(held.text, held.records);
    if (!status.ok()) return status;
    part.spare.Return(std::move(held.text));
  }
  return absl::OkStatus();
}

absl::Status PiecePartSink::HandOnHeld() {
  absl::Status status = HandOnAll(part_, held_);
  held_.clear();
  turn_.Hold(-std::exchange(held_bytes_, 0));
  return status;
}

}  // namespace weir
