// peer_link: accepted connections and received frames. Dialled connections: peer_link_dialling.cpp.

#include "actors/consensus/peer_link.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/uuid.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds tick{20};
// The tick while handshakes are in progress: each takes three messages.
constexpr std::chrono::milliseconds tick_of_handshakes{4};
constexpr std::chrono::seconds hello_again{1};
// A hello may be sent this much earlier, to be combined with other frames.
constexpr std::chrono::milliseconds hello_slack{250};
constexpr std::size_t early_agents_max = 64; ///< a server knows its role milliseconds after its start
// A peer from another host in place of one from which a frame just arrived is an impostor,
// or two servers have one identity.
constexpr std::chrono::milliseconds contacted_just_now{1500};
// The read size follows the traffic: CAF zeroes that many bytes before each read.
constexpr std::size_t read_bytes_min = 4u << 10;
constexpr std::size_t read_bytes_max = 256u << 10;
// A server that claims to be of this cluster, and is not in the known configuration, may be a
// leader that was elected while this server was away. Its frames bring the configuration; a batch
// of entries is 1 MiB.
constexpr std::size_t newer_member_frame_max = 4u << 20;
// Host names have at most 253 bytes. Texts of unverified peers are stored and logged.
constexpr std::size_t unverified_text_max = 256;
// A server that joins becomes a member within seconds of the operator's request.
constexpr std::chrono::minutes long_stay{1};
// The name of an address can be reassigned to another server.
constexpr std::chrono::minutes own_address_again{1};
// Per member: enough for all moves during a process, and invented hosts use little memory.
constexpr std::size_t hosts_max = 8;

/// How much to read at once, after a read of `got` bytes that could have returned `at_most`.
std::size_t fitting_read(std::size_t at_most, std::size_t got) {
  if (got == at_most)
    return std::min(2 * at_most, read_bytes_max);
  return got < at_most / 8 ? std::max(at_most / 2, read_bytes_min) : at_most;
}

/// A name would need a lookup, caused by any peer that can send a hello.
bool is_numeric(const std::string& address) {
  const auto where = split_host_port(address);
  return where.number() != 0 && numeric_endpoint(where.host, where.number());
}

bool has_long_texts(const wire::hello& h) {
  return std::max({h.self.uuid.size(), h.self.name.size(), h.self.address.size(), h.datacenter.size()}) >
         unverified_text_max;
}

} // namespace

result<int> listen_for_peers(const peer_link_settings& s) {
  const auto where = s.listen_host + ":" + std::to_string(s.listen_port);
  const auto address = numeric_endpoint(s.listen_host, s.listen_port, true);
  if (!address)
    return failure{"address of the server port cannot be resolved: " + where};
  const int fd = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return failure{std::string("no socket for peers: ") + std::strerror(errno)};
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // A long backlog: 16 are accepted per batch, and batches are at least 4 ms apart.
  if (bind(fd, address->any(), address->size) != 0 || listen(fd, 512) != 0) {
    const std::string why = std::strerror(errno);
    ::close(fd);
    return failure{"cannot listen for peers on " + where + ": " + why + " (set bind_addr and ports.server)"};
  }
  return fd;
}

peer_link::peer_link(caf::actor_config& config, node_actors_ptr node_actors, peer_link_settings settings, int listener,
                     node_id self, metrics& m)
    : caf::io::broker(config), node_actors_(std::move(node_actors)), settings_(std::move(settings)),
      listener_(listener), self_(self), metrics_(m), random_(settings_.seed),
      pending_(listener, settings_.pending, [c = settings_.credentials] { return c->now(); }),
      names_(settings_.look_up) {
  pending_.when_full(
      [this](const std::string& address, bool from_there) { return one_gives_way_to(address, from_there); });
  end_node_by_exceptions_of(*this, node_actors_, "peer_link");
}

peer_link::~peer_link() {
  if (listener_ >= 0)
    ::close(listener_);
}

