#include "sim/kit/library_clients.hpp"

#include "client/kit/client_faults.hpp"
#include "client/kit/kit_process.hpp"

#include <belay/barrier.hpp>
#include <belay/consumer.hpp>
#include <belay/queue.hpp>
#include <belay/saga.hpp>

#include <set>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {
namespace sim {

using namespace std::chrono_literals;

namespace {

// The simulator's other clients use TTLs as short as this.
constexpr milliseconds ttl = 4s;
// Long enough to be in force now and then, and much shorter than a run.
constexpr milliseconds lock_delay = 500ms;
constexpr milliseconds ack_wait = 3s;
constexpr milliseconds opening_max = 5s, closing_max = 20s;
// Time limit of one task of a process: above the longest lock delay, and the others get their turn.
constexpr milliseconds quantum_max = 4s;
constexpr milliseconds pause_after_failure = 300ms;
constexpr std::size_t participants = 2;

/// State shared by the processes of a run, and what they report.
class board {
public:
  explicit board(belay_ground::library_settings s) : settings(std::move(s)) {}

  belay_ground::library_settings settings;
  stop_source stop;
  std::map<std::string, std::uint64_t> counts;
  std::set<std::string> running; ///< names of the processes that have not ended
  std::optional<belay_ground::broken_rule> broken;

  /// Checks that an item, or a change, is acknowledged at most once.
  void acknowledged(const std::string& what, const std::string& which) {
    ++counts[what];
    if (!acknowledged_[what].insert(which).second && !settings.goes_back)
      fail(what + " " + which + " was acknowledged twice");
  }
  void committed(const std::string& id) {
    ++counts["section committed"];
    committed_.insert(id);
  }
  void undone(const std::string& id) {
    ++counts["step undone"];
    if (committed_.count(id) != 0 && !settings.goes_back)
      fail("a step of section " + id + " was undone, which was committed");
  }
  /// Checks that no more processes pass together than the barrier admits.
  void passed(std::uint64_t round) {
    ++counts["barrier passed"];
    if (++passes_[round] > participants && !settings.goes_back)
      fail("more than " + std::to_string(participants) + " passed in round " + std::to_string(round));
  }

private:
  void fail(std::string text) {
    if (!broken)
      broken = belay_ground::broken_rule{"library", std::move(text)};
  }

