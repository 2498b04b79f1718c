// `belay reconcile`: a command that is run for each key that may be wrong, at a bounded rate, by the client library.

#include "cli/commands/all.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/flags/options.hpp"
#include "cli/http/api_client.hpp"
#include "cli/locks/session_lease.hpp"
#include "cli/output/progress_line.hpp"
#include "cli/process/run_until_told.hpp"
#include "cli/recipes/library_reconciler.hpp"

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

/// Between SIGTERM and SIGKILL, as with `belay lock`.
constexpr auto grace_of_work = 5s;
/// Who waits for the end of one pass does not want to wait for this.
constexpr std::chrono::milliseconds look_soon = 50ms, look_later = 250ms;

class reconcile_run {
public:
  reconcile_run(asio::io_context& loop, const api_client& client, const options& o, const reconcile_order& order,
                bool once, terminal t)
      : loop_(loop), words_(o.words().begin() + 1, o.words().end()), shell_(o.on_by_default("shell")),
        dry_(o.on("dry-run")), once_(once), tries_max_(order.tries_max), terminal_(t), bell_(loop.get_executor()),
        progress_(t.out, t.screen),
        works_(
            loop.get_executor(), client.target(), o.write_query().text(), order,
            [this](const worked_key& what, const library_reconciler::ended& told) { begin(what, told); },
            [this](const std::string& key) { cut(key); }) {
    if (!words_.empty() && words_[0] == "--")
      words_.erase(words_.begin());
    works_.on_trouble([this](const std::string& why) {
      if (!why.empty())
        complain("Reconciling errored: " + why + ", it goes on when there is an answer");
    });
  }

  int run() {
    return run_until_told(
        loop_, [this] { return all(); },
        [this](int signal) {
          stopped_ = true;
          works_.stop();
          for (auto& [key, one] : running_)
            one->handler.stop(signal);
          bell_.ring();
        });
  }

private:
  struct work {
    work(const asio::any_io_executor& executor, const std::vector<std::string>& words, bool shell, terminal t)
        : handler(executor, words, shell, t) {}
    watch_handler handler;
    lock_clock::time_point killed_at = lock_clock::time_point::max();
  };

  asio::awaitable<int> all() {
    works_.start();
    auto counts = works_.counts();
    while (!stopped_ && works_.failure().empty() && !(once_ && counts.passes > 0 && counts.idle)) {
      co_await bell_.wait(once_ ? look_soon : look_later);
      kill_those_that_stay();
      counts = works_.counts();
      if (!dry_)
        progress_.show("Done: " + std::to_string(counts.done) + ", failed: " + std::to_string(counts.failed) +
                       ", waiting: " + std::to_string(counts.waiting));
    }
    const bool cut_off = stopped_;
    if (!stopped_)
      works_.stop();
    for (auto& [key, one] : running_)
      end_soon(*one);
    while (!running_.empty()) {
      co_await bell_.wait(look_soon);
      kill_those_that_stay();
    }
    progress_.end();
    if (!works_.failure().empty())
      co_return error(terminal_, "Error reconciling: " + works_.failure());
    if (!once_)
      co_return 0;
    if (counts.given_up > 0)
      co_return error(terminal_, "Error! " + keys(counts.given_up) + " failed " + std::to_string(tries_max_) +
                                     " times, " + keys(counts.done) + " done");
    if (!dry_ && !cut_off)
      terminal_.out << "Success! " << keys(counts.done) << " done\n";
    co_return cut_off ? 1 : 0; // who asked for all of them did not get that
  }

  static std::string keys(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " key" : " keys"); }

  void begin(const worked_key& what, const library_reconciler::ended& told) {
    if (dry_) {
      terminal_.out << what.key << "\n" << std::flush;
      return told(true);
    }
    auto one = std::make_shared<work>(loop_.get_executor(), words_, shell_, terminal_);
    one->handler.is_about(what.key);
    running_[what.key] = one;
    asio::co_spawn(loop_, work_on(what, std::move(one), told), asio::detached);
  }

  asio::awaitable<void> work_on(worked_key what, std::shared_ptr<work> one, library_reconciler::ended told) {
    watch_handler::variables added = {{"BELAY_KEY", what.key},
                                      {"BELAY_INDEX", std::to_string(what.index)},
                                      {"BELAY_FLAGS", std::to_string(what.flags)}};
    const bool well = co_await one->handler.run(std::move(what.value), std::move(added));
    running_.erase(what.key);
    // What was told to end is no success; nobody counts it any more.
    told(well && !stopped_);
    bell_.ring();
  }

  void cut(const std::string& key) {
    const auto found = running_.find(key);
    if (found == running_.end())
      return;
    complain("It takes too long, and is ended: " + key);
    end_soon(*found->second);
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

  asio::io_context& loop_;
  std::vector<std::string> words_;
  bool shell_, dry_, once_;
  std::uint32_t tries_max_;
  terminal terminal_;
  bell bell_;
  progress_line progress_;
  std::map<std::string, std::shared_ptr<work>> running_; ///< by key
  bool stopped_ = false;
  library_reconciler works_;
};

