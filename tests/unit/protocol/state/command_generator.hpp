#pragma once
// Random commands and queries of every kind, with so few names that they collide: a new kind does
// not compile until it is generated here.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::state {

class command_generator {
public:
  /// @param with_access ACLs are in force: policies, roles and tokens are created and deleted
  command_generator(std::uint64_t seed, bool with_access) : random_(seed), with_access_(with_access) {}

  static constexpr std::size_t command_kinds = std::variant_size_v<plain_command::plain>;
  static constexpr std::size_t query_kinds = std::variant_size_v<plain_query::plain>;

  /// Kinds that need much existing state to have an effect come more often.
  std::size_t random_command_kind() {
    static const std::array<command, 5> often{session_create{}, claim_ask{}, kv_acquire{}, catalog_register{},
                                              kv_write{}};
    return one_in(2) ? often[below(often.size())].index() : below(command_kinds);
  }
  /// A command of that kind. @returns nullopt: it is pointless now
  std::optional<command> random_command(std::size_t kind, const machine& m) {
    return made<plain_command::plain, command>(kind, [&](auto which) { return make(which, m); });
  }
  query random_query(std::size_t kind, const machine& m) {
    return *made<plain_query::plain, query>(kind, [&](auto which) { return std::optional(ask(which, m)); });
  }
  static bool has_row(const machine& m, table in, const std::string& key) {
    for (const auto& row : m.all_rows())
      if (row.table == in && row.key == key)
        return true;
    return false;
  }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  /// The secret of the management token.
  static constexpr auto master = "master-secret";
  static auth_context on_behalf_of(const std::string& secret) { return {secret, false, "dc1"}; }
  std::string secret() { return secret_of(token()); }
  static std::string secret_of(const std::string& accessor) { return "5ec" + accessor.substr(3); }

private:
  template <class Variant, class Whole, class F>
  static std::optional<Whole> made(std::size_t kind, F&& f) {
    std::optional<Whole> found;
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      const auto one = [&]<class Which>(std::type_identity<Which> which, std::size_t at) {
        if (at == kind)
          if (auto body = f(which))
            found.emplace(std::move(*body));
      };
      (one(std::type_identity<std::variant_alternative_t<i, Variant>>(), i), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Variant>>());
    return found;
  }

  template <std::size_t n>
  std::string one_of(const std::array<const char*, n>& list) {
    return list[below(n)];
  }

public:
  // ---- names

  std::string key() { return one_of(std::array{"a", "a/", "a/b", "a/b/c", "b", "b/x", "ab"}); }
  std::string prefix() { return one_of(std::array{"", "a", "a/", "a/b", "b", "b/", "c"}); }
  std::string session() { return uuid(1 + static_cast<int>(below(5))); }
  std::string node() { return one_of(std::array{"n1", "n2", "N1"}); }
  std::string service() { return one_of(std::array{"web", "db", "WEB"}); }
  std::string service_id() { return one_of(std::array{"web-1", "web-2", "db-1"}); }
  std::string check_id() { return one_of(std::array{"c1", "c2", "serfHealth"}); }
  std::string status() { return one_of(std::array{"passing", "warning", "critical"}); }
  std::string claim() { return one_of(std::array{"x", "y", "a/b"}); }
  std::string claim_id() { return one_in(3) ? session() : one_of(std::array{"i1", "i2", "i3"}); }
  std::string policy() { return uuid(100 + static_cast<int>(below(3))); }
  std::string role() { return uuid(200 + static_cast<int>(below(2))); }
  std::string token() { return uuid(300 + static_cast<int>(below(3))); }
  string_map meta() { return one_in(3) ? string_map{{"rack", one_in(2) ? "1" : "2"}} : string_map{}; }
  resource_name resource() {
    return one_in(2) ? resource_name{claim(), claim_space::claims} : resource_name{key(), claim_space::keys};
  }
  acl_link link(std::string id) { return {std::move(id), ""}; }
  /// The index of an existing row, or zero, or any.
  log_index index(const machine& m) {
    const auto found = m.evaluate(kv_get{key()}).index;
    return one_in(4) ? log_index{} : one_in(2) ? found : log_index{1 + below(m.applied_index().value + 1)};
  }
  fence_ref fence(const machine& m) {
    for (const auto& row : m.all_rows())
      if (const auto* c = std::get_if<claim_ptr>(&row.row); c != nullptr && (*c)->fence != 0 && !one_in(3))
        return {(*c)->of, (*c)->fence};
    return {resource(), 1 + below(m.applied_index().value + 1)};
  }

private:
  kv_op operation(const machine& m) {
    kv_op op;
    op.verb = static_cast<kv_verb>(below(count_of<kv_verb>));
    op.key = op.verb == kv_verb::remove_tree ? prefix() : key();
    op.value = make_payload(std::to_string(below(20)));
    op.flags = below(2);
    op.index = index(m);
    op.session = session();
    op.amount = 1;
    return op;
  }
  kv_op write(const machine& m) {
    for (;;)
      if (auto op = operation(m); writes_keys(op.verb))
        return op;
  }

