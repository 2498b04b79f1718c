// `belay lock` and its like hold something for a time that a server counts, while requests and
// responses take any share of it. If a program counted longer than the server, or its command ran
// longer, two programs would work under one lock. Compares both sides' times on one clock.

#include "cli/api/bell.hpp"
#include "cli/commands/holds/holding_run.hpp"
#include "cli/locks/holding.hpp"
#include "protocol/base/random.hpp"
#include "tests/unit/cli/variables.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <catch2/catch.hpp>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

using namespace belay::cli;

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

constexpr std::chrono::seconds ttl{2};

/// Creates a session and renews it. Each response is late by up to half of the TTL, or lost.
class late_node {
public:
  explicit late_node(std::uint64_t seed)
      : random_(seed), acceptor_(loop_, {asio::ip::make_address("127.0.0.1"), 0}), thread_([this] { serve(); }) {}
  ~late_node() {
    ended_ = true;
    boost::system::error_code ec;
    asio::io_context loop;
    asio::ip::tcp::socket farewell(loop);
    farewell.connect(acceptor_.local_endpoint(), ec); // wakes accept()
    farewell.close(ec);
    thread_.join();
  }
  api_target target() const {
    api_target t;
    t.where.host = "127.0.0.1";
    t.where.port = std::to_string(acceptor_.local_endpoint().port());
    return t;
  }
  /// The session lives at least until then: it counts from the arrival of the request.
  lock_clock::time_point lives_until() const { return lives_until_.load(); }
  int renewals() const { return renewals_; }

private:
  void serve() {
    while (!ended_) {
      asio::ip::tcp::socket s(loop_);
      boost::system::error_code ec;
      acceptor_.accept(s, ec);
      if (ec || ended_)
        return;
      boost::beast::flat_buffer buffer;
      while (serve_one(s, buffer)) {
      }
    }
  }
  bool serve_one(asio::ip::tcp::socket& s, boost::beast::flat_buffer& buffer) {
    boost::system::error_code ec;
    http::request<http::string_body> q;
    http::read(s, buffer, q, ec);
    if (ec || ended_)
      return false;
    lives_until_ = lock_clock::now() + ttl;
    renewals_ += q.target().starts_with("/v1/session/renew/") ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(random_.below(1000 * ttl.count() / 2)));
    if (renewals_ != 0 && random_.below(4) == 0)
      return false; // its response is lost
    http::response<http::string_body> a(http::status::ok, 11);
    a.body() = R"({"ID":"s"})";
    a.prepare_payload();
    http::write(s, a, ec);
    return !ec;
  }

  belay::seeded_random random_;
  asio::io_context loop_;
  asio::ip::tcp::acceptor acceptor_;
  std::atomic<lock_clock::time_point> lives_until_{};
  std::atomic<int> renewals_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

/// A holding that is lost as soon as its command runs, and stays valid for `left` after that.
class lost_holding final : public holding {
public:
  explicit lost_holding(std::chrono::milliseconds left) : left_(left) {}

  asio::awaitable<belay::cli::status> begin(std::string) override { co_return belay::done{}; }
  asio::awaitable<void> end() override { co_return; }
  std::string session() const override { return "s"; }
  lock_clock::time_point valid_until() const override {
    return lost_ == lock_clock::time_point{} ? lock_clock::now() + 1h : lost_ + left_;
  }
  bool over() const override { return lock_clock::now() >= valid_until(); }
  asio::awaitable<belay::cli::result<bool>> acquire() override { co_return true; }
  asio::awaitable<void> watch() override {
    bell wait(co_await asio::this_coro::executor);
    for (int i = 0; i < 3000 && !std::ifstream("up"); ++i) // the command ignores SIGTERM by then
      co_await wait.wait(10ms);
    lost_ = lock_clock::now();
  }
  asio::awaitable<belay::cli::status> release() override { co_return belay::done{}; }
  asio::awaitable<belay::cli::result<bool>> clean_up() override { co_return true; }
  void stop() override {}
  std::string key() const override { return "k"; }

  static lock_clock::time_point lost_;

private:
  std::chrono::milliseconds left_;
};
lock_clock::time_point lost_holding::lost_;

} // namespace

TEST_CASE("lock: a session counts as long as the server counts it, whatever answers take", "[lock]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    late_node node(seed);
    asio::io_context loop;
    const auto held = make_holding(loop, node.target(), {}, {.prefix = "k", .ttl = ttl});
    bool longer = false, begun = false;
    const auto compare = [&] { longer = longer || (!held->over() && held->valid_until() > node.lives_until()); };
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
          const auto made = co_await held->begin("test");
          begun = made.ok();
          compare();
          bell wait(loop.get_executor());
          for (int i = 0; i < 3000 && node.renewals() < 4 && !held->over(); ++i) {
            co_await wait.wait(10ms);
            compare();
          }
          co_await held->end();
        },
        asio::detached);
    loop.run();
    CHECK(begun);
    CHECK(node.renewals() > 0);
    CHECK_FALSE(longer);
  }
}

// A command that ignores SIGTERM has five seconds otherwise.
TEST_CASE("lock: a command that does not end is killed before another client may get its lock", "[lock]") {
  const working_directory here;
  constexpr auto left = 500ms, grace = 5000ms;
  lost_holding::lost_ = {};
  asio::io_context loop;
  std::istringstream in;
  std::ostringstream out, err;
  run_order order;
  order.words = {"trap '' TERM; echo up >up; while :; do sleep 0.05; done"};
  run_while_held(loop, std::make_unique<lost_holding>(left), std::move(order), {in, out, err});
  const auto took = lock_clock::now() - lost_holding::lost_;
  CHECK(took < (left + grace) / 2); // closer to the one than to the other, even on a busy machine
}
