// `belay reconcile`: the client library runs a command for every key under a prefix, and again when
// one changes, at a bounded rate.

#include "cli/api/api_client.hpp"
#include "cli/api/bell.hpp"
#include "cli/api/command_environment.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/flags/options.hpp"
#include "cli/output/progress_line.hpp"
#include "cli/process/long_run.hpp"

#include <belay/changes.hpp>
#include <belay/keys.hpp>
#include <belay/reconciler.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <csignal>
#include <limits>
#include <map>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The time between SIGTERM and SIGKILL, as in `belay lock`.
constexpr auto grace_of_work = 5s;
/// How often the run is checked. With -once it is checked more often, so that it ends soon after
/// its pass.
constexpr std::chrono::milliseconds look_soon = 50ms, look_later = 250ms;
constexpr auto follow_again_after = 1s;

struct reconcile_order {
  std::string prefix;
  bool follows = true; ///< also process keys when they change
  v0::reconciler_options limits;
};

class reconcile_run final : public long_run {
public:
  reconcile_run(asio::io_context& loop, const api_client& client, const options& o, const reconcile_order& order,
                bool once, terminal t)
      : long_run(loop), words_(o.words().begin() + 1, o.words().end()), shell_(o.on_by_default("shell")),
        dry_(o.on("dry-run")), once_(once), order_(order), terminal_(t), bell_(loop.get_executor()),
        progress_(t.out, t.screen), sockets_(loop, client.target(), o.write_query().text()),
        source_(sockets_, order.prefix, "now"),
        works_(
            sockets_, [this](std::string key, v0::deadline limit) { return work_on(std::move(key), limit); },
            [this](v0::deadline limit) { return list_keys(limit); }, order.limits) {
    if (!words_.empty() && words_[0] == "--")
      words_.erase(words_.begin());
    sockets_.on_trouble([this](const std::string& why) {
      if (!why.empty())
        complain("Reconciling errored: " + why + "; retrying until it responds");
    });
  }

private:
  void stop(int signal) override {
    stop_working();
    for (auto& [key, one] : running_)
      one->handler.stop(signal);
    bell_.ring();
  }

  struct work {
    work(const asio::any_io_executor& executor, const std::vector<std::string>& words, bool shell, terminal t)
        : handler(executor, words, shell, t) {}
    watch_handler handler;
    lock_clock::time_point killed_at = lock_clock::time_point::max();
    bool well = false;
    v0::stop_source over; ///< the command has ended
  };

  asio::awaitable<int> all() override {
    if (order_.follows) {
      following_ = follow();
      following_.start();
    }
    works_.start();
    while (!stopped_ && failure_.empty() && !(once_ && works_.counts().passes > 0 && works_.idle())) {
      const auto look_after = once_ ? look_soon : look_later;
      co_await bell_.wait(look_after);
      kill_those_that_stay();
      const auto& counts = works_.counts();
      if (!dry_)
        progress_.show("Done: " + std::to_string(counts.done) + ", failed: " + std::to_string(counts.failed) +
                       ", waiting: " + std::to_string(works_.waiting()));
    }
    const bool cut_off = stopped_;
    const auto counts = works_.counts();
    if (!stopped_)
      stop_working();
    for (auto& [key, one] : running_)
      end_soon(*one);
    while (!running_.empty()) {
      co_await bell_.wait(look_soon);
      kill_those_that_stay();
    }
    progress_.end();
    if (!failure_.empty())
      co_return error(terminal_, "Error reconciling: " + failure_);
    if (!once_)
      co_return 0;
    if (counts.given_up > 0)
      co_return error(terminal_, "Error! " + keys(counts.given_up) + " failed " +
                                     std::to_string(order_.limits.tries_max) + " times, " + keys(counts.done) +
                                     " done");
    if (!dry_ && !cut_off)
      terminal_.out << "Success! " << keys(counts.done) << " done\n";
    co_return static_cast<int>(cut_off); // not all keys were processed
  }

