#include "actors/node/config/checks.hpp"

#include "actors/node/config/json.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace belay::actors {

namespace json = boost::json;

namespace {

bool is_true(const json::object& config, std::string_view path) {
  const auto* v = value_at(config, path);
  return v && v->is_bool() && v->get_bool();
}

bool is_private(std::uint32_t a) {
  // RFC 1918, and 100.64/10 as Consul's library counts it (RFC 6598).
  return (a >> 24) == 10 || (a >> 20) == 0xAC1 || (a >> 16) == 0xC0A8 || (a >> 22) == (0x64400000u >> 22);
}

} // namespace

std::string refused_protection(const json::object& config) {
  auto refuse = [](std::string_view setting, std::string_view what) {
    return std::string(setting) + ": this build does not " + std::string(what) +
           ", and will not start as if it did. Remove the setting to run without it";
  };
  const auto* https = value_at(config, "ports.https");
  const bool https_on = https && https->is_int64() && https->get_int64() > 0;
  if (https_on)
    return refuse("ports.https > 0", "serve HTTPS");
  // verify_incoming_https alone asks for certificates on a listener that does not exist: nothing is left open by it.
  for (auto name : {"auto_encrypt.tls", "auto_encrypt.allow_tls"})
    if (is_true(config, name))
      return refuse(std::string(name) + " = true", "use TLS");
  if (is_true(config, "auto_config.enabled"))
    return refuse("auto_config.enabled = true", "configure itself from other servers");
  return {};
}

bool is_ip_address(std::string_view text) {
  in6_addr any{};
  std::string s(text);
  return inet_pton(AF_INET, s.c_str(), &any) == 1 || inet_pton(AF_INET6, s.c_str(), &any) == 1;
}

bool is_unspecified_address(std::string_view text) {
  return text == "0.0.0.0" || text == "::" || text == "[::]";
}

result<std::string> choose_own_address(const std::vector<std::string>& addresses) {
  std::vector<std::string> inside;
  for (const auto& text : addresses) {
    in_addr a{};
    if (inet_pton(AF_INET, text.c_str(), &a) == 1 && is_private(ntohl(a.s_addr)))
      inside.push_back(text);
  }
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  if (inside.size() > 1)
    return failure{"Multiple private IPv4 addresses found. Please configure one with 'bind' and/or 'advertise'."};
  if (inside.empty())
    return std::string("127.0.0.1");
  return inside.front();
}

result<std::string> own_address() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (auto* i = list; i; i = i->ifa_next) {
      if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || (i->ifa_flags & IFF_LOOPBACK) ||
          !(i->ifa_flags & IFF_UP))
        continue;
      char text[INET_ADDRSTRLEN];
      auto* in = reinterpret_cast<sockaddr_in*>(i->ifa_addr);
      if (inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
        found.push_back(text);
    }
    freeifaddrs(list);
  }
  return choose_own_address(found);
}

std::string host_name() {
  char text[256] = {};
  if (gethostname(text, sizeof(text) - 1) != 0 || !*text)
    return "localhost";
  return text;
}

} // namespace belay::actors
