#pragma once

// One TCP connection of the data plane. The only class that knows how bytes travel: TLS takes the
// place of its socket without the server or the fetcher noticing. Upstream/Downstream: the other
// end's DataSocket.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "asio/any_io_executor.hpp"
#include "asio/awaitable.hpp"
#include "asio/ip/tcp.hpp"
#include "asio/steady_timer.hpp"
#include "runtime/transfer/data_server.h"

namespace weir::transfer {

/// Moves whole pieces of bytes, or says why it could not.
///
/// Thread-safety: the strand that it was made with.
/// Errors: kUnavailable (broken or closed by the peer), kDeadlineExceeded (silent),
///   kResourceExhausted with its errno (no descriptor or memory here to connect), or what Close was
///   told. After an error the connection is closed.
/// Cancellation: Close ends whatever waits, at once.
/// Time: a connection on which something is awaited and no byte moves for the silence time, give or
///   take a quarter of it, closes itself.
class DataSocket : public std::enable_shared_from_this<DataSocket> {
 public:
  /// Called with each number of bytes that moved.
  using Moved = std::function<void(std::int64_t)>;

  explicit DataSocket(asio::any_io_executor strand);
  explicit DataSocket(asio::ip::tcp::socket socket);

  /// Connects to "host:port". A host that is not a number is looked up by Asio, on a thread of its
  /// own making; of its addresses the first one that answers is taken.
  asio::awaitable<absl::Status> Connect(std::string endpoint);
  /// Tries one after another, each for its share of the silence time.
  /// Requires: at least one address.
  asio::awaitable<absl::Status> ConnectToOneOf(std::vector<asio::ip::tcp::endpoint> addresses);
  asio::awaitable<absl::Status> Read(char* into, std::size_t bytes, Moved* moved = nullptr);
  /// `more`: the next write follows at once, so the kernel may put both into one packet.
  asio::awaitable<absl::Status> Write(std::string_view bytes, bool more = false);
  /// Sends a piece of a file, without copying it where its file system can do that. Errors: also
  /// kDataLoss when the file ends early.
  asio::awaitable<absl::Status> SendFile(int fd, std::int64_t offset, std::int64_t bytes,
                                         Moved* moved);

  /// Ends this turn on the strand. Whoever moves bytes without waiting does so now and then, so
  /// that timers, closes and other connections get theirs.
  asio::awaitable<void> LetOthersRun();

  /// Counts silence anew, against this limit.
  void SetSilence(absl::Duration silence);
  /// Counts time without use as silence, until SetSilence.
  void CloseWhenIdleFor(absl::Duration idle);
  /// 0 = unpaced. A paced socket takes no more than goes out in a few milliseconds, so that a send
  /// that was taken whole has all but left.
  void SetPacing(std::int64_t bytes_per_s);
  /// Errors: kUnavailable when the kernel does not know the algorithm, or not for everybody.
  absl::Status SetCongestionControl(const std::string& algorithm);

  /// What the connection has sent; zeros once it is closed.
  SegmentCounts Segments();

  /// Closes; what waits ends with `why`.
  void Close(absl::Status why);
  /// True when the connection is whole and the peer has neither closed it nor said anything yet.
  bool ReadyForReuse();
  /// True when the peer closed its end before the first byte of what was read last.
  bool ended() const { return ended_; }
  /// Bytes read since the connection was made.
  std::int64_t bytes_read() const { return bytes_read_; }
  bool closed() const { return closed_why_.has_value(); }
  const std::string& peer() const { return peer_; }
  /// True when the connection does not leave this machine.
  bool to_loopback() const;
  asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  class Waiting;

  asio::awaitable<absl::StatusOr<std::vector<asio::ip::tcp::endpoint>>> Resolve(
      const std::string& endpoint);
  void EndAttemptAfter(absl::Duration share, asio::steady_timer& timer);
  asio::awaitable<absl::Status> CopyFile(int fd, std::int64_t offset, std::int64_t bytes,
                                         Moved* moved);
  asio::awaitable<absl::Status> AfterRefusal(const char* doing, int error_number,
                                             asio::ip::tcp::socket::wait_type ready);
  absl::Status Broken(const char* doing, const std::error_code& error);
  void SetUp();
  void SetWakeBytes(std::size_t bytes);
  void CountMoved(std::int64_t bytes, Moved* moved);
  void ArmTimer();
  void Tick();

  asio::ip::tcp::socket socket_;
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer timer_;
  absl::Duration silence_ = absl::InfiniteDuration();
  std::string peer_;
  std::optional<absl::Status> closed_why_;
  int num_waiting_ = 0;
  int num_attempts_ = 0;  // to connect
  int silent_ticks_ = 0;
  std::size_t wake_bytes_ = 1;
  std::int64_t bytes_read_ = 0;
  std::int64_t bytes_moved_ = 0;
  std::int64_t bytes_moved_at_tick_ = 0;
  bool idle_ = false;
  bool ended_ = false;
};

}  // namespace weir::transfer