  static std::string keys(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " key" : " keys"); }

  /// Starts no more commands, and does not report those that still run.
  void stop_working() {
    following_.reset();
    works_.stop();
  }

  v0::task<v0::result<std::vector<std::string>>> list_keys(v0::deadline limit) {
    v0::result<v0::tree_reading> now = co_await v0::read_tree(sockets_, order_.prefix, limit);
    if (!now) {
      note(now.error());
      co_return now.error();
    }
    std::vector<std::string> names;
    for (auto& e : now->found)
      names.push_back(std::move(e.key));
    co_return names;
  }

  v0::task<v0::status> work_on(std::string key, v0::deadline limit) {
    if (dry_) {
      terminal_.out << key << "\n" << std::flush;
      co_return v0::nothing();
    }
    v0::result<v0::reading> now = co_await v0::read_key(sockets_, key, limit);
    if (!now)
      co_return now.error();
    auto mine = std::make_shared<work>(loop_.get_executor(), words_, shell_, terminal_);
    mine->handler.is_about(key);
    running_[key] = mine;
    asio::co_spawn(loop_, run_for(key, now->found.value_or(v0::entry()), mine), asio::detached);
    co_await v0::sleep_until(sockets_, limit.at(), &mine->over);
    if (!mine->over.stopped()) {
      complain("The command exceeded -limit and is terminated: " + key);
      end_soon(*mine);
      auto never = sockets_.now() + for_ever;
      co_await v0::sleep_until(sockets_, never, &mine->over);
      co_return v0::error(v0::outcome::refused, v0::reason::deadline, "the command exceeded -limit");
    }
    if (!mine->well)
      co_return v0::error(v0::outcome::refused, v0::reason::invalid, "the command failed");
    co_return v0::nothing();
  }

  /// @param now has index 0 if there is no such key
  asio::awaitable<void> run_for(std::string key, v0::entry now, std::shared_ptr<work> one) {
    watch_handler::variables added = {
        {"BELAY_KEY", key}, {"BELAY_INDEX", std::to_string(now.index)}, {"BELAY_FLAGS", std::to_string(now.flags)}};
    const bool well = co_await one->handler.run(std::move(now.value), std::move(added));
    running_.erase(key);
    // A command that was stopped has not succeeded, and no longer counts.
    one->well = well && !stopped_;
    one->over.stop();
    bell_.ring();
  }

  v0::task<void> follow() {
    for (;;) {
      v0::deadline limit(sockets_.now() + for_ever);
      v0::result<v0::change_batch> some = co_await source_.next(limit);
      if (some) {
        for (const auto& c : some->changes)
          works_.offer(c.key);
        // Keys that were erased meanwhile are in no list, so a pass cannot find them.
        if (some->is_snapshot)
          works_.trigger();
        continue;
      }
      note(some.error());
      auto later = sockets_.now() + follow_again_after;
      co_await v0::sleep_until(sockets_, later);
    }
  }

  void note(const v0::error& why) {
    if (!passes(why) && !is_given_up(why))
      failure_ = why.text();
  }

  void end_soon(work& one) {
    one.handler.signal(SIGTERM);
    one.killed_at = std::min(one.killed_at, lock_clock::now() + grace_of_work);
  }

  void kill_those_that_stay() {
    for (auto& [key, one] : running_)
      if (lock_clock::now() >= one->killed_at)
        one->handler.signal(SIGKILL);
  }

  void complain(const std::string& text) {
    progress_.end();
    error(terminal_, text);
  }

  std::vector<std::string> words_;
  bool shell_, dry_, once_;
  reconcile_order order_;
  terminal terminal_;
  bell bell_;
  progress_line progress_;
  std::map<std::string, std::shared_ptr<work>> running_; ///< by key
  std::string failure_;                                  ///< a final error of listing or following; empty: none
  command_environment sockets_;
  v0::changes source_;
  v0::reconciler works_;
  v0::task<void> following_;
};

