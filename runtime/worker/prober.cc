#include "runtime/worker/prober.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"

namespace weir::worker {
namespace {

constexpr char kProbeRun[] = "probe";
// Received probe bytes go here.
constexpr char kNowhere[] = "/dev/null";
constexpr int kRoundTripsMax = 100;

absl::Status Wrong(const std::string& field, double value, const std::string& legal) {
  return absl::InvalidArgumentError(
      absl::StrCat("probe: ", field, " is ", value, "; legal: ", legal));
}

absl::Status CheckSeconds(const std::string& field, double seconds, absl::Duration most) {
  // Written so that NaN fails as well.
  if (seconds >= 0 && seconds <= absl::ToDoubleSeconds(most)) return absl::OkStatus();
  return Wrong(field, seconds, absl::StrCat("0 to ", absl::FormatDuration(most)));
}

absl::Status CheckBytes(std::int64_t bytes) {
  if (bytes > 0 && bytes <= limits::kProbeBytesMax) return absl::OkStatus();
  return Wrong("bytes_max", static_cast<double>(bytes),
               absl::StrCat("1 to ", limits::kProbeBytesMax));
}

absl::Status CheckFetch(const v1::ProbeRequest::Fetch& fetch) {
  if (fetch.source_endpoint().empty()) return absl::InvalidArgumentError("probe: no source");
  if (fetch.round() < 0) return Wrong("round", fetch.round(), "0 or more");
  if (fetch.round_trips() < 0 || fetch.round_trips() > kRoundTripsMax) {
    return Wrong("round_trips", fetch.round_trips(), absl::StrCat("0 to ", kRoundTripsMax));
  }
  if (absl::Status status = CheckSeconds("warm_up_s", fetch.warm_up_s(), limits::kProbeFetch);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckSeconds("window_s", fetch.window_s(), limits::kProbeFetch);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckSeconds("tail_s", fetch.tail_s(), limits::kProbeFetch);
      !status.ok()) {
    return status;
  }
  if (fetch.pacing_bytes_per_s() < 0) {
    return Wrong("pacing_bytes_per_s", static_cast<double>(fetch.pacing_bytes_per_s()),
                 "0 or more");
  }
  const bool marks =
      fetch.look_ahead_bytes() >= 0 &&
      (fetch.grant_ahead_bytes() == 0 || (fetch.grant_ahead_bytes() >= fetch.look_ahead_bytes() &&
                                          fetch.grant_ahead_bytes() <= fetch.bytes_max()));
  if (!marks) {
    return Wrong("grant_ahead_bytes", static_cast<double>(fetch.grant_ahead_bytes()),
                 "0, or look_ahead_bytes to bytes_max");
  }
  const bool moves = fetch.window_s() > 0 || fetch.ordered();
  return moves ? CheckBytes(fetch.bytes_max()) : absl::OkStatus();
}

// kUnavailable and kDeadlineExceeded would say that this worker does not answer.
absl::Status SendersFault(const absl::Status& why) {
  if (!absl::IsUnavailable(why) && !absl::IsDeadlineExceeded(why) && !absl::IsAborted(why)) {
    return why;
  }
  return absl::FailedPreconditionError(why.message());
}

transfer::JobKey KeyOf(const v1::ProbeRequest& request) {
  return {request.fence().job_id(), request.token(), request.fence().master_epoch(),
          request.fence().plan_epoch()};
}

}  // namespace

// One fetch order on its way.
struct Prober::Measuring {
  v1::ProbeRequest request;
  Reply reply;
  MonoTime began;
  std::vector<double> first_byte_s;

