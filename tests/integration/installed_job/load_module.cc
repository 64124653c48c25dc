// load_module MODULE INPUT PARAMETER=VALUE: loads a module by itself, checks its parameters on this
// side of the border, and has its program map the input and reduce the result on that one. Prints
// name, layers and output.

#include <absl/strings/string_view.h>
#include <dlfcn.h>
#include <weir/job_definition.h>
#include <weir/program.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

class OneSlot : public weir::SlotPool {
 public:
  int num_slots() const override { return 1; }
  void RunOnAll(const std::function<void(int slot)>& body) override { body(0); }
};

class Context : public weir::StepContext {
 public:
  weir::SlotPool& slots() override { return slots_; }
  void AddProgress(std::int64_t) override {}
  void AddCounter(std::string_view name, std::int64_t value) override {
    if (value != 0) std::cout << name << ' ' << value << '\n';
  }
  bool SkipBad(const weir::BadRecord&) override { return false; }
  bool cancelled() const override { return false; }
  std::int64_t memory_bytes() const override { return std::int64_t{64} << 20; }

 private:
  OneSlot slots_;
};

class Run : public weir::RunSink {
 public:
  absl::Status BeginSection(int) override { return absl::OkStatus(); }
  absl::Status Append(std::string_view block, std::int64_t) override {
    blocks.emplace_back(block);
    return absl::OkStatus();
  }
  std::vector<std::string> blocks;
};

class Blocks : public weir::RunSource {
 public:
  explicit Blocks(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ == blocks_.size()) return absl::Span<const char>();
    return absl::MakeConstSpan(blocks_[next_++]);
  }

 private:
  const std::vector<std::string> blocks_;
  std::size_t next_ = 0;
};

class Part : public weir::PartSink {
 public:
  absl::Status Append(std::string_view bytes, std::int64_t) override {
    std::cout << bytes;
    return absl::OkStatus();
  }
};

absl::Status MapAndReduce(weir::JobProgram& program, const std::string& path) {
  weir::MapOrder map;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  map.ranges.push_back({.path = path, .begin = 0, .end = bytes, .file_bytes = bytes});
  map.consumer_key_end = {1.0};
  Context context;
  Run run;
  if (const auto mapped = program.Map(map, run, context); !mapped.ok()) return mapped.status();
  weir::ReduceOrder reduce;
  reduce.inputs.push_back(std::make_unique<Blocks>(std::move(run.blocks)));
  Part part;
  return program.ReduceToPart(std::move(reduce), part, context).status();
}

int Fail(absl::string_view why) {
  std::cerr << why << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  void* const module = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return Fail(::dlerror());
  using Entry = const weir::JobDefinition* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(module, "longest_line_job"));
  if (entry == nullptr) return Fail(::dlerror());
  const weir::JobDefinition& definition = *entry();
  const std::string word = argv[3];
  const std::size_t equal = word.find('=');
  const auto values =
      weir::CheckParameters(definition.info(), {{word.substr(0, equal), word.substr(equal + 1)}});
  if (!values.ok()) return Fail(values.status().message());
  const auto program = definition.MakeProgram(*values);
  if (!program.ok()) return Fail(program.status().message());
  std::cout << definition.info().name << ' ' << definition.info().rates.layers.size() << ' '
            << definition.Element(*values, 1).commutative << '\n';
  if (const absl::Status done = MapAndReduce(**program, argv[2]); !done.ok()) {
    return Fail(done.message());
  }
  return 0;
}
