// `belay event`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/regular_expression.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace {

int event(const options& o, terminal t) {
  const auto name = o.value("name");
  if (name.empty())
    return o.wrong_usage(t, "Event name must be specified");
  if (o.words().size() > 1)
    return o.wrong_usage(t, "Too many command line arguments.");
  if (!o.value("tag").empty() && o.value("service").empty())
    return o.wrong_usage(t, "Cannot provide tag filter without service filter.");
  api_query query;
  for (const auto* filter : {"node", "service", "tag"}) {
    const auto text = o.value(filter);
    if (text.empty())
      continue;
    if (const auto compiled = go_compat::regular_expression::compile(text); !compiled)
      return error(t, "Failed to compile " + std::string(filter) +
                          " filter regexp: error parsing regexp: " + compiled.error());
    query.add(filter, text);
  }
  const auto client = o.client(t);
  const auto answer = answer_of(
      client.ask("PUT", "/v1/event/fire/" + go_compat::escape_path(name), query, o.words().empty() ? "" : o.words()[0]),
      t, "Error firing event: ");
  boost::system::error_code ec;
  const auto fired = boost::json::parse(answer.body, ec);
  if (ec)
    return error(t, "Error firing event: the response is not JSON: " + ec.message());
  t.out << (o.json() ? pretty(fired) : "Event ID: " + member_text(fired, "ID") + "\n");
  return 0;
}

} // namespace

std::vector<command> event_commands() {
  using enum flag_kind;
  return {
      {.name = "event",
       .help = "Fire a user event",
       .operands = "[PAYLOAD]",
       .text = "An event reaches the running nodes and their watches, and is not stored. The expressions select nodes.",
       .asks = reach::agent,
       .flags = {{"name", text, "<name>", "name of the event; required"},
                 {"node", text, "<regexp>", "only nodes whose name matches"},
                 {"service", text, "<regexp>", "only nodes with a service whose name matches"},
                 {"tag", text, "<regexp>", "with -service: only nodes where a tag of that service matches"}},
       .examples = {{"event -name=deploy 1.4.2", "Send an event to all nodes"},
                    {"event -name=reload -service=^web$", "Send an event to the nodes with the service web"}},
       .run = event}};
}

} // namespace belay::cli
