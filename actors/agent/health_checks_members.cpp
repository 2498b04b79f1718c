// health_checks: the members' rows in the catalog, which the leader keeps (docs/contract/08).

#include "actors/agent/health_checks.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// What was proposed is applied by then, or lost with a leadership.
constexpr std::chrono::seconds look_again_first{1};
// Consul's reconcile interval. Also the longest pause after writes that do not help, as when a client's node has the
// name.
constexpr std::chrono::seconds look_again_at_last{60};
// As with any read: raft_peer answers everything.
constexpr std::chrono::seconds read_limit{60};

} // namespace

void health_checks::on_members_heard(const members_heard& h) {
  heard_ = h;
  members_have_news();
  look_at_members_if_due();
}

void health_checks::members_have_news() {
  looking_.reset(); // what was asked before may be out of date
  look_at_ = agent::local_time{0};
  look_again_after_ = look_again_first;
  tick_soon();
}

void health_checks::look_at_members_if_due() {
  const auto t = now();
  if (!view_.serving || heard_.term != view_.soft.term || view_.config.joint()) {
    looking_.reset();
    return;
  }
  if (t < look_at_ || (looking_ && t < looking_->deadline))
    return;
  looking_ = member_look{};
  looking_->deadline = t + read_limit;
  looking_->waits_for = ask_catalog(state::catalog_nodes{});
}

bool health_checks::on_member_rows(const read_result& r) {
  if (!looking_ || r.id != looking_->waits_for)
    return false;
  const auto* found = std::get_if<state::query_result>(&r.answer);
  const auto* nodes = found != nullptr ? std::get_if<state::nodes>(&found->data) : nullptr;
  const auto* instances = found != nullptr ? std::get_if<state::service_instances>(&found->data) : nullptr;
  if (nodes != nullptr && !looking_->nodes_known) {
    looking_->found.nodes = nodes->list;
    looking_->nodes_known = true;
    state::health_service servers;
    servers.service = agent::server_service;
    looking_->waits_for = ask_catalog(std::move(servers));
    return true;
  }
  if (instances == nullptr) { // no leader just now: there will be news
    look_at_ = now() + look_again_first;
  } else {
    looking_->found.instances = instances->list;
    write_member_changes(looking_->found);
  }
  looking_.reset();
  return true;
}

void health_checks::write_member_changes(const agent::member_rows& found) {
  std::vector<agent::cluster_member> members;
  for (const auto& m : view_.config.members) {
    const auto heard =
        std::find_if(heard_.list.begin(), heard_.list.end(), [&](const auto& h) { return h.first == m.id; });
    members.push_back(agent::member_of(m.uuid, m.name, m.address,
                                       heard != heard_.list.end() ? std::optional(heard->second) : std::nullopt));
  }
  const auto changes = agent::member_changes(members, found, settings_.agent.registry.node.datacenter);
  if (changes.empty()) {
    look_again_after_ = look_again_first;
    look_at_ = now() + look_again_at_last;
    return;
  }
  for (const auto& c : changes) {
    const auto* gone = std::get_if<state::catalog_deregister>(&c);
    const auto* there = std::get_if<state::catalog_register>(&c);
    log::info("health_checks",
              gone != nullptr ? "server left, its node is deregistered" : "member's health is registered",
              {{"node", gone != nullptr ? gone->node : there->node.node},
               {"status", gone != nullptr ? std::string("left") : there->checks.front().status},
               {"term", heard_.term.value}});
    // Only while this term lasts; whether it helped is seen with the next look.
    send(wires_->raft_peer, propose_internal{heard_.term, make_payload(wire::encode_command(c))});
  }
  look_at_ = now() + look_again_after_;
  look_again_after_ = std::min<std::chrono::nanoseconds>(2 * look_again_after_, look_again_at_last);
}

} // namespace belay::actors
