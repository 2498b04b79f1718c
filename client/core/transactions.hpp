#pragma once
// Transactions: operations on keys that happen together or not at all (docs/contract/05-txn.md).

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay {
inline namespace v0 {
namespace detail {

/// The limit of Consul 1.8 (docs/contract/05-txn.md, section 4).
constexpr std::size_t operations_max = 64;

class transaction {
public:
  /// Requires that the key still has that index.
  transaction& check_index(std::string_view key, std::uint64_t index);
  /// Requires that the session holds the lock of the key.
  transaction& check_session(std::string_view key, std::string_view session);
  transaction& set(std::string_view key, std::string_view value, std::uint64_t flags = 0);
  /// Writes the key if it has that index. Index 0: if it does not exist.
  transaction& cas(std::string_view key, std::string_view value, std::uint64_t index, std::uint64_t flags = 0);
  transaction& lock(std::string_view key, std::string_view value, std::uint64_t flags, std::string_view session);
  transaction& unlock(std::string_view key, std::string_view value, std::uint64_t flags, std::string_view session);
  transaction& erase(std::string_view key);
  /// A key that does not exist is not a failure.
  transaction& erase_cas(std::string_view key, std::uint64_t index);

  std::size_t size() const noexcept { return size_; }
  request to_request() const;

private:
  transaction& add(std::string_view verb, std::string_view key, const std::string& more);

  std::string body_;
  std::size_t size_ = 0;
};

/// Releases the lock of a key as it was at one index: a request that arrives late fails.
request unlocked_at(std::string_view key, std::uint64_t index, std::string_view value, std::uint64_t flags,
                    std::string_view session);

/// Whether the transaction was carried out.
inline bool is_made(const decision& d) {
  return d.last.status() == 200;
}
/// Whether it was rejected because a check of it failed.
inline bool is_conflict(const decision& d) {
  if (d.last.status() != 409)
    return false;
  auto failed = txn_failure_in(d.last.body());
  return failed.absent || failed.index;
}

/// Sends it until its outcome is decided.
/// @param how whether repeats take effect at most once
task<decision> commit(environment& env, const transaction& t, deadline limit, repeats how);

} // namespace detail
} // namespace v0
} // namespace belay
