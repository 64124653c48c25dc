// Any bytes as a frame of the data plane, and as the body of each kind of frame.

#include <string>
#include <string_view>

#include "runtime/base/limits.h"
#include "runtime/transfer/frame.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace transfer = weir::transfer;

void DecodeBodies(std::string_view body) {
  const auto request = transfer::DecodeRequest(body);
  if (request.ok() && (request->offset() < 0 || request->bytes() <= 0)) __builtin_trap();
  const auto credit = transfer::DecodeCredit(body);
  if (credit.ok() && *credit <= 0) __builtin_trap();
  absl::Status status;
  if (transfer::DecodeStatus(body, status).ok()) {
    const std::string again = transfer::EncodeStatus(status);
    if (again.size() > transfer::kFrameHeaderBytes + weir::limits::kDataRequestBytesMax) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string all(data, data + bytes);
  const std::string_view frame(all);
  const std::string_view head = frame.substr(0, transfer::kFrameHeaderBytes);
  const auto header = transfer::DecodeFrameHeader(head);
  if (!header.ok()) {
    // Random bytes seldom look like a frame; the bodies get their share all the same.
    DecodeBodies(frame.substr(0, weir::limits::kDataRequestBytesMax));
    return 0;
  }
  if (header->body_bytes > weir::limits::kBlockBytesMax) __builtin_trap();
  char again[transfer::kFrameHeaderBytes];
  transfer::EncodeFrameHeader(*header, again);
  if (std::string_view(again, sizeof again) != head) __builtin_trap();
  const std::string_view body = frame.substr(transfer::kFrameHeaderBytes);
  if (body.size() < header->body_bytes) return 0;
  if (transfer::CheckBody(*header, body.substr(0, header->body_bytes)).ok()) {
    DecodeBodies(body.substr(0, header->body_bytes));
  }
  return 0;
}
