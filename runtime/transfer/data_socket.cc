#include "runtime/transfer/data_socket.h"

#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "asio/error.hpp"
#include "asio/ip/address.hpp"
#include "asio/post.hpp"
#include "asio/use_awaitable.hpp"
#include "runtime/base/errno_status.h"
#include "runtime/transfer/await.h"
#include "runtime/transfer/data_plane.h"
#include "runtime/transfer/tcp_segments.h"

namespace weir::transfer {
namespace {

using asio::ip::tcp;

// Silence is noticed within a quarter of its limit, and costs one timer a connection, none a byte.
constexpr int kTicksOfSilence = 4;
// One call of sendfile: enough that the call itself costs nothing.
constexpr std::int64_t kSendFileBytesMax = 256 << 10;
// A reader that waits is woken once this much is there, not for every packet.
constexpr std::size_t kWakeBytes = 128 << 10;
// What a paced socket takes ahead of the network.
constexpr std::int64_t kPacedAheadMs = 3;
constexpr std::int64_t kPacedAheadBytesMin = 16 << 10;
constexpr std::int64_t kPacedAheadBytesMax = 4 << 20;
// Addresses of one name: of more, each would have too little of the time to connect.
constexpr std::size_t kAddressesMax = 4;

std::string Describe(const tcp::endpoint& endpoint) {
  return absl::StrCat(endpoint.address().to_string(), ":", endpoint.port());
}

// What this process or its machine lacks is no fault of the peer's.
bool IsOwnShortage(const std::error_code& error) {
  return error.category() == asio::error::get_system_category() &&
         (error.value() == EMFILE || error.value() == ENFILE || error.value() == ENOMEM);
}

}  // namespace

void StartLookups(const asio::any_io_executor& executor) {
  const auto numbers = tcp::resolver::numeric_host | tcp::resolver::numeric_service;
  // Cancelled with the resolver; its thread stays as long as the context does.
  tcp::resolver(executor).async_resolve(
      "127.0.0.1", "1", numbers,
      [](const std::error_code& /*cancelled*/, const tcp::resolver::results_type& /*found*/) {});
}

// Marks that bytes are due. Silence is counted only meanwhile.
class DataSocket::Waiting {
 public:
  explicit Waiting(DataSocket& socket) : socket_(socket) { ++socket_.num_waiting_; }
  ~Waiting() { --socket_.num_waiting_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  DataSocket& socket_;
};

DataSocket::DataSocket(asio::any_io_executor strand)
    : socket_(strand), resolver_(strand), timer_(strand) {}

DataSocket::DataSocket(tcp::socket socket)
    : socket_(std::move(socket)),
      resolver_(socket_.get_executor()),
      timer_(socket_.get_executor()) {
  std::error_code error;
  const tcp::endpoint remote = socket_.remote_endpoint(error);
  if (!error) peer_ = Describe(remote);
  SetUp();
}

void DataSocket::SetUp() {
  // A socket that was closed meanwhile refuses; the next read or write says so.
  std::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.native_non_blocking(true, ignored);
}

asio::awaitable<absl::Status> DataSocket::Connect(std::string endpoint) {
  const Waiting waiting(*this);
  peer_ = endpoint;
  absl::StatusOr<std::vector<tcp::endpoint>> addresses = co_await Resolve(endpoint);
  if (!addresses.ok()) co_return addresses.status();
  co_return co_await ConnectToOneOf(*std::move(addresses));
}

asio::awaitable<absl::Status> DataSocket::ConnectToOneOf(std::vector<tcp::endpoint> addresses) {
  const Waiting waiting(*this);
  const absl::Duration share = silence_ / static_cast<std::int64_t>(addresses.size());
  std::vector<std::string> refusals;
  for (const tcp::endpoint& address : addresses) {
    if (closed_why_) co_return *closed_why_;
    asio::steady_timer share_end(socket_.get_executor());
    // The last one has what is left of the silence time, whose end closes the connection.
    if (refusals.size() + 1 < addresses.size()) EndAttemptAfter(share, share_end);
    auto [error] = co_await socket_.async_connect(address, kAwait);
    ++num_attempts_;
    if (closed_why_) co_return *closed_why_;
    if (!error) {
      SetUp();
      co_return absl::OkStatus();
    }
    if (addresses.size() == 1 || IsOwnShortage(error)) co_return Broken("cannot connect", error);
    refusals.push_back(absl::StrCat(
        Describe(address), ": ",
        error == asio::error::operation_aborted ? "no answer in time" : error.message()));
    // The next address may be of another family.
    std::error_code ignored;
    socket_.close(ignored);
  }
  Close(absl::UnavailableError(absl::StrCat("cannot connect: ", absl::StrJoin(refusals, "; "))));
  co_return *closed_why_;
}

// Requires: `timer` ends with the attempt to connect that begins now.
void DataSocket::EndAttemptAfter(absl::Duration share, asio::steady_timer& timer) {
  timer.expires_after(absl::ToChronoNanoseconds(share));
  timer.async_wait(
      [weak = weak_from_this(), attempt = num_attempts_](const std::error_code& error) {
        const std::shared_ptr<DataSocket> self = weak.lock();
        if (error || self == nullptr || self->num_attempts_ != attempt) return;
        std::error_code ignored;
        self->socket_.cancel(ignored);
      });
}

asio::awaitable<absl::StatusOr<std::vector<tcp::endpoint>>> DataSocket::Resolve(
    const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) {
    co_return absl::InvalidArgumentError(absl::StrCat("'", endpoint, "' is not host:port"));
  }
  std::string host = endpoint.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string port_text = endpoint.substr(colon + 1);
  std::uint32_t port = 0;
  if (!absl::SimpleAtoi(port_text, &port) || port == 0 || port > 65535) {
    co_return absl::InvalidArgumentError(absl::StrCat("'", endpoint, "' has no port"));
  }
  std::error_code no_number;
  const asio::ip::address address = asio::ip::make_address(host, no_number);
  std::vector<tcp::endpoint> addresses;
  if (!no_number) {
    addresses.emplace_back(address, static_cast<std::uint16_t>(port));
    co_return addresses;
  }
  auto [error, found] =
      co_await resolver_.async_resolve(host, port_text, tcp::resolver::numeric_service, kAwait);
  if (error || found.empty()) co_return Broken("cannot look up the host", error);
  for (const auto& entry : found) {
    if (addresses.size() < kAddressesMax) addresses.push_back(entry.endpoint());
  }
  co_return addresses;
}

asio::awaitable<absl::Status> DataSocket::Read(char* into, std::size_t bytes, Moved* moved) {
  const Waiting waiting(*this);
  std::size_t got = 0;
  while (got < bytes) {
    // Closed sockets have no descriptor.
    if (closed_why_) co_return *closed_why_;
    const ssize_t n = ::recv(socket_.native_handle(), into + got, bytes - got, 0);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
      bytes_read_ += n;
      CountMoved(n, moved);
      continue;
    }
    if (n == 0) {
      ended_ = got == 0;
      co_return Broken("cannot read", asio::error::eof);
    }
    const int refusal = errno;
    SetWakeBytes(std::min(bytes - got, kWakeBytes));
    const absl::Status ready =
        co_await AfterRefusal("cannot read", refusal, tcp::socket::wait_read);
    if (!ready.ok()) co_return ready;
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> DataSocket::Write(std::string_view bytes, bool more) {
  const Waiting waiting(*this);
  const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  while (!bytes.empty()) {
    if (closed_why_) co_return *closed_why_;
    const ssize_t n = ::send(socket_.native_handle(), bytes.data(), bytes.size(), flags);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      CountMoved(n, nullptr);
      continue;
    }
    const absl::Status ready =
        co_await AfterRefusal("cannot write", errno, tcp::socket::wait_write);
    if (!ready.ok()) co_return ready;
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> DataSocket::SendFile(int fd, std::int64_t offset, std::int64_t bytes,
                                                   Moved* moved) {
  const Waiting waiting(*this);
  const std::int64_t end = offset + bytes;
  while (offset < end) {
    // Closed sockets have no descriptor; asking Asio first keeps another file from getting the
    // bytes.
    if (closed_why_) co_return *closed_why_;
    const auto piece = static_cast<std::size_t>(std::min(end - offset, kSendFileBytesMax));
    const ssize_t sent = ::sendfile(socket_.native_handle(), fd, &offset, piece);
    if (sent > 0) {
      CountMoved(sent, moved);
      continue;
    }
    if (sent == 0) co_return absl::DataLossError(absl::StrCat("file ends at ", offset));
    // A file system that cannot hand its pages to a socket, as some of FUSE.
    if (errno == EINVAL || errno == ENOSYS) {
      co_return co_await CopyFile(fd, offset, end - offset, moved);
    }
    const absl::Status ready = co_await AfterRefusal("cannot send", errno, tcp::socket::wait_write);
    if (!ready.ok()) co_return ready;
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> DataSocket::CopyFile(int fd, std::int64_t offset, std::int64_t bytes,
                                                   Moved* moved) {
  std::vector<char> piece(static_cast<std::size_t>(std::min(bytes, kSendFileBytesMax)));
  while (bytes > 0) {
    const auto most = std::min(static_cast<std::size_t>(bytes), piece.size());
    const ssize_t got = ::pread(fd, piece.data(), most, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      co_return Broken("cannot send", std::error_code(errno, std::generic_category()));
    }
    if (got == 0) co_return absl::DataLossError(absl::StrCat("file ends at ", offset));
    absl::Status sent = co_await Write({piece.data(), static_cast<std::size_t>(got)});
    if (!sent.ok()) co_return sent;
    if (moved != nullptr) (*moved)(got);
    offset += got;
    bytes -= got;
  }
  co_return absl::OkStatus();
}

// OK when the refused call is worth another try.
asio::awaitable<absl::Status> DataSocket::AfterRefusal(const char* doing, int error_number,
                                                       tcp::socket::wait_type ready) {
  if (error_number == EINTR) co_return absl::OkStatus();
  if (error_number != EAGAIN) {
    co_return Broken(doing, std::error_code(error_number, std::generic_category()));
  }
  auto [error] = co_await socket_.async_wait(ready, kAwait);
  if (error) co_return Broken(doing, error);
  co_return absl::OkStatus();
}

asio::awaitable<void> DataSocket::LetOthersRun() {
  co_await asio::post(socket_.get_executor(), asio::use_awaitable);
}

void DataSocket::SetWakeBytes(std::size_t bytes) {
  if (bytes == wake_bytes_) return;
  wake_bytes_ = bytes;
  const int low_water = static_cast<int>(bytes);
  // Where the kernel refuses, readers are woken more often than need be.
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof low_water);
}

absl::Status DataSocket::Broken(const char* doing, const std::error_code& error) {
  if (closed_why_) return *closed_why_;
  if (error == asio::error::eof) {
    Close(absl::UnavailableError("the peer closed the connection"));
  } else if (IsOwnShortage(error)) {
    Close(ErrnoStatus(error.value(), doing));
  } else {
    Close(absl::UnavailableError(absl::StrCat(doing, ": ", error.message())));
  }
  return *closed_why_;
}

void DataSocket::CountMoved(std::int64_t bytes, Moved* moved) {
  bytes_moved_ += bytes;
  if (moved != nullptr) (*moved)(bytes);
}

void DataSocket::SetSilence(absl::Duration silence) {
  silence_ = silence;
  silent_ticks_ = 0;
  idle_ = false;
  bytes_moved_at_tick_ = bytes_moved_;
  ArmTimer();
}

void DataSocket::CloseWhenIdleFor(absl::Duration idle) {
  SetSilence(idle);
  idle_ = true;
}

void DataSocket::ArmTimer() {
  if (closed_why_) return;
  timer_.expires_after(absl::ToChronoNanoseconds(silence_ / kTicksOfSilence));
  timer_.async_wait([weak = weak_from_this()](const std::error_code& error) {
    if (error) return;
    if (const std::shared_ptr<DataSocket> self = weak.lock()) self->Tick();
  });
}

void DataSocket::Tick() {
  const bool silent = (idle_ || num_waiting_ > 0) && bytes_moved_ == bytes_moved_at_tick_;
  silent_ticks_ = silent ? silent_ticks_ + 1 : 0;
  bytes_moved_at_tick_ = bytes_moved_;
  // A peer that sends less than the reader is woken for is slow, not silent: take what is there.
  if (silent) SetWakeBytes(1);
  if (silent_ticks_ >= kTicksOfSilence) {
    Close(absl::DeadlineExceededError(
        absl::StrCat("no byte moved for ", absl::FormatDuration(silence_))));
    return;
  }
  ArmTimer();
}

void DataSocket::SetPacing(std::int64_t bytes_per_s) {
  const std::uint64_t rate =
      bytes_per_s > 0 ? static_cast<std::uint64_t>(bytes_per_s) : ~std::uint64_t{0};
  // Kernels without pacing send at full speed: slower for others, never wrong.
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
  const std::int64_t taken = bytes_per_s / 1000 * kPacedAheadMs;
  const auto unsent = bytes_per_s > 0 ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                            taken, kPacedAheadBytesMin, kPacedAheadBytesMax))
                                      : std::uint32_t{0};  // as much as the system allows
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

absl::Status DataSocket::SetCongestionControl(const std::string& algorithm) {
  if (::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                   static_cast<socklen_t>(algorithm.size())) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot set congestion control ", algorithm, ": ",
                                               std::generic_category().message(errno)));
  }
  return absl::OkStatus();
}

SegmentCounts DataSocket::Segments() {
  return closed() ? SegmentCounts() : SegmentsOf(socket_.native_handle());
}

bool DataSocket::to_loopback() const {
  std::error_code error;
  const tcp::endpoint remote = socket_.remote_endpoint(error);
  const tcp::endpoint local = error ? remote : socket_.local_endpoint(error);
  // A machine reaches its own addresses over loopback, whichever it is called by.
  return !error && (remote.address().is_loopback() || remote.address() == local.address());
}

void DataSocket::Close(absl::Status why) {
  if (closed_why_) return;
  closed_why_ = std::move(why);
  std::error_code ignored;
  resolver_.cancel();
  timer_.cancel();
  socket_.close(ignored);
}

bool DataSocket::ReadyForReuse() {
  if (closed_why_) return false;
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace weir::transfer
