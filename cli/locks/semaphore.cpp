// A semaphore as in Consul's api.Semaphore: one key for each contender, and one that lists the
// holders.

#include "cli/locks/key_holding.hpp"

#include "client/core/json_answers.hpp"

#include <algorithm>

namespace belay::cli {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t semaphore_flags = 0xe0f69a2baa414de0; // docs/contract/04, section 6
constexpr milliseconds error_pause = 1s;
constexpr int list_attempts_max = 100; // to leave a list that other holders change, too

class semaphore final : public key_holding {
public:
  using key_holding::key_holding;

  std::string key() const override { return below() + ".lock"; }

private:
  struct list_state {
    v0::detail::slot_table list;
    std::uint64_t modify_index = 0; ///< 0: there is no such key

    bool has(const std::string& session) const {
      return std::find(list.holders.begin(), list.holders.end(), session) != list.holders.end();
    }
  };

  v0::task<result<bool>> take() override {
    auto contend = with_flags(own_key());
    contend.query("acquire", session());
    written made = co_await write(std::move(contend));
    if (!made.done && stopping_.stopped())
      co_return false;
    if (!made.done)
      co_return failure{"failed to make contender entry: " + (made.complaint.empty() ? "it is held" : made.complaint)};
    std::uint64_t index = 0;
    for (bool first = true;; first = false) {
      if (waited_enough(first))
        co_return false;
      if (lost())
        co_return failure{"the session has ended"};
      const auto limit = next_wait();
      reading seen = co_await read(below(), false, index, limit);
      index = 0;
      if (!seen.complaint.empty()) {
        if (!seen.retryable)
          co_return failure{"failed to read prefix: " + seen.complaint};
        co_await pause(std::min(limit, error_pause));
        continue;
      }
      auto state = state_of(seen.rows);
      if (!state)
        co_return state.reason();
      auto& list = state->list;
      if (state->has(session())) // added by a request whose response was lost
        co_return true;
      if (list.limit != settings_.limit)
        co_return failure{"semaphore limit conflict (lock: " + std::to_string(list.limit) +
                          ", local: " + std::to_string(settings_.limit) + ")"};
      if (list.holders.size() >= list.limit) {
        index = seen.index;
        continue;
      }
      list.holders.push_back(session());
      written entered = co_await change_list(*state);
      if (entered.done)
        co_return true;
      if (!entered.complaint.empty())
        co_await pause(std::min(limit, error_pause));
    }
  }

  std::string followed() const override { return below(); }
  bool shows_holding(const reading& seen) const override {
    const auto state = state_of(seen.rows);
    return state && state->has(session());
  }

  v0::task<status> give_up() override {
    for (int attempt = 0; attempt < list_attempts_max; ++attempt) {
      reading seen = co_await read(below(), false, 0, 0ms);
      if (!seen.complaint.empty())
        co_return failure{"failed to read lock: " + seen.complaint};
      auto state = state_of(seen.rows);
      if (!state)
        co_return state.reason();
      if (std::erase(state->list.holders, session()) == 0)
        break;
      written left = co_await change_list(*state);
      if (!left.complaint.empty())
        co_return failure{"failed to update lock: " + left.complaint};
      if (left.done)
        break;
    }
    written removed = co_await write(change("DELETE", own_key()));
    if (!removed.complaint.empty())
      co_return failure{"failed to remove contender entry: " + removed.complaint};
    co_return done{};
  }

  v0::task<result<bool>> remove_keys() override {
    reading seen = co_await read(below(), false, 0, 0ms);
    if (!seen.complaint.empty())
      co_return failure{"failed to read prefix: " + seen.complaint};
    const auto state = state_of(seen.rows);
    if (!state)
      co_return state.reason();
    if (!state->list.holders.empty())
      co_return false;
    if (state->modify_index == 0)
      co_return true;
    auto q = change("DELETE", key());
    q.query("cas", std::to_string(state->modify_index));
    written removed = co_await write(std::move(q));
    if (!removed.complaint.empty())
      co_return failure{"failed to remove semaphore: " + removed.complaint};
    co_return removed.done;
  }

  /// The list of holders, without those whose session has ended.
  result<list_state> state_of(const std::vector<v0::entry>& rows) const {
    list_state out;
    out.list.limit = settings_.limit;
    for (const auto& row : rows) {
      if (row.key != key())
        continue;
      if (row.flags != semaphore_flags)
        return failure{"Existing key does not match semaphore use"};
      auto list = v0::detail::slots_in(row.value);
      if (!list)
        return failure{"lock decoding failed: it is not a list of holders"};
      out.list = std::move(*list);
      out.modify_index = row.index;
    }
    std::erase_if(out.list.holders, [&](const std::string& holder) {
      return std::none_of(rows.begin(), rows.end(), [&](const v0::entry& row) { return row.session == holder; });
    });
    return out;
  }

  v0::task<written> change_list(const list_state& to) {
    auto q = with_flags(key());
    q.query("cas", std::to_string(to.modify_index)).body(v0::detail::text_of(to.list));
    return write(std::move(q));
  }

  static v0::request with_flags(const std::string& key) {
    auto q = change("PUT", key);
    q.query("flags", std::to_string(semaphore_flags));
    return q;
  }

  /// The prefix of all keys.
  std::string below() const { return settings_.prefix.empty() ? "" : settings_.prefix + "/"; }
  std::string own_key() const { return below() + session(); }
};

} // namespace

std::unique_ptr<holding> make_semaphore(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                                        holding_settings settings) {
  return std::make_unique<semaphore>(loop, target, scope, std::move(settings));
}

} // namespace belay::cli
