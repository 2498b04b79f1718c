#pragma once
// Scenarios: code that uses the client library, in virtual time on a simulated cluster of the real
// servers, under their faults and its own. A seed determines a run. See docs/guides/simulator-kit.md.
//
//   BELAY_SCENARIO("one writer at a time") {
//     ledger pages;
//     scenario.service("/ledger", [&](const belay::request& q) { return pages.take(q); });
//     for (auto name : {"a", "b"})
//       scenario.client(name, [&](belay::sim::process& me) { return nightly_job(me); });
//     scenario.always("pages of two runs are not mixed", [&] { return pages.unmixed(); });
//     scenario.run(30s);
//   }
//
//   int main(int argc, char** argv) { return belay::sim::run_program(argc, argv); }

#include <belay/environment.hpp>
#include <belay/task.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {
namespace sim {

/// One process of a client: the environment of its code. Its faults, each in some runs only:
/// - it pauses before a request leaves, at a clock read, or at any time, for 0.1 to 40 s;
/// - it crashes at any await (its task is destroyed) and restarts later, or when the faults end;
/// - it is cut off from one server, or all;
/// - connections break, with the request or with its response; responses are late;
/// - its clock runs up to 0.9 % fast or slow.
class process : public environment {
public:
  virtual const std::string& name() const noexcept = 0;
  /// 1, and one more after each crash.
  virtual unsigned life() const noexcept = 0;
  /// Whether it was started after the faults had ended.
  virtual bool healed() const noexcept = 0;
  /// Adds a line to the story.
  virtual void add_line(const std::string& text) = 0;
};

/// What is run, and what must be true.
class scenario {
public:
  class parts;
  explicit scenario(parts& p) : parts_(p) {}
  scenario(const scenario&) = delete;
  scenario& operator=(const scenario&) = delete;

  // ---- participants
  /// 3 (the default) to 5. Members may be replaced, and others join, in some runs.
  void servers(std::size_t n);
  /// A process, started one second after the servers. The task that `main` returns runs until it is
  /// done or crashes; then `main` is called again. Use short names: they appear in the story.
  void client(std::string name, std::function<task<>(process& me)> main);
  /// A service that clients reach at `path` and below it: a store, a printer. It never fails, but
  /// requests to it may be delayed or lost. `answers` is called when a request arrives.
  void service(std::string path, std::function<answer(const request&)> answers);

  // ---- what must be true
  /// Checked after each event.
  void always(std::string rule, std::function<bool()> holds);
  /// Must become true once the faults have ended, within the `calm` of run().
  void eventually(std::string rule, std::function<bool()> holds);
  /// Fails the run; may be called from anywhere.
  void fail(std::string what);
  /// Adds a line to the story.
  void add_line(std::string_view who, const std::string& text);

  // ---- faults
  /// No faults at all: for the first run of a new scenario.
  void without_faults();
  /// Disables a fault of servers (run_program prints the names in each story), or "client-pause",
  /// "client-crash", "client-cut", "client-loss", "client-late", "client-clock"; others end the
  /// program.
  void without(const std::string& fault);
  /// Enables a fault that servers do not promise to survive: "machine-stop" (machines pause, their
  /// clocks included), "clock-wild" (server clocks exceed their bound).
  void with(const std::string& fault);

  /// Runs it: `faults` with faults, at most 10 minutes; then without, until each eventually()
  /// holds, at most `calm`. Calls none of the functions above afterwards. Call it once, at the end.
  void run(milliseconds faults, milliseconds calm = milliseconds(60000));

private:
  parts& parts_;
};

/// The unescaped value of a query parameter; empty if there is none.
std::string parameter(const request& q, std::string_view name);

/// The command line of a program of scenarios. @returns the exit code
int run_program(int argc, char** argv);

/// Used by BELAY_SCENARIO.
class registered {
public:
  registered(std::string name, void (*body)(scenario& scenario));
};

} // namespace sim
} // namespace v0
} // namespace belay

#define BELAY_SIM_JOINED_NOW(a, b) a##b
#define BELAY_SIM_JOINED(a, b) BELAY_SIM_JOINED_NOW(a, b)
/// Defines a scenario of that name; the body follows, and can use `scenario`.
#define BELAY_SCENARIO(name)                                                                                           \
  static void BELAY_SIM_JOINED(belay_scenario_, __LINE__)(::belay::sim::scenario & scenario);                          \
  static const ::belay::sim::registered BELAY_SIM_JOINED(belay_registered_, __LINE__)(                                 \
      name, &BELAY_SIM_JOINED(belay_scenario_, __LINE__));                                                             \
  static void BELAY_SIM_JOINED(belay_scenario_, __LINE__)(::belay::sim::scenario & scenario)
