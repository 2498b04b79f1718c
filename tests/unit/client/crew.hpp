#pragma once
// Helpers for tests of recipes under faults: client processes, and the locks that each believes it
// holds.
#include "tests/unit/client/virtual_cluster.hpp"

#include <belay/lease.hpp>
#include <belay/session.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace belay::client_tests {

/// What went wrong in a run; empty if nothing did.
using finding = std::string;

/// Number of seeds of each property; BELAY_CLIENT_SEEDS multiplies it.
inline std::uint64_t seeds(std::uint64_t few) {
  const char* times = std::getenv("BELAY_CLIENT_SEEDS");
  return few * (times ? std::strtoull(times, nullptr, 10) : 1);
}

inline virtual_time::fault_rates all_faults() {
  virtual_time::fault_rates r;
  r.request_lost = 20'000;
  r.answer_lost = 40'000;
  r.pause_before_send = 5'000;
  r.pause_at_clock = 2'000;
  r.pause_max = milliseconds(40'000);
  r.latency_max = milliseconds(400);
  return r;
}

/// Which processes believe that they hold something, and in which mode.
class stage {
public:
  class shown {
  public:
    shown(stage& s, virtual_time::process& env, session& held_by, std::function<instant()> until, std::string as)
        : stage_(s), env_(env), session_(held_by), until_(std::move(until)), as_(std::move(as)) {
      me_ = stage_.all_.insert(stage_.all_.end(), this);
    }
    ~shown() { stage_.all_.erase(me_); }
    shown(const shown&) = delete;
    shown& operator=(const shown&) = delete;

  private:
    friend class stage;
    stage& stage_;
    virtual_time::process& env_;
    session& session_;
    std::function<instant()> until_;
    std::string as_;
    std::list<shown*>::iterator me_;
  };

  /// Those whose time is not over by their own clocks.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (auto* s : all_)
      if (s->env_.shows() < s->until_() && s->session_.state() != session_state::lost)
        out.push_back(s->as_);
    return out;
  }

  /// A violation that a task has seen.
  std::string complaint;

private:
  std::list<shown*> all_;
};

/// Opens the session unless it is open. @returns whether it is open
inline task<bool> have_session(environment& env, session& s) {
  if (s.state() == session_state::closed || s.state() == session_state::lost) {
    deadline minute(env.now() + minutes(1));
    status opened = co_await s.open(minute);
    co_return opened.done();
  }
  co_return true;
}

/// The programs have destroyed their library objects; their sessions are open. Each must hold
/// nothing and wait for nothing. When they are closed no session is left. @pre no message is lost
/// @param excused what a session may hold; null: nothing
inline finding look_at_rest(virtual_cluster& c, const std::vector<session*>& sessions,
                            const std::function<bool(const std::string&)>& excused = nullptr) {
  c.pass(minutes(2)); // pending releases are sent, and sessions of crashed processes end
  for (auto* s : sessions)
    if (s->state() == session_state::live)
      for (const auto& what : c.server.tied_to(s->id()))
        if (!excused || !excused(what))
          return "all have stopped, and a session that lives on has " + what;
  for (auto* s : sessions) {
    auto closing = s->close(c.within(minutes(1)));
    closing.start();
    c.pass(minutes(1));
    if (!closing.done())
      return "a session is not closed in its time";
  }
  return c.server.sessions().empty() ? finding() : "all have stopped, and there are sessions";
}

/// Processes, each with a session and a Kit, that run some tasks. The Kit lives as long as it.
template <class Kit>
class crew {
public:
  struct member {
    member(virtual_cluster& c, std::size_t n, std::int64_t ppm) : number(n), env(c.time, c.server, ppm) {}
    std::size_t number;
    virtual_time::process env;
    std::unique_ptr<session> s;
    std::unique_ptr<Kit> kit;
    std::vector<int> progress; ///< progress of each task
    std::vector<task<void>> tasks;
    int lives = 0;
  };
  using duty = std::function<task<void>(member&, std::size_t)>;

