// `belay outcome get|seal`: shows or settles the outcome of a write with an idempotency key.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string lines_of(const json::object& outcome) {
  std::string text;
  const auto add = [&](std::string_view name) {
    const auto* v = outcome.if_contains(name);
    if (v == nullptr)
      return;
    text.append(name).append(": ");
    text += v->is_string() ? std::string(v->get_string()) : json::serialize(*v);
    text += '\n';
  };
  for (const auto* name : {"State", "Index", "Status", "Reason", "Body"})
    add(name);
  return text;
}

int ask_for_outcome(const options& o, terminal t, std::string_view method) {
  if (o.words().size() != 1)
    return error(t, "Error! Exactly one idempotency key is required");
  const auto& key = o.words()[0];
  const auto client = o.client(t);
  const auto answer = client.ask(method, "/v1/outcome/" + go_compat::escape_path(key), o.query());
  if (answer && answer->status == 404)
    return error(t, "Error! There is no outcome of a write with the idempotency key " + key);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error querying agent: " + complaint);
  boost::system::error_code ec;
  const auto outcome = json::parse(answer->body, ec);
  if (ec || !outcome.is_object())
    return error(t, "Error querying agent: the response is not an outcome");
  t.out << (o.json() ? pretty(outcome) : lines_of(outcome.get_object()));
  return 0;
}

int outcome_get(const options& o, terminal t) {
  return ask_for_outcome(o, t, "GET");
}
int outcome_seal(const options& o, terminal t) {
  return ask_for_outcome(o, t, "DELETE");
}

} // namespace

std::vector<command> outcome_commands() {
  return {
      {.name = "outcome get",
       .help = "Show the outcome of a write with an idempotency key",
       .operands = "KEY",
       .text = "Outcomes are kept for ten minutes. Without an outcome the write has not taken effect yet; it may\n"
               "still do so.",
       .examples = {{"outcome get order-4711", "Print the response to the write"},
                    {"outcome get -format=json order-4711", "Print it as JSON"}},
       .run = outcome_get},
      {.name = "outcome seal",
       .help = "Settle a write: show its outcome, or make sure that it never takes effect",
       .operands = "KEY",
       .text =
           "The state is `done` or `void`. A void write has not taken effect, and never will. Run this within five\n"
           "minutes after the write was first sent.",
       .examples = {{"outcome seal order-4711", "Turn an unknown outcome into a known one"},
                    {"outcome seal -format=json order-4711", "Print it as JSON"}},
       .run = outcome_seal},
  };
}

} // namespace belay::cli
