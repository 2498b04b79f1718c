#include "sim/checkers/kv_model.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using state::kv_op;
using state::kv_verb;

bool under(std::string_view key, std::string_view prefix) {
  return key.substr(0, prefix.size()) == prefix;
}

template <class Map, class F>
void for_each_under(Map& map, std::string_view prefix, F&& f) {
  for (auto it = map.lower_bound(prefix); it != map.end() && under(it->first, prefix); ++it)
    f(*it);
}

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// The newest index at or before s; zero: none.
log_index newest(const std::vector<log_index>& ascending, log_index s) {
  const auto it = std::upper_bound(ascending.begin(), ascending.end(), s);
  return it == ascending.begin() ? log_index{} : *std::prev(it);
}

log_index shown(log_index i) {
  return std::max(i, log_index{1}); // docs/contract/02, section 2: never 0
}

// An abandoned restore is forgotten (docs/reference/http-extensions.md).
constexpr std::uint64_t restore_idle_ms = 120'000;
constexpr auto other_restore = "the restore was given up or replaced by another one";
constexpr auto rows_lacking = "the restore lacks some of its rows";

bool changes_keys(kv_verb verb) {
  return verb != kv_verb::get && verb != kv_verb::get_tree && verb != kv_verb::check_index &&
         verb != kv_verb::check_session && verb != kv_verb::check_not_exists;
}

std::string stale_text(const kv_op& op) {
  if (op.verb == kv_verb::remove_cas)
    return "failed to delete key " + in_quotes(op.key) + ", index is stale";
  if (op.verb == kv_verb::unlock)
    return "failed to unlock key " + in_quotes(op.key) + ", lock isn't held, or is held by another session";
  return "failed to set key " + in_quotes(op.key) + ", index is stale";
}

template <class Past>
bool doubted(const Past& past, log_index s) {
  return !past.doubtful_since.is_zero() && past.doubtful_since <= s;
}

template <class Past>
state::kv_entry_ptr version_at(const Past& past, log_index s) {
  const auto it = std::upper_bound(past.versions.begin(), past.versions.end(), s,
                                   [](log_index i, const auto& v) { return i < v.at; });
  return it == past.versions.begin() ? nullptr : std::prev(it)->entry;
}

/// Checks a transaction's read of a key that is not doubtful. @returns the error; empty: none
std::string check(const kv_op& op, const state::kv_entry_ptr& e) {
  const auto key = in_quotes(op.key);
  switch (op.verb) {
  case kv_verb::get:
    return e ? "" : "key " + key + " doesn't exist";
  case kv_verb::check_index:
    if (!e)
      return "failed to check index, key " + key + " doesn't exist";
    return e->modify_index == op.index ? ""
                                       : "failed index check for key " + key + ", current modify index " +
                                             to_string(e->modify_index) + " != " + to_string(op.index);
  case kv_verb::check_session:
    if (!e)
      return "failed to check session, key " + key + " doesn't exist";
    return e->session == lower(op.session) ? ""
                                           : "failed session check for key " + key + ", current session " +
                                                 in_quotes(e->session) + " != " + in_quotes(op.session);
  case kv_verb::check_not_exists:
    return e ? "key " + key + " exists" : "";
  default:
    return "";
  }
}

} // namespace

void kv_model::note(std::vector<log_index>& ascending, log_index i) {
  if (ascending.empty() || ascending.back() != i)
    ascending.push_back(i);
}

std::optional<state::reply> kv_model::apply(const raft::entry& e) {
  PRECONDITION(e.index == applied_.next());
  applied_ = e.index;
  if (gathering_ && e.time.value - gathering_->touched.value > restore_idle_ms)
    gathering_.reset();
  const bool token_over = access_.pass_time(e.index, e.time);
  if (token_over)
    note(moments_, e.index);
  if (outcomes_.pass_time(e.index, e.time))
    note(moments_, e.index);
  const auto command = e.kind == raft::entry_kind::command ? wire::decode_command(*e.data) : std::nullopt;
  draft d{e.index, e.time};
  d.access_changed = token_over;
  begin_claims(d); // for every entry, whatever its kind
  auto answer = command ? carry_out(d, *command) : std::nullopt;
  if (d.access_changed && !d.went_back)
    end_disallowed(d);
  settle(d);
  keep(d);
  return answer;
}

