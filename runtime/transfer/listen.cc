#include "runtime/transfer/listen.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"

namespace weir::transfer {

absl::StatusOr<std::string> Listen(asio::ip::tcp::acceptor& acceptor, const std::string& host,
                                   std::uint16_t port) {
  std::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on '", host, "': not a numeric address"));
  }
  const asio::ip::tcp::endpoint wanted(address, port);
  acceptor.open(wanted.protocol(), error);
  if (!error) acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(wanted, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return ErrnoStatus(error.value(), absl::StrCat("cannot listen on ", host, ":", port));
  }
  return absl::StrCat(
      address.is_v6() ? absl::StrCat("[", address.to_string(), "]") : address.to_string(), ":",
      acceptor.local_endpoint(error).port());
}

}  // namespace weir::transfer
