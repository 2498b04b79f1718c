#include "sim/checkers/reply_checker.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/checkers/claims/claim_views.hpp"
#include "sim/record/library_names.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using state::kv_verb;

std::string rendered(const state::claim_answer& c) {
  auto text = "claim " + c.id + " of session " + c.session + " " + std::string(name_of(c.state)) +
              (c.state == state::claim_state::held ? ", fence " + std::to_string(c.fence)
                                                   : ", place " + std::to_string(c.position)) +
              ", index " + to_string(c.index);
  for (const auto& a : c.ahead)
    text += " [" + a.id + " " + std::string(name_of(a.state)) + "]";
  return text;
}

std::string indexes_of(const auto& row) {
  return " created " + to_string(row.create_index) + " modified " + to_string(row.modify_index);
}

std::string described(const state::reply& r) {
  if (const auto* b = std::get_if<bool>(&r))
    return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&r))
    return '"' + *s + '"';
  if (const auto* f = std::get_if<state::refusal>(&r))
    return "refused: " + f->text;
  if (const auto* c = std::get_if<state::claim_answer>(&r))
    return rendered(*c);
  if (const auto* no = std::get_if<state::claim_refusal>(&r))
    return "refused: " + std::string(name_of(no->why)) + (no->ended ? " " + std::string(name_of(*no->ended)) : "") +
           (no->text.empty() ? "" : " (" + no->text + ")");
  if (const auto* t = std::get_if<state::txn_reply>(&r)) {
    std::string text = "transaction:";
    for (const auto& each : t->results)
      if (const auto* e = std::get_if<state::kv_entry_ptr>(&each.row); e != nullptr && *e)
        text += " [" + sim::described(**e) + "]";
      else if (const auto* n = std::get_if<state::node_ptr>(&each.row))
        text += " [node " + (*n)->node + " at " + (*n)->address + indexes_of(**n) + "]";
      else if (const auto* s = std::get_if<state::service_ptr>(&each.row))
        text += " [service " + (*s)->id + " port " + std::to_string((*s)->port) + indexes_of(**s) + "]";
      else if (const auto* c = std::get_if<state::check_ptr>(&each.row))
        text += " [check " + (*c)->check_id + " " + (*c)->status + " \"" + (*c)->output + "\"" + indexes_of(**c) + "]";
    for (const auto& each : t->errors)
      text += " error " + std::to_string(each.op_index) + ": " + each.what + ";";
    return text;
  }
  const std::string again = r.decided_at.is_zero() ? "" : ", decided at " + to_string(r.decided_at);
  if (const auto* sum = std::get_if<state::kv_added>(&r))
    return std::to_string(sum->value) + again;
  if (const auto* no = std::get_if<state::once_refusal>(&r))
    return "refused: " + std::string(name_of(no->why));
  return "nothing" + again;
}

const char* name_of(http::consistency mode) {
  return mode == http::consistency::stale ? "stale" : mode == http::consistency::consistent ? "consistent" : "default";
}

std::string described(const state::query& q) {
  if (const auto* g = std::get_if<state::kv_get>(&q))
    return "of key " + g->key;
  if (const auto* l = std::get_if<state::kv_list>(&q))
    return "of all under \"" + l->prefix + "\"";
  if (const auto* k = std::get_if<state::kv_keys>(&q))
    return "of the names under \"" + k->prefix + "\"" +
           (k->separator.empty() ? "" : " cut at \"" + k->separator + "\"");
  if (const auto* c = std::get_if<state::claim_read>(&q))
    return std::string(c->of.space == state::claim_space::claims ? "of claims on " : "of the lock of ") + c->of.name;
  return std::holds_alternative<state::txn_read>(q) ? "by transaction"
         : is_about_claims(q)                       ? "of guards or ended sessions"
                                                    : "of sessions or catalog";
}

