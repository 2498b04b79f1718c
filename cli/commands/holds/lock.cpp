// `belay lock`: runs a command while a lock is held. Keys, flags and texts are those of
// `consul lock`.

#include "cli/api/api_client.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/holds/holding_run.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/locks/claim_holding.hpp"
#include "protocol/golang/url.hpp"

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
    return "-shared and -exclusive exclude each other: readers have the lock together, a writer has it alone";
  const std::string kind = shared ? "-shared" : "-exclusive";
  for (const auto* other : {"n", "permits"})
    if ((shared || exclusive) && o.given(other))
      return kind + " is a lock of readers and writers, -" + other + " is of a semaphore: they exclude each other";
  if ((shared || exclusive || o.given("permits")) && o.given("monitor-retry"))
    return "-monitor-retry does not count with " + (shared || exclusive ? kind : "-permits") +
           ": errors are ridden out as long as the session is safe";
  if (o.given("permits") && (o.number("permits") == 0 || o.number("permits") > static_cast<std::uint64_t>(limit)))
    return "Permits must be between 1 and the number of -n";
  return {};
}

/// The claim that the options ask for; nullopt: they ask for a lock or a semaphore of keys.
std::optional<hold_wish> claim_wished(const options& o, const holding_settings& settings) {
  hold_wish wish{.of = hold_wish::kind::permits,
                 .name = settings.prefix,
                 .permits = o.number("permits"),
                 .limit = settings.limit,
                 .value = {}};
  if (o.given("permits"))
    return wish;
  if (!o.on("shared") && !o.on("exclusive"))
    return std::nullopt;
  wish.of = o.on("shared") ? hold_wish::kind::reader : hold_wish::kind::writer;
  return wish;
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
  const auto patience = o.given("timeout") ? o.duration("timeout", 0s) : o.duration("try", 0s);
  if (patience < 0s)
    return error(t, "Timeout must be positive");
  if (retries < 0)
    return error(t, "Number for 'monitor-retry' must be >= 0");
  const acquire_deadline deadline(std::chrono::ceil<std::chrono::milliseconds>(patience));
  const auto client = o.client(t);
  answer_of(client.ask(is_there(deadline)), t, "Error querying Consul agent: ");

  holding_settings settings;
  settings.prefix = golang::clean_path("/" + o.words()[0]).substr(1);
  while (settings.prefix.ends_with('/'))
    settings.prefix.pop_back();
  settings.limit = static_cast<std::size_t>(limit);
  settings.retries = static_cast<std::size_t>(retries);
  settings.deadline = deadline;
  auto order = order_of(o, "Consul lock");
  if (order.verbose)
    t.out << what_is_set_up(o, settings) << "\n" << std::flush;
  asio::io_context loop;
  if (auto wish = claim_wished(o, settings)) {
    auto held = make_claim_holding(loop, client.target(), o.write_query(), std::move(*wish), deadline);
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
       .help = "Runs a command while a lock is held",
       .operands = "PREFIX COMMAND...",
       .text = "The lock is the key PREFIX/.lock, as `consul lock` has it; with -n more than one may hold it at once. "
               "It is released when the\n"
               "command ends. If it is lost, or no server can be reached, or this program is told to end (SIGTERM, "
               "SIGINT, SIGHUP), the\n"
               "command gets SIGTERM, and SIGKILL 5 s later, or sooner: in any case before a server may give the lock "
               "to somebody else.\n"
               "Signals go to all that the command has started and that is in its process group, and nothing of it is "
               "left when the lock is\n"
               "released. If this program is killed, the command is killed with it.\n"
               "\n"
               "The command finds in its environment CONSUL_LOCK_HELD=true, BELAY_LOCK_KEY, BELAY_LOCK_SESSION and, of "
               "a lock (not of a\n"
               "semaphore), BELAY_LOCK_FENCE: the number that guards other systems against a holder that was paused "
               "(docs/guides/locks.md).\n"
               "\n"
               "With -shared and -exclusive it is a lock of readers and writers by the name PREFIX, a claim: it needs "
               "Belay, and knows nothing of the\n"
               "key PREFIX/.lock. Those with -shared have it together, one with -exclusive has it alone. They are "
               "served in the order in which they\n"
               "ask, so that writers do not starve.",
       .formats = false,
       .flags =
           {{"child-exit-code", toggle, "",
             "exit with 2 if the command failed, or was killed because the lock was lost"},
            {"exclusive", toggle, "", "as a writer: alone, beside those with -shared"},
            {"monitor-retry", integer, "<number>",
             "errors in a row, 1 s apart, after which the lock counts as lost (default 3)"},
            {"n", integer, "<number>", "how many may hold it at once (default 1)"},
            {"name", text, "<name>", "name of the session (default: made from the command)"},
            {"pass-stdin", toggle, "", "the command reads the standard input; else it reads nothing"},
            {"permits", unsigned_number, "<number>",
             "take so many of -n, as a claim: as `belay semaphore` does, beside which those without it are not seen"},
            {"shared", toggle, "", "as a reader: together with others that say so; not with one that says -exclusive"},
            {"shell", toggle, "", "run the command by $SHELL, or /bin/sh; -shell=false runs it as it is"},
            {"timeout", duration, "<duration>",
             "give up if the lock is not had after so long, whatever takes the time (default: never)"},
            {"try", duration, "<duration>", "the same, by its old name"},
            {"verbose", toggle, "", "tell what is done"}},
       .examples = {{"lock jobs/report ./make-report", "One machine at a time makes the report"},
                    {"lock -timeout=1s -child-exit-code jobs/report ./make-report",
                     "Not at all if another one is at it"},
                    {"lock -n=3 jobs/upload ./upload", "At most three at once"},
                    {"lock -shared db/schema -- ./report", "Together with other reports"},
                    {"lock -exclusive db/schema -- ./migrate", "While no report runs, and nothing else"}},
       .run = lock}};
}

} // namespace belay::cli
