// raft_peer: network coordinates (protocol/coordinates). The servers measure round trips to each
// other here, where frames are sent and received; the fsm serves clients' requests.

#include "actors/consensus/raft_peer.hpp"
#include "protocol/base/overloaded.hpp"

#include <algorithm>

namespace belay::actors {

/// Called on every tick.
void raft_peer::exchange_coordinates() {
  if (!settings_.coordinates)
    return;
  std::set<node_id> peers;
  for (const auto peer : coordinate_peers_)
    if (connected_.contains(peer) && core_.config().contains(peer))
      peers.insert(peer);
  for (auto& [to, message] : coordinates_.tick(peers, local_now(), settings_.wall_clock().value))
    std::visit([&, to = to](auto& each) { queue_frame(to, std::move(each)); }, message);
  if (auto known = coordinates_.take_changed(local_now()))
    send(node_actors_->fsm, coordinates_known{std::move(known)});
}

/// Frames of members only: what unverified peers send would be stored as long as this server runs.
void raft_peer::on_coordinates(node_id from, const wire::frame& f) {
  if (!settings_.coordinates || !core_.config().contains(from))
    return;
  std::visit(overloaded{
                 [&](const wire::coordinate_probe& p) {
                   if (connected_.contains(from))
                     queue_frame(from, coordinates_.requested(p));
                 },
                 [&](const wire::coordinate_answer& a) { coordinates_.answered(from, a, local_now()); },
                 [&](const wire::coordinate_news& n) { coordinates_.received(n, settings_.wall_clock().value); },
                 [](const auto&) {},
             },
             f);
}

/// A client reports a node's coordinate; the other servers get it at the next tick.
/// As in Consul a failure to store it is not reported.
void raft_peer::put_coordinate(const status_request& s) {
  if (settings_.coordinates)
    coordinates_.put(s.what.coordinate.node, s.what.coordinate.segment, s.what.coordinate.at,
                     settings_.wall_clock().value);
  answer_status(s);
}

std::vector<coordinates::row> raft_peer::coordinates_of_members() const {
  std::vector<coordinates::row> out{{self_.name, {}, coordinates_.own(), 0}};
  for (const auto& m : core_.config().members)
    if (m.id != self_.id)
      if (const auto row = coordinates_.known().find(coordinates::table::key_of(m.name, {})))
        out.push_back(*row);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return out;
}

} // namespace belay::actors
