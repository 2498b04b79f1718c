#include "actors/node/config/sections/address_template.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <tuple>

namespace belay::actors {

namespace {

constexpr std::string_view opening = "{{", closing = "}}";

struct block {
  std::uint32_t address;
  int bits;
};
/// Blocks of RFC 6890, IPv4, that routers forward; 100.64.0.0/10 is from RFC 6598.
constexpr block private_blocks[] = {
    {0x0A000000, 8}, {0x64400000, 10}, {0xAC100000, 12}, {0xC0A80000, 16}, {0xC6120000, 15},
};
/// Blocks that they do not forward: protocol assignments and documentation.
constexpr block unusable_blocks[] = {{0xC0000000, 24}, {0xC0000200, 24}, {0xC6336400, 24}, {0xCB007100, 24}};

bool is_v6(const std::string& address) {
  return address.find(':') != address.npos;
}

template <std::size_t N>
bool is_in(const std::string& text, const block (&blocks)[N]) {
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) != 1)
    return false;
  return std::any_of(std::begin(blocks), std::end(blocks),
                     [a = ntohl(four.s_addr)](const block& b) { return (a ^ b.address) >> (32 - b.bits) == 0; });
}

bool is_private_address(const std::string& text) {
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) == 1)
    return (six.s6_addr[0] & 0xFE) == 0xFC; // fc00::/7, RFC 4193
  return is_in(text, private_blocks);
}

/// The name of a template, and its argument if it has one.
struct called {
  std::string name;
  std::optional<std::string> argument;
};

std::optional<called> parse_call(const std::string& inside) {
  std::istringstream in(inside);
  called c;
  in >> c.name >> std::ws;
  const auto quote = in.peek();
  if (quote == '"' || quote == '`') {
    in.get();
    c.argument.emplace();
    std::getline(in, *c.argument, static_cast<char>(quote));
    if (in.eof())
      return std::nullopt; // no second quote
  }
  std::string more;
  in >> more;
  return more.empty() && !c.name.empty() ? std::optional(c) : std::nullopt;
}

/// @returns nullptr: there is none
template <class Wanted>
const interface_address* best(const std::vector<interface_address>& there, bool by_route, Wanted wanted) {
  const auto rank = [by_route](const interface_address& a) {
    return std::tuple(by_route && !a.on_default_route, is_v6(a.address), a.network_bits);
  };
  const interface_address* found = nullptr;
  for (const auto& a : there)
    if (wanted(a) && !a.link_local && !is_in(a.address, unusable_blocks) &&
        (found == nullptr || rank(a) < rank(*found)))
      found = &a;
  return found;
}

result<std::string> value_of(const std::string& inside, const std::vector<interface_address>& there) {
  const auto shown = std::string(opening) + inside + std::string(closing);
  const auto call = parse_call(inside);
  const interface_address* found = nullptr;
  if (call && call->name == "GetPrivateIP" && !call->argument)
    found = best(there, true, [](const interface_address& a) { return is_private_address(a.address); });
  else if (call && call->name == "GetInterfaceIP" && call->argument)
    found = best(there, false, [&](const interface_address& a) { return a.interface == *call->argument; });
  else
    return failure{"the address template " + shown +
                   " is not supported: write the address, {{ GetPrivateIP }} or {{ GetInterfaceIP \"eth0\" }}"};
  if (found == nullptr)
    return failure{shown + ": this machine has no such address"};
  return found->address;
}

/// The interfaces of packets that no other route takes; /proc/net/route has a line per IPv4 route.
std::vector<std::string> interfaces_of_default_routes() {
  std::ifstream routes("/proc/net/route");
  std::vector<std::string> found;
  for (std::string line; std::getline(routes, line);) {
    std::istringstream in(line);
    std::string interface, destination;
    in >> interface >> destination;
    if (destination == "00000000")
      found.push_back(interface);
  }
  return found;
}

/// The interface's address without its name; empty: of another family.
interface_address address_in(const sockaddr* a) {
  interface_address out;
  char text[INET6_ADDRSTRLEN] = {};
  if (a->sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in*>(a)->sin_addr;
    inet_ntop(AF_INET, &in, text, sizeof text);
    out.link_local = (ntohl(in.s_addr) >> 16) == 0xA9FE;
  } else if (a->sa_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr;
    inet_ntop(AF_INET6, &in, text, sizeof text);
    out.link_local = IN6_IS_ADDR_LINKLOCAL(&in);
  }
  out.address = text;
  return out;
}

int bits_of(const sockaddr* mask) {
  if (mask == nullptr)
    return 0;
  const auto count = [](const void* from, std::size_t size) {
    int bits = 0;
    for (std::size_t i = 0; i < size; ++i)
      bits += std::popcount(static_cast<const unsigned char*>(from)[i]);
    return bits;
  };
  if (mask->sa_family == AF_INET)
    return count(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, sizeof(in_addr));
  return count(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, sizeof(in6_addr));
}

} // namespace

std::vector<interface_address> interface_addresses() {
  const auto routes = interfaces_of_default_routes();
  std::vector<interface_address> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    return found;
  for (const auto* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0)
      continue;
    auto a = address_in(i->ifa_addr);
    a.interface = i->ifa_name;
    a.on_default_route = std::find(routes.begin(), routes.end(), a.interface) != routes.end();
    a.network_bits = bits_of(i->ifa_netmask);
    a.loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    if (!a.address.empty())
      found.push_back(std::move(a));
  }
  freeifaddrs(list);
  return found;
}

result<std::string> expand_address_templates(std::string_view text, const std::vector<interface_address>& there) {
  std::string out;
  for (;;) {
    const auto begin = text.find(opening);
    out += text.substr(0, begin);
    if (begin == text.npos)
      return out;
    const auto end = text.find(closing, begin);
    if (end == text.npos)
      return failure{"an address template lacks its closing braces: " + std::string(text.substr(begin))};
    const auto inside = text.substr(begin + opening.size(), end - begin - opening.size());
    auto value = value_of(std::string(inside), there);
    if (!value)
      return value;
    out += *value;
    text.remove_prefix(end + closing.size());
  }
}

} // namespace belay::actors
