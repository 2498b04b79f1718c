#include "protocol/archive/sha256.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/hex.hpp"

#include <openssl/evp.h>

namespace belay::archive {

// OpenSSL's calls fail only without memory, or without the algorithm itself.
void sha256::free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

sha256::sha256() : context_(EVP_MD_CTX_new()) {
  INVARIANT(context_ != nullptr);
  INVARIANT(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

sha256& sha256::add(std::string_view bytes) {
  INVARIANT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  return *this;
}

std::string sha256::hex() const {
  const sha256 so_far; // finishing ends a context
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  INVARIANT(EVP_MD_CTX_copy_ex(so_far.context_.get(), context_.get()) == 1);
  INVARIANT(EVP_DigestFinal_ex(so_far.context_.get(), digest, &bytes) == 1);
  std::string out;
  for (unsigned i = 0; i < bytes; ++i)
    append_hex(out, digest[i], 2);
  return out;
}

} // namespace belay::archive
