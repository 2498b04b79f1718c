#pragma once
// SHA-256 (FIPS 180-4) of bytes that come in pieces: the checksums in Consul's snapshot archives, and names for files.
// The work is OpenSSL's; this class keeps its handles out of everybody else's sight.

#include <memory>
#include <string>
#include <string_view>

namespace belay::archive {

class sha256 {
public:
  sha256();
  ~sha256();
  sha256(sha256&&) noexcept;
  sha256& operator=(sha256&&) noexcept;

  sha256& add(std::string_view bytes);
  /// Of what was added so far; lower-case hexadecimal, 64 digits. More may be added afterwards.
  std::string hex() const;

private:
  struct context;
  std::unique_ptr<context> context_;
};

} // namespace belay::archive
