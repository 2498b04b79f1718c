#pragma once
// Several cores in one process, with a network, disks and state machines made of plain values.
// After every step of a node the invariants are checked; a broken one throws broken_invariant.

#include "protocol/raft/invariants.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace belay::raft::testing {

struct broken_invariant : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline member make_member(std::uint64_t id) {
  return {node_id{id}, "uuid-" + std::to_string(id), "n" + std::to_string(id),
          "127.0.0.1:" + std::to_string(8000 + id)};
}
/// All named nodes are members.
configuration make_config(const std::vector<std::uint64_t>& voters, const std::vector<std::uint64_t>& learners = {});
/// Small limits, so that windows and chunks fill in short tests.
limits small_limits();
std::string to_text(const message& m);

/// What one node has beside its core: what survives a crash, and what does not.
struct test_node {
  node_id id;
  limits lim;
  std::unique_ptr<raft::core> core; ///< null: the process is down

  // ---- survives
  hard_state hard;
  std::vector<entry> log;
  snapshot_meta checkpoint;
  std::string checkpoint_bytes;
  bool joined = false; ///< has been a member; before, it accepts all servers

  // ---- does not survive
  std::deque<persist_batch> writing; ///< handed to the disk, not synced
  bool disk_stalled = false;
  bool install_stalled = false; ///< a complete checkpoint waits to be installed
  bool readers_slow = false;    ///< threads that read under the lease do not notice its end
  std::optional<snapshot_write> waiting_install;
  std::string incoming_bytes;
  log_index applied;
  std::uint32_t digest = 0; ///< digest of all commands applied
  std::vector<confirmed_read> reads_confirmed;
  std::vector<std::uint64_t> reads_failed;
  std::optional<log_index> unknown_from; ///< first unknown index in the last report
  std::size_t persists = 0;              ///< batches handed out
  step_check steps;
};

class raft_cluster {
public:
  explicit raft_cluster(std::uint64_t seed = 1) : random_(seed) {}

  /// A process with an empty disk.
  test_node& add_node(std::uint64_t id, const limits& lim = small_limits());
  /// Nodes 1..n, bootstrapped with each other.
  void start(std::uint64_t n, const limits& lim = small_limits());
  test_node& node(std::uint64_t id);
  raft::core& core(std::uint64_t id) { return *node(id).core; }
  bool up(std::uint64_t id) { return node(id).core != nullptr; }
  std::vector<std::uint64_t> ids() const;

  // ---- events
  void tick(std::uint64_t id);
  /// Ticks every running node once, then advances time by one tick.
  void tick_all();
  /// Takes the readies of a node and carries them out, until there is nothing to do.
  void settle(std::uint64_t id);
  /// The oldest `n` batches handed to the disk become durable.
  void sync(std::uint64_t id, std::size_t n = SIZE_MAX);
  void stall_disk(std::uint64_t id, bool stalled);
  void stall_install(std::uint64_t id, bool stalled);
  /// Power loss: of what was not synced, the first `survives` batches are durable nevertheless.
  void crash(std::uint64_t id, std::size_t survives = 0);
  void restart(std::uint64_t id);
  /// @returns the index, or nullopt if refused
  std::optional<log_index> propose(std::uint64_t id, const std::string& text);
  /// Makes a checkpoint of the machine; the log before it is dropped except for `keep` entries.
  void checkpoint(std::uint64_t id, std::uint64_t keep);

  /// Whether nodes send the members of their configuration, like actors/consensus/raft_peer.
  bool handshakes = true;

  // ---- the network
  std::deque<message>& in_flight() { return net_; }
  /// Delivers message number `i` (if the link is open and the node is up) and settles its receiver.
  void deliver(std::size_t i, bool keep_a_copy = false);
  void drop(std::size_t i) { net_.erase(net_.begin() + static_cast<std::ptrdiff_t>(i)); }
  /// Delivers in order until nothing is in flight. Messages over cut links are lost.
  void deliver_all(std::size_t max = 100000);
  void cut(std::uint64_t a, std::uint64_t b) { cut_.insert({std::min(a, b), std::max(a, b)}); }
  void join(std::uint64_t a, std::uint64_t b) { cut_.erase({std::min(a, b), std::max(a, b)}); }
  void heal() { cut_.clear(); }
  bool is_cut(std::uint64_t a, std::uint64_t b) const { return cut_.contains({std::min(a, b), std::max(a, b)}); }
  /// Only nodes of the same group can communicate.
  void partition(const std::vector<std::vector<std::uint64_t>>& groups);

  /// Ticks and delivers until a node leads and has committed. @returns its id; 0: not in `ticks`
  std::uint64_t elect(int ticks = 1000);
  /// Ticks and delivers `n` times.
  void run(int n);
  /// The leader of the newest term; 0: none.
  std::uint64_t leader() const;
  /// Heals and restarts everything, and runs until every voter has the same log, all of it
  /// committed and applied. @returns what is wrong after `ticks`; empty: converged
  std::string converge(int ticks = 2000);
  /// Compares all pairs of logs.
  void check_logs();

  local_time now() const { return now_; }
  cluster_time wall() const { return cluster_time{1000 + static_cast<std::uint64_t>(now_.count()) / 1000000}; }
  /// Messages sent since the last call.
  std::size_t take_sent() { return std::exchange(sent_, 0); }
  const cluster_check& facts() const { return facts_; }
  seeded_random& random() { return random_; }

private:
  void check(test_node& n);
  void identify(test_node& to);
  void carry_out(test_node& n, ready r);
  void apply(test_node& n, const entry& e);
  void install(test_node& n, const snapshot_write& w);
  void write(test_node& n, persist_batch b);

  seeded_random random_;
  std::map<std::uint64_t, test_node> nodes_;
  std::deque<message> net_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut_;
  local_time now_{std::chrono::seconds(1)};
  std::size_t sent_ = 0;
  cluster_check facts_;
  std::map<log_index, std::uint32_t> digests_;
};

} // namespace belay::raft::testing
