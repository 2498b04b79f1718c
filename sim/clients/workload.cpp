#include "sim/clients/workload.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/record/text_rendering.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <charconv>

namespace belay::sim {

using std::chrono::milliseconds;
using step_atom = caf::atom_constant<caf::atom("turn")>;

namespace {

/// The kinds of writes.
enum class write_action : std::uint8_t {
  put,
  count_up, ///< a counter: read it, then add one if it is unchanged
  remove,
  remove_cas, ///< with the index of another key: nearly always rejected
  remove_tree,
  transact,
  get,
  get_consistent,
  get_stale,
  list,
  list_stale,
  create, ///< check-and-set with index 0: written only if there is no such key
  get_counter,
};

constexpr share<write_action> write_actions[] = {
    {write_action::put, 8},         {write_action::count_up, 5},       {write_action::remove, 1},
    {write_action::remove_cas, 1},  {write_action::remove_tree, 1},    {write_action::transact, 2},
    {write_action::get, 4},         {write_action::get_consistent, 3}, {write_action::get_stale, 2},
    {write_action::list, 2},        {write_action::list_stale, 1},     {write_action::create, 1},
    {write_action::get_counter, 1},
};
static_assert(numbers_of(write_actions) == kinds_max);

// Clients that change permissions, in runs with ACLs; they send less often than others.
constexpr std::size_t acl_clients = 2;
constexpr int acl_pause = 2;
// Above those of all clients.
constexpr std::uint16_t first_token_stream = 800;

std::uint64_t number_of(std::string_view value) {
  std::uint64_t n = 0;
  std::from_chars(value.data(), value.data() + value.size(), n);
  return n;
}

} // namespace

const char* name_of(outcome o) {
  constexpr const char* names[] = {"pending", "done", "refused", "unknown"};
  return names[static_cast<std::size_t>(o)];
}

workload::workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                   reply_checker& replies, watch_checker& watches, wait_checker& waits, session_checker& sessions,
                   answer_time_checker& times)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), swarm_(s), replies_(replies), watches_(watches),
      waits_(waits), sessions_(sessions), times_(times) {
  nodes_.answered = [this](std::size_t node, int, const client_answer& a) { on_notified(node, a); };
}

void workload::start() {
  const auto others = swarm_.clients + swarm_.watchers + swarm_.lockers;
  const auto without_claims = others + (swarm_.acls == acl_mode::off ? 0 : acl_clients);
  const auto without_keys = without_claims + swarm_.claimers;
  for (std::size_t i = 0; i < without_keys + swarm_.repeaters; ++i) {
    auto& c = clients_.emplace_back();
    c.number = i;
    c.watches = i >= swarm_.clients && i < swarm_.clients + swarm_.watchers;
    if (i >= without_keys)
      c.once.emplace(i - without_keys);
    else if (i >= without_claims)
      c.claims.emplace(i - without_claims);
    else if (i >= others)
      c.access.emplace(access_);
    else if (i >= swarm_.clients + swarm_.watchers)
      c.locks.emplace(i - swarm_.clients - swarm_.watchers, sessions_requested_for_, swarm_.client_agents);
    c.home = i % (swarm_.nodes + swarm_.replicas + swarm_.client_agents);
    if (c.home >= swarm_.nodes) // after the spares
      c.home += swarm_.spares;
    c.self = spawn_client(i);
    time_.enlist(no_node, actor_kind::client, c.self);
    schedule_step(c, milliseconds(200 + 37 * i));
  }
}

caf::actor workload::spawn_client(std::size_t number) {
  return time_.system().spawn([this, number](caf::event_based_actor*) -> caf::behavior {
    return {
        [this, number](step_atom) { step(clients_[number]); },
        [this, number](std::uint64_t id) { finished(clients_[number], find(id)); },
    };
  });
}

virtual_time workload::think_time() const {
  return swarm_.pause_at(time_.now(), swarm_.think_time);
}

void workload::schedule_step(client_state& c, virtual_time in) {
  time_.after(in, [self = c.self] { caf::anon_send(self, step_atom::value); });
}

