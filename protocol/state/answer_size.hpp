#pragma once
// How large answers about the health of services, and of transactions, may become. Every instance is shown with all checks of its node, and
// every tree of a transaction with all its values, so that an answer grows with the product of what clients registered or named: it is
// estimated before it is rendered, from what is left for whoever asks.

#include "protocol/state/queries.hpp"

#include <optional>

namespace belay::state {

/// Bytes that a check takes in an answer, about: its texts, and the names of its fields.
std::size_t shown_bytes(const check_record& c);
std::size_t shown_bytes(const std::vector<check_ptr>& checks);

/// Of an answer about health. A quarter of what the server holds for all clients by default (`limits.http_max_bytes_in_flight`), and
/// more than 10,000 instances on a node with 20 checks of its own take.
inline constexpr std::size_t health_answer_bytes_max = 128 << 20;

/// Adds up an answer, instance by instance.
class health_answer_size {
public:
  /// @param of_node,own what shown_bytes() says of its checks
  void add_instance(std::size_t of_node, std::size_t own);
  /// What the client is told. @returns nullopt: it is not too large
  std::optional<std::string> refusal() const;

private:
  std::size_t bytes_ = 0;
};

/// Of a transaction: one text, which holds the thread of clients for about 0.2 s. Consul has no bound; a value has at most 512 KiB
/// by default, and 64 operations that name one each take half of it.
inline constexpr std::size_t txn_answer_bytes_max = 64 << 20;
/// Rows that the trees of one transaction may have before any are left out: 40 bytes each while it runs.
inline constexpr std::size_t txn_answer_rows_max = 1'000'000;
/// The same of a transaction that also writes: every server reads them while it applies the entry, and nothing else (docs/security.md).
inline constexpr std::size_t txn_applied_rows_max = 30'000;
std::size_t shown_bytes(const txn_result& r);
/// What the client is told about an answer that takes that much. @returns nullopt: it is not too large
std::optional<std::string> refused_txn_size(std::size_t rows, std::size_t bytes,
                                            std::size_t rows_max = txn_answer_rows_max);
std::optional<std::string> refused_for_size(const txn_reply& found);

/// The same for rows of health_service. Takes time in proportion to the rows that are held, not to those that would be shown.
std::optional<std::string> refused_for_size(const service_instances& found);

} // namespace belay::state
