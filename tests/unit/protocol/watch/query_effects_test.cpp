// A client waits for a change of what it has read, while any command is applied. If a query is not
// woken by a change, the client gets it at its timeout; a needless wake costs an evaluation. Each
// kind was tested with the effects that its author thought of. Here both lists meet at random.

#include "protocol/watch/parked_queries.hpp"
#include "tests/harness/members.hpp"
#include "tests/unit/protocol/state/command_generator.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace belay;
using namespace belay::state;
using belay::watch::park_id;
using belay::watch::parked_queries;

namespace {

// ---- whether two results show the same

template <class T>
bool alike(const T& a, const T& b);

/// Each result for a token that may not see all of it is a copy.
bool alike(const ended_session_ptr& a, const ended_session_ptr& b) {
  return a == b || (a && b && same_in_all(*a, *b));
}
template <class... T>
bool alike(const std::variant<T...>& a, const std::variant<T...>& b) {
  return a.index() == b.index() &&
         std::visit([&](const auto& each) { return alike(each, std::get<std::decay_t<decltype(each)>>(b)); }, a);
}
template <class T>
bool alike(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return alike(x, y); });
}
bool alike(const std::vector<bool>& a, const std::vector<bool>& b) {
  return a == b;
}
template <class T>
bool alike(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || alike(*a, *b));
}
bool alike(const std::shared_ptr<const acl::authorizer>&, const std::shared_ptr<const acl::authorizer>&) {
  return true; // its permissions are another part of the result
}
template <class T>
bool alike(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a && b && alike(*a, *b));
}
bool alike(const cluster_time&, const cluster_time&) {
  return true; // in results about claims: the time of the machine
}
template <class T>
bool alike(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, instance_checks>) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i)
      same = alike(a[i], b[i]);
    return same;
  } else if constexpr (std::is_same_v<T, kv_entry_ptr>) {
    return a == b || (a && b && same_in_all(*a, *b));
  } else if constexpr (listed<T>) {
    return same_in_all(a, b);
  } else if constexpr (requires { a == b; }) {
    return a == b;
  } else {
    bool same = true;
    harness::for_each_pair(harness::members_of(a), harness::members_of(b),
                           [&](const auto& x, const auto& y) { same = same && alike(x, y); });
    return same;
  }
}

using plain_data = query_data::plain;

/// Whether a waiting client must be answered. Not every difference in its result counts.
struct expected_news {
  /// A client that waits for its claim waits for the grant or the end, not for its position.
  bool operator()(const claim_status&, const query_data& before, const query_data& after) const {
    const auto waits = [](const query_data& d) { // false: or the token may not see it
      const auto* found = std::get_if<claim_standing>(&d);
      return found != nullptr && found->live && found->live->state == claim_state::waiting;
    };
    return waits(before) && !waits(after) && std::holds_alternative<claim_standing>(after);
  }
  /// The end of a lock delay is not a change of the key: no index moves.
  bool operator()(const claim_read& q, query_data before, query_data after) const {
    for (auto* each : {&before, &after})
      if (auto* view = std::get_if<claim_view>(each); view != nullptr && q.of.space == claim_space::keys)
        view->delays.clear();
    return !alike(static_cast<const plain_data&>(before), static_cast<const plain_data&>(after));
  }
  /// Nothing had happened since its cursor.
  bool operator()(const kv_changes&, const query_data&, const query_data& after) const {
    const auto* found = std::get_if<change_rows>(&after);
    return found != nullptr && !found->nothing_yet();
  }
  /// These never wait.
  template <class Query>
  requires(std::is_same_v<Query, kv_at> || std::is_same_v<Query, kv_history> || std::is_same_v<Query, outcome_read> ||
           std::is_same_v<Query, txn_read> || std::is_same_v<Query, autopilot_get> ||
           std::is_same_v<Query, permissions_read>) bool
  operator()(const Query&, const query_data&, const query_data&) const {
    return false;
  }
  template <class Query>
  bool operator()(const Query&, const query_data& before, const query_data& after) const {
    return !alike(static_cast<const plain_data&>(before), static_cast<const plain_data&>(after));
  }
};

