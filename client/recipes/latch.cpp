#include <belay/latch.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

task<result<std::uint64_t>> latch::count_down(deadline limit, std::uint64_t n) {
  bool wrong = false;
  std::uint64_t count = count_;
  auto counted = [&wrong, n, count](const std::optional<entry>& now) -> std::optional<std::string> {
    auto left = now ? detail::number_in(now->value) : std::optional<std::uint64_t>(count);
    wrong = !left;
    if (!left || (now && *left == 0))
      return std::nullopt;
    return std::to_string(*left - std::min(*left, n));
  };
  result<std::string> written = co_await update(env_, key_, counted, limit);
  if (wrong)
    co_return detail::no_number(key_);
  if (!written)
    co_return written.error();
  auto left = detail::number_in(*written);
  if (!left)
    co_return detail::no_number(key_);
  co_return *left;
}

task<status> latch::wait(deadline limit) {
  std::uint64_t seen = 0;
  for (;;) {
    result<reading> now = co_await await_key(env_, key_, seen, detail::longest_wait, limit);
    if (!now && limit.over(env_.now()))
      co_return limit.error();
    if (!now)
      co_return now.error();
    auto left = now->found ? detail::number_in(now->found->value) : std::optional<std::uint64_t>(count_);
    if (!left)
      co_return detail::no_number(key_);
    if (*left == 0 || (*left == 1 && CLIENT_MUTANT(latch_opens_early)))
      co_return nothing();
    if (limit.over(env_.now()))
      co_return limit.error();
    // An index that goes back belongs to another history.
    seen = now->index < seen ? 0 : now->index;
    if (CLIENT_MUTANT(latch_wakes_late))
      seen += 1000;
  }
}

} // namespace v0
} // namespace belay
