// A lock as in Consul's api.Lock: one key, held by a session.

#include "cli/locks/key_holding.hpp"

#include <algorithm>

namespace belay::cli {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t lock_flags = 0x2ddccbc058a50c18; // docs/contract/04, section 6
constexpr milliseconds acquire_again_after = 1s;
constexpr milliseconds delay_retry = 5s; // if the server does not report the lock delay

class key_lock final : public key_holding {
public:
  using key_holding::key_holding;

  std::string key() const override { return settings_.prefix.empty() ? ".lock" : settings_.prefix + "/.lock"; }
  std::string fence() const override { return fence_; }

private:
  v0::task<result<bool>> take() override {
    std::uint64_t index = 0;
    for (bool first = true;; first = false) {
      if (waited_enough(first))
        co_return false;
      if (lost())
        co_return failure{"the session has ended"};
      const auto limit = next_wait();
      reading seen = co_await read(key(), false, index, limit);
      index = 0;
      if (!seen.complaint.empty()) {
        if (stopping_.stopped())
          co_return false;
        // Waiting longer loses nothing: the session is renewed meanwhile.
        if (!seen.retryable || (first && !seen.complaint.starts_with("Unexpected")))
          co_return failure{"failed to read lock: " + seen.complaint};
        co_await pause(std::min(limit, acquire_again_after));
        continue;
      }
      if (!seen.rows.empty()) {
        const auto& row = seen.rows[0];
        if (row.flags != lock_flags)
          co_return failure{"Existing key does not match lock use"};
        if (row.session == session()) { // acquired by a request whose response was lost
          fence_ = seen.fence;
          co_return true;
        }
        if (!row.session.empty() && !queues_) {
          index = seen.index;
          continue;
        }
      }
      const auto requested = sockets_.now();
      written got = co_await ask_for_it(limit);
      if (got.done) {
        fence_ = got.whole.header("X-Belay-Fence");
        co_return true;
      }
      const bool refused = got.whole.received() && got.whole.status() < 500;
      if (!got.complaint.empty() && (refused || got.whole.body().find("invalid session") != std::string::npos))
        co_return failure{"failed to acquire lock: " + got.complaint};
      const auto reason = got.whole.header("X-Belay-Reason");
      queues_ = !got.complaint.empty() || (reason != "held" && !reason.empty());
      // "deadline" ended only this wait. The next one continues at the same position.
      if (reason == "deadline" || reason == "held" || (!got.complaint.empty() && sockets_.now() >= requested + limit))
        continue;
      co_await pause(std::min(pause_after(got), limit));
    }
  }

  /// Waits at a position in the server's queue (docs/reference/http-extensions.md, "Waiting for a
  /// lock"). Consul's servers have no queue. A client that asks again before the wait is over keeps
  /// its position.
  v0::task<written> ask_for_it(milliseconds limit) {
    const auto left = settings_.deadline.never() ? 2 * limit : settings_.deadline.left();
    const auto wait = std::to_string(std::clamp(left, 1ms, 2 * limit).count()) + "ms";
    auto q = how("acquire");
    q.query("queue", wait);
    q.query("wait", wait); // the same for servers of 0.2.0; to be removed in 0.5
    return write(std::move(q), std::max(limit, milliseconds(1s))); // -timeout=1ms may find it free
  }

  /// How long to wait when no server wakes this client: during a lock delay, or after an error.
  static milliseconds pause_after(const written& got) {
    if (!got.complaint.empty())
      return acquire_again_after;
    const auto rest = got.whole.number("X-Belay-Retry-After-Ms");
    return rest != 0 ? milliseconds(std::min<std::uint64_t>(rest, 60'000)) : delay_retry;
  }

  std::string followed() const override { return key(); }
  bool shows_holding(const reading& seen) const override {
    return !seen.rows.empty() && seen.rows[0].session == session();
  }

  v0::task<status> give_up() override {
    written released = co_await write(how("release"));
    if (!released.complaint.empty())
      co_return failure{"failed to release lock: " + released.complaint};
    co_return done{};
  }

  v0::task<result<bool>> remove_keys() override {
    reading seen = co_await read(key(), false, 0, 0ms);
    if (!seen.complaint.empty())
      co_return failure{"failed to read lock: " + seen.complaint};
    if (seen.rows.empty())
      co_return true;
    if (seen.rows[0].flags != lock_flags)
      co_return failure{"Existing key does not match lock use"};
    if (!seen.rows[0].session.empty())
      co_return false;
    auto q = change("DELETE", key());
    q.query("cas", std::to_string(seen.rows[0].index));
    written removed = co_await write(std::move(q));
    if (!removed.complaint.empty())
      co_return failure{"failed to remove lock: " + removed.complaint};
    co_return removed.done;
  }

  v0::request how(std::string_view verb) const {
    auto q = change("PUT", key());
    q.query(verb, session()).query("flags", std::to_string(lock_flags));
    return q;
  }

  std::string fence_;
  bool queues_ = true; ///< whether the server has a queue; Consul's has none
};

} // namespace

std::unique_ptr<holding> make_holding(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                                      holding_settings settings) {
  if (settings.limit > 1)
    return make_semaphore(loop, target, scope, std::move(settings));
  return std::make_unique<key_lock>(loop, target, scope, std::move(settings));
}

} // namespace belay::cli
