#include "protocol/base/host_port.hpp"

#include <charconv>

namespace belay {

std::uint16_t host_port::number() const {
  std::uint16_t value = 0;
  if (port && std::from_chars(port->data(), port->data() + port->size(), value).ec != std::errc())
    return 0;
  return value;
}

host_port split_host_port(std::string_view address) {
  if (address.starts_with('[')) {
    const auto close = address.find(']');
    if (close == std::string_view::npos)
      return {std::string(address), std::nullopt};
    host_port parts{std::string(address.substr(1, close - 1)), std::nullopt};
    if (address.substr(close + 1).starts_with(':'))
      parts.port = address.substr(close + 2);
    return parts;
  }
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos)
    return {std::string(address), std::nullopt};
  return {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))};
}

host_port split_optional_port(std::string_view address) {
  if (!address.starts_with('[') && address.find(':') != address.rfind(':'))
    return {std::string(address), std::nullopt};
  return split_host_port(address);
}

std::string join_host_port(std::string_view host, std::string_view port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  std::string out = is_ipv6 ? "[" : "";
  out += host;
  out += is_ipv6 ? "]:" : ":";
  out += port;
  return out;
}

std::string join_host_port(std::string_view host, std::uint16_t port) {
  return join_host_port(host, std::to_string(port));
}

std::string with_brackets(std::string_view address) {
  const auto parts = split_host_port(address);
  return parts.port ? join_host_port(parts.host, *parts.port) : std::string(address);
}

std::string_view without_brackets(std::string_view host) {
  const bool has_them = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has_them ? host.substr(1, host.size() - 2) : host;
}

} // namespace belay
