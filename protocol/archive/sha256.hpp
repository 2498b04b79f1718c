#pragma once
// SHA-256 (FIPS 180-4), piece by piece: for the checksums in Consul's
// snapshot archives, and names of files. Wraps OpenSSL and hides its handles.

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace belay::archive {

class sha256 {
public:
  sha256();

  sha256& add(std::string_view bytes);
  /// The digest so far; 64 lower-case hexadecimal digits. More may be added afterwards.
  std::string hex() const;

private:
  struct free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, free> context_;
};

} // namespace belay::archive
