// raft_peer: what operators ask of the leader about the set of servers (docs/contract/12; protocol/forward/operator_calls.hpp).

#include "actors/consensus/raft_peer.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/golang/quoting.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/operator_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// The configuration without that server, and without learners that would take its place: they would have none to take,
/// and be voters more than wanted. nullopt: it is not in it.
std::optional<raft::configuration> without(const raft::configuration& now, const forward::remove_member& which) {
  const bool by_id = which.by == forward::remove_member::named_by::id;
  const auto meant = [&](const raft::member& m) { return (by_id ? m.uuid : m.address) == which.name; };
  auto found = std::find_if(now.members.begin(), now.members.end(),
                            [&](const raft::member& m) { return meant(m) && now.is_voter(m.id); });
  if (found == now.members.end())
    found = std::find_if(now.members.begin(), now.members.end(), meant);
  if (found == now.members.end())
    return std::nullopt;
  auto next = raft::without(now, found->id);
  for (const auto& m : now.members)
    if (!now.is_voter(m.id) && m.name == found->name && m.address == found->address)
      next = raft::without(std::move(next), m.id);
  return next;
}

std::string not_found(const forward::remove_member& which) {
  return std::string(name_of(which.by)) + " " + golang::quoted(which.name) + " was not found in the Raft configuration";
}

} // namespace

void raft_peer::decide(const forward::held_call& c) {
  const auto call = wire::decode_operator_call(c.kind, *c.bytes);
  if (!call)
    return answer_decided(c.from, state::refusal{"call of an operator could not be read"});
  if (const auto* rules = std::get_if<forward::describe_health>(&*call))
    answer_decided(c.from, http::render_health(health(*rules)));
  else if (const auto* add = std::get_if<forward::add_member>(&*call))
    begin_addition({c.from, *add, c.deadline});
  else
    begin_removal({c.from, std::get<forward::remove_member>(*call), c.deadline, false, {}});
}

/// The answer of the leader itself, not of an entry of the log.
void raft_peer::answer_decided(const forward::origin& to, state::reply reply) {
  if (to.id.is_zero())
    return;
  schedule_flush();
  if (to.node != self_.id) {
    queue_frame(to.node, wire::forward_reply{to.id, wire::call_outcome::done, {}, wire::encode_reply(reply)});
    return;
  }
  answer_here({to.id, wire::call_outcome::done, std::move(reply), {}, {}});
}

void raft_peer::begin_removal(removal r) {
  const auto next = without(core_.config(), r.what);
  if (!next)
    return answer_decided(r.from, state::refusal{not_found(r.what)});
  if (next->voters.empty())
    return answer_decided(r.from, state::refusal{"need at least one voter in configuration: {[]}"});
  // Not now (another change is under way): with the next tick again.
  r.begun = !core_.config().joint() && !core_.propose_configuration(*next, cluster_now());
  r.entry = core_.last_index();
  removals_.push_back(std::move(r));
}

/// With every tick.
void raft_peer::follow_removals() {
  for (auto& r : std::exchange(removals_, {})) {
    const bool there = core_.config().joint() || without(core_.config(), r.what);
    if (r.begun && !there && core_.commit_index() >= r.entry)
      answer_decided(r.from, true); // once the second half is there, the first one is committed for good
    else if (!leading())
      tell(r.from, wire::call_outcome::unknown, forward::leadership_lost);
    else if (r.deadline <= local_now())
      tell(r.from, wire::call_outcome::unknown, "timed out enqueuing operation");
    else if (r.begun)
      removals_.push_back(std::move(r));
    else
      begin_removal(std::move(r));
  }
}

void raft_peer::begin_addition(addition a) {
  const auto& [address, id] = a.what;
  if (id.empty() && split_host_port(address).number() == 0)
    return answer_decided(a.from, state::refusal{"address " + golang::quoted(address) + " is not host:port"});
  formation_.admit(id.empty() ? address : id);
  if (id.empty()) { // by its ID alone nobody is found: it has to dial one of us
    learned_[address] = 0;
    dial();
  }
  additions_.push_back(std::move(a));
}

/// With every tick.
void raft_peer::follow_additions() {
  const bool settled = !core_.config().joint() && core_.meta_at_commit().config == core_.config();
  for (auto& a : std::exchange(additions_, {})) {
    const auto& members = core_.config().members;
    const auto& [address, id] = a.what;
    const bool there = std::any_of(members.begin(), members.end(), [&](const raft::member& m) {
      return id.empty() ? m.address == address : m.uuid == id;
    });
    if (!leading())
      tell(a.from, wire::call_outcome::unknown, forward::leadership_lost);
    else if (there && settled)
      answer_decided(a.from, true);
    else if (a.deadline <= local_now())
      answer_decided(a.from,
                     state::refusal{"no server has introduced itself as " + (id.empty() ? address : id) +
                                    " yet, or its name or node ID is that of a member; it is added when it does"});
    else
      additions_.push_back(std::move(a));
  }
}

http::health_report raft_peer::health(const forward::describe_health& rules) const {
  const auto progress = core_.progress();
  std::vector<http::server_health> servers;
  for (const auto& m : core_.config().members) {
    http::server_health s;
    s.id = m.uuid;
    s.name = m.name;
    s.address = m.address;
    s.leader = m.id == self_.id;
    s.alive = s.leader || connected_.contains(m.id) || MUTANT(dead_server_told_healthy);
    s.version = rules.version;
    s.last_index = core_.last_index();
    for (const auto& p : progress)
      if (!s.leader && p.id == m.id) {
        s.last_contact = p.silent_ticks * std::chrono::nanoseconds(settings_.limits.tick);
        s.last_index = p.match;
      }
    s.last_term = core_.term_at(s.last_index);
    const auto* said = formation_.find(m.id);
    const bool writes = s.leader ? !disk_full_ : said == nullptr || !said->disk_full;
    s.healthy = s.alive && (writes || MUTANT(full_disk_told_healthy)) &&
                (s.last_contact.count() <= rules.last_contact_threshold_ns || MUTANT(dead_server_told_healthy)) &&
                s.last_index.value + rules.max_trailing_logs >= core_.last_index().value;
    s.voter = core_.config().is_voter(m.id);
    const auto since = connected_since_ms_.find(m.id);
    s.stable_since_ms = since == connected_since_ms_.end() ? led_since_ms_ : std::max(led_since_ms_, since->second);
    servers.push_back(std::move(s));
  }
  return http::report_on(std::move(servers), core_.config().voters.size());
}

} // namespace belay::actors