std::string described(const state::query_result& a) {
  std::string text = "index " + to_string(a.index);
  if (const auto* entries = std::get_if<state::kv_entries>(&a.data)) {
    text += entries->entries.empty() ? ", nothing" : "";
    for (const auto& e : entries->entries)
      text += e ? ", " + sim::described(*e) : ", null";
  } else if (const auto* names = std::get_if<state::key_names>(&a.data)) {
    for (const auto& name : names->keys)
      text += ", " + name;
  } else if (const auto* r = std::get_if<state::refusal>(&a.data)) {
    text += ", refused: " + r->text;
  } else if (const auto* t = std::get_if<state::txn_reply>(&a.data)) {
    text += ", " + described(state::reply(*t));
  } else if (const auto* v = std::get_if<state::claim_view>(&a.data)) {
    text += v->known ? ", " + std::string(name_of(v->kind)) + " of limit " + std::to_string(v->limit) : ", nothing";
    for (const auto& row : v->holders)
      text += ", " + row.claim->id + " holds with fence " + std::to_string(row.claim->fence);
    for (const auto& row : v->queue)
      text += ", " + row.claim->id + " waits";
    for (const auto& g : v->delays)
      text += ", fence " + std::to_string(g.fence) + " is withheld";
  }
  return text;
}

std::string of(const operation& op) {
  std::string text = "operation " + std::to_string(op.id) + " of client " + std::to_string(op.client) + " at node " +
                     std::to_string(op.node);
  if (const auto& who = asker_of(op))
    text += " on behalf of " + who->secret;
  if (op.read)
    text += std::string(" (") + name_of(op.read->mode) + " read " + described(op.read->query) + ")";
  return text;
}

std::vector<std::string> cut_names(const std::vector<state::kv_entry_ptr>& entries, const state::kv_keys& q) {
  std::vector<std::string> names;
  for (const auto& e : entries) {
    std::string name(e->key);
    if (!q.separator.empty())
      if (const auto at = name.find(q.separator, q.prefix.size()); at != std::string::npos)
        name.resize(at + q.separator.size());
    if (names.empty() || names.back() != name)
      names.push_back(std::move(name));
  }
  return names;
}

// ---- permissions

bool is_about_permissions(std::string_view text) {
  return text == "Permission denied" || text == "ACL not found";
}

/// The denied operations in a response to a transaction. Others may be rejected for a lock delay.
std::vector<std::size_t> denied_in(const state::reply& r) {
  std::vector<std::size_t> found;
  if (const auto* t = std::get_if<state::txn_reply>(&r))
    for (const auto& each : t->errors)
      if (is_about_permissions(each.what))
        found.push_back(each.op_index);
  return found;
}

/// A rejection without a text matches any rejection.
bool fits(const state::reply& received, const state::reply& right) {
  const auto* any = std::get_if<state::refusal>(&right);
  if (any != nullptr && any->text.empty())
    return std::holds_alternative<state::refusal>(received);
  return same_reply(received, right);
}

/// What distinguishes commands of clients: not the times and the authorization that servers add.
std::string without_times(state::command c) {
  c.authorized_at = {};
  c.client_address.reset();
  if (c.once) { // the rest shows whether two requests are the same
    c.once->print = {};
    c.once->requested = {};
  }
  if (auto* s = std::get_if<state::outcome_seal>(&c))
    s->requested = {};
  if (auto* t = std::get_if<state::acl_token_set>(&c))
    t->token.create_time_ns = t->token.expiration_time_ns = 0;
  return wire::encode_command(c);
}

bool only_clients_give(const state::command& c) {
  return std::holds_alternative<state::kv_write>(c) || std::holds_alternative<state::txn>(c) ||
         std::holds_alternative<state::session_create>(c) || std::holds_alternative<state::acl_policy_set>(c) ||
         std::holds_alternative<state::acl_role_set>(c) || std::holds_alternative<state::acl_token_set>(c) ||
         std::holds_alternative<state::claim_ask>(c) || std::holds_alternative<state::claim_transfer>(c) ||
         std::holds_alternative<state::claim_mode_set>(c) || std::holds_alternative<state::kv_acquire>(c) ||
         std::holds_alternative<state::fenced_write>(c) || std::holds_alternative<state::fenced_txn>(c) ||
         std::holds_alternative<state::session_begin>(c) || std::holds_alternative<state::outcome_seal>(c);
}

