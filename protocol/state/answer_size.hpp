#pragma once
// Size limits of results about health and of transactions. Every instance shows all checks of its
// node, and every tree of a transaction all its values. So a result grows with the product of what
// clients registered or named. Its size is estimated, without hidden rows, before rendering.

#include "protocol/state/queries.hpp"

#include <optional>

namespace belay::state {

/// Approximate bytes of a check in a result: its texts and the names of its fields.
std::size_t shown_bytes(const check_record& c);
std::size_t shown_bytes(const std::vector<check_ptr>& checks);

/// Limit of a health result: 1/4 of the default for all clients
/// (`limits.http_max_bytes_in_flight`). It suffices for 10,000 instances on a node with 20 checks.
inline constexpr std::size_t health_answer_bytes_max = 128 << 20;

/// Sums up a result, instance by instance.
class health_answer_size {
public:
  /// @param of_node,own shown_bytes() of its checks
  void add_instance(std::size_t of_node, std::size_t own);
  /// The error text for the client. @returns nullopt: it is not too large
  std::optional<std::string> refusal() const;

private:
  std::size_t bytes_ = 0;
};

/// Limit of a transaction's result. Consul has none; a value has at most 512 KiB by default, so 64
/// operations on one each need half of this.
inline constexpr std::size_t txn_answer_bytes_max = 64 << 20;
/// Maximum of rows in the trees of one transaction, before filtering: read at once, in about 5 ms.
/// If it also writes, all servers read them in apply() (docs/operate/security.md).
inline constexpr std::size_t txn_answer_rows_max = 30'000;
std::size_t shown_bytes(const txn_result& r);
/// The error text for a result of that size. @returns nullopt: it is not too large
std::optional<std::string> refused_txn_size(std::size_t rows, std::size_t bytes);
std::optional<std::string> refused_for_size(const txn_reply& found);

/// The same for rows of health_service. O(rows held), not O(rows that would be shown).
std::optional<std::string> refused_for_size(const service_instances& found);

} // namespace belay::state
