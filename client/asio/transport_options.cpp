#include "client/asio/transport_options.hpp"

#include <algorithm>
#include <charconv>

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

error bad(std::string_view text, const char* why) {
  return error(outcome::refused, reason::invalid, "server '" + std::string(text) + "': " + why);
}

} // namespace

transport_options transport_of(const client_options& o) {
  transport_options t;
  t.servers = o.servers;
  t.token = o.token;
  t.ca_file = o.ca_file;
  t.cert_file = o.cert_file;
  t.key_file = o.key_file;
  t.verify_server = o.verify_server;
  t.connections_max = std::max<std::size_t>(o.connections_max, 1);
  t.waiting_max = o.waiting_max;
  return t;
}

result<server_address> parse_server(std::string_view text) {
  server_address out;
  auto rest = text;
  if (rest.substr(0, 7) == "unix://") {
    out.unix_socket = true;
    out.host = rest.substr(7);
    out.host_header = "localhost";
    // The size of sockaddr_un.
    if (out.host.empty() || out.host.size() > 107)
      return bad(text, "the path must have 1 to 107 bytes");
    return out;
  }
  if (rest.substr(0, 7) == "http://") {
    rest.remove_prefix(7);
  } else if (rest.substr(0, 8) == "https://") {
    rest.remove_prefix(8);
    out.tls = true;
  } else if (rest.find("://") != rest.npos) {
    return bad(text, "the scheme must be http, https or unix");
  }
  if (!rest.empty() && rest.back() == '/')
    rest.remove_suffix(1);
  for (unsigned char c : rest)
    if (c <= ' ' || c == '/' || c == '?' || c == '#' || c == '@' || c >= 127)
      return bad(text, "only a host and a port are allowed");
  auto port = out.tls ? std::string_view("8501") : std::string_view("8500");
  auto host = rest;
  auto colon = rest.rfind(':');
  bool literal = !rest.empty() && rest.front() == '[';
  if (literal) {
    auto end = rest.find(']');
    if (end == rest.npos)
      return bad(text, "] is missing");
    host = rest.substr(1, end - 1);
    if (end + 1 < rest.size()) {
      if (rest[end + 1] != ':')
        return bad(text, "a port is expected after ]");
      port = rest.substr(end + 2);
    }
  } else if (colon != rest.npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  }
  auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (failed != std::errc{} || end != port.data() + port.size() || out.port == 0)
    return bad(text, "no port");
  if (host.empty())
    return bad(text, "no host");
  out.host = host;
  out.host_header = (literal ? "[" + out.host + "]" : out.host) + ":" + std::to_string(out.port);
  return out;
}

} // namespace detail
} // namespace v0
} // namespace belay
