#pragma once
// Simulated clients that say who may do what, where ACLs are in force: they make policies, roles and tokens, change them and
// take them away, while other clients write, lock, read and wait in the name of these tokens.

#include "sim/record/history.hpp"

#include <string>
#include <vector>

namespace belay::sim {

/// The policies, roles and tokens that were made, as far as clients have heard.
class known_access {
public:
  known_access();

  /// Of those who ask: mostly the master token or the one that is theirs, sometimes one that is gone or never was.
  std::string token_of_client(std::uint64_t drawn, std::size_t client) const;
  /// Of those who change policies.
  std::string token_of_manager(std::uint64_t drawn, const state::command& c) const;

  /// @param drawn decides; @param fresh a number that no command had before
  state::command next(std::uint64_t drawn, std::uint64_t fresh);
  void learn(const operation& o);

private:
  /// One place for a policy, a role or a token: whatever is there now, another one takes it when that is gone.
  struct place {
    std::vector<std::string> ids{}; ///< all that were asked for, newest last; of tokens accessors
    std::string secret{};           ///< of tokens
    bool there = false;             ///< as far as is known
  };

  state::command set_policy(std::uint64_t drawn, std::uint64_t fresh);
  state::command set_role(std::uint64_t drawn, std::uint64_t fresh);
  state::command set_token(std::uint64_t drawn, std::uint64_t fresh);
  state::command change_nobody(std::uint64_t drawn, std::uint64_t fresh) const;
  std::vector<state::acl_link> some_policies(std::uint64_t drawn) const;
  std::string past_id(const std::vector<place>& places, std::uint64_t drawn) const;
  std::string fresh_id();

  std::vector<place> policies_, roles_, tokens_;
  std::vector<std::string> retired_; ///< secrets of tokens that another one has taken the place of
  std::uint64_t ids_ = 0;
};

/// Says what to ask next. All of them share what they know.
class acl_client {
public:
  /// @pre `all` outlives it
  explicit acl_client(known_access& all) : all_(all) {}
  state::command next(std::uint64_t drawn, std::uint64_t fresh) { return all_.next(drawn, fresh); }

private:
  known_access& all_;
};

} // namespace belay::sim
