#pragma once
// What a user's scenario stands on, for the library that it is written with (client/kit): virtual time, chance, and a simulated
// cluster of the real servers that is asked over HTTP. Of the servers and of the client library nothing is seen here: both have
// types of the same names.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay_ground {

/// Virtual time since the start of the run.
using moment = std::chrono::nanoseconds;

/// What came back from a server.
struct reply {
  int status = 0;   ///< 0: nothing did
  bool sent = true; ///< of one without a status: whether the request may have reached the server
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body; ///< of one without a status: why not
};

class ground {
public:
  virtual ~ground() = default;

  virtual moment now() const = 0;
  /// Runs `what` at that time (now, if it has passed), after all that was asked for earlier for the same time.
  virtual void at(moment when, std::function<void()> what) = 0;

  // ---- chance, from the tape; each stream is a sequence of its own, and 0 is the dullest answer
  /// 0 to n-1. @pre n > 0
  virtual std::uint64_t choose(std::uint16_t stream, std::uint64_t n) = 0;
  /// 0 but in `per_million` of all cases, then one of 1..n-1. @pre n > 1
  virtual std::uint64_t choose_rarely(std::uint16_t stream, std::uint64_t n, std::uint32_t per_million) = 0;

  // ---- servers, from 0 on
  virtual std::size_t servers() const = 0;
  virtual bool listens(std::size_t server) const = 0;
  /// A whole HTTP request arrives at that server. `heard` is called once, on another turn; or never, after hang_up().
  /// @returns its number, not 0. @pre listens()
  virtual std::uint64_t send(std::size_t server, std::string bytes, std::function<void(reply)> heard) = 0;
  /// The client closes the connection of that request. A number that is known no more does nothing.
  virtual void hang_up(std::uint64_t number) = 0;

  // ---- what happened
  /// Two runs are the same if they note the same in the same order.
  virtual void note(std::uint64_t what) = 0;
  /// Whether somebody reads the story.
  virtual bool told() const = 0;
  /// A line of the story, about a client or a service.
  virtual void tell(std::string_view who, const std::string& text) = 0;
};

struct broken_rule {
  std::string checker; ///< one word or two
  std::string text;
};

/// How a scenario is run.
struct plan {
  std::size_t servers = 3;   ///< 3 to 5
  moment faults{0}, calm{0}; ///< how long there are faults, and how long `owed` may last after them
  bool any_faults = true;
  std::set<std::string> without, with; ///< names of faults of servers (fault_names())

  std::function<void(ground&)> begin; ///< when the servers have had a second
  /// After each event. What it returns ends the run.
  std::function<std::optional<broken_rule>()> look;
  std::function<void()> heal; ///< the faults are over
  /// What is not yet so; nullopt: all is as it should be.
  std::function<std::optional<broken_rule>()> owed;
  /// Only if somebody reads the story: a session, by its ID, is no more in the tables of the leader.
  std::function<void(const std::string& id)> session_over;
  std::function<void()> end; ///< nothing may be left that the ground is asked by
};

/// Faults of servers, disks and wires, as plan::without and plan::with name them.
std::vector<std::string> fault_names();

struct outcome_counts {
  std::uint64_t asked = 0, done = 0, refused = 0, unknown = 0;
  std::map<std::string, std::uint64_t> faults; ///< of clients, by name
};

/// Runs a plan to its end or to the first broken rule; what it returns is for the report.
using stage = std::function<void(const plan&, const outcome_counts&)>;

struct named_scenario {
  std::string name;
  std::function<void(const stage&)> body; ///< calls the stage once
};

/// belay-sim's command line (docs/simulator-kit.md) over these scenarios. @returns the exit code
int run_program(int argc, char** argv, const std::vector<named_scenario>& all);

} // namespace belay_ground
