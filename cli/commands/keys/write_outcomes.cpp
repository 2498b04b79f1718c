// `belay outcome get|cancel`: shows or settles the outcome of a write with an idempotency key.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/base/renamed_names.hpp"
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

/// The key that the command is about; without exactly one, it prints an error and ends the command.
const std::string& key_of(const options& o, terminal t) {
  if (o.words().size() != 1)
    throw command_ended{error(t, "Error! Exactly one idempotency key is required")};
  return o.words()[0];
}

int show_write(const options& o, terminal t, const result<api_answer>& answer) {
  const auto& key = o.words()[0];
  if (answer && answer->status == 404)
    return error(t, "Error! There is no outcome of a write with the idempotency key " + key);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error querying agent: " + complaint);
  boost::system::error_code ec;
  auto outcome = json::parse(answer->body, ec);
  if (ec || !outcome.is_object())
    return error(t, "Error querying agent: the response is not an outcome");
  if (auto* state = outcome.get_object().if_contains("State"); state != nullptr && state->is_string())
    *state = json::string(present_value(state->get_string())); // servers of 0.2.0 have another word
  t.out << (o.json() ? pretty(outcome) : lines_of(outcome.get_object()));
  return 0;
}

int outcome_get(const options& o, terminal t) {
  const auto path = "/v1/outcome/" + go_compat::escape_path(key_of(o, t));
  return show_write(o, t, o.client(t).ask("GET", path, o.query()));
}

int outcome_cancel(const options& o, terminal t) {
  const auto path = "/v1/outcome/" + go_compat::escape_path(key_of(o, t));
  const auto client = o.client(t);
  auto answer = client.ask("PUT", path + "/cancel", o.query());
  if (answer && answer->status == 405) // a server of 0.2.0
    answer = client.ask("DELETE", path, o.query());
  return show_write(o, t, answer);
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
      {.name = "outcome cancel",
       .help = "Settle a write: show its outcome, or make sure that it never takes effect",
       .operands = "KEY",
       .text = "The state is `done` or `cancelled`. A cancelled write has not taken effect, and never will. Run this\n"
               "within five minutes after the write was first sent.",
       .examples = {{"outcome cancel order-4711", "Turn an unknown outcome into a known one"},
                    {"outcome cancel -format=json order-4711", "Print it as JSON"}},
       .run = outcome_cancel},
  };
}

} // namespace belay::cli