/// docs/reference/exactly-once.md.
kv_model::received kv_model::carry_out_once(draft& d, const state::command& command) {
  const auto* seal = std::get_if<state::outcome_seal>(&command);
  const auto owner = command.by ? access_.owner_now(command.by->secret) : std::optional(std::string());
  if (!owner)
    return refused_to(nullptr, command, d.index.prev(), d.time);
  const outcomes_model::owned_key key{*owner, seal != nullptr ? seal->key : command.once->key};
  const auto requested = seal != nullptr ? seal->requested : command.once->requested;
  const auto refused = [&](state::once_error why) { return state::reply{state::once_refusal{why, d.time}}; };
  auto plain = command;
  plain.once.reset();
  plain.by.reset();
  plain.authorized_at = {};
  auto anonymous = plain;
  anonymous.client_address.reset(); // a copy may have another one, or none
  const auto request = wire::encode_command(anonymous);
  if (const auto known = outcomes_.find(key)) {
    if (seal == nullptr && known->is_void())
      return refused(state::once_error::sealed);
    if (seal == nullptr && known->request != request)
      return refused(state::once_error::other_request);
    PROBE("once: a copy, or a seal, finds what is known");
    auto again = known->is_void() ? state::reply{} : known->answer;
    if (again)
      again->decided_at = known->decided;
    return again;
  }
  if (!outcomes_model::takes(requested, d.time))
    return refused(state::once_error::too_old);
  note(moments_, d.index);
  if (seal != nullptr) {
    outcomes_.keep(key, {{}, {}, d.index, outcomes_model::end_of(d.time)});
    state::reply sealed;
    sealed.decided_at = d.index;
    return sealed;
  }
  plain.by = command.by;
  if (plain.by)
    if (auto no = refused_to(access_.rights_now(*plain.by), plain, d.index.prev(), d.time))
      return no; // the idempotency key stays unused
  auto answer = carry_out(d, plain);
  outcomes_.keep(key, {request, answer, d.index, outcomes_model::end_of(d.time)});
  return answer;
}

/// Applies a command to the model: permissions first, then the part of the model that knows this
/// kind of command. The last kinds end sessions. @returns nullopt: the model does not predict the
/// reply
std::optional<state::reply> kv_model::carry_out(draft& d, const state::command& command) {
  if (command.once || std::holds_alternative<state::outcome_seal>(command))
    return carry_out_once(d, command);
  if (command.by)
    if (auto no = refused_to(access_.rights_now(*command.by), command, d.index.prev(), d.time))
      return no;
  if (auto received = access_.apply(command, d.index, d.time)) {
    note(moments_, d.index);
    d.access_changed = d.access_changed || !std::holds_alternative<state::refusal>(*received);
    return received;
  }
  if (auto received = run_claims(d, command))
    return *received;
  if (const auto* w = std::get_if<state::kv_write>(&command))
    return run(d, *w);
  if (const auto* t = std::get_if<state::txn>(&command))
    return run(d, *t);
  if (const auto* begun = std::get_if<state::restore_begin>(&command))
    return run(d, *begun);
  if (const auto* rows = std::get_if<state::restore_rows>(&command))
    return run(d, *rows);
  if (const auto* commit = std::get_if<state::restore_commit>(&command))
    return run(d, *commit);
  if (const auto* abort = std::get_if<state::restore_abort>(&command))
    return run(d, *abort);
  note(moments_, d.index);
  if (const auto* r = std::get_if<state::tombstone_reap>(&command)) {
    reaps_.push_back({d.index, r->up_to});
    return std::nullopt;
  }
  if (const auto* s = std::get_if<state::session_create>(&command))
    return sessions_.create(s->session, d.index);
  std::vector<std::string> ending;
  std::string cause; // for the catalog: "check ...", "node deregistered"
  if (const auto* x = std::get_if<state::session_destroy>(&command)) {
    ending = x->ids;
    cause = x->cause == "destroyed" && command.by ? "destroyed by " : x->cause; // the accessor is not checked
  } else if (const auto* x = std::get_if<state::session_expire>(&command)) {
    if (x->restored_at == restored_at_)
      ending = x->ids;
    cause = "ttl";
  } else if (const auto* c = std::get_if<state::catalog_register>(&command)) {
    ending = sessions_.of_registration(*c, d.index);
  } else if (const auto* r = std::get_if<state::catalog_deregister>(&command)) {
    ending = sessions_.of_deregistration(*r, d.index);
  }
  for (const auto& id : ending)
    end_session(d, id, cause);
  d.uncertain = !ending.empty() && !doubtful_.empty();
  return state::reply{true};
}

// ---- one entry

std::optional<state::reply> kv_model::run(draft& d, const state::kv_write& c) {
  return write_alone(d, c.op, {});
}

std::optional<state::reply> kv_model::write_alone(draft& d, const kv_op& op,
                                                  const std::vector<state::fence_ref>& named) {
  if (guarded(op, named))
    return refused_claim(state::claim_error::guarded);
  const auto s = write_key(d, op);
  if (s.outcome == certainty::failed && op.verb == kv_verb::unlock)
    leave_queue(d, op.key, lower(op.session));
  if (s.received)
    return s.received;
  switch (s.outcome) {
  case certainty::done:
    return state::reply{true};
  case certainty::failed:
    return state::reply{false};
  case certainty::open:
    break;
  }
  make_doubtful(d, op.key);
  return std::nullopt;
}

