#include "protocol/watch/parked_queries.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace belay::watch {

namespace {

using state::folded;
using state::starts_with;

/// What a parked query is indexed by. Queries that depend on
/// a whole table are under the empty name of their topic.
enum class topic : std::uint8_t {
  key,
  prefix,
  session,
  session_node,
  all_sessions,
  node,
  service,
  all_catalog,
  all_access,
  coordinates,
  claim,  ///< named by its resource_key()
  waiter, ///< waiter of a claim; named by its claim_key()
  all_claims,
  guards,
  anything
};
constexpr std::size_t topic_count = 15;

/// Longer prefixes are indexed by their first bytes: they wake more often than necessary. A changed
/// key is looked up once per distinct length, and clients could choose any number of lengths.
constexpr std::size_t parked_prefix_bytes_max = 128;

std::string parked_prefix(std::string_view prefix) {
  return std::string(prefix.substr(0, parked_prefix_bytes_max));
}

struct interest {
  topic about;
  std::string name;
};

bool may_be_node_id(std::string_view text) {
  return text.size() >= 2 && text.find_first_not_of("0123456789abcdefABCDEF-") == std::string_view::npos;
}

interest interest_of(const state::kv_get& q) {
  return {topic::key, q.key};
}
/// Queries on the keys under a prefix.
template <class Query>
requires requires(const Query& q) {
  q.prefix;
}
interest interest_of(const Query& q) {
  return {topic::prefix, parked_prefix(q.prefix)};
}
/// The first prefix; park() adds the others.
interest interest_of(const state::kv_changes& q) {
  PRECONDITION(!q.prefixes.empty());
  return {topic::prefix, parked_prefix(q.prefixes.front())};
}
interest interest_of(const state::kv_at& q) {
  return {topic::key, q.key};
}
interest interest_of(const state::kv_history& q) {
  return {topic::key, q.key};
}
interest interest_of(const state::session_info& q) {
  return {topic::session, folded(q.id)};
}
template <class Settings>
interest interest_of(const state::settings_get<Settings>&) {
  return {topic::anything, {}};
}
interest interest_of(const state::session_list&) {
  return {topic::all_sessions, {}};
}
interest interest_of(const state::session_node& q) {
  return {topic::session_node, folded(q.node)};
}
interest interest_of(const state::catalog_nodes&) {
  return {topic::all_catalog, {}};
}
interest interest_of(const state::catalog_services&) {
  return {topic::all_catalog, {}};
}
interest interest_of(const state::catalog_service& q) {
  return {topic::service, folded(q.service)};
}
interest interest_of(const state::catalog_node& q) {
  // The text may be a prefix of a node's id; changes then carry another name.
  if (may_be_node_id(q.node))
    return {topic::all_catalog, {}};
  return {topic::node, folded(q.node)};
}
interest interest_of(const state::health_node& q) {
  return {topic::node, folded(q.node)};
}
interest interest_of(const state::health_checks& q) {
  return {topic::service, folded(q.service)};
}
interest interest_of(const state::health_state&) {
  return {topic::all_catalog, {}};
}
interest interest_of(const state::health_service& q) {
  return {topic::service, folded(q.service)};
}
interest interest_of(const state::coordinate_nodes&) {
  return {topic::coordinates, {}};
}
interest interest_of(const state::coordinate_node&) {
  return {topic::coordinates, {}};
}
/// For the lock of a key, changes of the holder are changes of the key, which touch the same name.
interest interest_of(const state::claim_read& q) {
  return {topic::claim, state::resource_key(q.of.space, q.of.name)};
}
/// Only its own changes: a thousand waiters must not wake at each grant.
interest interest_of(const state::claim_status& q) {
  return {topic::waiter, state::claim_key(q.of.space, q.of.name, q.id)};
}
interest interest_of(const state::claims_list&) {
  return {topic::all_claims, {}};
}
interest interest_of(const state::claims_graph&) {
  return {topic::all_claims, {}};
}
interest interest_of(const state::guards_list&) {
  return {topic::guards, {}};
}
interest interest_of(const state::session_ended& q) {
  return {topic::session, folded(q.id)};
}
interest interest_of(const state::txn_read&) {
  return {topic::anything, {}};
}
/// It never waits.
interest interest_of(const state::outcome_read&) {
  return {topic::anything, {}};
}
/// Policies, roles, tokens, and resulting permissions.
template <class Query>
requires(std::is_same_v<Query, state::acl_policy_read> || std::is_same_v<Query, state::acl_policy_list> ||
         std::is_same_v<Query, state::acl_role_read> || std::is_same_v<Query, state::acl_role_list> ||
         std::is_same_v<Query, state::acl_token_read> || std::is_same_v<Query, state::acl_token_list> ||
         std::is_same_v<Query, state::acl_legacy_list> || std::is_same_v<Query, state::acl_token_self> ||
         std::is_same_v<Query, state::permissions_read>) interest interest_of(const Query&) {
  return {topic::all_access, {}};
}

} // namespace

