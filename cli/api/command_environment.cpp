#include "cli/api/command_environment.hpp"

#include <charconv>

namespace belay::cli {

namespace {

/// The longest part of a server's error text that is shown, in bytes.
constexpr std::size_t text_max = 400;

/// The longest time for which `target` asks the server to wait for a change; zero: it does not
/// wait. Servers add up to a sixteenth to `wait`.
std::chrono::milliseconds longest_wait(std::string_view target) {
  constexpr std::string_view name = "wait=";
  const auto at = target.find(name);
  std::int64_t ms = 0;
  if (at != target.npos)
    std::from_chars(target.data() + at + name.size(), target.data() + target.size(), ms);
  return std::chrono::milliseconds(ms + ms / 16);
}

template <class Observer>
v0::detail::transport_options observed(const api_target& target, std::string scope, Observer seen) {
  auto o = transport_of(target, std::move(scope));
  o.on_answer = [seen](const v0::request& q, std::chrono::nanoseconds given, const v0::answer& a) {
    seen->take(q, given, a);
  };
  return o;
}

} // namespace

bool passes(const v0::error& why) {
  switch (why.reason()) {
  case v0::reason::limit:
  case v0::reason::unavailable:
  case v0::reason::no_answer:
  case v0::reason::server:
    return true;
  default:
    return false;
  }
}

void command_environment::observations::take(const v0::request& q, std::chrono::nanoseconds given,
                                             const v0::answer& a) {
  last_status = a.status();
  transactions += q.target() == "/v1/txn" && a.status() == 200 ? 1 : 0;
  // The request had no more time than the server was to wait, so the missing response is no sign of
  // a failure.
  if (!a.received() && a.sent() && std::chrono::ceil<std::chrono::milliseconds>(given) <= longest_wait(q.target()))
    return;
  const bool failed = !a.received() || a.status() >= 500;
  if (std::exchange(troubled, failed) == failed || !warn)
    return;
  if (!failed)
    warn({});
  else if (!a.received())
    warn(a.body());
  else
    warn(unexpected_response(static_cast<std::uint64_t>(a.status()), a.body().substr(0, text_max)));
}

command_environment::command_environment(boost::asio::io_context& loop, const api_target& target, std::string scope)
    : command_environment(loop, target, std::move(scope), std::make_shared<observations>()) {}

command_environment::command_environment(boost::asio::io_context& loop, const api_target& target, std::string scope,
                                         std::shared_ptr<observations> seen)
    : socket_environment(loop, observed(target, std::move(scope), seen)), seen_(std::move(seen)) {}

} // namespace belay::cli
