#pragma once
// What a restart may forget of the window of changes, and what it must (docs/claims.md, rule 46: "keep log for the window behind the checkpoint so
// that a restart does not reset everybody"): the floor of a server that has started is the one that it had when it wrote the checkpoint that it has
// loaded; if it was about to write another one, it may be that one's. If it fell back to an older checkpoint, the floor may have risen since,
// up to its index. Of a checkpoint that another server has sent it is the index: what happened
// before is not here. Of an empty disk it is zero.

#include "sim/checkers/kv_model.hpp"
#include "sim/world/cluster.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::sim {

class floor_checker {
public:
  explicit floor_checker(cluster& nodes) : nodes_(nodes), seen_(nodes.size()) {}

  /// Its checkpointer is to write that.
  void writes(std::size_t node, const actors::write_checkpoint& w) {
    seen_[node].tried = {w.meta.index, w.changes.floor};
    seen_[node].floors[w.meta.index] = w.changes.floor;
  }
  /// Its checkpointer has handled a message.
  void wrote(std::size_t node);
  /// Before its state machine or its checkpointer, which may replace the checkpoint that was loaded, handles a message: looks once in each life.
  broken look(std::size_t node);
  /// A client at that node, which had everything up to `place` (`INDEX` or `INDEX.N`), has to begin
  /// anew. The floor must be above it. (A restore lifts the floor, so that a cursor from before one
  /// is below it, too.)
  broken reset(std::size_t node, std::string_view place) const;

private:
  struct of_checkpoint {
    log_index index, floor;
  };
  struct seen_of_node {
    of_checkpoint tried; ///< the last that was to be written
    of_checkpoint durable;
    std::map<log_index, log_index> floors; ///< of all that were to be written: a start may fall back to an older one
    bool fell_back = false; ///< to an older checkpoint, whose window of changes may not be there any more
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
