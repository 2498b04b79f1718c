// A lock as Consul's api.Lock: one key, held by a session.

#include "cli/locks/holding.hpp"
#include "cli/locks/semaphore.hpp"

#include <algorithm>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using milliseconds = std::chrono::milliseconds;

namespace {

constexpr std::uint64_t lock_flags = 0x2ddccbc058a50c18; // docs/contract/04, section 6
constexpr milliseconds wait_at_most = 15s;
constexpr milliseconds retry_after = 1s;
constexpr milliseconds delay_retry = 5s; // where the server does not say how long the lock delay lasts

class key_lock final : public key_holding {
public:
  key_lock(const asio::any_io_executor& executor, const api_target& target, api_query scope, holding_settings settings)
      : key_holding(executor, target, std::move(scope), std::move(settings)),
        key_(settings_.prefix.empty() ? ".lock" : settings_.prefix + "/.lock") {}

  std::string key() const override { return key_; }
  std::string fence() const override { return fence_; }

  asio::awaitable<result<bool>> take() override {
    const auto& deadline = settings_.deadline;
    std::uint64_t index = 0;
    for (bool first = true; !keys_.stopped(); first = false) {
      const bool patient = deadline.never();
      const auto left = patient ? 0ms : deadline.left();
      if (!first && !patient && left <= 0ms)
        co_return false;
      if (lease_.gone())
        co_return failure{"the session has ended"};
      const auto limit = patient ? wait_at_most : std::clamp(left, 1ms, wait_at_most);
      const auto seen = co_await keys_.read(key_, false, false, index, limit);
      if (!seen.complaint.empty()) {
        // Nothing is lost by waiting on: the session is renewed meanwhile.
        if (!seen.retryable || (first && !seen.complaint.starts_with("Unexpected")))
          co_return keys_.stopped() ? result<bool>(false) : failure{"failed to read lock: " + seen.complaint};
        index = 0;
        co_await keys_.pause(std::min(limit, retry_after));
        continue;
      }
      index = 0;
      if (!seen.rows.empty()) {
        const auto& row = seen.rows[0];
        if (row.flags != lock_flags)
          co_return failure{"Existing key does not match lock use"};
        if (row.session == lease_.id()) { // of an acquire whose answer was lost
          fence_ = seen.fence;
          co_return true;
        }
        if (!row.session.empty() && !queues_) {
          index = seen.index;
          continue;
        }
      }
      // docs/http-extensions.md, "Waiting for a lock": by its place in a queue, which Consul's servers do not have.
      // Whoever asks again before the wait is over keeps the place.
      api_answer answer;
      const auto wait = patient ? 2 * limit : std::min(left, 2 * limit);
      auto query = how("acquire");
      const auto wait_text = std::to_string(std::max(wait, 1ms).count()) + "ms";
      query.add("queue", wait_text);
      query.add("wait", wait_text); // the same for servers of 0.2.0; to be removed in 0.5
      const auto asked = lock_clock::now();
      const auto got = co_await keys_.write("PUT", key_, std::move(query), "", &answer, limit);
      if (got && *got) {
        fence_ = answer.header("x-belay-fence");
        co_return true;
      }
      if (!got && answer.status != 0 && answer.status < 500)
        co_return failure{"failed to acquire lock: " + got.error()};
      if (!got && answer.body.find("invalid session") != std::string::npos)
        co_return failure{"failed to acquire lock: " + got.error()};
      const auto reason = answer.header("x-belay-reason");
      queues_ = !got || (reason != "held" && !reason.empty());
      if (reason == "deadline") // of this wait: the next one takes its place again
        continue;
      if (reason != "held") { // lock delay, or not known: nobody wakes us
        const auto rest = answer.number("x-belay-retry-after-ms");
        if (!got && lock_clock::now() >= asked + limit)
          continue;
        const auto pause = !got   ? retry_after
                           : rest ? milliseconds(std::min<std::uint64_t>(*rest, 60'000))
                                  : delay_retry;
        co_await keys_.pause(std::min(pause, limit));
      }
    }
    co_return false;
  }

  asio::awaitable<void> watch() override {
    std::uint64_t index = 0;
    std::size_t errors = 0;
    while (!keys_.stopped() && !lease_.over()) {
      const auto seen = co_await keys_.read(key_, false, true, index, wait_at_most);
      if (keys_.stopped())
        co_return;
      if (!seen.complaint.empty()) {
        if (!seen.retryable || errors++ >= settings_.retries)
          co_return;
        index = 0;
        co_await keys_.pause(retry_after);
        continue;
      }
      errors = 0;
      if (seen.rows.empty() || seen.rows[0].session != lease_.id())
        co_return;
      index = seen.index < index ? 0 : seen.index;
    }
  }

  asio::awaitable<status> release() override {
    keys_.restart();
    const auto released = co_await keys_.write("PUT", key_, how("release"), "");
    if (!released)
      co_return failure{"failed to release lock: " + released.error()};
    co_return done{};
  }

  asio::awaitable<result<bool>> clean_up() override {
    const auto seen = co_await keys_.read(key_, false, false, 0, 0ms);
    if (!seen.complaint.empty())
      co_return failure{"failed to read lock: " + seen.complaint};
    if (seen.rows.empty())
      co_return true;
    if (seen.rows[0].flags != lock_flags)
      co_return failure{"Existing key does not match lock use"};
    if (!seen.rows[0].session.empty())
      co_return false;
    auto query = keys_.scope();
    query.add("cas", std::to_string(seen.rows[0].modify_index));
    const auto removed = co_await keys_.write("DELETE", key_, query, "");
    if (!removed)
      co_return failure{"failed to remove lock: " + removed.error()};
    co_return *removed;
  }

private:
  api_query how(std::string_view verb) const {
    auto query = keys_.scope();
    query.add(verb, lease_.id());
    query.add("flags", std::to_string(lock_flags));
    return query;
  }

  std::string key_, fence_;
  bool queues_ = true; ///< as far as we know: Consul's servers do not
};

} // namespace

std::unique_ptr<holding> make_holding(const asio::any_io_executor& executor, const api_target& target, api_query scope,
                                      holding_settings settings) {
  if (settings.limit > 1)
    return make_semaphore(executor, target, std::move(scope), std::move(settings));
  return std::make_unique<key_lock>(executor, target, std::move(scope), std::move(settings));
}

} // namespace belay::cli
