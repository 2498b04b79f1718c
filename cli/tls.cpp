// `belay keygen` and `belay tls ...`: secrets and certificates for docs/security.md. Names of files, options and texts are those of
// Consul 1.8. Nothing here talks to a node.

#include "actors/node/config/file_text.hpp"
#include "actors/tls/certificate_maker.hpp"
#include "actors/tls/peer_key.hpp"
#include "cli/options.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

namespace belay::cli {

namespace {

constexpr mode_t everybody_reads = 0644;
constexpr mode_t owner_reads = 0600;
constexpr std::uint64_t days_max = 36'500;

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// A new file: one that is there is left alone.
status write_file(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return failure{"open " + path + ": " + std::strerror(errno)};
  std::size_t at = 0;
  while (at < text.size()) {
    const auto n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      const std::string why = std::strerror(errno);
      ::close(fd);
      ::unlink(path.c_str());
      return failure{"write " + path + ": " + why};
    }
    at += static_cast<std::size_t>(n);
  }
  ::close(fd);
  return done{};
}

/// Both, or none of them.
status write_pair(const tls::certificate_and_key& made, const std::string& certificate, const std::string& key) {
  if (auto s = write_file(certificate, made.certificate, everybody_reads); !s)
    return s;
  if (auto s = write_file(key, made.key, owner_reads); !s) {
    ::unlink(certificate.c_str());
    return s;
  }
  return done{};
}

/// In names of files and certificates.
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
  constexpr std::string_view place = "#DOMAIN#";
  if (const auto at = pattern.find(place); at != std::string::npos)
    pattern.replace(at, place.size(), domain);
  return pattern;
}

} // namespace

int keygen(const arguments& args, terminal t) {
  auto o = options::offline("keygen", {}, {});
  if (auto code = o.parse(args, t))
    return *code;
  const auto secret = tls::generate_peer_secret();
  if (!secret)
    return error(t, "Error reading random data: " + secret.error());
  t.out << *secret << "\n";
  return 0;
}

int tls_ca_create(const arguments& args, terminal t) {
  auto o = options::offline("tls ca create [options]", {"name-constraint"},
                            {"days", "domain", "additional-name-constraint"});
  if (auto code = o.numbers({"days"}).parse(args, t))
    return *code;
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
    return error(t, "-additional-name-constraint makes sense with -name-constraint only");
  }
  const auto made = tls::make_authority("Belay Agent CA", *when, permitted);
  if (!made)
    return error(t, made.error());
  if (auto s = write_pair(*made, certificate, key); !s)
    return error(t, s.error());
  t.out << "==> Saved " << certificate << "\n==> Saved " << key << "\n";
  return 0;
}

int tls_cert_create(const arguments& args, terminal t) {
  auto o = options::offline("tls cert create (-server|-client|-cli) [options]", {"server", "client", "cli"},
                            {"ca", "key", "days", "dc", "domain", "additional-dnsname", "additional-ipaddress"});
  if (auto code = o.numbers({"days"}).parse(args, t))
    return *code;
  if (int(o.on("server")) + int(o.on("client")) + int(o.on("cli")) != 1)
    return error(t, "Please provide either -server, -client, or -cli");
  const std::string role = o.on("server") ? "server" : o.on("client") ? "client" : "cli";
  const auto domain = o.value("domain", "consul"), datacenter = o.value("dc", "dc1");
  if (!is_domain(domain))
    return error(t, "not a domain: " + domain);
  if (!is_domain(datacenter))
    return error(t, "not a datacenter: " + datacenter);
  const auto when = days_of(o, 365);
  if (!when)
    return error(t, "-days must be from 1 to " + std::to_string(days_max));
  const auto ca_path = in_domain(o.value("ca", "#DOMAIN#-agent-ca.pem"), domain);
  const auto key_path = in_domain(o.value("key", "#DOMAIN#-agent-ca-key.pem"), domain);
  auto ca = actors::read_file_text(ca_path);
  if (!ca)
    return error(t, "Error reading CA: " + ca.error());
  auto ca_key = actors::read_file_text(key_path);
  if (!ca_key)
    return error(t, "Error reading CA key: " + ca_key.error());

  tls::certificate_request wanted;
  wanted.common_name = role + "." + datacenter + "." + domain;
  wanted.dns_names = o.values("additional-dnsname");
  wanted.dns_names.push_back(wanted.common_name);
  wanted.dns_names.push_back("localhost");
  wanted.addresses = o.values("additional-ipaddress");
  if (role != "cli")
    wanted.addresses.push_back("127.0.0.1");
  wanted.for_connections = role != "cli";
  wanted.when = *when;
  if (role == "server")
    t.out << "==> WARNING: Server Certificates grants authority to become a\n"
             "    server and access all state in the cluster including root keys\n"
             "    and all ACL tokens. Do not distribute them to production hosts\n"
             "    that are not server nodes. Store them as securely as CA keys.\n";
  t.out << "==> Using " << ca_path << " and " << key_path << "\n";
  const auto made = tls::make_certificate({*ca, *ca_key}, wanted);
  if (!made)
    return error(t, made.error());
  const auto name = free_name(datacenter + "-" + role + "-" + domain);
  if (auto s = write_pair(*made, name + ".pem", name + "-key.pem"); !s)
    return error(t, s.error());
  t.out << "==> Saved " << name << ".pem\n==> Saved " << name << "-key.pem\n";
  return 0;
}

} // namespace belay::cli
