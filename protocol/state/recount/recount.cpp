#include "protocol/state/recount/recount.hpp"

#include "protocol/state/folded_name.hpp"

namespace belay::state {

namespace {

// ---- the definition of each member, in the order of beside()

template <class Table>
using counted_of = typename values_beside<Table>::type;

template <class Row, class F>
void for_each_row(const undo_logged_map<Row>& rows, F&& f) {
  for (const auto& slot : rows)
    f(slot.value.row);
}

/// Nothing is counted in tables without derived data.
template <class Table>
requires(std::tuple_size_v<counted_of<Table>> == 0) std::tuple<> counted(const Table&) {
  return {};
}

counted_of<kv_table> counted(const kv_table& t) {
  counted_of<kv_table> found;
  auto& [held] = found;
  const auto count = [&](const kv_entry_ptr& e) {
    if (!e->session.empty())
      held[std::string(e->session)].emplace(e->key);
  };
  for_each_row(t.rows(), count);
  t.for_each_removed(count);
  return found;
}

counted_of<tombstones> counted(const tombstones& t) {
  counted_of<tombstones> found;
  auto& [by_index, trees, tree_lengths] = found;
  for_each_row(t.rows(), [&](const tombstone& row) {
    by_index.emplace(row.index, row.key);
    if (row.tree_index.is_zero())
      return;
    trees.emplace(row.key, row.tree_index);
    ++tree_lengths[row.key.size()];
  });
  return found;
}

counted_of<session_table> counted(const session_table& t) {
  counted_of<session_table> found;
  auto& [by_node] = found;
  for_each_row(t.rows(), [&](const session_ptr& s) { by_node[folded(s->node)].insert(s->id); });
  return found;
}

counted_of<lock_delay> counted(const lock_delay& t) {
  counted_of<lock_delay> found;
  auto& [by_time] = found;
  for_each_row(t.rows(), [&](const lock_delay_record& row) { by_time.emplace(row.until, row.key); });
  return found;
}

counted_of<catalog_table> counted(const catalog_table& t) {
  counted_of<catalog_table> found;
  auto& [nodes_by_id, nodes_by_digits, services_by_name, checks_by_service, checks_by_instance] = found;
  for_each_row(t.nodes(), [&](const node_ptr& n) {
    if (n->id.empty())
      return;
    auto id = folded(n->id);
    nodes_by_id[id].insert(folded(n->node));
    std::erase(id, '-');
    nodes_by_digits[id].insert(folded(n->node));
  });
  for_each_row(t.services(),
               [&](const service_ptr& s) { services_by_name[folded(s->service)].insert(row_key(s->node, s->id)); });
  for_each_row(t.checks(), [&](const check_ptr& c) {
    const auto key = row_key(c->node, c->check_id);
    if (!c->service_name.empty())
      checks_by_service[folded(c->service_name)].insert(key);
    checks_by_instance[row_key(c->node, c->service_id)].insert(key);
  });
  return found;
}

counted_of<acl_table> counted(const acl_table& t) {
  counted_of<acl_table> found;
  auto& [policies_by_name, roles_by_name, tokens_by_secret, tokens_by_end] = found;
  for_each_row(t.policies(), [&](const acl_policy_ptr& p) { policies_by_name.emplace(folded(p->name), p->id); });
  for_each_row(t.roles(), [&](const acl_role_ptr& r) { roles_by_name.emplace(folded(r->name), r->id); });
  for_each_row(t.tokens(), [&](const acl_token_ptr& token) {
    tokens_by_secret.insert({hash_of_secret(token->secret), {token, {}}});
    if (!token->expires.is_zero())
      tokens_by_end.emplace(token->expires, token->accessor);
  });
  return found;
}

counted_of<claims_table> counted(const claims_table& t) {
  counted_of<claims_table> found;
  auto& [lines, awaited, by_session, own, by_deadline, waiters, queued_bytes] = found;
  for_each_row(t.rows(), [&](const claim_ptr& c) {
    auto& line = lines[resource_key(c->of.space, c->of.name)];
    by_session[c->session].insert(c->key);
    auto& taken = own[c->session + resource_key(c->of.space, c->of.name)];
    taken.permits += c->permits;
    ++(c->mode == claim_mode::exclusive ? taken.exclusive : taken.shared);
    if (c->state == claim_state::held) {
      line.holders.emplace(c->fence, c);
      line.held.permits += c->permits;
      line.held.exclusive += c->mode == claim_mode::exclusive ? 1 : 0;
      line.held.shared += c->mode == claim_mode::exclusive ? 0 : 1;
      return;
    }
    line.queue.emplace(position_of(*c), c);
    awaited.insert(resource_key(c->of.space, c->of.name));
    waiters += 1;
    queued_bytes += queued_bytes_of(*c);
    if (!c->deadline.is_zero())
      by_deadline.emplace(c->deadline, c->key);
  });
  return found;
}

counted_of<claim_ghosts> counted(const claim_ghosts& t) {
  counted_of<claim_ghosts> found;
  auto& [by_resource, by_time] = found;
  for_each_row(t.rows(), [&](const claim_ghost_ptr& g) {
    auto& withheld = by_resource[resource_key(g->of.space, g->of.name)];
    withheld.permits += g->permits;
    withheld.exclusive += g->mode == claim_mode::exclusive ? 1 : 0;
    withheld.shared += g->mode == claim_mode::exclusive ? 0 : 1;
    by_time.emplace(g->until, g->key);
  });
  return found;
}

counted_of<claim_ends> counted(const claim_ends& t) {
  counted_of<claim_ends> found;
  auto& [scoped, unscoped] = found;
  for_each_row(t.rows(), [&](const claim_end_ptr& e) { (e->scope.empty() ? unscoped : scoped).insert(e); });
  return found;
}

counted_of<guard_table> counted(const guard_table& t) {
  counted_of<guard_table> found;
  auto& [lengths] = found;
  for_each_row(t.rows(), [&](const guard_ptr& g) { ++lengths[g->prefix.size()]; });
  return found;
}

counted_of<ended_sessions> counted(const ended_sessions& t) {
  counted_of<ended_sessions> found;
  auto& [by_number] = found;
  for_each_row(t.rows(), [&](const ended_session_ptr& e) { by_number.emplace(e->number, e->id); });
  return found;
}

counted_of<outcome_table> counted(const outcome_table& t) {
  counted_of<outcome_table> found;
  auto& [by_time, all, by_scope] = found;
  for_each_row(t.rows(), [&](const outcome_ptr& o) {
    by_time.insert(o);
    for (auto* each : {&all, &by_scope[o->scope]}) {
      each->count += 1;
      each->bytes += outcome_bytes(*o);
    }
  });
  return found;
}

// ---- completeness

template <class Table>
constexpr std::size_t bytes_of_no_row() {
  if constexpr (requires { Table::bytes_of_no_row(); })
    return Table::bytes_of_no_row();
  else
    return 0;
}

template <class... Map>
constexpr std::size_t bytes_of_maps(std::type_identity<std::tuple<Map...>>) {
  return (sizeof(Map) + ... + 0);
}

/// Every member is a table, derived from one, or unrelated to rows.
template <class Table>
constexpr bool lists_all_members() {
  using maps = decltype(std::declval<const Table&>().maps());
  return sizeof(Table) ==
         bytes_of_maps(std::type_identity<maps>()) + values_beside<Table>::bytes + bytes_of_no_row<Table>();
}

template <class... Owner>
constexpr bool all_list_all_members(std::type_identity<std::tuple<Owner...>>) {
  return (lists_all_members<std::remove_cvref_t<Owner>>() && ...);
}
static_assert(all_list_all_members(std::type_identity<decltype(std::declval<const tables&>().owners())>()),
              "a table has a member that neither maps() nor beside() names");

template <class... Owner>
constexpr std::size_t count_of_maps(std::type_identity<std::tuple<Owner...>>) {
  return (std::tuple_size_v<decltype(std::declval<Owner>().maps())> + ... + 0);
}
static_assert(count_of_maps(std::type_identity<decltype(std::declval<const tables&>().owners())>()) ==
                  count_of<table> - 1,
              "tables::owners() lacks a table");

// ---- comparison

using difference = std::optional<std::string>;

template <class Table>
difference beside_differs(const Table& t, const std::string& name) {
  const auto right = counted(t);
  difference found;
  const auto compare = [&]<std::size_t... i>(std::index_sequence<i...>) {
    [[maybe_unused]] const auto kept = t.beside();
    [[maybe_unused]] const auto one = [&](const auto& member, const auto& value) {
      if (!found && !(member.value == value))
        found = name + ": " + std::string(member.name) + " is not what its rows say";
    };
    (one(std::get<i>(kept), std::get<i>(right)), ...);
  };
  compare(std::make_index_sequence<std::tuple_size_v<counted_of<Table>>>());
  return found;
}

difference owner_differs(const auto& owner) {
  difference found;
  std::string names;
  std::apply(
      [&](const auto&... map) {
        const auto one = [&](const auto& each) {
          const std::string name(name_of(each.number()));
          names += (names.empty() ? "" : "/") + name;
          if (const auto wrong = found ? difference() : each.recount())
            found = name + ": " + *wrong + " is not what its rows say";
        };
        (one(map), ...);
      },
      owner.maps());
  return found ? found : beside_differs(owner, names);
}

/// Derived from two tables.
difference shares_differ(const claim_tables& t) {
  end_shares right;
  for_each_row(t.claims.rows(), [&](const claim_ptr& c) { right.add(*c); });
  for_each_row(t.ends.rows(), [&](const claim_end_ptr& e) { right.add(*e); });
  if (t.shares.counts_same(right))
    return std::nullopt;
  return "claims: shares is not what its rows say";
}

/// Compares references between rows.
difference rows_differ(const tables& t) {
  difference found;
  const auto note = [&](const std::string& text) {
    if (!found)
      found = text;
  };
  const auto lives = [&](std::string_view session) { return t.sessions.rows().find(session) != nullptr; };
  for_each_row(t.kv.rows(), [&](const kv_entry_ptr& e) {
    if (!e->session.empty() && !lives(e->session))
      note("key " + std::string(e->key) + " is locked by a session that is not there");
  });
  for_each_row(t.claims.claims.rows(), [&](const claim_ptr& c) {
    if (!lives(c->session))
      note("claim " + c->id + " is of a session that is not there");
    if (!t.claims.resources.find(c->of))
      note("claim " + c->id + " is of a resource that is not there");
  });
  for_each_row(t.catalog.services(), [&](const service_ptr& s) {
    if (t.indexes.of_service(s->service).is_zero())
      note("service " + s->service + " has an instance and no index");
  });
  return found;
}

} // namespace

std::optional<std::string> recount(const tables& t) {
  difference found;
  std::apply(
      [&](const auto&... owner) {
        const auto one = [&](const auto& each) {
          if (!found)
            found = owner_differs(each);
        };
        (one(owner), ...);
      },
      t.owners());
  if (!found)
    if (const auto wrong = t.changes.recount())
      found = "changes: " + *wrong;
  if (!found)
    found = shares_differ(t.claims);
  return found ? found : rows_differ(t);
}

} // namespace belay::state