caf::behavior peer_link::make_behavior() {
  return {
      [this](const caf::io::new_data_msg& d) { on_data(d); },
      [this](const caf::io::connection_closed_msg& c) { on_closed(c.handle); },
      [this](const caf::io::data_transferred_msg& d) {
        for (auto& [address, o] : outgoing_)
          if (o.state == dial_state::up && o.handle == d.handle) {
            o.unsent = d.remaining;
            transmit(o);
          }
      },
      [this](send_frames& f) { send_to_peers(f); },
      [this](const dial_peers& d) { on_dial_peers(d); },
      [this](const dial_now& d) { dial_at_once(d.address); },
      [this](const announce& a) {
        const bool changed = a.hello != hello_;
        hello_ = a.hello;
        if (changed) {
          next_hello_ = {};
          tick_soon();
        }
      },
      [this](tick_atom) {
        if (!wake_ups_.arrived(now_of(*this, *node_actors_)))
          return;
        if (stopping_)
          return quit();
        on_tick();
      },
      [this](somebody_comes_atom) { // its hello arrives in a moment
        wake_ups_.ask(*this, *node_actors_, tick_of_handshakes, tick_atom::value);
      },
      [this](stop_atom) {
        host()->no_longer(listener_);
        for (auto& [address, o] : outgoing_)
          disconnect(o);
        ::close(std::exchange(listener_, -1)); // at once: a server that restarts needs the port
        for (const auto& p : std::exchange(early_agents_, {}))
          ::close(p.fd);
        close_all();
        stopping_ = true;
        // If a tick is due, the broker ends at that tick. An ended broker of CAF 0.17.6 keeps its
        // mailbox open, and a tick of CAF's clock that finds CAF's loop gone would keep the broker
        // forever.
        if (!ticking_)
          return quit();
        tick_soon();
      },
  };
}

void peer_link::on_tick() {
  const auto now = clock().now();
  const auto passed = std::min<std::chrono::nanoseconds>(now - std::exchange(ticked_at_, now), sleep_);
  for (const auto& handle : std::exchange(leaving_, {}))
    close(handle);
  if (!hello_.self.id.is_zero())
    for (auto& p : std::exchange(early_agents_, {}))
      pass_on_client_agent(std::move(p));
  for (auto& p : pending_.pump(now))
    admit(std::move(p));
  const bool hello_due = now >= next_hello_;
  if (hello_due) {
    next_hello_ = now + together(*this, hello_again, hello_slack);
    refill_unverified();
  }
  for (auto& [address, o] : outgoing_) {
    if (o.state == dial_state::idle && now >= o.next_event && address != hello_.self.address)
      dial(o);
    else if (o.state == dial_state::connecting)
      finish_dial(o);
    else if (o.state == dial_state::shaking_hands)
      shake_hands(o);
    else if (o.state == dial_state::up && hello_due)
      write_hello(o);
  }
  drop_silent_connections(passed);
  sleep_until_due();
}

void peer_link::sleep_until_due() {
  const auto now = clock().now();
  bool in_handshakes = pending_.occupied();
  bool busy = !pending_.quiet() || !leaving_.empty() || !early_agents_.empty();
  auto due = next_hello_;
  for (const auto& [address, o] : outgoing_) {
    in_handshakes = in_handshakes || o.state == dial_state::shaking_hands;
    busy = busy || o.state == dial_state::connecting;
    if (o.state == dial_state::idle && address != hello_.self.address)
      due = std::min(due, o.next_event);
  }
  sleep_ = tick;
  if (in_handshakes) {
    sleep_ = tick_of_handshakes;
  } else if (!busy) {
    host()->when_readable(listener_, sending_to(*this, somebody_comes_atom::value));
    sleep_ = std::clamp<std::chrono::nanoseconds>(due - now, tick, hello_again);
  }
  wake_ups_.ask(*this, *node_actors_, sleep_, tick_atom::value);
  ticking_ = true;
}

void peer_link::tick_soon() {
  wake_ups_.ask(*this, *node_actors_, tick, tick_atom::value);
}

/// Logs a problem, at most once a minute for each address and reason.
void peer_link::complain(const std::string& address, const std::string& why, const char* event) {
  const auto dialled = outgoing_.find(address);
  const bool known = pending_.is_known(address) || (dialled != outgoing_.end() && dialled->second.named);
  if ((known ? log_limit_of_known_ : log_limit_).may_write(address + why, clock().now()))
    log::warn("peer_link", event, {{"address", address}, {"reason", why}});
}

