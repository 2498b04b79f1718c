// `belay claims list|graph`: which sessions hold claims, and which wait for them.

#include "cli/api/api_client.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/flags/options.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/duration.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <map>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string resource_of(const json::value& row) {
  if (const auto lock = member_text(row, "Lock"); !lock.empty())
    return "lock " + lock;
  return member_is_true(row, "Redacted") ? "a redacted name" : "claim " + member_text(row, "Claim");
}

/// Text that any client may have written, made safe for a line on a screen.
std::string printable(std::string text) {
  constexpr std::size_t shown = 60;
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      c = '?';
  return text.size() <= shown ? text : text.substr(0, shown) + "...";
}

std::string length_of(const json::value& row, std::string_view name) {
  boost::system::error_code ec;
  const auto* v = member(row, name);
  if (v == nullptr || !v->is_number())
    return "-";
  const auto ms = std::chrono::milliseconds(v->to_number<std::int64_t>(ec));
  // Seconds are precise enough here.
  return go_compat::format_duration(std::chrono::duration_cast<std::chrono::seconds>(ms));
}

/// One line for each holder and waiter, in the order of the response, which is that of the queues.
/// @param whole whether all of them are in `rows`: then waiters show their position, from 1 on
std::string claims_text(const json::value& rows, bool whole) {
  std::map<std::string, std::size_t> waiting;
  std::vector<std::vector<std::string>> lines = {
      {"Name", "State", "Since", "Mode", "Permits", "Fence", "Session", "Node", "Value"}};
  for (const auto& row : elements(&rows)) {
    const bool waits = member_text(row, "State") == "waiting";
    const auto value = go_compat::decode_base64(member_text(row, "Value"));
    const auto resource = resource_of(row);
    const auto state = member_text(row, "State");
    lines.push_back({resource, waits && whole ? state + ", " + std::to_string(++waiting[resource]) : state,
                     length_of(row, waits ? "WaitingMs" : "HeldMs"), member_text(row, "Mode"),
                     member_text(row, "Permits"), waits ? "-" : member_text(row, "Fence"), member_text(row, "Session"),
                     member_text(row, "Node"), printable(value ? *value : "")});
  }
  return lines.size() == 1 ? std::string() : table(lines);
}

int list_claims(const options& o, terminal t) {
  if (o.words().size() > 1)
    return o.wrong_usage(t, "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto client = o.client(t);
  auto query = o.query();
  if (!o.words().empty())
    query.add("prefix", without_leading_slash(o.words()[0]));
  for (const auto* name : {"session", "node"})
    if (o.given(name))
      query.add(name, o.value(name));
  api_channel channel(client);
  json::array all;
  for (std::string after;;) {
    api_request get{.method = "GET", .path = "/v1/claims", .query = query};
    if (!after.empty())
      get.query.add("after", after);
    const auto answer = answer_of(channel.ask(std::move(get)), t, "Error listing claims: ");
    boost::system::error_code ec;
    const auto page = json::parse(answer.body, ec);
    if (ec)
      return error(t, "Error listing claims: the response is not JSON: " + ec.message());
    all.insert(all.end(), elements(&page).begin(), elements(&page).end());
    after = answer.header("x-belay-next");
    if (after.empty())
      break;
  }
  t.out << (o.json() ? pretty(all) : claims_text(all, !o.given("session") && !o.given("node")));
  return 0;
}

/// Quotes text for the language of Graphviz.
std::string quoted_for_dot(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

/// The session at one end of an edge. It is empty in the response if the token may not see it.
std::string session_of(const json::value& edge, std::string_view end) {
  const auto id = member_text(edge, end);
  return id.empty() ? "a redacted session" : id;
}

std::string graph_as_dot(const json::value& graph) {
  std::string out = "digraph claims {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const auto& e : elements(member(graph, "Edges"))) {
    if (member_text(e, "Session").empty() || member_text(e, "Blocker").empty())
      continue; // several of them would be drawn as one
    out += "  " + quoted_for_dot(member_text(e, "Session")) + " -> " + quoted_for_dot(member_text(e, "Blocker")) +
           " [label=" + quoted_for_dot(resource_of(e));
    out += std::string(member_is_true(e, "BlockerHolds") ? "" : ", style=dashed") + "];\n";
  }
  return out + "}\n";
}

std::string graph_as_text(const json::value& graph) {
  std::string out;
  for (const auto& e : elements(member(graph, "Edges")))
    out += session_of(e, "Session") + " waits for " + resource_of(e) +
           (member_is_true(e, "BlockerHolds") ? ", held by " : ", behind ") + session_of(e, "Blocker") + "\n";
  return out;
}

int show_graph(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto graph = value_of(client.get_json("/v1/claims/graph", o.query()), t, "Error reading the graph: ");
  t.out << (o.json() ? pretty(graph) : o.on("dot") ? graph_as_dot(graph) : graph_as_text(graph));
  return member_is_true(graph, "Truncated") ? error(t, "The graph has more than 10,000 edges: not all are shown") : 0;
}

} // namespace

std::vector<command> claims_commands() {
  using enum flag_kind;
  return {
      {.name = "claims graph",
       .help = "Show which sessions wait for which",
       .text = "Prints a line for each pair of sessions. A cycle is a deadlock; a request with deadlock=refuse is\n"
               "rejected if it would complete one.",
       .flags = {{"dot", toggle, "", "print a graph for Graphviz; dashed edges lead to sessions that wait themselves"}},
       .examples = {{"claims graph", "Print it as text"},
                    {"claims graph -dot | dot -Tsvg >claims.svg", "Draw it as a picture"}},
       .run = show_graph},
      {.name = "claims list",
       .help = "List holders and waiters of claims and of locks of keys",
       .operands = "[PREFIX]",
       .text = "Waiters are shown with their position in the queue. Locks of keys are listed if requests are queued\n"
               "for them.",
       .flags = {{"node", text, "<node>", "only claims of sessions of this node"},
                 {"session", text, "<id>", "only claims of this session"}},
       .examples = {{"claims list jobs/", "List all claims under a prefix"},
                    {"claims list -session=84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2",
                     "List what one session holds and waits for"}},
       .run = list_claims},
  };
}

} // namespace belay::cli
