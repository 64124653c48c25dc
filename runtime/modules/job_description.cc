#include "runtime/modules/job_description.h"

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

void Describe(const ElementInfo& element, v1::JobDescription::Element& described) {
  described.set_kind(static_cast<std::int32_t>(element.kind));
  described.set_places(element.places);
  described.set_place_bytes(element.place_bytes);
  described.set_commutative(element.commutative);
  described.set_splits(element.splits);
  described.set_combine_seconds_per_byte(element.combine_seconds_per_byte);
}

ElementInfo ElementFrom(const v1::JobDescription::Element& described) {
  ElementInfo element;
  if (described.kind() == static_cast<int>(ElementKind::kTable)) element.kind = ElementKind::kTable;
  if (described.kind() == static_cast<int>(ElementKind::kVector)) {
    element.kind = ElementKind::kVector;
  }
  element.places = described.places();
  element.place_bytes = described.place_bytes();
  element.commutative = described.commutative();
  element.splits = described.splits();
  element.combine_seconds_per_byte = described.combine_seconds_per_byte();
  return element;
}

void Describe(const LoopInfo& loop, v1::JobDescription::Loop& described) {
  described.set_iterations(loop.iterations);
  described.set_element_places(loop.element_places);
  described.set_state_places(loop.state_places);
  described.set_place_bytes(loop.place_bytes);
  described.set_splits(loop.splits);
  described.set_first_splits(loop.first_splits);
  described.set_commutative(loop.commutative);
  described.set_iterate_seconds_per_byte(loop.iterate_seconds_per_byte);
  described.set_combine_seconds_per_byte(loop.combine_seconds_per_byte);
  described.set_update_seconds_per_byte(loop.update_seconds_per_byte);
}

LoopInfo LoopFrom(const v1::JobDescription::Loop& described) {
  LoopInfo loop;
  loop.iterations = described.iterations();
  loop.element_places = described.element_places();
  loop.state_places = described.state_places();
  loop.place_bytes = described.place_bytes();
  loop.splits = described.splits();
  loop.first_splits = described.first_splits();
  loop.commutative = described.commutative();
  loop.iterate_seconds_per_byte = described.iterate_seconds_per_byte();
  loop.combine_seconds_per_byte = described.combine_seconds_per_byte();
  loop.update_seconds_per_byte = described.update_seconds_per_byte();
  return loop;
}

class DescribedJob final : public JobDefinition {
 public:
  explicit DescribedJob(v1::JobDescription description)
      : description_(std::move(description)), info_(InfoOf(description_)) {}

  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return NoCode();
  }
  ElementInfo Element(const ParameterValues&, int layer) const override {
    if (layer < 1 || layer > description_.layers_size()) return {};
    return ElementFrom(description_.layers(layer - 1).element());
  }
  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues&) const override {
    if (!description_.has_loop()) return std::nullopt;
    return LoopFrom(description_.loop());
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream&) const override {
    return NoCode();
  }

 private:
  absl::Status NoCode() const {
    return absl::FailedPreconditionError(
        absl::StrCat("job '", info_.name, "' is described here; its code is in its module"));
  }

  const v1::JobDescription description_;
  const JobInfo info_;
};

}  // namespace

absl::StatusOr<v1::JobDescription> DescribeJob(
    const JobDefinition& job, absl::Span<const std::pair<std::string, std::string>> parameters) {
  const JobInfo& info = job.info();
  const absl::StatusOr<ParameterValues> values = CheckParameters(info, parameters);
  if (!values.ok()) return values.status();
  if (absl::Status fit = job.CheckValues(*values); !fit.ok()) return fit;
  v1::JobDescription described;
  described.set_name(info.name);
  described.set_summary(info.summary);
  for (const ParameterInfo& parameter : info.parameters) {
    v1::JobDescription::Parameter& one = *described.add_parameters();
    one.set_name(parameter.name);
    one.set_integer(parameter.type == ParameterInfo::Type::kInteger);
    one.set_default_value(parameter.default_value);
    one.set_min(parameter.min);
    one.set_max(parameter.max);
    for (const std::string& choice : parameter.choices) one.add_choices(choice);
    one.set_help(parameter.help);
  }
  described.set_map_seconds_per_byte(info.rates.map_seconds_per_byte);
  described.set_map_output_ratio(info.rates.map_output_ratio);
  if (const OutputGrowth& growth = info.rates.output_growth; growth.at_bytes > 0) {
    v1::JobDescription::OutputGrowth& told = *described.mutable_output_growth();
    told.set_at_bytes(growth.at_bytes);
    told.set_power(growth.power);
    told.set_seconds_per_output_byte(growth.seconds_per_output_byte);
  }
  int layer = 0;
  for (const LayerRates& rates : info.rates.layers) {
    v1::JobDescription::Layer& one = *described.add_layers();
    one.set_reduce_seconds_per_byte(rates.reduce_seconds_per_byte);
    one.set_output_ratio(rates.output_ratio);
    Describe(job.Element(*values, ++layer), *one.mutable_element());
  }
  const absl::StatusOr<std::optional<LoopInfo>> loop = job.Loop(*values);
  if (!loop.ok()) return loop.status();
  if (loop->has_value()) Describe(**loop, *described.mutable_loop());
  return described;
}

JobInfo InfoOf(const v1::JobDescription& description) {
  JobInfo info;
  info.name = description.name();
  info.summary = description.summary();
  for (const v1::JobDescription::Parameter& one : description.parameters()) {
    ParameterInfo parameter;
    parameter.name = one.name();
    parameter.type = one.integer() ? ParameterInfo::Type::kInteger : ParameterInfo::Type::kString;
    parameter.default_value = one.default_value();
    parameter.min = one.min();
    parameter.max = one.max();
    parameter.choices.assign(one.choices().begin(), one.choices().end());
    parameter.help = one.help();
    info.parameters.push_back(std::move(parameter));
  }
  info.rates.map_seconds_per_byte = description.map_seconds_per_byte();
  info.rates.map_output_ratio = description.map_output_ratio();
  if (description.has_output_growth()) {
    const v1::JobDescription::OutputGrowth& growth = description.output_growth();
    info.rates.output_growth = {growth.at_bytes(), growth.power(),
                                growth.seconds_per_output_byte()};
  }
  info.rates.layers.clear();
  for (const v1::JobDescription::Layer& layer : description.layers()) {
    info.rates.layers.push_back({layer.reduce_seconds_per_byte(), layer.output_ratio()});
  }
  return info;
}

std::unique_ptr<JobDefinition> MakeDescribedJob(v1::JobDescription description) {
  return std::make_unique<DescribedJob>(std::move(description));
}

std::shared_ptr<const JobDefinition> FindJob(const JobCatalog& catalog, const v1::JobSpec& spec) {
  if (spec.has_module()) return MakeDescribedJob(spec.module().description());
  const auto job = catalog.find(spec.job());
  if (job == catalog.end()) return nullptr;
  // Not owned.
  return {std::shared_ptr<void>(), job->second.get()};
}

}  // namespace weir
