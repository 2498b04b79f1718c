#include "cli/api/api_address.hpp"

#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/url.hpp"

namespace belay::cli {

std::string api_address::text() const {
  return (https ? "https://" : "http://") + (unix_path.empty() ? join_host_port(host, port) : unix_path);
}

result<api_address> parse_api_address(std::string text, bool https) {
  api_address a;
  a.https = https;
  if (text.starts_with("unix://")) {
    a.unix_path = text.substr(7);
    return a;
  }
  if (text.starts_with("https://")) {
    a.https = true;
    text = text.substr(8);
  } else if (text.starts_with("http://"))
    text = text.substr(7);
  else if (auto at = text.find("://"); at != text.npos)
    return failure{"unknown protocol scheme: " + text.substr(0, at)};
  if (auto slash = text.find('/'); slash != text.npos)
    text.resize(slash);
  auto where = split_optional_port(text);
  a.host = where.host.empty() ? "127.0.0.1" : std::move(where.host);
  a.port = where.port.value_or(a.https ? "8501" : "8500");
  return a;
}

api_query& api_query::add(std::string_view name) {
  text_ += (text_.empty() ? "" : "&") + std::string(name);
  return *this;
}

api_query& api_query::add(std::string_view name, std::string_view value) {
  return add(std::string(name) + "=" + go_compat::escape_query(value));
}

} // namespace belay::cli
