#pragma once
// Checksums of a checkpoint's rows, looked at on a thread of its own, a little ahead of whoever makes tables of the rows: both take about as long.

#include "storage/checkpoint/lmdb_env.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace belay::storage {

class checks_ahead {
public:
  checks_ahead() = default;
  /// Gives up what has not been looked at yet, and waits for the thread.
  ~checks_ahead();
  checks_ahead(const checks_ahead&) = delete;
  checks_ahead& operator=(const checks_ahead&) = delete;

  /// Begins with the first row whose LMDB key begins with `tag`; ends behind the last of them, or at a wrong one.
  /// @param txn for reading; the caller has begun it and does not use it before the end of this object
  /// @returns false: the system gives no thread
  bool start(lmdb_transaction& txn, char tag);

  /// Waits until that row has been looked at. @returns whether version and checksum of it, and of all before it, are right.
  /// @param row its number, from zero on; by one thread
  bool right(std::uint64_t row) { return row < seen_ || wait_for(row); }

private:
  void look(lmdb_transaction& txn, char tag);
  bool wait_for(std::uint64_t row);

  static constexpr std::uint64_t ended = std::uint64_t{1} << 63;

  std::atomic<std::uint64_t> known_{
      0}; ///< so many rows from the first on are right; `ended`: and no more will be known
  std::atomic<bool> given_up_{false};
  std::uint64_t seen_ = 0; ///< of known_
  std::thread thread_;
};

} // namespace belay::storage
