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
// The streams of their queries. Older tapes have none, so they have no queries.
constexpr std::uint16_t first_question_stream = 800;

enum class agent_action : std::uint8_t { add, remove, pass, fail, flip };
constexpr share<agent_action> agent_actions[] = {
    {agent_action::add, 10}, {agent_action::remove, 5}, {agent_action::pass, 8},
    {agent_action::fail, 3}, {agent_action::flip, 6},
};
static_assert(numbers_of(agent_actions) == kinds_max);

enum class agent_question : std::uint8_t {
  services,
  checks,
  service,
  service_news,
  fire,
  events,
  event_news,
  maintain
};
constexpr share<agent_question> agent_questions[] = {
    {agent_question::services, 4},     {agent_question::checks, 4},   {agent_question::service, 4},
    {agent_question::service_news, 6}, {agent_question::fire, 3},     {agent_question::events, 3},
    {agent_question::event_news, 5},   {agent_question::maintain, 3},
};
static_assert(numbers_of(agent_questions) == kinds_max);

} // namespace

agent_workload::agent_workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                               answer_time_checker& times)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), timeout_(s.client_timeout),
      hold_(s.peer.queue_timeout), times_(times), swarm_(s), clients_(nodes.node_count()) {}

void agent_workload::start() {
  acting_ = true;
  for (std::size_t i = 0; i < clients_.size(); ++i)
    time_.after(pause + milliseconds(53 * i), [this, i] { step(i); });
}

std::string agent_workload::target_of(std::size_t node, std::size_t number) {
  return "10.0.0." + std::to_string(node + 1) + ":" + std::to_string(9000 + number);
}

// ---- requests

void agent_workload::step(std::size_t node) {
  if (!acting_)
    return;
  time_.after(swarm_.pause_at(time_.now(), pause), [this, node] { step(node); });
  if (nodes_.state(node) == node_state::down)
    return;
  question_step(node);
  if (clients_[node].change.connection != 0)
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
    // A new port each time, so that it is a change.
    return change(node, {0, 0, false, number, true, {}}, "/v1/agent/service/register",
                  R"({"Name":"web","ID":")" + id_of(number) + R"(","Port":)" + std::to_string(1 + pause_part(drawn)) +
                      R"(,"Check":)" + check + "}");
  }
  case agent_action::remove:
    return change(node, {0, 0, false, number, false, {}}, "/v1/agent/service/deregister/" + id_of(number));
  case agent_action::pass:
    return change(node, {}, "/v1/agent/check/pass/service:" + id_of(number));
  case agent_action::fail:
    return change(node, {}, "/v1/agent/check/fail/service:" + id_of(number) + "?note=drawn");
  case agent_action::flip:
    if (failed_.erase(target) == 0)
      failed_.insert(target);
    trace_.add(drawn);
    return;
  }
}

/// The agent answers from its own data at once; blocking queries, when their wait is over.
void agent_workload::question_step(std::size_t node) {
  auto& c = clients_[node];
  if (c.question.connection != 0)
    return;
  const auto drawn =
      tape_.choose({stream_kind::client, static_cast<std::uint16_t>(first_question_stream + node)}, drawn_max);
  if (drawn == 0)
    return;
  const auto number = key_part(drawn) % services_max;
  constexpr milliseconds waits[] = {milliseconds(300), milliseconds(2000), milliseconds(9000)};
  const auto wait = waits[pause_part(drawn) % std::size(waits)];
  const auto waiting = "wait=" + std::to_string(wait.count()) + "ms";
  const auto question = [&](const std::string& request, virtual_time longest = {}) {
    pending p;
    p.question = true;
    const bool passed_on = nodes_.is_agent(node) && request.find(" /v1/event/") != std::string::npos;
    ask(node, std::move(p), passed_on ? answer_time_rules{hold_}.through_agent(longest, true) : longest, request);
  };
  switch (action_of(agent_questions, kind_part(drawn))) {
  case agent_question::services:
    return question("GET /v1/agent/services");
  case agent_question::checks:
    return question("GET /v1/agent/checks");
  case agent_question::service:
    c.hash_of = number;
    return question("GET /v1/agent/service/" + id_of(number));
  case agent_question::service_news:
    if (!c.hash.empty())
      question("GET /v1/agent/service/" + id_of(c.hash_of) + "?hash=" + c.hash + "&" + waiting, wait + wait / 16);
    return;
  case agent_question::fire:
    return question("PUT /v1/event/fire/drawn");
  case agent_question::events:
    return question("GET /v1/event/list");
  case agent_question::event_news:
    if (!c.event_index.empty())
      question("GET /v1/event/list?index=" + c.event_index + "&" + waiting, wait + wait / 16);
    return;
  case agent_question::maintain: // it is a change, but of no service
    return question(std::string("PUT /v1/agent/maintenance?enable=") + (spare_part(drawn) % 2 == 0 ? "true" : "false"),
                    hold_);
  }
}

