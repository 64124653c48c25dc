#pragma once

// Which hosts do not hear each other. Upstream: scenarios. Downstream: Network (calls), DataPlane
// (bytes).

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace weir::sim {

/// Everybody, as one side of a cut.
inline constexpr char kEverybody[] = "*";

/// Ways from host to host that carry nothing. Hosts are called as their workers; the master's is
/// "master". Nobody is told: what is sent on such a way is silence.
class Cuts {
 public:
  /// Nothing that `from` sends reaches `to` any more.
  void Cut(const std::string& from, const std::string& to) { cut_.emplace(from, to); }
  /// Neither hears the other.
  void CutBoth(const std::string& a, const std::string& b) {
    Cut(a, b);
    Cut(b, a);
  }
  void HealBoth(const std::string& a, const std::string& b) {
    cut_.erase({a, b});
    cut_.erase({b, a});
  }
  void Heal() { cut_.clear(); }

  bool Blocks(const std::string& from, const std::string& to) const {
    if (cut_.empty() || from == to) return false;
    return cut_.contains({from, to}) || cut_.contains({from, kEverybody}) ||
           cut_.contains({kEverybody, to});
  }
  /// Where bytes need acknowledgements: one way that is cut is as good as both.
  bool Part(const std::string& a, const std::string& b) const {
    return Blocks(a, b) || Blocks(b, a);
  }

 private:
  std::set<std::pair<std::string, std::string>> cut_;
};

}  // namespace weir::sim
