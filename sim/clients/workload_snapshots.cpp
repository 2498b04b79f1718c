// The part of `workload` with clients that save and restore archives (GET and PUT /v1/snapshot).

#include "protocol/base/probe.hpp"
#include "sim/clients/workload.hpp"

#include <algorithm>
#include <cstdlib>

namespace belay::sim {

namespace {

// More would only restore the same state.
constexpr std::size_t archives_max = 3;
// Sizes of the pieces of an upload. Small ones make many messages.
constexpr std::size_t piece_sizes[] = {std::size_t{1} << 20, 4096, 700};
constexpr std::chrono::milliseconds between_pieces{1};
// A transfer takes as long as several requests: each part may wait for a leader.
constexpr int timeouts_for_all = 4;

/// A leader rejects archives with rows of a feature level until it knows that all members have it.
bool may_need_level(const swarm& s, const cluster& nodes) {
  const bool capitals = s.acls != acl_mode::off; // accessors with capital letters, which need a level
  return nodes.has_older_server() || capitals || s.claimers + s.repeaters + s.library != 0;
}

/// Zero: there is none.
log_index index_in(const http_answer& a, std::string_view name) {
  const auto* text = a.header(name);
  return log_index{text == nullptr ? 0 : std::strtoull(text->c_str(), nullptr, 10)};
}

} // namespace

workload::transfer& workload::begin_transfer(client_state& c, std::size_t node) {
  auto& t = c.moving.emplace(transfer{});
  t.connection = ++transfers_;
  t.node = node;
  t.life = nodes_.life(node);
  t.known = replies_.known();
  time_.after(swarm_.client_timeout * timeouts_for_all, [this, connection = t.connection] {
    if (auto* client = client_of(connection))
      end_transfer(*client, true);
  });
  return t;
}

void workload::begin_save(client_state& c, std::size_t node) {
  auto& t = begin_transfer(c, node);
  nodes_.gateway(node).send(t.connection,
                            "GET /v1/snapshot HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n" + token_header(swarm_) + "\r\n");
}

void workload::begin_restore(client_state& c, std::size_t node, std::uint64_t drawn) {
  if (archives_.empty())
    return begin_save(c, node);
  auto& t = begin_transfer(c, node);
  t.restores = true;
  t.bytes = archives_[drawn % archives_.size()];
  t.piece_bytes = piece_sizes[drawn / 4 % std::size(piece_sizes)];
  t.damaged = drawn / 16 % 8 == 0;
  if (t.damaged) // cut somewhere
    t.bytes.resize(t.bytes.size() * (drawn / 128) / 8);
  nodes_.gateway(node).send(t.connection, "PUT /v1/snapshot HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n" +
                                              token_header(swarm_) +
                                              "Content-Length: " + std::to_string(t.bytes.size()) + "\r\n\r\n");
  give_piece(c.number, t.connection);
}

void workload::give_piece(std::size_t client, connection_id connection) {
  auto& c = clients_[client];
  if (!c.moving || c.moving->connection != connection)
    return;
  auto& t = *c.moving;
  auto piece = t.bytes.substr(t.given, t.piece_bytes);
  if (piece.empty())
    return;
  t.given += piece.size();
  nodes_.gateway(t.node).send(connection, std::move(piece));
  time_.after(between_pieces, [this, client, connection] { give_piece(client, connection); });
}

/// The transfer has ended, or the client disconnects.
void workload::end_transfer(client_state& c, bool hang_up) {
  const auto t = std::move(*c.moving);
  c.moving.reset();
  if (hang_up && nodes_.state(t.node) != node_state::down && nodes_.life(t.node) == t.life)
    nodes_.gateway(t.node).hang_up(t.connection);
  schedule_step(c, think_time());
}

workload::client_state* workload::client_of(connection_id connection) {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const client_state& each) {
    return each.moving && each.moving->connection == connection;
  });
  return found == clients_.end() ? nullptr : &*found;
}

/// @returns false: the client disconnects
bool workload::transfer_bytes(client_state& c, std::string_view bytes, bool last) {
  auto& t = *c.moving;
  t.answer += bytes;
  trace_.add(t.answer.size());
  const auto answer = whole_answer(t.answer, false);
  if (!answer && !last)
    return true;
  if (answer && t.restores)
    restored(c, *answer);
  else if (answer)
    saved(c, *answer);
  end_transfer(c, false);
  return false;
}

void workload::saved(client_state& c, const http_answer& a) {
  const auto& t = *c.moving;
  if (a.status != 200)
    return;
  if (const auto index = index_in(a, "X-Consul-Index"); index < t.known)
    complain("archives", "an archive of index " + to_string(index) + " was saved by node " + std::to_string(t.node) +
                             " after index " + to_string(t.known) + " was known");
  PROBE("clients: archive saved");
  archives_.push_back(a.body);
  if (archives_.size() > archives_max)
    archives_.pop_front();
}

void workload::restored(client_state& c, const http_answer& a) {
  const auto& t = *c.moving;
  if (a.status == 200 && t.damaged)
    complain("archives", "node " + std::to_string(t.node) + " accepted a truncated archive as complete");
  else if (a.status == 200 && !replies_.model().restored_between(t.known, index_in(a, "X-Belay-Index")))
    complain("archives", "node " + std::to_string(t.node) + " reported an archive as restored at entry " +
                             to_string(index_in(a, "X-Belay-Index")) + ", but none has come into force since entry " +
                             to_string(t.known));
  else if (a.status != 200 && a.status != 500 && !(a.status == 409 && may_need_level(swarm_, nodes_)))
    complain("archives", "node " + std::to_string(t.node) + " answered a restore with status " +
                             std::to_string(a.status) + ": " + a.body);
}

/// The checkpointer's result, because a 500 response does not distinguish damage from an election.
void workload::archive_received(std::size_t node, const actors::archive_unpacked& u) {
  const auto connection = nodes_.gateway(node).asking(u.id);
  const auto* c = connection ? client_of(*connection) : nullptr;
  if (c == nullptr || u.error.empty())
    return;
  PROBE("clients: damaged archive refused");
  // Reading the archive reveals damage of the server's disk, so a transfer may end at any time.
  if (!c->moving->damaged && !swarm_.faults.bit_flip)
    complain("archives", "node " + std::to_string(node) + " refused an archive without damage: " + u.error);
}

void workload::transfers_lost(std::size_t node) {
  for (auto& c : clients_)
    if (c.moving && c.moving->node == node)
      end_transfer(c, false);
}

} // namespace belay::sim
