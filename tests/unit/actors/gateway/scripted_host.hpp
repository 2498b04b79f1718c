#pragma once
// A gateway as its connections see it, which does what the test requires.

#include "actors/gateway/connection_host.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace belay::actors::testing {

/// Has four paths: /plain (a write of a key), /read, /wait (a read that may take minutes), /upload.
/// Everything else is answered at once.
class scripted_host final : public connection_host {
public:
  socket_poller& sockets() override { return *poller; }
  http_reader_pool& readers() override { return pool; }
  monotonic_time now() override { return time += step; }
  std::int64_t wall_ns() override { return 0; }
  std::string_view date() override { return "today"; }
  const http::route_settings& routes() override { return settings; }
  void understand(const http::raw_request& r, exchange& e) override {
    targets.emplace_back(r.target);
    http::parsed_request parsed;
    http::read_request read;
    if (r.target == "/plain") {
      parsed.action = http::write_request{state::kv_write{}};
    } else if (r.target == "/read" || r.target == "/wait") {
      read.min_index = r.target == "/wait" ? 5 : 0;
      parsed.action = read;
    } else if (r.target == "/upload") {
      parsed.action = http::snapshot_restore{};
    } else {
      parsed.action = http::error_response(404, std::string(r.target));
    }
    e.understood(std::move(parsed), r.body);
    e.deadline = time + std::chrono::seconds(10);
  }
  void dispatch(exchange& e) override { dispatched.push_back(&e); }
  void body_arrived(exchange&) override { ++bodies; }
  void next_piece(exchange& e) override {
    ++pieces;
    e.transfer->requested = true;
  }
  void end_wait(exchange& e) override { wait_ended.push_back(&e); }
  void forget(exchange&) override { ++forgotten; }
  bool may_answer(exchange&) override { return may; }
  void dropped(exchange&) override { ++gone; }
  void count(const exchange&, int status) override { statuses.push_back(status); }
  void closed(http_connection&) override {}

  /// The bytes written since the last call.
  std::string written() { return std::exchange(output, {}); }

  http_reader_rules rules{1u << 20, [](std::string_view, std::string_view target) {
                            const bool upload = target == "/upload";
                            return http::body_limit{upload ? 1u << 30 : 1u << 20, upload};
                          }};
  http_reader_pool pool{rules};
  http::route_settings settings;
  socket_poller* poller = nullptr; ///< that of the test, if it has sockets
  monotonic_time time = monotonic_time{} + std::chrono::hours(1);
  std::chrono::nanoseconds step{0}; ///< how much it advances with each reading of the clock
  std::vector<std::string> targets; ///< targets of all requests
  std::vector<exchange*> dispatched, wait_ended;
  std::vector<int> statuses;
  int bodies = 0, pieces = 0, forgotten = 0, gone = 0;
  bool may = true;
};

} // namespace belay::actors::testing
