// `belay counter add|get`: a number that many clients add to, with the client library.

#include "cli/api/command_environment.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <belay/counter.hpp>

#include <limits>
#include <ostream>

namespace belay::cli {

using namespace std::chrono_literals;

namespace {

/// @param n what to add; nullopt: only read the number
int count(const options& o, terminal t, std::optional<std::int64_t> n) {
  const auto client = o.client(t);
  const auto key = without_leading_slash(o.words()[0]);
  using bounds = std::numeric_limits<std::int64_t>;
  boost::asio::io_context loop;
  command_environment sockets(loop, client.target(), o.write_query().text());
  v0::counter number(sockets, key, o.integer("min", bounds::min()), o.integer("max", bounds::max()));
  const v0::deadline limit(sockets.now() + o.wait("timeout", 10s));
  auto counting = n ? number.add(*n, limit) : number.read(limit);
  counting.start();
  while (!counting.done() && loop.run_one() != 0) {
  }
  const auto got = counting.take();
  if (!got)
    return error(t, (got.unknown() ? "Error! It is unknown whether the number was added: " : "Error! ") +
                        got.error().text());
  return succeed(o, t, std::to_string(*got), {{"Key", key}, {"Number", *got}});
}

int counter_get(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, "Error! One KEY is required");
  return count(o, t, std::nullopt);
}

int counter_add(const options& o, terminal t) {
  if (o.words().empty() || o.words().size() > 2)
    return error(t, "Error! One KEY is required, and at most one number");
  const auto n = o.words().size() == 2 ? go_compat::parse_int(o.words()[1]) : std::optional<std::int64_t>(1);
  if (!n)
    return error(t, "Error! Not a 64-bit integer: " + o.words()[1]);
  return count(o, t, n);
}

} // namespace

std::vector<command> counter_commands() {
  using enum flag_kind;
  const flag timeout{"timeout", duration, "<duration>", "time limit (default 10s)"};
  return {
      {.name = "counter add",
       .help = "Add to a shared counter",
       .operands = "KEY [N]",
       .text = "Prints the new number. N may be negative; its default is 1. A missing key counts as 0. N is added\n"
               "exactly once, even if other clients add at the same time or a response is lost. If the outcome\n"
               "cannot be determined, the command reports that, and does not add again. It works with Consul's\n"
               "servers, too. `belay kv add` does the same in one request, on Belay only.",
       .flags = {{"max", integer, "<number>", "maximum: larger results are rejected"},
                 {"min", integer, "<number>", "minimum: smaller results are rejected"},
                 timeout},
       .examples = {{"counter add builds", "Add one, and print the new number"},
                    {"counter add -min=0 stock/4711 -3", "Subtract three, if at least three are left"}},
       .run = counter_add},
      {.name = "counter get",
       .help = "Print a shared counter",
       .operands = "KEY",
       .flags = {timeout},
       .examples = {{"counter get builds", "Print the number, or 0 if the key does not exist"},
                    {"counter get -format=json builds", "Print it as JSON"}},
       .run = counter_get},
  };
}

} // namespace belay::cli
