#pragma once
// What a restart may drop from the window of changes (docs/reference/claims.md, rule 46). A started
// server has the floor (oldest retained index) of the checkpoint that it loaded, or of one that was
// being written. After a fall-back to an older checkpoint the floor may be higher, up to its index.
// With a checkpoint from another server it is that index, because earlier changes are missing here;
// with an empty disk it is zero.

#include "sim/checkers/kv_model.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::sim {

class floor_checker {
public:
  explicit floor_checker(cluster& nodes) : nodes_(nodes), seen_(nodes.size()) {}

  /// The checkpointer of a node is about to write that window.
  void writes(std::size_t node, const actors::write_checkpoint& w) {
    seen_[node].tried = {w.meta.index, w.changes.floor};
    seen_[node].floors[w.meta.index] = w.changes.floor;
  }
  /// Its checkpointer has handled a message.
  void wrote(std::size_t node);
  /// Call it before its state machine or checkpointer handles a message. Checks once per life.
  broken look(std::size_t node);
  /// That node has reset a client which had everything up to `position` (`INDEX` or `INDEX.N`). The
  /// floor must be above it. (A restore raises the floor, so a cursor from before a restore is
  /// below it, too.)
  broken reset(std::size_t node, std::string_view position) const;

private:
  struct of_checkpoint {
    log_index index, floor;
  };
  struct seen_of_node {
    of_checkpoint tried; ///< the last one that the checkpointer began to write
    of_checkpoint durable;
    std::map<log_index, log_index> floors; ///< floors that it began to write: a start may use an older one
    bool fell_back = false;                ///< to an older checkpoint, whose window of changes may be gone
    int life = -1;

    void now_durable(of_checkpoint c) {
      if (c.index != durable.index)
        fell_back = c.index < durable.index;
      durable = c;
    }
  };

  /// What the disk has, with the floor when it was written; nullopt: nothing.
  std::optional<of_checkpoint> on_disk(std::size_t node) const;

  cluster& nodes_;
  std::vector<seen_of_node> seen_;
};

} // namespace belay::sim