  crew(virtual_cluster& c, std::size_t members, std::size_t tasks_each, duty d, milliseconds ttl = milliseconds(10'000))
      : cluster_(c), each_(tasks_each), duty_(std::move(d)), ttl_(ttl) {
    for (std::size_t i = 0; i < members; ++i) {
      auto ppm = static_cast<std::int64_t>(c.time.chance().draw(8000)) - 4000;
      all.push_back(std::make_unique<member>(c, i, ppm));
      begin(*all.back());
    }
  }
  ~crew() {
    for (auto& m : all)
      crash(*m);
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  void begin(member& m) {
    session_options o;
    o.ttl = ttl_;
    o.lock_delay = milliseconds(0);
    m.s = std::make_unique<session>(m.env, o);
    m.kit = std::make_unique<Kit>(*m.s);
    m.progress.assign(each_, 0);
    m.tasks.resize(each_);
    ++m.lives;
    for (std::size_t i = 0; i < each_; ++i) {
      m.tasks[i] = duty_(m, i);
      m.tasks[i].start();
    }
  }
  /// Destroys coroutines in the middle of an await, with everything that they wait for.
  void crash(member& m) {
    m.tasks.clear();
    m.kit.reset();
    m.s.reset();
  }

  /// Ten minutes of faults, then `calm`, in which each task progresses.
  /// @param look after events
  finding run(const std::function<finding()>& look, std::chrono::nanoseconds calm = minutes(6), int grants_min = 1) {
    finding wrong;
    auto pass = [&](std::chrono::nanoseconds length) {
      auto end = cluster_.time.now() + length;
      cluster_.time.at(end, [] {});
      cluster_.time.run_until(end, [&] {
        if (wrong.empty())
          wrong = look();
        return !wrong.empty();
      });
      return wrong.empty();
    };
    auto& chance = cluster_.time.chance();
    for (int i = 0; i < 20 && wrong.empty(); ++i) {
      pass(seconds(30));
      if (chance.chance(300'000)) {
        auto& m = *all[chance.draw(all.size())];
        crash(m);
        begin(m);
      }
      cluster_.server.leaderless = chance.chance(200'000) && cluster_.time.rates().answer_lost > 0;
    }
    cluster_.server.leaderless = false;
    cluster_.time.heal();
    // Paused processes continue, and sessions of the dead ones end.
    pass(seconds(90));
    for (auto& m : all)
      m->progress.assign(each_, 0);
    pass(calm);
    for (auto& m : all)
      for (int n : m->progress)
        if (wrong.empty() && n < grants_min)
          wrong = "somebody got on " + std::to_string(n) + " times after the faults";
    std::vector<session*> sessions;
    for (auto& m : all) {
      m->tasks.clear();
      m->kit.reset();
      sessions.push_back(m->s.get());
    }
    if (wrong.empty())
      wrong = look_at_rest(cluster_, sessions, excused_at_rest);
    for (auto& m : all)
      crash(*m);
    for (auto& m : all)
      if (wrong.empty() && m->env.waiting() != 0)
        wrong = "something waits that nobody waits for";
    return wrong;
  }

  std::vector<std::unique_ptr<member>> all;
  std::function<bool(const std::string&)> excused_at_rest; ///< for look_at_rest()

private:
  virtual_cluster& cluster_;
  std::size_t each_;
  duty duty_;
  milliseconds ttl_;
};

/// Checks that the fencing tokens of accepted writes never decrease.
/// @param of only writes by names with this prefix count
inline finding fences_hold(const model_server& server, const std::string& of = {}) {
  fencing_token_checker gate;
  std::uint64_t largest = 0;
  for (const auto& write : server.writes()) {
    if (write.fence == 0 || write.who.compare(0, of.size(), of) != 0 || !gate.admits(write.fence))
      continue;
    if (write.fence < largest)
      return "a write with an old fence passed";
    largest = std::max(largest, write.fence);
  }
  return {};
}

/// Known bugs, each with a property that it breaks for some of the first hundred seeds.
struct known_bug {
  const char* mutant;
  std::function<finding(std::uint64_t)> run;
};

inline void check_that_found(const std::vector<known_bug>& bugs) {
  for (const auto& bug : bugs) {
    mutant_switch on(bug.mutant);
    std::uint64_t tried = 0;
    while (tried < 100 && bug.run(tried).empty())
      ++tried;
    INFO(bug.mutant);
    CHECK(tried < 100);
  }
}

/// BELAY_CLIENT_SEED=N: runs only that seed.
inline void check_seeds(std::uint64_t few, const std::function<finding(std::uint64_t)>& run) {
  const char* only = std::getenv("BELAY_CLIENT_SEED");
  std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < (only ? first + 1 : seeds(few)); ++seed) {
    INFO("seed " << seed);
    CHECK(run(seed) == "");
  }
}

} // namespace belay::client_tests