  transfer::FetchOrder Order(std::int64_t bytes) const {
    transfer::FetchOrder order;
    order.key = KeyOf(request);
    order.peer_endpoint = request.fetch().source_endpoint();
    order.peer_name = request.fetch().source_worker();
    order.run_id = kProbeRun;
    order.bytes = bytes;
    order.destination_path = kNowhere;
    order.concurrent = true;
    // Senders, too, give way to a later round, as they do to a later edit of a plan.
    order.plan_edit = request.fetch().round();
    return order;
  }
  void Answer(v1::ProbeResponse response, MonoTime now) {
    if (!first_byte_s.empty()) {
      const auto middle =
          first_byte_s.begin() + static_cast<std::ptrdiff_t>(first_byte_s.size() / 2);
      std::nth_element(first_byte_s.begin(), middle, first_byte_s.end());
      response.set_first_byte_s(*middle);
    }
    response.set_busy_s(absl::ToDoubleSeconds(now - began));
    reply(std::move(response));
  }
  void AnswerOnce(v1::ProbeResponse response, MonoTime now) {
    if (!reply) return;
    Answer(std::move(response), now);
    reply = nullptr;
  }
};

void Prober::Take(v1::ProbeRequest request, const std::string& directory, Reply reply) {
  if (request.fence().job_id() != calibration_id_ && !calibration_id_.empty()) Stop();
  switch (request.order_case()) {
    case v1::ProbeRequest::kServe:
      return Serve(request, directory, std::move(reply));
    case v1::ProbeRequest::kFetch:
      return Fetch(request, std::move(reply));
    case v1::ProbeRequest::kCount:
      return Count(std::move(reply));
    case v1::ProbeRequest::kStop:
      Stop();
      return reply(v1::ProbeResponse());
    default:
      return reply(absl::InvalidArgumentError("probe: no order"));
  }
}

void Prober::Serve(const v1::ProbeRequest& request, const std::string& directory, Reply reply) {
  absl::Status sound = CheckBytes(request.serve().bytes_max());
  if (sound.ok()) sound = CheckSeconds("seconds", request.serve().seconds(), limits::kProbeServe);
  if (!sound.ok()) return reply(sound);
  calibration_id_ = request.fence().job_id();
  file_ = absl::StrCat(directory, "/", kProbeRun);
  if (serve_end_) seams_.loop.CancelTimer(*serve_end_);
  serve_end_ = seams_.loop.RunAt(seams_.loop.Now() + absl::Seconds(request.serve().seconds()),
                                 [this, alive = std::weak_ptr<int>(alive_)] {
                                   if (alive.expired()) return;
                                   serve_end_.reset();
                                   Stop();
                                 });
  auto written = [this, alive = std::weak_ptr<int>(alive_), key = KeyOf(request),
                  bytes_max = request.serve().bytes_max(), path = file_,
                  reply = std::move(reply)](const absl::Status& status) mutable {
    if (!status.ok()) return reply(status);
    if (alive.expired() || calibration_id_ != key.job_id) {
      return reply(absl::AbortedError("the calibration was ended meanwhile"));
    }
    seams_.runs.AddJob(key);
    const absl::Status published =
        seams_.runs.Publish(key.job_id, kProbeRun, {path, bytes_max, /*probe=*/true});
    if (!published.ok()) return reply(published);
    reply(v1::ProbeResponse());
  };
  seams_.disk_pool.Run([&storage = seams_.storage, &loop = seams_.loop, path = file_,
                        seed = seams_.random.Next(), written = std::move(written)]() mutable {
    // Not compressible, should the network try.
    std::string block(static_cast<std::size_t>(limits::kBlockBytesMax), '\0');
    std::uint64_t state = seed | 1;
    for (char& byte : block) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<char>(state >> 56);
    }
    loop.Post([status = storage.WriteFileAtomically(path, block),
               written = std::move(written)]() mutable { written(status); });
  });
}

void Prober::Fetch(const v1::ProbeRequest& request, Reply reply) {
  if (absl::Status sound = CheckFetch(request.fetch()); !sound.ok()) return reply(sound);
  calibration_id_ = request.fence().job_id();
  if (absl::Status entered = EnterRound(request.fetch()); !entered.ok()) return reply(entered);
  auto measuring = std::make_shared<Measuring>();
  measuring->request = request;
  measuring->reply = std::move(reply);
  measuring->began = seams_.loop.Now();
  if (!request.fetch().ordered()) return NextRoundTrip(measuring);
  waiting_.push_back(std::move(measuring));
  StartNextOrdered();
}

// Requests may be late or come twice: what such a one fetches would share ports with a round that
// knows nothing of it.
absl::Status Prober::EnterRound(const v1::ProbeRequest::Fetch& fetch) {
  if (fetch.round() == 0) return absl::OkStatus();
  if (fetch.round() < round_) {
    return absl::AbortedError(
        absl::StrCat("probe: round ", fetch.round(), " is over, round ", round_, " has begun"));
  }
  if (fetch.round() > round_) {
    EndFetches("the calibration has gone on");
    round_ = fetch.round();
    sources_of_round_.clear();
  }
  if (sources_of_round_.insert(fetch.source_endpoint()).second) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("probe: ", fetch.source_worker(),
                                         " was asked for in round ", round_, " before"));
}

void Prober::EndFetches(const std::string& why) {
  seams_.fetcher.CancelJob(calibration_id_);
  line_free_ = true;
  for (const auto& waiting : std::exchange(waiting_, {})) {
    waiting->reply(absl::CancelledError(why));
  }
}

void Prober::Count(Reply reply) {
  seams_.server.CountSegments(
      [&loop = seams_.loop,
       reply = std::make_shared<Reply>(std::move(reply))](const transfer::SegmentCounts& counts) {
        loop.Post([reply, counts] {
          v1::ProbeResponse response;
          response.set_segments_sent(counts.sent);
          response.set_segments_resent(counts.resent);
          response.set_queue_s(counts.queue_s);
          (*reply)(std::move(response));
        });
      });
}

