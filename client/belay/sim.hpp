#pragma once
// Scenarios: code that is written with the client library, run in virtual time on a simulated cluster of the real servers, under
// their faults and those of its own processes. A run is decided by its seed. docs/simulator-kit.md is the way in.
//
//   BELAY_SCENARIO("one writer at a time") {
//     ledger pages;
//     world.service("/ledger", [&](const belay::request& q) { return pages.take(q); });
//     for (auto name : {"a", "b"})
//       world.client(name, [&](belay::sim::process& me) { return nightly_job(me); });
//     world.always("pages of two runs are not mixed", [&] { return pages.unmixed(); });
//     world.run(30s);
//   }
//
//   int main(int argc, char** argv) { return belay::sim::run_program(argc, argv); }

#include <belay/task.hpp>
#include <belay/world.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {
namespace sim {

/// One process of a client: the world of what runs in it. Its faults, each in some of the runs only:
/// - it stands still before a request leaves, at a look at the clock, or at any time, for 0.1 to 40 s;
/// - it crashes at any await (its task is destroyed) and begins again later, or not before the faults are over;
/// - it does not hear one server, or any;
/// - connections break, with the request or with its answer; answers are late;
/// - its clock runs up to 0.9 % fast or slow.
class process : public world {
public:
  virtual const std::string& name() const noexcept = 0;
  /// 1, and one more after each crash.
  virtual unsigned life() const noexcept = 0;
  /// Whether that life was begun when the faults were over.
  virtual bool healed() const noexcept = 0;
  /// A line of the story.
  virtual void say(const std::string& text) = 0;
};

/// What is run, and what must be true.
class scenario {
public:
  class parts;
  explicit scenario(parts& p) : parts_(p) {}
  scenario(const scenario&) = delete;
  scenario& operator=(const scenario&) = delete;

  // ---- who takes part
  /// 3 (the default) to 5. Members may be replaced, and others join, in some runs.
  void servers(std::size_t n);
  /// A process, begun when the servers have had a second. What `main` returns lives until it is done, or crashes; then `main` is
  /// called again. Names are to be short: they stand in the story.
  void client(std::string name, std::function<task<>(process& me)> main);
  /// Something beside the servers that clients ask by `path` and what is below it: a store, a printer. It fails never; what is sent to it
  /// may be late, or lost. `answers` is called when a request arrives.
  void service(std::string path, std::function<answer(const request&)> answers);

  // ---- what must be true
  /// Looked at after each event.
  void always(std::string rule, std::function<bool()> holds);
  /// Once the faults are over: within the second time that run() was given.
  void eventually(std::string rule, std::function<bool()> holds);
  /// The run has failed, whoever finds out.
  void fail(std::string what);
  /// A line of the story.
  void say(std::string_view who, const std::string& text);

  // ---- faults
  /// None at all: for the first look at a new scenario.
  void without_faults();
  /// Not this one: of servers (run_program prints the names in each story), or "client-pause", "client-crash", "client-cut",
  /// "client-loss", "client-late", "client-clock". A name that is not known ends the program.
  void without(const std::string& fault);
  /// One that servers do not promise to bear, too: "machine-stop" (machines stand still with all their clocks), "clock-wild" (clocks of
  /// servers outside of the bound).
  void with(const std::string& fault);

  /// The run: `faults` with faults, at most 10 minutes; then, without them, until all that was to be true eventually is, at most `calm`. What the
  /// functions above were given is not used any more when it returns. Call it once, at the end.
  void run(milliseconds faults, milliseconds calm = milliseconds(60000));

private:
  parts& parts_;
};

/// The value of a query parameter, unescaped; empty if there is none.
std::string parameter(const request& q, std::string_view name);

/// The command line of a program of scenarios. @returns the exit code
int run_program(int argc, char** argv);

/// By BELAY_SCENARIO.
class registered {
public:
  registered(std::string name, void (*body)(scenario& world));
};

} // namespace sim
} // namespace v0
} // namespace belay

#define BELAY_SIM_JOINED_NOW(a, b) a##b
#define BELAY_SIM_JOINED(a, b) BELAY_SIM_JOINED_NOW(a, b)
/// A scenario of that name, which stands before its body; in the body it is `world`.
#define BELAY_SCENARIO(name)                                                                                           \
  static void BELAY_SIM_JOINED(belay_scenario_, __LINE__)(::belay::sim::scenario & world);                             \
  static const ::belay::sim::registered BELAY_SIM_JOINED(belay_registered_, __LINE__)(                                 \
      name, &BELAY_SIM_JOINED(belay_scenario_, __LINE__));                                                             \
  static void BELAY_SIM_JOINED(belay_scenario_, __LINE__)(::belay::sim::scenario & world)
