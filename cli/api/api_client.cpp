#include "cli/api/api_client.hpp"

#include "cli/api/api_connection.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/parse.hpp>

#include <csignal>
#include <optional>

namespace belay::cli {

namespace asio = boost::asio;

struct api_channel::impl {
  asio::io_context loop;
  api_connection connection;

  explicit impl(const api_target& target) : connection(loop, target) {}
};

api_channel::api_channel(const api_client& client) : impl_(std::make_unique<impl>(client.target())) {}
api_channel::~api_channel() = default;

result<api_answer> api_channel::ask(api_request request) {
  std::optional<result<api_answer>> answer;
  asio::co_spawn(
      impl_->loop,
      [](api_connection& c, api_request r, std::optional<result<api_answer>>& out) -> asio::awaitable<void> {
        out.emplace(co_await c.ask(std::move(r)));
      }(impl_->connection, std::move(request), answer),
      asio::detached);
  impl_->loop.restart();
  while (!answer && impl_->loop.run_one() != 0) {
  }
  return answer ? std::move(*answer) : result<api_answer>(failure{"the request was abandoned"});
}

result<api_answer> api_client::ask(api_request request) const {
  request.last = true;
  return api_channel(*this).ask(std::move(request));
}

result<api_answer> api_client::ask(std::string_view method, const std::string& path, const api_query& query,
                                   const std::string& body) const {
  return ask({.method = std::string(method), .path = path, .query = query, .body = body});
}

result<boost::json::value> api_client::get_json(const std::string& path, const api_query& query,
                                                std::chrono::milliseconds limit) const {
  api_request get{.method = "GET", .path = path, .query = query};
  get.limit = limit;
  auto answer = ask(std::move(get));
  if (!answer)
    return answer.reason();
  if (!answer->found())
    return failure{answer->complaint()};
  boost::system::error_code ec;
  auto v = boost::json::parse(answer->body, ec);
  if (ec)
    return failure{"the response is not JSON: " + ec.message()};
  return v;
}

result<bool> api_client::ask_until_signal(api_request request, api_answer& answer) const {
  asio::io_context loop;
  api_connection connection(loop, target_);
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  bool interrupted = false;
  signals.async_wait([&](const boost::system::error_code& ec, int) {
    if (ec)
      return;
    interrupted = true;
    connection.close();
  });
  std::optional<result<api_answer>> got;
  request.last = true;
  asio::co_spawn(
      loop,
      [](api_connection& c, api_request r, std::optional<result<api_answer>>& out,
         asio::signal_set& waiting) -> asio::awaitable<void> {
        out.emplace(co_await c.ask(std::move(r)));
        waiting.cancel();
      }(connection, std::move(request), got, signals),
      asio::detached);
  loop.run();
  if (interrupted)
    return true;
  if (!*got)
    return got->reason();
  answer = std::move(**got);
  return false;
}

} // namespace belay::cli