void Prober::StartNextOrdered() {
  if (!line_free_ || waiting_.empty()) return;
  line_free_ = false;
  const std::shared_ptr<Measuring> next = std::move(waiting_.front());
  waiting_.pop_front();
  FetchOrdered(next);
}

// As WorkerJob does with a grant: the line is free for the next one from the second mark on.
void Prober::FetchOrdered(const std::shared_ptr<Measuring>& measuring) {
  const v1::ProbeRequest::Fetch& fetch = measuring->request.fetch();
  transfer::FetchOrder order = measuring->Order(fetch.bytes_max());
  order.transfer = ++num_ordered_;
  order.concurrent = false;
  order.pacing_bytes_per_s = fetch.pacing_bytes_per_s();
  order.look_ahead_bytes = fetch.grant_ahead_bytes() > 0 ? fetch.look_ahead_bytes() : 0;
  order.grant_ahead_bytes = fetch.grant_ahead_bytes();
  // Only what began last may free the line: what ends later ended for the next one already.
  const auto free_line = [this, transfer = order.transfer] {
    if (transfer != num_ordered_) return;
    line_free_ = true;
    StartNextOrdered();
  };
  seams_.fetcher.Fetch(
      std::move(order),
      [this, measuring, free_line, alive = std::weak_ptr<int>(alive_)](std::int64_t bytes_left) {
        if (alive.expired()) return;
        const v1::ProbeRequest::Fetch& asked = measuring->request.fetch();
        // Without marks its end answers, which says how much came.
        if (asked.grant_ahead_bytes() <= 0) return;
        if (bytes_left <= asked.grant_ahead_bytes()) measuring->AnswerOnce({}, seams_.loop.Now());
        if (bytes_left <= asked.look_ahead_bytes()) free_line();
      },
      [&loop = seams_.loop, measuring, free_line,
       alive = std::weak_ptr<int>(alive_)](const absl::StatusOr<transfer::FetchResult>& result) {
        if (result.ok()) {
          v1::ProbeResponse response;
          response.set_bytes(result->bytes);
          response.set_seconds(result->seconds);
          measuring->AnswerOnce(std::move(response), loop.Now());
        } else if (measuring->reply) {
          std::exchange(measuring->reply, nullptr)(SendersFault(result.status()));
        }
        if (!alive.expired()) free_line();
      });
}

void Prober::NextRoundTrip(const std::shared_ptr<Measuring>& measuring) {
  const auto done = static_cast<int>(measuring->first_byte_s.size());
  if (done >= measuring->request.fetch().round_trips()) return FetchLong(measuring);
  seams_.fetcher.Fetch(
      measuring->Order(1), nullptr,
      [this, measuring,
       alive = std::weak_ptr<int>(alive_)](const absl::StatusOr<transfer::FetchResult>& result) {
        if (!result.ok()) return measuring->reply(SendersFault(result.status()));
        if (alive.expired()) {
          return measuring->reply(absl::CancelledError("the worker stops"));
        }
        if (measuring->request.fetch().round() < round_) {
          return measuring->reply(absl::CancelledError("the calibration has gone on"));
        }
        measuring->first_byte_s.push_back(result->first_byte_s);
        NextRoundTrip(measuring);
      });
}

void Prober::FetchLong(const std::shared_ptr<Measuring>& measuring) {
  const v1::ProbeRequest::Fetch& fetch = measuring->request.fetch();
  if (fetch.window_s() <= 0) return measuring->Answer({}, seams_.loop.Now());
  transfer::FetchOrder order = measuring->Order(fetch.bytes_max());
  order.probe = {absl::Seconds(fetch.warm_up_s()),
                 absl::Seconds(fetch.warm_up_s() + fetch.window_s()),
                 absl::Seconds(fetch.warm_up_s() + fetch.window_s() + fetch.tail_s())};
  seams_.fetcher.Fetch(
      std::move(order), nullptr,
      [&loop = seams_.loop, measuring](const absl::StatusOr<transfer::FetchResult>& result) {
        if (!result.ok()) return measuring->reply(SendersFault(result.status()));
        v1::ProbeResponse response;
        response.set_bytes(result->bytes);
        response.set_seconds(result->seconds);
        measuring->Answer(std::move(response), loop.Now());
      });
}

void Prober::Stop() {
  if (serve_end_) seams_.loop.CancelTimer(*serve_end_);
  serve_end_.reset();
  if (calibration_id_.empty()) return;
  seams_.runs.RemoveJob(calibration_id_);
  seams_.server.CancelJob(calibration_id_);
  EndFetches("the calibration has ended");
  calibration_id_.clear();
  round_ = 0;
  RemoveFile();
}

void Prober::RemoveFile() {
  if (file_.empty()) return;
  seams_.disk_pool.Run([&storage = seams_.storage, path = std::exchange(file_, "")] {
    // The work directory goes with the daemon; a block that stays until then does no harm.
    (void)storage.RemoveAll(path);
  });
}

}  // namespace weir::worker
