#include "sim/faults/unverified_peer.hpp"

#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <caf/send.hpp>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;

constexpr stream forgeries{stream_kind::nemesis, 0x7FFE};
constexpr node_id own_id{0x5716A96E};
// Actions of the switch in act(); 0: none. Tapes store the numbers, so append new ones.
constexpr std::uint64_t kinds_of_forgeries = 15;

// The file of a snapshot that no server has.
class flat_file final : public storage::file {
public:
  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    return offset >= bytes.size() ? std::size_t{0} : bytes.copy(into, n, offset);
  }
  status write_at(std::uint64_t, const std::vector<std::string_view>& parts) override {
    for (auto p : parts)
      bytes.append(p);
    return done{};
  }
  status sync() override { return done{}; }
  void begin_writeback(std::uint64_t, std::uint64_t) override {}
  result<std::uint64_t> size() override { return std::uint64_t{bytes.size()}; }

  std::string bytes;
};

raft::entry forged_entry(log_index index, term_id term, cluster_time time) {
  state::kv_op op;
  op.key = "forged";
  op.value = make_payload("forged");
  return {index, term, time, raft::entry_kind::command, make_payload(wire::encode_command(state::kv_write{op}))};
}

} // namespace

unverified_peer::unverified_peer(schedule& time, tape& choices, event_trace& trace, cluster& nodes)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes) {}

std::uint64_t unverified_peer::draw(std::uint64_t n) {
  return tape_.choose(forgeries, n);
}

void unverified_peer::start() {
  acting_ = true;
  act();
}

void unverified_peer::send(std::size_t to, node_id from, std::string words, wire::frame what) {
  // With the name and address of the receiver it cannot be taken for a server that wants to join.
  auto self = nodes_.member(to);
  self.id = from;
  wire::hello hello{std::move(self), "dc1", nodes_.cluster_id(to), 0, {}, state::own_level};
  const auto decision = let_in ? let_in(to, hello) : peer_doors::admission{true, false, {}};
  if (!decision.in)
    return;
  ++frames_;
  trace_.add(0x5716 ^ to << 16 ^ frames_ << 24);
  if (trace_.wanted())
    trace_.line(time_.now(), to, "a stranger, as server " + to_string(from) + ": " + words);
  actors::frames_received received;
  received.from = from;
  received.proven = decision.encrypted;
  if (from == own_id)
    received.list.emplace_back(std::move(hello));
  received.list.push_back(std::move(what));
  const auto peer = nodes_.handles(to).raft_peer;
  caf::anon_send(peer, std::move(received));
  if (from == own_id)
    caf::anon_send(peer, actors::peer_lost{own_id});
}

/// Sends one forged frame to a random server: under an id of its own, which is not a member's, or
/// under that of a member. Each kind would do harm at a server that trusts it. None may change
/// anything at a server that does not.
void unverified_peer::act() {
  if (!acting_)
    return;
  time_.after(milliseconds(50 + draw(400)), [this] { act(); });
  const auto what = draw(kinds_of_forgeries);
  const auto to = draw(nodes_.size());
  const auto whose = draw(nodes_.size());
  if (what == 0 || !nodes_.running(to) || to == whose || nodes_.core(to)->config().empty())
    return;
  const auto& core = *nodes_.core(to);
  const auto member = nodes_.id_of(whose), self = nodes_.id_of(to), leader = core.soft().leader;
  const auto term = core.term();
  const term_id far{term.value + (std::uint64_t{1} << 40)};
  const auto over = term.is_zero() ? term : term.prev();
  const auto last = core.last_index();
  const auto message = [&](node_id from, term_id t, raft::message_body body) {
    return raft::message{from, self, t, std::move(body)};
  };
  switch (what) {
  case 1:
    return send(to, own_id, "asks for a vote of a far term",
                message(own_id, far, raft::vote_request{false, true, log_index{1u << 30}, term}));
  case 2:
    return send(to, own_id, "asks for a vote",
                message(own_id, term.next(), raft::vote_request{false, true, log_index{1u << 30}, term}));
  case 3:
  case 4: // twice, because it can do most harm
    return send(
        to, own_id, "appends as a leader",
        message(
            own_id, term.next(),
            raft::append_entries{
                last, core.term_at(last), last.next(), 1, {forged_entry(last.next(), term.next(), core.last_time())}}));
  case 5:
    return send(to, member, "answers from a far term",
                message(member, far, raft::append_reply{false, {}, log_index{1}, {}, {}, 0}));
  case 6:
    if (member != leader && core.config().contains(member))
      send(to, member, "wants it to lead", message(member, term, raft::timeout_now{}));
    return;
  case 9: {
    state::kv_op op;
    op.key = "forged";
    op.value = make_payload("forged");
    return send(to, own_id, "forwards a write",
                wire::forward_call{request_id{0x0000'7777'0000'0000 + frames_}, wire::call_kind::propose,
                                   make_payload(wire::encode_command(state::kv_write{std::move(op)}))});
  }
  case 7:
    return send(to, member, "forwards a command that cannot be read",
                wire::forward_call{request_id{0x0000'7777'0000'0000 + frames_}, wire::call_kind::propose,
                                   make_payload("\x01\x4dgarbage")});
  // Under its own id: only members are accepted.
  case 10:
    return send(to, own_id, "is the leader of this term, and says that all is committed",
                message(own_id, term, raft::append_entries{last, core.term_at(last), last, 1, {}}));
  case 11:
    return send(to, own_id, "gives its vote", message(own_id, term, raft::vote_reply{draw(2) == 1, true}));
  case 12:
    return send(to, own_id, "has all entries",
                message(own_id, term, raft::append_reply{true, last, {}, {}, {}, 1u << 30}));
  // Under a member's id: messages of past terms no longer count.
  case 13:
    if (over.is_zero())
      return;
    return send(to, member, "gives a vote in a term that is over",
                message(member, over, raft::vote_reply{false, true}));
  case 14:
    if (over.is_zero())
      return;
    return send(
        to, member, "appends as the leader of a term that is over",
        message(member, over,
                raft::append_entries{
                    last, core.term_at(last), last.next(), 1, {forged_entry(last.next(), over, core.last_time())}}));
  default:
    if (!leader.is_zero() && leader != self)
      forge_snapshot(to, leader);
  }
}

/// A snapshot as from the leader, in which all is right but the rows: the digest is that of others.
void unverified_peer::forge_snapshot(std::size_t to, node_id leader) {
  const auto& core = *nodes_.core(to);
  storage::checkpoint_info info;
  info.meta = {core.last_index().next().next(), core.term(), core.last_time(), core.config()};
  info.digest = 1;
  state::kv_draft entry;
  entry.key = "forged";
  entry.value = make_payload("forged");
  entry.create_index = entry.modify_index = log_index{1};
  const auto row = wire::encode_row({state::table::kv, entry.key, state::kv_entry_ptr(entry)});
  flat_file file;
  storage::snapshot_writer writer(file, info);
  const bool written =
      row && writer.add({static_cast<std::uint8_t>(state::table::kv), "forged", *row}).ok() && writer.finish().ok();
  INVARIANT(written);
  send(to, leader, "sends a snapshot",
       raft::message{leader, core.self(), core.term(),
                     raft::snapshot_chunk{info.meta, 0, make_payload(std::move(file.bytes)), true}});
}

} // namespace belay::sim