// ---- what a query may depend on

/// The effects of one entry.
struct done_by_entry {
  dirty_rows rows;
  effects changed;

  template <class F>
  bool any_row(F&& f) const {
    return std::any_of(rows.begin(), rows.end(), f);
  }
  bool any_of(std::initializer_list<table> tables) const {
    return any_row(
        [&](const dirty_row& r) { return std::find(tables.begin(), tables.end(), r.table) != tables.end(); });
  }
  bool key(const std::string& key) const {
    return any_row([&](const dirty_row& r) { return r.table == table::kv && r.key == key; }) || tree_around(key);
  }
  bool keys_under(const std::string& prefix) const {
    return any_row([&](const dirty_row& r) { return r.table == table::kv && r.key.starts_with(prefix); }) ||
           tree_around(prefix);
  }
  /// A recursive delete names no keys: queries below its prefix are woken.
  bool tree_around(const std::string& text) const {
    return any<kv_tree_removed>([&](const kv_tree_removed& e) { return text.starts_with(e.prefix); });
  }
  template <class Effect, class F>
  bool any(F&& f) const {
    return std::any_of(changed.begin(), changed.end(), [&](const effect& e) {
      const auto* one = std::get_if<Effect>(&e);
      return one != nullptr && f(*one);
    });
  }
  template <class Effect>
  bool any() const {
    return any<Effect>([](const Effect&) { return true; });
  }
};

/// Queries that show more than their index covers: a change may wake them although the index stays,
/// and they are parked again.
struct index_may_stay {
  const query_result& after;
  const done_by_entry& by;

  /// A check that moves to another service changes only that service's index, as in Consul.
  bool operator()(const health_service&) const { return by.any_of({table::checks}); }
  /// The metadata of a node decides which checks are shown, and the index is that of checks.
  bool operator()(const health_checks& q) const { return !q.node_meta.empty(); }
  bool operator()(const health_state& q) const { return !q.node_meta.empty(); }
  /// For a removed node the index is 1 (docs/contract/02).
  bool operator()(const catalog_node&) const { return after.index == log_index{1}; }
  /// They show names of other tables' rows, of policies and roles, as these are now.
  bool operator()(const acl_role_read&) const { return true; }
  bool operator()(const acl_role_list&) const { return true; }
  bool operator()(const acl_token_read&) const { return true; }
  bool operator()(const acl_token_list&) const { return true; }
  bool operator()(const acl_legacy_list&) const { return true; }
  /// A client of changes reads the changes.
  bool operator()(const kv_changes&) const { return true; }
  template <class Query>
  bool operator()(const Query&) const {
    return false;
  }
};

struct may_be_woken {
  const done_by_entry& by;

