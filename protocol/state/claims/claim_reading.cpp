#include "protocol/state/claims/claim_reading.hpp"

#include "protocol/base/check.hpp"
#include "protocol/state/claims/wait_search.hpp"

namespace belay::state {

namespace {

std::string node_of(const tables& t, std::string_view session) {
  const auto row = t.sessions.find(session);
  return row ? row->node : std::string();
}

/// A key's holder as a claim, so that both kinds of resources are shown alike.
claim_ptr as_claim(const kv_entry& held) {
  auto c = std::make_shared<claim_record>();
  c->of = {std::string(held.key), claim_space::keys};
  c->id = c->session = held.session;
  c->key = claim_key(c->of.space, c->of.name, c->id);
  c->state = claim_state::held;
  c->value = held.value;
  c->flags = held.flags;
  c->fence = held.fence;
  c->create_index = held.create_index;
  c->modify_index = held.modify_index;
  return c;
}

void add_of_key(const tables& t, const std::string& key, claim_view& view) {
  if (const auto entry = t.kv.find(key); entry && !entry->session.empty()) {
    view.known = true;
    view.holders.push_back({as_claim(*entry), node_of(t, entry->session), 0});
  }
  if (const auto* delay = t.delays.rows().find(key))
    view.delays.push_back({{}, {key, claim_space::keys}, {}, {}, claim_mode::exclusive, 1, 0, delay->until});
}

/// Keys of the rows that the query selects, ascending.
std::vector<std::string> keys_of_sessions(const tables& t, const claims_list& q) {
  std::vector<session_ptr> sessions;
  if (q.node)
    sessions = t.sessions.of_node(*q.node);
  else if (auto one = t.sessions.find(*q.session))
    sessions.push_back(std::move(one));
  std::vector<std::string> keys;
  for (const auto& s : sessions)
    for (const auto& c : t.claims.claims.of_session(s->id))
      keys.push_back(c->key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

} // namespace

claim_answer standing_of(const kv_entry& held) {
  claim_answer a;
  a.of = {std::string(held.key), claim_space::keys};
  a.id = a.session = held.session;
  a.state = claim_state::held;
  a.fence = held.fence;
  a.index = held.modify_index;
  return a;
}

claim_answer standing_of(const tables& t, const claim_record& c) {
  claim_answer a{c.of, c.id, c.session, c.state, c.fence, 0, {}, c.modify_index, false};
  if (c.state == claim_state::held)
    return a;
  const auto* line = t.claims.claims.line(c.of);
  INVARIANT(line != nullptr);
  a.position = line->position(c);
  if (const auto entry = c.of.space == claim_space::keys ? t.kv.find(c.of.name) : nullptr;
      entry && !entry->session.empty())
    a.ahead.push_back({std::string(entry->session), std::string(entry->session), claim_state::held});
  for (auto at = line->holders.begin(); at != line->holders.end() && a.ahead.size() < ahead_max; ++at)
    a.ahead.push_back({at->second->id, at->second->session, claim_state::held});
  for (auto at = line->queue.begin(); at->second->key != c.key && a.ahead.size() < ahead_max; ++at)
    a.ahead.push_back({at->second->id, at->second->session, claim_state::waiting});
  return a;
}

// ---- results

claim_view claims_answer(const tables& t, const claim_read& q) {
  claim_view view;
  if (const auto resource = t.claims.resources.find(q.of)) {
    view.known = true;
    view.kind = resource->kind;
    view.limit = resource->limit;
    view.pinned = resource->pinned;
  }
  if (q.of.space == claim_space::keys)
    add_of_key(t, q.of.name, view);
  else
    view.delays = t.claims.ghosts.list(q.of);
  const auto* line = t.claims.claims.line(q.of);
  if (line != nullptr) {
    for (auto at = line->holders.begin(); at != line->holders.end() && view.holders.size() < listed_claims_max; ++at)
      view.holders.push_back({at->second, node_of(t, at->second->session), 0});
    for (auto at = line->queue.begin(); at != line->queue.end() && view.queue.size() < listed_claims_max; ++at)
      view.queue.push_back({at->second, node_of(t, at->second->session), view.queue.size() + 1});
    view.queue_length = line->queue.size();
  }
  view.holder_count = line != nullptr && !line->holders.empty() ? line->holders.size() : view.holders.size();
  return view;
}

claim_standing claims_answer(const tables& t, const claim_status& q) {
  claim_standing found;
  const auto claim = t.claims.claims.find(q.of, q.id);
  const auto entry = q.of.space == claim_space::keys ? t.kv.find(q.of.name) : nullptr;
  if (claim)
    found.live = standing_of(t, *claim);
  else if (entry && !entry->session.empty() && entry->session == folded(q.id))
    found.live = standing_of(*entry);
  else
    found.ended = t.claims.ends.find(q.of, q.id);
  return found;
}

claim_rows listed_claims(const tables& t, const claims_list& q,
                         const std::function<bool(const claim_record&)>& may_be_seen) {
  claim_rows page;
  // @returns false: the page is full
  const auto take = [&](const claim_ptr& c) {
    return !may_be_seen(*c) || add_to_page(page, q, c, [&](const std::string& session) { return node_of(t, session); });
  };
  const auto& rows = t.claims.claims.rows();
  if (q.session || q.node) {
    for (const auto& key : keys_of_sessions(t, q))
      if (!take(*rows.find(key)))
        break;
    return page;
  }
  for (const char space : {'c', 'k'}) {
    const auto prefix = space + q.under.value_or("");
    auto at = rows.lower_bound(std::max(prefix, q.after));
    for (; at != rows.end() && starts_with(at->key(), prefix); ++at)
      if (!take(at->value.row))
        return page;
  }
  return page;
}

claim_rows claims_answer(const tables& t, const claims_list& q) {
  return listed_claims(t, q, [](const claim_record&) { return true; });
}
wait_graph claims_answer(const tables& t, const claims_graph&) {
  return waits_of(t);
}
guard_rows claims_answer(const tables& t, const guards_list&) {
  guard_rows found;
  t.claims.guards.rows().for_each_under("", [&](const guard_ptr& g) { found.list.push_back(*g); });
  return found;
}
ended_session_rows claims_answer(const tables& t, const session_ended& q) {
  ended_session_rows found;
  if (auto row = t.claims.ended.find(folded(q.id)))
    found.list.push_back(std::move(row));
  return found;
}

// ---- indexes

namespace {

/// A removed resource leaves no row: then any change of claims may have removed it.
log_index index_of_resource(const tables& t, const resource_name& of) {
  const auto resource = t.claims.resources.find(of);
  const auto own = resource ? resource->modify_index : t.indexes.at(index_kind::claims);
  if (of.space == claim_space::claims)
    return own;
  const auto entry = t.kv.find(of.name);
  return std::max(own, entry ? entry->modify_index : t.newest_key_change());
}

} // namespace

log_index claims_index(const tables& t, const claim_read& q) {
  return index_of_resource(t, q.of);
}
log_index claims_index(const tables& t, const claim_status& q) {
  return index_of_resource(t, q.of);
}
log_index claims_index(const tables& t, const claims_list&) {
  return t.indexes.at(index_kind::claims);
}
log_index claims_index(const tables& t, const claims_graph&) {
  return std::max(t.indexes.at(index_kind::claims), t.newest_key_change());
}
log_index claims_index(const tables& t, const guards_list&) {
  return t.indexes.at(index_kind::claims);
}
log_index claims_index(const tables& t, const session_ended&) {
  return t.indexes.at(index_kind::ended_sessions);
}

} // namespace belay::state
