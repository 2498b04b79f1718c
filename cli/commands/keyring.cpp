// `belay keyring`: the keys of `encrypt`, on all servers at once (docs/operate/security.md). Texts
// and exit codes are those of `consul keyring` (docs/contract/15).

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/help/usage.hpp"
#include "cli/output/json_text.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>

#include <charconv>
#include <optional>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

constexpr auto keyring_path = "/v1/operator/keyring";

/// An operation on one key.
struct change {
  const char* flag;
  const char* method;
  const char* text; ///< printed before the request is sent
};
constexpr change changes[] = {
    {"install", "POST", "==> Installing new gossip encryption key..."},
    {"use", "PUT", "==> Changing primary gossip encryption key..."},
    {"remove", "DELETE", "==> Removing gossip encryption key..."},
};

/// @returns nullopt if Consul would not accept the value
std::optional<int> relay_factor(const options& o) {
  const auto text = o.value("relay-factor", "0");
  int n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n >= 0 && n <= 5 ? std::optional(n) : std::nullopt;
}

/// @returns false if the servers' response is malformed
bool print_keys(const json::value& pools, const char* member, std::ostream& out) {
  if (!pools.is_array())
    return false;
  for (const auto& pool : pools.get_array()) {
    try {
      const auto& o = pool.as_object();
      const auto nodes = json::value_to<std::uint64_t>(o.at("NumNodes"));
      out << "\n"
          << (o.at("WAN").as_bool() ? std::string("WAN") : json::value_to<std::string>(o.at("Datacenter")) + " (LAN)")
          << ":\n";
      for (const auto& key : o.at(member).as_object())
        out << "  " << key.key() << " [" << json::value_to<std::uint64_t>(key.value()) << "/" << nodes << "]\n";
    } catch (const std::exception&) {
      return false;
    }
  }
  return true;
}

int list_keys(const options& o, const api_client& client, const api_query& query, terminal t) {
  const bool primary = o.on("list-primary");
  if (!o.json())
    t.out << "==> Gathering installed " << (primary ? "primary " : "") << "encryption keys...\n" << std::flush;
  const auto pools = value_of(client.get_json(keyring_path, query), t, "error: ");
  if (o.json())
    t.out << pretty(pools);
  else if (!print_keys(pools, primary ? "PrimaryKeys" : "Keys", t.out))
    return error(t, "error: the response is not a list of keys");
  return 0;
}

int keyring(const options& o, terminal t) {
  const bool listing = o.on("list") || o.on("list-primary");
  int actions = (o.on("list") ? 1 : 0) + (o.on("list-primary") ? 1 : 0);
  const change* wanted = nullptr;
  for (const auto& c : changes)
    if (!o.value(c.flag).empty()) {
      ++actions;
      wanted = &c;
    }
  if (actions > 1)
    return error(t, "Only a single action is allowed");
  if (actions == 0)
    return (t.err << usage(o.of()), 1);
  const auto relay = relay_factor(o);
  if (!relay)
    return error(t, "Error parsing relay factor: Relay factor must be in range: [0, 5]");
  if (o.on("local-only") && !listing)
    return error(t, "Error validating local-only: local-only can only be set for list requests");
  const auto client = o.client(t);
  auto query = o.query();
  if (*relay != 0)
    query.add("relay-factor", std::to_string(*relay));
  if (o.on("local-only"))
    query.add("local-only", "true");
  if (listing)
    return list_keys(o, client, query, t);
  if (!o.json())
    t.out << wanted->text << "\n" << std::flush;
  const auto body = json::serialize(json::object{{"Key", o.value(wanted->flag)}});
  answer_of(client.ask(wanted->method, keyring_path, query, body), t, "error: ");
  return o.json() ? succeed(o, t, "", {{"Action", wanted->flag}}) : 0;
}

} // namespace

std::vector<command> keyring_commands() {
  using enum flag_kind;
  return {
      {.name = "keyring",
       .help = "Manage the encryption keys of the servers",
       .text = "Requires exactly one of -list, -list-primary, -install, -use and -remove. The exit code is 0 if all\n"
               "servers succeeded.",
       .asks = reach::agent,
       .flags = {{"install", text, "<key>", "add this key on all servers"},
                 {"list", toggle, "", "list the keys, with the number of servers that have each"},
                 {"list-primary", toggle, "", "list the keys that encrypt, with the number of servers that use each"},
                 {"local-only", toggle, "", "with -list and -list-primary: only this datacenter"},
                 {"relay-factor", integer, "<0..5>", "accepted for compatibility with Consul, without effect"},
                 {"remove", text, "<key>", "remove a key that is not the primary one"},
                 {"use", text, "<key>", "encrypt with this key, which must be installed"}},
       .examples = {{"keyring -list", "Print each key with the number of servers that have it"},
                    {"keyring -install=$(belay keygen)",
                     "Take the first step of a change of keys (docs/operate/security.md)"}},
       .run = keyring}};
}

} // namespace belay::cli