/// No response shows a state before this index.
log_index newest_in(const state::query_result& a) {
  if (std::holds_alternative<state::refusal>(a.data))
    return {};
  auto newest = a.index.value > 1 ? a.index : log_index{};
  if (const auto* entries = std::get_if<state::kv_entries>(&a.data))
    for (const auto& e : entries->entries)
      if (e)
        newest = std::max(newest, e->modify_index);
  return newest;
}

} // namespace

// ---- writes

broken reply_checker::committed(const raft::entry& e) {
  if (e.index != committed().next())
    return "entry " + to_string(e.index) + " was committed after entry " + to_string(committed());
  auto reply = model_.apply(e);
  const bool in_delay = reply && reply->note.why == state::refused_for::lock_delay;
  const auto* late = reply ? std::get_if<state::once_refusal>(&*reply) : nullptr;
  const bool too_old = late != nullptr && late->why == state::once_error::too_old; // it is sent once more then
  const bool is_command = e.kind == raft::entry_kind::command;
  log_.push_back({is_command ? e.data : nullptr, std::move(reply)});
  if (!is_command)
    return std::nullopt;
  auto it = commands_.find(*e.data);
  if (it == commands_.end()) {
    const auto command = wire::decode_command(*e.data);
    if (!command)
      return "entry " + to_string(e.index) + " is not a command";
    it = commands_.find(without_times(*command));
    if (it == commands_.end() && (rules_.others_write || !only_clients_give(*command) || is_of_library(*command)))
      return std::nullopt; // proposed by servers themselves, or by the client library
    if (it == commands_.end())
      return "entry " + to_string(e.index) + " has a command that no client gave";
  }
  it->second.entries.push_back(e.index);
  it->second.may_commit += (in_delay && it->second.tries_again) || too_old ? 1 : 0;
  return count(it->second);
}

broken reply_checker::count(const same_command& c) const {
  if (!c.by_clients_only || c.entries.size() <= c.may_commit)
    return std::nullopt;
  std::string text = "a command is in the log " + std::to_string(c.entries.size()) + " times, at";
  for (auto i : c.entries)
    text += " " + to_string(i);
  text += ", but may be committed at most " + std::to_string(c.may_commit) + " times; requested by operation";
  for (auto id : c.requested_by)
    text += " " + std::to_string(id);
  return text;
}

void reply_checker::begun(operation& op) {
  op.known_at_invocation = known_;
  if (op.read && may_be_stale(op) && !op.through_agent)
    seen_before_[op.id] = seen_at_[{op.node, op.node_life}];
  if (!op.write)
    return;
  auto& same = commands_[without_times(*op.write)];
  same.requested_by.push_back(op.id);
  ++same.may_commit;
  // Servers may try an acquire that waits for a lock delay several times, each with a log entry.
  same.by_clients_only =
      (op.lock_wait == virtual_time::zero() || !std::holds_alternative<state::kv_write>(*op.write)) &&
      only_clients_give(*op.write);
  command_of_[op.id] = &same; // unordered_map never moves its elements
  const auto* acquire = std::get_if<state::kv_acquire>(&*op.write);
  same.tries_again = acquire != nullptr && op.lock_wait > virtual_time::zero();
  if (acquire == nullptr || acquire->fence || acquire->refuse_deadlock)
    return;
  state::command plain = state::kv_write{acquire->op};
  plain.by = op.write->by;
  auto& as_before = commands_[without_times(plain)];
  as_before.requested_by.push_back(op.id);
  plain_of_[op.id] = &as_before; // tried as often as the servers consider it worth a log entry
}

