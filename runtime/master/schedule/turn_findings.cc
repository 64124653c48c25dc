#include "runtime/master/schedule/turn_findings.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace weir::master {
namespace {

std::size_t Place(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

TurnFindings::TurnFindings(std::int32_t num_senders, std::int32_t num_resources,
                           std::int32_t num_shared)
    : senders_(Place(num_senders)),
      num_resources_(num_resources),
      resources_(Place(num_resources + num_shared)),
      shared_versions_(Place(num_shared), 0) {}

void TurnFindings::Begin() {
  for (const std::int32_t sender : taking_part_) senders_[Place(sender)] = Sender();
  taking_part_.clear();
  to_look_at_.clear();
  looking_at_ = kNone;
  for (const std::int32_t number : rested_on_) {
    Resource& resource = resources_[Place(number)];
    resource.rests.clear();
    resource.most_needed = 0;
  }
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

std::int32_t TurnFindings::SharedResource(std::int32_t shared) const {
  return num_resources_ + shared;
}

void TurnFindings::Add(std::int32_t resource, Rest rest) {
  auto& [rests, most_needed] = resources_[Place(resource)];
  if (rests.empty()) rested_on_.push_back(resource);
  if (rests.empty() || rests.back().of != rest.of) rests.push_back({rest.of, 0});
  rests.back().needs = std::max(rests.back().needs, rest.needs);
  most_needed = std::max(most_needed, rest.needs);
}

void TurnFindings::RestsOn(std::int32_t resource, std::int64_t needs) {
  Add(resource, {looking_at_, needs});
}

void TurnFindings::RestsOnShared(std::int32_t shared) {
  Add(SharedResource(shared), {looking_at_, kAllOfIt});
}

void TurnFindings::SharedRestsOn(std::int32_t shared, std::int32_t resource, std::int64_t needs) {
  Add(resource, {static_cast<std::int32_t>(senders_.size()) + shared, needs});
}

std::int64_t TurnFindings::SharedVersion(std::int32_t shared) const {
  return shared_versions_[Place(shared)];
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

void TurnFindings::LookAgain(std::int32_t number) {
  Sender& sender = senders_[Place(number)];
  if (!sender.takes_part || sender.to_look_at) return;
  sender.to_look_at = true;
  sender.rank = kNone;
  to_look_at_.push_back(number);
}

void TurnFindings::Taken(std::int32_t resource, std::int64_t left) {
  const auto num_senders = static_cast<std::int32_t>(senders_.size());
  auto& [rests, most_needed] = resources_[Place(resource)];
  if (left >= most_needed) return;
  most_needed = 0;
  std::size_t kept = 0;
  for (const Rest rest : rests) {
    if (left >= rest.needs) {
      most_needed = std::max(most_needed, rest.needs);
      rests[kept++] = rest;
    } else if (rest.of < num_senders) {
      LookAgain(rest.of);
    } else {
      ++shared_versions_[Place(rest.of - num_senders)];
      Taken(SharedResource(rest.of - num_senders));
    }
  }
  rests.resize(kept);
}

}  // namespace weir::master
