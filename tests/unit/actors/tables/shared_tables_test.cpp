// Other threads read keys beside the thread that writes the tables: never during a write, and only
// when this server may answer.

#include "actors/tables/shared_tables.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

const monotonic_time now{10s};

struct tables_fixture {
  vitals numbers;
  shared_tables shared{3, numbers};
  std::shared_ptr<state::driver> d = std::make_shared<state::driver>();

  tables_fixture() {
    d->set("a", "1");
    shared.show({d, &d->m});
  }
  static http::read_request get(const std::string& key, http::consistency mode = http::consistency::normal) {
    http::read_request r;
    r.query = state::kv_get{key};
    r.mode = mode;
    return r;
  }
  std::optional<read_result> read(const http::read_request& r, monotonic_time at = now) {
    return shared.read(1, r, at);
  }
};

/// The value of the one key, or the number of keys.
std::string value_in(const std::optional<read_result>& r) {
  if (!r)
    return "has to be asked for";
  const auto& rows = std::get<state::kv_entries>(r->found()->data).entries;
  return rows.size() == 1 ? std::string(*rows.front()->value) : std::to_string(rows.size()) + " rows";
}

} // namespace

TEST_CASE("shared_tables: default reads need the lease, as at the state machine's actor", "[http_threads]") {
  tables_fixture f;
  CHECK_FALSE(f.read(f.get("a")));
  f.shared.stands(true, true, now + 1s);
  CHECK(value_in(f.read(f.get("a"))) == "1");
  CHECK(value_in(f.read(f.get("b"))) == "0 rows");
  CHECK(f.read(f.get("a"))->found()->index == f.d->index());
  CHECK_FALSE(f.read(f.get("a"), now + 1s));
  CHECK_FALSE(f.read(f.get("a", http::consistency::consistent)));
  f.shared.stands(true, true, {});
  CHECK_FALSE(f.read(f.get("a")));
}

// Another server may have returned what is committed: a client that saw it must not read less here.
TEST_CASE("shared_tables: default reads wait for committed entries, stale ones do not", "[http_threads]") {
  tables_fixture f;
  f.shared.stands(true, true, now + 1s);
  f.numbers.committed_index = f.d->index().value + 1;
  CHECK_FALSE(f.read(f.get("a")));
  CHECK(value_in(f.read(f.get("a", http::consistency::stale))) == "1");
  f.d->set("a", "2");
  CHECK(value_in(f.read(f.get("a"))) == "2");
}

TEST_CASE("shared_tables: stale reads require contact with a leader, and report how long ago it was",
          "[http_threads]") {
  tables_fixture f;
  const auto stale = f.get("a", http::consistency::stale);
  CHECK_FALSE(f.read(stale));
  f.numbers.leader_contact_ns = std::chrono::nanoseconds(now.time_since_epoch() - 1500ms).count();
  f.shared.stands(false, false, {});
  const auto found = f.read(stale);
  CHECK(value_in(found) == "1");
  CHECK(found->last_contact_ms == 1500);
  CHECK_FALSE(found->known_leader);
  f.shared.stands(false, true, {});
  CHECK(f.read(stale)->known_leader);
  f.shared.stands(true, true, {}); // the leader itself
  CHECK(f.read(stale)->last_contact_ms == 0);
}

TEST_CASE("shared_tables: reads of more than the row of a key are forwarded", "[http_threads]") {
  tables_fixture f;
  f.shared.stands(true, true, now + 1s);
  auto r = f.get("a");
  r.min_index = 1;
  CHECK_FALSE(f.read(r));
  r = f.get("a");
  r.query.by = state::auth_context{};
  CHECK_FALSE(f.read(r));
  r = f.get("a");
  r.query = state::kv_list{"a"};
  CHECK_FALSE(f.read(r));
  // The rest of a lock delay depends on cluster time.
  const auto session = f.d->open(1, 15'000);
  CHECK(f.d->acquire("held", session));
  CHECK(f.read(f.get("held")));
  f.d->close(session);
  CHECK_FALSE(f.read(f.get("held")));
  CHECK(f.read(f.get("a")));
}

TEST_CASE("shared_tables: nothing reads while they are written", "[http_threads]") {
  tables_fixture f;
  f.shared.stands(true, true, now + 1s);
  {
    const shared_tables::writing writes(&f.shared);
    f.d->set("a", "2");
    CHECK_FALSE(f.read(f.get("a")));
  }
  CHECK(value_in(f.read(f.get("a"))) == "2");
  const shared_tables::writing nobody_reads(nullptr);
}

TEST_CASE("shared_tables: readers on other threads see whole entries, and none go back", "[http_threads]") {
  tables_fixture f;
  f.shared.stands(true, true, now + 1h);
  std::atomic<bool> over{false};
  std::atomic<std::size_t> read{0}, wrong{0};
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < 3; ++i)
    readers.emplace_back([&, i] {
      std::uint64_t last = 0;
      while (!over) {
        const auto found = f.shared.read(i, f.get("counted"), now);
        if (!found)
          continue;
        const auto& rows = std::get<state::kv_entries>(found->found()->data).entries;
        if (rows.empty())
          continue;
        const auto n = std::stoull(std::string(*rows.front()->value));
        if (n < last || rows.front()->flags != n)
          ++wrong;
        last = n;
        ++read;
      }
    });
  // Other rows come and go, so chunks are split and joined under the readers.
  for (std::uint64_t n = 1; n <= 3000 || read == 0; ++n) {
    const shared_tables::writing writes(&f.shared);
    f.d->set("counted", std::to_string(n), n);
    f.d->set("c" + std::to_string(n % 700), "v");
    if (n % 700 == 0)
      f.d->remove_tree("c1");
  }
  over = true;
  for (auto& r : readers)
    r.join();
  CHECK(read > 0);
  CHECK(wrong == 0);
}