bool peer_link::may_log_about(const incoming& in, const std::string& what) {
  return !is_unproved(in) || log_limit_.may_write(what + in.from, clock().now());
}

// ---- known peers

void peer_link::on_dial_peers(const dial_peers& d) {
  decltype(members_) members;
  for (const auto& [id, address] : d.members) {
    auto& known = members[id] = std::move(members_[id]);
    if (auto host = split_host_port(address).host;
        !host.empty() && std::find(known.begin(), known.end(), host) == known.end()) {
      if (known.size() == hosts_max)
        known.pop_back();
      known.push_back(std::move(host));
    }
  }
  members_ = std::move(members);
  std::set<std::string> hosts;
  for (auto& [address, o] : outgoing_)
    o.named = false;
  for (const auto& a : d.addresses) {
    towards(a).named = true;
    hosts.insert(split_host_port(a).host);
  }
  pending_.set_known_hosts(std::move(hosts));
  for (auto it = outgoing_.begin(); it != outgoing_.end();) {
    auto& o = it->second;
    if (o.named || (!o.peer.is_zero() && is_reachable(o.peer))) {
      ++it;
      continue;
    }
    disconnect(o);
    it = outgoing_.erase(it);
  }
  std::erase_if(address_of_,
                [this](const auto& known) { return !members_.contains(known.first) && !is_reachable(known.first); });
}

bool peer_link::is_reachable(node_id peer) const {
  return std::any_of(incoming_.begin(), incoming_.end(), [&](const auto& i) { return i.second.peer == peer; });
}

/// Removes all state about a server that is not a member and is gone: otherwise unverified peers
/// would be dialled forever.
void peer_link::forget_unverified(node_id peer) {
  const auto known = address_of_.find(peer);
  if (members_.contains(peer) || known == address_of_.end())
    return;
  vacate(known->second, peer);
  address_of_.erase(known);
}

/// Call it when that peer is no longer at this address; other peers may be.
void peer_link::vacate(const std::string& address, node_id peer) {
  const auto there = outgoing_.find(address);
  if (there == outgoing_.end() || there->second.peer != peer)
    return;
  there->second.peer = {};
  if (there->second.named)
    return;
  disconnect(there->second);
  outgoing_.erase(there);
}

/// Whether the configuration has named that member at `host` for longer than at `other`, or
/// only at `host`. A server that reports a new address may be an impostor, and the configuration
/// may have followed it; the first host is certainly real.
bool peer_link::lives_rather_at(const std::string& host, const std::string& other, node_id member) const {
  const auto known = members_.find(member);
  if (known == members_.end())
    return false;
  const auto& hosts = known->second;
  return std::find(hosts.begin(), hosts.end(), host) < std::find(hosts.begin(), hosts.end(), other);
}

// ---- accepted connections

/// @returns whether this is a connection of this server to itself: a retry_join address is its own
bool peer_link::take_for_own(const identified_peer& p) {
  if (p.hello.self.id != self_)
    return false;
  for (auto& [address, o] : outgoing_)
    if (o.state == dial_state::up && is_other_end(p.fd, o.fd)) {
      disconnect(o);
      o.next_event = clock().now() + own_address_again;
      tick_soon();
      return true;
    }
  return false;
}

/// Returns why the peer is rejected; empty: it is not.
std::string peer_link::objection_to(const identified_peer& p) {
  const auto& self = p.hello.self;
  if (self.id == self_ || self.id.is_zero())
    return "the peer has the ID of this server, or none";
  if (!is_numeric(self.address))
    return "the address in the hello of the peer is not numeric: " + self.address.substr(0, 100);
  if (p.channel)
    return {};
  for (const auto& [handle, in] : incoming_)
    if (in.peer == self.id && in.from != p.address && in.silent < contacted_just_now &&
        !lives_rather_at(p.address, in.from, self.id))
      return "server " + self.name.substr(0, 100) + " is already connected from " + in.from;
  if (members_.contains(self.id))
    return {};
  if (has_long_texts(p.hello))
    return "a text in the hello of the peer is longer than " + std::to_string(unverified_text_max) + " bytes";
  if (!has_slot_for(p))
    return "there are " + std::to_string(settings_.unverified_max) + " connections of servers that are not members";
  return {};
}

