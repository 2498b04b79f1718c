#pragma once
// Creates what `belay tls` writes: a certificate authority, and certificates signed by it.
// Keys are on the curve P-256, as in Consul.

#include "protocol/base/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace belay::tls {

/// Both in PEM; the key as `EC PRIVATE KEY`.
struct certificate_and_key {
  std::string certificate;
  std::string key;
};

/// Relative to the time of creation: an earlier beginning is negative.
struct validity {
  std::chrono::seconds begin{-60}; ///< a minute for clocks that differ
  std::chrono::seconds end;
};

/// @param permitted domains for which the authority may sign; empty: any
result<certificate_and_key> make_authority(const std::string& common_name, validity when,
                                           const std::vector<std::string>& permitted = {});

struct certificate_request {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses; ///< numeric; others are a failure
  bool for_connections = true;        ///< usable at both ends of a connection; false: without key usage
  validity when;
};
result<certificate_and_key> make_certificate(const certificate_and_key& authority, const certificate_request& wanted);

} // namespace belay::tls