  bool operator()(const kv_get& q) const { return by.key(q.key); }
  bool operator()(const kv_at& q) const { return by.key(q.key); }
  bool operator()(const kv_history& q) const { return by.key(q.key); }
  bool operator()(const kv_list& q) const { return by.keys_under(q.prefix); }
  bool operator()(const kv_keys& q) const { return by.keys_under(q.prefix); }
  bool operator()(const kv_changes& q) const {
    return std::any_of(q.prefixes.begin(), q.prefixes.end(), [&](const auto& p) { return by.keys_under(p); });
  }
  bool operator()(const session_info& q) const {
    return by.any_row([&](const dirty_row& r) { return r.table == table::sessions && r.key == q.id; });
  }
  bool operator()(const session_ended& q) const {
    return by.any_row([&](const dirty_row& r) {
      return (r.table == table::sessions || r.table == table::ended_sessions) && r.key == q.id;
    });
  }
  bool operator()(const session_list&) const { return by.any_of({table::sessions}); }
  bool operator()(const session_node&) const { return by.any_of({table::sessions}); }
  bool operator()(const claim_read& q) const {
    const auto key = resource_key(q.of.space, q.of.name);
    return by.any_row([&](const dirty_row& r) {
      const bool of_claims = r.table == table::claims || r.table == table::claim_resources ||
                             r.table == table::claim_ghosts || r.table == table::claim_ends;
      return of_claims && r.key.starts_with(key);
    }) || (q.of.space == claim_space::keys && by.key(q.of.name));
  }
  bool operator()(const claim_status& q) const {
    return by.any<claim_granted>([&](const auto& e) { return e.of == q.of && e.id == q.id; }) ||
           by.any<claim_ended>([&](const auto& e) { return e.of == q.of && e.id == q.id; });
  }
  bool operator()(const claims_list&) const { return of_any_claim() || by.any<claim_changed>(); }
  bool operator()(const claims_graph&) const { return of_any_claim() || by.any<claim_changed>(); }
  bool operator()(const guards_list&) const { return by.any_of({table::guards}); }
  bool operator()(const coordinate_nodes&) const { return by.any<coordinates_changed>(); }
  bool operator()(const coordinate_node&) const { return by.any<coordinates_changed>(); }
  /// They wait for anything: no client waits with one.
  bool operator()(const outcome_read&) const { return true; }
  bool operator()(const txn_read&) const { return true; }
  template <class Settings>
  bool operator()(const settings_get<Settings>&) const {
    return true;
  }
  template <class Query>
  bool operator()(const Query&) const {
    if constexpr (of_access<Query>)
      return by.any_of({table::acl_policies, table::acl_roles, table::acl_tokens});
    else
      return of_catalog<Query>();
  }

private:
  /// Policies, roles, tokens, and the permissions that they give.
  template <class Query>
  static constexpr bool of_access = std::is_same_v<Query, permissions_read> || std::is_same_v<Query, acl_policy_read> ||
                                    std::is_same_v<Query, acl_policy_list> || std::is_same_v<Query, acl_role_read> ||
                                    std::is_same_v<Query, acl_role_list> || std::is_same_v<Query, acl_token_read> ||
                                    std::is_same_v<Query, acl_token_self> || std::is_same_v<Query, acl_token_list> ||
                                    std::is_same_v<Query, acl_legacy_list>;
  template <class Query>
  bool of_catalog() const {
    static_assert(
        std::is_same_v<Query, catalog_node> || std::is_same_v<Query, health_node> ||
            requires(const Query& q) { q.node_meta; },
        "say what a query of this kind depends on");
    // An identical check moves the index of checks (docs/contract/02, section 5).
    return by.any_of({table::nodes, table::services, table::checks}) || by.any<catalog_changed>();
  }
  bool of_any_claim() const {
    return by.any_of({table::claims, table::claim_resources, table::claim_ghosts, table::claim_ends});
  }
};

// ---- a run

struct waiting_client {
  query requested;
  std::size_t kind = 0;
  query_result before;
};

class run {
public:
  run(std::uint64_t seed, bool with_access) : seed_(seed), generator_(seed, with_access), with_access_(with_access) {
    d_.apply(tombstone_reap{}); // index 1 is never that of data: in a cluster it is the first leader's no-op
    if (with_access)
      d_.apply(acl_initialize{command_generator::master, uuid(99), 1});
    (void)d_.m.take_dirty();
    for (std::size_t kind = 0; kind < command_generator::query_kinds; ++kind)
      for (int i = 0; i < 4; ++i)
        park(kind);
  }

