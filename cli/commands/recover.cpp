// `belay operator raft recover`: changes the data directory of a stopped server, without HTTP.

#include "actors/node/disk/recovery.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/flags/options.hpp"

#include <istream>
#include <ostream>

namespace belay::cli {

namespace {

bool answers(terminal t, const std::string& question, const std::string& expected) {
  t.out << question << std::flush;
  std::string line;
  return std::getline(t.in, line) && line == expected;
}

int raft_recover(const options& o, terminal t) {
  if (!o.given("data-dir"))
    return error(t, "-data-dir=DIR is required: the data directory of a stopped server");
  auto found = value_of(actors::recovery::open(o.value("data-dir")), t, "Error recovering: ");
  const auto& name = found.self().name;
  t.out << "Server " << name << " at " << found.self().address << ", log up to index " << to_string(found.last_index())
        << ", was one of:\n";
  for (const auto& m : found.before().members)
    t.out << "  " << m.name << " at " << m.address << "\n";
  t.out << "It becomes the only member of a new cluster. Writes that other servers acknowledged and that it does not "
           "have are\n"
           "lost. Entries of its log become committed, even if no client was informed. The other servers can never "
           "return with\n"
           "their data: they are rejected, and must start with empty data directories.\n";
  if (!o.on("yes") && (!answers(t, "Are all other servers stopped for good? Type their number: ",
                                std::to_string(found.before().members.size() - 1)) ||
                       !answers(t, "Type the name of this server to continue: ", name)))
    return error(t, "Nothing was changed");
  if (auto s = found.carry_out(); !s)
    return error(t, "Error recovering: " + s.error());
  t.out << "Recovered. Start this server, then the others with empty data directories, and add each:\n"
           "  belay operator raft add-peer -address=HOST:PORT\n";
  return 0;
}

} // namespace

std::vector<command> recover_commands() {
  using enum flag_kind;
  return {
      {.name = "operator raft recover",
       .help = "Recover from a lost majority: turn a stopped server into a one-server cluster",
       .text = "Works on the data directory, not over HTTP. Asks for confirmation before it changes anything.",
       .asks = reach::nothing,
       .formats = false,
       .flags = {{"data-dir", text, "<folder>", "data directory of the stopped server"},
                 {"yes", toggle, "", "do not ask for confirmation"}},
       .examples = {{"operator raft recover -data-dir=/var/lib/belay",
                     "Show what would be lost, and ask for confirmation"},
                    {"operator raft recover -data-dir=/var/lib/belay -yes", "Do it in a script, without confirmation"}},
       .run = raft_recover}};
}

} // namespace belay::cli
