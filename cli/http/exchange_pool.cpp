#include "cli/http/exchange_pool.hpp"

#include "cli/http/api_connection.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <map>

namespace belay::cli {

namespace asio = boost::asio;

struct exchange_pool::parts {
  struct running {
    std::shared_ptr<api_connection> on;
    std::function<void(reply)> done;
  };

  parts(asio::any_io_executor e, const api_target& t) : executor(std::move(e)), target(t) {}

  asio::any_io_executor executor;
  api_target target;
  std::vector<std::shared_ptr<api_connection>> idle;
  std::map<std::uint64_t, running> under_way;
  std::uint64_t last_ticket = 0;
};

exchange_pool::exchange_pool(asio::any_io_executor executor, const api_target& target)
    : parts_(std::make_shared<parts>(std::move(executor), target)) {}

exchange_pool::~exchange_pool() {
  for (auto& [ticket, r] : std::exchange(parts_->under_way, {}))
    r.on->close();
}

std::uint64_t exchange_pool::ask(question q, std::chrono::milliseconds limit, std::function<void(reply)> done) {
  auto& p = *parts_;
  std::shared_ptr<api_connection> on;
  if (p.idle.empty()) {
    on = std::make_shared<api_connection>(p.executor, p.target);
  } else {
    on = std::move(p.idle.back());
    p.idle.pop_back();
  }
  const auto ticket = ++p.last_ticket;
  p.under_way[ticket] = {on, std::move(done)};
  api_request request{.method = std::move(q.method), .path = std::move(q.target), .query = {}};
  request.idempotency_key = std::move(q.idempotency_key);
  request.body = std::move(q.body);
  request.limit = std::max(limit, std::chrono::milliseconds(1)); // zero would be none
  asio::co_spawn(
      p.executor,
      [](std::shared_ptr<parts> all, std::shared_ptr<api_connection> c, api_request r,
         std::uint64_t t) -> asio::awaitable<void> {
        auto answer = co_await c->ask(std::move(r));
        const auto found = all->under_way.find(t);
        if (found == all->under_way.end())
          co_return;
        const auto tell = std::move(found->second.done);
        all->under_way.erase(found);
        reply said;
        if (answer) {
          said.status = answer->status;
          said.body = std::move(answer->body);
          said.headers.assign(answer->headers.begin(), answer->headers.end());
          all->idle.push_back(std::move(c));
        } else {
          said.body = answer.error();
          said.sent = c->sent();
        }
        tell(std::move(said));
      }(parts_, on, std::move(request), ticket),
      asio::detached);
  return ticket;
}

void exchange_pool::give_up(std::uint64_t ticket) {
  const auto found = parts_->under_way.find(ticket);
  if (found == parts_->under_way.end())
    return;
  const auto on = std::move(found->second.on);
  parts_->under_way.erase(found);
  on->close();
}

} // namespace belay::cli
