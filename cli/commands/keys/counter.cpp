// `belay counter add|get`: a number that many clients add to, with the client library.

#include "cli/api/command_world.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "protocol/golang/syntax.hpp"

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
  command_world sockets(loop, client.target(), o.write_query().text());
  v0::counter number(sockets, key, o.integer("min", bounds::min()), o.integer("max", bounds::max()));
  const v0::patience limit(sockets.now() + o.duration("timeout", 10s));
  auto counting = n ? number.add(*n, limit) : number.read(limit);
  counting.start();
  while (!counting.done() && loop.run_one() != 0) {
  }
  const auto got = counting.take();
  if (!got)
    return error(t, (got.unknown() ? "Error! It is not known whether it was counted: " : "Error! ") + got.why().text());
  return succeed(o, t, std::to_string(*got), {{"Key", key}, {"Number", *got}});
}

int counter_get(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, "Error! One KEY is needed");
  return count(o, t, std::nullopt);
}

int counter_add(const options& o, terminal t) {
  if (o.words().empty() || o.words().size() > 2)
    return error(t, "Error! One KEY is needed, and at most one number");
  const auto n = o.words().size() == 2 ? golang::parse_int(o.words()[1]) : std::optional<std::int64_t>(1);
  if (!n)
    return error(t, "Error! This is no number: " + o.words()[1]);
  return count(o, t, n);
}

} // namespace

std::vector<command> counter_commands() {
  using enum flag_kind;
  const flag timeout{"timeout", duration, "<duration>", "how long it may take (default 10s)"};
  return {
      {.name = "counter add",
       .help = "Adds to a number that many count on",
       .operands = "KEY [N]",
       .text = "Prints the number afterwards. N is 1 if it is not given, and may be negative. A key that is not "
               "there is 0. It is\n"
               "counted once, whoever else counts, and also if an answer is lost; if that cannot be found out it says "
               "so, and "
               "does not count again.\n"
               "Works with Consul's servers, too. `belay kv add` does the same in one request, on Belay alone.",
       .flags = {{"max", integer, "<number>", "refused if it would become larger"},
                 {"min", integer, "<number>", "refused if it would become smaller"},
                 timeout},
       .examples = {{"counter add builds", "One more; prints how many there are"},
                    {"counter add -min=0 stock/4711 -3", "Takes three, if there are so many"}},
       .run = counter_add},
      {.name = "counter get",
       .help = "Shows a number that many count on",
       .operands = "KEY",
       .flags = {timeout},
       .examples = {{"counter get builds", "0 if there is no such key"},
                    {"counter get -format=json builds", "The same for programs"}},
       .run = counter_get},
  };
}

} // namespace belay::cli
