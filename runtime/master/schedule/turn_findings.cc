#include "runtime/master/schedule/turn_findings.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace weir::master {
namespace {

std::size_t Place(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

TurnFindings::TurnFindings(std::int32_t num_senders, std::int32_t num_resources)
    : senders_(Place(num_senders)), resting_(Place(num_resources)) {}

void TurnFindings::Begin() {
  for (const std::int32_t sender : taking_part_) senders_[Place(sender)] = Sender();
  taking_part_.clear();
  to_look_at_.clear();
  looking_at_ = kNone;
  for (const std::int32_t resource : rested_on_) resting_[Place(resource)].clear();
  rested_on_.clear();
  found_.clear();
}

void TurnFindings::Add(std::int32_t sender) {
  senders_[Place(sender)] = Sender{.takes_part = true, .to_look_at = true};
  taking_part_.push_back(sender);
  to_look_at_.push_back(sender);
}

std::int32_t TurnFindings::NextLook() {
  if (to_look_at_.empty()) return kNone;
  looking_at_ = to_look_at_.back();
  to_look_at_.pop_back();
  senders_[Place(looking_at_)].to_look_at = false;
  return looking_at_;
}

void TurnFindings::RestsOn(std::int32_t resource) {
  std::vector<std::int32_t>& senders = resting_[Place(resource)];
  if (senders.empty()) rested_on_.push_back(resource);
  if (senders.empty() || senders.back() != looking_at_) senders.push_back(looking_at_);
}

void TurnFindings::Found(std::int32_t rank) {
  senders_[Place(looking_at_)].rank = rank;
  found_.emplace_back(rank, looking_at_);
  std::push_heap(found_.begin(), found_.end(), std::greater<>());
}

std::int32_t TurnFindings::TakeFirst() {
  while (!found_.empty()) {
    const auto [rank, number] = found_.front();
    std::pop_heap(found_.begin(), found_.end(), std::greater<>());
    found_.pop_back();
    Sender& sender = senders_[Place(number)];
    if (!sender.takes_part || sender.rank != rank) continue;
    sender.takes_part = false;
    return rank;
  }
  return kNone;
}

void TurnFindings::Taken(std::int32_t resource) {
  for (const std::int32_t number : resting_[Place(resource)]) {
    Sender& sender = senders_[Place(number)];
    if (!sender.takes_part || sender.to_look_at) continue;
    sender.to_look_at = true;
    sender.rank = kNone;
    to_look_at_.push_back(number);
  }
  resting_[Place(resource)].clear();
}

}  // namespace weir::master
