#include "actors/consensus/peer_handshake.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/mutants.hpp"

#include <utility>
#include <vector>

namespace belay::actors {

namespace {

// Bytes of a fatal TLS alert, handshake_failure: the dialing peer then knows that TLS is required.
constexpr std::string_view alert("\x15\x03\x03\x00\x02\x02\x28", 7);

} // namespace

result<std::optional<peer_handshake::outcome>> peer_handshake::feed(std::string_view bytes) {
  if (auto s = take(bytes); !s)
    return s.reason();
  constexpr std::size_t length_bytes = 4;
  if (decrypted_.size() < length_bytes)
    return std::optional<outcome>();
  byte_reader header(decrypted_);
  const auto whole = length_bytes + std::size_t{header.u32()};
  if (whole > hello_bytes_max)
    return failure{"the peer does not speak this protocol"};
  if (decrypted_.size() < whole)
    return std::optional<outcome>();
  wire::frame_decoder decoder;
  std::vector<wire::frame> frames;
  const auto fed = decoder.feed(std::string_view(decrypted_).substr(0, whole), frames);
  if (!fed)
    return fed.reason();
  if (frames.size() != 1 || !std::holds_alternative<wire::hello>(frames.front()))
    return failure{"the first frame of the peer is not a hello"};
  auto& hello = std::get<wire::hello>(frames.front());
  // A client agent is not a member: except for facts about its node, it is authorized like a
  // client.
  const auto* proof = channel_ ? &channel_->peer() : nullptr;
  const bool may = proof == nullptr || (hello.client_agent ? proof->may_be_client_agent : proof->may_be_raft_peer);
  if (!may && !MUTANT(name_of_peer_ignored))
    return failure{"certificate of peer names " + proof->name + ", not " +
                   (hello.client_agent ? mine_->client_name() : mine_->server_name())};
  return std::optional(outcome{std::move(channel_), std::move(hello), decrypted_.substr(whole)});
}

status peer_handshake::take(std::string_view bytes) {
  std::string kept;
  if (!channel_ && !plain_) {
    kept = std::move(first_);
    kept += bytes;
    bytes = kept;
    if (auto s = choose_kind(bytes); !s) {
      answer_ = alert;
      return s;
    }
  }
  if (!channel_) {
    (plain_ ? decrypted_ : first_) += bytes;
    return done{};
  }
  const auto fed = channel_->feed(bytes, decrypted_);
  channel_->take_output(answer_);
  return fed;
}

/// A TLS record begins with 22 and the version 3.x.
/// Read as a frame length it would be at least 64 KiB, far above a hello.
status peer_handshake::choose_kind(std::string_view first) {
  if (first.size() < 3)
    return done{};
  const bool is_tls = first[0] == 0x16 && first[1] == 0x03 && first[2] != 0;
  if (is_tls && !mine_->accepts_tls())
    return failure{"peer uses TLS, and this server has neither a certificate nor an encrypt key"};
  if (!is_tls && !mine_->accepts_plaintext())
    return failure{"peer does not use TLS, which this server requires"};
  if (is_tls)
    channel_.emplace(mine_, tls::channel::side::accepts);
  else
    plain_ = true;
  return done{};
}

std::string peer_handshake::take_answer() {
  return std::exchange(answer_, {});
}

} // namespace belay::actors