  std::map<std::string, std::set<std::string>> acknowledged_;
  std::set<std::string> committed_;
  std::map<std::uint64_t, std::size_t> passes_;
};

std::string name_of_try(const process& me, std::uint64_t number) {
  return me.name() + "." + std::to_string(me.life()) + "." + std::to_string(number);
}

task<> follow(process& me, board& b, consumer& member, deadline limit) {
  result<delivery> next = co_await member.next(limit);
  if (!next)
    co_return;
  auto what = me.random(6);
  if (what == 0) {
    member.nack(next->cursor);
    ++b.counts["change refused"];
    co_return;
  }
  if (what == 1) { // another member continues
    status left = co_await member.leave(limit);
    b.counts["group left"] += left ? 1 : 0;
    co_return;
  }
  consumer::writes effect;
  if (!next->changes.empty())
    effect.emplace_back(b.settings.own_prefix + "effect", next->cursor);
  status done = co_await member.ack(next->cursor, limit, effect);
  if (done && !next->is_snapshot)
    b.acknowledged("change acknowledged", next->cursor);
}

task<> put_item(board& b, queue& items, std::string value, deadline limit) {
  status put = co_await items.put(value, limit);
  b.counts["item put"] += put ? 1 : 0;
}

task<> take_item(process& me, board& b, queue& items, deadline limit) {
  result<queue_item> item = co_await items.take(limit);
  if (!item)
    co_return;
  auto key = item->key();
  auto what = me.random(4);
  if (what == 0) {
    status back = co_await items.give_back(std::move(*item), limit);
    b.counts["item given back"] += back ? 1 : 0;
    co_return;
  }
  if (what == 1) // it is released without a request by the process
    co_return;
  status done = co_await items.ack(std::move(*item), limit);
  if (done)
    b.acknowledged("item acknowledged", key);
}

task<> meet(board& b, barrier& all, deadline limit) {
  result<barrier_pass> pass = co_await all.enter(limit);
  if (!pass)
    co_return;
  b.passed(pass->round());
  status left = co_await all.leave(std::move(*pass), limit);
  b.counts["barrier left"] += left ? 1 : 0;
}

task<> run_saga(process& me, board& b, saga& work, std::string name, deadline limit) {
  status begun = co_await work.begin(name, limit);
  if (!begun) {
    work.drop();
    co_return;
  }
  std::string what_it_is = "step";
  for (int i = 0; i < 2; ++i) {
    status noted = co_await work.step(what_it_is, name, limit);
    if (!noted) {
      work.drop();
      co_return;
    }
  }
  auto what = me.random(4);
  if (what == 0) { // the next saga undoes it
    work.drop();
    co_return;
  }
  if (what == 1) {
    status back = co_await work.roll_back(limit);
    b.counts["section rolled back"] += back ? 1 : 0;
    work.drop();
    co_return;
  }
  status done = co_await work.commit(limit);
  if (done)
    b.committed(name);
  work.drop();
}

task<status> undo(board& b, saga_step step) {
  b.undone(step.saga_id);
  co_return nothing();
}

saga::undo undo_by(board& b) {
  return [all = &b](saga_step step) { return undo(*all, std::move(step)); };
}

session_options options_of(const board& b) {
  session_options o;
  o.name = b.settings.session_name;
  o.ttl = ttl;
  o.lock_delay = lock_delay;
  return o;
}

consumer_options consuming() {
  consumer_options o;
  o.ack_wait = ack_wait;
  o.unacknowledged_max = 4;
  return o;
}

/// One task after the other, each under the same session.
task<> live(process& me, board& b) {
  b.running.insert(me.name());
  session s(me, options_of(b));
  consumer member(s, b.settings.followed, b.settings.own_prefix + "group", consuming());
  queue items(s, b.settings.own_prefix + "queue");
  barrier all(s, b.settings.own_prefix + "barrier", participants);
  saga work(s, b.settings.own_prefix + "section", undo_by(b));
  for (std::uint64_t attempt = 1; !b.stop.stopped(); ++attempt) {
    if (!s.safe()) {
      deadline opening(me.now() + opening_max, &b.stop);
      status opened = co_await s.open(opening);
      if (!opened) {
        auto later = me.now() + pause_after_failure;
        co_await sleep_until(me, later, &b.stop);
        continue;
      }
    }
    auto name = name_of_try(me, attempt);
    deadline limit(me.now() + quantum_max, &b.stop);
    auto what = me.random(6);
    if (what <= 1)
      co_await follow(me, b, member, limit);
    else if (what == 2)
      co_await put_item(b, items, name, limit);
    else if (what == 3)
      co_await take_item(me, b, items, limit);
    else if (what == 4)
      co_await meet(b, all, limit);
    else
      co_await run_saga(me, b, work, name, limit);
    // A failed task is not retried at once.
    auto later = me.now() + 20ms + milliseconds(me.random(200));
    co_await sleep_until(me, later, &b.stop);
  }
  deadline closing(me.now() + closing_max);
  status closed = co_await s.close(closing);
  b.counts["session closed"] += closed ? 1 : 0;
  b.running.erase(me.name());
}

class processes final : public belay_ground::library_clients {
public:
  processes(belay_ground::ground& on, belay_ground::library_settings s) : board_(std::move(s)) {
    run_.stands_on = &on;
    run_.faults_end = board_.settings.faults_end;
    run_.healed = !board_.settings.faults;
    if (board_.settings.faults)
      run_.faults = client_faults::drawn(on, {});
    for (std::size_t i = 0; i < board_.settings.processes; ++i)
      all_.push_back(std::make_unique<kit_process>(run_, i, "library-" + std::to_string(i),
                                                   [this](process& me) { return live(me, board_); }));
  }
  ~processes() override {
    for (auto& each : all_)
      each->end();
  }

  void begin() override {
    for (auto& each : all_)
      each->begin();
  }

  void stop() override {
    run_.healed = true;
    board_.stop.stop();
    for (auto& each : all_)
      each->heal();
  }

  std::string unfinished() const override {
    std::string names;
    for (const auto& each : board_.running)
      names += (names.empty() ? "" : ", ") + each;
    return names;
  }

  const std::optional<belay_ground::broken_rule>& complaint() const override {
    return run_.broken ? run_.broken : board_.broken;
  }
  const std::map<std::string, std::uint64_t>& done() const override { return board_.counts; }

private:
  board board_;
  run_parts run_;
  std::vector<std::unique_ptr<kit_process>> all_;
};

} // namespace

} // namespace sim
} // namespace v0
} // namespace belay

std::unique_ptr<belay_ground::library_clients> belay_ground::make_library_clients(ground& on,
                                                                                  library_settings settings) {
  return std::make_unique<belay::sim::processes>(on, std::move(settings));
}