/// What is wrong with the numbers; empty: nothing.
std::string read_numbers(const options& o, reconcile_order& order) {
  for (const auto& [name, most] : {std::pair<const char*, std::uint64_t>("workers", 1024),
                                   {"per-second", 1'000'000},
                                   {"tries", std::numeric_limits<std::uint32_t>::max()}})
    if (o.given(name) && (o.number(name) == 0 || o.number(name) > most))
      return "-" + std::string(name) + " must be between 1 and " + std::to_string(most);
  for (const auto* name : {"every", "limit"})
    if (o.given(name) && o.duration(name, 0s) <= 0s)
      return "The time of -" + std::string(name) + " must be positive";
  if (o.given("workers"))
    order.workers = static_cast<std::size_t>(o.number("workers"));
  if (o.given("per-second"))
    order.per_second = static_cast<std::uint32_t>(o.number("per-second"));
  if (o.given("tries"))
    order.tries_max = static_cast<std::uint32_t>(o.number("tries"));
  order.pass_every = std::chrono::ceil<std::chrono::milliseconds>(o.duration("every", order.pass_every));
  order.work_limit = std::chrono::ceil<std::chrono::milliseconds>(o.duration("limit", order.work_limit));
  return {};
}

int reconcile(const options& o, terminal t) {
  const bool dry = o.on("dry-run"), once = o.on("once") || dry;
  if (o.words().empty())
    return o.wrong_usage(t, "A prefix must be specified");
  if (!dry && o.words().size() < 2)
    return o.wrong_usage(t, "A command must be specified; -dry-run shows for which keys it would run");
  if (once && o.given("every"))
    return o.wrong_usage(t, "-every is for passes again and again: -once and -dry-run make one");
  reconcile_order order;
  if (const auto complaint = read_numbers(o, order); !complaint.empty())
    return o.wrong_usage(t, complaint);
  order.prefix = without_leading_slash(o.words()[0]);
  order.follows = !once;
  order.reads = !dry;
  const auto client = o.client(t);
  if (!client)
    return 1;
  asio::io_context loop;
  return reconcile_run(loop, *client, o, order, once, t).run();
}

} // namespace

std::vector<command> reconcile_commands() {
  using enum flag_kind;
  return {{.name = "reconcile",
           .help = "Runs a command for each key that may be wrong, again and again",
           .operands = "PREFIX [COMMAND...]",
           .text =
               "The command finds a key in BELAY_KEY, its value at its standard input, and in BELAY_INDEX the index of "
               "its last change (0: there\n"
               "is no such key any more) and in BELAY_FLAGS its flags. It makes right elsewhere what the key says, and "
               "fails if it could not.\n"
               "It runs for all keys below PREFIX at the beginning and then -every minute (a full pass), and for each "
               "key that changes; -workers at\n"
               "a time and -per-second at most, never for one key twice at once. If it fails, or takes longer than "
               "-limit, it is run again after\n"
               "pauses that grow, -tries times in all; then the next full pass comes back to it. Of keys that change "
               "faster than it can be run 128\n"
               "wait; what is more is found by the next full pass.\n"
               "\n"
               "With -once it makes one full pass and ends: with 1 if a key was given up. With -dry-run it prints the "
               "keys of one pass, and runs\n"
               "nothing.",
           .formats = false,
           .flags = {{"dry-run", toggle, "", "print the keys that the command would be run for, once"},
                     {"every", duration, "<duration>", "from the end of a full pass to the next one (default 1m)"},
                     {"limit", duration, "<duration>", "how long one run may take (default 10s)"},
                     {"once", toggle, "", "one full pass"},
                     {"per-second", unsigned_number, "<number>", "runs a second at most (default 500)"},
                     {"shell", toggle, "", "run the command by $SHELL, or /bin/sh; -shell=false runs it as it is"},
                     {"tries", unsigned_number, "<number>", "how often a key is tried in a row (default 5)"},
                     {"workers", unsigned_number, "<number>", "runs at a time at most (default 8)"}},
           .examples = {{"reconcile -dry-run routes/", "For which keys it would run"},
                        {"reconcile -once routes/ ./apply-route", "Each key once, and those that fail again"},
                        {"reconcile -every=10m -workers=2 routes/ ./apply-route",
                         "Goes on: what changes at once, all of it every ten minutes"}},
           .run = reconcile}};
}

} // namespace belay::cli
