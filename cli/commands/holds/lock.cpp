// `belay lock`: runs a command while a lock is held. Keys, flags and texts are those of
// `consul lock`.

#include "cli/api/api_client.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/holds/holding_run.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/locks/claim_holding.hpp"
#include "protocol/go_compat/url.hpp"

#include <optional>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// What is wrong with options that exclude each other; empty: nothing.
std::string complaint_about_kind(const options& o, std::int64_t limit) {
  const bool shared = o.on("shared"), exclusive = o.on("exclusive");
  if (shared && exclusive)
    return "-shared and -exclusive cannot be combined";
  const std::string kind = shared ? "-shared" : "-exclusive";
  for (const auto* other : {"n", "permits"})
    if ((shared || exclusive) && o.given(other))
      return kind + " and -" + other + " cannot be combined";
  if ((shared || exclusive || o.given("permits")) && o.given("monitor-retry"))
    return "-monitor-retry cannot be combined with " + (shared || exclusive ? kind : "-permits") +
           ", which retries after errors while the session is safe";
  if (o.given("permits") && (o.number("permits") == 0 || o.number("permits") > static_cast<std::uint64_t>(limit)))
    return "-permits must be between 1 and -n";
  return {};
}

/// The claim that the options ask for; nullopt: they ask for a lock or a semaphore of keys.
std::optional<hold_options> claim_wished(const options& o, const holding_settings& settings) {
  hold_options chosen{.of = hold_options::kind::permits,
                      .name = settings.prefix,
                      .permits = o.number("permits"),
                      .limit = settings.limit,
                      .value = {}};
  if (o.given("permits"))
    return chosen;
  if (!o.on("shared") && !o.on("exclusive"))
    return std::nullopt;
  chosen.of = o.on("shared") ? hold_options::kind::reader : hold_options::kind::writer;
  return chosen;
}

std::string what_is_set_up(const options& o, const holding_settings& settings) {
  if (o.on("shared") || o.on("exclusive"))
    return std::string("Setting up ") + (o.on("shared") ? "shared" : "exclusive") + " lock: " + settings.prefix;
  if (settings.limit == 1)
    return "Setting up lock at path: " + settings.prefix + "/.lock";
  return "Setting up semaphore (limit " + std::to_string(settings.limit) + ") at prefix: " + settings.prefix;
}

int lock(const options& o, terminal t) {
  const auto limit = o.integer("n", 1), retries = o.integer("monitor-retry", 3);
  if (limit <= 0)
    return error(t, "Lock holder limit must be positive");
  if (o.words().size() < 2)
    return error(t, "Key prefix and child command must be specified");
  if (const auto complaint = complaint_about_kind(o, limit); !complaint.empty())
    return error(t, complaint);
  const auto acquire_within = o.given("timeout") ? o.wait("timeout", 0s) : o.wait("try", 0s);
  if (acquire_within < 0s)
    return error(t, "Timeout must be positive");
  if (retries < 0)
    return error(t, "Number for 'monitor-retry' must be >= 0");
  const acquire_deadline deadline(std::chrono::ceil<std::chrono::milliseconds>(acquire_within));
  const auto client = o.client(t);
  answer_of(client.ask(is_there(deadline)), t, "Error querying Consul agent: ");

  holding_settings settings;
  settings.prefix = go_compat::clean_path("/" + o.words()[0]).substr(1);
  while (settings.prefix.ends_with('/'))
    settings.prefix.pop_back();
  settings.limit = static_cast<std::size_t>(limit);
  settings.retries = static_cast<std::size_t>(retries);
  settings.deadline = deadline;
  auto order = order_of(o, "Consul lock");
  if (order.verbose)
    t.out << what_is_set_up(o, settings) << "\n" << std::flush;
  asio::io_context loop;
  if (auto chosen = claim_wished(o, settings)) {
    auto held = make_claim_holding(loop, client.target(), o.write_query(), std::move(*chosen), deadline);
    return run_while_held(loop, std::move(held), std::move(order), t);
  }
  auto held = make_holding(loop, client.target(), o.write_query(), std::move(settings));
  return run_while_held(loop, std::move(held), std::move(order), t);
}

} // namespace

std::vector<command> lock_commands() {
  using enum flag_kind;
  return {
      {.name = "lock",
       .help = "Run a command while holding a lock",
       .operands = "PREFIX COMMAND...",
       .text = "The lock is the key PREFIX/.lock, as with `consul lock`; with -n several clients may hold it at\n"
               "once. It is released when the command ends. If the lock is lost, if no server can be reached, or if\n"
               "this program gets SIGTERM, SIGINT or SIGHUP, the command gets SIGTERM, and SIGKILL 5 s later or\n"
               "sooner: in any case before a server may grant the lock to another client. Signals reach all\n"
               "processes in the process group of the command, and none of them is left when the lock is released.\n"
               "If this program is killed, the command is killed, too.\n\n"
               "The environment of the command has CONSUL_LOCK_HELD=true, BELAY_LOCK_KEY, BELAY_LOCK_SESSION and,\n"
               "for a lock (not for a semaphore), BELAY_LOCK_FENCE: the fencing token, which protects other systems\n"
               "from a holder that was paused (docs/guides/locks.md).\n\n"
               "With -shared and -exclusive it is a read-write lock named PREFIX. It is a claim: it requires Belay,\n"
               "and does not exclude clients that lock the key PREFIX/.lock. Several clients with -shared hold it\n"
               "together, one with -exclusive holds it alone. They are served in the order of their requests, so\n"
               "that writers do not starve.",
       .formats = false,
       .flags = {{"child-exit-code", toggle, "",
                  "exit with 2 if the command failed, or was killed because the lock was lost"},
                 {"exclusive", toggle, "", "exclusive: without other holders, in the same queue as -shared"},
                 {"monitor-retry", integer, "<number>",
                  "number of consecutive errors, 1 s apart, after which the lock counts as lost (default 3)"},
                 {"n", integer, "<number>", "maximum number of holders (default 1)"},
                 {"name", text, "<name>", "name of the session (default: derived from the command)"},
                 {"pass-stdin", toggle, "",
                  "pass the standard input to the command; without it the command reads nothing"},
                 {"permits", unsigned_number, "<number>",
                  "take this many permits of -n, using a claim (does not exclude -n without -permits)"},
                 {"shared", toggle, "", "shared: with other -shared holders, never with an -exclusive one"},
                 {"shell", toggle, "", "run the command with $SHELL or /bin/sh; -shell=false runs it directly"},
                 {"timeout", duration, "<duration>", "give up waiting for the lock after this time (default: never)"},
                 {"try", duration, "<duration>", "old name of -timeout"},
                 {"verbose", toggle, "", "print progress"}},
       .examples = {{"lock jobs/report ./make-report", "Make the report on one machine at a time"},
                    {"lock -timeout=1s -child-exit-code jobs/report ./make-report",
                     "Give up if another machine makes it"},
                    {"lock -n=3 jobs/upload ./upload", "Run at most three at once"},
                    {"lock -shared db/schema -- ./report", "Run together with other reports"},
                    {"lock -exclusive db/schema -- ./migrate", "Run while no report and no other migration runs"}},
       .run = lock}};
}

} // namespace belay::cli
