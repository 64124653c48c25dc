#include "jobs/engine/sections/shared_section.h"

#include <utility>

#include "jobs/engine/sections/section_blocks.h"

namespace weir {

absl::StatusOr<absl::Span<const char>> SharedSection::Reader::NextBlock() {
  const absl::StatusOr<bool> more = TakeBlock(block_);
  if (!more.ok()) return more.status();
  return absl::Span<const char>(block_);
}

absl::StatusOr<bool> SharedSection::Take(std::size_t index, std::string& block) {
  std::unique_lock lock(mutex_);
  spare_.push_back(std::move(block));
  Share& mine = shares_[index];
  while (mine.blocks.empty()) {
    if (!error_.ok()) return error_;
    if (ended_) {
      block.clear();
      return false;
    }
    if (reading_ || !HasRoom(shares_[turn_])) {
      changed_.wait(lock);
      continue;
    }
    reading_ = true;
    // As many go out as are dealt out, so there may be none.
    std::string next;
    if (!spare_.empty()) {
      next = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    absl::StatusOr<bool> more = absl::AbortedError("reading a section has thrown");
    try {
      more = source_.TakeBlock(next);
    } catch (...) {
      lock.lock();
      End(more.status());
      throw;
    }
    lock.lock();
    if (more.ok() && *more) {
      reading_ = false;
      Deal(std::move(next));
      changed_.notify_all();
    } else {
      End(more.status());
    }
  }
  block = std::move(mine.blocks.front());
  mine.blocks.pop_front();
  changed_.notify_all();
  return true;
}

void SharedSection::End(const absl::Status& why) {
  reading_ = false;
  ended_ = true;
  error_ = why;
  changed_.notify_all();
}

void SharedSection::Deal(std::string block) {
  const bool record_goes_on =
      !block.empty() && static_cast<BlockKind>(block.front()) == BlockKind::kRecordPart;
  Share& share = shares_[turn_];
  if (!share.left) share.blocks.push_back(std::move(block));
  if (!record_goes_on) turn_ = (turn_ + 1) % shares_.size();
}

void SharedSection::Leave(std::size_t index) {
  const std::lock_guard lock(mutex_);
  shares_[index].left = true;
  shares_[index].blocks.clear();
  changed_.notify_all();
}

}  // namespace weir