bool peer_link::has_slot_for(const identified_peer& p) {
  const auto unverified = std::count_if(incoming_.begin(), incoming_.end(), [&](const auto& i) {
    return is_unproved(i.second) && i.second.peer != p.hello.self.id;
  });
  return static_cast<std::size_t>(unverified) < settings_.unverified_max || one_gives_way_to(p.address, false);
}

/// Closes a connection of a server that is not a member, to free its slot: the oldest one from the
/// host that has most of them. Connections from hosts of members, and from hosts that have fewer,
/// always get a slot; others only if the closed one is old enough. @returns false: none is closed
bool peer_link::one_gives_way_to(const std::string& host, bool from_there) {
  std::map<std::string, std::size_t> crowd;
  for (const auto& [handle, in] : incoming_)
    if (is_unproved(in))
      ++crowd[in.from];
  auto goes = incoming_.end();
  for (auto it = incoming_.begin(); it != incoming_.end(); ++it) {
    const auto& in = it->second;
    if (!is_unproved(in) || (from_there && in.from != host))
      continue;
    if (goes == incoming_.end() || crowd[in.from] > crowd[goes->second.from] ||
        (crowd[in.from] == crowd[goes->second.from] && in.since < goes->second.since))
      goes = it;
  }
  if (goes == incoming_.end())
    return false;
  const auto& in = goes->second;
  const bool must = pending_.is_known(host) || crowd[in.from] > crowd[host] || clock().now() - in.since > long_stay;
  if (must)
    hang_up(goes->first);
  return must;
}

void peer_link::pass_on_client_agent(identified_peer p) {
  std::string why;
  if (hello_.self.id.is_zero() && early_agents_.size() < early_agents_max) {
    early_agents_.push_back(std::move(p));
    return tick_soon();
  }
  if (!settings_.client_agent)
    why = "this server does not serve client agents";
  else if (p.hello.datacenter != hello_.datacenter)
    why = "client agent " + p.hello.self.name.substr(0, 100) + " belongs to datacenter " +
          p.hello.datacenter.substr(0, 100) + ", this server to " + hello_.datacenter;
  else if (has_long_texts(p.hello) || p.hello.self.name.empty() || !is_uuid(p.hello.self.uuid) ||
           !is_numeric(p.hello.self.address))
    why = "the hello of a client agent has no name, no node ID or no numeric address, or has a text that is too long";
  pending_.left(p.address);
  if (!why.empty()) {
    complain(p.address, why, "connection to the server port rejected");
    ::close(p.fd);
    return;
  }
  set_peer_options(p.fd, settings_.silence_limit);
  settings_.client_agent(std::move(p));
}

void peer_link::admit(identified_peer p) {
  if (p.hello.client_agent)
    return pass_on_client_agent(std::move(p));
  const bool own = take_for_own(p);
  if (const auto why = own ? std::string() : objection_to(p); own || !why.empty()) {
    if (!own)
      complain(p.address, why, "connection to the server port rejected");
    ::close(p.fd);
    pending_.left(p.address);
    return;
  }
  set_peer_options(p.fd, settings_.silence_limit);
  drop_earlier_connections(p.hello.self.id);
  const auto handle = add_scribe(p.fd);
  INVARIANT(!is_reachable(p.hello.self.id)); // one connection for each peer: frames on two have no order
  auto& in = incoming_[handle];
  in.since = clock().now();
  in.from = std::move(p.address);
  in.channel = std::move(p.channel);
  in.read_max = read_bytes_min;
  in.credit = settings_.unverified_bytes_per_second;
  in.peer = p.hello.self.id;
  configure_read(handle, caf::io::receive_policy::at_most(read_bytes_min));
  on_hello(in, p.hello, true);
  take_frames(handle, in, p.after_hello, std::move(p.hello));
}

/// Unread bytes on them are from an earlier life of the connection, and must not follow newer ones.
void peer_link::drop_earlier_connections(node_id peer) {
  for (auto it = incoming_.begin(); it != incoming_.end();) {
    if (it->second.peer != peer) {
      ++it;
      continue;
    }
    const auto handle = it->first;
    pending_.left(it->second.from);
    it = incoming_.erase(it);
    leave(handle);
  }
}

