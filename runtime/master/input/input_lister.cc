#include "runtime/master/input/input_lister.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/standstill.h"

namespace weir::master {
namespace {

absl::Status Late(absl::StatusCode code, const std::string& message, const std::string& advice,
                  const std::string& path) {
  v1::JobError error = MakeJobError(job_error::kDeadline, message, advice);
  error.set_file(path);
  return StatusFromJobError(code, error);
}

std::string Awaited(const std::string& path) {
  return path.empty() ? "" : absl::StrCat(", and the master waits for ", path);
}

constexpr char kLookAtPath[] =
    "look whether that path answers (ls), mount it anew, or name other inputs";

}  // namespace

InputLister::~InputLister() {
  for (const auto& [id, listing] : listings_) {
    listing.shared->turn.Withdraw();  // nobody waits for it any more
    if (listing.timer) loop_.CancelTimer(*listing.timer);
  }
}

std::string InputLister::PathAwaited() const {
  for (const auto& [id, listing] : listings_) {
    if (listing.shared->turn.has_begun()) return listing.shared->path.Get();
  }
  return "";
}

absl::Status InputLister::Room() const {
  const auto num_listings = static_cast<std::int64_t>(listings_.size());
  if (num_listings < limits::kListingsMax) return absl::OkStatus();
  const std::string path = PathAwaited();
  return Late(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("the inputs of ", num_listings,
                   " jobs wait to be listed, the most that the master takes", Awaited(path)),
      kLookAtPath, path);
}

void InputLister::List(Patience patience, Work work, Done done) {
  const std::int64_t id = ++last_id_;
  Listing& listing = listings_[id];
  listing.shared = std::make_shared<Shared>();
  listing.done = std::move(done);
  RunAfter(id, patience.waits, [this, id, patience] { EndPatience(id, patience); });
  auto left =
      callbacks_.Guard([this, id](absl::StatusOr<InputList> input) { Left(id, std::move(input)); });
  pool_.Run([&loop = loop_, shared = listing.shared, work = std::move(work),
             left = std::move(left)]() mutable {
    absl::StatusOr<InputList> input = absl::CancelledError("given up before it began");
    if (shared->turn.Begin()) input = work(shared->path);
    loop.Post(
        [input = std::move(input), left = std::move(left)]() mutable { left(std::move(input)); });
  });
}

void InputLister::EndPatience(std::int64_t id, Patience patience) {
  const Listing& listing = listings_.at(id);
  const absl::Duration more = patience.lists - patience.waits;
  if (more <= absl::ZeroDuration() || !listing.shared->turn.has_begun()) {
    return GiveUp(id, patience.waits);
  }
  RunAfter(id, more, [this, id, lists = patience.lists] { GiveUp(id, lists); });
}

// A master that stood still, and its pool with it, has as long as ever to hear what was listed.
void InputLister::RunAfter(std::int64_t id, absl::Duration patience, env::Task end) {
  const MonoTime until = loop_.Now() + patience;
  listings_.at(id).timer = loop_.RunAt(
      until, callbacks_.Guard([this, id, patience, until, end = std::move(end)]() mutable {
        listings_.at(id).timer.reset();
        if (loop_.Now() - until >= kStandstill) return RunAfter(id, patience, std::move(end));
        end();
      }));
}

void InputLister::GiveUp(std::int64_t id, absl::Duration waited) {
  Listing& listing = listings_.at(id);
  Done done = std::exchange(listing.done, nullptr);
  const std::string time = absl::FormatDuration(waited);
  if (listing.shared->turn.Withdraw()) {
    const std::string path = PathAwaited();
    done(Late(absl::StatusCode::kResourceExhausted,
              absl::StrCat("the inputs were not listed within ", time,
                           ": those of other jobs are listed before", Awaited(path)),
              kLookAtPath, path));
  } else {
    const std::string path = listing.shared->path.Get();
    done(Late(
        absl::StatusCode::kDeadlineExceeded,
        absl::StrCat("the inputs were not listed within ", time, ": the master waits for ", path),
        kLookAtPath, path));
  }
}

void InputLister::Left(std::int64_t id, absl::StatusOr<InputList> input) {
  auto node = listings_.extract(id);
  Listing& listing = node.mapped();
  if (listing.timer) loop_.CancelTimer(*listing.timer);
  if (listing.done != nullptr) listing.done(std::move(input));
}

}  // namespace weir::master
