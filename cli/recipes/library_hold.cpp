#include "cli/recipes/library_hold.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"
#include "cli/recipes/running_task.hpp"

#include <belay/election.hpp>
#include <belay/semaphore.hpp>
#include <belay/session.hpp>
#include <belay/shared_mutex.hpp>

#include <boost/json/parse.hpp>

#include <optional>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto release_within = 5s;
constexpr auto look_within = 75s; // a query waits for 60 s, and servers add up to a sixteenth
constexpr auto look_again = 1s;

/// Also if that cannot be seen: of many holders the first thousand are shown.
bool is_among_holders(const std::string& body, const std::string& id) {
  boost::system::error_code ec;
  const auto claim = boost::json::parse(body, ec);
  const auto* const holders = ec || !claim.is_object() ? nullptr : claim.get_object().if_contains("Holders");
  if (holders == nullptr || !holders->is_array() || holders->get_array().size() >= 1000)
    return true;
  for (const auto& h : holders->get_array()) {
    const auto* const known = h.is_object() ? h.get_object().if_contains("ID") : nullptr;
    if (known != nullptr && known->is_string() && known->get_string() == id)
      return true;
  }
  return false;
}

session_options options_of(std::string name) {
  session_options o;
  o.name = std::move(name);
  return o;
}

} // namespace

struct library_hold::parts {
  parts(const asio::any_io_executor& executor, const api_target& target, std::string scope)
      : sockets(executor, target, std::move(scope)), running(executor), watching(executor) {}

  task<void> open(patience limit) {
    status opened = co_await held_by->open(limit);
    if (!opened)
      end = end_of(opened.why());
  }

  task<void> take_permits(const hold_wish& wish, patience limit) {
    semaphore permits(*held_by, wish.name, wish.limit);
    belay::v0::result<hold> got = co_await permits.acquire(wish.permits, limit);
    keep(got);
  }

  task<void> take_office(const hold_wish& wish, patience limit) {
    election office(*held_by, wish.name);
    belay::v0::result<hold> got = co_await office.campaign(wish.value, limit);
    keep(got);
  }

  task<void> take_lock(const hold_wish& wish, patience limit) {
    shared_mutex lock(*held_by, wish.name);
    task<belay::v0::result<hold>> taking =
        wish.of == hold_wish::kind::reader ? lock.acquire_shared(limit) : lock.acquire(limit);
    belay::v0::result<hold> got = co_await taking;
    keep(got);
  }

  task<void> take(const hold_wish& wish, patience limit) {
    switch (wish.of) {
    case hold_wish::kind::office:
      return take_office(wish, limit);
    case hold_wish::kind::reader:
    case hold_wish::kind::writer:
      return take_lock(wish, limit);
    case hold_wish::kind::permits:
      break;
    }
    return take_permits(wish, limit);
  }

  void keep(belay::v0::result<hold>& got) {
    if (got)
      held.emplace(std::move(*got));
    else
      end = end_of(got.why());
  }

  task<void> give_back(patience limit) {
    status given = co_await held->release(limit);
    if (!given)
      end = end_of(given.why());
  }

  task<void> close(patience limit) { co_await held_by->close(limit); }

  /// That the session lives is not all: somebody may have ended the claim, or handed the office over.
  task<void> wait_for_loss() {
    auto never = sockets.now() + for_ever;
    if (held->claim_id().empty()) {
      co_await sleep_until(sockets, never, &held_by->ended(), &stopped);
      co_return;
    }
    std::uint64_t index = 0;
    for (;;) {
      request q("GET", request::path_of("/v1/claim/", name));
      q.query("index", std::to_string(index)).query("wait", "60s");
      auto deadline = sockets.now() + look_within;
      answer a = co_await ask(sockets, q, deadline, &held_by->ended(), &stopped);
      if (held_by->ended().stopped() || stopped.stopped())
        co_return;
      auto now = a.number("X-Consul-Index");
      bool gone = a.status() == 404 && now > 0;
      if (gone || (a.status() == 200 && !is_among_holders(a.body(), held->claim_id())))
        co_return;
      index = a.status() != 200 || now < index ? 0 : now;
      if (a.status() == 200)
        continue;
      // It is not known. The session decides.
      auto again = sockets.now() + look_again;
      co_await sleep_until(sockets, again, &held_by->ended(), &stopped);
    }
  }

  patience within(std::chrono::milliseconds t) { return patience(sockets.now() + t); }

  command_world sockets;
  stopper stopped;
  std::string name; ///< of what is held
  std::unique_ptr<belay::session> held_by;
  std::optional<hold> held;
  library_end end;
  running_task running, watching;
};

library_hold::library_hold(const asio::any_io_executor& executor, const api_target& target, std::string scope)
    : parts_(std::make_unique<parts>(executor, target, std::move(scope))) {}

library_hold::~library_hold() = default;

asio::awaitable<library_end> library_hold::open(std::string name, std::chrono::milliseconds within) {
  auto& p = *parts_;
  p.held_by = std::make_unique<belay::session>(p.sockets, options_of(std::move(name)));
  p.end = {};
  auto opening = p.open(p.within(within));
  co_await p.running.run(std::move(opening));
  co_return p.end;
}

asio::awaitable<library_end> library_hold::acquire(hold_wish wish, std::chrono::milliseconds patience_given) {
  auto& p = *parts_;
  const auto limit = patience_given == 0ms ? std::chrono::milliseconds(for_ever) : patience_given;
  const patience waits(p.sockets.now() + limit, &p.stopped);
  p.end = {};
  p.name = wish.name;
  auto taking = p.take(wish, waits);
  co_await p.running.run(std::move(taking));
  co_return p.end;
}

asio::awaitable<void> library_hold::lost() {
  auto waiting = parts_->wait_for_loss();
  co_await parts_->watching.run(std::move(waiting));
}

asio::awaitable<library_end> library_hold::release() {
  auto& p = *parts_;
  p.end = {};
  if (!p.held)
    co_return p.end;
  auto giving = p.give_back(p.within(release_within));
  co_await p.running.run(std::move(giving));
  p.held.reset();
  co_return p.end;
}

asio::awaitable<void> library_hold::close(std::chrono::milliseconds within) {
  auto& p = *parts_;
  p.held.reset();
  if (!p.held_by)
    co_return;
  auto closing = p.close(p.within(within));
  co_await p.running.run(std::move(closing));
}

void library_hold::stop() {
  parts_->stopped.stop();
}

const std::string& library_hold::session() const {
  static const std::string none;
  return parts_->held_by ? parts_->held_by->id() : none;
}

std::uint64_t library_hold::fence() const {
  return parts_->held ? parts_->held->fence() : 0;
}

std::chrono::nanoseconds library_hold::safe_for() const {
  return parts_->held_by && parts_->held_by->safe() ? parts_->held_by->safe_until() - lease_clock::now() : 0ns;
}

const std::string& library_hold::lost_because() const {
  static const std::string none;
  return parts_->held_by ? parts_->held_by->lost_because() : none;
}

} // namespace belay::cli