/// docs/contract/05: everything is evaluated and every failure reported; one failure undoes all.
std::optional<state::reply> kv_model::run(draft& d, const state::txn& c) {
  state::txn_reply answer;
  bool open = false;
  d.fence_before = last_fence_;
  std::vector<state::fence_ref> named;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    const auto* op = std::get_if<kv_op>(&c.ops[i]);
    const bool of_fence = std::holds_alternative<state::fence_op>(c.ops[i]);
    open = open || (op == nullptr && !of_fence && !(catalog_.known() && catalog_model::is_modelled(c.ops[i])));
    if (op != nullptr && op->key.empty() && op->verb != kv_verb::remove_tree)
      answer.errors.push_back({i, "Must provide key"});
    else if (op != nullptr && op->verb == kv_verb::lock && delayed_until(op->key) > d.time.value)
      answer.errors.push_back({i, "failed to lock key " + in_quotes(op->key) + " due to lock delay"});
  }
  if (!answer.errors.empty()) // the catalog may have added to the list
    return open ? std::nullopt : std::optional<state::reply>(answer);
  if (open) {
    catalog_.forget(); // they may write the same rows
    make_doubtful(d, c);
    return std::nullopt;
  }

  bool shows_unknown = false, of_catalog = false;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    if (const auto* f = std::get_if<state::fence_op>(&c.ops[i])) {
      named.push_back(f->fence);
      if (!is_valid(f->fence))
        answer.errors.push_back(
            {i, "fence " + std::to_string(f->fence.fence) + " of " + described(f->fence.of) + " is not valid"});
      continue;
    }
    if (!std::holds_alternative<kv_op>(c.ops[i])) {
      of_catalog = true;
      auto done = catalog_.run(c.ops[i], d.index);
      if (!done.why.empty())
        answer.errors.push_back({i, std::move(done.why)});
      else if (done.shown)
        answer.results.push_back(std::move(*done.shown));
      continue;
    }
    const auto& op = std::get<kv_op>(c.ops[i]);
    if (!changes_keys(op.verb)) {
      if (op.verb == kv_verb::get_tree) {
        for_each_under(live_, op.key, [&](const auto& pair) { answer.results.push_back({pair.second, true}); });
        shows_unknown = shows_unknown || any_doubtful_now(op.key);
      } else if (doubtful_.count(op.key) != 0) {
        open = true;
      } else if (auto wrong = check(op, live(op.key)); !wrong.empty()) {
        answer.errors.push_back({i, std::move(wrong)});
      } else if (op.verb != kv_verb::check_not_exists) {
        answer.results.push_back({live(op.key), op.verb == kv_verb::get});
      }
      continue;
    }
    if (const auto prefix = guarded(op, named)) {
      answer.errors.push_back(
          {i, "key " + in_quotes(op.key) + " is guarded by " + described(claims_.guards.at(*prefix))});
      continue;
    }
    auto s = write_key(d, op);
    shows_unknown = shows_unknown || s.shows_unknown;
    if (s.outcome == certainty::failed)
      answer.errors.push_back({i, s.why.empty() ? stale_text(op) : s.why});
    else if (s.outcome == certainty::open)
      open = true;
    else if (s.entry)
      answer.results.push_back({std::move(s.entry), op.verb == kv_verb::add});
  }
  if (!answer.errors.empty()) {
    undo(d);
    catalog_.undo();
    if (of_catalog)
      PROBE("clients: a transaction with the catalog is rolled back");
    answer.results.clear();
    return open ? std::nullopt : std::optional<state::reply>(answer);
  }
  if (open) {
    undo(d);
    catalog_.undo();
    if (of_catalog)
      catalog_.forget();
    make_doubtful(d, c);
    return std::nullopt;
  }
  if (of_catalog) {
    PROBE("clients: a transaction with the catalog is done");
    catalog_.keep(d.index);
  }
  return shows_unknown ? std::nullopt : std::optional<state::reply>(answer);
}

// ---- restores

std::optional<state::reply> kv_model::run(draft& d, const state::restore_begin& c) {
  if (!gathering_ || gathering_->id != c.id)
    gathering_ = gathering{c.id, c.archive_index, 0, d.time, false};
  return state::reply{true};
}

std::optional<state::reply> kv_model::run(draft& d, const state::restore_rows& c) {
  auto& g = gathering_;
  if (!g || g->id != c.id || g->in_force)
    return state::reply{state::refusal{other_restore}};
  if (c.number + 1 == g->batches) // sent twice
    return state::reply{true};
  if (c.number != g->batches)
    return state::reply{state::refusal{rows_lacking}};
  ++g->batches;
  g->touched = d.time;
  return state::reply{true};
}

std::optional<state::reply> kv_model::run(draft& d, const state::restore_commit& c) {
  auto& g = gathering_;
  if (!g || g->id != c.id)
    return state::reply{state::refusal{other_restore}};
  if (g->in_force)
    return state::reply{true};
  if (g->batches != c.batches)
    return state::reply{state::refusal{rows_lacking}};
  go_back(d, g->archive);
  restored_at_ = d.index;
  g->in_force = true;
  g->touched = d.time;
  return state::reply{true};
}

std::optional<state::reply> kv_model::run(draft&, const state::restore_abort& c) {
  if (gathering_ && gathering_->id == c.id && !gathering_->in_force)
    gathering_.reset();
  return state::reply{true};
}

