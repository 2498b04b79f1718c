#include "cli/recipes/library_reconciler.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"

#include <belay/changes.hpp>
#include <belay/keys.hpp>
#include <belay/reconciler.hpp>

#include <utility>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto follow_again_after = 1s;

reconciler_options options_of(const reconcile_order& order) {
  reconciler_options o;
  o.per_second = order.per_second;
  o.workers = order.workers;
  o.tries_max = order.tries_max;
  o.pass_every = order.pass_every;
  o.work_limit = order.work_limit;
  return o;
}

/// What a work waits for; it may outlive the task that waits.
struct work_in_hand {
  bool over = false, well = false;
  stopper rung;
};

} // namespace

struct library_reconciler::parts {
  parts(const asio::any_io_executor& executor, const api_target& target, std::string scope, const reconcile_order& o,
        begin_work b, cut_work c)
      : sockets(executor, target, std::move(scope)), order(o), begin(std::move(b)), cut(std::move(c)),
        source(sockets, o.prefix, "now"),
        works(
            sockets, [this](std::string key, patience limit) { return work_on(std::move(key), limit); },
            [this](patience limit) { return list_keys(limit); }, options_of(o)) {}

  task<belay::v0::result<std::vector<std::string>>> list_keys(patience limit) {
    belay::v0::result<tree_reading> now = co_await read_tree(sockets, order.prefix, limit);
    if (!now) {
      note(now.why());
      co_return now.why();
    }
    std::vector<std::string> names;
    for (auto& e : now->found)
      names.push_back(std::move(e.key));
    co_return names;
  }

  task<status> work_on(std::string key, patience limit) {
    worked_key what;
    what.key = key;
    if (order.reads) {
      belay::v0::result<reading> now = co_await read_key(sockets, key, limit);
      if (!now)
        co_return now.why();
      if (now->found) {
        what.value = std::move(now->found->value);
        what.flags = now->found->flags;
        what.index = now->found->index;
      }
    }
    auto mine = std::make_shared<work_in_hand>();
    begin(what, [mine](bool well) {
      mine->over = true;
      mine->well = well;
      mine->rung.stop();
    });
    co_await sleep_until(sockets, limit.deadline(), &mine->rung);
    if (!mine->over) {
      cut(key);
      auto never = sockets.now() + for_ever;
      co_await sleep_until(sockets, never, &mine->rung);
      co_return error(outcome::refused, reason::deadline, "it took too long");
    }
    if (!mine->well)
      co_return error(outcome::refused, reason::invalid, "it failed");
    co_return nothing();
  }

  task<void> follow() {
    for (;;) {
      patience limit(sockets.now() + for_ever);
      belay::v0::result<change_batch> some = co_await source.next(limit);
      if (some) {
        for (const auto& c : some->changes)
          works.offer(c.key);
        // What was erased meanwhile is in no list: nobody can know of it.
        if (some->is_snapshot)
          works.trigger();
        continue;
      }
      note(some.why());
      auto later = sockets.now() + follow_again_after;
      co_await sleep_until(sockets, later);
    }
  }

  void note(const error& why) {
    if (!passes(why) && why.why() != reason::deadline && why.why() != reason::stopped)
      failure = why.text();
  }

  command_world sockets;
  reconcile_order order;
  begin_work begin;
  cut_work cut;
  std::string failure;
  changes source;
  reconciler works;
  task<void> following;
};

library_reconciler::library_reconciler(const asio::any_io_executor& executor, const api_target& target,
                                       std::string scope, const reconcile_order& order, begin_work begin, cut_work cut)
    : parts_(std::make_unique<parts>(executor, target, std::move(scope), order, std::move(begin), std::move(cut))) {}

library_reconciler::~library_reconciler() = default;

void library_reconciler::on_trouble(std::function<void(const std::string&)> told) {
  parts_->sockets.on_trouble(std::move(told));
}

void library_reconciler::start() {
  if (parts_->order.follows) {
    parts_->following = parts_->follow();
    parts_->following.start();
  }
  parts_->works.start();
}

void library_reconciler::stop() {
  parts_->following.reset();
  parts_->works.stop();
}

reconcile_counts library_reconciler::counts() const {
  const auto& c = parts_->works.counts();
  return {.done = c.done,
          .failed = c.failed,
          .given_up = c.given_up,
          .dropped = c.dropped,
          .passes = c.passes,
          .waiting = parts_->works.waiting(),
          .idle = parts_->works.idle()};
}

const std::string& library_reconciler::failure() const {
  return parts_->failure;
}

} // namespace belay::cli
