// `belay keygen` and `belay tls ...`: create secrets and certificates (docs/operate/security.md).
// Names of files, options and texts are those of Consul 1.8. Nothing here contacts a node.

#include "actors/node/config/file_text.hpp"
#include "actors/tls/certificate_maker.hpp"
#include "actors/tls/peer_key.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/private_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

constexpr mode_t everybody_reads = 0644;
constexpr mode_t owner_reads = 0600;
constexpr std::uint64_t days_max = 36'500;

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Writes a new file, and fails if it exists.
status write_file(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return failure{"open " + path + ": " + std::strerror(errno)};
  if (!write_all(fd, text)) {
    const std::string why = std::strerror(errno);
    ::close(fd);
    ::unlink(path.c_str());
    return failure{"write " + path + ": " + why};
  }
  ::close(fd);
  return done{};
}

/// Writes both files or none.
status write_pair(const tls::certificate_and_key& made, const std::string& certificate, const std::string& key) {
  if (auto s = write_file(certificate, made.certificate, everybody_reads); !s)
    return s;
  if (auto s = write_file(key, made.key, owner_reads); !s) {
    ::unlink(certificate.c_str());
    return s;
  }
  return done{};
}

/// Whether `text` can be part of names of files and certificates.
bool is_domain(const std::string& text) {
  return !text.empty() && !text.starts_with('.') &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
             std::string::npos;
}

std::optional<tls::validity> days_of(const options& o, std::uint64_t otherwise) {
  const auto days = o.given("days") ? o.number("days") : otherwise;
  if (days == 0 || days > days_max)
    return std::nullopt;
  tls::validity v;
  v.end = std::chrono::hours(24 * days);
  return v;
}

/// `PREFIX-N`, with the first number that neither a certificate nor a key has.
std::string free_name(const std::string& prefix) {
  for (int n = 0;; ++n) {
    auto name = prefix + "-" + std::to_string(n);
    if (!exists(name + ".pem") && !exists(name + "-key.pem"))
      return name;
  }
}

std::string in_domain(std::string pattern, const std::string& domain) {
  constexpr std::string_view placeholder = "#DOMAIN#";
  if (const auto at = pattern.find(placeholder); at != std::string::npos)
    pattern.replace(at, placeholder.size(), domain);
  return pattern;
}

int keygen(const options& o, terminal t) {
  const auto secret = value_of(tls::generate_peer_secret(), t, "Error reading random data: ");
  t.out << (o.json() ? pretty(json::object{{"Key", secret}}) : secret + "\n");
  return 0;
}

int tls_ca_create(const options& o, terminal t) {
  const auto domain = o.value("domain", "consul");
  if (!is_domain(domain))
    return error(t, "not a domain: " + domain);
  const auto when = days_of(o, 1825);
  if (!when)
    return error(t, "-days must be from 1 to " + std::to_string(days_max));
  const auto certificate = domain + "-agent-ca.pem", key = domain + "-agent-ca-key.pem";
  for (const auto& path : {certificate, key})
    if (exists(path))
      return error(t, path + " already exists.");
  auto permitted = o.values("additional-name-constraint");
  if (o.on("name-constraint")) {
    permitted.push_back(domain);
    permitted.push_back("localhost");
  } else if (!permitted.empty()) {
    return error(t, "-additional-name-constraint requires -name-constraint");
  }
  const auto made = value_of(tls::make_authority("Belay Agent CA", *when, permitted), t, "");
  if (auto s = write_pair(made, certificate, key); !s)
    return error(t, s.error());
  return succeed(o, t, "==> Saved " + certificate + "\n==> Saved " + key, {{"Certificate", certificate}, {"Key", key}});
}

