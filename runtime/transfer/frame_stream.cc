#include "runtime/transfer/frame_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::transfer {

asio::awaitable<absl::StatusOr<FrameHeader>> ReadFrameHeader(DataSocket& socket) {
  char bytes[kFrameHeaderBytes];
  absl::Status read = co_await socket.Read(bytes, sizeof bytes);
  if (!read.ok()) co_return read;
  co_return DecodeFrameHeader({bytes, sizeof bytes});
}

asio::awaitable<absl::StatusOr<std::string>> ReadSmallBody(DataSocket& socket, FrameHeader header,
                                                           FrameKind kind) {
  if (header.kind != kind) {
    co_return absl::DataLossError(
        absl::StrCat("frame of kind ", static_cast<std::uint32_t>(header.kind), " came where kind ",
                     static_cast<std::uint32_t>(kind), " is due"));
  }
  std::string body(header.body_bytes, '\0');
  absl::Status read = co_await socket.Read(body.data(), body.size());
  if (!read.ok()) co_return read;
  absl::Status checked = CheckBody(header, body);
  if (!checked.ok()) co_return checked;
  co_return std::move(body);
}

asio::awaitable<absl::StatusOr<std::string>> ReadSmallFrame(DataSocket& socket, FrameKind kind) {
  const absl::StatusOr<FrameHeader> header = co_await ReadFrameHeader(socket);
  if (!header.ok()) co_return header.status();
  co_return co_await ReadSmallBody(socket, *header, kind);
}

}  // namespace weir::transfer