/// Closes it at the next tick. CAF 0.17.6 leaks a connection that begins to be read and is closed
/// in one turn of its loop, which merges both into no change. Later bytes on it are ignored.
void peer_link::leave(caf::io::connection_handle handle) {
  leaving_.push_back(handle);
  tick_soon();
}

void peer_link::drop_silent_connections(std::chrono::nanoseconds passed) {
  std::vector<caf::io::connection_handle> silent;
  for (auto& [handle, in] : incoming_)
    if ((in.silent += passed) > settings_.hello_limit)
      silent.push_back(handle);
  for (const auto& handle : silent) {
    INVARIANT(incoming_.contains(handle));
    if (const auto& in = incoming_[handle]; may_log_about(in, "silent "))
      log::info("peer_link", "silent connection closed", {{"peer", in.name}});
    hang_up(handle);
  }
}

void peer_link::hang_up(caf::io::connection_handle handle) {
  leave(handle);
  on_closed(handle);
}

void peer_link::on_closed(caf::io::connection_handle handle) {
  if (auto it = incoming_.find(handle); it != incoming_.end())
    return on_accepted_closed(it);
  for (auto& [address, o] : outgoing_)
    if (o.state == dial_state::up && o.handle == handle)
      return lost(o);
}

void peer_link::on_accepted_closed(incoming_map::iterator it) {
  const auto peer = it->second.peer;
  const auto name = it->second.name;
  // The line for operators is the loss of the connection to the peer.
  const bool logs_it = !address_of_.contains(peer) && may_log_about(it->second, "hung up ");
  pending_.left(it->second.from);
  incoming_.erase(it);
  if (is_reachable(peer))
    return; // it reconnected before the old connection was seen to close
  log::write(logs_it ? log::level::info : log::level::debug, "peer_link", "connection closed by peer",
             {{"peer", name}});
  send(node_actors_->raft_peer, peer_lost{peer});
  forget_unverified(peer);
}

// ---- received data

/// Received bytes, of a connection that this server dialled or accepted. An accepted connection is
/// charged for them while its peer is unverified. TLS removes its layer if there is one; the rest
/// is frames.
void peer_link::on_data(const caf::io::new_data_msg& msg) {
  const std::string_view bytes(msg.buf.data(), msg.buf.size());
  const auto it = incoming_.find(msg.handle);
  if (it == incoming_.end()) {
    for (auto& [address, o] : outgoing_)
      if (o.state == dial_state::up && o.handle == msg.handle)
        return on_answer(o, bytes);
    return;
  }
  auto& in = it->second;
  // Read little at once from unverified peers, so that their limit per second holds:
  // CAF reads several times per event.
  const auto fitting = is_unverified(in) ? read_bytes_min : fitting_read(in.read_max, bytes.size());
  if (fitting != in.read_max) {
    in.read_max = fitting;
    configure_read(msg.handle, caf::io::receive_policy::at_most(fitting));
  }
  if (is_unverified(in)) {
    in.credit -= std::min(in.credit, bytes.size());
    if (in.credit == 0) {
      in.halted = true;
      halt(msg.handle); // until the next second
    }
  }
  if (!in.channel) {
    take_frames(msg.handle, in, bytes);
    return;
  }
  std::string plain;
  const auto fed = in.channel->feed(bytes, plain);
  std::string answer;
  in.channel->take_output(answer);
  if (!answer.empty()) {
    write(msg.handle, answer.size(), answer.data());
    flush(msg.handle);
  }
  if (!plain.empty() && !take_frames(msg.handle, in, plain))
    return;
  if (!fed) {
    if (fed.error() != "peer closed the connection")
      complain(in.from, fed.error(), "connection of peer closed");
    hang_up(msg.handle);
  }
}

void peer_link::refill_unverified() {
  for (auto& [handle, in] : incoming_) {
    in.credit = settings_.unverified_bytes_per_second;
    if (std::exchange(in.halted, false))
      trigger(handle);
  }
}

/// Without credentials a peer can claim any identity, so only configured members are trusted.
bool peer_link::is_unproved(const incoming& in) const {
  return !in.channel && !members_.contains(in.peer);
}

/// A server that belongs to no cluster yet does not know its future members.
bool peer_link::is_unverified(const incoming& in) const {
  return is_unproved(in) && !members_.empty();
}

