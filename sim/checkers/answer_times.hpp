#pragma once
// Judges that every request is answered in time: within the hold time and a stated slack, whatever happens to leaders, links and
// disks meanwhile.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <algorithm>
#include <map>

namespace belay::sim {

struct answer_time_rules {
  virtual_time hold{std::chrono::milliseconds(7000)}; ///< the servers' setting
  /// What may come on top: a forwarded request is told to be unknown a second after the hold time; a leader that has
  /// proposed it, and then hears no quorum, steps down within two election time-outs; ticks and messages.
  virtual_time slack{std::chrono::milliseconds(2500)};
  /// A request that an agent passes on waits as long for a server that can be reached; then, while it is on its way, it takes so long to
  /// notice that nothing comes any more, over a wire that is cut or from a server that stands still. A read is passed on again, up to three
  /// times.
  virtual_time broken_wire{std::chrono::milliseconds(5500)};

  /// @param there that a server may take for it
  virtual_time through_agent(virtual_time there, bool is_read) const {
    constexpr int attempts = 3;
    return hold + (is_read ? attempts : 1) * (std::max(hold, there) + broken_wire);
  }
};

/// Time counts as it passes on the node that was asked: not while that is paused, and never faster than true time (a clock
/// that jumps ahead takes nothing from anybody).
class answer_time_checker {
public:
  explicit answer_time_checker(answer_time_rules rules) : rules_(rules) {}

  void begun(const operation& op) { begun(op.id, op.node, words(op), longest(op)); }
  void ended(const operation& op) { ended(op.id); }

  /// Of any request. @param what it is and whose, for the complaint @param longest without the slack
  void begun(std::uint64_t id, std::size_t node, std::string what, virtual_time longest);
  /// Answered, or its client has given up.
  void ended(std::uint64_t id) { waiting_.erase(id); }

  /// Call it for every node now and then, with true time and what its own clock shows.
  /// @returns who should have been answered by now
  broken look(std::size_t node, bool running, virtual_time now, virtual_time own);

private:
  struct node_time {
    bool running = false;
    virtual_time now{0}, own{0};
    virtual_time passed{0};
  };
  struct request {
    std::size_t node = 0;
    std::string what;
    virtual_time allowed{0}, due{0}; ///< due: in the node's passed time
  };

  static std::string words(const operation& op);
  virtual_time longest(const operation& op) const;

  answer_time_rules rules_;
  std::map<std::size_t, node_time> nodes_;
  std::map<std::uint64_t, request> waiting_; ///< by id
};

} // namespace belay::sim
