// Results find their exchange, once, and its client is notified once for each batch.

#include "tests/unit/actors/gateway/requests/requested.hpp"

#include <functional>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

TEST_CASE("pending_requests: an answer finds its exchange once") {
  requested_fixture f;
  auto& a = f.client->asks(std::monostate{});
  auto& b = f.client->asks(std::monostate{});
  const auto of_a = f.pending.add(a, f.now + 1s);
  const auto of_b = f.pending.add(b, f.now + 2s);
  CHECK(of_a != of_b);
  CHECK(a.id == of_a);
  CHECK(a.deadline == f.now + 1s);
  CHECK(f.pending.settle(of_b) == &b);
  CHECK(f.pending.settle(of_b) == nullptr);
  CHECK(f.pending.settle(of_a) == &a);
  CHECK(f.client->received == 0);
  f.pending.progress();
  CHECK(f.client->received == 1); // once for both
  f.pending.progress();
  CHECK(f.client->received == 1);
}

// Its result comes later and must not be taken for that of another request.
TEST_CASE("pending_requests: a dropped request is not found") {
  requested_fixture f;
  auto& e = f.client->asks(std::monostate{});
  const auto id = f.pending.add(e);
  CHECK(f.pending.forget(e));
  CHECK_FALSE(f.pending.forget(e));
  CHECK(f.pending.settle(id) == nullptr);
  CHECK(f.pending.settle(f.pending.unclaimed_id()) == nullptr);
}

TEST_CASE("pending_requests: asking again keeps the deadline") {
  requested_fixture f;
  auto& e = f.client->asks(std::monostate{});
  const auto first = f.pending.add(e, f.now + 1s);
  CHECK(f.pending.settle(first) == &e);
  const auto second = f.pending.add(e);
  CHECK(second != first);
  CHECK(e.deadline == f.now + 1s);
  CHECK(f.pending.settle(second) == &e);
}

// A connection may close when it is notified; others are notified nevertheless.
TEST_CASE("pending_requests: clients that disconnect between response and batch stay until they are notified") {
  requested_fixture f;
  auto gone = std::make_shared<counting_client>();
  auto& e = gone->asks(std::monostate{});
  CHECK(f.pending.settle(f.pending.add(e)) == &e);
  std::weak_ptr<counting_client> seen = gone;
  gone.reset();
  CHECK_FALSE(seen.expired());
  f.pending.progress();
  CHECK(seen.expired());

  auto& other = f.client->asks(std::monostate{});
  f.pending.settle(f.pending.add(other));
  f.pending.drop_settled();
  f.pending.progress();
  CHECK(f.client->received == 0);
}

// A connection whose input has ended ends its monitor, which settles all monitors.
TEST_CASE("pending_requests: a client that goes on may settle requests of others, which are notified, too") {
  struct settling_client : counting_client {
    void progress() override {
      counting_client::progress();
      for (auto& each : std::exchange(then, {}))
        each();
    }
    std::vector<std::function<void()>> then;
  };
  requested_fixture f;
  auto first = std::make_shared<settling_client>();
  std::vector<std::shared_ptr<counting_client>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_shared<counting_client>());
    const auto id = f.pending.add(others.back()->asks(std::monostate{}));
    first->then.push_back([&f, id] { f.pending.settle(id); });
  }
  f.pending.settle(f.pending.add(first->asks(std::monostate{})));
  f.pending.progress();
  for (const auto& each : others)
    CHECK(each->received == 1);
}
