#include "protocol/state/claims/guarding.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/refusals.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace belay::state {

namespace {

std::string described(const resource_name& of) {
  return std::string(name_of(of.space)) + " " + in_quotes(of.name);
}

bool opens_guards(const tables& t, const claim_record& holder) {
  const auto resource = t.claims.resources.find(holder.of);
  INVARIANT(resource != nullptr);
  return resource->kind != claim_kind::rw || holder.mode == claim_mode::exclusive || MUTANT(guard_lets_readers_pass);
}

/// Rule 36: otherwise no client could ever acquire the fencing token.
bool is_about_guarding_lock(const kv_op& op, const guard_record& by) {
  return (op.verb == kv_verb::lock || op.verb == kv_verb::unlock) && by.by.space == claim_space::keys &&
         by.by.name == op.key;
}

/// Calls `opens(guard)` for each guard of the keys written. @returns the first that rejects it
template <class Opens>
const guard_record* first_closed(const tables& t, const kv_op& op, Opens opens) {
  if (t.claims.guards.size() == 0 || !writes_keys(op.verb))
    return nullptr;
  const auto closed = [&](const guard_record* g) {
    return g != nullptr && !is_about_guarding_lock(op, *g) && !opens(*g);
  };
  if (op.verb != kv_verb::remove_tree || MUTANT(guard_below_tree_ignored)) {
    const auto* above = t.claims.guards.above(op.key);
    return closed(above) ? above : nullptr;
  }
  const auto around = t.claims.guards.around(op.key);
  const auto found = std::find_if(around.begin(), around.end(), closed);
  return found != around.end() ? *found : nullptr;
}

/// A guarding key under another guard: its lock would need a fencing token, possibly circularly.
bool would_guard_a_guarding_key(const tables& t, const guard_set& c) {
  const auto is_key_below = [](const resource_name& by, std::string_view prefix) {
    return by.space == claim_space::keys && starts_with(by.name, prefix);
  };
  if (c.by.space == claim_space::keys && t.claims.guards.above(c.by.name) != nullptr)
    return true;
  bool found = false;
  t.claims.guards.rows().for_each_under(
      "", [&](const guard_ptr& other) { found = found || is_key_below(other->by, c.prefix); });
  return found;
}

} // namespace

bool is_valid(const tables& t, const fence_ref& fence) {
  if (fence.fence == 0)
    return false;
  if (fence.of.space == claim_space::keys) {
    const auto entry = t.kv.find(fence.of.name);
    return entry && !entry->session.empty() && entry->fence == fence.fence;
  }
  const auto* line = t.claims.claims.line(fence.of);
  if (line == nullptr)
    return false;
  const auto holder = MUTANT(stale_fence_taken) ? line->holders.begin() : line->holders.find(fence.fence);
  return holder != line->holders.end() && opens_guards(t, *holder->second);
}

bool holds_exclusively(const tables& t, const resource_name& of, std::string_view session) {
  if (of.space == claim_space::keys) {
    const auto entry = t.kv.find(of.name);
    return entry && entry->session == session;
  }
  bool holds = false;
  t.claims.claims.for_each_of_session(session, of, [&](const claim_ptr& each) {
    holds = each->state == claim_state::held && opens_guards(t, *each);
    return !holds;
  });
  return holds;
}

// A tree may have thousands of guards, mostly of a few resources: looks up each resource once.

const guard_record* guard_against(const tables& t, const kv_op& op, std::span<const fence_ref> named) {
  std::optional<std::set<resource_name>> valid;
  return first_closed(t, op, [&](const guard_record& g) {
    if (!valid) {
      valid.emplace();
      for (const auto& each : named)
        if (is_valid(t, each))
          valid->insert(each.of);
    }
    return valid->contains(g.by);
  });
}

const guard_record* guard_against_session(const tables& t, const kv_op& op, std::string_view session) {
  std::map<resource_name, bool> known;
  return first_closed(t, op, [&](const guard_record& g) {
    const auto [found, first] = known.try_emplace(g.by, false);
    if (first)
      found->second = holds_exclusively(t, g.by, session);
    return found->second;
  });
}

const guard_record* guard_against_grant(const tables& t, const claim_record& waiter) {
  if (waiter.scope.empty() || waiter.of.space != claim_space::keys)
    return nullptr;
  kv_op op;
  op.verb = kv_verb::lock;
  op.key = waiter.of.name;
  return guard_against_session(t, op, waiter.session);
}

std::string guarded_text(const kv_op& op, const guard_record& by) {
  PROBE("claims: a guard refused a write");
  return "key " + in_quotes(op.key) + " is guarded by " + described(by.by);
}
std::string invalid_fence_text(const fence_ref& fence) {
  return "fence " + std::to_string(fence.fence) + " of " + described(fence.of) + " is not valid";
}
claim_refusal guarded(const kv_op& op, const guard_record& by) {
  return refuse_claim(claim_error::guarded, guarded_text(op, by));
}
claim_refusal invalid_fence(const fence_ref& fence) {
  return refuse_claim(claim_error::fence, invalid_fence_text(fence));
}

std::optional<claim_refusal> wrong_with(const guard_set& c) {
  if (c.prefix.empty())
    return wrong_parameter("prefix", "missing");
  if (c.by.name.empty())
    return wrong_parameter(std::string(name_of(c.by.space)), "missing");
  return std::nullopt;
}
std::optional<claim_refusal> wrong_with(const guard_remove& c) {
  return c.prefix.empty() ? std::optional(wrong_parameter("prefix", "missing")) : std::nullopt;
}

reply apply_claims(applying& a, const guard_set& c) {
  auto& guards = a.t.claims.guards;
  if (const auto* same = guards.find(c.prefix); same != nullptr && same->by == c.by)
    return true;
  if (const auto around = guards.around(c.prefix); !around.empty())
    return refuse_claim(claim_error::overlap, "guard of " + in_quotes(around.front()->prefix) + " overlaps");
  if (would_guard_a_guarding_key(a.t, c))
    return refuse_claim(claim_error::overlap, "a guard would stand above the key of another guard");
  if (!a.scope && guards.size() >= guards_max)
    return refuse_claim(claim_error::guards_full, "there are " + std::to_string(guards_max) + " guards");
  if (a.scope && guards.is_full(*a.scope))
    return refuse_claim(claim_error::guards_full, "there are " + std::to_string(guards.size()) +
                                                      " guards, and this client has its share of them");
  guards.put(std::make_shared<const guard_record>(guard_record{c.prefix, c.by, a.index, a.scope.value_or("")}));
  INVARIANT(guards.above(c.prefix) != nullptr); // writes find it
  a.t.indexes.set(index_kind::claims, a.index);
  a.changed.push_back(guards_changed{});
  return true;
}

reply apply_claims(applying& a, const guard_remove& c) {
  const auto* known = a.t.claims.guards.find(c.prefix);
  if (known == nullptr)
    return true;
  // A request without a fencing token was authorized by permission
  // (protocol/state/acl/writing_permissions.cpp).
  if (const fence_ref fence{known->by, c.fence}; c.fence != 0 && !is_valid(a.t, fence))
    return invalid_fence(fence);
  const auto guards_before = a.t.claims.guards.size();
  a.t.claims.guards.erase(c.prefix);
  INVARIANT(a.t.claims.guards.size() + 1 == guards_before);
  a.t.indexes.set(index_kind::claims, a.index);
  a.changed.push_back(guards_changed{});
  return true;
}

} // namespace belay::state
