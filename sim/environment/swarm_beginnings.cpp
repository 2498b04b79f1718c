// The servers that a simulated cluster begins with, and the configuration of each.

#include "sim/environment/swarm.hpp"

namespace belay::sim {

namespace {

// These streams have fixed numbers, so other draws do not affect them.
constexpr stream which_beginning{stream_kind::swarm, 1010};
constexpr stream parts_of_disks{stream_kind::swarm, 1011};
constexpr stream older_server{stream_kind::swarm, 1012};
constexpr std::uint32_t expected_min = 3;

// A server with a new disk has forgotten its promises and counts as another one. If enough such
// servers reach only each other, they rightly form a cluster (protocol/raft/formation.hpp).
void keep_disks(fault_set& f) {
  f.disk_loss = f.bit_flip = false;
}

void keep_in_touch(fault_set& f) {
  f.kill = f.power = f.blackout = f.disk_error = false;
  f.partition = f.one_way = f.isolate_leader = f.targeted_at_leader = f.reconfigure = false;
}

} // namespace

void draw_beginning(tape& choices, const profile& p, swarm& s) {
  if (!p.faults)
    return;
  s.faults.half_lost_disk = choices.chance(parts_of_disks, 200'000);
  s.beginning = static_cast<beginning>(choices.choose_rarely(which_beginning, 5, 250'000));
  // It is a member from the start. Next to a server without gossip, any server that knows the
  // cluster's number is accepted (docs/internals/pitfalls.md R28).
  if (const auto older = choices.choose_rarely(older_server, 1 + s.nodes, 100'000);
      older != 0 && !s.faults.unverified_peer && !s.faults.reconfigure && s.beginning == beginning::as_expected)
    s.older = older - 1;
  switch (s.beginning) {
  case beginning::more_than_expected:
    if (s.nodes == expected_min)
      s.nodes = expected_min + 1;
    s.spares = 0;
    s.faults.membership = false;
    keep_disks(s.faults);
    break;
  case beginning::down_to_one:
    s.faults.reconfigure = true;
    keep_disks(s.faults);
    break;
  case beginning::beside_others:
    s.nodes = s.spares = expected_min;
    s.faults.membership = true;
    keep_disks(s.faults);
    keep_in_touch(s.faults);
    break;
  case beginning::from_one: // with a new disk it would form a new cluster of one
    keep_disks(s.faults);
    break;
  case beginning::as_expected:
    break;
  }
}

std::uint32_t bootstrap_expect_of(const swarm& s, std::size_t node) {
  if (is_replica(s, node))
    return 0;
  switch (s.beginning) {
  case beginning::more_than_expected:
  case beginning::beside_others:
    return expected_min;
  case beginning::from_one:
    return node == 0 ? 1 : 0;
  case beginning::down_to_one:
  case beginning::as_expected:
    break;
  }
  // Servers that come later are started without bootstrap_expect.
  return static_cast<std::uint32_t>(node < s.nodes ? s.nodes : 0);
}

} // namespace belay::sim
