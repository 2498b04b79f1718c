#pragma once
// The permissions after each log entry: policies, roles and tokens by independent rules, from
// docs/contract/10. It shares only the records with protocol/acl and protocol/state. It keeps all
// versions, so that a response can be compared with any point of the log.

#include "protocol/state/queries.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::sim {

/// One rule of a policy's text.
struct acl_rule {
  enum class level : std::uint8_t { deny, read, list, write };

  std::string resource; ///< "key", "session", "node", "operator", "acl"
  bool prefix = false;
  std::string name; ///< empty for "operator" and "acl"
  level access_level = level::deny;
};

/// Parses what acl_client writes, a subset of the language: one rule a line. nullopt: other text.
std::optional<std::vector<acl_rule>> read_acl_rules(std::string_view text);

/// The permissions of one token.
class acl_rights {
public:
  using level = acl_rule::level;

  acl_rights(std::vector<acl_rule> rules, bool allowed_by_default)
      : rules_(std::move(rules)), allowed_by_default_(allowed_by_default) {}

  bool allows(std::string_view resource, std::string_view name, level wanted) const;
  bool reads_key(std::string_view key) const { return allows("key", key, level::read); }
  bool writes_key(std::string_view key) const { return allows("key", key, level::write); }
  /// docs/contract/10, section 4.
  bool removes_tree(std::string_view prefix) const;
  /// Managing ACLs needs a rule for it, whatever the default is.
  bool writes_acls() const;
  bool permits_nothing() const { return rules_.empty() && !allowed_by_default_; }

private:
  std::optional<level> by_longest_prefix(std::string_view resource, std::string_view name) const;

  std::vector<acl_rule> rules_; ///< rules of all policies
  bool allowed_by_default_;
};
/// Null: there is no such token.
using acl_rights_ptr = std::shared_ptr<const acl_rights>;

/// Takes commands in the order of the log. Replies: acl_row{} for a row, of which only a token's
/// accessor is checked; a rejection without a text if the text is not checked.
class acl_model {
public:
  /// Call it before each entry: tokens expire by cluster time. @returns true: one has expired
  bool pass_time(log_index at, cluster_time now);
  /// Carries out a command about ACLs. nullopt: it is another one.
  std::optional<state::reply> apply(const state::command& c, log_index at, cluster_time now);
  /// Restores the state at `archive`, except tokens expired since. No token lives longer in total.
  void go_back(log_index archive, log_index at, cluster_time now);

  // ---- as of log index s, after its entry
  /// Whether ACLs have started. Until then servers reject all requests with tokens.
  bool begun(log_index s) const { return at(s)->initialized; }
  acl_rights_ptr rights_of(const state::auth_context& who, log_index s) const;
  acl_rights_ptr rights_now(const state::auth_context& who) const { return rights_in(*now_, who); }
  /// The accessor of the token with that secret; nullopt: there is none.
  std::optional<std::string> owner_now(std::string_view secret) const { return owner_in(*now_, secret); }
  std::optional<std::string> owner_at(std::string_view secret, log_index s) const { return owner_in(*at(s), secret); }
  /// Whether the token exists at that index and has an expiration time. Servers may stop accepting
  /// it before the log removes it.
  bool ends_one_day(std::string_view secret, log_index s) const;

private:
  struct policy {
    std::string name;
    std::vector<acl_rule> rules;
  };
  struct role {
    std::string name;
    std::vector<std::string> policies;
  };
  struct token {
    std::string shown; ///< its accessor: as given if the entry names its client, else in lower case
    std::string secret;
    std::vector<std::string> policies, roles;
    cluster_time expires;       ///< zero: never
    std::uint64_t lives_ms = 0; ///< in total, if it expires
  };
  struct tables {
    bool initialized = false;
    std::map<std::string, policy, std::less<>> policies; ///< by ID
    std::map<std::string, role, std::less<>> roles;      ///< by ID
    std::map<std::string, token, std::less<>> tokens;    ///< by accessor in lower case
  };
  using tables_ptr = std::shared_ptr<const tables>;

  std::optional<state::reply> run(tables& t, const state::acl_initialize& c);
  std::optional<state::reply> run(tables& t, const state::acl_policy_set& c);
  std::optional<state::reply> run(tables& t, const state::acl_policy_delete& c);
  std::optional<state::reply> run(tables& t, const state::acl_role_set& c);
  std::optional<state::reply> run(tables& t, const state::acl_role_delete& c);
  std::optional<state::reply> run(tables& t, const state::acl_token_set& c);
  std::optional<state::reply> run(tables& t, const state::acl_token_delete& c);
  template <class Other>
  std::optional<state::reply> run(tables&, const Other&) {
    return std::nullopt;
  }

  acl_rights_ptr rights_in(const tables& t, const state::auth_context& who) const;
  static std::optional<std::string> owner_in(const tables& t, std::string_view secret);
  tables_ptr at(log_index s) const;
  void keep(tables next, log_index at);

  tables_ptr now_ = std::make_shared<const tables>();
  std::map<log_index, tables_ptr> since_; ///< as of each change
  std::vector<tables_ptr> all_;           ///< keeps alive the addresses in known_
  cluster_time clock_;                    ///< time of the current entry
  bool names_its_client_ = false;         ///< the same
  mutable std::map<std::pair<const tables*, std::pair<std::string, bool>>, acl_rights_ptr> known_;
};

} // namespace belay::sim