// ---- requests

std::vector<std::string> workload::keys() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < swarm_.keys; ++i)
    all.push_back(key(i));
  return all;
}

std::string workload::key(std::uint64_t n) const {
  n %= swarm_.keys;
  return "k/" + std::to_string(n % 2) + "/" + std::to_string(n);
}

payload workload::fresh_value(std::uint64_t number) {
  auto text = std::to_string(number) + " of " + std::to_string(history_.size() + 1);
  if (text.size() < swarm_.value_bytes)
    text.resize(swarm_.value_bytes, '.');
  return make_payload(std::move(text));
}

state::kv_op workload::op(state::kv_verb verb, std::string key) {
  state::kv_op o;
  o.verb = verb;
  o.key = std::move(key);
  o.value = make_payload({});
  o.flags = history_.size() + 1; // makes all commands unique
  return o;
}

std::optional<std::size_t> workload::some_node(std::uint64_t drawn) const {
  for (std::size_t i = 0; i < nodes_.node_count(); ++i) {
    const auto node = (drawn + i) % nodes_.node_count();
    if (nodes_.state(node) != node_state::down)
      return node;
  }
  return std::nullopt;
}

void workload::step(client_state& c) {
  if (c.pending != 0 || c.moving)
    return;
  if (!writing_ && c.locks)
    return renew_step(c);
  if (!writing_ && !c.watches)
    return;
  if (time_.now() < quiet_until_ && !c.watches)
    return schedule_step(c, quiet_until_ - time_.now());
  const auto drawn = tape_.choose({stream_kind::client, static_cast<std::uint16_t>(c.number)}, drawn_max);
  if (drawn == 0)
    return schedule_step(c, think_time());
  if (c.watches)
    watch_step(c, drawn);
  else if (c.access)
    access_step(c, drawn);
  else if (c.claims)
    claims_step(c, drawn);
  else if (c.once)
    once_step(c, drawn);
  else if (c.locks)
    lock_step(c, drawn);
  else
    write_step(c, drawn);
  if (c.pending == 0 && !c.moving)
    schedule_step(c, think_time());
}

