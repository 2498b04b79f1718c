// raft_peer: requests of clients. protocol/forward decides about them; this file carries that out.

#include "actors/consensus/raft_peer.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/forward/renewals.hpp"
#include "protocol/http/request_class.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/operator_codec.hpp"

namespace belay::actors {

namespace {

/// Why the core confirms leadership for a read: the last bit of the read's number.
enum class reads_for : std::uint64_t { barriers, renewals };

std::uint64_t read_number(std::uint64_t attempt, reads_for who) {
  return attempt << 1 | static_cast<std::uint64_t>(who);
}
reads_for wanted_for(std::uint64_t read_number) {
  return static_cast<reads_for>(read_number & 1);
}
std::uint64_t attempt_of(std::uint64_t read_number) {
  return read_number >> 1;
}

/// An entry travels in one frame with up to 1 MiB of others. A follower ends the
/// connection at a larger frame, so a leader with such an entry loses its quorum for good.
constexpr std::size_t command_bytes_max = wire::frame_bytes_max / 2;

std::optional<std::string> too_large(const payload& command) {
  if (command->size() <= command_bytes_max)
    return std::nullopt;
  PROBE("peer: command too large for the log");
  return "command of " + std::to_string(command->size()) + " bytes, the log takes " + std::to_string(command_bytes_max);
}

} // namespace

forward::leadership raft_peer::leadership_now() {
  const auto leader = core_.soft().leader;
  const bool reachable = !leading() && connected_.contains(leader);
  return {leading(), serving_, core_.term(), reachable ? leader : node_id{},
          leading() && core_.lease_until() > local_now()};
}

// ---- calls

void raft_peer::queue_call(forward::queued_call c) {
  schedule_flush();
  if (!calls_.enqueue(std::move(c)))
    metrics_.refused();
  carry_out_calls();
}

void raft_peer::advance_calls() {
  if (calls_.none_queued())
    return;
  calls_.go_on(leadership_now());
  carry_out_calls();
}

void raft_peer::carry_out_calls() {
  for (auto& action : calls_.take_actions())
    std::visit(overloaded{
                   [this](forward::to_peer& p) {
                     std::visit([&](auto& frame) { queue_frame(p.to, std::move(frame)); }, p.what);
                   },
                   [this](forward::to_client& t) {
                     answer_here({t.id, t.outcome, {}, {}, std::move(t.text)});
                   },
                   [this](forward::pass_answer& p) { pass_answer(p.requested, std::move(p.answer)); },
                   [this](forward::renew_here& r) {
                     send(node_actors_->fsm, renew_request{r.from, std::string(*r.session), monotonic_time{r.deadline},
                                                           r.confirmed ? core_.term() : term_id{}});
                   },
                   [this](const forward::confirm_leadership& c) {
                     if (!core_.read(read_number(c.attempt, reads_for::renewals)))
                       calls_.failed(c.attempt);
                   },
                   [this](forward::decide_here& d) { decide(d.requested); },
                   [this](forward::propose_here& p) { propose_here(std::move(p.batch)); },
               },
               action);
}

/// While a member has the previous version, leaves out what that version does not understand.
payload raft_peer::in_common_words(payload command) const {
  if (!not_understood(*command))
    return command;
  if (auto plain = wire::without_client_address(*command)) {
    PROBE("peer: a client's address left out for a server that does not know it");
    command = make_payload(*plain);
  }
  if (!not_understood(*command))
    return command;
  if (auto plain = wire::without_authorization(*command)) {
    PROBE("peer: judgement left out for a server that does not know it");
    return make_payload(*plain);
  }
  if (auto plain = wire::as_session_destroy(*command)) {
    PROBE("peer: ends of sessions as a server knows them that does not know their restore");
    return make_payload(*plain);
  }
  return command;
}

/// While one server is too old to support it, all decide about agents as that one does.
payload raft_peer::agent_in_common_words(payload call) const {
  const auto knows = [this](const raft::member& m) { return level_of_member(m.id) >= state::client_address_level; };
  const auto& members = core_.config().members;
  if (level_committed_ >= state::client_address_level || std::all_of(members.begin(), members.end(), knows))
    return call;
  auto plain = wire::without_proof_of_agent(*call);
  return plain ? make_payload(std::move(*plain)) : call;
}

void raft_peer::on_propose_write(const propose_write& p) {
  auto command =
      p.kind == wire::call_kind::remove_member ? agent_in_common_words(p.command) : in_common_words(p.command);
  // Rows of a restore do not name the level that they need, so an older leader fails to read them.
  const auto leader = leadership_now().elsewhere;
  auto why = too_large(command); // the forwarded one would not fit a frame, either
  if (!why && !leader.is_zero() && p.kind == wire::call_kind::propose) {
    why = not_understood(*command, leader);
    if (why)
      PROBE("peer: the leader is too old for a command");
  }
  if (!why)
    return queue_call({{self_.id, p.id}, p.kind, std::move(command), queue_until()});
  schedule_flush();
  respond({self_.id, p.id}, wire::call_outcome::refused, std::move(*why));
}

void raft_peer::propose_here(std::vector<forward::queued_call> batch) {
  for (auto& c : batch)
    c.bytes = in_common_words(std::move(c.bytes));
  std::erase_if(batch, [this](const forward::queued_call& c) {
    auto why = not_understood(*c.bytes);
    if (why && c.from.id.is_zero())
      log_upgrade(*why);
    if (!why)
      why = too_large(c.bytes);
    if (why)
      respond(c.from, wire::call_outcome::refused, std::move(*why));
    return why.has_value();
  });
  if (batch.empty())
    return;
  std::vector<payload> commands;
  commands.reserve(batch.size());
  for (const auto& c : batch)
    commands.push_back(c.bytes);
  const auto proposed = core_.propose(std::move(commands), cluster_now());
  if (const auto* first = std::get_if<log_index>(&proposed)) {
    INVARIANT(first->value + batch.size() == core_.last_index().next().value); // each call's entry follows from it
    INVARIANT(*first > core_.commit_index());
    metrics_.proposed(batch.size());
    calls_.proposed(*first, batch);
    delays_.proposed(log_index{first->value + batch.size() - 1}, batch.back().deadline - settings_.queue_timeout);
  } else {
    calls_.not_proposed(std::move(batch));
  }
}

void raft_peer::pass_answer(const forward::queued_call& requested, forward::reply r) {
  if (requested.kind == wire::call_kind::renew_session) {
    renew_result result{r.id, true, nullptr, {}};
    if (forward::is_renewal_list(*requested.bytes))
      result.of_list = forward::decode_lifetimes(r.bytes).value_or(forward::renewed_lifetimes{});
    else if (!r.bytes.empty())
      if (auto row = wire::decode_row(static_cast<std::uint8_t>(state::table::sessions), *requested.bytes, r.bytes))
        if (auto* s = std::get_if<state::session_ptr>(&row->row))
          result.session = *s;
    return answer_gateway(*this, *node_actors_, r.id, std::move(result));
  }
  auto reply = wire::decode_reply(r.bytes);
  if (!reply)
    return respond(requested.from, wire::call_outcome::unknown, "malformed response of the leader");
  answer_here({r.id, wire::call_outcome::done, std::move(*reply), r.index, {}});
}

void raft_peer::respond(const forward::origin& to, wire::call_outcome outcome, std::string text) {
  calls_.respond(to, outcome, std::move(text));
  carry_out_calls();
}

void raft_peer::answer_here(write_result r) {
  const auto g = gateway_of(r.id);
  if (g >= node_actors_->gateways.size())
    return;
  answers_.resize(node_actors_->gateways.size());
  answers_[g].list.push_back(std::move(r));
}

void raft_peer::send_answers() {
  for (std::size_t g = 0; g < answers_.size(); ++g)
    if (!answers_[g].list.empty())
      send(node_actors_->gateways[g], std::exchange(answers_[g], {}));
}

void raft_peer::on_internal_proposal(const propose_internal& p) {
  // A proposal by a timer of an earlier leadership is obsolete: docs/internals/pitfalls.md R25.
  const bool ours = leading() && core_.term() == p.required_term;
  if (ours || MUTANT(expiry_by_deposed_leader))
    queue_call({{ours ? node_id{} : self_.id, {}},
                wire::call_kind::propose,
                p.command,
                queue_until(),
                ours ? p.required_term : term_id{}});
  else
    PROBE("peer: timer of an earlier leadership dropped");
}

// The leader knows every member, and only members have clients of this cluster.
bool raft_peer::may_forward(node_id from) const {
  return !leading() || core_.config().contains(from) || MUTANT(stranger_forwards);
}

void raft_peer::on_forward_call(node_id from, const wire::forward_call& c) {
  schedule_flush();
  if (!may_forward(from)) {
    PROBE("peer: call of a server that is no member");
    queue_frame(
        from, wire::forward_reply{c.id, wire::call_outcome::refused, {}, "this server is not a member of the cluster"});
    return;
  }
  // A command in the log that cannot be decoded stops every server.
  // Commands of this node's gateways were encoded here.
  if (c.kind == wire::call_kind::propose && leading() && !MUTANT(garbage_proposed) && !wire::decode_command(*c.bytes)) {
    PROBE("peer: forwarded command that cannot be read");
    const auto needs = wire::needs_of(*c.bytes);
    auto why = needs && needs->level > state::own_level ? wire::too_new(*needs, "the leader")
                                                        : std::string("malformed command");
    queue_frame(from, wire::forward_reply{c.id, wire::call_outcome::refused, {}, std::move(why)});
    return;
  }
  if (leading() && too_much_for(c)) {
    metrics_.shed_forwarded_write();
    queue_frame(from, wire::forward_reply{c.id, wire::call_outcome::refused, {}, http::overloaded_text});
    return;
  }
  if (!calls_.take_over(from, c, leading(), queue_until()))
    metrics_.refused();
  carry_out_calls();
}

/// The servers limit the load of their own clients; this limits the sum.
bool raft_peer::too_much_for(const wire::forward_call& c) {
  const auto load = calls_.unfinished();
  shedder_.look(local_now(), load);
  if (!shedder_.limit() || c.kind != wire::call_kind::propose)
    return false;
  const auto command = wire::decode_command(*c.bytes);
  return command && !shedder_.admits(http::class_of(*command), load);
}

void raft_peer::on_forward_reply(node_id from, const wire::forward_reply& r) {
  if (!calls_.answered(from, r, core_.commit_index()))
    return;
  schedule_flush();
  carry_out_calls();
}

void raft_peer::on_renew_answer(const renew_answer& a) {
  schedule_flush();
  const auto& from = a.requested.from;
  if (!a.known && from.node == self_.id && a.requested.deadline <= now())
    return respond(from, wire::call_outcome::refused, forward::no_leader);
  if (!a.known) {
    calls_.renewal_undecided(from, make_payload(a.requested.sessions), a.requested.deadline.time_since_epoch());
    return carry_out_calls();
  }
  if (from.node == self_.id)
    return answer_gateway(*this, *node_actors_, from.id, renew_result{from.id, true, a.session, {}, a.of_list});
  std::string bytes;
  if (forward::is_renewal_list(a.requested.sessions))
    bytes = forward::encode_lifetimes(a.of_list);
  else if (a.session != nullptr)
    bytes = wire::encode_row({state::table::sessions, a.session->id, a.session}).value_or(std::string{});
  queue_frame(from.node, wire::forward_reply{from.id, wire::call_outcome::done, {}, std::move(bytes)});
}

void raft_peer::ask_again() {
  calls_.ask_again();
  barriers_.ask_again();
}

// ---- barriers

void raft_peer::enqueue_barrier(forward::queued_barrier b) {
  barriers_.enqueue(std::move(b));
  schedule_flush();
}

void raft_peer::advance_barriers() {
  if (barriers_.none_waiting())
    return;
  barriers_.go_on(leadership_now(), core_.commit_index());
  carry_out_barriers();
}

void raft_peer::carry_out_barriers() {
  for (auto& action : barriers_.take_actions())
    std::visit(overloaded{
                   [this](forward::to_peer& p) {
                     std::visit([&](auto& frame) { queue_frame(p.to, std::move(frame)); }, p.what);
                   },
                   [this](const forward::barrier_done& d) {
                     send(node_actors_->fsm, barrier_result{d.id, d.ok, d.index, d.ok ? "" : forward::no_leader});
                   },
                   [this](const forward::confirm_leadership& c) {
                     if (!core_.read(read_number(c.attempt, reads_for::barriers)))
                       barriers_.failed(c.attempt);
                   },
               },
               action);
}

void raft_peer::on_reads(const raft::ready& r) {
  for (const auto& c : r.reads_confirmed) {
    if (wanted_for(c.id) == reads_for::barriers)
      barriers_.confirmed(attempt_of(c.id), c.index);
    else
      calls_.confirmed(attempt_of(c.id));
  }
  for (const auto id : r.reads_failed) {
    if (wanted_for(id) == reads_for::barriers)
      barriers_.failed(attempt_of(id));
    else
      calls_.failed(attempt_of(id));
  }
  carry_out_barriers();
  carry_out_calls();
}

void raft_peer::on_read_index(node_id from, const wire::read_index& q) {
  if (!may_forward(from))
    queue_frame(from, wire::read_index_reply{q.id, false, {}});
  else
    barriers_.requested_by(from, q, leading(), queue_until());
  carry_out_barriers();
  schedule_flush();
}

void raft_peer::on_read_index_reply(node_id from, const wire::read_index_reply& r) {
  barriers_.answered(from, r);
  carry_out_barriers();
}

} // namespace belay::actors
