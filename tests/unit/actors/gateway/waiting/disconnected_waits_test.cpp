// How long a lock queue keeps the position of a client that closed its connection.

#include "actors/gateway/waiting/disconnected_waits.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/claims/claim_records.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

struct waits_of_clients {
  disconnected_waits waits;
  monotonic_time now = monotonic_time{} + std::chrono::hours(1);

  void disconnects(const std::string& key, std::uint64_t requested_at, std::chrono::seconds wait = 60s) {
    waits.changed({{key, "s", log_index{requested_at}}, true, now + wait}, now);
  }
  /// @param requested_at zero: the request is in progress
  void asks_again(const std::string& key, std::uint64_t requested_at) {
    waits.changed({{key, "s", log_index{requested_at}}}, now);
  }
  /// Keys and entries of the requests to withdraw now.
  std::string due() {
    std::string text;
    for (const auto& w : waits.take_due(now))
      text += (text.empty() ? "" : " ") + w.wait.key + "@" + to_string(w.wait.requested_at);
    return text;
  }
};

/// Whether the property holds, and does not with that bug.
template <class Property>
bool finds(const char* mutant, Property holds) {
  const bool right = holds();
  REQUIRE(activate_mutant(mutant));
  const bool wrong = !holds();
  activate_mutant("");
  return right && wrong;
}

} // namespace

TEST_CASE("disconnected_waits: a position is kept for 5 s, and all due ones are withdrawn together") {
  waits_of_clients f;
  f.disconnects("a", 5);
  f.now += 1s;
  f.disconnects("b", 7);
  f.now += 3999ms;
  CHECK(f.due().empty());
  f.now += 1ms;
  CHECK(f.due() == "a@5");
  CHECK(f.due().empty());
  f.disconnects("c", 9);
  f.now += 5s;
  CHECK(f.due() == "b@7 c@9");
  CHECK(f.waits.size() == 0);
}

TEST_CASE("disconnected_waits: a request with the same id keeps its position") {
  waits_of_clients f;
  f.disconnects("a", 5);
  f.now += 4s;
  SECTION("as soon as the request is on its way, and for good when its entry is known") {
    f.asks_again("a", 0);
    f.now += 4s;
    CHECK(f.due().empty());
    f.asks_again("a", 8);
    f.now += 60s;
    CHECK(f.due().empty());
  }
  SECTION("and loses it 5 s later if that request came to nothing") {
    f.asks_again("a", 0);
    f.now += 5s;
    CHECK(f.due() == "a@5");
  }
  SECTION("and disconnects again: then the newer request counts") {
    f.asks_again("a", 0);
    f.asks_again("a", 8);
    f.disconnects("a", 8);
    f.now += 5s;
    CHECK(f.due() == "a@8");
  }
  SECTION("an older connection of the same client ends later") {
    f.disconnects("a", 8);
    f.disconnects("a", 5);
    f.now += 5s;
    CHECK(f.due() == "a@8");
  }
  SECTION("another session or key changes nothing") {
    f.waits.changed({{"a", "other", log_index{9}}}, f.now);
    f.asks_again("b", 9);
    f.now += 1s;
    CHECK(f.due() == "a@5");
  }
}

TEST_CASE("disconnected_waits: a failed withdrawal is retried until the wait is over") {
  waits_of_clients f;
  f.disconnects("a", 5, 20s);
  f.now += 5s;
  auto list = f.waits.take_due(f.now);
  REQUIRE(list.size() == 1);
  f.now += 7s; // no leader
  f.waits.not_withdrawn(list, f.now);
  CHECK(f.due().empty());
  f.now += 1s;
  CHECK(f.due() == "a@5");
  f.disconnects("a", 6, 20s); // disconnect of a later request
  f.waits.not_withdrawn(list, f.now);
  f.now += 5s;
  CHECK(f.due() == "a@6");
  f.now += 10s;
  f.waits.not_withdrawn(list, f.now); // it has ended
  CHECK(f.waits.size() == 0);
}

// Clients decide how many there are, and how long keys are.
TEST_CASE("disconnected_waits: memory and entries have bounds") {
  waits_of_clients f;
  for (std::size_t i = 0; i < state::withdrawn_at_once_max + 1; ++i)
    f.disconnects(std::to_string(i), 5);
  f.now += 5s;
  CHECK(f.waits.take_due(f.now).size() == state::withdrawn_at_once_max);
  CHECK(f.waits.take_due(f.now).size() == 1);
  CHECK(f.waits.take_due(f.now).empty());
  const std::string large(1u << 20, 'k');
  for (int i = 0; i < 100; ++i)
    f.disconnects(large + std::to_string(i), 5);
  CHECK(f.waits.size() == 63);
  f.now += 5s;
  for (int i = 0; i < 63; ++i)
    CHECK(f.waits.take_due(f.now).size() == 1); // no entry is large
  CHECK(f.waits.take_due(f.now).empty());
  f.disconnects("a", 5);
  CHECK(f.waits.size() == 1);
}

TEST_CASE("disconnected_waits: finds known bugs") {
  CHECK(finds("disconnect_withdraws_at_once", [] {
    waits_of_clients f;
    f.disconnects("a", 5);
    return f.due().empty();
  }));
  CHECK(finds("disconnected_wait_stays", [] {
    waits_of_clients f;
    f.disconnects("a", 5);
    f.now += 5s;
    return f.due() == "a@5";
  }));
}
