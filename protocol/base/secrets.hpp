#pragma once
// Comparison of what a client brings with what it would have to be.

#include <string_view>

namespace belay {

/// Takes time that depends on the length of `given` only, so that a secret cannot be found byte by byte. False if `secret` is empty.
inline bool is_secret(std::string_view secret, std::string_view given) {
  const bool may_be = !secret.empty() && secret.size() == given.size();
  const auto wanted = may_be ? secret : given; // as long as `given` in any case
  unsigned differs = may_be ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
  return differs == 0;
}

} // namespace belay
