#include "cli/locks/claim_holding.hpp"

#include "cli/api/awaited.hpp"
#include "cli/locks/session_holding.hpp"
#include "cli/output/json_text.hpp"

#include <belay/election.hpp>
#include <belay/semaphore.hpp>
#include <belay/shared_mutex.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <optional>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds release_within{5'000};
/// The shortest time for acquiring. What is free is acquired even if the session took all of the
/// time.
constexpr milliseconds take_within{100};
constexpr auto look_within = 75s; // a query waits for 60 s, and servers add up to a sixteenth
constexpr auto look_again = 1s;

/// Whether the claim `id` is among the holders. True also if that is unknown: of many holders, the
/// server shows the first thousand.
bool is_among_holders(const std::string& body, const std::string& id) {
  boost::system::error_code ec;
  const auto claim = boost::json::parse(body, ec);
  const auto* const known = member(claim, "Holders");
  if (ec || known == nullptr || !known->is_array() || known->get_array().size() >= 1000)
    return true;
  const auto& holders = elements(known);
  return std::any_of(holders.begin(), holders.end(), [&](const auto& h) { return member_text(h, "ID") == id; });
}

class claim_holding final : public session_holding {
public:
  claim_holding(asio::io_context& loop, const api_target& target, const api_query& scope, hold_options chosen,
                const acquire_deadline& deadline)
      : session_holding(loop, target, scope, deadline), options_(std::move(chosen)) {}

  std::string key() const override { return options_.name; }
  std::string fence() const override { return !lease_ || lease_->fence() == 0 ? "" : std::to_string(lease_->fence()); }

  asio::awaitable<result<bool>> acquire() override {
    const auto limit = deadline_.never() ? milliseconds(for_ever) : std::max(deadline_.left(), take_within);
    auto taking = take(v0::deadline(sockets_.now() + limit, &stopping_));
    auto got = co_await awaited(std::move(taking));
    if (got) {
      lease_.emplace(std::move(*got));
      had();
      co_return true;
    }
    if (is_given_up(got.error()))
      co_return false;
    co_return failure{got.error().text()};
  }

  asio::awaitable<void> watch() override {
    auto waiting = wait_for_loss();
    const auto over = co_await awaited(std::move(waiting));
  }

  asio::awaitable<status> release() override {
    if (!lease_)
      co_return done{};
    auto giving = lease_->release(v0::deadline(sockets_.now() + release_within));
    const auto given = co_await awaited(std::move(giving));
    lease_.reset();
    if (!given && !is_given_up(given.error()) && !over()) // a lost claim needs no release
      co_return failure{given.error().text()};
    co_return done{};
  }

  asio::awaitable<void> end() override {
    lease_.reset();
    return session_holding::end();
  }

  /// A claim leaves nothing behind. Where a server has no claims, the library cleans up itself.
  asio::awaitable<result<bool>> clean_up() override { co_return true; }

private:
  v0::task<v0::result<v0::lease>> take(v0::deadline limit) {
    v0::election contest(*session_, options_.name);
    v0::shared_mutex lock(*session_, options_.name);
    v0::semaphore permits(*session_, options_.name, options_.limit);
    v0::task<v0::result<v0::lease>> taking;
    switch (options_.of) {
    case hold_options::kind::leadership:
      taking = contest.campaign(options_.value, limit);
      break;
    case hold_options::kind::reader:
      taking = lock.acquire_shared(limit);
      break;
    case hold_options::kind::writer:
      taking = lock.acquire(limit);
      break;
    case hold_options::kind::permits:
      taking = permits.acquire(options_.permits, limit);
      break;
    }
    v0::result<v0::lease> got = co_await taking;
    co_return std::move(got);
  }

  /// A live session is not enough: the claim may have been ended, or the leadership transferred.
  v0::task<v0::status> wait_for_loss() {
    auto& ended = session_->ended();
    if (lease_->claim_id().empty()) {
      auto never = sockets_.now() + for_ever;
      co_await v0::sleep_until(sockets_, never, &ended, &stopping_);
      co_return v0::nothing();
    }
    std::uint64_t index = 0;
    for (;;) {
      v0::request q("GET", v0::request::path_of("/v1/claim/", options_.name));
      q.query("index", std::to_string(index)).query("wait", "60s");
      auto deadline = sockets_.now() + look_within;
      v0::answer a = co_await v0::ask(sockets_, q, deadline, &ended, &stopping_);
      if (ended.stopped() || stopping_.stopped())
        co_return v0::nothing();
      auto now = a.number("X-Consul-Index");
      bool gone = a.status() == 404 && now > 0;
      if (gone || (a.status() == 200 && !is_among_holders(a.body(), lease_->claim_id())))
        co_return v0::nothing();
      index = a.status() != 200 || now < index ? 0 : now;
      if (a.status() == 200)
        continue;
      // The state is unknown, so the session decides.
      auto again = sockets_.now() + look_again;
      co_await v0::sleep_until(sockets_, again, &ended, &stopping_);
    }
  }

  hold_options options_;
  std::optional<v0::lease> lease_;
};

} // namespace

std::unique_ptr<holding> make_claim_holding(asio::io_context& loop, const api_target& target, const api_query& scope,
                                            hold_options chosen, const acquire_deadline& deadline) {
  return std::make_unique<claim_holding>(loop, target, scope, std::move(chosen), deadline);
}

} // namespace belay::cli
