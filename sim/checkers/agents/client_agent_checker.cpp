#include "sim/checkers/agents/client_agent_checker.hpp"

#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// An agent is critical 5 s after its last report, which is up to 1 s old. Clocks may differ by a
// tenth; the leader checks four times a second, asks a quorum and writes.
constexpr seconds noticed_within{8};
// A report arrives at once; the leader may have to repeat writes made during the outage.
constexpr seconds back_within{8};
// One outage of this length makes no agent critical: a lost report is repeated in time.
constexpr milliseconds harmless{2100};
// Older outages do not matter: 5 s of silence, and 3 s until a lost report is missed.
constexpr seconds remembered{9};
constexpr std::int64_t clock_bound_ppm = 100'000;
// Another node ID under the same name counts when its predecessor has been silent for 5 s.
constexpr seconds renewal_takes{15};

/// For exactly that agent: its predecessor of that name becomes critical before it gets the name.
bool is_critical(const state::catalog_register& r, const raft::member& agent) {
  return r.node.node == agent.name && r.node.id == agent.uuid &&
         std::any_of(r.checks.begin(), r.checks.end(), [](const state::check_record& c) {
           return c.check_id == agent::liveness_check && c.status == "critical";
         });
}

} // namespace

client_agent_checker::client_agent_checker(const cluster& nodes, const simulated_network& net)
    : nodes_(nodes), net_(net), agents_(nodes.node_count() - nodes.size()) {}

// ---- the true state

bool client_agent_checker::servers_work() const {
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (nodes_.life(a) == 0)
      continue; // it has not joined yet
    const auto& disk = nodes_.disk(a);
    if (!nodes_.running(a) || disk.full() || disk.stalled_until() > now_ || disk.hanging_write_until() > now_)
      return false;
    for (std::size_t b = 0; b < a; ++b)
      if (nodes_.life(b) != 0 && (!net_.connected(a, b) || net_.is_cut(a, b) || net_.is_cut(b, a)))
        return false;
  }
  return true;
}

bool client_agent_checker::is_unheard(std::size_t node) const {
  if (!nodes_.running(node))
    return true;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.life(i) != 0 && !nodes_.connections_of_agents().is_cut_to(node, i))
      return false;
  return true;
}

bool client_agent_checker::is_up(std::size_t node) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.connections_of_agents().is_cut(node, i))
      return false;
  const auto* doors = nodes_.doors();
  return nodes_.running(node) && (doors == nullptr || !doors->keeps_out(node));
}

const state::check_record* client_agent_checker::liveness_of(const state::machine& catalog, std::size_t node) const {
  const auto found = catalog.evaluate(state::health_node{nodes_.member(node).name});
  for (const auto& c : std::get<state::checks>(found.data).list)
    if (c->check_id == agent::liveness_check)
      return c.get(); // which the machine has, too
  return nullptr;
}

bool client_agent_checker::is_own_row(const state::machine& catalog, std::size_t node) const {
  const auto found = catalog.evaluate(state::catalog_node{nodes_.member(node).name});
  const auto* rows = std::get_if<state::node_services>(&found.data);
  return rows != nullptr && rows->node && rows->node->id == nodes_.member(node).uuid;
}

// ---- rules

broken client_agent_checker::committed(const raft::entry& e, virtual_time made) {
  if (e.kind != raft::entry_kind::command || agents_.empty())
    return std::nullopt;
  const auto command = wire::decode_command(*e.data);
  const auto* r = command ? std::get_if<state::catalog_register>(&*command) : nullptr;
  if (r == nullptr)
    return std::nullopt;
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const auto node = nodes_.size() + i;
    if (!is_critical(*r, nodes_.member(node)))
      continue;
    PROBE("agents: the leader takes one for dead");
    std::size_t count = 0;
    virtual_time lost{0};
    for (const auto& o : agents_[i].outages)
      if (const auto to = std::min(o.to, made); to + remembered > made && o.from < made) {
        ++count;
        lost += to - o.from;
      }
    if (count <= 1 && lost <= harmless)
      return "entry " + to_string(e.index) + ", made at " + in_seconds(made) + ", says that " +
             nodes_.member(node).name + " is dead, although it ran and could reach the servers all the time" +
             (count == 0 ? std::string() : " but for " + in_seconds(lost));
  }
  return std::nullopt;
}

