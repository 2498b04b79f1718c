#pragma once
// Simulated clients that change permissions, in runs with ACLs. They create, change and delete
// policies, roles and tokens, with which other clients write, lock, read and wait.

#include "sim/record/history.hpp"

#include <string>
#include <vector>

namespace belay::sim {

/// The policies, roles and tokens that were created, as far as clients know.
class known_access {
public:
  known_access();

  /// The token of an ordinary request: mostly the master token or its own, sometimes an invalid one
  std::string token_of_client(std::uint64_t drawn, std::size_t client) const;
  /// The token of a request that changes ACLs.
  std::string token_of_manager(std::uint64_t drawn, const state::command& c) const;

  /// @param drawn decides
  /// @param fresh a number that no command had before
  state::command next(std::uint64_t drawn, std::uint64_t fresh);
  void learn(const operation& o);

private:
  /// A slot for a policy, a role or a token. After that row is deleted, a new one takes the slot.
  struct known_row {
    std::vector<std::string> ids{}; ///< all that were requested, newest last; of tokens the accessors
    std::string secret{};           ///< secret of a token
    bool there = false;             ///< as far as is known
  };

  state::command set_policy(std::uint64_t drawn, std::uint64_t fresh);
  state::command set_role(std::uint64_t drawn, std::uint64_t fresh);
  state::command set_token(std::uint64_t drawn, std::uint64_t fresh);
  state::command change_nobody(std::uint64_t drawn, std::uint64_t fresh) const;
  std::vector<state::acl_link> some_policies(std::uint64_t drawn) const;
  std::string past_id(const std::vector<known_row>& known_rows, std::uint64_t drawn) const;
  std::string fresh_id();

  std::vector<known_row> policies_, roles_, tokens_;
  std::vector<std::string> retired_; ///< secrets of tokens whose slots were taken by others
  std::uint64_t ids_ = 0;
};

/// Chooses the next request. All clients of this kind share what they know.
class acl_client {
public:
  /// @pre `all` outlives it
  explicit acl_client(known_access& all) : all_(all) {}
  state::command next(std::uint64_t drawn, std::uint64_t fresh) { return all_.next(drawn, fresh); }

private:
  known_access& all_;
};

} // namespace belay::sim
