#include "jobs/engine/references/referenced_sources.h"

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/engine/references/record_finder.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

class ReferencedSource : public RunSource {
 public:
  ReferencedSource(RunSource& source, ReferencedFiles& files, StepContext& context)
      : source_(source), finder_(files, context) {}

  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    absl::StatusOr<absl::Span<const char>> block = source_.NextBlock();
    if (!block.ok() || !IsOfReferences({block->data(), block->size()})) return block;
    if (absl::Status legal = finder_.Begin({block->data(), block->size()}); !legal.ok()) {
      return legal;
    }
    const std::size_t bytes = finder_.block().stands_for_bytes;
    if (room_ < bytes) {
      room_ = bytes;
      whole_ = std::make_unique_for_overwrite<char[]>(room_);
    }
    if (absl::Status found = finder_.FindAll(whole_.get()); !found.ok()) return found;
    return absl::Span<const char>(whole_.get(), bytes);
  }

 private:
  RunSource& source_;
  RecordFinder finder_;
  std::unique_ptr<char[]> whole_;  // that was given last
  std::size_t room_ = 0;           // of whole_
};

}  // namespace

ReferencedSources::ReferencedSources(const Sources& sources, ReferencedFiles& files,
                                     StepContext& context)
    : given_(sources) {
  if (!context.refers_to_input()) return;
  for (const auto& source : sources) {
    whole_.push_back(std::make_unique<ReferencedSource>(*source, files, context));
  }
}

}  // namespace weir
