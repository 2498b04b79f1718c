#include "protocol/archive/sha256.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/hex.hpp"

#include <openssl/evp.h>

namespace belay::archive {

// OpenSSL's calls fail only without memory, or without the algorithm itself.
struct sha256::context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();

  context() { INVARIANT(handle != nullptr); }
  ~context() { EVP_MD_CTX_free(handle); }
  context(const context&) = delete;
  context& operator=(const context&) = delete;
};

sha256::sha256() : context_(std::make_unique<context>()) {
  INVARIANT(EVP_DigestInit_ex(context_->handle, EVP_sha256(), nullptr) == 1);
}
sha256::~sha256() = default;
sha256::sha256(sha256&&) noexcept = default;
sha256& sha256::operator=(sha256&&) noexcept = default;

sha256& sha256::add(std::string_view bytes) {
  INVARIANT(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
  return *this;
}

std::string sha256::hex() const {
  context so_far; // finishing ends a context
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  INVARIANT(EVP_MD_CTX_copy_ex(so_far.handle, context_->handle) == 1);
  INVARIANT(EVP_DigestFinal_ex(so_far.handle, digest, &bytes) == 1);
  std::string out;
  for (unsigned i = 0; i < bytes; ++i)
    append_hex(out, digest[i], 2);
  return out;
}

} // namespace belay::archive
