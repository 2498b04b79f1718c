#pragma once
// Decides which servers may connect, by independent rules from the tables of docs/operate/security.md.
// Shares nothing with actors/tls.

#include "protocol/base/ids.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// A certificate, described by what was ordered.
struct ordered_certificate {
  char authority = 'A';
  std::string name = "server.dc1.consul";
  /// Seconds since 1970, by the clock of the verifier: valid in [begins, ends).
  std::int64_t begins = 0, ends = 0;

  auto operator<=>(const ordered_certificate&) const = default;
};

/// Seconds since 1970, in the middle of the range of the simulated wall clocks (simulated_clock).
constexpr std::int64_t begin_of_runs = 1'795'000'000;
/// Ordinary certificates are valid this long before and after it: clocks may be a year off.
constexpr std::int64_t years = 10LL * 365 * 24 * 3600;

/// What a server has and requires. The names are those of the configuration.
struct credential_facts {
  std::vector<std::string> encrypt; ///< keys; the first one is used to dial
  bool encrypt_verify_incoming = true, encrypt_verify_outgoing = true;
  std::optional<ordered_certificate> certificate;
  std::set<char> authorities; ///< ca_file
  bool verify_incoming = false, verify_outgoing = false, verify_server_hostname = false;

  bool operator==(const credential_facts&) const = default;
};

/// What an intruder may know.
struct known_credentials {
  char authority = 'A'; ///< whose certificates are accepted now
  std::vector<std::string> retired_keys;
  std::vector<char> retired_authorities;
};

/// The expected result of a connection attempt.
struct expected_admission {
  std::string objection; ///< why it is rejected; empty: it is accepted
  bool encrypted = false;
};

/// The dialing side: a server's certificate must name it, a client agent's may have any name.
enum class dials_as : std::uint8_t { server, client_agent };

/// @param dialler_now,accepter_now seconds since 1970, by the wall clock of that end
expected_admission expect_admission(const credential_facts& dialler, std::int64_t dialler_now,
                                    const credential_facts& accepter, std::int64_t accepter_now,
                                    dials_as kind = dials_as::server);

} // namespace belay::sim
