#pragma once
// SHA-256 (FIPS 180-4), in pieces: the checksums that Consul's snapshot archives carry.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::archive {

class sha256 {
public:
  sha256& add(std::string_view bytes);
  /// Of what was added so far; lower-case hexadecimal, 64 digits.
  std::string hex() const;

private:
  void block(const unsigned char* p);

  std::array<std::uint32_t, 8> h_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};
  std::size_t rest_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

} // namespace belay::archive