  // ---- commands

  template <class Command>
  using made_command = std::optional<Command>;

  made_command<kv_write> make(std::type_identity<kv_write>, const machine& m) { return kv_write{write(m)}; }
  made_command<txn> make(std::type_identity<txn>, const machine& m) {
    txn t;
    for (auto n = 1 + below(3); n > 0; --n)
      if (one_in(6))
        t.ops.push_back(node_op{static_cast<catalog_verb>(below(count_of<catalog_verb>)), node_row()});
      else if (one_in(6))
        t.ops.push_back(service_op{static_cast<catalog_verb>(below(count_of<catalog_verb>)), service_row()});
      else if (one_in(6))
        t.ops.push_back(check_op{static_cast<catalog_verb>(below(count_of<catalog_verb>)), check_row()});
      else
        t.ops.push_back(one_in(2) ? write(m) : operation(m));
    return t;
  }
  made_command<fenced_txn> make(std::type_identity<fenced_txn>, const machine& m) {
    auto body = *make(std::type_identity<txn>(), m);
    body.ops.insert(body.ops.begin(), fence_op{fence(m)});
    return fenced_txn{std::move(body)};
  }
  made_command<fenced_write> make(std::type_identity<fenced_write>, const machine& m) {
    return fenced_write{write(m), fence(m)};
  }
  session_record session_row() {
    session_record s;
    s.id = session();
    s.node = node();
    s.name = one_in(2) ? "s" : "";
    s.lock_delay_ns = one_in(2) ? 0 : 2'000'000'000;
    s.behavior = one_in(2) ? session_behavior::release : session_behavior::remove;
    if (one_in(2))
      s.node_checks = std::vector<std::string>{};
    return s;
  }
  made_command<session_create> make(std::type_identity<session_create>, const machine& m) {
    auto s = session_row();
    if (std::get<sessions>(m.evaluate(session_info{s.id}).data).list.size() != 0)
      return std::nullopt; // ids are fresh
    return session_create{std::move(s)};
  }
  made_command<session_begin> make(std::type_identity<session_begin> which, const machine& m) {
    auto made = make(std::type_identity<session_create>(), m);
    if (!made)
      return std::nullopt;
    session_begin b{std::move(made->session), session_ttl_mode::lower_bound, {}};
    b.on_end.push_back(op_on(kv_verb::set, key(), "end"));
    static_cast<void>(which);
    return b;
  }
  made_command<session_destroy> make(std::type_identity<session_destroy>, const machine&) {
    return session_destroy{{session()}, "destroyed"};
  }
  made_command<session_expire> make(std::type_identity<session_expire>, const machine& m) {
    return session_expire{{session()}, m.restored_at()};
  }
  node_record node_row() {
    node_record n;
    n.node = node();
    n.id = n.node == "n2" ? uuid(2002) : uuid(2001);
    n.address = one_in(2) ? "10.0.0.1" : "10.0.0.2";
    if (auto some = meta(); !some.empty())
      n.meta = std::move(some);
    return n;
  }
  service_record service_row() {
    service_record s;
    s.node = node();
    s.id = service_id();
    s.service = service();
    s.port = static_cast<std::int64_t>(80 + below(2));
    if (one_in(2))
      s.tags = std::vector<std::string>{one_in(2) ? "t1" : "t2"};
    return s;
  }
  check_record check_row() {
    check_record c;
    c.node = node();
    c.check_id = check_id();
    c.name = c.check_id;
    c.status = status();
    if (one_in(2))
      c.service_id = service_id();
    return c;
  }
  made_command<catalog_register> make(std::type_identity<catalog_register>, const machine&) {
    catalog_register r;
    r.node = node_row();
    r.skip_node_update = one_in(3);
    if (one_in(2))
      (r.service = service_row())->node = r.node.node;
    for (auto n = below(3); n > 0; --n)
      r.checks.emplace_back(check_row()).node = r.node.node;
    return r;
  }
  made_command<catalog_deregister> make(std::type_identity<catalog_deregister>, const machine&) {
    if (one_in(10))
      return catalog_deregister{node(), "", ""};
    return one_in(2) ? catalog_deregister{node(), service_id(), ""} : catalog_deregister{node(), "", check_id()};
  }
  made_command<tombstone_reap> make(std::type_identity<tombstone_reap>, const machine& m) {
    return one_in(3) ? std::optional(tombstone_reap{log_index{below(m.applied_index().value + 1)}}) : std::nullopt;
  }

