#include "actors/node/config/sections/sections.hpp"

#include "actors/node/config/checks.hpp"
#include "actors/node/config/sections/address_template.hpp"
#include "protocol/base/host_port.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

namespace belay::actors {

namespace {

using decoder = config_decoder;

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string w; in >> w;)
    out.push_back(w);
  return out;
}

void check_address(decoder& d, const std::string& name, const std::string& a, bool or_socket) {
  if (!a.starts_with("unix://")) {
    if (!is_ip_address(a))
      d.wrong(name, name + ": invalid ip address: " + a);
  } else if (!or_socket) {
    d.wrong(name, name + ": must be an IP address: " + a);
  }
}

/// IP addresses of a setting; separated by blanks if `several`.
std::vector<std::string> addresses(decoder& d, const std::string& name, const std::string& value, bool several) {
  auto expanded = value.find("{{") == value.npos ? result<std::string>(value)
                                                 : expand_address_templates(value, interface_addresses());
  if (!expanded) {
    d.wrong(name, name + ": " + expanded.error());
    return {};
  }
  auto list = words(*expanded);
  if (list.size() != 1 && !several)
    d.wrong(name, name + " must be one address: " + value);
  else
    for (auto& a : list)
      check_address(d, name, a = std::string(without_brackets(a)), several);
  return list;
}

/// Addresses of interfaces that are up, without loopback.
std::vector<std::string> addresses_of_machine() {
  std::vector<std::string> found;
  for (const auto& a : interface_addresses())
    if (!a.loopback)
      found.push_back(a.address);
  return found;
}

int port(decoder& d, const std::string& path, int standard, bool may_be_off) {
  int p = standard;
  d.get(path, p, -std::numeric_limits<int>::max(), 65535);
  if (p <= 0 && !may_be_off)
    d.wrong(path, path + " must be a valid port from 1 to 65535");
  return p <= 0 ? -1 : p;
}

/// Endpoints for clients.
/// @param path of a setting that overrides client_addr.
/// @param port -1: none
std::vector<listen_address> listeners(decoder& d, const std::string& path, const std::vector<std::string>& client_addrs,
                                      int port) {
  std::string own;
  d.get(path, own);
  std::vector<listen_address> all;
  for (const auto& a : words(own).empty() ? client_addrs : addresses(d, path, own, true)) {
    listen_address l;
    if (a.starts_with("unix://"))
      l.unix_path = a.substr(7);
    else
      l.host = a, l.port = static_cast<std::uint16_t>(std::max(0, port));
    if (port > 0)
      all.push_back(l);
  }
  return all;
}

/// As Consul writes it.
std::string shown(const listen_address& l) {
  return l.unix_path.empty() ? join_host_port(l.host, l.port) : l.unix_path;
}

/// "All addresses" covers one family: if both use one port, http_listener.cpp sets IPV6_V6ONLY.
bool has_all_of(const std::string& any, const std::string& one) {
  return is_unspecified_address(any) && (any.find(':') == any.npos) == (one.find(':') == one.npos);
}

/// Whether the kernel allows only one of them to listen.
bool same_address(const listen_address& a, const listen_address& b) {
  if (!a.unix_path.empty() || !b.unix_path.empty())
    return a.unix_path == b.unix_path;
  return a.port == b.port && (a.host == b.host || has_all_of(a.host, b.host) || has_all_of(b.host, a.host));
}

/// Records the endpoints, and reports, in Consul's words, if two are equal.
class addresses_taken {
public:
  explicit addresses_taken(decoder& d) : d_(d) {}

  using paths = std::vector<std::string_view>;

