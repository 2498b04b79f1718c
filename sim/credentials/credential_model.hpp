#pragma once
// Which server may speak to which, by rules of their own, written from the tables of docs/security.md. Nothing is shared with
// actors/tls.

#include "protocol/base/ids.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// A certificate, as those know it who ordered it.
struct ordered_certificate {
  char authority = 'A';
  std::string name = "server.dc1.consul";
  /// Seconds since 1970, by whoever looks at it: valid from the first one on, and not at the second one any more.
  std::int64_t begins = 0, ends = 0;

  auto operator<=>(const ordered_certificate&) const = default;
};

/// In the middle of what the simulated wall clocks show (simulated_clock), in seconds since 1970.
constexpr std::int64_t begin_of_runs = 1'795'000'000;
/// So long before and after it those are valid that nothing is wrong with: clocks may be a year off.
constexpr std::int64_t years = 10LL * 365 * 24 * 3600;

/// What a server has and demands. The names are those of the configuration.
struct credential_facts {
  std::vector<std::string> encrypt; ///< keys; the first one is used to dial
  bool encrypt_verify_incoming = true, encrypt_verify_outgoing = true;
  std::optional<ordered_certificate> certificate;
  std::set<char> authorities; ///< ca_file
  bool verify_incoming = false, verify_outgoing = false, verify_server_hostname = false;

  bool operator==(const credential_facts&) const = default;
};

/// What somebody may have heard of who has no business there.
struct known_credentials {
  char authority = 'A'; ///< whose certificates count now
  std::vector<std::string> retired_keys;
  std::vector<char> retired_authorities;
};

/// What becomes of a connection.
struct expected_admission {
  std::string objection; ///< why it is refused; empty: it is not
  bool encrypted = false;
};

/// Who dials: a server's certificate has to name it, a client agent's may name anything.
enum class dials_as : std::uint8_t { server, client_agent };

/// @param dialler_now,accepter_now seconds since 1970, by the wall clock of that end
expected_admission expect_admission(const credential_facts& dialler, std::int64_t dialler_now,
                                    const credential_facts& accepter, std::int64_t accepter_now,
                                    dials_as kind = dials_as::server);

} // namespace belay::sim
