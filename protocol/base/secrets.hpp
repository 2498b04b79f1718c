#pragma once
// Compares a secret with what a client sent.

#include <string_view>

namespace belay {

/// Time depends only on the length of `given`: no guessing by bytes. False if `secret` is empty.
inline bool is_secret(std::string_view secret, std::string_view given) {
  const bool may_be = !secret.empty() && secret.size() == given.size();
  const auto wanted = may_be ? secret : given; // always as long as `given`
  unsigned differs = may_be ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
  return differs == 0;
}

} // namespace belay