/// @pre the archive was saved by this cluster
void kv_model::go_back(draft& d, log_index archive) {
  PRECONDITION(archive < d.index);
  keep_delays(d, archive);
  const auto claims_then = claims_at(archive);
  std::vector<modelled_session_end> may_end;
  for (auto& id : sessions_.alive())
    may_end.push_back({id, "restored", d.index, held_by(id)});
  sessions_.go_back(archive, d.index);
  catalog_.go_back(archive, d.index);
  access_.go_back(archive, d.index, d.time);
  outcomes_.go_back(archive, d.time);
  for (const auto& [key, past] : pasts_) {
    if (doubtful_.count(key) != 0)
      continue;
    const auto now = live(key);
    auto then = version_at(past, archive);
    if (now == then)
      continue;
    // Another session may have held it since: a new grant.
    if (then && !then->session.empty() && (!now || now->session != then->session || now->fence != then->fence)) {
      auto granted = *then;
      granted.fence = new_fence(d);
      then = state::kv_entry_ptr(granted);
    }
    d.before.emplace_back(key, now);
    if (then)
      live_[key] = then;
    else
      live_.erase(key);
  }
  claims_go_back(d, *claims_then);
  for (auto& each : may_end)
    if (claims_in_use_ && sessions_.find(each.id) == nullptr)
      session_ends_.push_back(std::move(each));
  d.went_back = true;
  past_restores_.push_back({d.index, archive});
  restores_.push_back(d.index);
}

/// Delays of the archive and current ones continue. A holder that loses its lock by the restore is
/// protected as if its session had ended (docs/reference/http-extensions.md).
void kv_model::keep_delays(const draft& d, log_index archive) {
  for (auto& [key, all] : delays_) {
    const auto then = std::find_if(all.rbegin(), all.rend(), [&](const delay& each) { return each.since <= archive; });
    const auto until = std::max(then == all.rend() ? 0 : then->until, all.back().until);
    if (until > d.time.value && until > all.back().until)
      all.push_back({d.index, until});
  }
  for (const auto& [key, now] : live_) {
    const auto* holder = sessions_.find(now->session);
    const auto then = entry_at(key, archive);
    if (now->session.empty() || holder == nullptr || (then && then->session == now->session))
      continue;
    if (const auto until = delay_after(d, *holder); until > delayed_until(key))
      delays_[key].push_back({d.index, until});
  }
}

std::uint64_t kv_model::delayed_until(std::string_view key) const {
  const auto it = delays_.find(key);
  return it == delays_.end() ? 0 : it->second.back().until;
}

/// docs/contract/04, sections 2.1 and 3.5. Zero: none.
std::uint64_t kv_model::delay_after(const draft& d, const state::session_record& s) {
  constexpr std::int64_t ns_per_ms = 1'000'000, longest_ms = 60'000;
  return s.lock_delay_ns <= 0
             ? 0
             : d.time.value +
                   static_cast<std::uint64_t>(std::min((s.lock_delay_ns + ns_per_ms - 1) / ns_per_ms, longest_ms));
}

kv_model::step kv_model::write_key(draft& d, const kv_op& op) {
  const bool in_doubt = doubtful_.count(op.key) != 0;
  const auto old = live(op.key);
  switch (op.verb) {
  case kv_verb::cas:
    if (in_doubt)
      return {certainty::open, nullptr, true};
    if (op.index != (old ? old->modify_index : log_index{}))
      return {certainty::failed, nullptr, false};
    return store(d, op);
  case kv_verb::set:
    return store(d, op);
  case kv_verb::add:
    return add(d, op);
  case kv_verb::remove:
  case kv_verb::remove_cas:
    if (in_doubt) {
      d.uncertain = true;
      return {op.verb == kv_verb::remove ? certainty::done : certainty::open, nullptr, false};
    }
    if (old && op.verb == kv_verb::remove_cas && old->modify_index != op.index)
      return {certainty::failed, nullptr, false};
    if (old) // a missing key is deleted at any index
      remove(d, op.key);
    return {};
  case kv_verb::remove_tree:
    remove_tree(d, op.key);
    return {};
  case kv_verb::lock:
    return lock(d, op);
  case kv_verb::unlock:
    return unlock(d, op);
  default:
    return {certainty::open, nullptr, true};
  }
}

/// docs/reference/exactly-once.md, "Counters".
kv_model::step kv_model::add(draft& d, const kv_op& op) {
  if (doubtful_.count(op.key) != 0)
    return {certainty::open, nullptr, true};
  const auto refused = [&](state::refused_for why, const char* text) {
    state::reply received(false);
    received.note.why = why;
    return step{certainty::failed, nullptr, false, "failed to add to key " + in_quotes(op.key) + text, received};
  };
  const auto old = live(op.key);
  const auto text = old ? std::string(view_of(old->value)) : "0";
  const auto first_digit = text.starts_with('-') ? 1u : 0u;
  if (text.size() == first_digit || text.find_first_not_of("0123456789", first_digit) != std::string::npos)
    return refused(state::refused_for::value, ", its value is no decimal number of 64 bits");
  const auto sum = static_cast<__int128>(std::stoll(text)) + op.amount; // no client here writes longer ones
  if (sum < op.min.value_or(INT64_MIN) || sum > op.max.value_or(INT64_MAX))
    return refused(state::refused_for::bounds, ", the sum is out of bounds");
  auto written = op;
  written.value = make_payload(std::to_string(static_cast<std::int64_t>(sum)));
  written.flags = old ? old->flags : 0;
  auto s = store(d, written);
  s.received = state::reply{state::kv_added{static_cast<std::int64_t>(sum)}};
  return s;
}

