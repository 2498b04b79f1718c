#include "protocol/state/sessions/session_rules.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/claims/session_claims.hpp"
#include "protocol/state/keys/key_operations.hpp"

#include <algorithm>

namespace belay::state {

reply create_session(applying& a, const session_record& wanted) {
  if (!a.t.catalog.find_node(wanted.node))
    return refusal{std::string(missing_node_registration)};
  for (const auto& id : check_ids(wanted)) {
    const auto check = a.t.catalog.find_check(wanted.node, id);
    if (!check)
      return refusal{"Missing check '" + id + "' registration"};
    if (check->status == "critical")
      return refusal{"Check '" + id + "' is in critical state"};
  }
  // Proposers use fresh random ids: a known id is a duplicate of the same command.
  if (auto known = a.t.sessions.find(wanted.id))
    return known->id;
  auto session = std::make_shared<session_record>(wanted);
  session->id = folded(wanted.id);
  session->create_index = a.index;
  session->modify_index = a.index;
  a.t.sessions.put(session);
  a.t.indexes.set(index_kind::sessions, a.index);
  a.changed.push_back(session_changed{session, true});
  return session->id;
}

reply create_session(applying& a, const session_begin& c) {
  if (auto wrong = wrong_with(c))
    return std::move(*wrong);
  auto wanted = c.session;
  wanted.ttl_mode = c.ttl_mode;
  wanted.on_end = c.on_end;
  if (!c.on_end.empty())
    wanted.by = a.by;
  return create_session(a, wanted);
}

void end_session(applying& a, std::string_view id, const std::string& cause) {
  const auto session = a.t.sessions.find(id);
  if (!session)
    return;
  ended_session row;
  row.id = session->id;
  row.name = session->name;
  row.node = session->node;
  row.cause = cause;
  row.index = a.index;
  row.at = a.now;
  a.t.log.session_ends(true);
  do_on_end(a, *session, row); // may remove keys that it holds
  INVARIANT(row.on_end_done + row.on_end_refused == session->on_end.size());
  const auto held = a.t.kv.held_by(session->id);
  for (const auto& key : held) {
    note_released(row, {key, claim_space::keys});
    if (!MUTANT(lock_outlives_session) && !(MUTANT(session_ends_in_part) && key != held.front()))
      orphan_key(a, key, *session);
  }
  a.t.log.session_ends(false);
  INVARIANT(a.t.kv.removed() != 0 || !a.t.kv.tracks(session->id)); // no lock outlives its session
  end_claims_of(a, *session, row);
  INVARIANT(!a.t.claims.claims.has_session(session->id));
  INVARIANT(row.released.size() == std::min<std::uint64_t>(row.released_count, ended_session_names_max));
  const auto sessions_before = a.t.sessions.rows().size();
  a.t.sessions.erase(session->id);
  INVARIANT(a.t.sessions.rows().size() + 1 == sessions_before);
  a.t.indexes.set(index_kind::sessions, a.index);
  a.changed.push_back(session_changed{session, false});
  if (!a.claims_in_use() || MUTANT(ended_session_forgotten))
    return; // servers without claims remember none
  a.t.claims.ended.add(std::move(row));
  a.t.indexes.set(index_kind::ended_sessions, a.index);
}

} // namespace belay::state
