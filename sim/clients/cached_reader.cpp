#include "sim/clients/cached_reader.hpp"

#include "protocol/base/probe.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds pause_of_readers{350};
// Higher than the streams of agents' other clients.
constexpr std::uint16_t first_reader_stream = 900;
constexpr seconds reader_timeout{20};
// An agent queries again after at most 10 s, and then within a link's silence.
constexpr seconds asks_again{14};
// "As soon as for any watcher, but at most ten times a second."
constexpr seconds refreshed_within{1};
// The largest error from rounding to milliseconds, on all hops together.
constexpr milliseconds rounding{5};

} // namespace

cached_reader::client::client() : services(2 * asks_again) {}

cached_reader::cached_reader(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                             virtual_time watched_within)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), refreshed_within_(refreshed_within + watched_within),
      token_header_(token_header(s)), clients_(nodes.node_count() - nodes.size()) {}

void cached_reader::start() {
  acting_ = true;
  for (std::size_t i = 0; i < clients_.size(); ++i)
    time_.after(seconds(2) + milliseconds(67 * i), [this, i] { step(i); });
}

void cached_reader::step(std::size_t agent) {
  if (!acting_)
    return;
  time_.after(pause_of_readers, [this, agent] { step(agent); });
  auto& c = clients_[agent];
  if (c.connection != 0 || nodes_.state(nodes_.size() + agent) == node_state::down)
    return;
  constexpr std::uint64_t questions = 8;
  const auto drawn =
      tape_.choose({stream_kind::client, static_cast<std::uint16_t>(first_reader_stream + agent)}, questions);
  c.max_age.reset();
  if (drawn == 0)
    return;
  c.about = drawn % 2 == 0 ? subject::services : subject::datacenters;
  if (drawn == 1 || drawn == 3)
    c.max_age = seconds(drawn);
  ask(agent, c.about == subject::services ? "/v1/catalog/services" : "/v1/catalog/datacenters");
}

void cached_reader::ask(std::size_t agent, const std::string& path) {
  auto& c = clients_[agent];
  const auto node = nodes_.size() + agent;
  c.connection = ++connections_;
  c.requested = time_.now();
  c.answer.clear();
  look_at_servers(agent);
  auto request = "GET " + path + "?cached HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n" + token_header_;
  if (c.max_age)
    request += "Cache-Control: max-age=" + std::to_string(c.max_age->count()) + "\r\n";
  trace_.add(c.connection << 8 | node);
  if (trace_.wanted())
    trace_.line(time_.now(), node,
                "asked " + path + "?cached" + (c.max_age ? " at most " + in_seconds(*c.max_age) + " old" : ""));
  nodes_.gateway(node).send(c.connection, request + "\r\n");
  time_.after(reader_timeout, [this, agent, connection = c.connection] {
    if (clients_[agent].connection == connection)
      give_up(agent);
  });
}

/// The response may still come, and be cached.
void cached_reader::give_up(std::size_t agent) {
  auto& c = clients_[agent];
  const auto node = nodes_.size() + agent;
  if (nodes_.state(node) != node_state::down)
    nodes_.gateway(node).hang_up(c.connection);
  c.connection = 0;
  c.sure = false;
}

/// Its cache is gone with it.
void cached_reader::on_node_gone(std::size_t node) {
  if (nodes_.is_agent(node))
    clients_[node - nodes_.size()] = {};
}

bool cached_reader::on_bytes(connection_id connection, std::string_view bytes, bool last) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    auto& c = clients_[i];
    if (c.connection != connection)
      continue;
    c.answer += bytes;
    const auto answer = whole_answer(c.answer, last);
    if (!answer) {
      if (last)
        give_up(i);
      return !last;
    }
    trace_.add(connection << 16 ^ static_cast<std::uint64_t>(answer->status));
    if (trace_.wanted())
      trace_.line(time_.now(), nodes_.size() + i,
                  "answered " + std::to_string(answer->status) +
                      " from the cache: " + (answer->header("X-Cache") ? *answer->header("X-Cache") : "-"));
    if (auto wrong = check(i, *answer); wrong && !complaint_)
      complaint_ =
          "agent " + std::to_string(i) + " answered a read with ?cached of " + in_seconds(c.requested) + ": " + *wrong;
    const auto* how = answer->header("X-Cache");
    if (c.about == subject::datacenters && answer->status == 200 && how != nullptr && *how == "MISS") {
      c.fetched = time_.now();
      c.sure = true;
    }
    c.connection = 0;
    return false;
  }
  return false;
}

// ---- rules

broken cached_reader::check(std::size_t agent, const http_answer& a) const {
  const auto& c = clients_[agent];
  if (a.status == 500)
    return std::nullopt; // no server, or no leader
  const auto* how = a.header("X-Cache");
  if (a.status != 200 || how == nullptr || (*how != "HIT" && *how != "MISS"))
    return "status " + std::to_string(a.status) + (how == nullptr ? ", and no X-Cache" : ", X-Cache: " + *how);
  const bool hit = *how == "HIT";
  if (hit && a.header("Age") == nullptr)
    return std::string("from the cache, and no Age");
  if (hit)
    PROBE("agents: answered from the cache");
  return c.about == subject::datacenters ? check_datacenters(c, hit) : check_services(c, a);
}

broken cached_reader::check_datacenters(const client& c, bool hit) const {
  if (!hit || !c.sure)
    return std::nullopt;
  if (!c.fetched)
    return std::string("from the cache, although no server has answered");
  if (c.max_age && c.requested - *c.fetched > *c.max_age + rounding)
    return "a server sent it at " + in_seconds(*c.fetched) + ", and may be " + in_seconds(*c.max_age) + " old";
  return std::nullopt;
}

broken cached_reader::check_services(const client& c, const http_answer& a) const {
  if (c.requested - quiet_since_ < asks_again)
    return std::nullopt;
  const auto known = c.services.since(c.requested - refreshed_within_);
  const auto* index = a.header("X-Consul-Index");
  if (index == nullptr)
    return std::string("a list of services without an index");
  if (std::stoull(*index) < known.value)
    return "services of index " + *index + ", although all servers that it asks had index " + to_string(known) +
           " for " + in_seconds(refreshed_within_) + ", and nothing was disturbed since " + in_seconds(quiet_since_);
  return std::nullopt;
}

void cached_reader::look(virtual_time last_fault, virtual_time quiet_since) {
  quiet_since_ = std::max(last_fault, quiet_since);
  for (std::size_t i = 0; i < clients_.size(); ++i)
    look_at_servers(i);
}

void cached_reader::restored() {
  for (auto& c : clients_)
    c.services.note(time_.now(), log_index{});
}

/// A response shows what the queried server has applied, as watchers see it. It may be far behind.
void cached_reader::look_at_servers(std::size_t agent) {
  std::optional<log_index> least;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.connections_of_agents().is_connected(nodes_.size() + agent, i)) {
      const auto* machine = nodes_.machine(i);
      const auto has = machine == nullptr ? log_index{} : machine->index_of(state::catalog_services{});
      least = std::min(least.value_or(has), has);
    }
  clients_[agent].services.note(time_.now(), least.value_or(log_index{}));
}

} // namespace belay::sim
