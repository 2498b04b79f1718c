#pragma once
// A queued acquire is withdrawn only because its client disconnected, and at least 5 s later. The
// end of a server, a client agent or a connection between them is not a reason
// (docs/reference/claims.md, rule 24). The model checks the effect of a withdrawal
// (kv_model_claims.cpp).

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <chrono>
#include <map>
#include <vector>

namespace belay::sim {

class disconnect_checker {
public:
  /// The time on each server's clock, by node.
  using clocks = std::vector<std::chrono::nanoseconds>;

  explicit disconnect_checker(const kv_model& model) : model_(model) {}

  void begun(const operation& op);
  /// Its client disconnects.
  void left(const operation& op, virtual_time now, clocks shown);
  /// The model has taken that entry.
  broken committed(const raft::entry& e, const clocks& shown);
  void led(virtual_time now) { led_ = now; }
  /// At the end of a run with a healthy leader.
  /// @param works whether that life of that node still runs, so that it must withdraw the waits
  broken finish(virtual_time now, const std::function<bool(std::size_t node, int life)>& works) const;

private:
  struct request {
    std::string key, session;
    std::size_t node = 0;
    int life = 0;
    bool through_agent = false;
    bool left = false;
    virtual_time left_at{0};
    clocks shown{}; ///< when its client disconnected
  };

  broken check(const state::wait_ref& w, const clocks& shown) const;

  const kv_model& model_;
  virtual_time led_{0};
  std::map<std::uint64_t, request> requests_;       ///< by operation, whose number its flags are
  std::map<log_index, std::uint64_t> requested_at_; ///< the operation of an entry
};

} // namespace belay::sim
