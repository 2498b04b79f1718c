// raft_peer: writes and session renewals, held until there is a leader, proposed or forwarded once, answered with what is known.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>
#include <iterator>

namespace belay::actors {

namespace {

// Texts that Consul 1.8.7 gives in the same situations (contract 06 section 3).
constexpr auto leadership_lost = "leadership lost while committing log";
constexpr auto overloaded = "too many writes are waiting, try again";
// After that a leader that was asked and says nothing is taken as lost; longer than any election and hold time.
constexpr std::chrono::seconds forward_timeout{30};

} // namespace

void raft_peer::hold_write(held_write w) {
  schedule_flush();
  if (held_.size() >= held_writes::count_max || !held_.add(w)) {
    PROBE("peer: too many writes wait");
    metrics_.refused();
    answer(w.from, wire::call_outcome::refused, overloaded);
  }
}

void raft_peer::propose_held() {
  if (held_.empty())
    return;
  if (!leading()) {
    const auto leader = core_.soft().leader;
    if (!leader.is_zero() && connected_.contains(leader))
      forward_held(leader);
    return;
  }
  std::vector<held_write> batch;
  for (auto& w : held_.take_all()) {
    if (w.kind == wire::call_kind::renew_session) {
      if (serving_)
        send(wires_->fsm, renew_request{w.from, *w.bytes, w.deadline});
      else
        held_.add(std::move(w));
    } else if (w.kind == wire::call_kind::remove_member) {
      begin_removal(std::move(w));
    } else if (w.kind == wire::call_kind::describe_health) {
      answer_decided(w.from, health_json(*w.bytes));
    } else if (w.required_term.is_zero() || w.required_term == core_.term()) {
      batch.push_back(std::move(w));
    }
  }
  if (!batch.empty())
    propose_here(std::move(batch));
}

void raft_peer::propose_here(std::vector<held_write> batch) {
  std::vector<payload> commands;
  commands.reserve(batch.size());
  for (const auto& w : batch)
    commands.push_back(w.bytes);
  const auto proposed = core_.propose(std::move(commands), settings_.wall_clock());
  if (const auto* first = std::get_if<log_index>(&proposed)) {
    if (origins_.empty())
      origins_first_ = *first;
    while (origins_first_.value + origins_.size() < first->value)
      origins_.emplace_back();
    for (const auto& w : batch)
      origins_.push_back(w.from);
    return;
  }
  PROBE("peer: write waits for its turn");
  // Not now (a transfer, or too much on its way): it waits for its turn or its deadline.
  for (auto& w : batch)
    held_.add(std::move(w));
}

void raft_peer::forward_held(node_id leader) {
  for (auto& w : held_.take_all()) {
    if (w.from.node !=
        self_.id) { // once forwarded is enough (R24), and what has no origin was this node's own wish as leader
      if (!w.from.id.is_zero())
        queue_frame(w.from.node, wire::forward_reply{w.from.id, wire::call_outcome::retry, {}, {}});
      continue;
    }
    queue_frame(leader, wire::forward_call{w.from.id, w.kind, w.bytes});
    const auto id = w.from.id;
    forwarded_.insert_or_assign(id, forwarded_write{std::move(w), leader});
  }
}

void raft_peer::on_forward_call(node_id from, const wire::forward_call& c) {
  if (!leading()) {
    PROBE("peer: write forwarded to one that does not lead");
    queue_frame(from, wire::forward_reply{c.id, wire::call_outcome::retry, {}, {}});
    schedule_flush();
    return;
  }
  hold_write({{from, c.id}, c.kind, c.bytes, now() + settings_.hold});
}

void raft_peer::on_forward_reply(node_id from, const wire::forward_reply& r) {
  auto it = forwarded_.find(r.id);
  if (it == forwarded_.end() || it->second.leader != from)
    return;
  auto w = std::move(it->second.write);
  forwarded_.erase(it);
  schedule_flush();
  const auto g = gateway_of(r.id);
  if (g >= wires_->gateways.size())
    return;
  if (r.outcome == wire::call_outcome::retry) {
    PROBE("peer: forwarded write asked again");
    (MUTANT(asked_again_at_once) ? held_ : asked_in_vain_).add(std::move(w)); // it was not proposed
  } else if (r.outcome != wire::call_outcome::done) {
    answer(w.from, r.outcome, r.bytes);
  } else if (w.kind == wire::call_kind::renew_session) {
    renew_result result{r.id, true, nullptr, {}};
    if (!r.bytes.empty())
      if (auto row = wire::decode_row(static_cast<std::uint8_t>(state::table::sessions), *w.bytes, r.bytes))
        if (auto* s = std::get_if<state::session_ptr>(&row->row))
          result.session = *s;
    send(wires_->gateways[g], std::move(result));
  } else {
    auto reply = wire::decode_reply(r.bytes);
    if (!reply)
      return answer(w.from, wire::call_outcome::unknown, "answer of the leader could not be read");
    write_result result{r.id, wire::call_outcome::done, std::move(*reply), r.index, {}};
    // Who writes through this node reads his write on this node, by a stale read too.
    if (r.index > core_.commit_index())
      PROBE("peer: answer waits for the commit here");
    until_committed_.emplace(r.index, std::move(result));
    answer_committed();
  }
}

void raft_peer::answer_committed() {
  while (!until_committed_.empty() && until_committed_.begin()->first <= core_.commit_index()) {
    auto result = std::move(until_committed_.begin()->second);
    until_committed_.erase(until_committed_.begin());
    answer_here(std::move(result));
  }
}

void raft_peer::on_renew_answer(const renew_answer& a) {
  schedule_flush();
  const auto& from = a.asked.from;
  if (!a.known) { // a renewal may be tried twice
    PROBE("peer: renewal asked again");
    if (from.node == self_.id)
      asked_in_vain_.add({from, wire::call_kind::renew_session, make_payload(a.asked.session), a.asked.deadline});
    else
      queue_frame(from.node, wire::forward_reply{from.id, wire::call_outcome::retry, {}, {}});
    return;
  }
  if (from.node == self_.id) {
    if (gateway_of(from.id) < wires_->gateways.size())
      send(wires_->gateways[gateway_of(from.id)], renew_result{from.id, true, a.session, {}});
    return;
  }
  std::string bytes;
  if (a.session != nullptr)
    bytes = wire::encode_row({state::table::sessions, a.session->id, a.session}).value_or(std::string{});
  queue_frame(from.node, wire::forward_reply{from.id, wire::call_outcome::done, {}, std::move(bytes)});
}

void raft_peer::answer(const origin& to, wire::call_outcome outcome, const std::string& text) {
  if (MUTANT(unknown_told_as_refused) && outcome == wire::call_outcome::unknown)
    outcome = wire::call_outcome::refused;
  if (to.id.is_zero())
    return;
  if (to.node != self_.id) {
    queue_frame(to.node, wire::forward_reply{to.id, outcome, {}, text});
    return;
  }
  answer_here({to.id, outcome, {}, {}, text});
}

void raft_peer::answer_here(write_result r) {
  const auto g = gateway_of(r.id);
  if (g >= wires_->gateways.size())
    return;
  answers_.resize(wires_->gateways.size());
  answers_[g].list.push_back(std::move(r));
}

void raft_peer::send_answers() {
  for (std::size_t g = 0; g < answers_.size(); ++g)
    if (!answers_[g].list.empty())
      send(wires_->gateways[g], std::exchange(answers_[g], {}));
}

/// Who was asked did not lead. At once it would be asked the same again, as fast as the wire allows.
void raft_peer::ask_again() {
  for (auto& w : asked_in_vain_.take_all())
    held_.add(std::move(w));
  std::move(barriers_asked_in_vain_.begin(), barriers_asked_in_vain_.end(), std::back_inserter(barriers_waiting_));
  barriers_asked_in_vain_.clear();
}

void raft_peer::expire_writes() {
  const auto now = this->now();
  if (!held_.empty()) {
    for (auto& w : held_.take_all()) {
      if (w.deadline > now)
        held_.add(std::move(w));
      else
        answer(w.from, wire::call_outcome::refused, no_leader);
    }
  }
  for (auto it = forwarded_.begin(); it != forwarded_.end();) {
    if (it->second.write.deadline + forward_timeout > now) {
      ++it;
      continue;
    }
    PROBE("peer: forwarded write never answered");
    answer(it->second.write.from, wire::call_outcome::unknown, "rpc error making call: i/o timeout");
    it = forwarded_.erase(it);
  }
}

void raft_peer::writes_unknown_from(log_index first) {
  while (!origins_.empty() && origins_first_.value + origins_.size() > first.value) {
    PROBE("peer: own write unknown, leadership lost");
    answer(origins_.back(), wire::call_outcome::unknown, leadership_lost);
    origins_.pop_back();
  }
}

/// `to` zero: to whoever is not the leader (any more).
void raft_peer::forwarded_unknown(node_id to, const std::string& text) {
  for (auto it = forwarded_.begin(); it != forwarded_.end();) {
    auto& f = it->second;
    const bool lost = to.is_zero() ? f.leader != core_.soft().leader : f.leader == to;
    if (!lost) {
      ++it;
      continue;
    }
    PROBE("peer: forwarded unknown");
    if (f.write.kind == wire::call_kind::renew_session || MUTANT(forwarded_write_retried))
      held_.add(std::move(f.write)); // harmless when done twice
    else
      answer(f.write.from, wire::call_outcome::unknown, text);
    it = forwarded_.erase(it);
  }
}

void raft_peer::take_origins(const std::vector<raft::entry>& committed, std::vector<origin>& origins) {
  if (origins_.empty())
    return;
  origins.reserve(committed.size());
  for (const auto& e : committed) {
    while (!origins_.empty() && origins_first_ < e.index) {
      origins_.pop_front();
      origins_first_ = origins_first_.next();
    }
    if (!origins_.empty() && origins_first_ == e.index) {
      origins.push_back(origins_.front());
      origins_.pop_front();
      origins_first_ = origins_first_.next();
    } else {
      origins.emplace_back();
    }
  }
}

} // namespace belay::actors
