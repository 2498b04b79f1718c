#include "sim/clients/restart_tour.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/environment/connection_numbers.hpp"

#include <algorithm>
#include <utility>

namespace belay::sim {

namespace {

/// Ids that it requests: above those of all clients (lock_client.cpp, once_client.cpp).
constexpr std::uint64_t first_tour_id = std::uint64_t{5'000} << 32;
/// All kinds take some minutes of virtual time, so most runs do some of them.
constexpr std::size_t kinds_of_a_part = 12;

// Until a request is in its queue.
constexpr std::chrono::seconds long_enough_to_wait{1};

bool is_of_acls(std::string_view command) {
  return command.starts_with("acl_");
}

} // namespace

restart_tour::restart_tour(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), swarm_(s),
      exchanges_(time, trace, nodes, counted_from(connections_of::restart_tour)) {}

std::string restart_tour::id_of(std::size_t request) const {
  return uuid_of(first_tour_id + kinds_run_, request);
}

std::string restart_tour::filled_in(std::string text, std::size_t requests) const {
  const auto replace = [&text](const std::string& what, const std::string& by) {
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  replace("$k", "t" + std::to_string(kinds_run_));
  replace("$fence", fence_);
  for (std::size_t i = 1; i <= requests + 1; ++i)
    replace("$" + std::to_string(i), id_of(i));
  if (text == "$archive")
    return archive_;
  if (text == "$half")
    return archive_.substr(0, archive_.size() / 2);
  return text;
}

void restart_tour::learn(const http_answer& a) {
  // An acquire returns it in a header, a claim in the body.
  if (const auto* fence = a.header("X-Belay-Fence"))
    fence_ = *fence;
  constexpr std::string_view member = "\"Fence\":";
  if (const auto at = a.body.find(member); at != a.body.npos) {
    const auto from = at + member.size();
    fence_ = a.body.substr(from, a.body.find_first_not_of("0123456789", from) - from);
  }
}

broken restart_tour::send(const operation_kind& kind, const example_step& step, std::size_t requests, const steps& by) {
  // A leader with a stalled disk steps down; its writes are unknown, and the client retries.
  constexpr int times_max = 3;
  const auto what = kind.name + ": " + step.method + ' ' + filled_in(step.target, requests);
  auto answer = send_once(step, requests, by);
  for (int i = 1; i < times_max && answer && answer->body.starts_with(forward::leadership_lost); ++i) {
    if (!by.until(by.settled))
      return "the servers do not agree after a request whose outcome is unknown";
    answer = send_once(step, requests, by);
  }
  if (!answer)
    return what + ' ' + answer.error();
  return step.takes_all && answer->status != 200
             ? broken(what + " was answered with status " + std::to_string(answer->status) + ": " +
                      answer->body.substr(0, 300))
             : std::nullopt;
}

result<http_answer> restart_tour::send_once(const example_step& step, std::size_t requests, const steps& by) {
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.running(i))
      there.push_back(i);
  if (there.empty())
    return failure{"was not sent: no server runs"};
  // An agent stores its own requests.
  const bool of_agent = step.target.starts_with("/v1/agent/");
  const auto node = there[of_agent ? home_ % there.size() : draw(there.size())];
  const auto id = id_of(requests + 1);
  const auto target = filled_in(step.target, requests);
  const auto body = filled_in(step.body, requests);
  auto text = step.method + ' ' + target + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n";
  if (swarm_.acls != acl_mode::off)
    text += std::string("X-Consul-Token: ") + master_token + "\r\n";
  if (step.keyed)
    text += "Idempotency-Key: " + id + "\r\n";
  if (step.method != "GET")
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;
  if (trace_.wanted())
    trace_.line(time_.now(), node, "asked " + step.method + ' ' + target + ' ' + body.substr(0, 200));
  std::optional<exchange_end> end;
  const auto connection = exchanges_.send(
      node, std::move(text), [&end](exchange_end e) { end = std::move(e); }, id);
  if (step.left) {
    const bool over = !by.pass(long_enough_to_wait);
    exchanges_.hang_up(connection);
    return over ? result<http_answer>(failure{"was not left: the run is over"}) : http_answer{};
  }
  if (!by.until([&end] { return end.has_value(); }))
    return failure{"was not answered by node " + std::to_string(node)};
  if (!end->answer)
    return failure{"got no answer: " + end->why};
  const auto& a = *end->answer;
  if (trace_.wanted())
    trace_.line(time_.now(), node, "answered " + std::to_string(a.status) + ' ' + a.body.substr(0, 200));
  learn(a);
  if (step.method == "GET" && target == "/v1/snapshot")
    archive_ = a.body;
  return std::move(*end->answer);
}

/// The newest checkpoint of each server has all up to that index.
bool restart_tour::in_checkpoints(log_index up_to) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto info = nodes_.disk(i).checkpoints()->info();
    if (nodes_.machine(i) != nullptr && (!info || !*info || (*info)->meta.index < up_to))
      return false;
  }
  return true;
}

