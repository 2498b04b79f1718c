#include "actors/names/name_lookups.hpp"

#include <netdb.h>

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace belay::actors {

namespace {

using steady = std::chrono::steady_clock;

// Names are looked up for dialling only. A host that moved is found this late, at this rate.
constexpr std::chrono::seconds fresh_for{2};
constexpr std::chrono::minutes kept_for{1};

} // namespace

struct name_lookups::state : std::enable_shared_from_this<name_lookups::state> {
  struct name {
    addresses newest;     ///< empty: no such host
    addresses last;       ///< the last non-empty one
    std::size_t used = 0; ///< position in `last` of the result of find()
    bool untried = true;  ///< since `used` has changed
    steady::time_point answered{}, wanted{};
    bool known = false;
    bool requested = false; ///< a thread looks it up, or it waits for a thread
    std::vector<std::weak_ptr<name_lookups::answered>> waiting;
  };

  lookup look_up;
  std::size_t names_max = 0, threads_max = 0;
  std::mutex mutex; // protects everything below
  std::map<std::string, name> by_name;
  std::deque<std::string> without_thread;
  std::size_t threads = 0;

  /// Null: all slots are used.
  name* wanted(const std::string& host) {
    const auto now = steady::now();
    if (by_name.size() >= names_max && !by_name.contains(host))
      std::erase_if(by_name,
                    [now](const auto& each) { return !each.second.requested && now - each.second.wanted > kept_for; });
    if (by_name.size() >= names_max && !by_name.contains(host))
      return nullptr;
    auto& n = by_name[host];
    n.wanted = now;
    return &n;
  }

  void begin(const std::string& host, name& n) {
    if (std::exchange(n.requested, true))
      return;
    if (threads >= threads_max)
      return without_thread.push_back(host);
    try {
      std::thread([self = shared_from_this(), host] { self->work(host); }).detach();
      ++threads;
    } catch (const std::system_error&) { // no thread: the next call retries
      settle(n, {});
    }
  }

  void work(std::string host) {
    for (;;) {
      auto found = look_up(host);
      std::lock_guard lock(mutex);
      settle(by_name[host], std::move(found));
      if (without_thread.empty()) {
        --threads;
        return;
      }
      host = std::move(without_thread.front());
      without_thread.pop_front();
    }
  }

  void settle(name& n, addresses found) {
    if (!found.empty()) // for find(): a name server that is away for a while makes no host unreachable
      n.last = found;
    n.newest = std::move(found);
    n.answered = steady::now();
    n.known = true;
    n.requested = false;
    for (const auto& each : std::exchange(n.waiting, {}))
      if (const auto then = each.lock())
        (*then)(n.newest);
  }
};

name_lookups::name_lookups(lookup look_up, std::size_t names_max, std::size_t threads_max)
    : state_(std::make_shared<state>()) {
  state_->look_up = std::move(look_up);
  state_->names_max = names_max;
  state_->threads_max = threads_max;
}

name_lookups::~name_lookups() {
  std::lock_guard lock(state_->mutex);
  for (auto& [host, n] : state_->by_name)
    n.waiting.clear();
  state_->without_thread.clear();
}

name_lookups::lookup name_lookups::system_lookup() {
  return [](const std::string& host) { return all_resolved(host.c_str(), nullptr, 0); };
}

std::optional<socket_endpoint> name_lookups::find(const std::string& host, std::uint16_t port) {
  if (host.empty())
    return std::nullopt;
  if (auto e = numeric_endpoint(host, port))
    return e;
  std::lock_guard lock(state_->mutex);
  auto* n = state_->wanted(host);
  if (n == nullptr)
    return std::nullopt;
  if (n->last.empty() || steady::now() - n->answered > fresh_for)
    state_->begin(host, *n);
  if (n->last.empty())
    return std::nullopt;
  n->untried = false;
  return with_port(n->last[n->used % n->last.size()], port);
}

void name_lookups::failed(const std::string& host) {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->by_name.find(host);
  // Several connections to one address may fail.
  if (found != state_->by_name.end() && !std::exchange(found->second.untried, true))
    ++found->second.used;
}

void name_lookups::ask(const std::string& host, const std::shared_ptr<answered>& then) {
  std::lock_guard lock(state_->mutex);
  // getaddrinfo() rejects longer ones, too; they are not stored.
  auto* n = host.size() < NI_MAXHOST ? state_->wanted(host) : nullptr;
  if (n == nullptr)
    return (*then)({});
  if (!n->requested && n->known && steady::now() - n->answered <= fresh_for)
    return (*then)(n->newest);
  std::erase_if(n->waiting, [](const auto& each) { return each.expired(); });
  n->waiting.push_back(then);
  state_->begin(host, *n);
}

} // namespace belay::actors
