#include "jobs/engine/pieces/piece_sinks.h"

namespace weir {
namespace {

absl::Status NotNeeded() { return absl::AbortedError("an earlier piece of the step failed"); }

}  // namespace

absl::Status PieceRunSink::BeginSection(int consumer) {
  section_ = consumer;
  return absl::OkStatus();
}

absl::Status PieceRunSink::Append(std::string_view block, std::int64_t records) {
  if (turn_.IsNow()) {
    absl::Status status = HandOnHeld();
    if (status.ok()) status = Enter(section_);
    return status.ok() ? run_.sink.Append(block, records) : status;
  }
  ReadyBlock& ready =
      held_.emplace_back(Held{section_, run_.sink.Ready(section_, block, records)}).block;
  held_bytes_ += static_cast<std::int64_t>(ready.stored.size());
  return held_bytes_ < kHeldPieceBytes ? absl::OkStatus() : Finish();
}

absl::Status PieceRunSink::Finish() { return turn_.Await() ? HandOnHeld() : NotNeeded(); }

absl::Status PieceRunSink::Enter(int section) {
  if (section == run_.section) return absl::OkStatus();
  run_.section = section;
  return run_.sink.BeginSection(section);
}

absl::Status PieceRunSink::HandOnHeld() {
  held_bytes_ = 0;
  for (const Held& held : std::exchange(held_, {})) {
    absl::Status status = Enter(held.section);
    if (status.ok()) status = run_.sink.AppendReady(held.block);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PiecePartSink::Append(std::string_view bytes, std::int64_t records) {
  if (turn_.IsNow()) {
    absl::Status status = Finish();
    return status.ok() ? part_.sink.Append(bytes, records) : status;
  }
  return Hold(std::string(bytes), records);
}

absl::Status PiecePartSink::AppendText(std::string& text, std::int64_t records) {
  if (turn_.IsNow()) {
    absl::Status status = Finish();
    return status.ok() ? part_.sink.AppendText(text, records) : status;
  }
  std::string next = part_.spare.Take();
  next.reserve(text.size());  // what follows is as long, most often
  return Hold(std::exchange(text, std::move(next)), records);
}

absl::Status PiecePartSink::Hold(std::string text, std::int64_t records) {
  held_bytes_ += static_cast<std::int64_t>(text.size());
  held_.push_back({std::move(text), records});
  return held_bytes_ < kHeldPieceBytes ? absl::OkStatus() : Finish();
}

absl::Status PiecePartSink::Finish() {
  if (!turn_.Await()) return NotNeeded();
  held_bytes_ = 0;
  for (Held& held : std::exchange(held_, {})) {
    if (absl::Status status = part_.sink.Append(held.text, held.records); !status.ok()) {
      return status;
    }
    part_.spare.Return(std::move(held.text));
  }
  return absl::OkStatus();
}

}  // namespace weir
