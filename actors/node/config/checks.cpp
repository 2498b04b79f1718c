#include "actors/node/config/checks.hpp"

#include "actors/node/config/json.hpp"

#include <arpa/inet.h>
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

/// Whether a text, a list or an object is not empty.
bool asks_for_something(const json::object& config, std::string_view path) {
  const auto* v = value_at(config, path);
  return v != nullptr && *v != json::value("") && *v != json::value(json::array()) && *v != json::value(json::object());
}

/// Whether the address is in one of the blocks that Consul counts as private (ipaddr/detect.go of
/// 1.8).
bool is_private(std::uint32_t a) {
  return (a >> 24) == 10 || (a >> 24) == 127 || (a >> 20) == 0xAC1 || (a >> 16) == 0xC0A8 || (a >> 16) == 0xA9FE ||
         (a >> 22) == (0x64400000u >> 22) || (a >> 8) == 0xC00000 || (a >> 8) == 0xC00002;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts)
    out += (out.empty() ? "" : ", ") + text;
  return out;
}

} // namespace

std::vector<refused_setting> refused_protection(const json::object& config) {
  std::vector<refused_setting> found;
  auto refuse = [&](const char* path, std::string_view value, std::string_view what) {
    found.push_back({path, path + std::string(value) + ": Belay does not " + std::string(what) +
                               ", and does not start with this setting. Remove it to run without the feature"});
  };
  for (auto name : {"auto_encrypt.tls", "auto_encrypt.allow_tls"})
    if (is_true(config, name))
      refuse(name, " = true", "use TLS");
  for (auto name : {"segment", "segments"})
    if (asks_for_something(config, name))
      refuse(name, "", "support network segments");
  if (is_true(config, "auto_config.enabled"))
    refuse("auto_config.enabled", " = true", "configure itself from other servers");
  return found;
}

bool is_ip_address(std::string_view text) {
  in6_addr any{};
  std::string s(text);
  return inet_pton(AF_INET, s.c_str(), &any) == 1 || inet_pton(AF_INET6, s.c_str(), &any) == 1;
}

bool is_unspecified_address(std::string_view text) {
  return text == "0.0.0.0" || text == "::" || text == "[::]";
}

result<own_address> choose_own_address(const std::vector<std::string>& addresses, bool is_single_server) {
  if (addresses.empty()) // no network: only processes of this machine can be peers
    return own_address{"127.0.0.1", {}};
  std::vector<std::string> inside;
  for (const auto& text : addresses) {
    in_addr a{};
    if (inet_pton(AF_INET, text.c_str(), &a) == 1 && is_private(ntohl(a.s_addr)))
      inside.push_back(text);
  }
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  if (inside.size() == 1)
    return own_address{inside.front(), {}};
  const std::string advice = ". Please configure one with 'bind' and/or 'advertise'.";
  if (inside.size() > 1)
    return failure{"Multiple private IPv4 addresses found" + advice};
  const auto none = "No private IPv4 address found among " + joined(addresses);
  if (!is_single_server)
    return failure{none + advice};
  return own_address{"127.0.0.1", none + ": peers can reach this server only at 127.0.0.1" + advice};
}

std::string host_name() {
  char text[256] = {};
  if (gethostname(text, sizeof(text) - 1) != 0 || !*text)
    return "localhost";
  return text;
}

} // namespace belay::actors