  void step() {
    d_.pass(generator_.one_in(100) ? 300'000 : generator_.below(400)); // what is kept for ten minutes is removed, too
    const auto kind = generator_.random_command_kind();
    auto c = generator_.random_command(kind, d_.m);
    if (!c)
      return;
    if (generator_.one_in(12) && (std::holds_alternative<kv_write>(*c) || std::holds_alternative<txn>(*c)))
      c->once = once_request{"once-" + std::to_string(generator_.below(20)), {generator_.below(2), 0}, d_.now};
    d_.apply(*c);
    const done_by_entry by{d_.m.take_dirty(), d_.changed};
    std::vector<park_id> woken;
    parked_.touched(d_.changed, woken);
    CHECK(std::is_sorted(woken.begin(), woken.end()));
    const bool everything = by.any<everything_changed>();
    for (auto& [id, client] : clients_) {
      INFO("seed " << seed_ << ", command of kind " << kind << ", query of kind " << client.kind
                   << (client.requested.by ? " in a name" : "") << " at index " << d_.index().value);
      const bool received = std::binary_search(woken.begin(), woken.end(), id);
      const auto after = d_.m.evaluate(client.requested);
      const bool news = std::visit([&](const auto& q) { return expected_news()(q, client.before.data, after.data); },
                                   static_cast<const plain_query::plain&>(client.requested));
      // If a check's service was renamed, the metadata of its node affects no service.
      const auto* checks = std::get_if<health_checks>(&client.requested);
      const bool excused = checks != nullptr && !checks->node_meta.empty() && after.index == client.before.index;
      if (news && !excused) {
        CHECK(received);
        ++news_[client.kind];
        // Otherwise it would be parked again. After a restore it always gets a response.
        if (!everything && !client.requested.by &&
            !std::visit(index_may_stay{after, by}, static_cast<const plain_query::plain&>(client.requested)))
          CHECK(after.index.value > client.before.index.value);
      }
      // A moved index is a change, too, whatever the rows are.
      const bool may = everything || after.index != client.before.index ||
                       (client.requested.by && by.any<access_changed>()) ||
                       std::visit(may_be_woken{by}, static_cast<const plain_query::plain&>(client.requested));
      if (received)
        CHECK(may);
    }
    for (const auto id : woken) { // they get a response, and send another query
      const auto kind_of_it = clients_.at(id).kind;
      parked_.remove(id);
      clients_.erase(id);
      park(kind_of_it);
    }
    // The others have seen the present state, as if they had read again.
    for (auto& [id, client] : clients_)
      client.before = d_.m.evaluate(client.requested);
  }

  /// How often each kind of query had a change to report.
  const std::map<std::size_t, std::size_t>& news() const { return news_; }
  std::optional<std::string> recount() const { return d_.m.recount(); }

private:
  void park(std::size_t kind) {
    waiting_client c;
    c.kind = kind;
    c.requested = generator_.random_query(kind, d_.m);
    if (with_access_ && generator_.one_in(2))
      c.requested.by = command_generator::on_behalf_of(generator_.secret());
    c.before = d_.m.evaluate(c.requested);
    const auto id = ++newest_;
    parked_.park(id, c.requested);
    clients_.emplace(id, std::move(c));
  }

  std::uint64_t seed_;
  command_generator generator_;
  bool with_access_;
  driver d_;
  parked_queries parked_;
  std::map<park_id, waiting_client> clients_;
  park_id newest_ = 0;
  std::map<std::size_t, std::size_t> news_;
};

} // namespace

TEST_CASE("every kind of query is woken by every command that changes its answer, and by no other", "[watch]") {
  std::map<std::size_t, std::size_t> news;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    run r(seed, seed % 3 == 0);
    for (int i = 0; i < 600; ++i)
      r.step();
    CHECK(r.recount() == std::nullopt);
    for (const auto& [kind, times] : r.news())
      news[kind] += times;
  }
  // A kind whose result never changed was not tested, unless it never waits.
  const auto silent = [](std::size_t kind) {
    static const std::vector<query> queries{kv_at{},         kv_history{},       outcome_read{},     txn_read{},
                                            autopilot_get{}, permissions_read{}, coordinate_nodes{}, coordinate_node{},
                                            acl_token_self{}};
    return std::any_of(queries.begin(), queries.end(), [&](const query& q) { return q.index() == kind; });
  };
  for (std::size_t kind = 0; kind < command_generator::query_kinds; ++kind) {
    INFO("query of kind " << kind);
    CHECK((silent(kind) || news[kind] != 0));
  }
}
