#include "cli/locks/semaphore.hpp"

#include "cli/output/json_text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>

namespace belay::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;
using milliseconds = std::chrono::milliseconds;

namespace {

constexpr std::uint64_t semaphore_flags = 0xe0f69a2baa414de0; // docs/contract/04, section 6
constexpr milliseconds query_wait = 15s;
constexpr milliseconds error_pause = 1s;
constexpr int list_attempts_max = 100; // to take oneself off a list that others change, too

class semaphore final : public key_holding {
public:
  semaphore(const asio::any_io_executor& executor, const api_target& target, api_query scope, holding_settings settings)
      : key_holding(executor, target, std::move(scope), std::move(settings)),
        below_(settings_.prefix.empty() ? "" : settings_.prefix + "/") {}

  std::string key() const override { return below_ + ".lock"; }

  asio::awaitable<result<bool>> take() override {
    const auto& deadline = settings_.deadline;
    auto query = with_flags();
    query.add("acquire", lease_.id());
    const auto made = co_await keys_.write("PUT", below_ + lease_.id(), query, "");
    if (!made || !*made)
      co_return keys_.stopped() ? result<bool>(false)
                                : failure{"failed to make contender entry: " + (made ? "it is held" : made.error())};
    std::uint64_t index = 0;
    for (bool first = true; !keys_.stopped(); first = false) {
      const bool patient = deadline.never();
      const auto left = patient ? 0ms : deadline.left();
      if (!first && !patient && left <= 0ms)
        co_return false;
      if (lease_.gone())
        co_return failure{"the session has ended"};
      const auto limit = patient ? query_wait : std::clamp(left, 1ms, query_wait);
      const auto seen = co_await keys_.read(below_, true, false, index, limit);
      if (!seen.complaint.empty()) {
        if (!seen.retryable)
          co_return failure{"failed to read prefix: " + seen.complaint};
        index = 0;
        co_await keys_.pause(std::min(limit, error_pause));
        continue;
      }
      index = 0;
      auto state = state_of(seen.rows);
      if (!state)
        co_return state.why();
      auto& list = state->list;
      if (list.holders.contains(lease_.id())) // of a change whose answer was lost
        co_return true;
      if (list.limit != settings_.limit)
        co_return failure{"semaphore limit conflict (lock: " + std::to_string(list.limit) +
                          ", local: " + std::to_string(settings_.limit) + ")"};
      if (list.holders.size() >= list.limit) {
        index = seen.index;
        continue;
      }
      list.holders.insert(lease_.id());
      const auto entered = co_await change_list(*state);
      if (entered && *entered)
        co_return true;
      if (!entered)
        co_await keys_.pause(std::min(limit, error_pause));
    }
    co_return false;
  }

  asio::awaitable<void> watch() override {
    std::uint64_t index = 0;
    std::size_t errors = 0;
    while (!keys_.stopped() && !lease_.over()) {
      const auto seen = co_await keys_.read(below_, true, true, index, query_wait);
      if (keys_.stopped())
        co_return;
      if (!seen.complaint.empty()) {
        if (!seen.retryable || errors++ >= settings_.retries)
          co_return;
        index = 0;
        co_await keys_.pause(error_pause);
        continue;
      }
      errors = 0;
      const auto state = state_of(seen.rows);
      if (!state || !state->list.holders.contains(lease_.id()))
        co_return;
      index = seen.index < index ? 0 : seen.index;
    }
  }

  asio::awaitable<status> release() override {
    keys_.restart();
    for (int attempt = 0; attempt < list_attempts_max; ++attempt) {
      const auto seen = co_await keys_.read(below_, true, false, 0, 0ms);
      if (!seen.complaint.empty())
        co_return failure{"failed to read lock: " + seen.complaint};
      auto state = state_of(seen.rows);
      if (!state)
        co_return state.why();
      if (state->list.holders.erase(lease_.id()) == 0)
        break;
      const auto left = co_await change_list(*state);
      if (!left)
        co_return failure{"failed to update lock: " + left.error()};
      if (*left)
        break;
    }
    const auto removed = co_await keys_.write("DELETE", below_ + lease_.id(), keys_.scope(), "");
    if (!removed)
      co_return failure{"failed to remove contender entry: " + removed.error()};
    co_return done{};
  }

  asio::awaitable<result<bool>> clean_up() override {
    const auto seen = co_await keys_.read(below_, true, false, 0, 0ms);
    if (!seen.complaint.empty())
      co_return failure{"failed to read prefix: " + seen.complaint};
    const auto state = state_of(seen.rows);
    if (!state)
      co_return state.why();
    if (!state->list.holders.empty())
      co_return false;
    if (state->modify_index == 0)
      co_return true;
    auto query = keys_.scope();
    query.add("cas", std::to_string(state->modify_index));
    const auto removed = co_await keys_.write("DELETE", key(), query, "");
    if (!removed)
      co_return failure{"failed to remove semaphore: " + removed.error()};
    co_return *removed;
  }

private:
  struct list_state {
    holder_list list;
    std::uint64_t modify_index = 0; ///< 0: the key is not there
  };

  /// The list of holders without those whose session has ended.
  result<list_state> state_of(const std::vector<key_row>& rows) const {
    list_state out;
    out.list.limit = settings_.limit;
    std::set<std::string> alive;
    for (const auto& row : rows) {
      if (!row.session.empty())
        alive.insert(row.session);
      if (row.key != key())
        continue;
      if (row.flags != semaphore_flags)
        return failure{"Existing key does not match semaphore use"};
      auto list = read_holder_list(row.value);
      if (!list)
        return list.why();
      out.list = std::move(*list);
      out.modify_index = row.modify_index;
    }
    std::erase_if(out.list.holders, [&](const std::string& holder) { return !alive.contains(holder); });
    return out;
  }

  asio::awaitable<result<bool>> change_list(const list_state& to) {
    auto query = with_flags();
    query.add("cas", std::to_string(to.modify_index));
    return keys_.write("PUT", key(), query, to.list.text());
  }

  api_query with_flags() const {
    auto query = keys_.scope();
    query.add("flags", std::to_string(semaphore_flags));
    return query;
  }

  std::string below_; ///< what all keys begin with
};

} // namespace

std::string holder_list::text() const {
  json::object all;
  for (const auto& holder : holders)
    all.emplace(holder, true);
  return compact(json::object{{"Limit", limit}, {"Holders", std::move(all)}});
}

result<holder_list> read_holder_list(const std::string& text) {
  boost::system::error_code ec;
  const auto v = json::parse(text, ec);
  const auto* limit = member(v, "Limit");
  const auto* holders = member(v, "Holders");
  if (ec || limit == nullptr || !limit->is_number() || holders == nullptr || !holders->is_object())
    return failure{"lock decoding failed: it is no list of holders"};
  holder_list out;
  out.limit = limit->to_number<std::uint64_t>(ec);
  for (const auto& one : holders->get_object())
    out.holders.insert(std::string(one.key()));
  return out;
}

std::unique_ptr<holding> make_semaphore(const asio::any_io_executor& executor, const api_target& target,
                                        api_query scope, holding_settings settings) {
  return std::make_unique<semaphore>(executor, target, std::move(scope), std::move(settings));
}

} // namespace belay::cli