/// docs/contract/04, section 3.1.
kv_model::step kv_model::lock(draft& d, const kv_op& op) {
  const auto refused = [](const std::string& text) {
    return step{certainty::failed, nullptr, false, text, state::reply{state::refusal{text}}};
  };
  if (const auto until = delayed_until(op.key); until > d.time.value) {
    state::reply received(false);
    received.note = {state::refused_for::lock_delay, {}, until - d.time.value, 0};
    return {certainty::failed, nullptr, false, "failed to lock key " + in_quotes(op.key) + " due to lock delay",
            received};
  }
  if (op.session.empty())
    return refused("missing session");
  if (op.session.size() != 36)
    return refused("failed session lookup: index error: UUID must be 36 characters");
  const auto id = lower(op.session);
  if (sessions_.find(id) == nullptr)
    return refused("invalid session " + in_quotes(op.session));
  if (doubtful_.count(op.key) != 0)
    return {certainty::open, nullptr, true};
  const auto old = live(op.key);
  if (old && !old->session.empty() && old->session != id) {
    state::reply received(false);
    received.note = {state::refused_for::held, std::string(old->session), 0, 0};
    return {certainty::failed, nullptr, false, "failed to lock key " + in_quotes(op.key) + ", lock is already held",
            received};
  }
  const bool again = old && old->session == id;
  if (!again && awaited(op.key)) {
    state::reply received(false);
    received.note.why = state::refused_for::queued;
    return {certainty::failed, nullptr, false, "failed to lock key " + in_quotes(op.key) + ", lock is already held",
            received};
  }
  auto s = put(d, op, (old ? old->lock_index : 0) + (again ? 0 : 1), id, again ? old->fence : new_fence(d));
  s.received = state::reply(true);
  s.received->note.fence = s.entry->fence; // marks the grant; reply_checker checks the number in the response
  return s;
}

/// docs/contract/04, section 3.2.
kv_model::step kv_model::unlock(draft& d, const kv_op& op) {
  if (op.session.empty())
    return {certainty::failed, nullptr, false, "missing session", state::reply{state::refusal{"missing session"}}};
  if (doubtful_.count(op.key) != 0) {
    d.uncertain = true;
    return {certainty::open, nullptr, true};
  }
  const auto old = live(op.key);
  if (!old || old->session.empty() || old->session != lower(op.session)) {
    state::reply received(false);
    if (old && !old->session.empty())
      received.note = {state::refused_for::held, std::string(old->session), 0, 0};
    return {certainty::failed, nullptr, false, {}, received};
  }
  return put(d, op, old->lock_index, {}, 0);
}

/// Ends it together with everything that depends on it.
void kv_model::end_session(draft& d, const std::string& id, const std::string& cause) {
  const auto* session = sessions_.find(id);
  if (session == nullptr)
    return;
  const auto ending = *session;
  modelled_session_end received{id, cause, d.index};
  leave_on_end(d, ending, received);
  received.released = held_by(id);
  std::vector<std::string> held;
  for (const auto& [key, e] : live_)
    if (e->session == id)
      held.push_back(key);
  for (const auto& key : held) {
    const auto old = live(key);
    if (ending.behavior == state::session_behavior::remove) {
      remove(d, key);
    } else {
      auto e = *old;
      e.session = {};
      e.fence = 0;
      e.modify_index = d.index;
      d.before.emplace_back(key, old);
      live_[key] = state::kv_entry_ptr(e);
    }
    if (const auto until = delay_after(d, ending); until != 0)
      delays_[key].push_back({d.index, until});
  }
  end_claims_of(d, ending);
  sessions_.end(id, d.index);
  if (claims_in_use_)
    session_ends_.push_back(std::move(received));
}

/// A write of the value that is already there changes nothing (docs/internals/pitfalls.md C7).
kv_model::step kv_model::store(draft& d, const kv_op& op) {
  if (doubtful_.count(op.key) != 0) {
    d.uncertain = true;
    return {certainty::done, nullptr, true};
  }
  const auto old = live(op.key);
  // docs/contract/03, section 5.4: the holder stays, the lock index does not.
  return put(d, op, 0, std::string(old ? old->session : std::string_view()), old ? old->fence : 0);
}

