#include "sim/environment/simulated_network.hpp"

#include "protocol/base/bytes.hpp"
#include "sim/environment/frame_texts.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

// The fate of a frame, by the value on the tape; 0: it arrives in time.
enum class fate : std::uint8_t { in_time, lost, duplicated, reordered, delayed };

// peer_link pauses longer and longer for a peer that rejects it, up to 0.5 s.
constexpr std::chrono::milliseconds after_refusal{400};

} // namespace

void simulated_network::announce(std::size_t node, node_id id, actors::raft_peer_actor peer, const wire::hello& hello) {
  const auto before = ends_.find(node);
  const bool known = before != ends_.end();
  if (known && before->second.hello == hello)
    return;
  ends_[node] = {id, std::move(peer), hello};
  for (const auto& [other, end] : ends_) {
    if (other == node)
      continue;
    if (known && connected(node, other)) {
      write(node, other, hello);
    } else {
      // A new process dials. Its predecessor's connections are over, noticed or not.
      if (up_.erase(ordered(node, other)) != 0)
        notify(other, last_ids_[node], false);
      dial(node, other);
    }
  }
  last_ids_[node] = id;
}

void simulated_network::dial(std::size_t a, std::size_t b) {
  time_.after(faults.redial, [this, a, b] {
    if (!ends_.contains(a) || !ends_.contains(b) || connected(a, b))
      return;
    if (is_cut(a, b) || is_cut(b, a))
      dial(a, b);
    else
      connect(a, b);
  });
}

bool simulated_network::may_connect(std::size_t a, std::size_t b, std::map<pair, bool>& encrypted) {
  if (!let_in)
    return true;
  for (const auto& [from, to] : {pair{a, b}, pair{b, a}}) {
    const auto decision = let_in(from, to, ends_[from].hello);
    if (!decision.in)
      return false;
    encrypted[{from, to}] = decision.encrypted;
  }
  return true;
}

void simulated_network::connect(std::size_t a, std::size_t b) {
  std::map<pair, bool> encrypted;
  if (!may_connect(a, b, encrypted)) {
    if (refused_.insert(ordered(a, b)).second)
      time_.after(after_refusal, [this, a, b] {
        refused_.erase(ordered(a, b));
        dial(a, b);
      });
    return;
  }
  const auto epoch = ++epochs_;
  up_[ordered(a, b)] = epoch;
  for (const auto& [from, to] : {pair{a, b}, pair{b, a}})
    directions_[{from, to}] = direction{epoch, time_.now(), encrypted[{from, to}], {}, {}};
  for (const auto& [from, to] : {pair{a, b}, pair{b, a}}) {
    write(from, to, ends_[from].hello);
    notify(to, ends_[from].id, true, encrypted[{to, from}]);
  }
}

void simulated_network::disconnect(std::size_t a, std::size_t b) {
  if (up_.erase(ordered(a, b)) == 0)
    return;
  directions_.erase({a, b});
  directions_.erase({b, a});
  for (const auto& [from, to] : {pair{a, b}, pair{b, a}})
    if (ends_.contains(to))
      notify(to, last_ids_[from], false); // also about a node that is gone: nothing else will report it
}

void simulated_network::notify(std::size_t node, node_id peer, bool up, bool encrypted) {
  trace_.add(0x7000 + node * 64 + (up ? 32 : 0) + peer.value);
  // The notice arrives after the frames that were sent over the connection.
  const auto d = faults.latency + std::chrono::nanoseconds(1);
  time_.after(d, [this, node, peer, up, encrypted] {
    const auto end = ends_.find(node);
    if (end == ends_.end())
      return;
    if (trace_.wanted())
      trace_.line(time_.now(), node, std::string(up ? "connected with server " : "lost server ") + to_string(peer));
    if (up)
      caf::anon_send(end->second.peer, actors::peer_connected{peer, encrypted});
    else // it may be on another connection before this is sent
      caf::anon_send(end->second.peer, actors::peer_lost{peer, speaks_to(node, peer)});
  });
}

bool simulated_network::speaks_to(std::size_t node, node_id peer) const {
  return std::any_of(ends_.begin(), ends_.end(),
                     [&](const auto& end) { return end.second.id == peer && connected(node, end.first); });
}

bool simulated_network::is_encrypted(std::size_t from, std::size_t to) const {
  const auto it = directions_.find({from, to});
  return it != directions_.end() && it->second.encrypted;
}

void simulated_network::send(std::size_t from, const actors::send_frames& frames) {
  for (const auto& [id, frame] : frames.list)
    for (const auto& [to, end] : ends_)
      if (end.id == id && connected(from, to) && (!wire::holds_keys(frame) || is_encrypted(from, to)))
        write(from, to, frame);
}

