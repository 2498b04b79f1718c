#include "cli/flags/command.hpp"

#include <algorithm>

namespace belay::cli {

namespace {

using enum flag_kind;

constexpr flag of_agents[] = {
    {"ca-file", text, "<file>", "file of trusted CA certificates (CONSUL_CACERT)"},
    {"ca-path", text, "<folder>", "folder of such files (CONSUL_CAPATH)"},
    {"client-cert", text, "<file>", "certificate to present to the server (CONSUL_CLIENT_CERT)"},
    {"client-key", text, "<file>", "key of this certificate (CONSUL_CLIENT_KEY)"},
    {"http-addr", text, "<address>",
     "HOST:PORT, http://, https:// or unix://PATH (CONSUL_HTTP_ADDR; default 127.0.0.1:8500)"},
    {"tls-server-name", text, "<name>", "name that the server's certificate must have (CONSUL_TLS_SERVER_NAME)"},
    {"token", text, "<secret>", "ACL token (CONSUL_HTTP_TOKEN); visible in the list of processes, unlike -token-file"},
    {"token-file", text, "<file>", "file with the ACL token in its first line (CONSUL_HTTP_TOKEN_FILE)"},
};
constexpr flag of_clusters[] = {
    {"datacenter", text, "<name>", "datacenter of the request (default: that of the server)"},
    {"stale", toggle, "", "allow any server to answer, even if its data is stale"},
};
constexpr flag of_copies[] = {
    {"copy-token", text, "<secret>", "ACL token for the second server; -token is only for the first"},
    {"copy-token-file", text, "<file>", "file with that token in its first line"},
};
constexpr flag format = {"format", text, "pretty|json", "output format (default pretty)"};

} // namespace

std::vector<flag> all_flags(const command& c) {
  std::vector<flag> out = c.flags;
  if (c.formats)
    out.push_back(format);
  if (c.asks != reach::nothing)
    out.insert(out.end(), std::begin(of_agents), std::end(of_agents));
  if (c.asks == reach::cluster)
    out.insert(out.end(), std::begin(of_clusters), std::end(of_clusters));
  if (c.asks == reach::two) {
    std::erase_if(out, [](const flag& f) { return f.name == "http-addr"; });
    out.insert(out.end(), std::begin(of_copies), std::end(of_copies));
  }
  std::sort(out.begin(), out.end(), [](const flag& a, const flag& b) { return a.name < b.name; });
  return out;
}

const flag* find_flag(const std::vector<flag>& flags, std::string_view name) {
  for (const auto& f : flags)
    if (f.name == name)
      return &f;
  return nullptr;
}

std::vector<std::string_view> choices(const flag& f) {
  std::vector<std::string_view> out;
  if (f.value.starts_with('<'))
    return out;
  auto rest = f.value;
  while (rest.find('|') != rest.npos) {
    out.push_back(rest.substr(0, rest.find('|')));
    rest.remove_prefix(rest.find('|') + 1);
  }
  if (!out.empty())
    out.push_back(rest);
  return out;
}

} // namespace belay::cli
