#pragma once
// Policies, roles and tokens; rows and look-ups only, the rules are in acl_rules. And what a token may do, compiled once for many
// questions.

#include "protocol/acl/authorizer.hpp"
#include "protocol/state/journaled_map.hpp"

#include <map>
#include <set>
#include <unordered_map>

namespace belay::state {

/// Where acl_table looks for a token: spreads secrets so that where one is looked for tells nothing of what those beside
/// it begin with.
std::uint64_t hash_of_secret(std::string_view secret);

/// A secret that names no token: `allow`, `deny` and `manage` (docs/contract/10, section 1).
bool is_reserved_secret(std::string_view secret);

class acl_table {
public:
  explicit acl_table(change_journal& journal)
      : policies_(journal, table::acl_policies), roles_(journal, table::acl_roles),
        tokens_(journal, table::acl_tokens) {}

  // Look-ups take IDs and names in any case, as Consul's do, but secrets as they are. They return null if there is nothing.

  acl_policy_ptr policy(std::string_view id) const;
  acl_policy_ptr policy_named(std::string_view name) const;
  acl_role_ptr role(std::string_view id) const;
  acl_role_ptr role_named(std::string_view name) const;
  acl_token_ptr token(std::string_view accessor) const;
  /// How long it takes tells nothing of the secrets there are.
  acl_token_ptr token_with_secret(std::string_view secret) const;

  /// A policy's `meaning` is made unless it is there. Rules that cannot be read (of a damaged or forged row) deny everything.
  void put(acl_policy_ptr row);
  void put(acl_role_ptr row);
  void put(acl_token_ptr row);
  void erase_policy(std::string_view id);
  void erase_role(std::string_view id);
  void erase_token(std::string_view accessor);

  /// Another row has its name, or its secret.
  bool taken(const acl_policy& row) const;
  bool taken(const acl_role& row) const;
  bool taken(const acl_token& row) const;

  /// Removes the tokens that are over at `now`. Called for every entry of the log, so that all nodes hold the same rows.
  /// @returns whether there were any
  bool expire(cluster_time now);

  /// How often a row was written or erased, since this table is there.
  std::uint64_t changes() const { return changes_; }

  const journaled_map<acl_policy_ptr>& policies() const { return policies_; }
  const journaled_map<acl_role_ptr>& roles() const { return roles_; }
  const journaled_map<acl_token_ptr>& tokens() const { return tokens_; }
  auto maps() const { return std::tie(policies_, roles_, tokens_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"policies_by_name", policies_by_name_}, kept_member{"roles_by_name", roles_by_name_},
                      kept_member{"tokens_by_secret", tokens_by_secret_}, kept_member{"tokens_by_end", tokens_by_end_}};
  }
  /// What was compiled follows from requests, and the number of changes from the past.
  static constexpr std::size_t bytes_of_no_row() {
    return sizeof(changes_) + sizeof(compiled_) + sizeof(compiled_bytes_) + sizeof(round_);
  }

  /// What may be done in that name at `now`. Null: there is no such token, or it is over.
  std::shared_ptr<const acl::authorizer> authorizer_of(const authority& by, cluster_time now) const;

  /// What that is made of; empty: no rules, or no token.
  std::vector<acl::rules> rules_in_name_of(const authority& by, cluster_time now) const;

  /// How many compiled authorizers are kept, and how many bytes of rules they may be made of together.
  static constexpr std::size_t compiled_max = 4096, compiled_bytes_max = std::size_t{64} << 20;
  std::size_t compiled_count() const { return compiled_.size(); }

private:
  /// Whose it is: a row that was replaced is another one.
  struct meant_for {
    acl_token_ptr token;
    bool allowed_by_default;
    std::string datacenter;
  };
  /// The same, only looked for.
  struct asked_for {
    const acl_token* token;
    bool allowed_by_default;
    std::string_view datacenter;
    asked_for(const acl_token& t, const authority& by)
        : token(&t), allowed_by_default(by.allowed_by_default), datacenter(by.datacenter) {}
    asked_for(const meant_for& m)
        : token(m.token.get()), allowed_by_default(m.allowed_by_default), datacenter(m.datacenter) {}
    bool operator==(const asked_for&) const = default;
  };
  struct by_token {
    using is_transparent = void;
    std::size_t operator()(const asked_for& a) const { return std::hash<const acl_token*>()(a.token); }
    bool operator()(const asked_for& a, const asked_for& b) const { return a == b; }
  };
  /// What was last compiled for a token, found with the token itself.
  struct last_compiled {
    const std::shared_ptr<const acl::authorizer>* says = nullptr; ///< in compiled_
    std::uint64_t round = 0;                                      ///< counts as long as this is round_
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
  /// Names of policies and roles are those of rows that come and go: nothing that was compiled holds any longer.
  void meaning_changed() { forget_compiled(); }
  void forget_compiled() const;

  std::uint64_t changes_ = 0;
  journaled_map<acl_policy_ptr> policies_;
  journaled_map<acl_role_ptr> roles_;
  journaled_map<acl_token_ptr> tokens_;
  std::map<std::string, std::string, std::less<>> policies_by_name_, roles_by_name_; // folded name -> id
  std::unordered_multimap<std::uint64_t, token_of_secret> tokens_by_secret_;         // by the hash of the secret
  std::set<std::pair<cluster_time, std::string>> tokens_by_end_;                     // those that end
  // A table is used by one thread, that of its state machine, also for reading: what is remembered needs no lock. It
  // decides nothing: an entry counts only as long as the token's row is the one it was made of.
  mutable std::unordered_map<meant_for, std::shared_ptr<const acl::authorizer>, by_token, by_token> compiled_;
  mutable std::size_t compiled_bytes_ = 0;
  mutable std::uint64_t round_ = 1; // of what is compiled: another one when all was forgotten
};

} // namespace belay::state
