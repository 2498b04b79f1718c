#include "sim/faults/unauthenticated_peer.hpp"

#include "protocol/go_compat/base64.hpp"
#include "sim/chance/drawn_parts.hpp"

namespace belay::sim {

namespace {

using std::chrono::milliseconds;

constexpr stream of_the_unauthenticated{stream_kind::nemesis, 0x7FF8};
constexpr std::int64_t day = 24 * 3600;

enum class false_paper : std::uint8_t {
  none,
  unknown_key,
  retired_key,
  other_auth_context,
  of_client,
  of_other_datacenter,
  expired,
  not_valid_yet,
  retired_authority,
};
// Tapes store the numbers, so append new ones.
constexpr share<false_paper> false_papers[] = {
    {false_paper::none, 2},
    {false_paper::unknown_key, 1},
    {false_paper::retired_key, 3},
    {false_paper::other_auth_context, 2},
    {false_paper::of_client, 2},
    {false_paper::of_other_datacenter, 1},
    {false_paper::expired, 2},
    {false_paper::not_valid_yet, 1},
    {false_paper::retired_authority, 2},
};

} // namespace

void unauthenticated_peer::start() {
  acting_ = true;
  act();
}

void unauthenticated_peer::act() {
  if (!acting_)
    return;
  time_.after(milliseconds(100 + tape_.choose(of_the_unauthenticated, 400)), [this] { act(); });
  const auto drawn = tape_.choose(of_the_unauthenticated, 2 * nodes_.size());
  const auto node = drawn / 2, whose = tape_.choose(of_the_unauthenticated, nodes_.size());
  if (drawn % 2 == 0 || !nodes_.running(node) || node == whose)
    return;
  // Claims the name of a member, whatever the address.
  (void)connect(node, {nodes_.member(whose), "dc1", nodes_.cluster_id(node), 0, {}, state::own_level});
}

peer_doors::admission unauthenticated_peer::connect(std::size_t node, const wire::hello& hello) {
  ++attempts_;
  return nodes_.doors()->admit_unverified_peer(drawn_credentials(), node, hello);
}

/// Credentials that no server may accept: none, an unknown or retired key, or a certificate with
/// one thing wrong.
credential_facts unauthenticated_peer::drawn_credentials() {
  const auto what = action_of(false_papers, tape_.choose(of_the_unauthenticated, numbers_of(false_papers)));
  credential_facts f;
  const auto& known = nodes_.doors()->known;
  const auto& keys = known.retired_keys;
  const auto& authorities = known.retired_authorities;
  if (what == false_paper::none)
    return f;
  if (what == false_paper::unknown_key || what == false_paper::retired_key) {
    f.encrypt = {go_compat::base64("nobody has ever had this")};
    if (what == false_paper::retired_key && !keys.empty())
      f.encrypt = {keys[tape_.choose(of_the_unauthenticated, keys.size())]};
    return f;
  }
  f.verify_outgoing = true;
  f.authorities = {known.authority, static_cast<char>(known.authority + 1), 'X'};
  ordered_certificate c{known.authority, "server.dc1.consul", begin_of_runs - years, begin_of_runs + years};
  switch (what) {
  case false_paper::other_auth_context:
    c.authority = 'X';
    break;
  case false_paper::of_client:
    c.name = "client.dc1.consul";
    break;
  case false_paper::of_other_datacenter:
    c.name = "server.dc2.consul";
    break;
  case false_paper::expired:
    c.ends = begin_of_runs - day;
    break;
  case false_paper::not_valid_yet:
    c.begins = begin_of_runs + day;
    break;
  case false_paper::retired_authority:
    if (!authorities.empty())
      c.authority = authorities[tape_.choose(of_the_unauthenticated, authorities.size())];
    else
      c.authority = 'X';
    break;
  case false_paper::none:
  case false_paper::unknown_key:
  case false_paper::retired_key:
    break;
  }
  f.certificate = c;
  return f;
}

} // namespace belay::sim
