#include <belay/striped_mutex.hpp>

#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

striped_mutex::striped_mutex(session& s, std::string name, std::size_t stripes, mutex_options options)
    : session_(s), name_(std::move(name)), stripes_(std::max<std::size_t>(stripes, 1)), options_(std::move(options)) {}

std::size_t striped_mutex::stripe_of(std::string_view key) const noexcept {
  // FNV-1a, draft-eastlake-fnv: std::hash may differ between programs.
  std::uint64_t h = 0xcbf29ce484222325u;
  for (unsigned char c : key)
    h = (h ^ c) * 0x100000001b3u;
  return static_cast<std::size_t>(h % stripes_);
}

task<result<lease>> striped_mutex::acquire_stripe(std::size_t stripe, deadline limit) {
  mutex lock(session_, name_ + "/" + std::to_string(stripe), options_);
  result<lease> held = co_await lock.acquire(limit);
  co_return std::move(held);
}

task<result<lease>> striped_mutex::acquire(std::string key, deadline limit) {
  std::size_t stripe = stripe_of(key);
  result<lease> held = co_await acquire_stripe(stripe, limit);
  co_return std::move(held);
}

task<result<std::vector<lease>>> striped_mutex::acquire_all(std::vector<std::string> keys, deadline limit) {
  std::vector<std::size_t> stripes;
  stripes.reserve(keys.size());
  for (const auto& key : keys)
    stripes.push_back(stripe_of(key));
  if (!CLIENT_MUTANT(stripes_in_any_order))
    std::sort(stripes.begin(), stripes.end());
  std::vector<std::size_t> once;
  for (auto stripe : stripes)
    if (std::find(once.begin(), once.end(), stripe) == once.end())
      once.push_back(stripe);
  std::vector<lease> out;
  for (auto stripe : once) {
    result<lease> held = co_await acquire_stripe(stripe, limit);
    if (!held)
      co_return held.error();
    out.push_back(std::move(*held));
  }
  // The first ones may have been lost during the wait for the last ones.
  for (const auto& h : out)
    if (!h.safe())
      co_return error(outcome::refused, reason::session, "the session was lost meanwhile");
  co_return std::move(out);
}

} // namespace v0
} // namespace belay
