// The last hour of a server, one row for each interval.

#include "actors/telemetry/metrics.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace belay::actors;
using std::chrono::milliseconds;

namespace {

boost::json::array rows_of(const metrics& m) {
  return boost::json::parse(m.history_json()).as_object().at("Samples").as_array();
}

} // namespace

TEST_CASE("each interval is a row of rates and latencies", "[metrics]") {
  metrics m;
  CHECK(rows_of(m).empty());
  m.close_interval(1000);
  m.keys(5);
  m.raft_state(7, true);
  m.proposed(30);
  m.fsync(milliseconds(2));
  m.fsync(milliseconds(4));
  for (int i = 0; i < 20; ++i)
    m.request("/v1/kv/", 200, milliseconds(i < 10 ? 1 : 3));
  m.request("blocking", 200, milliseconds(60'000)); // waited for a change
  m.close_interval(1010);
  m.close_interval(1015); // has not ended yet
  m.close_interval(1020);
  const auto rows = rows_of(m);
  REQUIRE(rows.size() == 2);
  const auto& first = rows.front().as_object();
  CHECK(first.at("Time").as_int64() == 1000);
  CHECK(first.at("Requests").as_double() == Approx(2.1));
  CHECK(first.at("RequestMs").as_double() == Approx(2));
  CHECK(first.at("RequestMaxMs").as_double() == Approx(3));
  CHECK(first.at("Entries").as_double() == Approx(3));
  CHECK(first.at("SyncMs").as_double() == Approx(3));
  CHECK(first.at("SyncMaxMs").as_double() == Approx(4));
  CHECK(first.at("Term").to_number<int>() == 7);
  CHECK(first.at("Leader").as_bool());
  CHECK(first.at("Keys").to_number<int>() == 5);
  const auto& second = rows.back().as_object();
  CHECK(second.at("Time").as_int64() == 1010);
  CHECK(second.at("Requests").as_double() == 0);
  CHECK(second.at("SyncMaxMs").as_double() == 0);
}

TEST_CASE("an hour is kept, and no more", "[metrics]") {
  metrics m;
  const auto intervals = static_cast<std::int64_t>(metrics_history::rows_max) + 40;
  for (std::int64_t i = 0; i <= intervals; ++i)
    m.close_interval(5000 + i * metrics::interval);
  const auto rows = rows_of(m);
  CHECK(rows.size() == metrics_history::rows_max);
  CHECK(rows.size() * metrics::interval == 3600);
  CHECK(rows.front().at("Time").as_int64() == 5000 + 40 * metrics::interval);
}
