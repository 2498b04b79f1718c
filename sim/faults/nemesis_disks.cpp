// Faults of whole disks: a part that is not mounted for a while, and several disks lost at once.

#include "sim/faults/nemesis.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::milliseconds;

namespace {

constexpr stream losses{stream_kind::nemesis, 0x7FFC};
constexpr stream of_joining{stream_kind::nemesis, 0x7FFB};

} // namespace

void nemesis::lose_parts() {
  if (!acting_)
    return;
  time_.after(milliseconds(1500 + 500 * static_cast<std::int64_t>(tape_.choose(losses, 12))), [this] { lose_parts(); });
  const auto drawn = tape_.choose(losses, 4 * nodes_.size());
  const auto victim = drawn / 4;
  if (drawn % 4 == 3 && swarm_.faults.disk_loss)
    return lose_several(victim);
  if (drawn % 4 == 0 || !nodes_.running(victim))
    return;
  // Before it belongs to a cluster, the server could as well be a new one.
  const auto who = actors::read_identity(simulated_disk::data_directory, nodes_.disk(victim).files());
  if (!who || who->cluster_id == 0)
    return;
  count_fault("half-lost-disk");
  const bool log = drawn % 4 != 2;
  nodes_.kill(victim);
  nodes_.disk(victim).lose(log ? simulated_disk::part::log : simulated_disk::part::identity);
  trace_.line(time_.now(), victim, log ? "its log is not mounted" : "its identity is gone");
  half_lost_.insert(victim);
  start_later(victim, milliseconds(20 + 50 * static_cast<std::int64_t>(tape_.choose(losses, 8))));
}

/// The server must refuse to start. Under its old identity it could break the promises that it no
/// longer has (docs/internals/pitfalls.md R36). Under a new one it would be an unknown server with
/// an old log.
void nemesis::start_without_a_part(std::size_t node) {
  if (nodes_.start(node).ok() && !complaint_)
    complaint_ = "node " + std::to_string(node) + " belongs to a cluster, and starts without a part of its data";
  // The operator reads the reason, and mounts the volume.
  time_.after(milliseconds(200 + 300 * static_cast<std::int64_t>(tape_.choose(losses, 12))), [this, node] {
    mend_half_lost(node);
    start_later(node, virtual_time::zero());
  });
}

void nemesis::mend_half_lost(std::size_t node) {
  if (half_lost_.erase(node) != 0)
    nodes_.disk(node).bring_back();
}

/// Loses as many disks as the others can do without; new servers replace them one after the other.
void nemesis::lose_several(std::size_t first) {
  const auto config = nodes_.configuration();
  if (!config || config->voters.size() < 5)
    return;
  std::set<std::size_t> victims;
  for (std::size_t k = 0; victims.size() < (config->voters.size() - 1) / 2 && k < nodes_.size(); ++k)
    if (const auto i = (first + k) % nodes_.size(); nodes_.running(i) && config->is_voter(nodes_.id_of(i)))
      victims.insert(i);
  if (victims.size() < 2 || !may_lose_disks(victims))
    return;
  count_fault("disks-lost-at-once");
  for (const auto i : victims) {
    nodes_.kill(i);
    lose_disk(i);
    start_later(i, milliseconds(50 + 100 * static_cast<std::int64_t>(tape_.choose(losses, 16))));
  }
}

// When a data directory first says that it belongs to a cluster, all of it must be there.
void nemesis::on_joined(std::size_t node) {
  if (!acting_ || !swarm_.faults.power || tape_.choose(of_joining, 3) != 2)
    return;
  const auto in = swarm_.disk_latency * static_cast<std::int64_t>(tape_.choose(of_joining, 8)) / 4;
  count_fault("power");
  time_.after(in, [this, node, life = nodes_.life(node)] {
    if (!acting_ || nodes_.life(node) != life || nodes_.state(node) == node_state::down)
      return;
    nodes_.power_off(node);
    start_later(node, milliseconds(200));
  });
}

} // namespace belay::sim