void workload::write_step(client_state& c, std::uint64_t drawn) {
  using state::kv_verb;
  // Mostly its home, so that one client sees one node's view.
  const auto node = some_node(spare_part(drawn) % 4 == 0 ? node_part(drawn) : c.home);
  if (!node)
    return;
  constexpr std::uint64_t steps_for_each_snapshot = 64;
  if (swarm_.snapshots && pause_part(drawn) % steps_for_each_snapshot == 0 && !nodes_.is_agent(*node))
    return spare_part(drawn) % 2 == 0 ? begin_save(c, *node) : begin_restore(c, *node, key_part(drawn));
  const auto k = key(key_part(drawn));
  const auto put = [&](kv_verb verb) {
    auto o = op(verb, k);
    o.value = fresh_value(drawn);
    return o;
  };
  const auto write = [&](state::command command) {
    c.pending = ask(c.number, *node, std::move(command), std::nullopt);
  };
  const auto read = [&](state::query q, http::consistency mode) {
    http::read_request r;
    r.query = std::move(q);
    r.mode = mode;
    c.pending = ask(c.number, *node, std::nullopt, std::move(r));
  };
  using mode = http::consistency;
  switch (action_of(write_actions, kind_part(drawn))) {
  case write_action::put:
    return write(state::kv_write{put(kv_verb::set)});
  case write_action::count_up: {
    if (c.counted_key.empty()) {
      c.counted_key = "c/" + std::to_string(key_part(drawn) % 2);
      return read(state::kv_get{c.counted_key}, spare_part(drawn) % 2 == 0 ? mode::normal : mode::consistent);
    }
    auto o = op(kv_verb::cas, std::exchange(c.counted_key, {}));
    o.index = c.counted_at;
    o.value = fresh_value(c.counted + 1);
    return write(state::kv_write{o});
  }
  case write_action::remove:
    return write(state::kv_write{op(kv_verb::remove, k)});
  case write_action::remove_cas: {
    auto o = op(kv_verb::remove_cas, k);
    o.index = c.counted_at;
    return write(state::kv_write{o});
  }
  case write_action::remove_tree:
    if (swarm_.lockers > 0 && spare_part(drawn) % 4 == 1) // any locks of other clients
      return write(state::kv_write{op(kv_verb::remove_tree, key_part(drawn) % 4 == 0 ? "p/" : "l/")});
    return write(state::kv_write{op(kv_verb::remove_tree, "k/" + std::to_string(key_part(drawn) % 2) + "/")});
  case write_action::transact: {
    state::txn t;
    t.ops.push_back(put(kv_verb::set));
    if (swarm_.catalog_transactions && pause_part(drawn) % 4 != 0) {
      auto of_catalog = catalog_.next(drawn, history_.size() + 1);
      const auto key_at = pause_part(drawn) % 3 == 0 ? t.ops.begin() : t.ops.end(); // the key last, or first
      t.ops.insert(key_at, of_catalog.ops.begin(), of_catalog.ops.end());
      return write(std::move(t));
    }
    auto second = op(kv_verb::set, key(key_part(drawn) + 1));
    second.value = fresh_value(drawn + 1);
    t.ops.push_back(second);
    if (spare_part(drawn) % 3 == 0) {
      auto last = op(kv_verb::cas, key(key_part(drawn) + 2));
      last.index = c.counted_at;
      last.value = fresh_value(drawn + 2);
      t.ops.push_back(last);
    }
    return write(std::move(t));
  }
  case write_action::get:
    return read(state::kv_get{k}, mode::normal);
  case write_action::get_consistent:
    return read(state::kv_get{k}, mode::consistent);
  case write_action::get_stale:
    return read(state::kv_get{k}, mode::stale);
  case write_action::list:
    return read(state::kv_list{"k/" + std::to_string(key_part(drawn) % 2) + "/"}, mode::normal);
  case write_action::list_stale:
    return read(state::kv_list{"k/"}, mode::stale);
  case write_action::create:
    return write(state::kv_write{put(kv_verb::cas)});
  case write_action::get_counter:
    return read(state::kv_get{"c/" + std::to_string(key_part(drawn) % 2)}, mode::normal);
  }
}

void workload::lock_step(client_state& c, std::uint64_t drawn) {
  const auto node = some_node(spare_part(drawn) % 4 == 0 ? node_part(drawn) : c.home);
  if (!node)
    return;
  auto wanted = c.locks->next(drawn, history_.size() + 1, time_.now());
  if (auto* command = std::get_if<state::command>(&wanted))
    c.pending = ask(c.number, *node, std::move(*command), std::nullopt);
  else if (auto* later = std::get_if<lock_client::acquire_later>(&wanted))
    // No `wait`: it would queue (docs/reference/claims.md, rule 23) and use claims in every run.
    c.pending = ask(c.number, *node, std::move(later->acquire), std::nullopt);
  else if (auto* read = std::get_if<http::read_request>(&wanted))
    c.pending = ask(c.number, *node, std::nullopt, std::move(*read));
  else if (auto* renewal = std::get_if<session_renewal>(&wanted))
    c.pending = ask(c.number, *node, std::nullopt, std::nullopt, std::move(*renewal));
}

void workload::access_step(client_state& c, std::uint64_t drawn) {
  const auto node = some_node(node_part(drawn));
  if (!node)
    return;
  c.pending = ask(c.number, *node, c.access->next(drawn, history_.size() + 1), std::nullopt);
}

