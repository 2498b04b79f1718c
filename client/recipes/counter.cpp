#include <belay/counter.hpp>

#include "client/core/asking.hpp"

#include <charconv>
#include <optional>

namespace belay {
inline namespace v0 {

namespace {

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t n = 0;
  auto [end, ok] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ok != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return n;
}

} // namespace

counter::counter(environment& env, std::string key, std::int64_t min, std::int64_t max)
    : env_(env), key_(std::move(key)), min_(min), max_(max) {}

task<result<std::int64_t>> counter::read(deadline limit) {
  result<reading> now = co_await read_key(env_, key_, limit);
  if (!now)
    co_return now.error();
  if (!now->found)
    co_return std::int64_t(0);
  auto n = number_in(now->found->value);
  if (!n)
    co_return detail::no_number(key_);
  co_return *n;
}

task<result<std::int64_t>> counter::add(std::int64_t n, deadline limit) {
  reason refused = reason::none;
  auto added = [&refused, n, this](const std::optional<entry>& now) -> std::optional<std::string> {
    auto before = now ? number_in(now->value) : std::optional<std::int64_t>(0);
    std::int64_t sum = 0;
    refused = reason::none;
    if (!before)
      refused = reason::invalid;
    else if (__builtin_add_overflow(*before, n, &sum) || sum < min_ || sum > max_)
      refused = reason::bounds;
    if (refused != reason::none)
      return std::nullopt;
    return std::to_string(sum);
  };
  result<std::string> written = co_await update(env_, key_, added, limit);
  if (refused == reason::invalid)
    co_return detail::no_number(key_);
  if (refused == reason::bounds)
    co_return error(outcome::refused, reason::bounds, "the result would be below the minimum or above the maximum");
  if (!written)
    co_return written.error();
  auto sum = number_in(*written);
  if (!sum)
    co_return detail::no_number(key_);
  co_return *sum;
}

} // namespace v0
} // namespace belay
