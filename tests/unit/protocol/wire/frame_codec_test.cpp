// Frames between nodes: every kind survives the trip in any split of the stream; nothing that is damaged gets through.

#include "protocol/base/random.hpp"
#include "protocol/wire/frame_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;

namespace {

raft::member member_a() {
  return {node_id{7}, "0f8fad5b-d9cb-469f-a165-70867728950e", "n1", "127.0.0.1:8300"};
}

raft::entry entry_of(std::uint64_t index, std::string text) {
  return {log_index{index}, term_id{3}, cluster_time{123456}, raft::entry_kind::command, make_payload(std::move(text))};
}

std::vector<wire::frame> one_of_each() {
  raft::snapshot_meta meta{log_index{9}, term_id{2}, cluster_time{5}, {{member_a()}, {node_id{7}}, {}, {}}};
  const auto message = [](raft::message_body body) {
    return raft::message{node_id{7}, node_id{8}, term_id{4}, std::move(body)};
  };
  return {
      wire::hello{member_a(), "dc1", 99, 3, {member_a()}},
      message(raft::append_entries{log_index{4}, term_id{3}, log_index{2}, 17, {entry_of(5, "one"), entry_of(6, "")}}),
      message(raft::append_reply{true, log_index{6}, log_index{0}, log_index{3}, term_id{2}, 17}),
      message(raft::vote_request{true, false, log_index{6}, term_id{3}}),
      message(raft::vote_reply{true, true}),
      message(raft::snapshot_chunk{meta, 512, make_payload("chunk"), true}),
      message(raft::snapshot_reply{log_index{9}, 517, true, false}),
      message(raft::timeout_now{}),
      wire::forward_call{request_id{5}, wire::call_kind::renew_session, make_payload("id")},
      wire::forward_reply{request_id{5}, wire::call_outcome::unknown, log_index{8}, "text"},
      wire::read_index{11, true},
      wire::read_index_reply{11, true, log_index{6}},
      agent::user_event{"id", "deploy", std::string("pay\0load", 8), "web.*", "api", "v1", 42},
  };
}

std::string bytes_of(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

std::string stream_of(const std::vector<wire::frame>& frames) {
  std::string out;
  for (const auto& f : frames)
    wire::encode_frame(f, out);
  return out;
}

} // namespace

TEST_CASE("every kind of frame survives the trip, however the stream is cut") {
  const auto sent = one_of_each();
  REQUIRE(sent.size() == 13);
  const auto stream = stream_of(sent);
  for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64}, stream.size()}) {
    wire::frame_decoder decoder;
    std::vector<wire::frame> received;
    for (std::size_t at = 0; at < stream.size(); at += piece)
      REQUIRE(decoder.feed(std::string_view(stream).substr(at, piece), received).ok());
    REQUIRE(received.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i)
      CHECK(bytes_of(received[i]) == bytes_of(sent[i]));
  }
}

TEST_CASE("a flipped bit ends the stream, or leaves it waiting for more, but never yields another frame") {
  const auto sent = one_of_each();
  for (const auto& f : sent) {
    const auto good = bytes_of(f);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      auto bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      wire::frame_decoder decoder;
      std::vector<wire::frame> received;
      (void)decoder.feed(bad, received);
      CHECK(received.empty());
    }
  }
}

TEST_CASE("random bytes with a right checksum are refused or decoded, never worse") {
  seeded_random random(1);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string body(1 + random.below(80), '\0');
    for (auto& c : body)
      c = static_cast<char>(random.next());
    body[0] = 1;
    if (body.size() > 1)
      body[1] = static_cast<char>(1 + random.below(13));
    std::string stream;
    byte_writer w(stream);
    w.u32(static_cast<std::uint32_t>(body.size() + 4));
    w.u32(crc32c(body));
    w.raw(body);
    wire::frame_decoder decoder;
    std::vector<wire::frame> received;
    refused += decoder.feed(stream, received) ? 0 : 1;
  }
  CHECK(refused > 10000);
}

TEST_CASE("a decoder can be told to refuse large frames, and tells what it holds") {
  // Of a stranger few bytes are kept: the length alone is refused, before what it announces has come.
  wire::forward_call large;
  large.id = request_id{1};
  large.bytes = make_payload(std::string(1000, 'x'));
  const auto bytes = bytes_of(large);
  std::vector<wire::frame> frames;
  wire::frame_decoder patient;
  REQUIRE(patient.feed(std::string_view(bytes).substr(0, 100), frames).ok());
  CHECK(patient.unfinished_bytes() == 100);
  patient.set_frame_bytes_max(500);
  CHECK_FALSE(patient.feed(std::string_view(bytes).substr(100, 1), frames).ok());
  wire::frame_decoder strict;
  strict.set_frame_bytes_max(2000);
  REQUIRE(strict.feed(bytes, frames).ok());
  CHECK(frames.size() == 1);
  CHECK(strict.unfinished_bytes() == 0);
}
