// The index that a client agent's cache must have reached when it is read: the lowest index of all
// servers that the agent may have queried, before the time that notifications may take. (Once it
// was what the leader had. A follower whose disk hung for 0.6 s needed a snapshot, and the agent
// that queried it was blamed: seed 437567653.)

#include "sim/checkers/agents/least_index.hpp"

#include <catch2/catch.hpp>

namespace belay::sim {
namespace {

using std::chrono::seconds;

TEST_CASE("least index: it is the minimum that existed all the time") {
  least_index known(seconds(10));
  CHECK(known.since(seconds(1)) == log_index{});
  known.note(seconds(1), log_index{5});
  known.note(seconds(3), log_index{5});
  known.note(seconds(4), log_index{8});
  known.note(seconds(6), log_index{9});
  // from        -> least
  CHECK(known.since(seconds(0)) == log_index{}); // before anything was known
  CHECK(known.since(seconds(1)) == log_index{5});
  CHECK(known.since(seconds(3)) == log_index{5});
  CHECK(known.since(seconds(4)) == log_index{8});
  CHECK(known.since(seconds(5)) == log_index{8});
  CHECK(known.since(seconds(6)) == log_index{9});
  CHECK(known.since(seconds(7)) == log_index{9});
}

// The agent has switched to a server that is behind: only that server's index can be required.
TEST_CASE("least index: a fall counts at once, a rise when it is old enough") {
  least_index known(seconds(10));
  known.note(seconds(1), log_index{1889});
  known.note(seconds(5), log_index{1848});
  CHECK(known.since(seconds(4)) == log_index{1848});
  known.note(seconds(6), log_index{1889});
  CHECK(known.since(seconds(5)) == log_index{1848});
  CHECK(known.since(seconds(6)) == log_index{1889});
}

TEST_CASE("least index: unneeded values are dropped, and the value in force is not") {
  least_index known(seconds(2));
  known.note(seconds(1), log_index{3});
  known.note(seconds(2), log_index{4});
  known.note(seconds(9), log_index{4});
  CHECK(known.since(seconds(7)) == log_index{4});
  CHECK(known.since(seconds(1)) == log_index{}); // longer ago than is kept
}

} // namespace
} // namespace belay::sim
