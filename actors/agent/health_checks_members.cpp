// health_checks: the leader's rows of the members in the catalog (docs/contract/08).

#include "actors/agent/health_checks.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// Pause before a proposal is repeated: by then it has been applied, or was lost with the
// leadership.
constexpr std::chrono::seconds look_again_first{1};
// A client waits for the response to its restore. A commit on two disks takes about as long.
constexpr std::chrono::milliseconds look_again_mending{20};
// Consul's reconcile interval. Also the longest pause after writes without effect,
// for example when a client's node has the name.
constexpr std::chrono::seconds look_again_at_last{60};
// A limit for safety only, as for any read: raft_peer always responds.
constexpr std::chrono::seconds read_limit{60};

} // namespace

void health_checks::on_reachable_members(const reachable_members& h) {
  reachable_ = h;
  members_have_news();
  look_at_members_if_due();
}

void health_checks::members_have_news() {
  looking_.reset(); // an earlier read may be out of date
  look_at_ = agent::local_time{0};
  look_again_after_ = is_mending() ? std::chrono::nanoseconds(look_again_mending) : look_again_first;
  tick_soon();
}

/// The archive replaced the catalog: rows of this node may be missing or old, and on the leader
/// those of all members. It may contain servers of another cluster, which send no heartbeats here.
void health_checks::on_restored(const tables_restored& r) {
  restored_at_ = r.at;
  members_mended_ = false;
  comparing_.reset();
  compare_at_ = retry_at_ = agent::local_time{0};
  if (view_.serving && client_agents_of_ == view_.soft.term) {
    client_agent_looks_.clear();
    client_agents_.catalog_replaced(now());
    if (!listing_of_nodes_) {
      listing_of_nodes_ = ask_catalog(state::catalog_nodes{});
      listing_again_ = true;
    }
  }
  look_at_client_agents_ = agent::local_time{0};
  members_have_news();
  look_at_members_if_due();
  compare_if_due();
}

/// Called on every tick, and when the members' rows are correct.
void health_checks::notify_mended() {
  if (!is_mending() || !members_mended_ || !view_.serving || listing_of_nodes_ || !client_agents_.all_shown(now()))
    return;
  mended_at_ = restored_at_;
  send(node_actors_->fsm, catalog_mended{mended_at_});
}

void health_checks::look_at_members_if_due() {
  const auto t = now();
  if (!view_.serving || reachable_.term != view_.soft.term || view_.config.joint()) {
    looking_.reset();
    if (!view_.serving)
      proposed_.clear();
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
  const auto* found = r.found();
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
  if (instances == nullptr) { // no leader now: a change will follow
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
    const auto received =
        std::find_if(reachable_.list.begin(), reachable_.list.end(), [&](const auto& h) { return h.first == m.id; });
    members.push_back(agent::member_of(
        m.uuid, m.name, m.address, received != reachable_.list.end() ? std::optional(received->second) : std::nullopt));
  }
  const auto changes = agent::member_changes(members, found, settings_.agent.registry.node.datacenter);
  log_member_changes(changes);
  if (changes.empty()) {
    look_again_after_ = look_again_first;
    look_at_ = now() + look_again_at_last;
    members_mended_ = true;
    notify_mended();
    return;
  }
  // A proposal is valid only in this term; the next comparison shows whether it had effect.
  for (const auto& c : changes)
    send(node_actors_->raft_peer, propose_internal{reachable_.term, make_payload(wire::encode_command(c))});
  look_at_ = now() + look_again_after_;
  look_again_after_ = std::min<std::chrono::nanoseconds>(2 * look_again_after_, look_again_at_last);
}

/// Logs what has taken effect, not what the catalog rejects: a new server's name is
/// reserved until the server that it replaces is gone.
void health_checks::log_member_changes(const std::vector<state::command>& to_be_written) {
  std::map<std::string, std::string> left;
  for (const auto& c : to_be_written) {
    const auto* gone = std::get_if<state::catalog_deregister>(&c);
    const auto* there = std::get_if<state::catalog_register>(&c);
    left.insert_or_assign(gone != nullptr ? gone->node : there->node.node,
                          gone != nullptr ? std::string("left") : there->checks.front().status);
  }
  for (const auto& [node, status] : std::exchange(proposed_, left)) {
    const auto again = left.find(node);
    if (again != left.end() && again->second == status)
      continue;
    if (status == "critical")
      log::warn("health_checks", "member not heard from for 5 s: serfHealth is critical, its sessions end",
                {{"node", node},
                 {"term", reachable_.term.value},
                 {"advice", "check that it runs, and that the leader can reach it"}});
    else
      log::info("health_checks",
                status == "left" ? "server is no longer a member; node deregistered"
                                 : "member heard from: serfHealth is passing",
                {{"node", node}, {"term", reachable_.term.value}});
  }
}

} // namespace belay::actors
