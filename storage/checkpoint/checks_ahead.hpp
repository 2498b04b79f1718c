#pragma once
// Verifies checksums of a checkpoint's rows on its own thread, ahead of the one that builds tables.

#include "storage/checkpoint/lmdb_env.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace belay::storage {

class checks_ahead {
public:
  checks_ahead() = default;
  /// Cancels the remaining work, and waits for the thread.
  ~checks_ahead();
  checks_ahead(const checks_ahead&) = delete;
  checks_ahead& operator=(const checks_ahead&) = delete;

  /// Starts with the first row whose LMDB key begins with `tag`; ends after the last one,
  /// or at a wrong one.
  /// @param txn a read transaction begun by the caller, which does not use it while this object
  /// exists @returns false: the system provides no thread
  bool start(lmdb_transaction& txn, char tag);

  /// Waits until that row has been verified. @returns whether it and all before it are valid.
  /// @param row its number, from zero on; by one thread
  bool right(std::uint64_t row) { return row < seen_ || wait_for(row); }

private:
  void look(lmdb_transaction& txn, char tag);
  bool wait_for(std::uint64_t row);

  static constexpr std::uint64_t ended = std::uint64_t{1} << 63;

  /// Number of rows, from the first one on, that are valid; `ended`: no more will follow.
  std::atomic<std::uint64_t> known_{0};
  std::atomic<bool> given_up_{false};
  std::uint64_t seen_ = 0; ///< value of known_ that was read last
  std::thread thread_;
};

} // namespace belay::storage
