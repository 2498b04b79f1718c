#include "sim/faults/version_skew.hpp"

#include "protocol/wire/command_codec.hpp"

#include <caf/send.hpp>

namespace belay::sim {

namespace {

constexpr stream of_version_skew{stream_kind::nemesis, 0x7FF9};

} // namespace

void version_skew::start() {
  acting_ = true;
  act();
}

void version_skew::act() {
  if (!acting_)
    return;
  time_.after(std::chrono::milliseconds(200 + tape_.choose(of_version_skew, 1500)), [this] { act(); });
  const auto drawn = tape_.choose(of_version_skew, 2 * nodes_.size());
  const auto node = drawn / 2;
  // The older server gets commands of that kind only from its peers.
  if (drawn % 2 == 0 || !nodes_.running(node) || nodes_.level_of(node) < level)
    return;
  ++requested_;
  trace_.line(time_.now(), node, "a newer client asks for a command of a newer kind");
  const auto command = wire::encode_needs({level, "9.8.7"}) + "\xc8 of a newer kind";
  caf::anon_send(nodes_.handles(node).raft_peer,
                 actors::propose_write{nodes_.next_request(node), make_payload(command)});
}

} // namespace belay::sim
