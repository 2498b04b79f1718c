// `belay snapshot inspect|restore|save`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "cli/snapshots/snapshot_file.hpp"

#include <fstream>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

/// The operand FILE.
std::string snapshot_path(const options& o, terminal t) {
  if (o.words().size() == 1)
    return o.words()[0];
  throw command_ended{error(t, o.words().empty()
                                   ? "Missing FILE argument"
                                   : "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")")};
}

int save_snapshot(const options& o, terminal t) {
  const auto path = snapshot_path(o, t);
  const auto client = o.client(t);
  unverified_file file(path);
  if (!file.complaint().empty())
    return error(t, "Error writing unverified snapshot file: " + file.complaint());
  const auto answer =
      client.ask({.method = "GET", .path = "/v1/snapshot", .query = o.query(), .sink = [&](std::string_view piece) {
                    return file.append(piece);
                  }});
  if (!file.complaint().empty())
    return error(t, "Error writing unverified snapshot file: " + file.complaint());
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error saving snapshot: " + complaint);
  const auto facts = value_of(file.put_in_place(), t, "");
  const auto index = answer->number("x-consul-index").value_or(facts.index);
  return succeed(o, t, "Saved and verified snapshot to index " + std::to_string(index),
                 {{"File", path}, {"Index", index}, {"Bytes", facts.size}});
}

int restore_snapshot(const options& o, terminal t) {
  const auto path = snapshot_path(o, t);
  const auto client = o.client(t);
  if (const auto facts = verify_snapshot(path); !facts && facts.error().starts_with("Error opening"))
    return error(t, facts.error()); // the server reports all other errors of the archive
  answer_of(client.ask({.method = "PUT", .path = "/v1/snapshot", .query = o.write_query(), .body_file = path}), t,
            "Error restoring snapshot: ");
  return succeed(o, t, "Restored snapshot", {{"File", path}});
}

int inspect_snapshot(const options& o, terminal t) {
  const auto path = snapshot_path(o, t);
  const auto facts = value_of(verify_snapshot(path), t, "");
  if (o.json())
    t.out << pretty(json::object{{"ID", facts.id},
                                 {"Size", facts.size},
                                 {"Index", facts.index},
                                 {"Term", facts.term},
                                 {"Version", facts.version}});
  else
    t.out << table({{"ID", facts.id},
                    {"Size", std::to_string(facts.size)},
                    {"Index", std::to_string(facts.index)},
                    {"Term", std::to_string(facts.term)},
                    {"Version", std::to_string(facts.version)}},
                   6)
          << "\n";
  return 0;
}

} // namespace

std::vector<command> snapshot_commands() {
  return {
      {.name = "snapshot inspect",
       .help = "Check an archive and show its metadata",
       .operands = "FILE",
       .asks = reach::nothing,
       .examples = {{"snapshot inspect backup.snap", "Print ID, index, term and size, if all checksums are right"},
                    {"snapshot inspect -format=json backup.snap", "Print it as JSON"}},
       .run = inspect_snapshot},
      {.name = "snapshot restore",
       .help = "Restore the cluster from a snapshot (replaces all data)",
       .operands = "FILE",
       .text = "A damaged archive changes nothing. Consul cannot read archives of Belay, nor Belay those of Consul.",
       .examples = {{"snapshot restore backup.snap", "Restore all data"},
                    {"snapshot restore -token-file=management backup.snap", "Restore into a cluster with ACLs"}},
       .run = restore_snapshot},
      {.name = "snapshot save",
       .help = "Save a snapshot of all data in an archive",
       .operands = "FILE",
       .text = "FILE appears once it is complete and its checksums are verified.",
       .examples = {{"snapshot save backup.snap", "Save everything written before the command"},
                    {"snapshot save -stale backup.snap", "Save the data of this server; works without a leader"}},
       .run = save_snapshot},
  };
}

} // namespace belay::cli
