#include "cli/locks/session_holding.hpp"

#include "cli/api/awaited.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::cli {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds open_within{10'000}, close_within{4'000};
constexpr std::chrono::milliseconds open_least{2'000}; // two requests, even with a shorter timeout

} // namespace

asio::awaitable<status> session_holding::begin(std::string name) {
  options_.name = std::move(name);
  session_ = std::make_unique<v0::session>(sockets_, options_);
  session_->on_change([this] { answered_ = lock_clock::now(); });
  const auto limit = std::max(deadline_.limit(open_within), open_least);
  auto opening = session_->open(v0::deadline(sockets_.now() + limit));
  const auto opened = co_await awaited(std::move(opening));
  answered_ = lock_clock::now();
  if (!opened)
    co_return failure{opened.error().text()};
  co_return done{};
}

asio::awaitable<void> session_holding::end() {
  if (!session_)
    co_return;
  auto closing = session_->close(within(close_within));
  const auto closed = co_await awaited(std::move(closing)); // if it fails, the TTL ends the session
}

lock_clock::time_point session_holding::valid_until() const {
  const auto left = over() ? v0::lease_clock::duration() : session_->safe_until() - v0::lease_clock::now();
  const auto until = lock_clock::now() + std::chrono::duration_cast<lock_clock::time_point::duration>(left);
  return MUTANT(lease_counted_from_answer) ? answered_ + options_.ttl : until;
}

} // namespace belay::cli