void workload::claims_step(client_state& c, std::uint64_t drawn) {
  const auto node = some_node(spare_part(drawn) % 4 == 0 ? node_part(drawn) : c.home);
  if (!node)
    return;
  auto wanted = c.claims->next(drawn, history_.size() + 1, time_.now());
  if (auto* asking = std::get_if<claims_client::asking>(&wanted))
    c.pending = ask(c.number, *node, std::move(asking->what), std::nullopt, {}, asking->wait, asking->leaves_after);
  else if (auto* renewal = std::get_if<session_renewal>(&wanted))
    c.pending = ask(c.number, *node, std::nullopt, std::nullopt, std::move(*renewal));
  else if (auto* read = std::get_if<http::read_request>(&wanted))
    c.pending = ask(c.number, *node, std::nullopt, std::move(*read));
}

void workload::once_step(client_state& c, std::uint64_t drawn) {
  const auto node = some_node(node_part(drawn)); // a different one each time
  if (!node)
    return;
  auto wanted = c.once->next(drawn, history_.size() + 1, time_.now());
  if (auto* command = std::get_if<state::command>(&wanted))
    c.pending = ask(c.number, *node, std::move(*command), std::nullopt);
  else
    c.pending = ask(c.number, *node, std::nullopt, std::move(std::get<http::read_request>(wanted)));
}

state::auth_context workload::asker(std::size_t client, const std::optional<state::command>& write) {
  state::auth_context who;
  who.datacenter = "dc1";
  who.allowed_by_default = swarm_.acls == acl_mode::default_allow;
  who.secret = master_token;
  // The models know only catalog rows written with full permissions.
  const auto* t = write ? std::get_if<state::txn>(&*write) : nullptr;
  const bool of_catalog = t != nullptr && std::any_of(t->ops.begin(), t->ops.end(), [](const auto& op) {
                            return !std::holds_alternative<state::kv_op>(op);
                          });
  if (client >= clients_.size() || of_catalog || clients_[client].claims)
    return who;
  const auto from = static_cast<std::uint16_t>(first_token_stream + client);
  const auto drawn = tape_.choose({stream_kind::client, from}, drawn_max);
  who.secret =
      clients_[client].access ? access_.token_of_manager(drawn, *write) : access_.token_of_client(drawn, client);
  return who;
}

/// After the faults have ended, clients only renew their sessions.
void workload::renew_step(client_state& c) {
  const auto node = some_node(c.home);
  auto renewal = c.locks->renewal(time_.now());
  if (node && renewal)
    c.pending = ask(c.number, *node, std::nullopt, std::nullopt, std::move(*renewal));
  else
    schedule_step(c, think_time());
}

void workload::watch_step(client_state& c, std::uint64_t drawn) {
  // Sometimes a new query, at any node; otherwise the same again, from its last index.
  if (c.seen_index == 0 || kind_part(drawn) == 0 || nodes_.state(c.home) == node_state::down) {
    const auto node = some_node(node_part(drawn));
    if (!node)
      return;
    c.home = *node;
    c.seen_index = 0;
    constexpr const char* prefixes[] = {"k/0/", "k/1/", "k/", "k/1", "l/"};
    if (spare_part(drawn) % 3 == 0)
      c.watched = state::kv_list{prefixes[key_part(drawn) % 5]};
    else
      c.watched = state::kv_get{key(key_part(drawn))};
    constexpr http::consistency modes[] = {http::consistency::normal, http::consistency::stale,
                                           http::consistency::normal, http::consistency::consistent};
    c.mode = modes[spare_part(drawn) % 4];
  }
  constexpr milliseconds waits[] = {milliseconds(20'000), milliseconds(3'000), milliseconds(400)};
  http::read_request r;
  r.query = c.watched;
  r.mode = c.mode;
  r.min_index = c.seen_index;
  r.wait = waits[pause_part(drawn) % 3];
  c.pending = ask(c.number, c.home, std::nullopt, std::move(r));
}

