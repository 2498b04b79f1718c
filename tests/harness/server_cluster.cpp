#include "tests/harness/server_cluster.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace belay::harness {

namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

std::optional<std::uint64_t> number_in(const json::value* value) {
  if (!value)
    return std::nullopt;
  if (value->is_string()) {
    try {
      return std::stoull(std::string(value->as_string()));
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  boost::system::error_code ec;
  auto number = value->to_number<std::uint64_t>(ec);
  return ec ? std::nullopt : std::optional(number);
}

json::value parsed(const http_reply& reply) {
  boost::system::error_code ec;
  auto value = json::parse(reply.body, ec);
  return ec || !reply.ok() ? json::value() : value;
}

/// A node ID that differs between nodes and stays the same when a node loses its data.
std::string node_id(std::size_t i) {
  return "b31a9000-0000-4000-8000-00000000000" + std::to_string(i + 1);
}

} // namespace

bool eventually(milliseconds limit, const std::function<bool()>& holds) {
  auto end = steady_clock::now() + limit;
  for (;;) {
    if (holds())
      return true;
    if (steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(milliseconds{20});
  }
}

server_cluster::server_cluster(const server_command& command, cluster_options options)
    : command_(command), options_(std::move(options)) {
  for (std::size_t i = 0; i < size() + options_.agents; ++i) {
    auto name = options_.name + (i ? "-" + std::to_string(i + 1) : "");
    auto folder = folder_.path() / name;
    std::filesystem::create_directories(folder);
    nodes_.push_back(std::make_unique<server_node>(command_, name, folder));
  }
  if (options_.relayed) {
    std::vector<relayed_server> servers;
    for (std::size_t i = 0; i < size(); ++i)
      servers.push_back({nodes_[i]->server_port(), nodes_[i]->config_file().string()});
    relays_ = std::make_unique<peer_relays>(std::move(servers));
  }
  configure();
}

server_cluster::~server_cluster() {
  for (auto& node : nodes_)
    node->kill_hard();
}

std::string server_cluster::peer_address(std::size_t i) const {
  return relays_ != nullptr ? relays_->address(i) : "127.0.0.1:" + std::to_string(nodes_[i]->server_port());
}

json::object server_cluster::config_of(std::size_t i) const {
  json::object config = options_.config;
  if (i >= size()) {
    json::array servers;
    for (std::size_t s = 0; s < size(); ++s)
      servers.push_back(json::value("127.0.0.1:" + std::to_string(nodes_[s]->server_port())));
    config["server"] = false;
    config["retry_join"] = servers;
    return config;
  }
  if (size() == 1) {
    config["bootstrap"] = true;
    return config;
  }
  json::array join;
  for (std::size_t s = 0; s < size(); ++s)
    join.push_back(json::value(relays_ != nullptr ? relays_->address(s) : nodes_[s]->join_address()));
  config["retry_join"] = join;
  config["retry_interval"] = "1s";
  config["node_id"] = node_id(i);
  if (relays_ != nullptr)
    config["advertise_addr"] = peer_relays::host(i);
  if (options_.replicas > 0)
    config["admit_unverified_servers"] = true; // the old name: servers of 0.2.0 are started with it, too
  if (i < voters())
    config["bootstrap_expect"] = voters();
  else
    config["read_replica"] = true;
  return config;
}

void server_cluster::configure(const json::object& more) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    configure_one(i, more);
}

void server_cluster::configure_one(std::size_t i, const json::object& more) {
  auto config = config_of(i);
  for (const auto& [key, value] : more)
    config[key] = value;
  nodes_[i]->configure(config);
}

void server_cluster::start_all() {
  for (auto& node : nodes_)
    node->start();
}

void server_cluster::stop_all() {
  for (auto& node : nodes_)
    node->stop();
}

std::optional<std::size_t> server_cluster::leader_according_to(std::size_t requested) {
  auto answer = parsed(nodes_[requested]->get("/v1/status/leader", milliseconds{1000}));
  if (!answer.is_string())
    return std::nullopt;
  auto address = std::string(answer.as_string());
  for (std::size_t i = 0; i < size(); ++i)
    if (address == peer_address(i))
      return i;
  return std::nullopt;
}

std::size_t server_cluster::wait_leader(milliseconds limit) {
  std::size_t leader = 0;
  bool found = eventually(limit, [&] {
    std::optional<std::size_t> agreed;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!nodes_[i]->running() || nodes_[i]->paused())
        continue;
      auto named = leader_according_to(i);
      if (!named || (agreed && *agreed != *named))
        return false;
      agreed = named;
    }
    if (!agreed || !nodes_[*agreed]->running() || nodes_[*agreed]->paused())
      return false;
    leader = *agreed;
    auto read = nodes_[leader]->get("/v1/kv/?consistent&keys", milliseconds{2000});
    return read.status == 200 || read.status == 404;
  });
  if (!found)
    throw std::runtime_error("no leader that all agree on" + logs());
  return leader;
}

