#pragma once
// Policies, roles and tokens: rows and look-ups only; the rules are in
// acl_rules. Also compiles the permissions of a token for many checks.

#include "protocol/acl/authorizer.hpp"
#include "protocol/state/undo_logged_map.hpp"

#include <map>
#include <set>
#include <unordered_map>

namespace belay::state {

/// Hash by which acl_table finds a token: it scatters secrets, so that
/// the time of a look-up does not reveal the beginnings of others.
std::uint64_t hash_of_secret(std::string_view secret);

/// Whether it is a secret that names no token: `allow`, `deny` or `manage` (docs/contract/10,
/// section 1).
bool is_reserved_secret(std::string_view secret);

/// Whether the token is invalid from then on or before.
inline bool has_expired(const acl_token& token, cluster_time now) {
  return !token.expires.is_zero() && token.expires <= now;
}

class acl_table {
public:
  explicit acl_table(undo_log& log)
      : policies_(log, table::acl_policies), roles_(log, table::acl_roles), tokens_(log, table::acl_tokens) {}

  // Look-ups ignore the case of IDs and names, as Consul's, but not of secrets. Null: not found.

  acl_policy_ptr policy(std::string_view id) const;
  acl_policy_ptr policy_named(std::string_view name) const;
  acl_role_ptr role(std::string_view id) const;
  acl_role_ptr role_named(std::string_view name) const;
  acl_token_ptr token(std::string_view accessor) const;
  /// The time taken reveals nothing of the secrets in the table.
  acl_token_ptr token_with_secret(std::string_view secret) const;

  /// Parses `meaning` if it is null. Invalid rules (of a damaged or forged row) deny everything.
  void put(acl_policy_ptr row);
  void put(acl_role_ptr row);
  void put(acl_token_ptr row);
  void erase_policy(std::string_view id);
  void erase_role(std::string_view id);
  void erase_token(std::string_view accessor);

  /// Whether another row has its name or its secret.
  bool taken(const acl_policy& row) const;
  bool taken(const acl_role& row) const;
  bool taken(const acl_token& row) const;

  /// Removes tokens that have expired at `now`. Called for every log entry,
  /// so that all nodes have the same rows. @returns whether there were any
  bool expire(cluster_time now);

  /// Number of writes and erasures of rows since this table was created.
  std::uint64_t changes() const { return changes_; }

  const undo_logged_map<acl_policy_ptr>& policies() const { return policies_; }
  const undo_logged_map<acl_role_ptr>& roles() const { return roles_; }
  const undo_logged_map<acl_token_ptr>& tokens() const { return tokens_; }
  auto maps() const { return std::tie(policies_, roles_, tokens_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"policies_by_name", policies_by_name_}, kept_member{"roles_by_name", roles_by_name_},
                      kept_member{"tokens_by_secret", tokens_by_secret_}, kept_member{"tokens_by_end", tokens_by_end_}};
  }
  /// Excluded: compiled_ depends on requests, the number of changes on the past.
  static constexpr std::size_t bytes_of_no_row() {
    return sizeof(changes_) + sizeof(compiled_) + sizeof(compiled_bytes_) + sizeof(round_);
  }

  /// Permissions of that auth context at `now`. Null: the token does not exist or has expired.
  std::shared_ptr<const acl::authorizer> authorizer_of(const auth_context& by, cluster_time now) const;

  /// The rules that it is made of; empty: no rules, or no token.
  std::vector<acl::rules> rules_on_behalf_of(const auth_context& by, cluster_time now) const;

  /// Limits of the cache: compiled authorizers, and bytes of rules that they are made of.
  static constexpr std::size_t compiled_max = 4096, compiled_bytes_max = std::size_t{64} << 20;
  std::size_t compiled_count() const { return compiled_.size(); }

private:
  /// Key of the cache. A replaced row is a different token.
  struct meant_for {
    acl_token_ptr token;
    bool allowed_by_default;
    std::string datacenter;
  };
  /// The same, for look-ups.
  struct requested_for {
    const acl_token* token;
    bool allowed_by_default;
    std::string_view datacenter;
    requested_for(const acl_token& t, const auth_context& by)
        : token(&t), allowed_by_default(by.allowed_by_default), datacenter(by.datacenter) {}
    requested_for(const meant_for& m)
        : token(m.token.get()), allowed_by_default(m.allowed_by_default), datacenter(m.datacenter) {}
    bool operator==(const requested_for&) const = default;
  };
  struct by_token {
    using is_transparent = void;
    std::size_t operator()(const requested_for& a) const { return std::hash<const acl_token*>()(a.token); }
    bool operator()(const requested_for& a, const requested_for& b) const { return a == b; }
  };
  /// The last authorizer compiled for a token, found with the token.
  struct last_compiled {
    const std::shared_ptr<const acl::authorizer>* says = nullptr; ///< in compiled_
    std::uint64_t round = 0;                                      ///< valid while equal to round_
    bool allowed_by_default = false;
    std::string datacenter;
  };
  struct token_of_secret {
    acl_token_ptr row;
    mutable last_compiled last;
    bool operator==(const token_of_secret& other) const { return row == other.row; }
  };
  const token_of_secret* find_secret(std::string_view secret) const;
  struct rules_in_force;
  rules_in_force rules_of(const acl_token& token, std::string_view datacenter) const;
  /// Rules name policies and roles that may change: invalidates everything that was compiled.
  void meaning_changed() { forget_compiled(); }
  void forget_compiled() const;

  std::uint64_t changes_ = 0;
  undo_logged_map<acl_policy_ptr> policies_;
  undo_logged_map<acl_role_ptr> roles_;
  undo_logged_map<acl_token_ptr> tokens_;
  std::map<std::string, std::string, std::less<>> policies_by_name_, roles_by_name_; // folded name -> id
  std::unordered_multimap<std::uint64_t, token_of_secret> tokens_by_secret_;         // by the hash of the secret
  std::set<std::pair<cluster_time, std::string>> tokens_by_end_;                     // those that expire
  // Only one thread, that of the state machine, uses a table, even for reading: the cache needs no
  // lock. It changes no decision: an entry is valid only while the token's row is the one for which
  // it was computed.
  mutable std::unordered_map<meant_for, std::shared_ptr<const acl::authorizer>, by_token, by_token> compiled_;
  mutable std::size_t compiled_bytes_ = 0;
  mutable std::uint64_t round_ = 1; // generation of the cache: incremented when it is cleared
};

} // namespace belay::state