struct parked_queries::impl {
  using bucket = std::vector<park_id>;
  using buckets = std::map<std::string, bucket, std::less<>>;
  struct spot {
    buckets::iterator where; ///< iterators of a map stay valid when others are added or removed
    std::uint32_t position;
    topic about;
  };

  std::unordered_map<park_id, spot> parked;
  std::unordered_map<park_id, std::vector<spot>> more; ///< for queries with several prefixes: the others
  buckets by_topic[topic_count];
  std::set<park_id> in_a_name;                       ///< queries with a token, whose permissions may change
  std::map<std::size_t, std::size_t> prefix_lengths; ///< length -> number of distinct parked prefixes

  spot add_entry(park_id id, interest about) {
    auto& all = by_topic[static_cast<std::size_t>(about.about)];
    auto [at, fresh] = all.try_emplace(std::move(about.name));
    if (fresh && about.about == topic::prefix)
      ++prefix_lengths[at->first.size()];
    at->second.push_back(id);
    return {at, static_cast<std::uint32_t>(at->second.size() - 1), about.about};
  }
  /// The position of `id` in the bucket. @pre it is there
  spot& spot_in(buckets::iterator where, park_id id) {
    auto& first = parked.at(id);
    if (first.where == where)
      return first;
    auto& others = more.at(id);
    const auto found = std::find_if(others.begin(), others.end(), [&](const spot& s) { return s.where == where; });
    INVARIANT(found != others.end());
    return *found;
  }
  /// Removes the query from its bucket.
  void vacate(park_id id, const spot& s);

  const buckets& of(topic t) const { return by_topic[static_cast<std::size_t>(t)]; }

  void append(topic t, std::string_view name, std::vector<park_id>& out) const {
    const auto& all = of(t);
    if (auto at = all.find(name); at != all.end())
      out.insert(out.end(), at->second.begin(), at->second.end());
  }
  /// Everything under names that start with `prefix`.
  void append_under(topic t, std::string_view prefix, std::vector<park_id>& out) const {
    const auto& all = of(t);
    for (auto at = all.lower_bound(prefix); at != all.end() && starts_with(at->first, prefix); ++at)
      out.insert(out.end(), at->second.begin(), at->second.end());
  }
  /// Parked prefixes that `text` starts with; `text` itself only if `whole`.
  void append_prefixes_of(std::string_view text, bool whole, std::vector<park_id>& out) const {
    for (const auto& [length, count] : prefix_lengths) {
      if (length > text.size() || (length == text.size() && !whole))
        break;
      append(topic::prefix, text.substr(0, length), out);
      if (MUTANT(nested_prefix_not_woken) && !out.empty())
        break;
    }
  }

  void touch(const state::kv_changed& e, std::vector<park_id>& out) const {
    append(topic::key, e.key, out);
    if (!of(topic::claim).empty())
      append(topic::claim, state::resource_key(state::claim_space::keys, e.key), out);
    append_prefixes_of(e.key, true, out);
  }
  void touch(const state::kv_tree_removed& e, std::vector<park_id>& out) const {
    append_under(topic::key, e.prefix, out);
    append_under(topic::claim, (MUTANT(tree_delete_wakes_no_queue) ? '?' : 'k') + e.prefix, out);
    append_under(topic::prefix, e.prefix, out);
    append_prefixes_of(e.prefix, false, out);
  }
  void touch(const state::session_changed& e, std::vector<park_id>& out) const {
    append(topic::session, e.session->id, out);
    append(topic::session_node, MUTANT(session_wakes_no_node) ? "" : folded(e.session->node), out);
    append(topic::all_sessions, {}, out);
  }
  void touch(const state::catalog_changed& e, std::vector<park_id>& out) const {
    if (!e.node.empty())
      append(topic::node, folded(e.node), out);
    if (!e.service.empty())
      append(topic::service, folded(e.service), out);
    append(topic::all_catalog, {}, out);
  }
  /// Nothing readable changes (docs/contract/02, section 3).
  void touch(const state::lock_delay_started&, std::vector<park_id>&) const {}
  void touch(const state::access_changed&, std::vector<park_id>& out) const {
    append(topic::all_access, {}, out);
    out.insert(out.end(), in_a_name.begin(), in_a_name.end());
  }
  void touch(const state::claim_changed& e, std::vector<park_id>& out) const {
    append(topic::claim, state::resource_key(e.of.space, MUTANT(claim_change_wakes_nobody) ? "" : e.of.name), out);
    append(topic::all_claims, {}, out);
  }
  /// Wakes waiters of the claim. A claim_changed of the same entry wakes readers.
  void touch(const state::claim_granted& e, std::vector<park_id>& out) const {
    touch_waiter(e.of, MUTANT(grant_wakes_nobody) ? "" : e.id, out);
  }
  void touch(const state::claim_ended& e, std::vector<park_id>& out) const { touch_waiter(e.of, e.id, out); }
  void touch_waiter(const state::resource_name& what, const std::string& id, std::vector<park_id>& out) const {
    if (!of(topic::waiter).empty())
      append(topic::waiter, state::claim_key(what.space, what.name, id), out);
  }
  /// Nothing readable changes.
  void touch(const state::claims_alarm_moved&, std::vector<park_id>&) const {}
  void touch(const state::guards_changed&, std::vector<park_id>& out) const { append(topic::guards, {}, out); }
  void touch(const state::coordinates_changed&, std::vector<park_id>& out) const {
    append(topic::coordinates, {}, out);
  }
  void touch(const state::everything_changed&, std::vector<park_id>& out) const {
    if (parked.empty() || MUTANT(snapshot_wakes_nobody))
      return;
    PROBE("watch: everything looked at again");
    for (const auto& [id, where] : parked)
      out.push_back(id);
  }
};

