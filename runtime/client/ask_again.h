#pragma once

// Makes a call that may be repeated, until an answer comes. Upstream: commands. Downstream:
// Session.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/session.h"

namespace weir::client {

/// Says on stderr that the master is away and until when it is tried again.
inline void SayAway(const Session& session, absl::Duration left, CommandHost& host) {
  const std::int64_t until = host.unix_ms() + absl::ToInt64Milliseconds(left);
  host.err << "weir: master " << session.master_name() << " is away; trying again until "
           << FormatUnixMillis(until) << '\n'
           << std::flush;
}

/// Says that it is not any more.
inline void SayBack(const Session& session, CommandHost& host) {
  host.err << "weir: master " << session.master_name() << " is back\n" << std::flush;
}

/// Asks until the master answers or `absence` gives up. For calls that do no harm when they are
/// repeated, whatever became of the ones before.
///
/// Errors: the master's; what the last try came to; kCancelled with `hint` when the user interrupts
/// while the master is away. An interrupt before that is kept for who listens next.
template <typename Method>
absl::StatusOr<typename Method::Response> AskAgain(Session& session,
                                                   const typename Method::Request& request,
                                                   const std::string& hint, MasterAbsence& absence,
                                                   CommandHost& host) {
  bool left = false;
  bool listens = false;
  while (true) {
    // Shared: an interrupt does not wait for it.
    auto answer = std::make_shared<std::optional<absl::StatusOr<typename Method::Response>>>();
    session.loop().Post([&session, request, answer] {
      session.jobs().Send<Method>(request,
                                  [answer](auto response) { *answer = std::move(response); });
    });
    session.RunUntil([&] { return left || answer->has_value(); });
    std::optional<MasterAbsence::Pause> pause;
    if (!left) {
      if (!MasterAbsence::IsAway((*answer)->status()) && absence.OnAnswer()) SayBack(session, host);
      pause = absence.OnFailure((*answer)->status(), session.loop().Now());
    }
    if (pause) {
      if (!std::exchange(listens, true)) session.OnInterrupt([&left] { left = true; });
      if (pause->news) SayAway(session, *pause->news, host);
      bool over = false;
      const auto timer =
          session.loop().RunAt(session.loop().Now() + pause->length, [&over] { over = true; });
      session.RunUntil([&] { return left || over; });
      if (!over) session.loop().CancelTimer(timer);
    }
    if (left || !pause) {
      if (listens) session.OnInterrupt({});
      if (left) {
        return absl::CancelledError(absl::StrCat("left while the master was away; ", hint));
      }
      return *std::move(*answer);
    }
  }
}

}  // namespace weir::client