broken restart_tour::restart(const std::string& after, const steps& by) {
  if (!by.until(by.settled))
    return "after " + after + " the servers do not agree";
  if (!swarm_.log_alone) {
    log_index newest;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (const auto* machine = nodes_.machine(i))
        newest = std::max(newest, machine->applied_index());
    if (!by.until([&] { return in_checkpoints(newest); }))
      return "after " + after + " there is no checkpoint with entry " + to_string(newest);
    PROBE("restarts: with all of a kind in the checkpoint");
  } else {
    PROBE("restarts: with all of a kind in the log");
  }
  const auto which = draw(nodes_.size() + 1); // 0: all
  const bool power = draw(2) == 1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if ((which != 0 && which != i + 1) || nodes_.state(i) == node_state::down)
      continue;
    if (trace_.wanted())
      trace_.line(time_.now(), i, power ? "loses its power" : "is killed");
    if (power)
      nodes_.power_off(i);
    else
      nodes_.kill(i);
  }
  const auto all_run = [this] {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!nodes_.running(i))
        return false;
    return true;
  };
  if (!by.until([&] { return all_run() && by.settled(); }))
    return "after " + after + " and a restart the servers do not agree";
  return std::nullopt;
}

broken restart_tour::run_kind(const operation_kind& kind, const steps& by) {
  ++kinds_run_;
  if (kind.steps.empty())
    return "there is no example of " + kind.name;
  if (trace_.wanted())
    trace_.line(time_.now(), no_node, "kind " + kind.name);
  home_ = draw(nodes_.size());
  std::size_t requests = 0;
  for (const auto& step : kind.steps) {
    if (step.wait > step.wait.zero()) {
      if (!by.pass(step.wait))
        return std::nullopt;
    } else if (auto wrong = send(kind, step, requests++, by)) {
      return wrong;
    }
  }
  return restart(kind.name, by);
}

broken restart_tour::prepare(const steps& by) {
  if (!by.until([&] { return by.settled() && !nodes_.acls_wait_for_all(); }))
    return "the servers do not find each other";
  const operation_kind node{
      "the node of sessions",
      {{{},
        "PUT",
        "/v1/catalog/register",
        R"({"Node":"tour","Address":"10.0.0.9","Checks":[{"Node":"tour","CheckID":"serfHealth","Name":"alive","Status":"passing"}]})"}}};
  return run_kind(node, by);
}

broken restart_tour::run(const steps& by) {
  auto all = operation_kinds();
  std::erase_if(all, [this](const operation_kind& k) { return k.needs_acls && swarm_.acls == acl_mode::off; });
  if (auto wrong = prepare(by))
    return wrong;
  const auto first = draw(all.size() + 1); // 0: all of them
  const auto count = first == 0 ? all.size() : std::min(kinds_of_a_part, all.size());
  for (std::size_t i = 0; i < count; ++i)
    if (auto wrong = run_kind(all[(first + i) % all.size()], by))
      return wrong;
  if (first != 0)
    return std::nullopt;
  const auto names = names_of_commands();
  const auto cannot_commit = [this](std::string_view name) {
    // Simulated servers have a master token, so every bootstrap is rejected before the log.
    return name == "acl_bootstrap" || (is_of_acls(name) && swarm_.acls == acl_mode::off);
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!committed_.contains(i) && !cannot_commit(names[i]))
      return "no example leads to the command " + std::string(names[i]);
  PROBE("restarts: after every kind of operation");
  return std::nullopt;
}

void restart_tour::committed(const raft::entry& e) {
  if (e.kind != raft::entry_kind::command)
    return;
  if (const auto c = wire::decode_command(*e.data))
    committed_.insert(c->index());
}

} // namespace belay::sim
