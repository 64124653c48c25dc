#include "runtime/artifacts/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace weir {

struct Sha256Stream::State {
  State() : context(EVP_MD_CTX_new()) {
    // Neither fails but for want of memory.
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) std::abort();
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::Update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256Stream::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), size});
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace weir
