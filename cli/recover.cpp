// `belay operator raft recover`: on the disk of a stopped server, not over HTTP.

#include "actors/node/recovery.hpp"
#include "cli/options.hpp"

#include <istream>
#include <ostream>

namespace belay::cli {

namespace {

bool answers(terminal t, const std::string& question, const std::string& expected) {
  t.out << question << std::flush;
  std::string line;
  return std::getline(t.in, line) && line == expected;
}

} // namespace

int raft_recover(const arguments& args, terminal t) {
  options o("operator raft recover -data-dir=DIR [options]", {"yes"}, {"data-dir"});
  if (auto code = o.parse(args, t))
    return *code;
  if (!o.given("data-dir"))
    return error(t, "The data directory of a stopped server is required: -data-dir=DIR");
  auto found = actors::recovery::open(o.value("data-dir"));
  if (!found)
    return error(t, "Error recovering: " + found.error());
  const auto& name = found->self().name;
  t.out << "Server " << name << " at " << found->self().address << ", log up to index "
        << to_string(found->last_index()) << ", was one of:\n";
  for (const auto& m : found->before().members)
    t.out << "  " << m.name << " at " << m.address << "\n";
  t.out << "It becomes the only member of a new cluster. What the others acknowledged and it does not have is lost, "
           "and what\n"
           "is in its log counts as written even if nobody was told so. The others can never come back with their "
           "data: they\n"
           "are refused, and start again with empty data directories.\n";
  if (!o.on("yes") && (!answers(t, "Have all other servers been stopped for good? Type their number: ",
                                std::to_string(found->before().members.size() - 1)) ||
                       !answers(t, "Type the name of this server to go on: ", name)))
    return error(t, "Nothing was changed");
  if (auto s = found->carry_out(); !s)
    return error(t, "Error recovering: " + s.error());
  t.out << "Recovered. Start this server, then the others with empty data directories, and add each:\n"
           "  belay operator raft add-peer -address=HOST:PORT\n";
  return 0;
}

} // namespace belay::cli
