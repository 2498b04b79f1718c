// `belay semaphore` and `belay elect`: run a command while the client library holds permits, or a
// leadership.

#include "cli/api/api_client.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/holds/holding_run.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/locks/claim_holding.hpp"

#include <ostream>
#include <unistd.h>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// What both commands do once their options are read.
int run_claimed(const options& o, terminal t, hold_options chosen, const std::string& what) {
  const auto acquire_within = o.wait("timeout", 0s);
  if (acquire_within < 0s)
    return error(t, "Timeout must be positive");
  const acquire_deadline deadline(std::chrono::ceil<std::chrono::milliseconds>(acquire_within));
  const auto client = o.client(t);
  answer_of(client.ask(is_there(deadline)), t, "Error querying agent: ");
  auto order = order_of(o, what);
  asio::io_context loop;
  auto held = make_claim_holding(loop, client.target(), o.write_query(), std::move(chosen), deadline);
  return run_while_held(loop, std::move(held), std::move(order), t);
}

int semaphore_command(const options& o, terminal t) {
  const auto limit = o.number("limit"), permits = o.given("permits") ? o.number("permits") : 1;
  if (o.words().size() < 2)
    return error(t, "Name and command must be specified");
  if (limit == 0)
    return error(t, "-limit is required: the number of permits of the semaphore");
  if (permits == 0 || permits > limit)
    return error(t, "-permits must be between 1 and -limit");
  return run_claimed(o, t,
                     {.of = hold_options::kind::permits,
                      .name = without_leading_slash(o.words()[0]),
                      .permits = permits,
                      .limit = limit,
                      .value = {}},
                     "Permits");
}

int elect_command(const options& o, terminal t) {
  if (o.words().size() < 2)
    return error(t, "Name and command must be specified");
  return run_claimed(o, t,
                     {.of = hold_options::kind::leadership,
                      .name = without_leading_slash(o.words()[0]),
                      .permits = 1,
                      .limit = 1,
                      .value = o.value("value", host_name())},
                     "Office");
}

/// The flags of both commands; `belay lock` has some of them.
std::vector<flag> flags_with(std::vector<flag> own) {
  using enum flag_kind;
  own.insert(
      own.end(),
      {{"child-exit-code", toggle, "", "exit with 2 if the command failed, or was killed because the claim was lost"},
       {"name", text, "<name>", "name of the session (default: derived from the command)"},
       {"pass-stdin", toggle, "", "pass the standard input to the command; without it the command reads nothing"},
       {"shell", toggle, "", "run the command with $SHELL or /bin/sh; -shell=false runs it directly"},
       {"timeout", duration, "<duration>", "time after which the command gives up waiting (default: never)"},
       {"verbose", toggle, "", "print progress"}});
  return own;
}

} // namespace

std::vector<command> claimed_commands() {
  using enum flag_kind;
  return {
      {.name = "elect",
       .help = "Run a command while this candidate leads",
       .operands = "NAME COMMAND...",
       .text = "Candidates are served in the order of their requests. The command is ended as with `belay lock`:\n"
               "when this program gets a signal to end, when the leadership is transferred, and before a server may\n"
               "elect another candidate. Its environment has BELAY_LOCK_KEY, BELAY_LOCK_SESSION and\n"
               "BELAY_LOCK_FENCE. `belay claims list NAME` shows the leader and the waiting candidates.\n\n"
               "On a server without claims (Consul) the election is the lock of the key NAME.",
       .formats = false,
       .flags =
           flags_with({{"value", text, "<text>",
                        "value of the leader that other clients see, such as its address (default: the host name)"}}),
       .examples = {{"elect workers/leader -- ./lead", "Run ./lead on one of the candidates"},
                    {"elect -value=10.0.0.7:80 -timeout=30s web/primary ./serve",
                     "Publish an address; give up if another candidate leads for 30 s"}},
       .run = elect_command},
      {.name = "semaphore",
       .help = "Run a command while it holds permits of a semaphore",
       .operands = "NAME COMMAND...",
       .text = "At most -limit permits are held at once. They are granted in the order of the requests: a request\n"
               "for many permits is not overtaken. The command is ended as with `belay lock`. Its environment has\n"
               "BELAY_LOCK_KEY, BELAY_LOCK_SESSION and BELAY_LOCK_FENCE.\n\n"
               "On a server without claims (Consul) it is the semaphore of `consul lock -n`, with one permit each\n"
               "and without a fencing token. On Belay the two semaphores do not exclude each other.",
       .formats = false,
       .flags = flags_with({{"limit", unsigned_number, "<number>", "number of permits of the semaphore; required"},
                            {"permits", unsigned_number, "<number>", "number of permits to take (default 1)"}}),
       .examples = {{"semaphore -limit=3 jobs/upload -- ./upload", "Run at most three at once"},
                    {"semaphore -limit=16 -permits=4 cores ./compile", "Take four of sixteen permits"}},
       .run = semaphore_command},
  };
}

} // namespace belay::cli