void server_cluster::wait_ready(milliseconds limit) {
  auto end = steady_clock::now() + limit;
  wait_leader(limit);
  bool ready = eventually(std::chrono::duration_cast<milliseconds>(end - steady_clock::now()), [&] {
    for (std::size_t i = 0; i < size(); ++i) {
      auto& node = nodes_[i];
      if (!node->running() || node->paused())
        continue;
      auto peers = parsed(node->get("/v1/status/peers", milliseconds{1000}));
      if (!peers.is_array() || peers.as_array().size() != size())
        return false;
      for (auto mode : {"/v1/kv/?keys", "/v1/kv/?keys&stale"}) {
        auto read = node->get(mode, milliseconds{2000});
        if (read.status != 200 && read.status != 404)
          return false;
      }
    }
    return true;
  });
  if (!ready)
    throw std::runtime_error("not all nodes are ready" + logs());
}

bool server_cluster::is_passing(std::size_t requested, const std::string& node) {
  const auto checks = parsed(nodes_[requested]->get("/v1/health/node/" + node, milliseconds{2000}));
  return checks.is_array() && std::ranges::any_of(checks.as_array(), [](const json::value& c) {
           return c.at("CheckID") == "serfHealth" && c.at("Status") == "passing";
         });
}

void server_cluster::wait_registered(std::size_t i) {
  if (!eventually(milliseconds{30000}, [&] { return is_passing(i, nodes_[i]->name()); }))
    throw std::runtime_error(nodes_[i]->name() + " is not in the catalog" + logs());
}

void server_cluster::wait_agents(milliseconds limit) {
  const bool ready = eventually(limit, [&] {
    for (std::size_t i = size(); i < nodes_.size(); ++i)
      if (nodes_[i]->running() && !nodes_[i]->paused() && !is_passing(i, nodes_[i]->name()))
        return false;
    return true;
  });
  if (!ready)
    throw std::runtime_error("not all client agents are ready" + logs());
}

node_state server_cluster::state_of(std::size_t i) {
  node_state out;
  auto self = parsed(nodes_[i]->get("/v1/agent/self", milliseconds{2000}));
  boost::system::error_code ec;
  out.applied_index = number_in(self.find_pointer("/Stats/raft/applied_index", ec));
  const auto* digest = self.find_pointer("/Stats/raft/state_digest", ec);
  if (digest && digest->is_string())
    out.state_digest = std::string(digest->as_string());
  return out;
}

std::string server_cluster::wait_equal(milliseconds limit) {
  std::string difference;
  eventually(limit, [&] {
    difference.clear();
    std::vector<node_state> states;
    for (std::size_t i = 0; i < size(); ++i)
      states.push_back(state_of(i));
    for (const auto& state : states) {
      if (!state.applied_index)
        difference = "a node does not tell its applied_index";
      else if (state.applied_index != states[0].applied_index)
        difference = "applied_index differs";
      else if (state.state_digest != states[0].state_digest)
        difference = "state_digest differs at the same applied_index";
      else if (state.state_digest.empty() && !command_.is_reference())
        difference = "a node does not tell its state_digest";
    }
    if (!difference.empty())
      for (const auto& state : states)
        difference += "; " + std::to_string(state.applied_index.value_or(0)) + " " + state.state_digest;
    return difference.empty();
  });
  return difference;
}

std::string server_cluster::logs() {
  std::string out;
  for (auto& node : nodes_)
    out +=
        "\n--- " + node->name() + (node->running() ? "" : " (not running)") + "\n" + file_tail(node->log_file(), 2000);
  return out;
}

} // namespace belay::harness
