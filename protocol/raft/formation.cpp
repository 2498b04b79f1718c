#include "protocol/raft/formation.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/configuration.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

constexpr std::uint8_t promise_version = 1;
// Higher than any formation gets: a forged round must not use up the numbers.
constexpr std::uint64_t round_max = std::uint64_t{1} << 32;
// More given-up first configurations than a formation can have in any honest way.
constexpr std::size_t refused_max = 16;

bool by_id(const member& a, const member& b) {
  return a.id < b.id;
}

bool contains(const std::vector<member>& set, node_id id) {
  return std::any_of(set.begin(), set.end(), [id](const member& m) { return m.id == id; });
}

bool contains(const std::vector<std::uint64_t>& clusters, std::uint64_t id) {
  return std::find(clusters.begin(), clusters.end(), id) != clusters.end();
}

std::uint64_t cluster_of(const std::vector<member>& set) {
  return formation::cluster_id_of(configuration_of_voters(set));
}

void refuse(promise& p) {
  const auto cluster = cluster_of(p.set);
  if (!contains(p.refused, cluster) && p.refused.size() < refused_max)
    p.refused.push_back(cluster);
}

} // namespace

configuration configuration_of_voters(std::vector<member> members) {
  std::sort(members.begin(), members.end(), by_id);
  configuration c;
  for (const auto& m : members)
    c.voters.push_back(m.id);
  c.members = std::move(members);
  return c;
}

// offset  size      what
// 0       1         version, 1
// 1       8         round
// 9       1         given up
// 10      varint    count of members, then each: id (8), uuid, name, address (varint length, bytes)
// ...     varint    number of refused clusters, then each (8)
// ...     4         CRC32C of all before
std::string encode(const promise& p) {
  std::string out;
  byte_writer w(out);
  w.u8(promise_version);
  w.u64(p.round);
  w.boolean(p.given_up);
  w.varint(p.set.size());
  for (const auto& m : p.set)
    put_member(w, m);
  w.varint(p.refused.size());
  for (const auto cluster : p.refused)
    w.u64(cluster);
  w.u32(crc32c(out));
  return out;
}

std::optional<promise> decode_promise(std::string_view bytes) {
  if (bytes.size() < 4)
    return std::nullopt;
  byte_reader tail(bytes.substr(bytes.size() - 4));
  bytes.remove_suffix(4);
  byte_reader r(bytes);
  promise p;
  if (tail.u32() != crc32c(bytes) || r.u8() != promise_version)
    return std::nullopt;
  p.round = r.u64();
  p.given_up = r.boolean();
  const auto members = r.varint();
  for (std::uint64_t i = 0; r.ok() && i < members; ++i)
    p.set.push_back(get_member(r));
  const auto refused = r.varint();
  for (std::uint64_t i = 0; r.ok() && i < refused; ++i)
    p.refused.push_back(r.u64());
  if (!r.complete())
    return std::nullopt;
  return p;
}

formation::formation(member self, std::string datacenter, formation_settings s, std::uint64_t cluster_id, promise kept)
    : self_(std::move(self)), datacenter_(std::move(datacenter)), settings_(s), cluster_id_(cluster_id),
      promise_(std::move(kept)) {}

// ---- peers

std::optional<std::string> formation::met(const handshake& peer) {
  if (peer.self.id == self_.id || peer.self.id.is_zero())
    return std::nullopt;
  if (!peers_.contains(peer.self.id))
    calm_ticks_ = sets_in_row_ = 0;
  peers_[peer.self.id] = peer;
  if (reaches_promised_set()) // also before the next tick: a returning server's silence no longer counts
    silent_ticks_ = 0;
  if (peer.datacenter != datacenter_)
    return "server " + peer.self.name + " at " + peer.self.address + " is in datacenter " + peer.datacenter;
  if (!belongs(peer.self.id))
    return "server " + peer.self.name + " at " + peer.self.address + " belongs to another cluster";
  return std::nullopt;
}

void formation::lost(node_id peer) {
  calm_ticks_ = sets_in_row_ = 0;
  peers_.erase(peer);
  let_go_.erase(peer);
}

