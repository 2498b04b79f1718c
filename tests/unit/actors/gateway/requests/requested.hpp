#pragma once
// Fixtures for the parts of a gateway: a client that counts its notifications, and an outbox whose
// messages the test inspects.

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

namespace belay::actors::testing {

struct counting_client : requester {
  void progress() override { ++received; }
  bool send_now(const http::shared_body_ptr& piece) override { return sends_now && sends_now(piece); }

  exchange& asks(exchange::requested what) {
    auto& e = exchanges.emplace_back();
    e.from = this;
    e.what = std::move(what);
    e.sent = true;
    return e;
  }

  int received = 0;
  std::function<bool(const http::shared_body_ptr&)> sends_now; ///< null: its socket is full
  std::deque<exchange> exchanges;
};

class listed_outbox final : public outbox {
public:
  void post(propose_write m) override { list.push_back(std::move(m)); }
  void post(status_request m) override { list.push_back(std::move(m)); }
  void post(check_write m) override { list.push_back(std::move(m)); }
  void post(read_query m) override { list.push_back(std::move(m)); }
  void post(cancel_query m) override { list.push_back(m); }
  void post(pack_archive m) override { list.push_back(m); }
  void post(unpack_archive m) override { list.push_back(std::move(m)); }
  void post(close_archive m) override { list.push_back(m); }
  void post(wait_changed m) override { waits.push_back(std::move(m)); }
  void post(write_audit m) override { list.push_back(std::move(m)); }

  /// The oldest message, which must be of this type; it is removed.
  template <class Message>
  Message take() {
    REQUIRE_FALSE(list.empty());
    REQUIRE(std::holds_alternative<Message>(list.front()));
    auto m = std::get<Message>(std::move(list.front()));
    list.pop_front();
    return m;
  }

  std::deque<std::variant<propose_write, status_request, check_write, read_query, cancel_query, pack_archive,
                          unpack_archive, close_archive, write_audit>>
      list;
  std::vector<wait_changed> waits;
};

/// A gateway's number, times and seed, and one client.
struct requested_fixture {
  listed_outbox out;
  pending_requests pending{0, 1};
  answer_times times{std::chrono::seconds(7), std::chrono::seconds(60)};
  std::shared_ptr<counting_client> client = std::make_shared<counting_client>();
  monotonic_time now = monotonic_time{} + std::chrono::hours(1);
};

} // namespace belay::actors::testing