kv_model::step kv_model::put(draft& d, const kv_op& op, std::uint64_t lock_index, const std::string& holder,
                             std::uint64_t grant) {
  const auto old = live(op.key);
  if (old && old->flags == op.flags && *old->value == view_of(op.value) && old->lock_index == lock_index &&
      old->session == holder && old->fence == grant)
    return {certainty::done, old, false};
  state::kv_draft e;
  e.key = op.key;
  e.value = op.value ? op.value : make_payload({});
  e.flags = op.flags;
  e.lock_index = lock_index;
  e.session = holder;
  e.fence = grant;
  e.create_index = old ? old->create_index : d.index;
  e.modify_index = d.index;
  d.before.emplace_back(op.key, old);
  return {certainty::done, live_[op.key] = e, false};
}

void kv_model::remove(draft& d, const std::string& key) {
  d.before.emplace_back(key, live(key));
  d.graves.push_back(key);
  live_.erase(key);
}

void kv_model::remove_tree(draft& d, const std::string& prefix) {
  std::vector<std::string> gone;
  for_each_under(live_, prefix, [&](const auto& pair) { gone.push_back(pair.first); });
  for (const auto& key : gone) {
    d.before.emplace_back(key, live(key));
    live_.erase(key);
  }
  if (!gone.empty())
    d.trees.push_back(prefix);
  if (any_doubtful_now(prefix)) {
    d.trees_maybe.push_back(prefix);
    d.uncertain = true;
  }
}

void kv_model::make_doubtful(draft& d, const std::string& key) {
  d.uncertain = true;
  live_.erase(key);
  if (doubtful_.insert(key).second)
    pasts_[key].doubtful_since = d.index;
}

void kv_model::make_doubtful(draft& d, const state::txn& c) {
  d.uncertain = true;
  for (const auto& each : c.ops) {
    const auto* op = std::get_if<kv_op>(&each);
    if (op == nullptr || !changes_keys(op->verb))
      continue;
    if (op->verb != kv_verb::remove_tree) {
      make_doubtful(d, op->key);
      continue;
    }
    std::vector<std::string> touched;
    for_each_under(live_, op->key, [&](const auto& pair) { touched.push_back(pair.first); });
    for (const auto& key : touched)
      make_doubtful(d, key);
    d.trees_maybe.push_back(op->key);
  }
}

void kv_model::undo(draft& d) {
  for (auto it = d.before.rbegin(); it != d.before.rend(); ++it) {
    if (it->second)
      live_[it->first] = it->second;
    else
      live_.erase(it->first);
  }
  for (const auto fence : d.fences)
    fences_.erase(fence);
  last_fence_ = d.fence_before;
  d = draft{d.index, d.time, {}, {}, {}, {}, false, false, d.claims_changed};
}

void kv_model::keep(const draft& d) {
  std::set<std::string_view> seen;
  for (const auto& [key, old] : d.before) {
    if (!seen.insert(key).second)
      continue;
    pasts_[key].versions.push_back({d.index, live(key)});
    changes_.push_back({d.index, key});
  }
  for (const auto& key : d.graves)
    note(tombstones_[key], d.index);
  for (const auto& prefix : d.trees) {
    if (!prefix.empty())
      note(tombstones_[prefix], d.index);
    tree_removals_.push_back({d.index, prefix});
  }
  for (const auto& prefix : d.trees_maybe)
    tree_removals_.push_back({d.index, prefix});
  // A restore also restores the index of the table.
  if (!d.before.empty() && (!d.went_back || d.lock_given))
    note(certain_, d.index);
  if (d.uncertain)
    note(uncertain_, d.index);
  if (d.claims_changed || d.went_back)
    claims_past_[d.index] = std::make_shared<claims_state>(claims_);
  if (!d.before.empty() || d.uncertain || d.went_back || d.claims_changed)
    note(moments_, d.index);
}

state::kv_entry_ptr kv_model::live(std::string_view key) const {
  const auto it = live_.find(key);
  return it == live_.end() ? nullptr : it->second;
}

bool kv_model::any_doubtful_now(std::string_view prefix) const {
  const auto it = doubtful_.lower_bound(prefix);
  return it != doubtful_.end() && under(*it, prefix);
}

// ---- any moment

bool kv_model::doubtful(std::string_view key, log_index s) const {
  const auto it = pasts_.find(key);
  return it != pasts_.end() && doubted(it->second, s);
}

state::kv_entry_ptr kv_model::entry_at(std::string_view key, log_index s) const {
  const auto it = pasts_.find(key);
  return it == pasts_.end() ? nullptr : version_at(it->second, s);
}

std::vector<state::kv_entry_ptr> kv_model::entries_at(std::string_view prefix, log_index s) const {
  std::vector<state::kv_entry_ptr> found;
  for_each_under(pasts_, prefix, [&](const auto& pair) {
    if (doubted(pair.second, s))
      return;
    if (auto e = version_at(pair.second, s))
      found.push_back(std::move(e));
  });
  return found;
}

bool kv_model::doubtful_under(std::string_view prefix, log_index s) const {
  for (auto it = doubtful_.lower_bound(prefix); it != doubtful_.end() && under(*it, prefix); ++it)
    if (doubtful(*it, s))
      return true;
  return false;
}