void formation::tick(bool all_met) {
  ++calm_ticks_;
  pause_ticks_ = std::max(pause_ticks_ - 1, 0);
  all_met_ = all_met;
  silent_ticks_ = reaches_promised_set() ? 0 : silent_ticks_ + 1;
}

bool formation::reaches_promised_set() const {
  return std::all_of(promise_.set.begin(), promise_.set.end(),
                     [this](const member& m) { return m.id == self_.id || peers_.contains(m.id); });
}

bool formation::belongs(node_id peer) const {
  auto it = peers_.find(peer);
  const auto ours = cluster_id_ != 0 ? cluster_id_ : bound_to_;
  return it != peers_.end() && it->second.datacenter == datacenter_ &&
         (ours == 0 || it->second.cluster_id == 0 || it->second.cluster_id == ours);
}

bool formation::may_follow(node_id peer, bool leads) const {
  if (!belongs(peer))
    return false;
  if (leads && find(peer)->cluster_id == 0) // a server without a cluster cannot lead
    return false;
  // A leader of a cluster that was given up was elected without those that gave it up: it is alive.
  return cluster_id_ != 0 || leads || !is_refused(*find(peer));
}

/// Whether that peer's cluster has a configuration that this server gave
/// up, and has not promised again since: the round distinguishes them.
bool formation::is_refused(const handshake& p) const {
  const bool promised_again = !promise_.given_up && p.first.round == promise_.round && p.first.set == promise_.set;
  return contains(promise_.refused, p.cluster_id) && !promised_again;
}

void formation::bind(node_id peer) {
  const auto* p = find(peer);
  if (cluster_id_ == 0 && bound_to_ == 0 && p != nullptr)
    bound_to_ = p->cluster_id;
}

const handshake* formation::find(node_id peer) const {
  auto it = peers_.find(peer);
  return it == peers_.end() ? nullptr : &it->second;
}

std::vector<handshake> formation::connected() const {
  std::vector<handshake> all;
  for (const auto& [id, p] : peers_)
    all.push_back(p);
  return all;
}

std::vector<std::string> formation::connected_addresses() const {
  std::vector<std::string> all;
  for (const auto& [id, p] : peers_)
    if (p.datacenter == datacenter_)
      all.push_back(p.self.address);
  return all;
}

bool formation::eligible(const handshake& p) const {
  return p.cluster_id == 0 && !p.has_log && p.promises && !p.replica && p.first.round < round_max &&
         p.expect == settings_.expect && p.datacenter == datacenter_;
}

/// Whether that first configuration is known never to have had a leader.
bool formation::ignored(std::uint64_t cluster) const {
  if (cluster == 0)
    return false;
  if (promised_cluster() == cluster && !dead(promise_))
    return false;
  return contains(promise_.refused, cluster) || std::any_of(peers_.begin(), peers_.end(), [&](const auto& p) {
           const auto& sent = p.second.first;
           return contains(sent.refused, cluster) && (sent.set.empty() || cluster_of(sent.set) != cluster) &&
                  could_refuse(p.second, cluster);
         });
}

/// Only members of a first configuration can give it up; reports by
/// others are ignored. The servers that created it report its members.
bool formation::could_refuse(const handshake& p, std::uint64_t cluster) const {
  return p.datacenter == datacenter_ && std::any_of(peers_.begin(), peers_.end(), [&](const auto& known) {
           const auto& maker = known.second;
           return maker.cluster_id == cluster && contains(maker.first.set, p.self.id) &&
                  cluster_of(maker.first.set) == cluster;
         });
}

/// The cluster of this server's promise; zero: none.
std::uint64_t formation::promised_cluster() const {
  return promise_.set.empty() ? 0 : cluster_of(promise_.set);
}

/// Whether that peer is in a cluster other than that of this server's promise.
bool formation::is_elsewhere(const handshake& p) const {
  return p.datacenter == datacenter_ && (p.cluster_id != 0 || p.has_log) &&
         (p.cluster_id == 0 || p.cluster_id != promised_cluster()) && !ignored(p.cluster_id);
}

bool formation::cluster_near() const {
  return !MUTANT(bootstraps_beside_cluster) &&
         std::any_of(peers_.begin(), peers_.end(), [&](const auto& p) { return is_elsewhere(p.second); });
}

