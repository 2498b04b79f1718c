#include "protocol/agent/client_agents.hpp"

#include "protocol/agent/member_catalog.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

namespace belay::agent {

namespace {

constexpr local_time look_again_first = std::chrono::seconds(1);
// The same pause after a restore, whose response waits for the rows.
constexpr local_time after_replacement = std::chrono::milliseconds(25);
// For proposals without visible effect: rejected (the leader's disk is full), or not committed
// yet. Others wait until the agent is shown alive. They may take effect late, after newer ones.
constexpr local_time propose_again_most = std::chrono::seconds(4);

/// The nodes of all agents have it, including servers' (docs/contract/09).
constexpr std::string_view mark_of_agents = "consul-network-segment";

bool looks_like_agent(const state::node_record& n) {
  return n.meta && n.meta->contains(std::string(mark_of_agents));
}

std::string proof_in(const state::node_record& n) {
  if (!n.meta)
    return {};
  const auto it = n.meta->find(std::string(proof_of_agent));
  return it == n.meta->end() ? std::string() : it->second;
}

// Limit of remembered refusals: more than the agents of a cluster that have a wrong name.
constexpr std::size_t refusals_max = 1000;

bool is_requested_to_leave(const state::node_record& n) {
  return n.meta && n.meta->contains(std::string(key_of_leaving));
}

state::catalog_register registration_of(const client_agents::identity& who, const std::string& proof, bool alive,
                                        bool row_is_right, const state::node_record* row,
                                        const std::string& datacenter) {
  auto r = liveness_registration({who.uuid, who.name, who.address, 0, alive}, datacenter);
  r.skip_node_update = row_is_right;
  if (row != nullptr && row->id == who.uuid)
    r.node.meta = row->meta;
  if (r.node.meta)
    r.node.meta->erase(std::string(key_of_leaving));
  if (!proof.empty()) {
    if (!r.node.meta)
      r.node.meta.emplace();
    (*r.node.meta)[std::string(proof_of_agent)] = proof;
  }
  return r;
}

} // namespace

state::catalog_register requested_to_leave(const state::node_record& node) {
  state::catalog_register r;
  r.node = node;
  if (!r.node.meta)
    r.node.meta.emplace();
  (*r.node.meta)[std::string(key_of_leaving)] = "true";
  return r;
}

std::vector<client_agent> client_agents_among(const std::vector<state::node_ptr>& nodes,
                                              const std::vector<state::check_ptr>& critical,
                                              const std::set<std::string>& servers) {
  std::set<std::string> failed; // folded names
  for (const auto& c : critical)
    if (c->check_id == liveness_check)
      failed.insert(state::folded(c->node));
  std::vector<client_agent> out;
  for (const auto& n : nodes)
    if (looks_like_agent(*n) && !servers.contains(n->id) && !servers.contains(n->node))
      out.push_back({n->node, n->id, n->address, !failed.contains(state::folded(n->node)), is_requested_to_leave(*n)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

void client_agents::begin(local_time now) {
  agents_.clear();
  refused_.clear();
  begun_ = now;
}

void client_agents::found(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers,
                          local_time now) {
  begun_ = now;
  found_again(nodes, servers);
}

void client_agents::catalog_replaced(local_time now) {
  for (auto& [key, k] : agents_) {
    k.sent_liveness.reset();
    k.written.reset();
    k.leaving_until.reset();
    k.looking = false;
    k.of.reset();
    k.of_awaited_until = {};
    k.pause = after_replacement; // doubled by each look
    k.next_look = now;
  }
}

bool client_agents::all_shown(local_time now) const {
  return std::all_of(agents_.begin(), agents_.end(), [&](const auto& each) {
    const auto& k = each.second;
    return k.leaving || !k.alive(now, limits_) || k.sent_liveness == true;
  });
}

void client_agents::found_again(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers) {
  for (const auto& n : nodes) {
    if (!looks_like_agent(*n) || servers.contains(n->id) || agents_.size() >= limits_.agents_max)
      continue;
    if (!agents_.contains(state::folded(n->node))) // else its agent was faster
      await(*n, MUTANT(unheard_agent_is_dead) ? begun_ - 2 * limits_.silence : begun_);
  }
}

client_agents::owner client_agents::owner_of(const state::node_record& n) {
  return {n.id, n.address, proof_in(n)};
}

client_agents::refusal_key client_agents::key_of(const identity& who) {
  return {state::folded(who.name), who.uuid};
}

/// Its agent must be heard from within the silence limit from then on.
void client_agents::await(const state::node_record& n, local_time from) {
  auto& k = agents_[state::folded(n.node)];
  k.who = {n.node, n.id, n.address};
  k.of = owner_of(n);
  k.last_contact = from;
  k.next_look = from + limits_.silence;
}

void client_agents::are_servers(const std::set<std::string>& servers) {
  std::erase_if(agents_, [&](const auto& each) {
    return servers.contains(each.second.who.uuid) && !MUTANT(server_taken_for_agent);
  });
}

/// Whether the agent may act for the node, according to the
/// catalog. If the node has no row, its first agent is accepted.
std::optional<std::string> client_agents::objection(const identity& who, const evidence& by, const known& k,
                                                    announcement what) {
  if (by.source.empty() || !k.of || MUTANT(any_agent_speaks_for_node))
    return std::nullopt;
  const auto& of = *k.of;
  if (!of.proof.empty() && by.proof == of.proof)
    return std::nullopt;
  const bool own = of.uuid.empty() || of.uuid == who.uuid;
  if (own && !of.proof.empty())
    return "node '" + who.name +
           "' has a secret that this agent does not have: deregister the node if its data directory is lost";
  // Without a secret the address decides; a free name may be used from anywhere with credentials.
  if (by.source == of.address || (!own && by.authenticated))
    return std::nullopt;
  // An agent of 0.2.0 at another address than it advertises: "alive" changes nothing of the node.
  if (what == announcement::is_there && by.authenticated && who.uuid == of.uuid && who.address == of.address)
    return std::nullopt;
  return "node '" + who.name + "' is registered at " + of.address + ", and this agent connects from " + by.source +
         " without the secret of the node: deregister the node if it has moved";
}

void client_agents::refused_at_look(const known& k, std::string why) {
  if (refused_.size() >= refusals_max)
    refused_.clear();
  refused_[key_of(k.who)] = std::move(why);
}

std::optional<std::string> client_agents::refusal_of(const identity& who, local_time now, const evidence& by) const {
  const auto it = agents_.find(state::folded(who.name));
  if (it == agents_.end()) {
    if (const auto* before = refused(who))
      return *before;
    return agents_.size() < limits_.agents_max ? std::nullopt : std::optional<std::string>("too many client agents");
  }
  const bool as_accepted = it->second.accepted && it->second.who == who && it->second.by == by;
  if (auto why = as_accepted ? std::nullopt : objection(who, by, it->second, announcement::is_there))
    return why;
  // If two agents have one name, the living one counts (one node). A new leader knows neither.
  const auto& k = it->second;
  if ((!k.may_live(now, limits_) && !MUTANT(renewed_agent_unheard)) || k.who.uuid.empty() || k.who.uuid == who.uuid ||
      k.leaving)
    return std::nullopt;
  return "node name '" + who.name + "' is taken by the client agent with ID " + k.who.uuid + " at " + k.who.address;
}

const std::string* client_agents::refused(const identity& who) const {
  const auto it = refused_.find(key_of(who));
  return it == refused_.end() ? nullptr : &it->second;
}

void client_agents::forget_refusal(const identity& who) {
  refused_.erase(key_of(who));
}

bool client_agents::shown_alive(const identity& who) const {
  const auto it = agents_.find(state::folded(who.name));
  return it != agents_.end() && it->second.who == who && it->second.sent_liveness == true;
}

bool client_agents::received(const identity& who, local_time now, const evidence& by) {
  if (refusal_of(who, now, by)) {
    forget_refusal(who);
    return false;
  }
  auto& k = agents_[state::folded(who.name)];
  const bool proves = !by.proof.empty() && by.proof != k.by.proof;
  const bool news = !k.alive(now, limits_) || k.who != who || proves || k.sent_liveness != true;
  take(k, who, by);
  k.last_contact = now;
  k.received = true;
  k.leaving = false;
  if (news)
    look_soon(k, now);
  return true;
}

/// An agent is accepted individually: not another with its name, or from another address.
void client_agents::take(known& k, const identity& who, const evidence& by) {
  const bool has_more_evidence = !by.source.empty() || k.by.source.empty(); // a server of 0.2.0 forwards no evidence
  k.accepted = k.accepted && k.who == who && (!has_more_evidence || k.by == by);
  k.who = who;
  if (has_more_evidence)
    k.by = by;
}

/// A missing row may be in transit: until then the agent whose registration was proposed counts.
void client_agents::take_owner(known& k, const state::node_record* row, local_time now) {
  if (row == nullptr && k.of && now < k.of_awaited_until)
    return;
  k.of_awaited_until = {};
  k.of.reset();
  if (row != nullptr)
    k.of = owner_of(*row);
}

void client_agents::leaves(const identity& who, local_time now, const evidence& by) {
  const auto it = agents_.find(state::folded(who.name));
  if (it == agents_.end() && agents_.size() >= limits_.agents_max)
    return;
  if (it != agents_.end() && (it->second.who.uuid != who.uuid || objection(who, by, it->second, announcement::leaves)))
    return;
  auto& k = agents_[state::folded(who.name)];
  take(k, who, by);
  k.leaving = true;
  k.pause = local_time{0};
  k.next_look = now;
}

/// Schedules the next read of the agent's rows, late enough that a pending write is visible in
/// them.
void client_agents::look_soon(known& k, local_time now) const {
  if (k.pause == local_time{0})
    k.next_look = now;
}

std::vector<std::string> client_agents::due(local_time now, std::size_t limit) {
  std::vector<std::string> names;
  for (auto& [key, k] : agents_) {
    if (names.size() == limit)
      break;
    if (k.looking)
      continue;
    const bool fell_silent =
        k.sent_liveness == true && !k.alive(now, limits_) && now - k.last_contact > limits_.silence;
    if (now < k.next_look && !(fell_silent && k.pause == local_time{0}))
      continue;
    k.looking = true;
    names.push_back(k.who.name);
  }
  return names;
}

void client_agents::cannot_look(const std::string& name, local_time now) {
  if (const auto it = agents_.find(state::folded(name)); it != agents_.end()) {
    it->second.looking = false;
    it->second.next_look = now + look_again_first;
  }
}

std::optional<state::command> client_agents::look(const std::string& name, const state::node_record* row,
                                                  const state::check_record* liveness, local_time now,
                                                  const std::string& datacenter) {
  const auto it = agents_.find(state::folded(name));
  if (it == agents_.end())
    return std::nullopt;
  auto& k = it->second;
  k.looking = false;
  const bool alive = k.alive(now, limits_);
  const bool silent = !alive && now - k.last_contact > limits_.silence;
  take_owner(k, row, now);
  if (auto why = (k.received || k.leaving) && !k.accepted
                     ? objection(k.who, k.by, k, k.leaving ? announcement::leaves : announcement::is_there)
                     : std::nullopt) {
    refused_at_look(k, std::move(*why));
    agents_.erase(it);
    if (row != nullptr && looks_like_agent(*row) && !row->id.empty()) // its own agent may still be alive
      await(*row, now);
    return std::nullopt;
  }
  k.accepted = k.received || k.leaving;
  const bool own_row = row != nullptr && (row->id.empty() || row->id == k.who.uuid);
  // Removes nothing that was not left there by an agent.
  if (k.leaving && (!own_row || row->id.empty() || !looks_like_agent(*row))) {
    agents_.erase(it);
    return std::nullopt;
  }
  // If no agent is known for the node, only rows left there by an agent are removed.
  if ((!k.received || k.leaving) && (!own_row || (liveness == nullptr && !k.leaving))) {
    agents_.erase(it);
    return std::nullopt;
  }
  if (silent && row == nullptr) { // an operator has removed the rest of it
    agents_.erase(it);
    return std::nullopt;
  }
  if (k.leaving || (silent && now - k.last_contact > limits_.forgotten)) {
    k.written = "";
    k.pause = look_again_first;
    k.next_look = now + k.pause;
    return state::catalog_deregister{row->node, {}, {}};
  }
  if (!alive && !silent) { // it may still be alive
    k.next_look = k.last_contact + limits_.silence;
    return std::nullopt;
  }
  const bool requested_to_leave = own_row && is_requested_to_leave(*row);
  if (!requested_to_leave)
    k.leaving_until.reset();
  else if (!k.leaving_until)
    k.leaving_until = now + limits_.leaving_shown;
  const bool objects = requested_to_leave && alive && now >= *k.leaving_until;
  // A node without a secret accepts one from its own address only.
  const bool takes_proof =
      !own_row || row->id.empty() || k.by.source.empty() || k.by.source == row->address || !proof_in(*row).empty();
  const auto proof = takes_proof ? k.by.proof : std::string();
  const bool row_is_right = !alive || (own_row && !objects && row->id == k.who.uuid && row->node == k.who.name &&
                                       row->address == k.who.address && (proof.empty() || proof_in(*row) == proof));
  // The catalog keeps the name while it shows its previous agent alive (docs/contract/07).
  const bool of_another = row != nullptr && !own_row && looks_like_agent(*row);
  const bool buries = of_another && (!alive || (liveness != nullptr && liveness->status != "critical"));
  const std::string_view wanted = alive && !buries ? "passing" : "critical";
  // An earlier write may be in the log but not in the tables yet: a later entry must override it.
  const bool has_last_word = !k.written || *k.written == wanted;
  const auto seen = std::max(row != nullptr ? row->modify_index : log_index{},
                             liveness != nullptr ? liveness->modify_index : log_index{});
  const bool nothing_seen = k.written && k.seen_then == seen; // no newer rows since the last proposal
  if (row_is_right && liveness != nullptr && liveness->status == wanted && has_last_word) {
    k.sent_liveness = alive;
    k.pause = local_time{0};
    k.next_look = now + limits_.look_again;
    if (requested_to_leave && alive)
      k.next_look = *k.leaving_until;
    else if (nothing_seen && now < k.unsettled_until)
      k.next_look = now + propose_again_most;
    return std::nullopt;
  }
  k.sent_liveness.reset();
  const bool once_more = k.written == wanted;
  auto pause_most = limits_.look_again; // another client may write something else repeatedly
  if (nothing_seen && once_more)
    pause_most = propose_again_most;
  else if (nothing_seen)
    k.unsettled_until = now + limits_.look_again;
  else if (!once_more && liveness != nullptr && k.written == liveness->status)
    k.pause = local_time{0}; // the proposal took effect, and this is the next step: no conflict
  k.written = wanted;
  k.seen_then = seen;
  k.pause = k.pause == local_time{0} ? look_again_first : std::min(2 * k.pause, pause_most);
  k.next_look = now + k.pause;
  if (buries)
    return registration_of({row->node, row->id, row->address}, {}, false, true, row, datacenter);
  if (row == nullptr)
    k.of_awaited_until = now + limits_.look_again;
  if (row == nullptr || alive)
    k.of = owner{k.who.uuid, k.who.address, proof.empty() && row != nullptr ? proof_in(*row) : proof};
  return registration_of(k.who, proof, alive, row_is_right, row, datacenter);
}

} // namespace belay::agent
