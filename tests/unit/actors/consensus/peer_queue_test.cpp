// Which of two classes of frames is first. A server that forwards 32 MB must keep its leader.

#include "actors/consensus/peer_queue.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

wire::frame bulk(std::uint64_t id, std::size_t bytes) {
  wire::forward_call c;
  c.id = request_id{id};
  c.bytes = make_payload(std::string(bytes, 'x'));
  return c;
}

wire::frame urgent(std::uint64_t id) {
  return wire::read_index{id, false};
}

/// Ids in the order in which they were sent.
std::vector<std::uint64_t> ids_in(const std::string& bytes) {
  wire::frame_decoder decoder;
  std::vector<wire::frame> frames;
  REQUIRE(decoder.feed(bytes, frames).ok());
  CHECK(decoder.unfinished_bytes() == 0);
  std::vector<std::uint64_t> ids;
  for (const auto& f : frames)
    if (const auto* c = std::get_if<wire::forward_call>(&f))
      ids.push_back(c->id.value);
    else if (const auto* q = std::get_if<wire::read_index>(&f))
      ids.push_back(q->id);
  return ids;
}

} // namespace

TEST_CASE("urgent frames overtake bulk, and each class keeps its order", "[peer_queue]") {
  peer_queue q(32u << 20);
  for (std::uint64_t i = 0; i < 10; ++i)
    CHECK(q.push(bulk(i, 100'000), 0));
  CHECK(q.push(urgent(100), 0));
  CHECK(q.push(urgent(101), 0));
  std::string first;
  q.take(0, first);
  // A window of bulk at most: a later urgent frame does not wait for the rest.
  CHECK(ids_in(first) == std::vector<std::uint64_t>{100, 101, 0, 1, 2});
  CHECK(q.push(urgent(102), first.size()));
  CHECK(q.has_work(first.size()));
  std::string second;
  q.take(first.size(), second);
  CHECK(ids_in(second) == std::vector<std::uint64_t>{102});
  CHECK_FALSE(q.has_work(first.size()));
  CHECK(q.has_work(0));
  std::string rest;
  while (!q.empty())
    q.take(0, rest);
  CHECK(ids_in(rest) == std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a frame larger than the window is sent when nothing else waits", "[peer_queue]") {
  peer_queue q(32u << 20);
  CHECK(q.push(bulk(1, 5'000'000), 0));
  std::string out;
  q.take(peer_queue::bulk_window, out);
  CHECK(out.empty());
  q.take(0, out);
  CHECK(ids_in(out) == std::vector<std::uint64_t>{1});
}

TEST_CASE("a peer that takes nothing costs a bounded number of bytes, and urgent frames are not dropped for bulk",
          "[peer_queue]") {
  peer_queue q(1'000'000);
  std::size_t taken = 0;
  while (taken < 1000 && q.push(bulk(taken, 100'000), 0))
    ++taken;
  CHECK(taken == 10);
  CHECK(q.push(urgent(1), 0));
  CHECK_FALSE(q.push(urgent(2), 1'000'001));
  q.clear();
  CHECK(q.empty());
  CHECK(q.push(bulk(1, 10), 0));
}