  // A restore is several commands: each continues where the previous one stopped.
  made_command<restore_begin> make(std::type_identity<restore_begin>, const machine& m) {
    if (saved_ && one_in(3)) {
      restore_ = uuid(400 + static_cast<int>(below(100)));
      batches_ = 0;
      return restore_begin{restore_, saved_->index};
    }
    if (one_in(2))
      saved_ = save(m);
    return std::nullopt;
  }
  made_command<restore_rows> make(std::type_identity<restore_rows>, const machine&) {
    if (restore_.empty() || batches_ == 1)
      return std::nullopt;
    return restore_rows{restore_, batches_++, std::make_shared<const std::vector<dirty_row>>(saved_->rows)};
  }
  made_command<restore_commit> make(std::type_identity<restore_commit>, const machine&) {
    if (restore_.empty() || batches_ != 1)
      return std::nullopt;
    return restore_commit{std::exchange(restore_, {}), batches_};
  }
  made_command<restore_abort> make(std::type_identity<restore_abort>, const machine&) {
    if (restore_.empty() || !one_in(4))
      return std::nullopt;
    return restore_abort{std::exchange(restore_, {})};
  }

  made_command<acl_initialize> make(std::type_identity<acl_initialize>, const machine& m) {
    if (!with_access_ || m.has_access_rows())
      return std::nullopt;
    return acl_initialize{master, uuid(99), 1};
  }
  made_command<acl_bootstrap> make(std::type_identity<acl_bootstrap>, const machine& m) {
    if (!m.has_access_rows())
      return std::nullopt;
    return acl_bootstrap{uuid(98), uuid(97), 1, {}};
  }
  made_command<acl_policy_set> make(std::type_identity<acl_policy_set>, const machine& m) {
    if (!m.has_access_rows())
      return std::nullopt;
    acl_policy_set c;
    c.policy.id = policy();
    c.policy.name = "p" + c.policy.id.substr(33);
    const auto level = [this] { return one_in(2) ? "read" : "deny"; };
    for (const auto* of :
         {"key_prefix \"a\"", "key_prefix \"b\"", "node_prefix \"\"", "service_prefix \"\"", "session_prefix \"\""})
      c.policy.rules += std::string(of) + " { policy = \"" + level() + "\" }\n";
    c.fresh = !has_row(m, table::acl_policies, c.policy.id);
    return c;
  }
  made_command<acl_policy_delete> make(std::type_identity<acl_policy_delete>, const machine&) {
    return one_in(3) ? std::optional(acl_policy_delete{policy()}) : std::nullopt;
  }
  made_command<acl_role_set> make(std::type_identity<acl_role_set>, const machine& m) {
    if (!m.has_access_rows())
      return std::nullopt;
    acl_role_set c;
    c.role.id = role();
    c.role.name = "r" + c.role.id.substr(33);
    c.policies = {link(policy())};
    c.fresh = !has_row(m, table::acl_roles, c.role.id);
    return c;
  }
  made_command<acl_role_delete> make(std::type_identity<acl_role_delete>, const machine&) {
    return one_in(3) ? std::optional(acl_role_delete{role()}) : std::nullopt;
  }
  made_command<acl_token_set> make(std::type_identity<acl_token_set>, const machine& m) {
    if (!m.has_access_rows())
      return std::nullopt;
    acl_token_set c;
    c.token.accessor = token();
    c.fresh = !has_row(m, table::acl_tokens, c.token.accessor);
    if (c.fresh)
      c.token.secret = secret_of(c.token.accessor);
    c.token.description = one_in(2) ? "d" : "";
    c.policies = {link(policy())};
    if (one_in(2))
      c.roles = {link(role())};
    if (c.fresh && one_in(2))
      c.lives_ns = 3'000'000'000;
    return c;
  }
  made_command<acl_token_clone> make(std::type_identity<acl_token_clone>, const machine& m) {
    if (!m.has_access_rows())
      return std::nullopt;
    const auto n = 310 + static_cast<int>(below(3));
    return acl_token_clone{token(), uuid(n), uuid(n + 50), std::nullopt, 1};
  }
  made_command<acl_token_delete> make(std::type_identity<acl_token_delete>, const machine&) {
    if (!one_in(3))
      return std::nullopt;
    return acl_token_delete{one_in(2) ? token() : uuid(310 + static_cast<int>(below(3)))};
  }

