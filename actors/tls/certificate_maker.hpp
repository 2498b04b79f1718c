#pragma once
// Makes what `belay tls` writes: a certificate authority of one's own, and certificates signed by it. Keys are on the curve P-256,
// as Consul's are.

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

/// From the moment it is made, each way: a beginning before it is below zero.
struct validity {
  std::chrono::seconds begin{-60}; ///< a minute for clocks that differ
  std::chrono::seconds end;
};

/// @param permitted domains that the authority may name; empty: any
result<certificate_and_key> make_authority(const std::string& common_name, validity when,
                                           const std::vector<std::string>& permitted = {});

struct certificate_request {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses; ///< numeric; another one is a failure
  bool for_connections = true;        ///< may stand at either end of a connection; false: says nothing of its use
  validity when;
};
result<certificate_and_key> make_certificate(const certificate_and_key& authority, const certificate_request& wanted);

} // namespace belay::tls
