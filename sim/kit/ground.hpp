#pragma once
// The environment of a user's scenario, for the library that it uses (client/kit): virtual time,
// randomness, and a simulated cluster with HTTP requests. It includes no header of the servers or
// the client library, because both have types of the same names.

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

/// A server's response.
struct reply {
  int status = 0;   ///< 0: there was no response
  bool sent = true; ///< without a status: whether the request may have reached the server
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body; ///< without a status: why not
};

class ground {
public:
  virtual ~ground() = default;

  virtual moment now() const = 0;
  /// Runs `what` at `when` (now, if that has passed), after what was scheduled before for then.
  virtual void at(moment when, std::function<void()> what) = 0;

  // ---- randomness from the tape; each stream is a sequence, and 0 is the least eventful choice
  /// 0 to n-1. @pre n > 0
  virtual std::uint64_t choose(std::uint16_t stream, std::uint64_t n) = 0;
  /// One of 1..n-1 in `per_million` of a million cases, else 0. @pre n > 1
  virtual std::uint64_t choose_rarely(std::uint16_t stream, std::uint64_t n, std::uint32_t per_million) = 0;

  // ---- servers, from 0 on
  virtual std::size_t servers() const = 0;
  virtual bool listens(std::size_t server) const = 0;
  /// A whole HTTP request arrives at that server. `reached` is called once, not from this call; or
  /// never, after hang_up(). @returns its number, not 0. @pre listens()
  virtual std::uint64_t send(std::size_t server, std::string bytes, std::function<void(reply)> reached) = 0;
  /// The client closes the connection of that request. Ignores unknown numbers.
  virtual void hang_up(std::uint64_t number) = 0;

  // ---- events
  /// Two runs are the same if they note the same values in the same order.
  virtual void note(std::uint64_t what) = 0;
  /// Whether the trace has a reader.
  virtual bool traces() const = 0;
  /// A line of the trace, about a client or a service.
  virtual void add_line(std::string_view who, const std::string& text) = 0;
};

struct broken_rule {
  std::string checker; ///< one word or two
  std::string text;
};

/// How to run a scenario.
struct plan {
  std::size_t servers = 3;   ///< 3 to 5
  moment faults{0}, calm{0}; ///< duration of the faults, and how long `owed` may last after them
  bool any_faults = true;
  std::set<std::string> without, with; ///< names of faults of servers (fault_names())

  std::function<void(ground&)> begin; ///< called when the servers have had a second
  /// Called after each event. A returned rule ends the run.
  std::function<std::optional<broken_rule>()> look;
  std::function<void()> heal; ///< the faults are over
  /// What is not yet as required; nullopt: nothing.
  std::function<std::optional<broken_rule>()> owed;
  /// Called only if the trace has a reader: the leader no longer has the session with that ID.
  std::function<void(const std::string& id)> session_over;
  std::function<void()> end; ///< all requests to the ground must end
};

/// Names of the faults of servers, disks and networks, for plan::without and plan::with.
std::vector<std::string> fault_names();

struct outcome_counts {
  std::uint64_t requested = 0, done = 0, refused = 0, unknown = 0;
  std::map<std::string, std::uint64_t> faults; ///< faults of clients, by name
};

/// Runs a plan to its end or to the first broken rule; the counts are for the report.
using stage = std::function<void(const plan&, const outcome_counts&)>;

struct named_scenario {
  std::string name;
  std::function<void(const stage&)> body; ///< calls the stage once
};

/// belay-sim's command line (docs/guides/simulator-kit.md) for these scenarios. @returns the exit code
int run_program(int argc, char** argv, const std::vector<named_scenario>& all);

} // namespace belay_ground
