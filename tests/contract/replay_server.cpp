#include "tests/contract/replay_server.hpp"

#include <thread>

namespace belay::contract {

using harness::http_reply;
using harness::milliseconds;
using std::chrono::steady_clock;

json::object profile_config(const std::string& profile) {
  auto acl = [](const char* policy, json::object tokens) {
    return json::object{{"acl", json::object{{"enabled", true}, {"default_policy", policy}, {"tokens", tokens}}}};
  };
  json::object tokens = {{"master", root_token}, {"agent", root_token}};
  if (profile == "default")
    return {};
  if (profile == "short-ttl")
    return {{"session_ttl_min", "200ms"}};
  if (profile == "acl")
    return acl("deny", tokens);
  if (profile == "acl-allow")
    return acl("allow", tokens);
  if (profile == "acl-new")
    return acl("deny", {});
  throw problem("unknown profile " + profile);
}

replay_server::replay_server(const harness::server_command& command, std::string profile, std::size_t nodes,
                             target_node via)
    : profile_(std::move(profile)), strips_forwarding_(command.is_reference() && via != target_node::leader) {
  // Another process may take a port between choosing and using it.
  for (int attempt = 0;; ++attempt) {
    try {
      start(command, nodes, via);
      return;
    } catch (const std::runtime_error& e) {
      if (attempt == 2)
        throw problem("the server (profile " + profile_ + ") is not ready: " + e.what());
    }
  }
}

void replay_server::start(const harness::server_command& command, std::size_t nodes, target_node via) {
  cluster_ = std::make_unique<harness::server_cluster>(
      command, harness::cluster_options{nodes, "replay-node", profile_config(profile_),
                                        via == target_node::replica ? std::size_t{1} : std::size_t{0},
                                        via == target_node::agent ? std::size_t{1} : std::size_t{0}});
  cluster_->start_all();
  auto end = steady_clock::now() + milliseconds{nodes == 1 ? 30000 : 60000};
  std::string why = "no answer";
  while (steady_clock::now() < end) {
    for (std::size_t i = 0; i < cluster_->size(); ++i)
      if (!cluster_->node(i).running())
        throw problem("it ended" + cluster_->logs());
    auto leader = cluster_->leader_according_to(0);
    std::size_t target = 0;
    if (leader) {
      // Any of the followers: they must all behave the same.
      target = via == target_node::leader ? *leader : via == target_node::replica ? nodes : (*leader + 1) % nodes;
      port_ = via == target_node::agent ? cluster_->agent(0).http_port() : cluster_->node(target).http_port();
    } else {
      port_ = cluster_->node(0).http_port();
    }
    try {
      why = not_ready();
    } catch (const std::exception& e) {
      why = std::string("odd answer: ") + e.what();
    }
    if (why.empty()) {
      leadership_ = leadership();
      // On a busy machine another server may lead since `target` was chosen.
      if (cluster_->leader_according_to(target) == leader)
        return;
      why = "the leader changed";
    }
    std::this_thread::sleep_for(milliseconds{50});
  }
  throw problem(why + cluster_->logs());
}

http_reply replay_server::ask(const std::string& method, const std::string& target,
                              std::optional<std::string> body) const {
  harness::http_request request{method, target, {}, std::move(body), false};
  if (profile_ == "acl" || profile_ == "acl-allow")
    request.headers.push_back({"X-Consul-Token", root_token});
  return harness::exchange(port_, request, milliseconds{10000});
}

http_reply replay_server::send(harness::http_connection& connection, const harness::http_request& request,
                               milliseconds limit) const {
  static const std::string forwarded = "rpc error making call: ";
  auto reply = connection.ask(request, limit);
  if (auto at = strips_forwarding_ ? reply.body.find(forwarded) : std::string::npos; at != std::string::npos)
    reply.body.erase(at, forwarded.size());
  return reply;
}

std::string replay_server::leadership() const {
  auto self = ask("GET", "/v1/agent/self");
  std::string term;
  if (self.status == 200 && parse_json(self.body).at("Stats").as_object().contains("raft"))
    term = plain_text(parse_json(self.body).at("Stats").at("raft").at("term"));
  return ask("GET", "/v1/status/leader").body + " in term " + term;
}

std::string replay_server::acl_not_ready() const {
  auto r = ask("GET", "/v1/acl/tokens");
  if (profile_ == "acl-new" ? r.status == 403 && r.body.find("ermission denied") != r.body.npos : r.status == 200)
    return {};
  return "ACLs: " + std::to_string(r.status) + " " + r.error + r.body;
}

/// A 404 means that there is no catalog yet; do not wait for it.
std::string replay_server::nodes_not_healthy() const {
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    auto r = ask("GET", "/v1/health/node/" + cluster_->node(i).name());
    if (r.status == 404)
      continue;
    bool healthy = false;
    auto checks = parse_json(r.body);
    for (const auto& check : checks.as_array())
      healthy = healthy || (check.at("CheckID") == "serfHealth" && check.at("Status") == "passing");
    if (!healthy)
      return "node " + cluster_->node(i).name() + " is not healthy: " + r.body;
  }
  return {};
}

std::string replay_server::not_ready() {
  facts_ = {{"node", "replay-node"}, {"nodeid", ""}, {"dc", "dc1"}, {"addr", "127.0.0.1"}, {"root", root_token}};
  auto r = ask("GET", "/v1/status/leader");
  if (r.status != 404 && (r.status != 200 || parse_json(r.body) == ""))
    return "no leader: " + std::to_string(r.status) + " " + r.error + r.body;
  if (cluster_->size() > 1)
    cluster_->wait_ready(milliseconds{1000});
  if (profile_ == "acl-new")
    return acl_not_ready();
  if (profile_.starts_with("acl"))
    if (auto why = acl_not_ready(); !why.empty())
      return why;
  r = ask("GET", "/v1/agent/self");
  if (r.status != 404) {
    auto config = parse_json(r.body).at("Config").as_object();
    facts_["node"] = config.at("NodeName");
    facts_["nodeid"] = config.contains("NodeID") ? config.at("NodeID") : json::value("");
    facts_["dc"] = config.at("Datacenter");
    if (auto why = nodes_not_healthy(); !why.empty())
      return why;
  }
  // Its registration may still be in progress.
  auto before = newest_index();
  std::this_thread::sleep_for(milliseconds{250});
  r = ask("GET", "/v1/catalog/node/" + plain_text(facts_["node"]));
  if (r.status != 404)
    facts_["addr"] = parse_json(r.body).at("Node").at("Address");
  return newest_index() == before ? "" : "its own registration is still going on";
}

std::uint64_t replay_server::newest_index() const {
  std::uint64_t newest = 0;
  for (const auto& path : {std::string("/v1/kv/?recurse"), std::string("/v1/session/list"),
                           std::string("/v1/catalog/nodes"), std::string("/v1/catalog/services"),
                           std::string("/v1/health/state/any"), "/v1/catalog/node/" + plain_text(facts_.at("node"))}) {
    auto r = ask("GET", path);
    if (const auto* index = r.header("X-Consul-Index"))
      newest = std::max<std::uint64_t>(newest, std::stoull(*index));
  }
  return newest;
}

std::uint64_t replay_server::write_start_key(const std::string& tag) const {
  auto target = "/v1/kv/start/" + tag;
  ask("PUT", target, "start");
  auto r = ask("GET", target);
  try {
    return parse_json(r.body).at(0).at("ModifyIndex").to_number<std::uint64_t>();
  } catch (const std::exception&) {
    throw problem("cannot read back the start key: " + std::to_string(r.status) + " " + r.error + r.body);
  }
}

} // namespace belay::contract