  /// Reports a conflict with an earlier one.
  /// @param keys that set it: the port, and addresses
  bool is_taken(const listen_address& l, const char* name, const paths& keys) {
    for (const auto& other : taken_)
      if (same_address(other.at, l)) {
        paths blamed{keys.front(), other.keys.front()};
        for (const auto* more : {&keys, &other.keys})
          blamed.insert(blamed.end(), more->begin() + 1, more->end());
        d_.complain(std::string(name) + " address " + shown(l) + " already configured for " + other.name, blamed,
                    blamed);
        return true;
      }
    return false;
  }
  void take(const listen_address& l, const char* name, const paths& keys) {
    if (!is_taken(l, name, keys))
      taken_.push_back({l, name, keys});
  }

private:
  struct location {
    listen_address at;
    const char* name;
    paths keys;
  };
  decoder& d_;
  std::vector<location> taken_;
};

void check_addresses(decoder& d, const node_config& c) {
  addresses_taken taken(d);
  for (const auto& l : c.http_listeners)
    taken.take(l, "HTTP", {"ports.http", "addresses.http", "client_addr"});
  for (const auto& l : c.https_listeners)
    taken.take(l, "HTTPS", {"ports.https", "addresses.https", "client_addr"});
  const bool is_set =
      !c.advertise_addr.empty() && taken.is_taken({c.advertise_addr, c.server_port, ""}, "RPC Advertise",
                                                  {"ports.server", "advertise_addr", "bind_addr"});
  if (c.server && !is_set)
    taken.is_taken({c.bind_addr, c.server_port, ""}, "RPC", {"ports.server", "bind_addr"});
}

/// Checks the settings of listeners that do not exist here.
void check_idle_addresses(decoder& d) {
  (void)port(d, "ports.serf_lan", 8301, true);
  std::string dns;
  d.get("addresses.dns", dns);
  for (const auto& a : words(dns))
    if (a.starts_with("unix://"))
      d.wrong("addresses.dns", "DNS address cannot be a unix socket"); // Consul's text
}

} // namespace

void decode_addresses(decoder& d, node_config& c, std::vector<std::string>& warnings) {
  const auto complaints_before = d.complaints();
  c.server_port = static_cast<std::uint16_t>(port(d, "ports.server", 8300, false));
  c.serf_wan_port = static_cast<std::uint16_t>(std::max(0, port(d, "ports.serf_wan", 8302, true)));
  c.http_port = port(d, "ports.http", 8500, true);
  c.https_port = port(d, "ports.https", -1, true);

  if (c.dev)
    c.bind_addr = "127.0.0.1";
  std::string bind = c.bind_addr, client = "127.0.0.1";
  d.get("bind_addr", bind);
  d.get("client_addr", client);
  if (auto list = addresses(d, "bind_addr", bind, false); list.size() == 1)
    c.bind_addr = list.front();
  c.client_addrs = addresses(d, "client_addr", client, true);
  c.http_listeners = listeners(d, "addresses.http", c.client_addrs, c.http_port);
  c.https_listeners = listeners(d, "addresses.https", c.client_addrs, c.https_port);
  for (auto& l : c.https_listeners)
    l.https = true;
  d.get("unix_sockets.user", c.unix_sockets.user);
  d.get("unix_sockets.group", c.unix_sockets.group);
  d.get("unix_sockets.mode", c.unix_sockets.mode);

  const bool understood = d.complaints() == complaints_before;
  std::string advertise;
  d.get("advertise_addr", advertise);
  if (!words(advertise).empty()) {
    if (auto list = addresses(d, "advertise_addr", advertise, false); list.size() == 1)
      c.advertise_addr = list.front();
    if (is_unspecified_address(c.advertise_addr))
      d.wrong("advertise_addr", "Advertise address cannot be 0.0.0.0, :: or [::]");
  } else if (!is_unspecified_address(c.bind_addr)) {
    c.advertise_addr = c.bind_addr;
  } else if (auto own = choose_own_address(addresses_of_machine(), c.dev || (c.bootstrap && c.joins.empty()))) {
    c.advertise_addr = own->address;
    if (!own->warning.empty())
      warnings.push_back(own->warning);
  } else if (!d.complained()) { // the error is about this machine, not about the configuration
    d.complain(own.error());
  }
  check_idle_addresses(d);
  if (understood) // otherwise defaults may replace the intended values
    check_addresses(d, c);
}

} // namespace belay::actors
