// Every recipe through the blocking client, with Belay and with Consul.
#include "tests/client/servers.hpp"

#include <thread>

using namespace belay;
using namespace belay::client_tests;
using std::chrono::steady_clock;

TEST_CASE("recipes on real servers", "[client]") {
  for (const auto& command : all_servers()) {
    bool consul = command.is_reference();
    INFO(command.text);
    auto cluster = started(command, 1);
    auto options = options_for(*cluster, consul ? milliseconds(10000) : milliseconds(6000));
    client a(options);
    client b(options);
    REQUIRE(a.wrong().reason() == reason::none);

    // Keys
    auto none = a.get("k");
    REQUIRE(none);
    CHECK_FALSE(none->found);
    REQUIRE(a.put("k", "one"));
    auto seen = b.get("k");
    REQUIRE(seen);
    REQUIRE(seen->found);
    CHECK(seen->found->value == "one");
    auto twice = [](const std::optional<entry>& now) -> std::optional<std::string> {
      return now ? now->value + now->value : std::string("new");
    };
    auto updated = b.update("k", twice);
    REQUIRE(updated);
    CHECK(*updated == "oneone");
    CHECK(*a.erase_if("k", seen->found->index) == erased::conflict);
    CHECK(*a.erase_if("nothing", 7) == erased::absent);
    CHECK(*a.erase_if("k", a.get("k")->found->index) == erased::erased);
    std::vector<std::thread> counting;
    for (auto* c : {&a, &b})
      counting.emplace_back([c] {
        for (int i = 0; i < 20; ++i)
          CHECK(c->add("n", 1, seconds(20)));
      });
    for (auto& t : counting)
      t.join();
    CHECK(a.get("n")->found->value == "40");

    // A lock
    auto first = a.lock("jobs/x").acquire(seconds(10));
    REQUIRE(first);
    CHECK(first->safe());
    auto begun = steady_clock::now();
    auto late = b.lock("jobs/x").acquire(seconds(1));
    CHECK(late.reason() == reason::deadline);
    auto took = steady_clock::now() - begun;
    CHECK(took > milliseconds(700));
    CHECK(took < 4 * seconds(1));
    std::uint64_t second_fence = 0;
    std::thread waits([&] {
      auto second = b.lock("jobs/x").acquire(seconds(30));
      if (second)
        second_fence = second->fence();
    });
    std::this_thread::sleep_for(milliseconds(300));
    CHECK(first->release());
    CHECK_FALSE(first->safe());
    waits.join();
    CHECK(second_fence > first->fence());
    auto again = a.lock("jobs/x").acquire(seconds(20));
    REQUIRE(again);
    CHECK(again->fence() > second_fence);

    // Permits
    auto one = a.semaphore("pool", 2).acquire(seconds(10));
    auto two = b.semaphore("pool", 2).acquire(seconds(10));
    REQUIRE(one);
    REQUIRE(two);
    client c(options);
    CHECK(c.semaphore("pool", 2).acquire(seconds(1)).reason() == reason::deadline);
    { client_lease gone = std::move(*two); }
    CHECK(c.semaphore("pool", 2).acquire(seconds(10)));

    // A leadership
    auto vacant = a.election("leader").leader_now();
    REQUIRE(vacant);
    CHECK_FALSE(*vacant);
    auto leadership = a.election("leader").campaign("a", seconds(10));
    REQUIRE(leadership);
    std::thread candidate([&] {
      auto next = b.election("leader").campaign("b", seconds(30));
      CHECK(next);
      if (!next)
        return;
      auto now = c.election("leader").leader_now();
      CHECK((now && *now && (*now)->value == "b"));
    });
    std::this_thread::sleep_for(milliseconds(500));
    auto handed = a.election("leader").transfer(*leadership);
    CHECK(handed.reason() == (consul ? reason::unsupported : reason::none));
    if (consul)
      CHECK(leadership->release());
    candidate.join();

    // The cached keys of a prefix
    REQUIRE(a.put("conf/x", "1"));
    auto shown = b.follow("conf/");
    REQUIRE(shown.wait(seconds(10)));
    REQUIRE(shown.get("conf/x"));
    REQUIRE(shown.get("conf/x")->found());
    CHECK(shown.get("conf/x")->found()->value == "1");
    REQUIRE(shown.get("conf/y"));
    CHECK_FALSE(shown.get("conf/y")->found());
    REQUIRE(a.put("conf/x", "2"));
    CHECK(harness::eventually(seconds(5), [&] { return shown.get("conf/x")->found()->value == "2"; }));
    CHECK(shown.get("conf/x")->age() < seconds(12));

    // The end of a session
    std::atomic<int> reported = 0;
    std::stop_callback when_lost(again->lost(), [&] { ++reported; });
    auto sessions = boost::json::parse(cluster->node(0).get("/v1/session/list").body).as_array();
    for (const auto& s : sessions)
      cluster->node(0).put("/v1/session/destroy/" + std::string(s.at("ID").as_string()), "");
    CHECK(harness::eventually(seconds(8), [&] { return reported == 1; }));
    CHECK_FALSE(again->safe());
    CHECK(again->lost_reason() == (consul ? "the server no longer has the session" : "destroyed"));
    CHECK(a.lock("jobs/x").acquire(seconds(20)));
  }
}
