#include "sim/faults/agent_nemesis.hpp"

#include "protocol/base/probe.hpp"

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Streams of its own, far above those of the nemesis of servers.
constexpr std::uint16_t first_agent_stream = 0x6000;
constexpr std::uint16_t first_agent_detail_stream = 0x6100;
constexpr seconds round_of_agents{2};
// The share of an agent's rounds in which something happens.
constexpr std::uint32_t activity_of_agents = 400'000;
// Sometimes long enough that servers have certainly noticed.
constexpr milliseconds outages[] = {milliseconds(300), milliseconds(2000), milliseconds(900), milliseconds(7000),
                                    milliseconds(12'000)};

enum class agent_fault : std::uint8_t { nothing, kill, power, suspend, pause, cut, loss, count };

} // namespace

void agent_nemesis::start() {
  acting_ = true;
  for (std::size_t i = nodes_.size(); i < nodes_.node_count(); ++i) {
    start_later(i, milliseconds(1500) + milliseconds(70 * (i - nodes_.size())));
    time_.after(seconds(5) + milliseconds(130 * (i - nodes_.size())), [this, i] { act(i); });
  }
}

virtual_time agent_nemesis::renewed(std::size_t node) const {
  const auto it = renewed_.find(node);
  return it == renewed_.end() ? virtual_time::zero() : it->second;
}

void agent_nemesis::count_fault(const char* what) {
  ++counts_[what];
  last_change_ = time_.now();
}

/// One round of a client agent: draws a fault and, if the swarm has that kind, injects it. Each
/// fault ends by itself after a drawn time.
void agent_nemesis::act(std::size_t agent) {
  if (!acting_)
    return;
  time_.after(round_of_agents, [this, agent] { act(agent); });
  const auto from = static_cast<std::uint16_t>(first_agent_stream + agent);
  const auto drawn = static_cast<agent_fault>(tape_.choose_rarely(
      {stream_kind::nemesis, from}, static_cast<std::uint64_t>(agent_fault::count), activity_of_agents));
  detail_ = {stream_kind::nemesis, static_cast<std::uint16_t>(first_agent_detail_stream + ++rounds_)};
  if (!nodes_.running(agent) || swarm_.rests_at(time_.now()))
    return;
  const auto& f = swarm_.agent_faults;
  switch (drawn) {
  case agent_fault::kill:
  case agent_fault::power:
    if (f.kill) {
      count_fault("agent-kill");
      drawn == agent_fault::kill ? nodes_.kill(agent) : nodes_.power_off(agent);
      start_later(agent, outages[draw(std::size(outages))]);
    }
    break;
  case agent_fault::suspend:
  case agent_fault::pause:
    if (f.suspend) {
      count_fault("agent-suspend");
      nodes_.pause(agent, drawn == agent_fault::suspend ? pause_of::suspended : pause_of::process);
      time_.after(outages[draw(std::size(outages))], [this, agent, life = nodes_.life(agent)] {
        if (nodes_.life(agent) != life || nodes_.state(agent) != node_state::paused)
          return;
        last_change_ = time_.now();
        nodes_.resume(agent);
      });
    }
    break;
  case agent_fault::cut:
    if (f.cut)
      cut_links(agent);
    break;
  case agent_fault::loss:
    if (f.loss) {
      PROBE("sim: a client agent loses its data directory");
      count_fault("agent-loss");
      nodes_.kill(agent);
      nodes_.wipe(agent);
      renewed_[agent] = time_.now();
      start_later(agent, outages[draw(std::size(outages))]);
    }
    break;
  case agent_fault::nothing:
  case agent_fault::count:
    break;
  }
}

/// Cuts links to one server or all of them, in one direction or both.
void agent_nemesis::cut_links(std::size_t agent) {
  count_fault("agent-cut");
  const auto whom = draw(nodes_.size() + 1); // the last number: all
  const auto ways = draw(3);
  const auto d = outages[draw(std::size(outages))];
  auto& connections = nodes_.connections_of_agents();
  if (trace_.wanted())
    trace_.line(time_.now(), agent,
                "does not hear, or is not heard by, " +
                    (whom == nodes_.size() ? std::string("any server") : "n" + std::to_string(whom)));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (whom != i && whom != nodes_.size())
      continue;
    if (ways != 1)
      connections.cut(agent, i);
    if (ways != 2)
      connections.cut(i, agent);
    time_.after(d, [this, agent, i] {
      if (!acting_)
        return;
      last_change_ = time_.now();
      nodes_.connections_of_agents().mend(agent, i);
      nodes_.connections_of_agents().mend(i, agent);
    });
  }
}

void agent_nemesis::start_later(std::size_t agent, virtual_time in) {
  time_.after(in, [this, agent] {
    if (nodes_.state(agent) != node_state::down || stay_down_.contains(agent))
      return;
    last_change_ = time_.now();
    if (renewed_.contains(agent))
      renewed_[agent] = time_.now();
    const auto started = nodes_.start(agent);
    INVARIANT(started.ok()); // nothing damages these disks
  });
}

void agent_nemesis::heal() {
  acting_ = false;
  detail_ = {stream_kind::nemesis, static_cast<std::uint16_t>(first_agent_detail_stream - 1)};
  last_change_ = time_.now();
  nodes_.connections_of_agents().mend_all();
  for (std::size_t i = nodes_.size(); i < nodes_.node_count(); ++i) {
    if (nodes_.state(i) == node_state::paused)
      nodes_.resume(i);
    // One that never returns stays down until the end.
    if (swarm_.agent_faults.kill && draw(4) == 3) {
      stay_down_.insert(i);
      if (nodes_.running(i))
        nodes_.kill(i);
      trace_.line(time_.now(), i, "stays down");
    } else if (nodes_.state(i) == node_state::down) {
      start_later(i, milliseconds(10));
    }
  }
}

} // namespace belay::sim