/// Reads the numbers.
/// @returns what is wrong with them; empty: nothing
std::string read_numbers(const options& o, v0::reconciler_options& limits) {
  for (const auto& [name, most] : {std::pair<const char*, std::uint64_t>("workers", 1024),
                                   {"per-second", 1'000'000},
                                   {"tries", std::numeric_limits<std::uint32_t>::max()}})
    if (o.given(name) && (o.number(name) == 0 || o.number(name) > most))
      return "-" + std::string(name) + " must be between 1 and " + std::to_string(most);
  for (const auto* name : {"every", "limit"})
    if (o.given(name) && o.wait(name, 0s) <= 0s)
      return "-" + std::string(name) + " must be positive";
  if (o.given("workers"))
    limits.workers = static_cast<std::size_t>(o.number("workers"));
  if (o.given("per-second"))
    limits.per_second = static_cast<std::uint32_t>(o.number("per-second"));
  if (o.given("tries"))
    limits.tries_max = static_cast<std::uint32_t>(o.number("tries"));
  limits.pass_every = std::chrono::ceil<std::chrono::milliseconds>(o.wait("every", limits.pass_every));
  limits.work_limit = std::chrono::ceil<std::chrono::milliseconds>(o.wait("limit", limits.work_limit));
  return {};
}

int reconcile(const options& o, terminal t) {
  const bool dry = o.on("dry-run"), once = o.on("once") || dry;
  if (o.words().empty())
    return o.wrong_usage(t, "PREFIX is required");
  if (!dry && o.words().size() < 2)
    return o.wrong_usage(t, "COMMAND is required; -dry-run shows the keys for which it would run");
  if (once && o.given("every"))
    return o.wrong_usage(t, "-every cannot be combined with -once or -dry-run, which make one pass");
  reconcile_order order;
  if (const auto complaint = read_numbers(o, order.limits); !complaint.empty())
    return o.wrong_usage(t, complaint);
  order.prefix = without_leading_slash(o.words()[0]);
  order.follows = !once;
  const auto client = o.client(t);
  asio::io_context loop;
  return reconcile_run(loop, client, o, order, once, t).run();
}

} // namespace

std::vector<command> reconcile_commands() {
  using enum flag_kind;
  return {
      {.name = "reconcile",
       .help = "Run a command for every key under a prefix, and again when one changes",
       .operands = "PREFIX [COMMAND...]",
       .text = "The command gets the value of a key on its standard input. BELAY_KEY is the key, BELAY_INDEX the\n"
               "index of its last change (0: the key was deleted), and BELAY_FLAGS its flags. The command makes\n"
               "another system match the key, and fails if it cannot. It runs for all keys under PREFIX at the start\n"
               "and then once per -every (a full pass), and for each key that changes. At most -workers run at a\n"
               "time, at most -per-second start in a second, and never two for one key. A command that fails, or\n"
               "exceeds -limit, is run again after growing pauses, -tries times in all; after that, the next full\n"
               "pass tries the key again. If keys change faster than the command can be run, 128 of them wait; the\n"
               "next full pass finds the others.\n\n"
               "With -once the command makes one full pass, and exits with 1 if it gave up a key. With -dry-run it\n"
               "prints the keys of one pass, and runs nothing.",
       .formats = false,
       .flags = {{"dry-run", toggle, "", "print the keys for which the command would run, once"},
                 {"every", duration, "<duration>", "time between two full passes (default 1m)"},
                 {"limit", duration, "<duration>", "time limit of one run (default 10s)"},
                 {"once", toggle, "", "make one full pass"},
                 {"per-second", unsigned_number, "<number>", "maximum of runs per second (default 500)"},
                 {"shell", toggle, "", "run the command with $SHELL or /bin/sh; -shell=false runs it directly"},
                 {"tries", unsigned_number, "<number>", "number of attempts for a key in a row (default 5)"},
                 {"workers", unsigned_number, "<number>", "maximum of concurrent runs (default 8)"}},
       .examples = {{"reconcile -dry-run routes/", "Print the keys for which it would run"},
                    {"reconcile -once routes/ ./apply-route", "Run it once for each key, and again for keys that fail"},
                    {"reconcile -every=10m -workers=2 routes/ ./apply-route",
                     "Keep running: for changes at once, for all keys every ten minutes"}},
       .run = reconcile}};
}

} // namespace belay::cli