parked_queries::parked_queries() : impl_(std::make_unique<impl>()) {}
parked_queries::~parked_queries() = default;
parked_queries::parked_queries(parked_queries&&) noexcept = default;

void parked_queries::park(park_id id, const state::query& q) {
  auto about =
      std::visit([](const auto& each) { return interest_of(each); }, static_cast<const state::plain_query&>(q));
  PRECONDITION(impl_->parked.count(id) == 0);
  impl_->parked.emplace(id, impl_->add_entry(id, std::move(about)));
  if (const auto* changes = std::get_if<state::kv_changes>(&q); changes != nullptr && changes->prefixes.size() > 1) {
    std::set<std::string> others;
    for (const auto& prefix : changes->prefixes)
      others.insert(parked_prefix(prefix));
    others.erase(parked_prefix(changes->prefixes.front()));
    for (const auto& prefix : others)
      impl_->more[id].push_back(impl_->add_entry(id, {topic::prefix, prefix}));
  }
  if (q.by)
    impl_->in_a_name.insert(id);
  INVARIANT(impl_->more.size() <= impl_->parked.size());
  INVARIANT(impl_->in_a_name.size() <= impl_->parked.size());
}

void parked_queries::remove(park_id id) {
  auto found = impl_->parked.find(id);
  if (found == impl_->parked.end())
    return;
  impl_->vacate(id, found->second);
  impl_->parked.erase(found);
  impl_->in_a_name.erase(id);
  if (const auto others = impl_->more.find(id); others != impl_->more.end()) {
    for (const auto& each : others->second)
      impl_->vacate(id, each);
    impl_->more.erase(others);
  }
  INVARIANT(impl_->more.size() <= impl_->parked.size());
  INVARIANT(impl_->in_a_name.size() <= impl_->parked.size());
  INVARIANT(!impl_->parked.empty() || impl_->prefix_lengths.empty());
}

void parked_queries::impl::vacate(park_id id, const spot& s) {
  auto& ids = s.where->second;
  INVARIANT(s.position < ids.size());
  INVARIANT(ids[s.position] == id);
  // The last one fills the gap, so that removal is O(1) in a bucket of any size.
  if (ids[s.position] != ids.back()) {
    ids[s.position] = ids.back();
    spot_in(s.where, ids.back()).position = s.position;
  }
  ids.pop_back();
  if (!ids.empty())
    return;
  if (s.about == topic::prefix) {
    auto length = prefix_lengths.find(s.where->first.size());
    INVARIANT(length != prefix_lengths.end());
    if (--length->second == 0)
      prefix_lengths.erase(length);
  }
  by_topic[static_cast<std::size_t>(s.about)].erase(s.where);
}

void parked_queries::touched(const state::effects& changed, std::vector<park_id>& woken) const {
  if (impl_->parked.empty() || changed.empty())
    return;
  const auto first = static_cast<std::ptrdiff_t>(woken.size());
  for (const auto& e : changed)
    std::visit([&](const auto& each) { impl_->touch(each, woken); },
               MUTANT(every_change_wakes_all) ? state::effect(state::everything_changed{}) : e);
  impl_->append(topic::anything, {}, woken);
  // If callers use increasing ids, buckets are already sorted.
  if (!std::is_sorted(woken.begin() + first, woken.end()))
    std::sort(woken.begin() + first, woken.end());
  woken.erase(std::unique(woken.begin() + first, woken.end()), woken.end());
  const auto found = woken.size() - static_cast<std::size_t>(first);
  INVARIANT(found <= impl_->parked.size());
  INVARIANT(found == 0 || impl_->parked.contains(woken.back()));
  if (found > 1)
    PROBE("watch: several woken by one entry");
  if (MUTANT(only_first_watcher_woken) && found > 1)
    woken.resize(static_cast<std::size_t>(first) + 1);
}

std::size_t parked_queries::size() const {
  return impl_->parked.size();
}

} // namespace belay::watch