void workload::finished(client_state& c, const operation& o) {
  if (o.id != c.pending)
    return;
  c.pending = 0;
  if (c.watches) {
    const bool answered = o.answer && !std::holds_alternative<state::refusal>(o.answer->data);
    c.seen_index = answered ? o.answer->index.value : 0;
    schedule_step(c, answered ? milliseconds(1) : think_time());
    return;
  }
  if (c.access) {
    access_.learn(o);
    return schedule_step(c, think_time() * acl_pause);
  }
  if (c.locks)
    c.locks->learn(o);
  if (c.claims)
    c.claims->learn(o);
  if (c.once)
    c.once->learn(o);
  catalog_.learn(o);
  if (o.read && !c.counted_key.empty()) {
    c.counted_at = {};
    c.counted = 0;
    const auto* found = o.answer ? std::get_if<state::kv_entries>(&o.answer->data) : nullptr;
    if (found == nullptr) {
      c.counted_key.clear();
    } else if (!found->entries.empty()) {
      c.counted_at = found->entries.front()->modify_index;
      c.counted = number_of(*found->entries.front()->value);
    }
  }
  const auto jitter = (o.id * 7919) % 100; // clients are not in step
  schedule_step(c, think_time() * static_cast<std::int64_t>(50 + jitter) / 100);
}

// ---- requests and responses

std::uint64_t workload::put(std::size_t node, const std::string& key) {
  auto o = op(state::kv_verb::set, key);
  o.value = fresh_value(0);
  return ask(SIZE_MAX, node, state::kv_write{std::move(o)}, std::nullopt);
}

std::uint64_t workload::read(std::size_t node, const std::string& key, http::consistency mode) {
  http::read_request r;
  r.query = state::kv_get{key};
  r.mode = mode;
  return ask(SIZE_MAX, node, std::nullopt, std::move(r));
}

std::uint64_t workload::renew_unknown(std::size_t node) {
  return ask(SIZE_MAX, node, std::nullopt, std::nullopt, session_renewal{"00000000-0000-0000-0000-00000000dead"});
}

std::uint64_t workload::ask(std::size_t client, std::size_t node, std::optional<state::command> write,
                            std::optional<http::read_request> read, std::optional<session_renewal> renewal,
                            virtual_time lock_wait, virtual_time leaves_after) {
  auto& o = history_.emplace_back();
  o.id = history_.size();
  o.client = client;
  o.node = node;
  o.node_life = nodes_.life(node);
  o.through_agent = nodes_.is_agent(node);
  o.invoked = time_.now();
  o.write = std::move(write);
  o.read = std::move(read);
  o.renewal = std::move(renewal);
  o.lock_wait = lock_wait;
  if (o.write)
    as_requested(*o.write);
  if (swarm_.acls != acl_mode::off)
    (o.write ? o.write->by : o.read ? o.read->query.by : o.renewal->by) = asker(client, o.write);
  replies_.begun(o);
  sessions_.begun(o);
  times_.begun(o);
  waits_.begun(o);
  if (begun)
    begun(o);
  trace_.add(o.id << 8 | node);
  trace_.count();
  if (trace_.wanted())
    trace_.line(time_.now(), node, "asked " + rendered(o));
  pending_[o.id];
  if (o.through_agent)
    nodes_.gateway(node).send(o.id, simulated_gateway::with_client(request_of(o), o.id, wished_id(o)));
  else
    nodes_.gateway(node).send(o.id, request_of(o), wished_id(o));
  auto wait = lock_wait;
  if (o.read) {
    wait = o.read->wait + o.read->wait / 16;
    if (!o.through_agent)
      watches_.begun(o);
  }
  time_.after(wait + swarm_.client_timeout, [this, id = o.id] {
    if (find(id).result == outcome::pending)
      give_up(id, "no answer in time");
  });
  if (leaves_after > virtual_time::zero())
    time_.after(leaves_after, [this, id = o.id] {
      if (find(id).result == outcome::pending)
        give_up(id, "the client ended its connection");
    });
  return o.id;
}

void workload::on_parked(std::size_t node, request_id id) {
  const auto c = nodes_.gateway(node).asking(id);
  if (!c || !pending_.contains(*c))
    return;
  watches_.held(*c, time_.now());
  waits_.held(*c, time_.now());
}

