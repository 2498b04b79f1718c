#include "sim/clients/agent_workload.hpp"

#include "protocol/base/probe.hpp"
#include "sim/chance/drawn_parts.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t services_max = 4;
constexpr milliseconds pause{400};
// Above the streams of the other clients.
constexpr std::uint16_t first_stream = 600;

enum class agent_action : std::uint8_t { add, remove, pass, fail, flip };
constexpr share<agent_action> agent_actions[] = {
    {agent_action::add, 10}, {agent_action::remove, 5}, {agent_action::pass, 8},
    {agent_action::fail, 3}, {agent_action::flip, 6},
};
static_assert(numbers_of(agent_actions) == kinds_max);

} // namespace

agent_workload::agent_workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), patience_(s.patience), clients_(nodes.size()) {}

void agent_workload::start() {
  acting_ = true;
  for (std::size_t i = 0; i < clients_.size(); ++i)
    time_.after(pause + milliseconds(53 * i), [this, i] { turn(i); });
}

std::string agent_workload::target_of(std::size_t node, std::size_t number) {
  return "10.0.0." + std::to_string(node + 1) + ":" + std::to_string(9000 + number);
}

// ---- what they do

void agent_workload::turn(std::size_t node) {
  if (!acting_)
    return;
  time_.after(pause, [this, node] { turn(node); });
  if (clients_[node].asked || nodes_.state(node) == node_state::down)
    return;
  const auto drawn = tape_.choose({stream_kind::client, static_cast<std::uint16_t>(first_stream + node)}, drawn_max);
  if (drawn == 0)
    return;
  const auto number = key_part(drawn) % services_max;
  const auto target = target_of(node, number);
  switch (action_of(agent_actions, kind_part(drawn))) {
  case agent_action::add: {
    const auto check = kind_of(number) == kind::ttl ? std::string(R"({"TTL":"2s"})")
                                                    : R"({"TCP":")" + target + R"(","Interval":"1s","Timeout":"1s"})";
    // Another port each time, so that it is news.
    return ask(node, {0, 0, number, true, {}}, "/v1/agent/service/register",
               R"({"Name":"web","ID":")" + id_of(number) + R"(","Port":)" + std::to_string(1 + pause_part(drawn)) +
                   R"(,"Check":)" + check + "}");
  }
  case agent_action::remove:
    return ask(node, {0, 0, number, false, {}}, "/v1/agent/service/deregister/" + id_of(number));
  case agent_action::pass:
    return ask(node, {}, "/v1/agent/check/pass/service:" + id_of(number));
  case agent_action::fail:
    return ask(node, {}, "/v1/agent/check/fail/service:" + id_of(number) + "?note=drawn");
  case agent_action::flip:
    if (failed_.erase(target) == 0)
      failed_.insert(target);
    trace_.add(drawn);
    return;
  }
}

void agent_workload::ask(std::size_t node, pending p, const std::string& target, const std::string& body) {
  p.connection = first_connection + ++connections_;
  p.life = nodes_.life(node);
  trace_.add(p.connection << 8 | node);
  if (trace_.wanted())
    trace_.line(time_.now(), node, "asked PUT " + target + " " + body);
  const auto connection = p.connection;
  clients_[node].asked = std::move(p);
  nodes_.gateway(node).send(connection, "PUT " + target + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\nContent-Length: " +
                                            std::to_string(body.size()) + "\r\n\r\n" + body);
  time_.after(patience_, [this, node, connection] {
    if (clients_[node].asked && clients_[node].asked->connection == connection)
      give_up(node);
  });
}

/// It may have been done, or may be done yet.
void agent_workload::give_up(std::size_t node) {
  auto& c = clients_[node];
  if (c.asked->about)
    c.services[*c.asked->about].sure = false;
  if (nodes_.state(node) != node_state::down && nodes_.life(node) == c.asked->life)
    nodes_.gateway(node).hang_up(c.asked->connection);
  c.asked.reset();
}

// ---- what they hear

bool agent_workload::on_bytes(connection_id connection, std::string_view bytes, bool last) {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const client& each) {
    return each.asked && each.asked->connection == connection;
  });
  if (found == clients_.end())
    return false;
  auto& p = *found->asked;
  p.answer += bytes;
  const auto answer = whole_answer(p.answer, last);
  if (!answer)
    return !last;
  trace_.add(connection << 16 ^ static_cast<std::uint64_t>(answer->status));
  const auto node = static_cast<std::size_t>(found - clients_.begin());
  if (trace_.wanted())
    trace_.line(time_.now(), node, "answered " + std::to_string(answer->status) + " " + answer->body);
  if (answer->status == 200 && p.about) {
    PROBE("clients: service registered or taken away");
    found->services[*p.about] = {p.there, true};
  } else if (p.about ||
             (answer->status != 200 && answer->body.find("does not have associated TTL") == std::string::npos)) {
    if (!complaint_)
      complaint_ = "node " + std::to_string(node) + " answered its agent's client with status " +
                   std::to_string(answer->status) + ": " + answer->body;
  }
  found->asked.reset();
  return false;
}

/// Nothing is kept: the next life of the agent begins without services.
void agent_workload::on_node_gone(std::size_t node) {
  clients_[node] = {};
}

// ---- what has to be so

std::string agent_workload::difference(const std::set<std::size_t>& nodes, const state::machine& catalog) const {
  for (const auto node : nodes)
    if (nodes_.running(node))
      if (auto wrong = difference_at(node, catalog); !wrong.empty())
        return wrong;
  return {};
}

std::string agent_workload::difference_at(std::size_t node, const state::machine& catalog) const {
  const auto& name = nodes_.member(node).name;
  const auto services = catalog.evaluate(state::catalog_node{name});
  const auto health = catalog.evaluate(state::health_node{name});
  const auto& rows = std::get<state::node_services>(services.data).services;
  const auto& checks = std::get<state::checks>(health.data).list;
  for (std::size_t number = 0; number < services_max; ++number) {
    const auto it = clients_[node].services.find(number);
    const auto expected = it == clients_[node].services.end() ? service{} : it->second;
    if (!expected.sure)
      continue;
    const auto id = id_of(number);
    const bool there = std::any_of(rows.begin(), rows.end(), [&](const auto& s) { return s->id == id; });
    if (there != expected.there)
      return "service " + id + " of " + name +
             (there ? " is in the catalog, and should not be" : " is missing in the catalog");
    const auto check = std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c->service_id == id; });
    if ((check != checks.end()) != expected.there)
      return "the check of service " + id + " of " + name + (there ? " is missing" : " outlives it") +
             " in the catalog";
    if (!there)
      continue;
    const bool passes = kind_of(number) == kind::tcp && is_well(target_of(node, number));
    if ((*check)->status != (passes ? "passing" : "critical"))
      return "the check of service " + id + " of " + name + " is " + (*check)->status +
             " in the catalog, and should be " + (passes ? "passing" : "critical") + " (" + (*check)->output + ")";
  }
  return {};
}

} // namespace belay::sim
