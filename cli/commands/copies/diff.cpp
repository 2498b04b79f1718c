// `belay diff`: compares the keys of two servers with the client library.

#include "cli/commands/all.hpp"
#include "cli/commands/copies/places.hpp"
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
  const auto places = places_of(o, false, t);
  const auto settle = o.duration("settle", 1s), within = o.duration("timeout", 60s);
  if (settle < 0s || within <= 0s)
    return trouble(t, "The times of -settle and -timeout must be positive");
  const auto servers = o.clients(places.original, places.copy, t);
  progress_line progress(t.out, t.screen && !o.json());
  boost::asio::io_context loop;
  command_world original(loop, servers.first.target(), {}), copy(loop, servers.second.target(), {});
  v0::diff_options options;
  options.settle = std::chrono::ceil<std::chrono::milliseconds>(settle);
  const auto begun = original.now();
  auto comparing = v0::diff(original, places.prefix, copy, places.copy_prefix, v0::patience(begun + within), options);
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
    return trouble(t, "Error comparing: " + text_of(found.why(), original, copy));
  if (o.json())
    t.out << pretty(as_json(*found, places.prefix));
  else
    t.out << shown(*found, places.prefix);
  return found->empty() ? 0 : differ;
}

} // namespace

std::vector<command> diff_commands() {
  using enum flag_kind;
  return {
      {.name = "diff",
       .help = "Compares the keys of two servers",
       .operands = "ORIGINAL COPY [PREFIX [COPY_PREFIX]]",
       .text = "Prints a line for each key below PREFIX whose value or flags differ, named as in the original:\n"
               "MissingDelete (the copy has a key that the original has not), PhantomUndelete (the copy lacks one), "
               "OtherValue,\n"
               "NotComparable (its name is not UTF-8, and no list of keys can name it). It looks twice:\n"
               "a difference that is gone after -settle was one on its way. ORIGINAL and COPY are servers, as for "
               "-http-addr; also of Consul, and\n"
               "also the same one twice, with two prefixes. -token and its variables are for the original alone.\n"
               "\n"
               "Exit code: 0 there is no difference, 1 there are some, 2 it could not be found out.",
       .asks = reach::two,
       .flags = {{"settle", duration, "<duration>", "time between the two looks (default 1s)"},
                 {"timeout", duration, "<duration>", "give up after so long (default 1m)"}},
       .examples = {{"diff 10.0.0.1:8500 10.1.0.1:8500 app/", "What the other cluster has otherwise below app/"},
                    {"diff localhost:8500 localhost:8500 app/ backup/app/", "Two places on one server"},
                    {"diff -format=json -settle=10s old:8500 new:8500", "All keys, for programs"}},
       .failed = in_trouble,
       .run = diff_command},
  };
}

} // namespace belay::cli