broken reply_checker::ended(const operation& op) {
  PRECONDITION(op.result != outcome::pending);
  if (op.committed_at_return > committed())
    return of(op) + " says that " + to_string(op.committed_at_return) + " was committed, but nothing above " +
           to_string(committed()) + " was";
  if (op.read)
    return op.result == outcome::done ? check_read_reply(op) : std::nullopt;
  if (!op.write) // session_checker checks whether the session lives
    return check_renewal(op);
  const auto it = command_of_.find(op.id);
  PRECONDITION(it != command_of_.end());
  auto& same = *it->second;
  switch (op.result) {
  case outcome::done:
    return op.index.is_zero() ? check_without_entry(op, same) : check_write_reply(op, same);
  case outcome::refused:
    --same.may_commit;
    if (auto b = count(same))
      return of(op) + " was refused (" + op.text + "), but " + *b;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

broken reply_checker::check_write_reply(const operation& op, same_command& same) {
  if (op.index > committed())
    return of(op) + " was done at entry " + to_string(op.index) + ", but nothing above " + to_string(committed()) +
           " is committed";
  auto& entry = log_[op.index.value - 1];
  const auto plain = plain_of_.find(op.id);
  const auto has = [&](const same_command& c) {
    return std::find(c.entries.begin(), c.entries.end(), op.index) != c.entries.end();
  };
  if (!has(same) && (plain == plain_of_.end() || !has(*plain->second)))
    return of(op) + " was done at entry " + to_string(op.index) + ", which is not its command";
  if (entry.claimed_by != 0)
    return of(op) + " was done at entry " + to_string(op.index) + ", which was operation " +
           std::to_string(entry.claimed_by);
  entry.claimed_by = op.id;
  if (op.index <= op.known_at_invocation)
    return of(op) + " was done at entry " + to_string(op.index) + ", although entry " +
           to_string(op.known_at_invocation) + " was known before it began";
  if (entry.reply && waited(op, *entry.reply))
    return check_wait(op);
  if (entry.reply && !fits(op.reply, *entry.reply))
    return of(op) + " at entry " + to_string(op.index) + " was answered " + described(op.reply) +
           ", expected: " + described(*entry.reply);
  if (entry.reply)
    if (auto b = check_note(op, *entry.reply))
      return b;
  if (op.write->by && model_.refuses(*op.write, op.known_at_invocation).has_value() !=
                          model_.refuses(*op.write, op.index.prev()).has_value())
    PROBE("permissions: changed between the request and its entry");
  known_ = std::max(known_, op.index);
  return std::nullopt;
}

/// Answered after its entry: the entry only put it into a queue.
bool reply_checker::waited(const operation& op, const state::reply& right) {
  const auto* waiting = std::get_if<state::claim_answer>(&right);
  return op.lock_wait > virtual_time::zero() && waiting != nullptr && waiting->state == state::claim_state::waiting;
}

/// docs/reference/claims.md, rules 23 and 39: the response was true at the request or later, on any server.
broken reply_checker::check_wait(const operation& op) {
  const auto* acquire = std::get_if<state::kv_acquire>(&*op.write);
  const auto* ask = std::get_if<state::claim_ask>(&*op.write);
  if (acquire == nullptr && ask == nullptr)
    return of(op) + " cannot have waited";
  const auto name = acquire != nullptr ? state::resource_name{acquire->op.key, state::claim_space::keys}
                                       : state::resource_name{ask->name, state::claim_space::claims};
  const auto& id = acquire != nullptr ? acquire->op.session : ask->id;
  const auto so = [&](log_index s) {
    const auto then = model_.claims_at(s);
    const auto* claim = then->find(name, id);
    if (const auto* received = std::get_if<state::claim_answer>(&op.reply))
      return claim != nullptr && acquire == nullptr && then->standing(name, *claim, {}) == *received;
    if (const auto* yes = std::get_if<bool>(&op.reply)) {
      const auto e = model_.entry_at(name.name, s);
      return *yes && acquire != nullptr && e && e->session == id && e->fence == op.reply.note.fence;
    }
    const auto* no = std::get_if<state::claim_refusal>(&op.reply);
    const auto* end = model_.ended().find_at({name, id}, s);
    if (no == nullptr)
      return false;
    return no->ended ? end != nullptr && end->why == *no->ended : claim == nullptr && end == nullptr;
  };
  known_ = std::max(known_, op.index);
  if (first_moment(op.index, op.committed_at_return, so)) {
    PROBE("claims: an answer after a wait");
    return std::nullopt;
  }
  return of(op) + " of entry " + to_string(op.index) + " was answered " + described(op.reply) +
         " after it had waited; at no moment up to " + to_string(op.committed_at_return) + " was that so";
}

/// Checks the note of a lock; session_checker checks the number of a fencing token.
broken reply_checker::check_note(const operation& op, const state::reply& right) const {
  const auto* w = std::get_if<state::kv_write>(&*op.write);
  const auto* acquire = std::get_if<state::kv_acquire>(&*op.write);
  if ((w == nullptr || (w->op.verb != kv_verb::lock && w->op.verb != kv_verb::unlock)) && acquire == nullptr)
    return std::nullopt;
  auto received = op.reply.note, expected = right.note;
  if (!model_.claims_in_use())
    received.fence = expected.fence = 0;
  if (received == expected)
    return std::nullopt;
  const auto rendered = [](const state::lock_note& n) {
    return "reason " + std::to_string(static_cast<int>(n.why)) + ", holder \"" + n.holder + "\", again in " +
           std::to_string(n.retry_after_ms) + " ms, fence " + std::to_string(n.fence);
  };
  return of(op) + " at entry " + to_string(op.index) + " received " + rendered(received) +
         ", expected: " + rendered(expected);
}

/// What may be rejected before it is replicated: docs/contract/04, section 3.1; 05, section 2.
broken reply_checker::check_without_entry(const operation& op, same_command& same) const {
  --same.may_commit;
  if (auto b = count(same))
    return of(op) + " was answered without an entry, but " + *b;
  const auto* no = std::get_if<state::refusal>(&op.reply);
  if ((no != nullptr && is_about_permissions(no->text)) || !denied_in(op.reply).empty())
    return check_early_refusal(op);
  const auto wrong = [&](const std::string& right) {
    return of(op) + " was answered " + described(op.reply) + " without an entry, expected: " + right;
  };
  if (const auto* d = std::get_if<state::session_destroy>(&*op.write)) { // sessions that are already gone
    const auto gone = [&](log_index s) {
      return std::none_of(d->ids.begin(), d->ids.end(),
                          [&](const std::string& id) { return model_.sessions().lived_at(id, s); });
    };
    const auto* yes = std::get_if<bool>(&op.reply);
    const auto from = lease_in_doubt(op) ? log_index{} : op.known_at_invocation;
    return yes != nullptr && *yes && first_moment(from, op.committed_at_return, gone) ? std::nullopt
                                                                                      : broken(wrong("an entry"));
  }
  if (const auto* w = std::get_if<state::kv_write>(&*op.write)) {
    const auto& session = w->op.session;
    const auto* refused = std::get_if<state::refusal>(&op.reply);
    if (w->op.verb == kv_verb::unlock)
      return session.empty() && refused && refused->text == "missing session"
                 ? std::nullopt
                 : broken(wrong(session.empty() ? "missing session" : "an entry"));
    if (w->op.verb != kv_verb::lock)
      return wrong("an entry");
    if (const auto* held = std::get_if<bool>(&op.reply)) // rejected for a lock delay
      return *held ? broken(wrong("an entry")) : std::nullopt;
    const std::string text = session.empty()        ? "missing session"
                             : session.size() != 36 ? "failed session lookup: index error: UUID must be 36 characters"
                                                    : "invalid session \"" + session + "\"";
    return refused && refused->text == text ? std::nullopt : broken(wrong(text));
  }
  if (const auto* t = std::get_if<state::txn>(&*op.write)) {
    state::txn_reply right;
    bool only_keys = true; // no lock delay, no catalog arguments that may be wrong
    for (std::size_t i = 0; i < t->ops.size(); ++i) {
      const auto* kv = std::get_if<state::kv_op>(&t->ops[i]);
      only_keys = only_keys && (kv == nullptr ? catalog_model::is_modelled(t->ops[i]) : kv->verb != kv_verb::lock);
      if (kv != nullptr && kv->key.empty() && kv->verb != kv_verb::remove_tree)
        right.errors.push_back({i, "Must provide key"});
    }
    const auto* received = std::get_if<state::txn_reply>(&op.reply);
    if (received == nullptr || received->errors.empty())
      return wrong("an entry");
    if (only_keys && !same_reply(op.reply, state::reply(right)))
      return wrong(right.errors.empty() ? "an entry" : described(state::reply(right)));
  }
  return std::nullopt;
}

/// Only a leader with its lease denies permission without an entry. It decides by its state when
/// the request arrives, or by a later one.
broken reply_checker::check_early_refusal(const operation& op) const {
  const auto* no = std::get_if<state::refusal>(&op.reply);
  const auto& who = op.write->by;
  const auto so = [&](log_index s) {
    const auto right = model_.refuses(*op.write, s);
    if (no == nullptr)
      return right && denied_in(*right) == denied_in(op.reply);
    if (who && no->text == "ACL not found" && model_.access().ends_one_day(who->secret, s))
      return true;
    return right && fits(op.reply, *right);
  };
  const auto from = lease_in_doubt(op) ? log_index{} : op.known_at_invocation, to = op.committed_at_return;
  if (first_moment(from, to, so))
    return std::nullopt;
  const auto right = model_.refuses(*op.write, to);
  return of(op) + " was answered " + described(op.reply) + " without an entry; at no moment from " + to_string(from) +
         " to " + to_string(to) + " was that so: at the last " + (right ? described(*right) : "it may be done");
}

/// The permission is checked by a default read, whatever default_consistency says.
broken reply_checker::check_renewal(const operation& op) const {
  const auto& who = op.renewal->by;
  const bool refused = op.result == outcome::refused && is_about_permissions(op.text);
  if (!who || (op.result != outcome::done && !refused))
    return refused ? broken(of(op) + " was refused (" + op.text + "), but ACLs are not in force") : std::nullopt;
  const auto so = [&](log_index s) {
    const auto may = model_.access().rights_of(*who, s);
    if (op.result == outcome::done)
      return may && model_.may_use_session(who, op.renewal->session, "write", s);
    if (op.text == "ACL not found")
      return !may || model_.access().ends_one_day(who->secret, s);
    return may && !model_.may_use_session(who, op.renewal->session, "write", s);
  };
  const auto from = lease_in_doubt(op) ? log_index{} : op.known_at_invocation, to = op.committed_at_return;
  if (first_moment(from, to, so))
    return std::nullopt;
  return of(op) + ", a renewal, was " + (refused ? "refused (" + op.text + ")" : "done") + "; at no moment from " +
         to_string(from) + " to " + to_string(to) + " was that right";
}

template <class IsSo>
std::optional<log_index> reply_checker::first_moment(log_index from, log_index to, IsSo is_so) const {
  if (from > to)
    return std::nullopt;
  if (is_so(from))
    return from;
  const auto& moments = model_.moments();
  for (auto it = std::upper_bound(moments.begin(), moments.end(), from); it != moments.end() && *it <= to; ++it)
    if (is_so(*it))
      return *it;
  return std::nullopt;
}

log_index reply_checker::seen_before(const operation& op) const {
  const auto it = seen_before_.find(op.id);
  return it == seen_before_.end() ? log_index{} : it->second;
}

// ---- reads

/// Whether the read may be stale, as far as is known before its response.
bool reply_checker::may_be_stale(const operation& op) const {
  return op.read->mode == http::consistency::stale ||
         (op.read->mode == http::consistency::normal && !rules_.default_asks_quorum);
}

bool reply_checker::like_stale(const operation& op) const {
  if (op.read->mode == http::consistency::stale || !may_be_stale(op))
    return op.read->mode == http::consistency::stale;
  return lease_in_doubt(op);
}

bool reply_checker::lease_in_doubt(const operation& op) const {
  return !rules_.trust_lease ||
         (rules_.clocks != nullptr && rules_.clocks->lease_in_doubt_between(op.invoked, op.returned));
}

broken reply_checker::check_read_reply(const operation& op) {
  if (!op.answer)
    return of(op) + " is done without an answer";
  if (op.answer->index.is_zero() && !std::holds_alternative<state::refusal>(op.answer->data))
    return of(op) + " was answered with index 0";
  const bool stale = like_stale(op);
  const auto from = stale ? seen_before(op) : op.known_at_invocation;
  const auto to = op.committed_at_return;
  const auto s = lowest_explanation(op.read->query, *op.answer, from, to);
  if (!s) {
    std::string text = of(op) + " was answered " + described(*op.answer) + "; at no moment from " + to_string(from) +
                       " to " + to_string(to) + " was that so: at the first " + model_answer(op.read->query, from);
    if (from < to)
      text += "; at the last " + model_answer(op.read->query, to);
    return text;
  }
  if (stale && op.through_agent)
    return std::nullopt; // another server may answer next
  if (stale) {
    auto& seen = seen_at_[{op.node, op.node_life}];
    seen = std::max(seen, *s);
  } else {
    known_ = std::max(known_, *s);
  }
  return std::nullopt;
}

std::optional<log_index> reply_checker::lowest_explanation(const state::query& q, const state::query_result& a,
                                                           log_index from, log_index to) const {
  const bool keys = std::holds_alternative<state::kv_get>(q) || std::holds_alternative<state::kv_list>(q) ||
                    std::holds_alternative<state::kv_keys>(q);
  if (!keys && !std::holds_alternative<state::txn_read>(q) && !std::holds_alternative<state::session_info>(q) &&
      !is_about_claims(q) && !std::holds_alternative<state::outcome_read>(q))
    return from;
  return first_moment(keys ? std::max(from, newest_in(a)) : from, to,
                      [&](log_index s) { return explained_at(q, a, s); });
}

bool reply_checker::explained_at(const state::query& q, const state::query_result& a, log_index s) const {
  if (const auto* no = std::get_if<state::refusal>(&a.data); no != nullptr && is_about_permissions(no->text)) {
    // A server may know before the log does that a token has expired.
    const bool over = q.by && no->text == "ACL not found" && model_.access().ends_one_day(q.by->secret, s);
    return over || model_.refuses(q, s) == no->text;
  }
  if (model_.refuses(q, s))
    return false;
  if (const auto* t = std::get_if<state::txn_read>(&q)) {
    const auto right = model_.read_txn(t->ops, s);
    const auto* received = std::get_if<state::txn_reply>(&a.data);
    return received != nullptr && (!right || same_reply(state::reply(*received), state::reply(*right)));
  }
  if (is_about_claims(q))
    return shows_claims(model_, q, a, s);
  if (const auto* o = std::get_if<state::outcome_read>(&q))
    return shows_outcome(q, o->key, a, s);
  if (const auto* i = std::get_if<state::session_info>(&q)) {
    const auto* received = std::get_if<state::sessions>(&a.data);
    return received != nullptr && a.index == model_.session_index(s) &&
           received->list.size() ==
               (model_.sessions().lived_at(i->id, s) && model_.may_use_session(q.by, i->id, "read", s) ? 1 : 0);
  }
  if (const auto* k = std::get_if<state::kv_keys>(&q)) {
    const auto* received = std::get_if<state::key_names>(&a.data);
    if (received == nullptr || !model_.prefix_index(k->prefix, s).contains(a.index))
      return false;
    const auto right = cut_names(shown_to(q, k->prefix, s), *k);
    if (!model_.doubtful_under(k->prefix, s))
      return received->keys == right;
    return std::is_sorted(received->keys.begin(), received->keys.end()) &&
           std::includes(received->keys.begin(), received->keys.end(), right.begin(), right.end());
  }
  const auto* received = std::get_if<state::kv_entries>(&a.data);
  if (received == nullptr || std::count(received->entries.begin(), received->entries.end(), nullptr) != 0)
    return false;
  if (const auto* g = std::get_if<state::kv_get>(&q)) {
    if (!model_.key_index(g->key, s).contains(a.index))
      return false;
    if (model_.doubtful(g->key, s))
      return received->entries.size() <= 1;
    const auto right = model_.entry_at(g->key, s);
    return right ? received->entries.size() == 1 && same_entry(*received->entries.front(), *right)
                 : received->entries.empty();
  }
  const auto& prefix = std::get<state::kv_list>(q).prefix;
  const auto right = shown_to(q, prefix, s);
  if (!model_.prefix_index(prefix, s).contains(a.index))
    return false;
  auto next = right.begin();
  std::optional<std::string_view> last;
  for (const auto& e : received->entries) {
    if (e->key.compare(0, prefix.size(), prefix) != 0 || (last && e->key <= *last))
      return false;
    last = e->key;
    if (!model_.shows_key(q, e->key, s))
      return false;
    if (model_.doubtful(e->key, s))
      continue;
    if (next == right.end() || !same_entry(*e, **next))
      return false;
    ++next;
  }
  return next == right.end();
}

bool reply_checker::shows_outcome(const state::query& q, const std::string& key, const state::query_result& a,
                                  log_index s) const {
  const auto* received = std::get_if<state::outcome_view>(&a.data);
  const auto owner = q.by ? model_.access().owner_at(q.by->secret, s) : std::optional(std::string());
  const auto right = owner ? model_.outcomes().find_at({*owner, key}, s) : nullptr;
  if (received == nullptr || (received->row == nullptr) != (right == nullptr))
    return false;
  if (right == nullptr)
    return true;
  PROBE("once: an outcome that was read is judged");
  const bool is_void = received->row->answer == nullptr;
  return is_void == right->is_void() && received->row->index == right->decided &&
         (!right->answer || same_reply(*received->row->answer, *right->answer));
}

std::vector<state::kv_entry_ptr> reply_checker::shown_to(const state::query& q, const std::string& prefix,
                                                         log_index s) const {
  auto all = model_.entries_at(prefix, s);
  std::erase_if(all, [&](const auto& e) { return !model_.shows_key(q, e->key, s); });
  return all;
}

std::string reply_checker::model_answer(const state::query& q, log_index s) const {
  if (const auto no = model_.refuses(q, s))
    return "refused: " + *no;
  std::vector<state::kv_entry_ptr> entries;
  index_bounds bounds;
  if (const auto* g = std::get_if<state::kv_get>(&q)) {
    bounds = model_.key_index(g->key, s);
    if (model_.doubtful(g->key, s))
      return "doubtful";
    if (auto e = model_.entry_at(g->key, s))
      entries.push_back(std::move(e));
  } else if (const auto* t = std::get_if<state::txn_read>(&q)) {
    const auto right = model_.read_txn(t->ops, s);
    return right ? described(state::reply(*right)) : "doubtful";
  } else {
    const auto* l = std::get_if<state::kv_list>(&q);
    const auto* k = std::get_if<state::kv_keys>(&q);
    if (l == nullptr && k == nullptr)
      return "not judged";
    const auto& prefix = l != nullptr ? l->prefix : k->prefix;
    bounds = model_.prefix_index(prefix, s);
    entries = shown_to(q, prefix, s);
  }
  std::string text = "index " + to_string(bounds.low);
  if (bounds.high != bounds.low)
    text += " to " + to_string(bounds.high);
  text += entries.empty() ? ", nothing" : "";
  for (const auto& e : entries)
    text += ", " + sim::described(*e);
  return text;
}

// ---- the end

/// Done operations have their own entries and rejected ones none, so the rest must fit the unknown
/// ones. count() has checked that all along. It is checked once more here, so that no order of
/// calls hides it.
broken reply_checker::finish() const {
  for (const auto& [bytes, same] : commands_)
    if (auto b = count(same))
      return b;
  return std::nullopt;
}

} // namespace belay::sim
