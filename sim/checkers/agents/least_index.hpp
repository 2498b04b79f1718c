#pragma once
// What index somebody must know who is told within some time of everything that changes at the servers that he asks.

#include "protocol/base/ids.hpp"
#include "sim/run.hpp"

#include <deque>

namespace belay::sim {

/// Of an index that rises, and falls when servers are asked that have not come so far, or a restore takes it back.
class least_index {
public:
  /// @param kept longer ago nobody asks for
  explicit least_index(virtual_time kept) : kept_(kept) {}

  /// @pre now is not smaller than before
  void note(virtual_time now, log_index is);
  /// The smallest one from then on. Zero: it was not known then.
  log_index since(virtual_time then) const;

private:
  struct value {
    virtual_time from;
    log_index is;
  };

  virtual_time kept_;
  std::deque<value> values_;
};

} // namespace belay::sim