/// Creates a certificate for a server, a client or the command line, with the names that Consul's
/// command gives it. The files get the first free number.
int tls_cert_create(const options& o, terminal t) {
  if (int(o.on("server")) + int(o.on("client")) + int(o.on("cli")) != 1)
    return error(t, "Please provide either -server, -client, or -cli");
  const std::string role = o.on("server") ? "server" : o.on("client") ? "client" : "cli";
  const auto domain = o.value("domain", "consul"), datacenter = o.value("dc", "dc1");
  if (!is_domain(domain))
    return error(t, "not a domain: " + domain);
  if (o.given("node") && (role != "server" || !is_domain(o.value("node"))))
    return error(t, role == "server" ? "not a name of a node: " + o.value("node") : "-node requires -server");
  if (!is_domain(datacenter))
    return error(t, "not a datacenter: " + datacenter);
  const auto when = days_of(o, 365);
  if (!when)
    return error(t, "-days must be from 1 to " + std::to_string(days_max));
  const auto ca_path = in_domain(o.value("ca", "#DOMAIN#-agent-ca.pem"), domain);
  const auto key_path = in_domain(o.value("key", "#DOMAIN#-agent-ca-key.pem"), domain);
  auto ca = value_of(actors::read_file_text(ca_path), t, "Error reading CA: ");
  auto ca_key = value_of(actors::read_file_text(key_path), t, "Error reading CA key: ");

  tls::certificate_request wanted;
  wanted.common_name = role + "." + datacenter + "." + domain;
  wanted.dns_names = o.values("additional-dnsname");
  wanted.dns_names.push_back(wanted.common_name);
  if (o.given("node"))
    wanted.dns_names.push_back(o.value("node") + ".server." + datacenter + "." + domain);
  wanted.dns_names.push_back("localhost");
  wanted.addresses = o.values("additional-ipaddress");
  if (role != "cli")
    wanted.addresses.push_back("127.0.0.1");
  wanted.for_connections = role != "cli";
  wanted.when = *when;
  if (role == "server" && !o.json())
    t.out << "==> WARNING: Server Certificates grants authority to become a\n"
             "    server and access all state in the cluster including root keys\n"
             "    and all ACL tokens. Do not distribute them to production hosts\n"
             "    that are not server nodes. Store them as securely as CA keys.\n";
  if (!o.json())
    t.out << "==> Using " << ca_path << " and " << key_path << "\n";
  const auto made = value_of(tls::make_certificate({ca, ca_key}, wanted), t, "");
  const auto name = free_name(datacenter + "-" + role + "-" + domain);
  if (auto s = write_pair(made, name + ".pem", name + "-key.pem"); !s)
    return error(t, s.error());
  return succeed(o, t, "==> Saved " + name + ".pem\n==> Saved " + name + "-key.pem",
                 {{"Certificate", name + ".pem"}, {"Key", name + "-key.pem"}});
}

} // namespace

std::vector<command> tls_commands() {
  using enum flag_kind;
  return {
      {.name = "keygen",
       .help = "Generate a key for `encrypt`",
       .asks = reach::nothing,
       .examples = {{"keygen", "Print 32 random bytes in base64"},
                    {"keyring -install=$(belay keygen)", "Add a new key on all servers of a cluster"}},
       .run = keygen},
      {.name = "tls ca create",
       .help = "Create a certificate authority",
       .text = "Writes DOMAIN-agent-ca.pem and DOMAIN-agent-ca-key.pem to the current folder.",
       .asks = reach::nothing,
       .flags = {{"additional-name-constraint", list, "<domain>", "with -name-constraint: additional domain"},
                 {"days", unsigned_number, "<days>", "validity in days (default 1825)"},
                 {"domain", text, "<domain>", "domain of the cluster (default consul)"},
                 {"name-constraint", toggle, "", "limit the CA to names under -domain and localhost"}},
       .examples = {{"tls ca create", "Create one for the domain consul, valid for five years"},
                    {"tls ca create -domain=example -name-constraint",
                     "Create one that is limited to names under example"}},
       .run = tls_ca_create},
      {.name = "tls cert create",
       .help = "Create a certificate signed by a CA",
       .operands = "",
       .text = "Requires exactly one of -server, -client and -cli. Writes DATACENTER-KIND-DOMAIN-N.pem and its key.",
       .asks = reach::nothing,
       .flags = {{"additional-dnsname", list, "<name>", "additional DNS name; localhost is always included"},
                 {"additional-ipaddress", list, "<address>", "additional IP address; 127.0.0.1 is always included"},
                 {"ca", text, "<file>", "certificate of the CA (default #DOMAIN#-agent-ca.pem)"},
                 {"cli", toggle, "", "create a certificate for users and programs that call the API"},
                 {"client", toggle, "", "create a certificate for client agents"},
                 {"days", unsigned_number, "<days>", "validity in days (default 365)"},
                 {"dc", text, "<name>", "datacenter (default dc1)"},
                 {"domain", text, "<domain>", "domain of the cluster (default consul)"},
                 {"key", text, "<file>", "key of the CA (default #DOMAIN#-agent-ca-key.pem)"},
                 {"node", text, "<name>", "with -server: node name, to include NAME.server.DATACENTER.DOMAIN"},
                 {"server", toggle, "", "create a certificate for servers"}},
       .examples = {{"tls cert create -server", "Create one for a server in dc1"},
                    {"tls cert create -cli -days=30", "Create one for a user of the API, valid for a month"}},
       .run = tls_cert_create},
  };
}

} // namespace belay::cli
