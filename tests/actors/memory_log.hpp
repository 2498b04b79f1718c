#pragma once
// The Raft log of a simulated node: it outlives its actors, and it can be full.

#include "storage/log/log_store.hpp"

#include <vector>

namespace belay::actors::testing {

/// Every append is durable upon return.
class memory_log final : public storage::log_store {
public:
  using log_store::load;
  result<storage::loaded_log> load(log_index) override { return kept_; }
  status append(const std::vector<raft::persist_batch>& batches) override;
  using log_store::compact;
  result<bool> compact(log_index first_kept, std::size_t segments_max) override;

  void set_full(bool full) { full_ = full; }
  std::size_t refused_appends() const { return refused_; }
  const storage::loaded_log& kept() const { return kept_; }

private:
  storage::loaded_log kept_;
  bool full_ = false;
  std::size_t refused_ = 0;
};

} // namespace belay::actors::testing