/// Whether what happened at `at` is visible at s: a restore undoes all since its archive.
bool kv_model::in_force(log_index at, log_index s) const {
  for (auto it = past_restores_.rbegin(); it != past_restores_.rend(); ++it) {
    if (it->at > s)
      continue;
    if (at > it->at)
      break;
    s = it->archive;
  }
  return at <= s;
}

log_index kv_model::newest_in_force(const std::vector<log_index>& ascending, log_index s, at_restore what) const {
  auto found = newest(ascending, s);
  for (auto it = past_restores_.rbegin(); it != past_restores_.rend(); ++it) {
    if (it->at > s)
      continue;
    if (found > it->at || (found == it->at && what == at_restore::in_force))
      break;
    s = it->archive;
    found = newest(ascending, s);
  }
  return found;
}

log_index kv_model::table_low(log_index s) const {
  // The entry that commits a restore may also grant a lock afterwards, and an archive may have been
  // saved between the two.
  return newest_in_force(certain_, s, at_restore::in_force);
}
log_index kv_model::table_high(log_index s) const {
  return std::max(table_low(s), newest_in_force(uncertain_, s));
}

index_bounds kv_model::key_index(std::string_view key, log_index s) const {
  if (doubtful(key, s))
    return {log_index{1}, shown(table_high(s))};
  if (const auto e = entry_at(key, s))
    return {e->modify_index, e->modify_index};
  return {shown(table_low(s)), shown(table_high(s))};
}

/// docs/contract/02, section 2. After a recursive delete of a wider prefix the reference may return
/// the index of an older tombstone (section 3, regression 2). A server may return any index from
/// that one to that of the delete.
index_bounds kv_model::prefix_index(std::string_view prefix, log_index s) const {
  if (prefix.empty())
    return {shown(table_low(s)), shown(table_high(s))};
  log_index own;
  for_each_under(pasts_, prefix, [&](const auto& pair) {
    if (doubted(pair.second, s))
      return;
    if (const auto e = version_at(pair.second, s))
      own = std::max(own, e->modify_index);
  });
  for_each_under(tombstones_, prefix, [&](const auto& pair) {
    const auto grave = newest_in_force(pair.second, s);
    if (grave > own && std::none_of(reaps_.begin(), reaps_.end(), [&](const reap& r) {
          return grave < r.at && grave <= r.up_to && in_force(r.at, s);
        }))
      own = grave;
  });
  const bool doubt = doubtful_under(prefix, s);
  if (own.is_zero())
    return {doubt ? log_index{1} : shown(table_low(s)), shown(table_high(s))};
  auto high = doubt ? table_high(s) : own;
  for (auto it = tree_removals_.rbegin(); it != tree_removals_.rend() && it->at > high; ++it)
    if (in_force(it->at, s) && it->prefix.size() < prefix.size() && under(prefix, it->prefix)) {
      high = it->at;
      break;
    }
  return {own, std::max(own, high)};
}

log_index kv_model::session_index(log_index s) const {
  return shown(newest_in_force(sessions_.changes(), s));
}

log_index kv_model::granted_at(std::string_view key, log_index s) const {
  const auto e = entry_at(key, s);
  const auto granted = e ? fences_.find(e->fence) : fences_.end();
  return granted == fences_.end() ? log_index{} : granted->second;
}

std::optional<state::txn_reply> kv_model::read_txn(const state::txn& c, log_index s) const {
  state::txn_reply answer;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    const auto* op = std::get_if<kv_op>(&c.ops[i]);
    if (op == nullptr || changes_keys(op->verb))
      return std::nullopt;
    if (op->key.empty())
      answer.errors.push_back({i, "Must provide key"});
  }
  if (!answer.errors.empty())
    return answer;
  for (std::size_t i = 0; i < c.ops.size(); ++i) {
    const auto& op = std::get<kv_op>(c.ops[i]);
    if (op.verb == kv_verb::get_tree) {
      if (doubtful_under(op.key, s))
        return std::nullopt;
      for (auto& e : entries_at(op.key, s))
        answer.results.push_back({std::move(e), true});
      continue;
    }
    if (doubtful(op.key, s))
      return std::nullopt;
    const auto e = entry_at(op.key, s);
    if (auto wrong = check(op, e); !wrong.empty())
      answer.errors.push_back({i, std::move(wrong)});
    else if (op.verb != kv_verb::check_not_exists)
      answer.results.push_back({e, op.verb == kv_verb::get});
  }
  if (!answer.errors.empty())
    answer.results.clear();
  return answer;
}

bool kv_model::reaped_between(log_index after, log_index up_to) const {
  return std::any_of(reaps_.begin(), reaps_.end(), [&](const reap& r) { return after < r.at && r.at <= up_to; });
}

bool kv_model::restored_between(log_index after, log_index up_to) const {
  return std::any_of(restores_.begin(), restores_.end(), [&](log_index at) { return after < at && at <= up_to; });
}

