#include "cli/verbs.hpp"

#include <ostream>
#include <string_view>

namespace belay::cli {

namespace {

struct verb {
  std::string_view name; ///< its words, separated by one blank
  int (*run)(const arguments&, terminal);
  std::string_view help;
};

constexpr verb verbs[] = {
    {"agent", agent, "Runs a node"},
    {"info", info, "Shows what a node says about itself"},
    {"keygen", keygen, "Makes a key for `encrypt`"},
    {"keyring", keyring, "Lists and changes the keys of `encrypt` on all servers"},
    {"kv delete", kv_delete, "Removes a key, or all keys below a prefix"},
    {"kv export", kv_export, "Writes all keys below a prefix as JSON"},
    {"kv get", kv_get, "Reads a key, or all keys below a prefix"},
    {"kv import", kv_import, "Writes what export wrote"},
    {"kv put", kv_put, "Writes a key"},
    {"members", members, "Lists the nodes of the cluster"},
    {"operator raft add-peer", raft_add_peer, "Takes a server into the cluster"},
    {"operator raft list-peers", raft_list_peers, "Lists the servers that vote"},
    {"operator raft recover", raft_recover, "Makes a stopped server a cluster of its own, after a majority was lost"},
    {"tls ca create", tls_ca_create, "Makes a certificate authority of your own"},
    {"tls cert create", tls_cert_create, "Makes a certificate, signed by it"},
    {"validate", validate, "Checks configuration files"},
};

std::string usage(std::string_view group) {
  std::string out = "Usage: belay ";
  if (!group.empty())
    out += std::string(group) + " ";
  out += "<command> [args]\n\nAvailable commands are:\n";
  auto line = [&](std::string_view name, std::string_view help) {
    out += "    ";
    out += name;
    out.append(name.size() < 28 ? 28 - name.size() : 1, ' ');
    out += help;
    out += '\n';
  };
  for (const auto& v : verbs)
    if (group.empty() || v.name.starts_with(std::string(group) + " "))
      line(v.name, v.help);
  if (group.empty()) {
    line("help", "This text");
    line("version", "Shows the version");
    out +=
        "\nEvery command but agent, keygen, tls, validate and version talks to a node: -http-addr=<address>, else the "
        "environment's\n"
        "BELAY_HTTP_ADDR or CONSUL_HTTP_ADDR, else 127.0.0.1:8500. https://HOST:PORT with -ca-file, -ca-path, "
        "-client-cert,\n"
        "-client-key and -tls-server-name, or Consul's variables for them. `belay <command> -h` shows its options.\n";
  }
  return out;
}

bool is_help(std::string_view word) {
  return word == "help" || word == "-h" || word == "-help" || word == "--help";
}

} // namespace

int error(terminal t, const std::string& text) {
  t.err << text << "\n";
  return 1;
}

int run(const arguments& words, terminal t) {
  if (words.empty()) {
    t.err << usage("");
    return 127;
  }
  if (is_help(words[0])) {
    t.out << usage("");
    return 0;
  }
  if (words[0] == "version" || words[0] == "-v" || words[0] == "-version" || words[0] == "--version")
    return version(t);
  std::string name, group;
  for (std::size_t used = 0; used < words.size() && used < 3; ++used) {
    if (!group.empty() && is_help(words[used])) {
      t.out << usage(group);
      return 0;
    }
    name += (used ? " " : "") + words[used];
    for (const auto& v : verbs) {
      if (v.name == name)
        return v.run({words.begin() + static_cast<std::ptrdiff_t>(used) + 1, words.end()}, t);
      if (v.name.starts_with(name + " "))
        group = name;
    }
    if (group != name)
      break;
  }
  t.err << usage(group);
  return 127;
}

int version(terminal t) {
  t.out << "Belay v" BELAY_VERSION "\nCompatible with the Consul 1.8.7 API\n";
  return 0;
}

} // namespace belay::cli
