#include "tests/actors/fake_network.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <set>

namespace belay::actors::testing {

void fake_network::announce(std::size_t node, node_id id, raft_peer_actor peer, const wire::hello& hello) {
  const auto before = ends_.find(node);
  const bool news = before != ends_.end() && before->second.hello != hello;
  ends_[node] = {id, std::move(peer), hello};
  if (news)
    for (const auto& [other, end] : ends_)
      if (other != node && directions_[{node, other}].up)
        write(node, other, hello);
  establish();
}

void fake_network::gone(std::size_t node, bool silent) {
  const auto end = ends_.find(node);
  if (end == ends_.end())
    return;
  const auto id = end->second.id;
  ends_.erase(end);
  for (const auto& [other, o] : ends_) {
    const bool knew = directions_[{node, other}].up || directions_[{other, node}].up;
    drop(node, other);
    drop(other, node);
    if (knew && !silent)
      caf::anon_send(o.peer, peer_lost{id});
  }
}

void fake_network::drop(std::size_t from, std::size_t to) {
  auto& d = directions_[{from, to}];
  d.up = false;
  d.waiting.clear();
  d.decoder = {};
}

void fake_network::establish() {
  for (const auto& [a, from] : ends_) {
    for (const auto& [b, to] : ends_) {
      auto& there = directions_[{a, b}];
      if (a == b || there.up || there.cut)
        continue;
      there.up = true;
      write(a, b, from.hello);
      // The node that is dialled sends a hello on its own connection; then both can send.
      if (!directions_[{b, a}].up)
        continue;
      caf::anon_send(from.peer, peer_connected{to.id, credentials});
      caf::anon_send(to.peer, peer_connected{from.id, credentials});
    }
  }
}

void fake_network::send(std::size_t from, const send_frames& frames) {
  for (const auto& [id, frame] : frames.list) {
    for (const auto& [to, end] : ends_) {
      if (end.id != id)
        continue;
      if (!std::holds_alternative<raft::message>(frame))
        sent_.push_back({from, to, frame});
      if (!filter || filter(from, to, frame))
        write(from, to, frame);
    }
  }
}

void fake_network::write(std::size_t from, std::size_t to, const wire::frame& frame) {
  auto& d = directions_[{from, to}];
  if (!d.up || d.cut)
    return;
  std::string bytes;
  wire::encode_frame(frame, bytes);
  if (d.held)
    d.waiting.push_back(std::move(bytes));
  else
    arrive(from, to, bytes);
}

void fake_network::arrive(std::size_t from, std::size_t to, const std::string& bytes) {
  const auto target = ends_.find(to);
  const auto source = ends_.find(from);
  if (target == ends_.end() || source == ends_.end())
    return;
  frames_received received;
  received.from = source->second.id;
  received.proven = credentials;
  const auto fed = directions_[{from, to}].decoder.feed(bytes, received.list);
  INVARIANT(fed.ok());
  caf::anon_send(target->second.peer, std::move(received));
}

void fake_network::cut(std::size_t from, std::size_t to) {
  directions_[{from, to}].cut = true;
}

void fake_network::partition(const std::vector<std::vector<std::size_t>>& groups) {
  for (const auto& group : groups)
    for (const auto& other : groups)
      if (&group != &other)
        for (auto a : group)
          for (auto b : other)
            cut(a, b);
}

void fake_network::heal() {
  // Where one direction was lost, both connections of the pair are made again.
  std::set<std::pair<std::size_t, std::size_t>> broken;
  for (auto& [pair, d] : directions_)
    if (std::exchange(d.cut, false))
      broken.insert(std::minmax(pair.first, pair.second));
  for (const auto& [a, b] : broken) {
    drop(a, b);
    drop(b, a);
    if (!ends_.contains(a) || !ends_.contains(b))
      continue;
    caf::anon_send(ends_[a].peer, peer_lost{ends_[b].id});
    caf::anon_send(ends_[b].peer, peer_lost{ends_[a].id});
  }
  establish();
}

void fake_network::reconnect(std::size_t a, std::size_t b) {
  directions_[{a, b}].cut = directions_[{b, a}].cut = true;
  heal();
}

void fake_network::hold(std::size_t from, std::size_t to) {
  directions_[{from, to}].held = true;
}

void fake_network::release() {
  for (auto& [pair, d] : directions_) {
    d.held = false;
    for (const auto& bytes : std::exchange(d.waiting, {}))
      arrive(pair.first, pair.second, bytes);
  }
}

void fake_network::inject(std::size_t from, std::size_t to, const wire::frame& frame) {
  std::string bytes;
  wire::encode_frame(frame, bytes);
  arrive(from, to, bytes);
}

} // namespace belay::actors::testing
