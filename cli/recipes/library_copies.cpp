#include "cli/recipes/library_copies.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"
#include "cli/recipes/running_task.hpp"

#include <belay/diff.hpp>
#include <belay/mirror.hpp>

#include <boost/asio/io_context.hpp>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto look_every = 200ms;
constexpr auto answer_within = 10s;
constexpr auto after_failure = 1s;

/// With the name of the server that refused, if it is known.
library_end end_at(const error& why, const command_world& original, const command_world& copy) {
  auto end = end_of(why);
  const auto refused = [](const command_world& w) { return w.last_status() >= 400 && w.last_status() < 500; };
  if (refused(original) != refused(copy))
    end.why = (refused(original) ? "the original's server: " : "the copy's server: ") + end.why;
  return end;
}

task<void> compare_until(command_world& original, command_world& copy, const two_places& places, patience limit,
                         diff_options options, compared& out) {
  belay::v0::result<std::vector<difference>> found =
      co_await diff(original, places.prefix, copy, places.copy_prefix, limit, options);
  if (!found) {
    out.end = end_at(found.why(), original, copy);
    co_return;
  }
  for (auto& d : *found)
    out.differences.push_back({std::string(name_of(d.kind)), std::move(d.key)});
}

} // namespace

compared compare(const two_places& places, std::chrono::milliseconds settle, std::chrono::milliseconds within,
                 const std::function<void()>& waiting) {
  asio::io_context loop;
  command_world original(loop.get_executor(), places.original, {}), copy(loop.get_executor(), places.copy, {});
  diff_options options;
  options.settle = settle;
  compared out;
  auto comparing = compare_until(original, copy, places, patience(original.now() + within), options, out);
  comparing.start();
  while (!comparing.done()) {
    loop.run_one_for(look_every);
    loop.restart();
    waiting();
  }
  return out;
}

struct library_mirror::parts {
  parts(const asio::any_io_executor& executor, const two_places& places, std::string name)
      : original(executor, places.original, {}), copy(executor, places.copy, {}), prefix(places.prefix),
        kept(copy, name + "/place"), copies(original, places.prefix, copy, places.copy_prefix, std::move(name)),
        running(executor) {}

  patience until_stopped() { return patience(original.now() + for_ever, &stopped); }

  /// @returns refused: what asking again cannot change, or it was stopped
  task<status> copy_next() {
    for (;;) {
      patience limit = until_stopped();
      status copied = co_await copies.step(limit);
      const bool again = !copied && !stopped.stopped() && (copied.unknown() || passes(copied.why()));
      if (!again) {
        belay::v0::result<std::string> now = co_await kept.load(limit);
        if (now)
          place = *now;
        co_return copied;
      }
      auto later = original.now() + after_failure;
      co_await sleep_until(original, later, &stopped);
    }
  }

  task<void> step() {
    status copied = co_await copy_next();
    keep(copied);
  }

  task<void> catch_up() {
    patience limit = until_stopped();
    belay::v0::result<std::string> begun = co_await kept.load(limit);
    if (!begun) {
      end = end_at(begun.why(), original, copy);
      co_return;
    }
    place = *begun;
    for (;;) {
      bool left = place.empty();
      if (!left) {
        belay::v0::result<bool> more = co_await something_left();
        if (!more) {
          end = end_at(more.why(), original, copy);
          co_return;
        }
        left = *more;
      }
      if (!left) {
        end = {};
        co_return;
      }
      status copied = co_await copy_next();
      if (!copied) {
        keep(copied);
        co_return;
      }
    }
  }

  /// Whether the original has changed behind the place. Asked without waiting, which the recipe cannot.
  task<belay::v0::result<bool>> something_left() {
    for (;;) {
      request q("GET", request::path_of("/v1/kv/", prefix));
      q.query("recurse").query("changes").query("keys").query("index", place).query("wait", "10ms");
      auto deadline = original.now() + answer_within;
      answer a = co_await ask(original, q, deadline, &stopped);
      if (stopped.stopped())
        co_return error(outcome::refused, reason::stopped, "stopped by the caller");
      const bool known = a.status() == 200 || a.status() == 404 || a.status() == 410;
      if (known && !a.header("X-Consul-Index").empty() && a.header("X-Consul-Index") == place)
        co_return false; // as on Consul, which lists what there is
      if (known)
        co_return !a.body().starts_with("[]");
      error why = a.judge(false);
      if (!passes(why))
        co_return why;
      auto later = original.now() + after_failure;
      co_await sleep_until(original, later, &stopped);
    }
  }

  task<void> repair() {
    patience limit = until_stopped();
    belay::v0::result<std::uint64_t> repaired = co_await copies.repair(limit);
    end = repaired ? library_end() : end_at(repaired.why(), original, copy);
  }

  void keep(const status& copied) { end = copied ? library_end() : end_at(copied.why(), original, copy); }

  command_world original, copy;
  stopper stopped;
  std::string prefix;
  std::string place;
  place_in_key kept;
  mirror copies;
  library_end end;
  running_task running;
};

library_mirror::library_mirror(const asio::any_io_executor& executor, const two_places& places, std::string name)
    : parts_(std::make_unique<parts>(executor, places, std::move(name))) {}

library_mirror::~library_mirror() = default;

void library_mirror::on_trouble(const std::function<void(const std::string&, const std::string&)>& told) {
  parts_->original.on_trouble([told](const std::string& what) { told("original", what); });
  parts_->copy.on_trouble([told](const std::string& what) { told("copy", what); });
}

asio::awaitable<library_end> library_mirror::step() {
  auto copying = parts_->step();
  co_await parts_->running.run(std::move(copying));
  co_return parts_->end;
}

asio::awaitable<library_end> library_mirror::catch_up() {
  auto copying = parts_->catch_up();
  co_await parts_->running.run(std::move(copying));
  co_return parts_->end;
}

asio::awaitable<library_end> library_mirror::repair() {
  auto repairing = parts_->repair();
  co_await parts_->running.run(std::move(repairing));
  co_return parts_->end;
}

std::uint64_t library_mirror::written() const {
  return parts_->copy.transactions();
}

const std::string& library_mirror::place() const {
  return parts_->place;
}

void library_mirror::stop() {
  parts_->stopped.stop();
}

} // namespace belay::cli
