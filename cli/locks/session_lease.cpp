#include "cli/locks/session_lease.hpp"

#include "cli/output/json_text.hpp"
#include "protocol/base/mutants.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto request_limit = 4s; // less than between two renewals, so that one that is lost costs one turn
constexpr auto renewal_pause = 500ms;

} // namespace

asio::awaitable<void> bell::wait(std::chrono::milliseconds limit) {
  boost::system::error_code ec;
  timer_.expires_after(limit);
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
}

session_lease::session_lease(asio::any_io_executor executor, const api_target& target, api_query scope,
                             lease_times times)
    : executor_(executor), target_(target), scope_(std::move(scope)), times_(times), connection_(executor, target),
      stopped_bell_(executor) {}

asio::awaitable<status> session_lease::begin(std::string name, const acquire_deadline& deadline) {
  // No checks: those of the server that is asked say nothing about us (docs/guides/locks.md).
  const boost::json::object wanted{
      {"Name", name}, {"TTL", std::to_string(times_.ttl.count()) + "s"}, {"NodeChecks", boost::json::array()}};
  const auto sent = lock_clock::now();
  api_request create{.method = "PUT", .path = "/v1/session/create", .query = scope_};
  create.body = compact(wanted);
  create.limit = deadline.limit(2 * request_limit);
  const auto answer = co_await connection_.ask(std::move(create));
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    co_return failure{complaint};
  boost::system::error_code ec;
  id_ = member_text(boost::json::parse(answer->body, ec), "ID");
  if (id_.empty())
    co_return failure{"the answer has no ID"};
  valid_until_ = sent + times_.ttl;
  co_return done{};
}

asio::awaitable<void> session_lease::keep() {
  std::chrono::milliseconds pause = times_.renewed_every;
  while (!stopped_ && !ended_) {
    co_await stopped_bell_.wait(pause);
    if (stopped_)
      co_return;
    const auto sent = lock_clock::now();
    api_request renew{.method = "PUT", .path = "/v1/session/renew/" + id_, .query = scope_};
    renew.limit = request_limit;
    const auto answer = co_await connection_.ask(std::move(renew));
    if (answer && answer->found())
      valid_until_ = (MUTANT(lease_counted_from_answer) ? lock_clock::now() : sent) + times_.ttl;
    else if (answer && answer->status == 404)
      ended_ = true;
    pause = answer && answer->found() ? times_.renewed_every : renewal_pause;
  }
}

void session_lease::stop() {
  stopped_ = true;
  connection_.close();
  stopped_bell_.ring();
}

asio::awaitable<void> session_lease::end(const acquire_deadline& deadline) {
  if (id_.empty())
    co_return;
  api_connection last(executor_, target_);
  api_request destroy{.method = "PUT", .path = "/v1/session/destroy/" + id_, .query = scope_};
  destroy.limit = deadline.limit(request_limit);
  destroy.last = true;
  (void)co_await last.ask(std::move(destroy)); // if this is lost, too, its TTL ends it
}

} // namespace belay::cli
