// `belay diff`: compares the keys of two servers with the client library.

#include "cli/commands/all.hpp"
#include "cli/commands/copies/two_servers.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/progress_line.hpp"
#include "cli/output/table.hpp"

#include <belay/diff.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

/// As in diff(1), 1 means that there are differences.
constexpr int differ = 1, in_trouble = 2;
constexpr auto look_every = 200ms;

int trouble(terminal t, const std::string& complaint) {
  error(t, complaint);
  return in_trouble;
}

std::string shown(const std::vector<v0::difference>& all, const std::string& prefix) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(all.size());
  for (const auto& d : all)
    rows.push_back({std::string(v0::name_of(d.kind)), prefix + d.key});
  return table(rows);
}

json::array as_json(const std::vector<v0::difference>& all, const std::string& prefix) {
  json::array rows;
  for (const auto& d : all)
    rows.push_back({{"Kind", v0::name_of(d.kind)}, {"Key", prefix + d.key}});
  return rows;
}

int diff_command(const options& o, terminal t) {
  const auto both = copy_operands_of(o, false, t);
  const auto settle = o.wait("settle", 1s), within = o.wait("timeout", 60s);
  if (settle < 0s || within <= 0s)
    return trouble(t, "-settle and -timeout must be positive");
  const auto servers = o.clients(both.original, both.copy, t);
  progress_line progress(t.out, t.screen && !o.json());
  boost::asio::io_context loop;
  command_environment original(loop, servers.first.target(), {}), copy(loop, servers.second.target(), {});
  v0::diff_options options;
  options.settle = std::chrono::ceil<std::chrono::milliseconds>(settle);
  const auto begun = original.now();
  auto comparing = v0::diff(original, both.prefix, copy, both.copy_prefix, v0::deadline(begun + within), options);
  comparing.start();
  while (!comparing.done()) {
    loop.run_one_for(look_every);
    loop.restart();
    const auto so_far = std::chrono::duration_cast<std::chrono::seconds>(original.now() - begun);
    progress.show("Comparing: " + std::to_string(so_far.count()) + " s");
  }
  progress.end();
  const auto found = comparing.take();
  if (!found)
    return trouble(t, "Error comparing: " + text_of(found.error(), original, copy));
  if (o.json())
    t.out << pretty(as_json(*found, both.prefix));
  else
    t.out << shown(*found, both.prefix);
  return found->empty() ? 0 : differ;
}

} // namespace

std::vector<command> diff_commands() {
  using enum flag_kind;
  return {
      {.name = "diff",
       .help = "Compare the keys of two servers",
       .operands = "ORIGINAL COPY [PREFIX [COPY_PREFIX]]",
       .text = "Prints a line for each key under PREFIX whose value or flags differ, with its name in the original:\n"
               "MissingDelete (the copy has a key that the original does not have), PhantomUndelete (the copy lacks\n"
               "a key), OtherValue, NotComparable (the name is not UTF-8, so that no list of keys can contain it).\n"
               "It compares twice: a difference that is gone after -settle was a change in transit. ORIGINAL and\n"
               "COPY are servers, in the form of -http-addr. They may be servers of Consul, and they may be the same\n"
               "server with two prefixes. -token and its variables apply to the original only.\n\n"
               "Exit code: 0: no differences. 1: differences. 2: the comparison failed.",
       .asks = reach::two,
       .flags = {{"settle", duration, "<duration>", "time between the two comparisons (default 1s)"},
                 {"timeout", duration, "<duration>", "time after which the command gives up (default 1m)"}},
       .examples = {{"diff 10.0.0.1:8500 10.1.0.1:8500 app/", "Print what differs under app/ in the other cluster"},
                    {"diff localhost:8500 localhost:8500 app/ backup/app/", "Compare two prefixes on one server"},
                    {"diff -format=json -settle=10s old:8500 new:8500",
                     "Compare all keys, and print the result as JSON"}},
       .failed = in_trouble,
       .run = diff_command},
  };
}

} // namespace belay::cli
