// `belay members`, `belay info`, `belay operator raft ...`: what the cluster looks like.

#include "cli/options.hpp"
#include "cli/table.hpp"
#include "protocol/base/host_port.hpp"

#include <algorithm>
#include <map>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string text_of(const json::value* v) {
  if (!v)
    return {};
  if (v->is_string())
    return std::string(v->get_string());
  if (v->is_bool())
    return v->get_bool() ? "true" : "false";
  boost::system::error_code ec;
  auto n = v->to_number<std::int64_t>(ec);
  return ec ? std::string() : std::to_string(n);
}

std::string member_text(const json::value& o, std::string_view name) {
  return o.is_object() ? text_of(o.get_object().if_contains(name)) : std::string();
}

const json::value* section(const json::value& o, std::string_view name) {
  return o.is_object() ? o.get_object().if_contains(name) : nullptr;
}

std::string tag(const json::value& member, std::string_view name) {
  const auto* tags = section(member, "Tags");
  return tags ? member_text(*tags, name) : std::string();
}

std::string status_word(const std::string& number) {
  static const std::map<std::string, std::string> words = {
      {"0", "none"}, {"1", "alive"}, {"2", "leaving"}, {"3", "left"}, {"4", "failed"}};
  auto it = words.find(number);
  return it == words.end() ? "unknown" : it->second;
}

} // namespace

int members(const arguments& args, terminal t) {
  options o("members [options]", {"detailed", "wan"}, {});
  if (auto code = o.parse(args, t))
    return *code;
  auto client = o.client(t);
  if (!client)
    return 1;
  auto query = o.query();
  if (o.on("wan"))
    query.add("wan", "1");
  auto list = client->get_json("/v1/agent/members", query);
  if (!list)
    return error(t, "Error retrieving members: " + list.error());
  if (!list->is_array())
    return error(t, "Error retrieving members: the answer is not a list");
  std::vector<std::vector<std::string>> rows;
  for (const auto& m : list->get_array()) {
    const auto address = join_host_port(member_text(m, "Addr"), member_text(m, "Port"));
    const auto status = status_word(member_text(m, "Status"));
    if (o.on("detailed")) {
      std::string tags;
      if (const auto* all = section(m, "Tags"); all && all->is_object())
        for (const auto& one : all->get_object())
          tags += (tags.empty() ? "" : ",") + std::string(one.key()) + "=" + text_of(&one.value());
      rows.push_back({member_text(m, "Name"), address, status, tags});
    } else {
      const bool server = tag(m, "role") == "consul";
      auto build = tag(m, "build");
      build.resize(std::min(build.size(), build.find(':')));
      auto segment = tag(m, "segment");
      rows.push_back({member_text(m, "Name"), address, status, server ? "server" : "client", build, tag(m, "vsn"),
                      tag(m, "dc"),
                      server && segment.empty() ? "<all>"
                      : segment.empty()         ? "<default>"
                                                : segment});
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.insert(rows.begin(), o.on("detailed") ? std::vector<std::string>{"Node", "Address", "Status", "Tags"}
                                             : std::vector<std::string>{"Node", "Address", "Status", "Type", "Build",
                                                                        "Protocol", "DC", "Segment"});
  t.out << table(rows);
  return 0;
}

int info(const arguments& args, terminal t) {
  options o("info [options]", {}, {});
  if (auto code = o.parse(args, t))
    return *code;
  auto client = o.client(t);
  if (!client)
    return 1;
  auto self = client->get_json("/v1/agent/self", o.query());
  if (!self)
    return error(t, "Error querying agent: " + self.error());
  const auto* stats = section(*self, "Stats");
  if (!stats || !stats->is_object())
    return error(t, "Agent response did not contain 'Stats' key");
  std::map<std::string, std::map<std::string, std::string>> sorted;
  for (const auto& part : stats->get_object())
    if (part.value().is_object())
      for (const auto& one : part.value().get_object())
        sorted[std::string(part.key())][std::string(one.key())] = text_of(&one.value());
  for (const auto& [name, values] : sorted) {
    t.out << name << ":\n";
    for (const auto& [key, value] : values)
      t.out << "\t" << key << " = " << value << "\n";
  }
  return 0;
}

int raft_add_peer(const arguments& args, terminal t) {
  options o("operator raft add-peer [options]", {}, {"address", "id"});
  if (auto code = o.parse(args, t))
    return *code;
  const auto address = o.value("address"), id = o.value("id");
  if (address.empty() && id.empty())
    return error(t, "An address or id is required for the peer to add: -address=HOST:PORT, as it is told to peers");
  if (!address.empty() && !id.empty())
    return error(t, "Error adding peer: cannot give both an address and id");
  auto client = o.client(t);
  if (!client)
    return 1;
  auto query = o.query();
  query.add(id.empty() ? "address" : "id", id.empty() ? address : id);
  const auto answer = client->ask("PUT", "/v1/operator/raft/peer", query);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error adding peer: " + complaint);
  t.out << "Added peer with " << (id.empty() ? "address" : "id") << " \"" << (id.empty() ? address : id) << "\"\n";
  return 0;
}

int raft_list_peers(const arguments& args, terminal t) {
  options o("operator raft list-peers [options]", {}, {});
  if (auto code = o.parse(args, t))
    return *code;
  auto client = o.client(t);
  if (!client)
    return 1;
  auto config = client->get_json("/v1/operator/raft/configuration", o.query());
  if (!config)
    return error(t, "Error getting peers: Failed to retrieve raft configuration: " + config.error());
  const auto* servers = section(*config, "Servers");
  std::vector<std::vector<std::string>> rows = {{"Node", "ID", "Address", "State", "Voter", "RaftProtocol"}};
  if (servers && servers->is_array())
    for (const auto& s : servers->get_array()) {
      auto protocol = member_text(s, "ProtocolVersion");
      rows.push_back({member_text(s, "Node"), member_text(s, "ID"), member_text(s, "Address"),
                      member_text(s, "Leader") == "true" ? "leader" : "follower", member_text(s, "Voter"),
                      protocol.empty() ? "<=1" : protocol});
    }
  t.out << table(rows);
  return 0;
}

} // namespace belay::cli
