#include "actors/node/config/sections/sections.hpp"

#include "actors/tls/context_files.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <span>

namespace belay::actors {

namespace {

using decoder = config_decoder;

/// In Consul 0 means no limit. Here it means a day, which is as good and still bounds the
/// connections of unidentified peers.
constexpr std::chrono::hours longest_handshake{24};

void decode_handshake_timeout(decoder& d, std::string_view path, node_config::duration& to) {
  d.get(path, to);
  if (to.count() <= 0)
    to = longest_handshake;
}

void note(decoder& d, const tls::setting_complaint& c, std::initializer_list<std::string_view> blamed) {
  if (c.missing.empty())
    d.wrong(c.key, c.text);
  else
    d.complain(c.text, std::span(blamed.begin(), blamed.size()), c.missing);
}

/// Peers and HTTPS have the same keys for these files.
void decode_certificate_files(decoder& d, auto& settings) {
  d.get("ca_file", settings.ca_file);
  d.get("ca_path", settings.ca_path);
  d.get("cert_file", settings.cert_file);
  d.get("key_file", settings.key_file);
}

/// Texts are Consul's.
void decode_peer_security(decoder& d, node_config& c) {
  auto& t = c.peer_tls;
  std::string key;
  bool incoming = false, incoming_rpc = false;
  d.get("encrypt", key);
  d.get("encrypt_verify_incoming", t.encrypt_verify_incoming);
  d.get("encrypt_verify_outgoing", t.encrypt_verify_outgoing);
  d.get("verify_incoming", incoming);
  d.get("verify_incoming_rpc", incoming_rpc);
  d.get("verify_outgoing", t.verify_outgoing);
  d.get("verify_server_hostname", t.verify_server_hostname);
  decode_certificate_files(d, t);
  d.get("domain", t.domain);
  t.verify_incoming = incoming || incoming_rpc;
  t.datacenter = c.datacenter;
  while (t.domain.ends_with('.'))
    t.domain.pop_back();
  if (!key.empty())
    t.encrypt = {key};
  for (const auto& each : tls::complaints_about(t))
    note(d, each, {each.key, each.key == "verify_incoming" ? "verify_incoming_rpc" : each.key});
  for (const auto& each : tls::complaints_about_files(t.ca_file, t.ca_path, t.cert_file, t.key_file))
    d.wrong(each.key, each.text);
  d.get("disable_keyring_file", c.disable_keyring_file);
  d.get("disable_coordinates", c.disable_coordinates);
  d.get("limits.rpc_max_conns_per_client", c.rpc_max_conns_per_client, -std::numeric_limits<int>::max(),
        std::numeric_limits<int>::max());
  c.rpc_max_conns_per_client = std::max(c.rpc_max_conns_per_client, 0); // as in Consul: below zero is no limit, too
  decode_handshake_timeout(d, "limits.rpc_handshake_timeout", c.rpc_handshake_timeout);
}

/// Texts are Consul's. The files are those of peers, which have been checked.
void decode_https(decoder& d, node_config& c, std::vector<std::string>& warnings) {
  auto& t = c.https;
  bool incoming = false, incoming_https = false;
  std::string suites;
  d.get("verify_incoming", incoming);
  d.get("verify_incoming_https", incoming_https);
  decode_certificate_files(d, t);
  d.get("tls_min_version", t.tls_min_version);
  d.get("tls_cipher_suites", suites);
  d.get("tls_prefer_server_cipher_suites", t.prefer_server_cipher_suites);
  t.verify_incoming = incoming || incoming_https;
  if (auto parsed = tls::parse_cipher_suites(suites))
    t.cipher_suites = std::move(*parsed);
  else
    d.wrong("tls_cipher_suites", "tls_cipher_suites: invalid tls cipher suites: " + parsed.error());
  for (const auto& each : tls::complaints_about(t))
    if (!incoming || each.key != "verify_incoming_https") // for verify_incoming it was reported with the peers
      note(d, each, {each.key});
  decode_handshake_timeout(d, "limits.https_handshake_timeout", c.https_handshake_timeout);
  if (t.tls_min_version == "tls10" || t.tls_min_version == "tls11")
    warnings.push_back("tls_min_version = " + t.tls_min_version + ": versions below TLS 1.2 are not supported");
  if (!c.https_listeners.empty() && (t.cert_file.empty() || t.key_file.empty()))
    warnings.push_back("ports.https is set without cert_file and key_file: every HTTPS connection will be rejected");
}

} // namespace

void decode_security(decoder& d, node_config& c, std::vector<std::string>& warnings) {
  decode_peer_security(d, c);
  decode_https(d, c, warnings);
}

} // namespace belay::actors
