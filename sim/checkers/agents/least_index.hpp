#pragma once
// The lowest index that a client can have if it sees changes at its servers within a given time.

#include "protocol/base/ids.hpp"
#include "sim/run.hpp"

#include <deque>

namespace belay::sim {

/// An index that rises. It falls when a server that is behind is queried, or by a restore.
class least_index {
public:
  /// @param kept how long values are kept; since() is never called for an earlier time
  explicit least_index(virtual_time kept) : kept_(kept) {}

  /// @pre now is not smaller than before
  void note(virtual_time now, log_index is);
  /// The smallest one from then on. Zero: unknown at that time.
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
