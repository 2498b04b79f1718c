#include "cli/locks/key_holding.hpp"

#include "cli/api/awaited.hpp"

#include "client/core/json_answers.hpp"

#include <algorithm>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds answer_limit = 10s; // on top of the time that a query waits
constexpr milliseconds wait_at_most = 15s, retry_after = 1s;

} // namespace

asio::awaitable<result<bool>> key_holding::acquire() {
  for (;;) {
    auto taking = take();
    auto got = co_await awaited(std::move(taking));
    if (got && *got)
      had();
    // The session was lost because no server responded for too long. Nothing is held yet, so
    // acquiring continues with a new session.
    if (got || !lost() || waited_enough(false))
      co_return got;
    const auto begun = co_await begin(options_.name);
    if (!begun)
      co_return failure{"failed to create session: " + begun.error()};
  }
}

asio::awaitable<void> key_holding::watch() {
  auto following = follow(followed());
  const auto over = co_await awaited(std::move(following));
}

asio::awaitable<status> key_holding::release() {
  stopping_.reset();
  auto giving = give_up();
  return awaited(std::move(giving));
}

asio::awaitable<result<bool>> key_holding::clean_up() {
  auto removing = remove_keys();
  return awaited(std::move(removing));
}

bool key_holding::waited_enough(bool first) const {
  return stopping_.stopped() || (!first && !settings_.deadline.never() && settings_.deadline.left() <= 0ms);
}

milliseconds key_holding::next_wait() const {
  return settings_.deadline.never() ? wait_at_most : std::clamp(settings_.deadline.left(), 1ms, wait_at_most);
}

v0::task<key_holding::reading> key_holding::read(std::string key, bool consistent, std::uint64_t index,
                                                 milliseconds wait) {
  auto q = change("GET", key);
  if (key.empty() || key.ends_with('/'))
    q.query("recurse");
  if (consistent)
    q.query("consistent");
  if (index != 0)
    q.query("index", std::to_string(index)).query("wait", std::to_string(wait.count()) + "ms");
  // Servers add up to a sixteenth to the wait.
  auto deadline = sockets_.now() + deadline_.limit(answer_limit + (index != 0 ? wait + wait / 16 : 0ms));
  v0::answer a = co_await v0::ask(sockets_, q, deadline, &stopping_);
  reading out;
  out.retryable = !a.received() || a.status() >= 500 || a.status() == 429;
  out.index = a.number("X-Consul-Index");
  out.fence = a.header("X-Belay-Fence");
  if (a.status() == 404)
    co_return out;
  out.complaint = complaint_about(target_, q, a);
  if (!out.complaint.empty())
    co_return out;
  auto rows = v0::detail::entries_in(a.body());
  if (rows)
    out.rows = std::move(*rows);
  else
    out.complaint = "the response is not a list of keys";
  co_return out;
}

v0::task<v0::status> key_holding::follow(std::string key) {
  std::uint64_t index = 0;
  std::size_t errors = 0;
  while (!stopping_.stopped() && !over()) {
    reading seen = co_await read(key, true, index, wait_at_most);
    if (stopping_.stopped())
      break;
    if (!seen.complaint.empty()) {
      if (!seen.retryable || errors++ >= settings_.retries)
        break;
      index = 0;
      co_await pause(retry_after);
      continue;
    }
    errors = 0;
    if (!shows_holding(seen))
      break;
    index = seen.index < index ? 0 : seen.index;
  }
  co_return v0::nothing();
}

v0::task<key_holding::written> key_holding::write(v0::request q, milliseconds limit) {
  auto deadline = sockets_.now() + deadline_.limit(limit);
  v0::answer a = co_await v0::ask(sockets_, q, deadline, &stopping_);
  written out;
  out.complaint = complaint_about(target_, q, a);
  out.done = out.complaint.empty() && a.body().find("true") != std::string::npos;
  out.whole = std::move(a);
  co_return out;
}

} // namespace belay::cli
