// Frames between nodes: every kind survives any split of the stream; damage is rejected.

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

wire::hello hello_with_coordinates() {
  wire::hello h{member_a(), "dc1", 99, 3, {}};
  h.coordinates = true;
  return h;
}

std::vector<wire::frame> one_of_each() {
  raft::snapshot_meta meta{log_index{9}, term_id{2}, cluster_time{5}, {{member_a()}, {node_id{7}}, {}, {}}};
  const auto message = [](raft::message_body body) {
    return raft::message{node_id{7}, node_id{8}, term_id{4}, std::move(body)};
  };
  return {
      wire::hello{member_a(), "dc1", 99, 3, {member_a()}},
      wire::hello{member_a(), "dc1", 99, 3, {member_a()}, 0xfffe},
      wire::hello{member_a(), "dc1", 0, 0x12345, {}},
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
      wire::gossip{{1, cluster_time{2}, 3, 4}, {node_id{5}, node_id{6}}},
      wire::gossip{},
      wire::keyring_call{request_id{5}, {forward::keyring_verb::remove, "QUJDREVGR0hJSktMTU5PUA=="}},
      wire::keyring_reply{request_id{5}, {true, {}, {"QUJDREVGR0hJSktMTU5PUA==", "x"}, false}},
      wire::keyring_reply{request_id{6}, {false, "why not", {}, false}},
      hello_with_coordinates(),
      wire::coordinate_probe{17},
      wire::coordinate_answer{17, {{1, -2, 3e-9, 0, 0, 0, 0, 1e300}, 0.5, -0.25, 1e-5}},
      wire::coordinate_news{{{"n1", "", {}, 5}, {"n2", "alpha", {{1}, 0, 0, 0}, UINT64_MAX}}},
      wire::coordinate_news{},
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
  REQUIRE(sent.size() == 25);
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
      body[1] = static_cast<char>(1 + random.below(16));
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

TEST_CASE("frames about keyrings are bounded, whatever a peer sends") {
  const auto taken = [](const wire::frame& f) {
    std::vector<wire::frame> received;
    return wire::frame_decoder().feed(bytes_of(f), received).ok() && received.size() == 1;
  };
  const std::string key(forward::keyring_key_bytes_max, 'k');
  CHECK(taken(wire::keyring_call{request_id{1}, {forward::keyring_verb::install, key}}));
  CHECK_FALSE(taken(wire::keyring_call{request_id{1}, {forward::keyring_verb::install, key + "k"}}));
  CHECK_FALSE(taken(wire::keyring_call{request_id{1}, {static_cast<forward::keyring_verb>(4), key}}));
  CHECK(taken(wire::keyring_reply{request_id{1}, {true, {}, {key}, false}}));
  CHECK_FALSE(taken(wire::keyring_reply{request_id{1}, {true, {}, {key + "k"}, false}}));
  // What this side sends is truncated instead: a keyring may have been written by hand.
  wire::keyring_reply many{request_id{1}, {true, std::string(1000, 't'), {}, false}};
  many.answer.keys.assign(forward::keyring_keys_max + 1, key);
  std::vector<wire::frame> received;
  REQUIRE(wire::frame_decoder().feed(bytes_of(many), received).ok());
  const auto& a = std::get<wire::keyring_reply>(received.at(0)).answer;
  CHECK(a.keys.size() == forward::keyring_keys_max);
  CHECK(a.text.size() == forward::keyring_text_bytes_max);
}

TEST_CASE("a hello has the features of its sender; one without has level 0") {
  const auto trip = [](const wire::hello& h) {
    std::vector<wire::frame> received;
    REQUIRE(wire::frame_decoder().feed(bytes_of(h), received).ok());
    return std::get<wire::hello>(received.at(0));
  };
  const auto level = GENERATE(0, 1, 0xffff);
  const auto cluster = GENERATE(0u, 99u); // both before and after the formation
  const auto read = trip({member_a(), "dc1", cluster, 65'535, {member_a()}, static_cast<state::feature_level>(level)});
  CHECK(read.level == level);
  CHECK(read.bootstrap_expect == 65'535);
  CHECK(read.agreed.size() == 1);
}

TEST_CASE("additional fields of a hello are read by versions that know them, and by earlier ones as one more member") {
  wire::hello h{member_a(), "dc1", 0, 3, {member_a()}};
  const auto without = bytes_of(h);
  h.known = {"10.0.0.1:8300", "10.0.0.2:8300"};
  h.has_log = h.reaches_cluster = h.promises = h.given_up = true;
  h.round = 7;
  h.refused = {1, 2};
  h.has_replicas = true;
  h.replica = GENERATE(false, true);
  const auto with = bytes_of(h);
  CHECK(without.size() < with.size());
  wire::frame_decoder decoder;
  std::vector<wire::frame> received;
  REQUIRE(decoder.feed(with + without, received).ok());
  const auto& read = std::get<wire::hello>(received.at(0));
  CHECK(read.agreed == h.agreed);
  CHECK(read.known == h.known);
  CHECK(read.has_log);
  CHECK(read.reaches_cluster);
  CHECK(read.promises);
  CHECK(read.round == 7);
  CHECK(read.given_up);
  CHECK(read.refused == h.refused);
  CHECK(read.has_replicas);
  CHECK(read.replica == h.replica);
  CHECK_FALSE(std::get<wire::hello>(received.at(1)).has_replicas);
  CHECK_FALSE(std::get<wire::hello>(received.at(1)).promises);

  // As the first version wrote and read it: the last member of `agreed` has no id.
  byte_reader r(std::string_view(with).substr(10));
  const auto skip_member = [&r] {
    const auto id = r.u64();
    (void)r.text();
    (void)r.text();
    (void)r.text();
    return id;
  };
  CHECK(skip_member() == 7);
  CHECK(r.text() == "dc1");
  CHECK(r.u64() == 0);
  CHECK(r.u32() == 3);
  CHECK(r.varint() == 2);
  CHECK(skip_member() == 7);
  CHECK(skip_member() == 0);
  CHECK(r.complete());
}

TEST_CASE("an unknown block of a hello is skipped, a damaged one ends the connection") {
  const auto frame_with = [](const std::string& blocks) {
    return bytes_of(wire::hello{member_a(), "dc1", 0, 3, {raft::member{node_id{}, {}, {}, blocks}}});
  };
  std::string unknown, cut, promise;
  byte_writer u(unknown), c(cut), p(promise);
  u.u8(200);
  u.u32(3);
  u.raw("abc");
  u.u8(4);
  u.u32(1);
  u.u8(1);
  c.u8(200);
  c.u32(30);
  p.u8(5);
  p.u32(2);
  p.u16(1);
  std::vector<wire::frame> received;
  REQUIRE(wire::frame_decoder().feed(frame_with(unknown), received).ok());
  CHECK(std::get<wire::hello>(received.at(0)).has_log);
  CHECK(std::get<wire::hello>(received.at(0)).agreed.empty());
  CHECK_FALSE(wire::frame_decoder().feed(frame_with(cut), received).ok());
  CHECK_FALSE(wire::frame_decoder().feed(frame_with(promise), received).ok());
}

TEST_CASE("a decoder can be set to reject large frames, and reports what it holds") {
  // Few bytes of an unverified peer are kept: the length alone is rejected.
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

TEST_CASE("a decoder gives memory back when a large frame is complete") {
  // Each connection of an unverified peer kept the 4 MiB of its largest complete frame.
  wire::forward_call large;
  large.id = request_id{1};
  large.bytes = make_payload(std::string(4u << 20, 'x'));
  const auto bytes = bytes_of(large);
  std::vector<wire::frame> frames;
  wire::frame_decoder d;
  for (std::size_t at = 0; at < bytes.size(); at += 4096)
    REQUIRE(d.feed(std::string_view(bytes).substr(at, 4096), frames).ok());
  REQUIRE(frames.size() == 1);
  CHECK(d.reserved_bytes() < 64u << 10);
}

TEST_CASE("introductions can have a limit of their own") {
  wire::hello response;
  response.self.name = std::string(1000, 'n');
  const auto hello = bytes_of(response);
  wire::forward_call call;
  call.bytes = make_payload(std::string(1000, 'x'));
  std::vector<wire::frame> frames;
  wire::frame_decoder d;
  d.set_hello_bytes_max(hello.size());
  REQUIRE(d.feed(hello, frames).ok());
  d.set_hello_bytes_max(hello.size() - 1);
  REQUIRE(d.feed(bytes_of(call), frames).ok());
  CHECK(frames.size() == 2);
  CHECK_FALSE(d.feed(std::string_view(hello).substr(0, 10), frames).ok()); // its length and kind are enough
}
