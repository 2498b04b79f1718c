// `belay txn`, which Consul has only in its API.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"

#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

/// The error of each failed operation, with its index.
std::string complaints(const json::value& answer) {
  std::string out;
  for (const auto& e : elements(member(answer, "Errors")))
    out += "\n  operation " + member_text(e, "OpIndex") + ": " + member_text(e, "What");
  return out;
}

std::string result_line(const json::value& one) {
  if (!one.is_object() || one.get_object().empty())
    return {};
  const auto& first = *one.get_object().begin();
  const auto kind = std::string(first.key());
  auto name = member_text(first.value(), kind == "KV"        ? "Key"
                                         : kind == "Check"   ? "CheckID"
                                         : kind == "Service" ? "ID"
                                                             : kind);
  return kind + " " + name + " (ModifyIndex " + member_text(first.value(), "ModifyIndex") + ")\n";
}

int txn(const options& o, terminal t) {
  if (o.words().size() != 1)
    return o.wrong_usage(t, o.words().empty() ? "Error! Missing DATA argument"
                                              : "Error! Too many arguments (expected 1, got " +
                                                    std::to_string(o.words().size()) + ")");
  const auto operations = value_of(value_given(o.words()[0], t.in), t, "Error! ");
  const auto client = o.client(t);
  const auto answer = value_of(client.ask("PUT", "/v1/txn", o.query(), operations), t,
                               "Error! The outcome of the transaction is unknown: ");
  boost::system::error_code ec;
  const auto response = json::parse(answer.body, ec);
  if (answer.status == 409 && !ec) {
    if (o.json())
      t.out << pretty(response);
    return error(t, "Error! The transaction was rejected and changed nothing:" + complaints(response));
  }
  if (!answer.found())
    return error(t, "Error! " + answer.complaint());
  if (ec)
    return error(t, "Error! The response is not JSON: " + ec.message());
  if (o.json()) {
    t.out << pretty(response);
    return 0;
  }
  for (const auto& one : elements(member(response, "Results")))
    t.out << result_line(one);
  t.out << "Success! The transaction took effect\n";
  return 0;
}

} // namespace

std::vector<command> txn_commands() {
  return {{.name = "txn",
           .help = "Run operations as one transaction",
           .operands = "DATA | @FILE | -",
           .text =
               "DATA is a body of /v1/txn: a JSON list of at most 64 operations, with values in base64. -format=json\n"
               "prints the results of reads. If an operation fails, nothing is changed, and the exit code is 1.",
           .examples = {{"txn "
                         "'[{\"KV\":{\"Verb\":\"set\",\"Key\":\"a\",\"Value\":\"MQ==\"}},{\"KV\":{\"Verb\":\"delete\","
                         "\"Key\":\"b\"}}]'",
                         "Write one key and delete another"},
                        {"txn -format=json @operations.json",
                         "Run the operations in a file, and print the whole response"}},
           .run = txn}};
}

} // namespace belay::cli