  made_command<claim_ask> make(std::type_identity<claim_ask>, const machine&) {
    claim_ask c;
    c.name = claim();
    c.session = session();
    if (one_in(2))
      c.id = claim_id();
    if (c.name == "y") {
      c.kind = claim_kind::semaphore;
      c.limit = 2;
      c.permits = 1 + below(2);
    } else if (one_in(3)) {
      c.kind = claim_kind::rw;
      c.mode = one_in(2) ? claim_mode::shared : claim_mode::exclusive;
    }
    c.priority = below(2);
    c.value = make_payload(std::to_string(below(3)));
    c.deadline_ms = one_in(2) ? 0 : 500 + below(3000);
    c.refuse_deadlock = one_in(3);
    return c;
  }
  made_command<claim_release> make(std::type_identity<claim_release>, const machine&) {
    return claim_release{claim(), claim_id()};
  }
  made_command<claim_transfer> make(std::type_identity<claim_transfer>, const machine&) {
    return claim_transfer{claim(), claim_id(), one_in(2) ? "" : claim_id()};
  }
  made_command<claim_mode_set> make(std::type_identity<claim_mode_set>, const machine&) {
    return claim_mode_set{claim(), claim_id(), claim_mode::shared};
  }
  made_command<claim_limit_set> make(std::type_identity<claim_limit_set>, const machine&) {
    return claim_limit_set{"y", 1 + below(3)};
  }
  made_command<claim_limit_unset> make(std::type_identity<claim_limit_unset>, const machine&) {
    return claim_limit_unset{"y"};
  }
  made_command<guard_set> make(std::type_identity<guard_set>, const machine&) {
    return guard_set{one_in(2) ? "b/" : "c", resource()};
  }
  made_command<guard_remove> make(std::type_identity<guard_remove>, const machine& m) {
    return guard_remove{one_in(2) ? "b/" : "c", one_in(2) ? 0 : fence(m).fence};
  }
  made_command<claims_alarm> make(std::type_identity<claims_alarm>, const machine& m) { return claims_alarm{m.now()}; }
  /// Withdraws any wait, sometimes with the state before it was requested again.
  made_command<waits_withdraw> make(std::type_identity<waits_withdraw>, const machine& m) {
    waits_withdraw c;
    const auto found = m.evaluate(claims_list{});
    for (const auto& row : std::get<claim_rows>(found.data).list)
      if (row.claim->state == claim_state::waiting && one_in(2))
        c.waits.push_back(
            {row.claim->of.name, row.claim->session, log_index{row.claim->modify_index.value - (one_in(3) ? 1 : 0)}});
    c.waits.push_back({key(), session(), m.applied_index()});
    return c;
  }
  made_command<kv_acquire> make(std::type_identity<kv_acquire>, const machine& m) {
    kv_acquire c;
    c.op = op_on(kv_verb::lock, key(), "q", 0, session());
    c.wait_ms = one_in(4) ? 0 : 500 + below(3000);
    c.refuse_deadlock = one_in(3);
    if (one_in(4))
      c.fence = fence(m);
    return c;
  }
  made_command<outcome_seal> make(std::type_identity<outcome_seal>, const machine& m) {
    return outcome_seal{"once-" + std::to_string(below(20)), m.now()};
  }
  template <class Settings>
  made_command<settings_set<Settings>> make(std::type_identity<settings_set<Settings>>, const machine&) {
    settings_set<Settings> c;
    c.wanted.max_trailing_logs = below(3);
    return c;
  }

  // ---- queries