/// Whether others report a cluster, or are servers with which none can be formed.
bool formation::cluster_received() const {
  return std::any_of(peers_.begin(), peers_.end(), [&](const auto& known) {
    const auto& p = known.second;
    return p.datacenter == datacenter_ && p.cluster_id == 0 && (p.reaches_cluster || (!p.promises && p.expect != 0));
  });
}

std::string formation::waits_for() const {
  if (!may_form())
    return {};
  for (const auto& m : promise_.set)
    if (m.id != self_.id && !peers_.contains(m.id))
      return m.name + " at " + m.address;
  return {};
}

// ---- promises

handshake formation::own() const {
  handshake i;
  i.self = self_;
  i.datacenter = datacenter_;
  i.cluster_id = cluster_id_;
  i.expect = settings_.replica ? 0 : settings_.expect;
  i.has_replicas = true;
  i.replica = settings_.replica;
  i.has_log = has_log_;
  i.first = promise_;
  i.reaches_cluster = cluster_id_ == 0 && cluster_near();
  return i;
}

bool formation::given_up_by_enough(const promise& p) const {
  std::size_t count = p.given_up ? 1 : 0;
  for (const auto& m : p.set) {
    const auto* peer = m.id == self_.id ? nullptr : find(m.id);
    if (peer != nullptr && eligible(*peer) && peer->first.given_up && peer->first.round == p.round &&
        peer->first.set == p.set)
      ++count;
  }
  const auto majority = p.set.size() / 2 + 1;
  return p.set.size() - count < majority;
}

/// It is certain that its configuration was not created, or can never have a leader.
bool formation::dead(const promise& p) const {
  for (const auto& m : p.set) {
    const auto* peer = m.id == self_.id ? nullptr : find(m.id);
    if (peer == nullptr || !peer->promises) // whether it is in a cluster now does not matter
      continue;
    const auto& sent = peer->first;
    if (sent.round > p.round || (sent.round == p.round && sent.set != p.set))
      return true;
    if (sent.round < p.round &&
        (peer->cluster_id != 0 || peer->has_log)) // it never promised this set, and promises no more
      return true;
  }
  return given_up_by_enough(p);
}

bool formation::should_give_up() const {
  if (promise_.given_up || cluster_near())
    return false;
  bool others_gave_up = false;
  for (const auto& m : promise_.set) {
    const auto* p = m.id == self_.id ? nullptr : find(m.id);
    if (p != nullptr && p->cluster_id == promised_cluster())
      return false; // it was created
    others_gave_up = others_gave_up || (p != nullptr && p->first.given_up && p->first.round == promise_.round &&
                                        p->first.set == promise_.set);
  }
  if (others_gave_up)
    return true;
  if (silent_ticks_ < settings_.give_up_ticks)
    return false;
  const auto others = std::count_if(peers_.begin(), peers_.end(), [this](const auto& p) { return eligible(p.second); });
  return static_cast<std::size_t>(others) + 1 >= settings_.expect; // else nothing is gained
}

/// Empty: too few are reachable.
std::vector<member> formation::chosen_set() const {
  std::vector<member> all{self_};
  for (const auto& [id, p] : peers_)
    if (eligible(p))
      all.push_back(p.self);
  if (all.size() < settings_.expect)
    return {};
  std::sort(all.begin(), all.end(), by_id);
  all.resize(settings_.expect);
  INVARIANT(well_formed(configuration_of_voters(all))); // each server once
  return all;
}

/// The lowest round in which all could promise that set; peers that name the same set may be in it.
std::uint64_t formation::round_for(const std::vector<member>& set) const {
  std::uint64_t newest = promise_.round + 1;
  for (const auto& [id, p] : peers_)
    if (eligible(p))
      newest = std::max(newest, p.first.round);
  const bool taken = std::any_of(peers_.begin(), peers_.end(), [&](const auto& known) {
    const auto& p = known.second;
    return eligible(p) && p.first.round == newest && p.first.set != set &&
           (!p.first.set.empty() || contains(set, p.self.id));
  });
  return taken ? newest + 1 : newest;
}