void workload::give_up(std::uint64_t id, const std::string& why) {
  auto& o = history_[id - 1];
  if (pending_.erase(id) != 0 && nodes_.state(o.node) != node_state::down && nodes_.life(o.node) == o.node_life) {
    if (left)
      left(o);
    nodes_.gateway(o.node).hang_up(id);
  }
  o.result = outcome::unknown;
  o.text = why;
  finish(o);
}

void workload::on_notified(std::size_t node, const client_answer& a) {
  if (const auto* unpacked = std::get_if<actors::archive_unpacked>(&a))
    return archive_received(node, *unpacked);
  const auto* w = std::get_if<actors::write_result>(&a);
  const auto c = w == nullptr ? std::nullopt : nodes_.gateway(node).asking(w->id);
  if (!c)
    return;
  if (const auto it = pending_.find(*c); it != pending_.end())
    it->second.decided = write_decision{w->outcome, w->index};
}

bool workload::on_bytes(connection_id c, std::string_view bytes, bool last) {
  if (auto* client = client_of(c))
    return transfer_bytes(*client, bytes, last);
  const auto it = pending_.find(c);
  if (it == pending_.end())
    return false;
  it->second.answer += bytes;
  const auto answer = whole_answer(it->second.answer, last);
  if (!answer) {
    if (last)
      give_up(c, "connection closed");
    return !last;
  }
  auto& o = history_[c - 1];
  auto decided = o.through_agent ? as_received_from_agent(*answer, it->second.decided) : it->second.decided;
  // The entry rejected it for its time, and the gateway had no time left to propose it again.
  if (decided && answer->status == 500 && answer->body == forward::no_leader)
    decided->outcome = wire::call_outcome::refused;
  pending_.erase(it);
  if (auto wrong = understand(*answer, decided, o))
    complain("http", "operation " + std::to_string(o.id) + " of client " + std::to_string(o.client) + " at node " +
                         std::to_string(o.node) + " (" + rendered(o) + "): " + *wrong);
  if (o.result == outcome::pending)
    o.result = outcome::unknown;
  finish(o);
  return false;
}

void workload::finish(operation& o) {
  o.returned = time_.now();
  o.committed_at_return = replies_.committed();
  trace_.add(o.id << 32 ^ static_cast<std::uint64_t>(o.result) << 24 ^ o.index.value);
  if (o.answer)
    trace_.add(o.answer->index.value);
  if (trace_.wanted())
    trace_.line(time_.now(), o.node, "answered " + rendered(o));
  if (o.write && o.result == outcome::done) {
    longest_gap_ = std::max(longest_gap_, o.returned - last_write_done_);
    last_write_done_ = o.returned;
  }
  if (o.result == outcome::unknown)
    PROBE("clients: unknown outcome");
  complain("replies", replies_.ended(o));
  complain("sessions", sessions_.ended(o));
  complain("claims", waits_.ended(o));
  times_.ended(o);
  if (o.read)
    complain("watches", watches_.ended(o));
  if (ended)
    ended(o);
  if (o.client < clients_.size())
    caf::anon_send(clients_[o.client].self, o.id);
}

void workload::on_node_gone(std::size_t node) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, w] : pending_)
    if (find(id).node == node)
      lost.push_back(id);
  for (auto id : lost)
    give_up(id, "connection lost");
  transfers_lost(node);
}

std::vector<std::uint64_t> workload::parked_at(std::size_t node) const {
  std::vector<std::uint64_t> found;
  for (const auto& [id, w] : pending_)
    if (find(id).node == node && find(id).read && find(id).read->min_index > 0)
      found.push_back(id);
  return found;
}

bool workload::writes_wait() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [this](const auto& p) { return find(p.first).write.has_value(); });
}

void workload::stop_writing() {
  writing_ = false;
  for (auto& c : clients_)
    if (c.moving && c.moving->restores)
      end_transfer(c, true);
}

void workload::complain(const char* checker, const broken& b) {
  if (b && !complaint_)
    complaint_.emplace(checker, *b);
}

std::chrono::nanoseconds workload::longest_write_gap() const {
  return longest_gap_;
}

} // namespace belay::sim