broken client_agent_checker::look(virtual_time now, virtual_time last_fault, const std::vector<virtual_time>& renewed) {
  if (agents_.empty())
    return std::nullopt;
  now_ = now;
  const auto leader = nodes_.leader();
  const bool work = servers_work() && leader;
  if (const auto term = leader ? nodes_.view(*leader).soft.term : term_id{}; !work || term != led_in_) {
    quiet_since_ = now;
    led_in_ = term;
  }
  quiet_since_ = std::max(quiet_since_, last_fault);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const auto node = nodes_.size() + i;
    auto& a = agents_[i];
    const bool begins_anew = renewed[i] != virtual_time::zero() &&
                             now < renewed[i] + renewal_takes * (leader ? slowness(*leader, node) : 1.0);
    const bool up = is_up(node) && !begins_anew;
    if (is_unheard(node) && !begins_anew)
      a.dead = a.dead.value_or(now);
    else
      a.dead.reset();
    if (up)
      a.up = a.up.value_or(now);
    else
      a.up.reset();
    const bool goes_on = !a.outages.empty() && a.outages.back().to == virtual_time::max();
    if (const bool disturbed = !up || !work; disturbed && !goes_on)
      a.outages.push_back({std::max(last_fault, now - milliseconds(200)), virtual_time::max()});
    else if (!disturbed && goes_on)
      a.outages.back().to = now;
    else if (!disturbed && a.fault != last_fault) // over before it was seen
      a.outages.push_back({last_fault, now});
    a.fault = last_fault;
    while (!a.outages.empty() && a.outages.front().to < now - 3 * remembered)
      a.outages.pop_front();
  }
  if (auto b = look_at_configurations())
    return b;
  return look_at_rows(now);
}

broken client_agent_checker::look_at_configurations() const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (const auto* core = nodes_.core(i))
      for (const auto& m : core->config().members)
        for (std::size_t a = nodes_.size(); a < nodes_.node_count(); ++a)
          if (m.id == nodes_.id_of(a) || m.name == nodes_.member(a).name || m.uuid == nodes_.member(a).uuid)
            return "client agent " + m.name + " is a member of the configuration of node " + std::to_string(i);
  return std::nullopt;
}

/// The limits include clocks within the stated bound; a slower clock multiplies them.
double client_agent_checker::slowness(std::size_t leader, std::size_t agent) const {
  const auto slowest = std::min(nodes_.clock(leader).rate_ppm(), nodes_.clock(agent).rate_ppm());
  return slowest < -clock_bound_ppm ? 1e6 / static_cast<double>(1'000'000 + slowest) : 1.0;
}

broken client_agent_checker::look_at_rows(virtual_time now) {
  const auto leader = nodes_.leader();
  const auto* machine = leader ? nodes_.machine(*leader) : nullptr;
  if (machine == nullptr || restored_)
    return std::nullopt;
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const auto node = nodes_.size() + i;
    const auto& a = agents_[i];
    const auto& name = nodes_.member(node).name;
    const auto slow = slowness(*leader, node);
    const auto long_since = [&](const std::optional<virtual_time>& t, virtual_time limit) {
      return t && now - std::max(*t, quiet_since_) > limit * slow;
    };
    const bool lost = long_since(a.dead, noticed_within), there = long_since(a.up, back_within);
    if (!lost && !there)
      continue;
    const auto* row = liveness_of(*machine, node);
    if (lost && row != nullptr && row->status != "critical")
      return "no server has received messages of " + name + " since " + in_seconds(*a.dead) +
             ", no other fault was injected since " + in_seconds(quiet_since_) + ", and it is still " + row->status;
    if (there && (row == nullptr || row->status != "passing" || !is_own_row(*machine, node)))
      return name + " has run and reached the servers since " + in_seconds(*a.up) + ", no fault was injected since " +
             in_seconds(quiet_since_) + ", and it is " +
             (row == nullptr             ? "not in the catalog"
              : row->status != "passing" ? row->status
                                         : "there with another node ID");
    broken b;
    if (lost && row != nullptr)
      machine->for_each_session([&](const state::session_ptr& s) {
        const auto& checks = s->node_checks;
        if (s->node == name && checks &&
            std::find(checks->begin(), checks->end(), agent::liveness_check) != checks->end())
          b = "session " + s->id + " lives on, although " + name + " is dead";
      });
    if (b)
      return b;
  }
  return std::nullopt;
}

std::string client_agent_checker::difference(const state::machine& catalog) const {
  if (restored_)
    return {};
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const auto node = nodes_.size() + i;
    const auto* row = liveness_of(catalog, node);
    const std::string wanted = nodes_.running(node) ? "passing" : "critical";
    if (row != nullptr && nodes_.running(node) && !is_own_row(catalog, node))
      return nodes_.member(node).name + " is in the catalog with another node ID";
    if (row == nullptr ? nodes_.running(node) : row->status != wanted)
      return "the health of " + nodes_.member(node).name + " is " + (row == nullptr ? "not registered" : row->status) +
             " in the catalog, and should be " + wanted;
  }
  return {};
}

} // namespace belay::sim