/// In this order: drop a promise that enough others have given up; give up one with a silent
/// member; otherwise promise the set chosen now, unless a cluster is near, a server has not been
/// met, or the pause after an earlier promise has not passed. nullopt: the current promise stays.
std::optional<promise> formation::next_promise() const {
  if (!may_form() || bound_to_ != 0)
    return std::nullopt;
  if (!promise_.set.empty() && given_up_by_enough(promise_)) {
    // Reported at once, so that others do not take what one server created alone for a cluster.
    auto old = promise_;
    refuse(old);
    promise next;
    next.round = promise_.round + 1;
    next.refused = std::move(old.refused);
    return next;
  }
  if (!promise_.set.empty() && !dead(promise_)) {
    if (!should_give_up())
      return std::nullopt;
    PROBE("formation: promise given up, a member is silent");
    auto p = promise_;
    p.given_up = true;
    refuse(p);
    return p;
  }
  const bool waits = cluster_near() || cluster_received() || !(all_met_ || calm_ticks_ >= settings_.timeout_ticks);
  auto set = waits ? std::vector<member>() : chosen_set();
  promise next;
  next.refused = promise_.refused;
  if (set.empty()) {
    if (promise_.set.empty())
      return std::nullopt;
    next.round = promise_.round + 1; // drop it at once: while this server names the set, others cannot ignore it
    return next;
  }
  if (contains(set, self_.id)) {
    if (pause_ticks_ > 0 && !MUTANT(sets_promised_without_pause))
      return std::nullopt;
    next.round = round_for(set);
    next.set = std::move(set);
    return next;
  }
  // Servers that promised a set with this server must learn that it will never be created.
  for (const auto& [id, p] : peers_)
    if (eligible(p) && contains(p.first.set, self_.id))
      next.round = std::max(next.round, p.first.round);
  if (next.round <= promise_.round)
    return std::nullopt;
  return next;
}

void formation::promised(promise p) {
  // Rounds only rise, and a round has at most one set: the proof in the header relies on it.
  PRECONDITION(p.round >= promise_.round);
  PRECONDITION(p.round > promise_.round || p.set == promise_.set);
  PRECONDITION(p.round > promise_.round || p.given_up || !promise_.given_up);
  PRECONDITION(p.refused.size() >= promise_.refused.size()); // a cluster that was given up stays so
  PRECONDITION(p.round == promise_.round || p.set.empty() || contains(p.set, self_.id));
  promise_ = std::move(p);
  silent_ticks_ = 0;
  if (!promise_.set.empty() && !promise_.given_up && ++sets_in_row_ >= settings_.sets_at_once)
    pause_ticks_ = std::min(1 << std::min(sets_in_row_ - settings_.sets_at_once, 20), settings_.pause_ticks_max);
}

std::optional<configuration> formation::first_configuration() const {
  if (!may_form() || promise_.set.empty() || promise_.given_up || cluster_near())
    return std::nullopt;
  const auto cluster = promised_cluster();
  if (bound_to_ != 0 && bound_to_ != cluster)
    return std::nullopt;
  bool all = true, made = false;
  for (const auto& m : promise_.set) {
    const auto* p = m.id == self_.id ? nullptr : find(m.id);
    // The server that created it received it from all.
    made = made || (p != nullptr && p->cluster_id == cluster && !is_refused(*p));
    all = all && (m.id == self_.id || (p != nullptr && eligible(*p) && p->first.set == promise_.set &&
                                       p->first.round == promise_.round && !p->first.given_up));
  }
  if (!all && !made)
    return std::nullopt;
  return configuration_of_voters(promise_.set);
}

void formation::joined(std::uint64_t cluster_id) {
  PRECONDITION(cluster_id != 0);
  PRECONDITION(cluster_id_ == 0 || cluster_id_ == cluster_id); // a data directory belongs to one cluster
  // Servers that connected before the formation count, although the set was full.
  if (may_form() && cluster_id == promised_cluster())
    for (const auto& [id, p] : peers_)
      if (eligible(p) && !contains(promise_.set, id))
        admit(p.self.address);
  cluster_id_ = cluster_id;
  has_log_ = true;
}

std::uint64_t formation::cluster_id_of(const configuration& first) {
  const auto bytes = encode(first);
  const std::uint64_t id = (std::uint64_t{crc32c(bytes)} << 32) | crc32c(bytes, 1);
  return id == 0 ? 1 : id;
}

} // namespace belay::raft