std::size_t peer_link::frame_limit(const incoming& in) const {
  if (!is_unverified(in))
    return wire::frame_bytes_max;
  const bool claims_our_cluster = in.cluster_id != 0 && in.cluster_id == hello_.cluster_id;
  return claims_our_cluster ? std::max(newer_member_frame_max, settings_.unverified_frame_max)
                            : settings_.unverified_frame_max;
}

bool peer_link::unverified_are_too_many(const incoming& in) const {
  if (!is_unproved(in) || in.decoder.unfinished_bytes() < settings_.unverified_frame_max)
    return false;
  std::size_t bytes = 0;
  for (const auto& [handle, other] : incoming_)
    if (is_unproved(other))
      bytes += other.decoder.unfinished_bytes();
  return bytes > settings_.unverified_bytes_max;
}

/// @param first processed before those in `bytes`
/// @returns false if the connection was closed
bool peer_link::take_frames(caf::io::connection_handle handle, incoming& in, std::string_view bytes,
                            std::optional<wire::frame> first) {
  PRECONDITION(!in.peer.is_zero()); // it has identified itself
  in.silent = std::chrono::milliseconds(0);
  frames_received received;
  received.from = in.peer;
  received.proven = in.channel.has_value();
  if (first)
    received.list.push_back(std::move(*first));
  in.decoder.set_frame_bytes_max(frame_limit(in));
  in.decoder.set_hello_bytes_max(is_unproved(in) ? peer_handshake::hello_bytes_max : wire::frame_bytes_max);
  auto fed = in.decoder.feed(bytes, received.list);
  for (std::size_t i = first ? 1 : 0; fed && i < received.list.size(); ++i)
    if (const auto* h = std::get_if<wire::hello>(&received.list[i]); h != nullptr) {
      if (h->self.id != in.peer)
        fed = failure{"the peer changed its identity"};
      else if (is_unproved(in) && has_long_texts(*h))
        fed = failure{"a text in the hello of the peer is too long"};
      else
        on_hello(in, *h, false);
    }
  if (fed && unverified_are_too_many(in))
    fed = failure{"incomplete frames of servers that are not members take too much memory"};
  if (!fed) {
    complain(in.from, fed.error(), "connection closed: the peer does not speak this protocol");
    hang_up(handle);
    return false;
  }
  if (!received.list.empty())
    send(node_actors_->raft_peer, std::move(received));
  return true;
}

void peer_link::on_hello(incoming& in, const wire::hello& h, bool first) {
  in.cluster_id = h.cluster_id;
  in.name = h.self.name.substr(0, unverified_text_max);
  const auto id = h.self.id;
  const bool member = members_.contains(id);
  const auto before = address_of_.find(id);
  if (before == address_of_.end() || before->second != h.self.address) {
    if (!first && !is_numeric(h.self.address))
      return;
    if (before != address_of_.end()) {
      // The peer has moved, or another server pretends to be it. If this server can still reach it
      // at the old address, it has not moved. Otherwise another server may respond there.
      const auto there = outgoing_.find(before->second);
      const bool reached = there != outgoing_.end() && there->second.state == dial_state::up &&
                           there->second.peer == id && there->second.confirmed;
      const bool comes_from_home = first && lives_rather_at(in.from, {}, id);
      if (!in.channel && reached && !comes_from_home)
        return;
      if (!member && !first) // the address of an unverified peer is the one it connected with
        return;
      vacate(before->second, id);
    }
  }
  const auto there = outgoing_.find(h.self.address);
  const bool known = there != outgoing_.end() && there->second.peer == id;
  // Only a member may take the address of a server that is connected.
  if (!known && !member && there != outgoing_.end() && is_reachable(there->second.peer))
    return;
  address_of_[id] = h.self.address;
  auto& o = towards(h.self.address);
  o.peer = id;
  o.name = in.name;
  o.confirmed = true;
  if (first && o.state == dial_state::idle) {
    o.next_event = {}; // it is alive: no need to wait
    tick_soon();
  }
  if (o.state == dial_state::up && (!known || first))
    send(node_actors_->raft_peer, peer_connected{o.peer, o.channel.has_value()});
}

} // namespace belay::actors
