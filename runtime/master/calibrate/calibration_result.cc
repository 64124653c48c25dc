// What the measurements of a CalibrationMachine mean, for plans and for people.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/master/calibrate/calibration_machine.h"

namespace weir::master {

bool CalibrationMachine::SlowPort(std::size_t worker) const {
  const auto slow = [this](double rate) { return rate > 0 && rate < kFull * channel_; };
  return slow(up_[worker]) || slow(down_[worker]);
}

bool CalibrationMachine::AnyLimit() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.limited; });
}

NetworkSpec CalibrationMachine::Spec() const {
  NetworkSpec spec;
  spec.channel_bytes_per_s = channel_;
  spec.latency_s = latency_s_;
  for (std::size_t w = 0; w < names_.size(); ++w) {
    if (!SlowPort(w)) continue;
    spec.port_bytes_per_s[names_[w]] = up_[w] == 0     ? down_[w]
                                       : down_[w] == 0 ? up_[w]
                                                       : std::min(up_[w], down_[w]);
  }
  if (channel_ <= 0) return spec;
  for (const Link& link : links_) {
    if (!link.limited) continue;
    const auto channels =
        static_cast<std::int32_t>(std::max(1L, std::lround(link.bytes_per_s / channel_)));
    if (link.rack.empty()) {
      const CutSide all{CutSide::Kind::kAll, {}};
      spec.cuts.push_back({link.name, all, all, channels});
      continue;
    }
    CutSide inside;
    for (const int w : link.rack) inside.workers.push_back(names_[static_cast<std::size_t>(w)]);
    const CutSide outside{CutSide::Kind::kRest, {}};
    spec.cuts.push_back(
        {link.name, link.up ? inside : outside, link.up ? outside : inside, channels});
  }
  return spec;
}

NetworkSpec CalibrationMachine::WholeSpec() const {
  NetworkSpec spec = Spec();
  // An odd number of workers can load a total with one more transfer than pairs do.
  if (!limited_ && ring_share_ < kFull && channel_ > 0) {
    const CutSide all{CutSide::Kind::kAll, {}};
    spec.cuts.push_back(
        {"total", all, all,
         static_cast<std::int32_t>(std::max(1L, std::lround(ring_bytes_per_s_ / channel_)))});
  }
  return spec;
}

bool CalibrationMachine::Reliable() const {
  constexpr double kShareOffMax = 0.15;
  return check_share_ < 0 || std::abs(check_share_ - 1) <= kShareOffMax;
}

void CalibrationMachine::Explain(CalibrationResult& result) const {
  const auto note = [&result](std::string text) { result.message.add_notes(std::move(text)); };
  for (const std::string& text : notes_) note(text);
  if (channel_ <= 0) note("the channel rate is not determined");
  if (out_of_time_) {
    note(absl::StrCat("time was up before all was measured (", out_of_time_doing_,
                      "); give more with --seconds"));
  }
  const bool loaded = !load_points_.empty();
  if (!loaded) {
    note("limits of the network are not determined");
  } else if (!limited_) {
    int most = 0;
    for (const auto& point : load_points_) most = std::max(most, point.transfers());
    note(absl::StrCat("no limit beyond the ports: ", most,
                      " transfers at once kept their rate in every pattern tried"));
    if (ring_share_ < kFull) {
      note(absl::StrFormat(
          "but %d transfers in a ring, all at once, reached only %.0f %% of their ports",
          num_workers_, 100 * ring_share_));
    }
  } else if (!racks_complete_) {
    note("who shares a rack is only partly determined");
  }
  if (limited_ && !links_.empty() && !AnyLimit()) {
    note("the rate fell under load, but not when it was measured again for longer: no limit taken");
  }
  if (AnyLimit() && racks_.AnySame()) {
    for (const std::vector<int>& rack : racks_.Racks()) {
      if (rack.size() > 1) continue;
      const auto alone = static_cast<std::size_t>(rack[0]);
      note(absl::StrCat(
          SlowPort(alone) ? "the rack of " : "", names_[alone],
          SlowPort(alone) ? " is not determined: its port is slower than a loaded core; add it to "
                            "the cuts by hand"
                          : " shares a rack with nobody, so its port is its only limit"));
    }
    for (const Link& link : links_) {
      if (link.limited || link.bytes_per_s <= 0) continue;
      note(absl::StrCat(link.name, " is no limit: all its workers at once kept their rate"));
    }
  }
  std::string unknown;
  int num_unknown = 0;
  for (std::size_t w = 0; w < names_.size(); ++w) {
    if (up_[w] > 0 && down_[w] > 0) continue;
    if (++num_unknown <= 5) absl::StrAppend(&unknown, unknown.empty() ? "" : ", ", names_[w]);
  }
  if (num_unknown > 0) {
    note(absl::StrCat("ports taken for full-rate ones, not measured: ", unknown,
                      num_unknown > 5 ? absl::StrCat(" and ", num_unknown - 5, " more") : ""));
  }
  if (check_share_ >= 0) {
    note(absl::StrFormat("a last pattern ran at %.0f %% of what these numbers say%s",
                         100 * check_share_,
                         Reliable() ? "" : ": do not rely on them, measure again"));
  }
}

CalibrationResult CalibrationMachine::Result(MonoTime now) const {
  CalibrationResult result;
  result.spec = WholeSpec();
  ExplainSharing(result);
  v1::MeasuredNetwork& message = result.message;
  message.set_spec_json(NetworkSpecJson(result.spec));
  message.set_channel_bytes_per_s(channel_);
  message.set_latency_s(latency_s_);
  for (std::size_t w = 0; w < names_.size(); ++w) {
    v1::MeasuredNetwork::Port& port = *message.add_ports();
    port.set_worker(names_[w]);
    port.set_up_bytes_per_s(up_[w]);
    port.set_down_bytes_per_s(down_[w]);
    port.set_slow(SlowPort(w));
  }
  for (const NamedCut& cut : result.spec.cuts) {
    v1::MeasuredNetwork::LimitedCut& measured = *message.add_cuts();
    measured.set_name(cut.name);
    measured.set_channels(cut.channels);
    double rate = ring_bytes_per_s_;
    for (const Link& link : links_) {
      if (link.name == cut.name) rate = link.bytes_per_s;
    }
    measured.set_bytes_per_s(rate);
    measured.set_measured_channels(rate / channel_);
  }
  if (AnyLimit() && racks_.AnySame()) {
    for (const std::vector<int>& members : racks_.Racks()) {
      v1::MeasuredNetwork::Rack& rack = *message.add_racks();
      rack.set_name(names_[static_cast<std::size_t>(members[0])]);
      for (const int w : members) rack.add_workers(names_[static_cast<std::size_t>(w)]);
    }
  }
  for (const auto& point : load_points_) *message.add_load() = point;
  message.set_rounds(rounds_);
  message.set_probes(probes_);
  message.set_seconds(absl::ToDoubleSeconds(now - began_));
  Explain(result);
  result.reliable = Reliable();
  return result;
}

}  // namespace weir::master
