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
int run_claimed(const options& o, terminal t, hold_wish wish, const std::string& what) {
  const auto patience = o.duration("timeout", 0s);
  if (patience < 0s)
    return error(t, "Timeout must be positive");
  const acquire_deadline deadline(std::chrono::ceil<std::chrono::milliseconds>(patience));
  const auto client = o.client(t);
  answer_of(client.ask(is_there(deadline)), t, "Error querying agent: ");
  auto order = order_of(o, what);
  asio::io_context loop;
  auto held = make_claim_holding(loop, client.target(), o.write_query(), std::move(wish), deadline);
  return run_while_held(loop, std::move(held), std::move(order), t);
}

int semaphore_command(const options& o, terminal t) {
  const auto limit = o.number("limit"), permits = o.given("permits") ? o.number("permits") : 1;
  if (o.words().size() < 2)
    return error(t, "Name and command must be specified");
  if (limit == 0)
    return error(t, "The number of permits that there are must be specified: -limit");
  if (permits == 0 || permits > limit)
    return error(t, "Permits must be between 1 and the limit");
  return run_claimed(o, t,
                     {.of = hold_wish::kind::permits,
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
                     {.of = hold_wish::kind::office,
                      .name = without_leading_slash(o.words()[0]),
                      .permits = 1,
                      .limit = 1,
                      .value = o.value("value", host_name())},
                     "Office");
}

/// The flags of both commands; `belay lock` has some of them.
std::vector<flag> flags_with(std::vector<flag> own) {
  using enum flag_kind;
  own.insert(own.end(),
             {{"child-exit-code", toggle, "",
               "exit with 2 if the command failed, or was killed because what it ran under was lost"},
              {"name", text, "<name>", "name of the session (default: made from the command)"},
              {"pass-stdin", toggle, "", "the command reads the standard input; else it reads nothing"},
              {"shell", toggle, "", "run the command by $SHELL, or /bin/sh; -shell=false runs it as it is"},
              {"timeout", duration, "<duration>", "give up after so long, whatever takes the time (default: never)"},
              {"verbose", toggle, "", "tell what is done"}});
  return own;
}

} // namespace

std::vector<command> claimed_commands() {
  using enum flag_kind;
  return {
      {.name = "elect",
       .help = "Runs a command as long as this one is the leader",
       .operands = "NAME COMMAND...",
       .text = "Candidates are served in the order in which they ask. The command ends as that of `belay lock` does: "
               "when this program is told to\n"
               "end, and before a server may give the office to somebody else; also when the office is handed over. It "
               "finds BELAY_LOCK_KEY,\n"
               "BELAY_LOCK_SESSION and BELAY_LOCK_FENCE in its environment. `belay claims list NAME` shows who leads, "
               "and who waits.\n"
               "\n"
               "On a server without claims (Consul) the office is the lock of the key NAME.",
       .formats = false,
       .flags = flags_with({{"value", text, "<text>",
                             "what others see of the leader, as its address (default: the name of this machine)"}}),
       .examples = {{"elect workers/leader -- ./lead", "One of all who ask leads"},
                    {"elect -value=10.0.0.7:80 -timeout=30s web/primary ./serve",
                     "With an address; not at all if another one leads for so long"}},
       .run = elect_command},
      {.name = "semaphore",
       .help = "Runs a command while permits of a semaphore are held",
       .operands = "NAME COMMAND...",
       .text =
           "At most -limit permits are held at once, in the order in which they were asked for: one that wants many "
           "is not overtaken. The command\n"
           "ends as that of `belay lock` does, and finds BELAY_LOCK_KEY, BELAY_LOCK_SESSION and BELAY_LOCK_FENCE in "
           "its environment.\n"
           "\n"
           "On a server without claims (Consul) it is the semaphore of `consul lock -n`, with one permit each and "
           "without a fence. On Belay\n"
           "the two know nothing of each other.",
       .formats = false,
       .flags = flags_with({{"limit", unsigned_number, "<number>", "permits that there are; required"},
                            {"permits", unsigned_number, "<number>", "permits that are taken (default 1)"}}),
       .examples = {{"semaphore -limit=3 jobs/upload -- ./upload", "At most three at once"},
                    {"semaphore -limit=16 -permits=4 cores ./compile", "Takes four of sixteen"}},
       .run = semaphore_command},
  };
}

} // namespace belay::cli