  kv_get ask(std::type_identity<kv_get>, const machine&) { return {key()}; }
  kv_list ask(std::type_identity<kv_list>, const machine&) { return {prefix()}; }
  kv_keys ask(std::type_identity<kv_keys>, const machine&) { return {prefix(), one_in(2) ? "/" : ""}; }
  session_info ask(std::type_identity<session_info>, const machine&) { return {session()}; }
  session_list ask(std::type_identity<session_list>, const machine&) { return {}; }
  session_node ask(std::type_identity<session_node>, const machine&) { return {node()}; }
  catalog_nodes ask(std::type_identity<catalog_nodes>, const machine&) { return {meta()}; }
  catalog_services ask(std::type_identity<catalog_services>, const machine&) { return {meta()}; }
  catalog_service ask(std::type_identity<catalog_service>, const machine&) {
    return {service(), one_in(2) ? std::vector<std::string>{"t1"} : std::vector<std::string>{}, meta()};
  }
  catalog_node ask(std::type_identity<catalog_node>, const machine&) {
    return {one_in(3) ? uuid(2001) : node(), one_in(2)};
  }
  health_node ask(std::type_identity<health_node>, const machine&) { return {node()}; }
  health_checks ask(std::type_identity<health_checks>, const machine&) { return {service(), meta()}; }
  health_state ask(std::type_identity<health_state>, const machine&) { return {one_in(3) ? "any" : status(), meta()}; }
  health_service ask(std::type_identity<health_service>, const machine&) {
    return {service(), one_in(2) ? std::vector<std::string>{"t1"} : std::vector<std::string>{}, meta(), one_in(2),
            false};
  }
  coordinate_nodes ask(std::type_identity<coordinate_nodes>, const machine&) { return {}; }
  coordinate_node ask(std::type_identity<coordinate_node>, const machine&) { return {node(), {}}; }
  txn_read ask(std::type_identity<txn_read>, const machine&) {
    txn_read r;
    r.ops.ops.push_back(op_on(kv_verb::get_tree, prefix(), ""));
    return r;
  }
  acl_policy_read ask(std::type_identity<acl_policy_read>, const machine&) { return {link(policy())}; }
  acl_policy_list ask(std::type_identity<acl_policy_list>, const machine&) { return {}; }
  acl_role_read ask(std::type_identity<acl_role_read>, const machine&) { return {link(role())}; }
  acl_role_list ask(std::type_identity<acl_role_list>, const machine&) { return {one_in(2) ? policy() : ""}; }
  acl_token_read ask(std::type_identity<acl_token_read>, const machine&) { return {token()}; }
  acl_token_self ask(std::type_identity<acl_token_self>, const machine&) { return {}; }
  acl_token_list ask(std::type_identity<acl_token_list>, const machine&) { return {one_in(2) ? policy() : "", ""}; }
  acl_legacy_list ask(std::type_identity<acl_legacy_list>, const machine&) { return {}; }
  permissions_read ask(std::type_identity<permissions_read>, const machine&) {
    permissions_read r;
    r.requested.push_back({permission_needed::of::key, acl::permission::read, key(), false});
    return r;
  }
  claim_read ask(std::type_identity<claim_read>, const machine&) { return {resource()}; }
  claim_status ask(std::type_identity<claim_status>, const machine&) {
    auto of = resource();
    return {of, of.space == claim_space::keys ? session() : claim_id()};
  }
  claims_list ask(std::type_identity<claims_list>, const machine&) {
    claims_list q;
    if (one_in(4))
      q.under = "a";
    else if (one_in(3))
      q.session = session();
    else if (one_in(2))
      q.node = node();
    return q;
  }
  claims_graph ask(std::type_identity<claims_graph>, const machine&) { return {}; }
  guards_list ask(std::type_identity<guards_list>, const machine&) { return {}; }
  session_ended ask(std::type_identity<session_ended>, const machine&) { return {session()}; }
  outcome_read ask(std::type_identity<outcome_read>, const machine&) { return {"once-" + std::to_string(below(20))}; }
  kv_changes ask(std::type_identity<kv_changes>, const machine& m) {
    kv_changes q;
    q.prefixes = {prefix()};
    if (one_in(2))
      q.prefixes.push_back(prefix());
    q.after.index = m.applied_index();
    return q;
  }
  kv_at ask(std::type_identity<kv_at>, const machine& m) { return {key(), m.applied_index(), {}}; }
  kv_history ask(std::type_identity<kv_history>, const machine&) { return {key()}; }
  template <class Settings>
  settings_get<Settings> ask(std::type_identity<settings_get<Settings>>, const machine&) {
    return {};
  }

  seeded_random random_;
  bool with_access_;
  std::optional<archive> saved_;
  std::string restore_; ///< in progress; empty: none
  std::uint64_t batches_ = 0;
};

} // namespace belay::state
