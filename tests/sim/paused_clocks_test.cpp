#include "sim/checkers/paused_clocks.hpp"

#include "sim/checkers/reply_checker.hpp"
#include "sim/environment/simulated_clock.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("simulated clocks: a suspension is counted by one of them, a stop by none") {
  tape choices(1);
  event_trace trace{{}};
  schedule time(choices, trace);
  simulated_clock clock(time);
  const auto boot = clock.since_boot(), awake = clock.awake();
  const auto wall = clock.wall().value;
  const auto pass = [&](virtual_time t) {
    const auto end = time.now() + t;
    while (time.step(end)) {
    }
  };
  pass(seconds(1));
  clock.suspend();
  pass(seconds(3));
  CHECK(clock.since_boot() - boot == seconds(4));
  CHECK(clock.awake() - awake == seconds(1));
  clock.go_on();
  pass(seconds(1));
  CHECK(clock.since_boot() - boot == seconds(5));
  CHECK(clock.awake() - awake == seconds(2));
  CHECK(clock.now() == clock.since_boot());
  clock.stop();
  CHECK(clock.stopped());
  pass(seconds(10));
  CHECK(clock.since_boot() - boot == seconds(5));
  clock.go_on();
  CHECK_FALSE(clock.stopped());
  pass(seconds(1));
  CHECK(clock.since_boot() - boot == seconds(6));
  CHECK(clock.awake() - awake == seconds(3));
  CHECK(clock.wall().value - wall == 6000); // it was not set meanwhile
}

TEST_CASE("paused clocks: a lease is in doubt from the pause until one could be over") {
  paused_clocks clocks(milliseconds(500));
  CHECK_FALSE(clocks.lease_in_doubt(0, seconds(1)));
  CHECK(clocks.goes_on(0, seconds(1)) == seconds(0));
  clocks.stops(0, seconds(10));
  CHECK(clocks.lease_in_doubt(0, seconds(12)));
  CHECK(clocks.stood_since(seconds(0)) == seconds(0)); // it is still stopped
  CHECK(clocks.goes_on(1, seconds(13)) == seconds(0));
  CHECK(clocks.goes_on(0, seconds(13)) == seconds(3));
  CHECK_FALSE(clocks.lease_in_doubt(0, milliseconds(9'999)));
  CHECK(clocks.lease_in_doubt(0, milliseconds(13'500)));
  CHECK_FALSE(clocks.lease_in_doubt(0, milliseconds(13'501)));
  CHECK_FALSE(clocks.lease_in_doubt(1, seconds(12)));
  CHECK(clocks.lease_in_doubt_between(seconds(1), seconds(10)));
  CHECK(clocks.lease_in_doubt_between(milliseconds(13'400), seconds(20)));
  CHECK_FALSE(clocks.lease_in_doubt_between(seconds(14), seconds(20)));
  clocks.stops(1, seconds(20));
  CHECK(clocks.goes_on(1, seconds(21)) == seconds(1));
  CHECK(clocks.stood_since(seconds(0)) == seconds(4));
  CHECK(clocks.stood_since(seconds(12)) == seconds(2));
  CHECK(clocks.stood_since(seconds(21)) == seconds(0));
}

TEST_CASE("replies: a default read may be old while a lease is in doubt, but not if the setting requires a majority") {
  const bool asks_quorum = GENERATE(false, true);
  const bool in_doubt = GENERATE(false, true);
  const auto mode = GENERATE(http::consistency::normal, http::consistency::consistent);
  CAPTURE(asks_quorum, in_doubt, static_cast<int>(mode));
  paused_clocks clocks(milliseconds(500));
  if (in_doubt) {
    clocks.stops(0, seconds(1));
    clocks.goes_on(0, seconds(2));
  }
  reply_checker checker({true, asks_quorum, &clocks});
  operation write;
  write.id = 1;
  write.write = sim::set("k", "new");
  checker.begun(write);
  REQUIRE_FALSE(checker.committed(entry(1, *write.write)));
  write.result = outcome::done;
  write.index = write.committed_at_return = log_index{1};
  write.reply = true;
  REQUIRE_FALSE(checker.ended(write));

  operation read;
  read.id = 2;
  read.invoked = milliseconds(2'100);
  read.read.emplace();
  read.read->query = state::kv_get{"k"};
  read.read->mode = mode;
  checker.begun(read);
  read.returned = milliseconds(2'200);
  read.result = outcome::done;
  read.committed_at_return = log_index{1};
  read.answer.emplace(); // as it was before the write
  read.answer->index = log_index{1};
  read.answer->data = state::kv_entries{};
  const bool excused = in_doubt && !asks_quorum && mode == http::consistency::normal;
  CHECK(checker.ended(read).has_value() == !excused);
}
