#include "actors/names/socket_endpoint.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <string_view>

namespace belay::actors {

std::vector<socket_endpoint> all_resolved(const char* host, const char* service, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (getaddrinfo(host, service, &hints, &found) != 0)
    return {};
  std::vector<socket_endpoint> list;
  for (const auto* at = found; at != nullptr; at = at->ai_next) {
    auto& e = list.emplace_back();
    std::memcpy(&e.bytes, at->ai_addr, at->ai_addrlen);
    e.size = at->ai_addrlen;
  }
  freeaddrinfo(found);
  return list;
}

std::optional<socket_endpoint> resolved(const char* host, const char* service, int flags) {
  const auto list = all_resolved(host, service, flags);
  return list.empty() ? std::nullopt : std::optional(list.front());
}

std::optional<socket_endpoint> numeric_endpoint(const std::string& host, std::uint16_t port, bool passive) {
  return resolved(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                  AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0));
}

socket_endpoint with_port(socket_endpoint e, std::uint16_t port) {
  if (e.bytes.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in&>(e.bytes).sin_port = htons(port);
  else if (e.bytes.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(e.bytes).sin6_port = htons(port);
  return e;
}

std::string host_text(const socket_endpoint& e) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(e.any(), e.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "?";
  constexpr std::string_view mapped = "::ffff:"; // how an IPv6 socket shows an IPv4 address
  const std::string_view host = text;
  if (host.starts_with(mapped) && host.find('.') != host.npos)
    return std::string(host.substr(mapped.size()));
  return text;
}

} // namespace belay::actors
