#pragma once
// Space that ends of claims take, by the client that requested the claim (docs/reference/claims.md, rule
// 7). A claim counts as its future end from the beginning, so that there is space for every end.

#include "protocol/state/claims/claim_records.hpp"

#include <map>
#include <string>
#include <string_view>

namespace belay::state {

/// The bytes for which a claim counts while it exists, and its end afterwards.
inline std::uint64_t claim_end_bytes(const resource_name& of, std::string_view id, std::string_view scope) {
  return claim_end_row_bytes + 2 * (of.name.size() + id.size()) + scope.size();
}

class end_shares {
public:
  /// The bounds at which a new claim is rejected. Constant except in tests.
  struct limits {
    std::uint64_t bytes_max = claim_end_bytes_max;
    std::uint64_t share = claim_ends_share;
  };
  void limit(const limits& l) { limits_ = l; }
  const limits& limit() const { return limits_; }

  /// Adds a claim or an end. Those without a scope do not count: claim_ends bounds them.
  template <class Row>
  void add(const Row& row) {
    if (!row.scope.empty())
      add(row.scope, claim_end_bytes(row.of, row.id, row.scope));
  }
  template <class Row>
  void remove(const Row& row) {
    if (!row.scope.empty())
      remove(row.scope, claim_end_bytes(row.of, row.id, row.scope));
  }

  /// Whether to reject a new claim of that scope. Above half of the bytes, the largest
  /// scopes are rejected if they have their share; when all is used, every scope.
  /// @param own_id the client chose the id, and could create any number of them
  bool is_full(std::string_view scope, std::uint64_t bytes, bool own_id) const;
  std::uint64_t bytes() const { return bytes_; }
  /// Zero: it has none.
  std::uint64_t count_of(std::string_view scope) const;
  bool counts_same(const end_shares& other) const {
    return bytes_ == other.bytes_ && by_scope_ == other.by_scope_ && sizes_ == other.sizes_;
  }

private:
  void add(const std::string& scope, std::uint64_t bytes);
  void remove(const std::string& scope, std::uint64_t bytes);
  void move(std::uint64_t from, std::uint64_t to);

  limits limits_;
  std::uint64_t bytes_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> by_scope_;
  std::map<std::uint64_t, std::uint64_t> sizes_; ///< count -> number of scopes with that count
};

} // namespace belay::state
