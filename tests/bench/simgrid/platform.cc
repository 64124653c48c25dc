#include "tests/bench/simgrid/platform.h"

#include <simgrid/version.h>

#include <cmath>
#include <simgrid/s4u.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::bench {

using planner::At;

absl::StatusOr<FatTree> QuarterBisection(std::int32_t num_hosts) {
  for (std::int32_t side = 4; side <= 64; side *= 2) {
    if (side * side != num_hosts) continue;
    FatTree tree;
    tree.hosts_per_leaf = side;
    tree.leaves = side;
    tree.uplinks = side / 4;
    return tree;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("p is ", num_hosts, "; it must be 16, 64, 256, 1024 or 4096"));
}

FatTree Crossbar(std::int32_t num_hosts) {
  FatTree tree;
  tree.hosts_per_leaf = num_hosts;
  return tree;
}

planner::NetworkModel NetworkOfTree(const FatTree& tree, bool with_cuts) {
  planner::NetworkModel network;
  network.num_workers = tree.num_hosts();
  network.seconds_per_byte = 1 / tree.bytes_per_s;
  network.latency_s = (tree.leaves == 1 ? 2 : 4) * tree.link_latency_s;
  if (!with_cuts || tree.uplinks == 0) return network;
  for (std::int32_t leaf = 0; leaf < tree.leaves; ++leaf) {
    std::vector<bool> inside(At(tree.num_hosts()));
    for (std::int32_t i = 0; i < tree.hosts_per_leaf; ++i)
      inside[At(leaf * tree.hosts_per_leaf + i)] = true;
    std::vector<bool> outside = inside;
    outside.flip();
    network.cuts.push_back({absl::StrCat("leaf ", leaf, " up"), inside, outside, tree.uplinks});
    network.cuts.push_back({absl::StrCat("leaf ", leaf, " down"), outside, inside, tree.uplinks});
  }
  return network;
}

std::vector<simgrid::s4u::Host*> BuildPlatform(const FatTree& tree) {
  namespace s4u = simgrid::s4u;
  std::vector<s4u::Host*> hosts(At(tree.num_hosts()));
  const s4u::ClusterCallbacks add_host(
      [&hosts](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
        s4u::Host* host = zone->create_host(absl::StrCat("host-", id), kFlopsPerSecond);
        hosts.at(id) = host;
        return std::pair{host->get_netpoint(),
                         static_cast<simgrid::kernel::routing::NetPoint*>(nullptr)};
      });
  const auto hosts_per_leaf = static_cast<unsigned>(tree.hosts_per_leaf);
  const s4u::FatTreeParams shape =
      tree.leaves == 1 ? s4u::FatTreeParams{1, {hosts_per_leaf}, {1}, {1}}
                       : s4u::FatTreeParams{2,
                                            {hosts_per_leaf, static_cast<unsigned>(tree.leaves)},
                                            {1, static_cast<unsigned>(tree.uplinks)},
                                            {1, 1}};
  s4u::NetZone* zone =
      s4u::create_fatTree_zone("fat-tree", nullptr, shape, add_host, tree.bytes_per_s,
                               tree.link_latency_s, s4u::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();
  return hosts;
}

void ConfigureSimGrid() {
  using simgrid::s4u::Engine;
  Engine::set_config("network/model:CM02");
  Engine::set_config("network/TCP-gamma:0");
  Engine::set_config("network/crosstraffic:0");
  Engine::set_config("surf/precision:1e-10");
  Engine::set_config("maxmin/precision:1e-9");
}

std::string SimGridVersion() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return patch == 0 ? absl::StrCat(major, ".", minor) : absl::StrCat(major, ".", minor, ".", patch);
}

}  // namespace weir::bench
