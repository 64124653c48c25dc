#include "runtime/transfer/stranger_connections.h"

#include <algorithm>

namespace weir::transfer {

std::optional<StrangerConnections::Id> StrangerConnections::Add(Id id, const std::string& address,
                                                                MonoTime now) {
  std::optional<Id> instead;
  if (static_cast<int>(connections_.size()) >= connections_max_) instead = TakeOne();
  connections_[id] = Connection{address, now + patience_};
  ++num_by_address_[address];
  return instead;
}

void StrangerConnections::Remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto counted = num_by_address_.find(found->second.address);
  if (--counted->second == 0) num_by_address_.erase(counted);
  connections_.erase(found);
}

std::optional<StrangerConnections::Id> StrangerConnections::TakeOne() {
  if (connections_.empty()) return std::nullopt;
  int most = 0;
  for (const auto& [address, num] : num_by_address_) most = std::max(most, num);
  const auto first = std::find_if(
      connections_.begin(), connections_.end(),
      [this, most](const auto& entry) { return num_by_address_.at(entry.second.address) == most; });
  const Id id = first->first;
  Remove(id);
  return id;
}

std::vector<StrangerConnections::Id> StrangerConnections::TakeExpired(MonoTime now) {
  std::vector<Id> expired;
  while (!connections_.empty() && connections_.begin()->second.expiry <= now) {
    expired.push_back(connections_.begin()->first);
    Remove(expired.back());
  }
  return expired;
}

std::optional<MonoTime> StrangerConnections::next_expiry() const {
  if (connections_.empty()) return std::nullopt;
  return connections_.begin()->second.expiry;
}

}  // namespace weir::transfer
