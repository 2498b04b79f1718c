// workload: clients that save archives and restore them, as http_gateway does it for HTTP
// (actors/gateway/requests/archive_transfers.cpp).

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/clients/workload.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

// More would only bring back the same.
constexpr std::size_t archives_max = 3;
// A restore ends when one of its parts has no certain outcome after so many tries.
constexpr std::size_t tries_max = 4;
// An upload comes in pieces of any size; the small ones make for more messages than anybody needs.
constexpr std::size_t piece_sizes[] = {std::size_t{1} << 20, 4096, 700};

} // namespace

void workload::begin_save(client_state& c, std::size_t node) {
  auto& t = c.moving.emplace();
  t.serial = ++transfers_;
  t.node = node;
  t.life = nodes_.life(node);
  t.known = replies_.known();
  t.archive = ask_about(c);
  actors::read_query q;
  q.id = t.archive;
  q.request.mode = http::consistency::consistent;
  q.archive = true;
  caf::anon_send(nodes_.wires(node).fsm, std::move(q));
}

void workload::begin_restore(client_state& c, std::size_t node, std::uint64_t drawn) {
  if (archives_.empty())
    return begin_save(c, node);
  auto& t = c.moving.emplace();
  t.serial = ++transfers_;
  t.node = node;
  t.life = nodes_.life(node);
  t.restores = true;
  t.id = "restore " + std::to_string(t.serial);
  t.bytes = archives_[drawn % archives_.size()];
  t.piece_bytes = piece_sizes[drawn / 4 % std::size(piece_sizes)];
  t.damaged = drawn / 16 % 8 == 0;
  if (t.damaged) // cut somewhere
    t.bytes.resize(t.bytes.size() * (drawn / 128) / 8);
  unpack_more(c);
}

/// For the next message of the transfer. It has to be answered in time.
request_id workload::ask_about(client_state& c) {
  auto& t = *c.moving;
  t.asked = nodes_.next_request(t.node);
  time_.after(swarm_.patience, [this, number = c.number, asked = t.asked, serial = t.serial] {
    auto& client = clients_[number];
    if (client.moving && client.moving->serial == serial && client.moving->asked == asked)
      end_transfer(client, true);
  });
  return t.asked;
}

void workload::unpack_more(client_state& c) {
  auto& t = *c.moving;
  actors::unpack_archive u;
  u.id = ask_about(c);
  if (t.archive.is_zero())
    t.archive = u.id;
  u.archive = t.archive;
  u.restore_id = t.id;
  u.bytes = t.bytes.substr(t.given, t.piece_bytes);
  t.given += u.bytes.size();
  u.last = t.given == t.bytes.size();
  caf::anon_send(nodes_.wires(t.node).checkpoints, std::move(u));
}

void workload::propose_part(client_state& c) {
  auto& t = *c.moving;
  t.asked = {};
  t.begun = true;
  ++t.tries;
  c.pending = ask(c.number, t.node, t.part, std::nullopt);
}

void workload::part_decided(client_state& c, const operation& o) {
  auto& t = *c.moving;
  const bool here = nodes_.state(t.node) != node_state::down && nodes_.life(t.node) == t.life;
  if (o.result == outcome::unknown && here && t.tries < tries_max) {
    PROBE("clients: part of a restore proposed again");
    return propose_part(c);
  }
  const auto* yes = std::get_if<bool>(&o.reply);
  if (o.result != outcome::done || yes == nullptr || t.commits || !here || !writing_)
    return end_transfer(c, here);
  t.tries = 0;
  unpack_more(c);
}

/// It has come to its end, or the client is gone.
void workload::end_transfer(client_state& c, bool tell_node) {
  const auto t = std::move(*c.moving);
  c.moving.reset();
  if (tell_node && nodes_.state(t.node) != node_state::down && nodes_.life(t.node) == t.life) {
    const auto& wires = nodes_.wires(t.node);
    caf::anon_send(wires.checkpoints, actors::close_archive{t.archive});
    if (!t.restores)
      caf::anon_send(wires.fsm, actors::cancel_query{t.archive});
    if (t.begun) // without effect if it has come into force
      ask(SIZE_MAX, t.node, state::restore_abort{t.id}, std::nullopt);
  }
  next_turn(c, swarm_.think_time);
}

/// @returns whether the answer was about a transfer
bool workload::for_transfer(std::size_t node, int life, const client_answer& a) {
  const auto id = std::visit([](const auto& r) { return r.id; }, a);
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const client_state& each) {
    return each.moving && each.moving->node == node && each.moving->life == life && each.moving->asked == id;
  });
  const bool about_archives =
      std::holds_alternative<actors::archive_packed>(a) || std::holds_alternative<actors::archive_unpacked>(a);
  if (found == clients_.end())
    return about_archives; // the client has given up
  auto& c = *found;
  auto& t = *c.moving;
  // What is read from a damaged disk is noticed by whoever reads the archive, so it may end at any time.
  const bool may_fail = t.damaged || swarm_.faults.bit_flip;
  if (const auto* checkpointed = std::get_if<actors::read_result>(&a)) {
    if (std::holds_alternative<failure>(checkpointed->answer))
      end_transfer(c, false);
    else
      caf::anon_send(nodes_.wires(node).checkpoints, actors::pack_archive{ask_about(c), t.archive});
  } else if (const auto* packed = std::get_if<actors::archive_packed>(&a)) {
    if (!packed->error.empty()) {
      end_transfer(c, false);
      return true;
    }
    if (packed->index < t.known)
      complain("archives", "an archive of index " + to_string(packed->index) + " was saved by node " +
                               std::to_string(node) + " after index " + to_string(t.known) + " was known");
    t.bytes += packed->bytes;
    if (!packed->last) {
      caf::anon_send(nodes_.wires(node).checkpoints, actors::pack_archive{ask_about(c), t.archive});
      return true;
    }
    PROBE("clients: archive saved");
    archives_.push_back(std::move(t.bytes));
    if (archives_.size() > archives_max)
      archives_.pop_front();
    end_transfer(c, false);
  } else if (const auto* unpacked = std::get_if<actors::archive_unpacked>(&a)) {
    if (!unpacked->error.empty()) {
      PROBE("clients: damaged archive refused");
      if (!may_fail)
        complain("archives", "node " + std::to_string(node) + " refused an archive without damage: " + unpacked->error);
      end_transfer(c, true);
    } else if (unpacked->command == nullptr) {
      if (writing_)
        unpack_more(c);
      else
        end_transfer(c, true);
    } else {
      t.commits = unpacked->last;
      if (t.commits && t.damaged)
        complain("archives", "node " + std::to_string(node) + " took an archive that was cut for a whole one");
      const auto command = wire::decode_command(*unpacked->command);
      INVARIANT(command.has_value());
      t.part = *command;
      propose_part(c);
    }
  }
  return true;
}

void workload::transfers_lost(std::size_t node) {
  for (auto& c : clients_)
    if (c.moving && c.moving->node == node && c.pending == 0)
      end_transfer(c, false);
}

} // namespace belay::sim