/// Sends a frame with the latency of the network, and with at most one fault. Any frame may be
/// delayed in order, which delays those after it; only Raft messages may be lost, duplicated or
/// reordered, because they tolerate that.
void simulated_network::write(std::size_t from, std::size_t to, const wire::frame& f) {
  std::string bytes;
  wire::encode_frame(f, bytes);
  trace_.add(crc32c(bytes) ^ (from << 40) ^ (to << 48));
  trace_.count();
  if (trace_.wanted())
    trace_.line(time_.now(), from, "-> n" + std::to_string(to) + "  " + rendered(f));
  auto delay = faults.latency;
  bool in_order = true;
  const auto of_raft = std::holds_alternative<raft::message>(f);
  const stream s{stream_kind::network, static_cast<std::uint16_t>(from * 16 + to)};
  const auto odds =
      faults.delayed_per_million +
      (of_raft ? faults.lost_per_million + faults.duplicated_per_million + faults.reordered_per_million : 0);
  if (odds > 0) {
    // One draw per frame decides its fate and the amount.
    const auto drawn = tape_.choose_rarely(s, 1 + 1000, odds);
    if (drawn != 0) {
      auto share = (drawn - 1) * odds / 1000;
      const auto amount = faults.latency * static_cast<std::int64_t>(1 + drawn % network_faults::latencies_late_max);
      const auto within = [&share](std::uint32_t part) {
        const bool yes = share < part;
        share -= yes ? 0 : part;
        return yes;
      };
      if (within(faults.delayed_per_million)) {
        delay += amount;
      } else if (within(faults.lost_per_million)) {
        if (trace_.wanted())
          trace_.line(time_.now(), from, "   which is lost");
        return;
      } else if (within(faults.duplicated_per_million)) {
        // A duplicated part of a snapshot does most harm when the whole snapshot has arrived.
        const auto* message = std::get_if<raft::message>(&f);
        const bool of_snapshot = message && std::holds_alternative<raft::snapshot_chunk>(message->body);
        travel(from, to, bytes, delay + amount * (of_snapshot ? 20 : 1), false);
      } else {
        delay += amount;
        in_order = false;
      }
    }
  }
  travel(from, to, std::move(bytes), delay, in_order);
}

void simulated_network::travel(std::size_t from, std::size_t to, std::string bytes, virtual_time delay, bool in_order) {
  const auto found = directions_.find({from, to});
  if (found == directions_.end())
    return;
  auto& d = found->second;
  if (is_cut(from, to)) {
    d.held.push_back(std::move(bytes));
    return;
  }
  if (const auto extra = slowed_.find({from, to}); extra != slowed_.end())
    delay += extra->second;
  auto when = time_.now() + delay;
  if (in_order) {
    when = std::max(when, d.last_arrival);
    d.last_arrival = when;
  }
  time_.at(when, [this, from, to, epoch = d.epoch, bytes = std::move(bytes)] {
    const auto it = directions_.find({from, to});
    if (it == directions_.end() || it->second.epoch != epoch)
      return;
    if (is_cut(from, to))
      it->second.held.push_back(bytes);
    else
      arrive(from, to, bytes);
  });
}

void simulated_network::arrive(std::size_t from, std::size_t to, const std::string& bytes) {
  const auto target = ends_.find(to);
  const auto source = ends_.find(from);
  if (target == ends_.end() || source == ends_.end())
    return;
  actors::frames_received received;
  received.from = source->second.id;
  received.proven = is_encrypted(from, to);
  const auto fed = directions_[{from, to}].decoder.feed(bytes, received.list);
  INVARIANT(fed.ok());
  caf::anon_send(target->second.peer, std::move(received));
}

void simulated_network::gone(std::size_t node, bool power) {
  const auto end = ends_.find(node);
  if (end == ends_.end())
    return;
  const auto id = end->second.id;
  ends_.erase(end);
  for (const auto& [other, o] : ends_) {
    if (!connected(node, other))
      continue;
    // Nothing more gets in or out, whenever the other end notices.
    directions_.erase({node, other});
    directions_.erase({other, node});
    time_.after(power ? faults.silence : virtual_time::zero(),
                [this, node, id, other = other, epoch = up_[ordered(node, other)]] { forget(node, id, other, epoch); });
  }
}

void simulated_network::forget(std::size_t node, node_id id, std::size_t other, std::uint64_t epoch) {
  const auto it = up_.find(ordered(node, other));
  if (it == up_.end() || it->second != epoch)
    return;
  up_.erase(it);
  if (!ends_.contains(other))
    return;
  notify(other, id, false);
  if (ends_.contains(node))
    dial(node, other);
}

void simulated_network::cut(std::size_t from, std::size_t to) {
  if (!cut_.try_emplace({from, to}, time_.now()).second)
    return;
  const auto since = time_.now();
  time_.after(faults.silence, [this, from, to, since] {
    const auto it = cut_.find({from, to});
    if (it == cut_.end() || it->second != since)
      return;
    disconnect(from, to);
    dial(from, to);
  });
}

void simulated_network::mend(std::size_t from, std::size_t to) {
  if (cut_.erase({from, to}) == 0)
    return;
  const auto it = directions_.find({from, to});
  if (it == directions_.end())
    return;
  for (auto& bytes : std::exchange(it->second.held, {}))
    travel(from, to, std::move(bytes), faults.latency, true);
}

bool simulated_network::is_slowed(std::size_t from, std::size_t to) const {
  const auto it = slowed_.find({from, to});
  return it != slowed_.end() && it->second > virtual_time::zero();
}

bool simulated_network::is_cut(std::size_t from, std::size_t to) const {
  return cut_.contains({from, to});
}

virtual_time simulated_network::last_arrival_among(const std::set<std::size_t>& nodes) const {
  virtual_time last{0};
  for (const auto& [between, d] : directions_)
    if (nodes.contains(between.first) && nodes.contains(between.second))
      last = std::max(last, d.last_arrival);
  return last;
}

void simulated_network::reset(std::size_t a, std::size_t b) {
  if (!connected(a, b))
    return;
  disconnect(a, b);
  dial(a, b);
}

} // namespace belay::sim
