// sim/checkers/answer_times: which responses are late, and whose time does not count.
#include "sim/checkers/answer_times.hpp"

#include <catch2/catch.hpp>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr answer_time_rules rules{seconds(7), seconds(2)};

operation write_at(std::size_t node, std::uint64_t id = 1) {
  operation op;
  op.id = id;
  op.node = node;
  op.write = state::kv_write{};
  return op;
}

operation read_at(std::size_t node, std::uint64_t min_index, virtual_time wait) {
  operation op;
  op.id = 1;
  op.node = node;
  op.read.emplace();
  op.read->min_index = min_index;
  op.read->wait = wait;
  return op;
}

/// Node 0 has a correct clock; checks every 100 ms. @returns time of the first failure; zero: none
virtual_time first_complaint(answer_time_checker& c, virtual_time until) {
  for (virtual_time t = milliseconds(100); t <= until; t += milliseconds(100))
    if (c.look(0, true, t, t))
      return t;
  return {};
}

} // namespace

TEST_CASE("answer_times: a request has the hold time and the slack, not more", "[sim]") {
  answer_time_checker c(rules);
  c.look(0, true, {}, {});
  c.begun(write_at(0));
  CHECK(first_complaint(c, seconds(20)) == milliseconds(9100));
  CHECK(c.look(0, true, seconds(21), seconds(21))->find("write 1 ") == 0);
}

TEST_CASE("answer_times: a client with a response is no longer late, and time of other nodes does not count", "[sim]") {
  answer_time_checker c(rules);
  c.look(0, true, {}, {});
  c.begun(write_at(0));
  c.begun(write_at(1, 2));
  CHECK(first_complaint(c, milliseconds(9000)) == virtual_time::zero());
  c.ended(write_at(0));
  CHECK(first_complaint(c, seconds(20)) == virtual_time::zero());
}

TEST_CASE("answer_times: a blocking query may take its wait, a waiting acquire its delay, a read without index neither",
          "[sim]") {
  answer_time_checker blocking(rules);
  blocking.look(0, true, {}, {});
  blocking.begun(read_at(0, 5, seconds(16)));
  CHECK(first_complaint(blocking, seconds(30)) == milliseconds(19100)); // 16 s, a sixteenth, the slack

  answer_time_checker short_wait(rules);
  short_wait.look(0, true, {}, {});
  short_wait.begun(read_at(0, 5, milliseconds(10))); // it may wait for a leader first
  CHECK(first_complaint(short_wait, seconds(30)) == milliseconds(9100));

  answer_time_checker plain(rules);
  plain.look(0, true, {}, {});
  plain.begun(read_at(0, 0, seconds(16)));
  CHECK(first_complaint(plain, seconds(30)) == milliseconds(9100));

  answer_time_checker delayed(rules);
  delayed.look(0, true, {}, {});
  auto acquire = write_at(0);
  acquire.lock_wait = seconds(3);
  delayed.begun(acquire);
  CHECK(first_complaint(delayed, seconds(30)) == milliseconds(12100));
}

// An agent first waits for a reachable server. Then its link may break, or the server pause: the
// agent reports the outcome of a write as unknown, and sends a read twice more.
TEST_CASE("answer_times: a request through a client agent has its waits, too", "[sim]") {
  auto write = write_at(0);
  write.through_agent = true;
  answer_time_checker writes(rules);
  writes.look(0, true, {}, {});
  writes.begun(write);
  CHECK(first_complaint(writes, seconds(60)) == milliseconds(21'600)); // 7 + 7 + 5.5 + 2

  auto read = read_at(0, 0, {});
  read.through_agent = true;
  answer_time_checker reads(rules);
  reads.look(0, true, {}, {});
  reads.begun(read);
  CHECK(first_complaint(reads, seconds(60)) == milliseconds(46'600)); // 7 + 3 * (7 + 5.5) + 2
}

TEST_CASE("answer_times: a request of another kind has its limit, and the slack", "[sim]") {
  answer_time_checker c(rules);
  c.look(0, true, {}, {});
  c.begun(7, 0, "PUT /v1/agent/x", seconds(1));
  c.begun(8, 0, "PUT /v1/agent/y", seconds(1));
  c.ended(8);
  CHECK(first_complaint(c, seconds(20)) == milliseconds(3100));
  CHECK(c.look(0, true, seconds(21), seconds(21)) ==
        "PUT /v1/agent/x at node 0 is without an answer after 3000 ms (hold time 7000 ms)");
}

TEST_CASE("answer_times: a node that is paused, or whose clock is slow, has more time; one whose clock jumps does not",
          "[sim]") {
  answer_time_checker paused(rules);
  paused.look(0, true, {}, {});
  paused.begun(write_at(0));
  CHECK_FALSE(paused.look(0, false, seconds(1), seconds(1)));
  CHECK_FALSE(paused.look(0, true, seconds(60), seconds(60)));
  CHECK_FALSE(paused.look(0, true, seconds(68), seconds(68)));
  CHECK(paused.look(0, true, seconds(70), seconds(70)));

  answer_time_checker slow(rules);
  slow.look(0, true, {}, {});
  slow.begun(write_at(0));
  CHECK_FALSE(slow.look(0, true, seconds(17), milliseconds(8500)));
  CHECK(slow.look(0, true, seconds(19), milliseconds(9500)));

  answer_time_checker jumping(rules);
  jumping.look(0, true, {}, {});
  jumping.begun(write_at(0));
  CHECK_FALSE(jumping.look(0, true, milliseconds(100), seconds(300)));
}

} // namespace belay::sim