log_index kv_model::last_restore(log_index up_to) const {
  const auto next = std::upper_bound(restores_.begin(), restores_.end(), up_to);
  return next == restores_.begin() ? log_index{} : *std::prev(next);
}

// ---- entries

bool same_entry(const state::kv_entry& a, const state::kv_entry& b) {
  return a.key == b.key && view_of(a.value) == view_of(b.value) && a.flags == b.flags && a.lock_index == b.lock_index &&
         a.session == b.session && a.create_index == b.create_index && a.modify_index == b.modify_index;
}

namespace {

/// Compares all fields that the clients here write.
bool same_row(const state::node_record& a, const state::node_record& b) {
  return a.node == b.node && a.address == b.address;
}
bool same_row(const state::service_record& a, const state::service_record& b) { // ignores the node, which is absent
  return a.id == b.id && a.service == b.service && a.port == b.port;
}
bool same_row(const state::check_record& a, const state::check_record& b) {
  return a.node == b.node && a.check_id == b.check_id && a.name == b.name && a.status == b.status &&
         a.output == b.output && a.service_id == b.service_id && a.service_name == b.service_name;
}

template <class Row>
bool same_row_of_catalog(const state::txn_result& a, const state::txn_result& b) {
  const auto* x = std::get_if<Row>(&a.row);
  const auto* y = std::get_if<Row>(&b.row);
  return x != nullptr && y != nullptr && *x && *y && same_row(**x, **y) && (*x)->create_index == (*y)->create_index &&
         (*x)->modify_index == (*y)->modify_index;
}

bool same_result(const state::txn_result& a, const state::txn_result& b) {
  if (!std::holds_alternative<state::kv_entry_ptr>(a.row))
    return same_row_of_catalog<state::node_ptr>(a, b) || same_row_of_catalog<state::service_ptr>(a, b) ||
           same_row_of_catalog<state::check_ptr>(a, b);
  const auto* x = std::get_if<state::kv_entry_ptr>(&a.row);
  const auto* y = std::get_if<state::kv_entry_ptr>(&b.row);
  if (x == nullptr || y == nullptr || !*x || !*y || a.with_value != b.with_value)
    return false;
  auto shown_by_a = **x, shown_by_b = **y;
  if (!a.with_value)
    shown_by_a.value = shown_by_b.value = nullptr; // it is not even sent
  return same_entry(shown_by_a, shown_by_b);
}

bool same_error(const state::txn_error& a, const state::txn_error& b) {
  return a.op_index == b.op_index && a.what == b.what;
}

const state::acl_token_ptr* token_in(const state::reply& r) {
  const auto* shown = std::get_if<state::acl_row>(&r);
  const auto* token = shown == nullptr ? nullptr : std::get_if<state::acl_token_ptr>(&shown->row);
  return token == nullptr || *token == nullptr ? nullptr : token;
}

} // namespace

bool same_reply(const state::reply& a, const state::reply& b) {
  if (a.index() != b.index() || a.decided_at.is_zero() != b.decided_at.is_zero())
    return false;
  if (const auto* sum = std::get_if<state::kv_added>(&a))
    return sum->value == std::get_if<state::kv_added>(&b)->value;
  if (const auto* no = std::get_if<state::once_refusal>(&a))
    return no->why == std::get_if<state::once_refusal>(&b)->why;
  if (const auto* flag = std::get_if<bool>(&a))
    return *flag == *std::get_if<bool>(&b);
  if (const auto* text = std::get_if<std::string>(&a))
    return *text == *std::get_if<std::string>(&b);
  if (const auto* refused = std::get_if<state::refusal>(&a))
    return refused->text == std::get_if<state::refusal>(&b)->text;
  if (const auto* token = token_in(a), *right = token_in(b); token != nullptr || right != nullptr)
    return token != nullptr && right != nullptr && (*token)->accessor == (*right)->accessor;
  if (const auto* claim = std::get_if<state::claim_answer>(&a))
    return *claim == *std::get_if<state::claim_answer>(&b);
  if (const auto* no = std::get_if<state::claim_refusal>(&a)) {
    const auto* right = std::get_if<state::claim_refusal>(&b);
    return no->why == right->why && no->ended == right->ended;
  }
  if (const auto* t = std::get_if<state::txn_reply>(&a)) {
    const auto* u = std::get_if<state::txn_reply>(&b);
    return std::equal(t->results.begin(), t->results.end(), u->results.begin(), u->results.end(), same_result) &&
           std::equal(t->errors.begin(), t->errors.end(), u->errors.begin(), u->errors.end(), same_error);
  }
  return true;
}

std::string described(const state::kv_entry& e) {
  std::string text = std::string(e.key) + "=\"" + std::string(view_of(e.value)) + "\" created " +
                     to_string(e.create_index) + " modified " + to_string(e.modify_index);
  if (e.flags != 0)
    text += " flags " + std::to_string(e.flags);
  if (e.lock_index != 0 || !e.session.empty())
    text += " lock index " + std::to_string(e.lock_index) + " session " + in_quotes(e.session);
  return text;
}

} // namespace belay::sim