/// docs/operate/security.md, "Where it is decided": before a denial, servers check again, agents query one.
virtual_time agent_workload::learning_rights(std::size_t node) const {
  if (swarm_.acls == acl_mode::off)
    return {};
  return nodes_.is_agent(node) ? answer_time_rules{hold_}.through_agent({}, true) : virtual_time(hold_);
}

void agent_workload::ask(std::size_t node, pending p, virtual_time longest, const std::string& request,
                         const std::string& body) {
  p.connection = ++connections_;
  p.life = nodes_.life(node);
  longest += learning_rights(node);
  trace_.add(p.connection << 8 | node);
  if (trace_.wanted())
    trace_.line(time_.now(), node, "asked " + request + " " + body);
  const auto connection = p.connection;
  auto& slot = p.question ? clients_[node].question : clients_[node].change;
  slot = std::move(p);
  times_.begun(connection, node, request, longest);
  nodes_.gateway(node).send(connection, request + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n" + token_header(swarm_) +
                                            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  // Only blocking reads may take longer than the hold time.
  const auto wait = longest > hold_ ? longest : virtual_time::zero();
  time_.after(wait + timeout_, [this, node, &slot, connection] {
    if (slot.connection == connection)
      give_up(node, slot);
  });
}

/// It may have been done, or may still be done.
void agent_workload::give_up(std::size_t node, pending& p) {
  if (p.about)
    clients_[node].services[*p.about].sure = false;
  times_.ended(p.connection);
  if (nodes_.state(node) != node_state::down && nodes_.life(node) == p.life)
    nodes_.gateway(node).hang_up(p.connection);
  p = {};
}

// ---- responses

bool agent_workload::on_bytes(connection_id connection, std::string_view bytes, bool last) {
  for (std::size_t node = 0; node < clients_.size(); ++node)
    for (auto* p : {&clients_[node].change, &clients_[node].question}) {
      if (p->connection != connection)
        continue;
      p->answer += bytes;
      const auto answer = whole_answer(p->answer, last);
      if (!answer) {
        if (last)
          give_up(node, *p);
        return !last;
      }
      trace_.add(connection << 16 ^ static_cast<std::uint64_t>(answer->status));
      if (trace_.wanted())
        trace_.line(time_.now(), node, "answered " + std::to_string(answer->status) + " " + answer->body);
      times_.ended(connection);
      understand(node, *p, *answer);
      *p = {};
      return false;
    }
  return false;
}

void agent_workload::understand(std::size_t node, const pending& p, const http_answer& a) {
  if (p.question && a.status == 200)
    return learn(node, a);
  if (p.question && nodes_.is_agent(node) && a.status == 500)
    return; // it was forwarded, and there was no server
  if (swarm_.acls != acl_mode::off && a.status == 500) {
    PROBE("agents: what a token may do is not known");
    return; // nothing has been changed
  }
  if (a.status == 200 && p.about) {
    PROBE("clients: service registered or taken away");
    clients_[node].services[*p.about] = {p.there, true};
    return;
  }
  const bool unknown_service =
      p.question ? a.status == 404 : a.body.find("does not have associated TTL") != std::string::npos;
  if ((p.about || (a.status != 200 && !unknown_service)) && !complaint_)
    complaint_ = "node " + std::to_string(node) + " answered its agent's client with status " +
                 std::to_string(a.status) + ": " + a.body;
}

void agent_workload::learn(std::size_t node, const http_answer& a) {
  auto& c = clients_[node];
  if (const auto* hash = a.header("X-Consul-ContentHash"); hash != nullptr)
    c.hash = *hash;
  if (const auto* index = a.header("X-Consul-Index"); index != nullptr)
    c.event_index = *index;
}

/// A server does not keep services: its agent has none after a restart. A client agent keeps them
/// on its disk.
void agent_workload::on_node_gone(std::size_t node) {
  auto& c = clients_[node];
  for (const auto* p : {&c.change, &c.question})
    times_.ended(p->connection);
  auto services = nodes_.is_agent(node) ? std::move(c.services) : std::map<std::size_t, service>();
  if (c.change.about)
    services[*c.change.about].sure = false;
  c = {};
  if (nodes_.is_agent(node))
    c.services = std::move(services);
}

/// Its next life begins without services.
void agent_workload::on_disk_lost(std::size_t node) {
  clients_[node].services.clear();
}

// ---- rules

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
