// `belay watch`: runs blocking queries, and a command for each change. Requests and output are
// those of `consul watch`.

#include "cli/api/api_client.hpp"
#include "cli/api/bell.hpp"
#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/commands/watching/change_feed.hpp"
#include "cli/commands/watching/watch_handler.hpp"
#include "cli/output/json_text.hpp"
#include "cli/process/long_run.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <ostream>

namespace belay::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds first_pause = 5s, longest_pause = 180s; // after errors, as in Consul
constexpr auto query_limit = 11min; // servers wait 10 minutes and up to a sixteenth longer

/// The query that is repeated.
struct watch_query {
  std::string path;
  api_query query;
  enum class kind { plain, key, prefix, event } of = kind::plain;
};

/// Consul's index of an event: the two halves of its ID, combined by XOR.
std::uint64_t index_of_event(const std::string& id) {
  std::uint64_t halves[2] = {0, 0};
  std::size_t digits = 0;
  for (const char c : id) {
    const auto at = std::string_view("0123456789abcdef").find(c);
    if (at == std::string_view::npos || digits == 32)
      continue;
    auto& half = halves[digits++ / 16];
    half = half * 16 + at;
  }
  return halves[0] ^ halves[1];
}

/// A row of /v1/kv with its members in the order of Consul's clients.
json::value key_as_received(const json::value& row) {
  json::object out;
  for (const auto* name : {"Key", "CreateIndex", "ModifyIndex", "LockIndex", "Flags", "Value"})
    out.emplace(name, member(row, name) ? *member(row, name) : json::value());
  out.emplace("Session", member_text(row, "Session"));
  return out;
}

class watch_run final : public long_run {
public:
  watch_run(asio::io_context& loop, const api_client& client, watch_query what, std::string kind,
            std::vector<std::string> words, bool shell, terminal t)
      : long_run(loop), connection_(loop, client.target()), what_(std::move(what)), kind_(std::move(kind)),
        terminal_(t), bell_(loop.get_executor()), handler_(loop.get_executor(), std::move(words), shell, t) {}

private:
  void stop(int signal) override {
    handler_.stop(signal);
    connection_.close();
    bell_.ring();
  }

  asio::awaitable<int> all() override {
    std::uint64_t index = 0;
    std::size_t errors = 0;
    std::optional<json::value> last;
    while (!stopped_) {
      api_request get{.method = "GET", .path = what_.path, .query = what_.query};
      if (index != 0)
        get.query.add("index", std::to_string(index));
      get.limit = query_limit;
      auto answer = co_await connection_.ask(std::move(get));
      if (stopped_)
        break;
      boost::system::error_code ec;
      json::value data;
      auto complaint = answer && answer->status == 404 && what_.of != watch_query::kind::event
                           ? std::string()
                           : complaint_about(answer);
      if (complaint.empty() && answer->found())
        data = json::parse(answer->body, ec);
      if (ec)
        complaint = "the response is not JSON: " + ec.message();
      if (!complaint.empty()) {
        ++errors;
        const auto pause =
            std::min(first_pause * static_cast<int>(std::min<std::size_t>(errors * errors, 100)), longest_pause);
        error(terminal_, "Watch (type: " + kind_ + ") errored: " + complaint + ", retry in " +
                             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(pause).count()) + "s");
        index = 0;
        co_await bell_.wait(pause);
        continue;
      }
      errors = 0;
      const auto now = answer->number("x-consul-index").value_or(0);
      if (now == index && last) // the wait has ended without a change
        continue;
      if (what_.of == watch_query::kind::key)
        data = elements(&data).empty() ? json::value() : key_as_received(elements(&data)[0]);
      else if (what_.of == watch_query::kind::prefix && data.is_array())
        for (auto& row : data.get_array())
          row = key_as_received(row);
      if (what_.of == watch_query::kind::event)
        drop_known(data, index);
      const bool same = last && *last == data;
      index = now < index ? 0 : now;
      if (same)
        continue;
      last = data;
      if (!handler_.given()) {
        terminal_.out << pretty(data);
        co_return 0;
      }
      watch_handler::variables added = {{"CONSUL_INDEX", std::to_string(now)}};
      const bool well = co_await handler_.run(compact(data) + "\n", std::move(added));
      if (!well)
        co_return 1;
    }
    co_return 0;
  }

  /// Removes the events up to the one with this index.
  static void drop_known(json::value& data, std::uint64_t index) {
    if (!data.is_array())
      return;
    auto& events = data.get_array();
    for (std::size_t i = 0; i < events.size(); ++i)
      if (index != 0 && index_of_event(member_text(events[i], "ID")) == index) {
        events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return;
      }
  }

  api_connection connection_;
  watch_query what_;
  std::string kind_;
  terminal terminal_;
  bell bell_;
  watch_handler handler_;
};

/// The query that the options describe. The failure reads as in Consul.
result<watch_query> query_of(const options& o, const std::string& kind) {
  using enum watch_query::kind;
  watch_query q;
  q.query = o.query();
  const auto service = o.value("service"), state = o.value("state");
  if (kind == "key") {
    if (o.value("key").empty())
      return failure{"Must specify a single key to watch"};
    q.path = "/v1/kv/" + go_compat::escape_path(without_leading_slash(o.value("key")));
    q.of = key;
  } else if (kind == "keyprefix") {
    if (o.value("prefix").empty())
      return failure{"Must specify a single prefix to watch"};
    q.path = "/v1/kv/" + go_compat::escape_path(without_leading_slash(o.value("prefix")));
    q.query.add("recurse");
    q.of = prefix;
  } else if (kind == "services") {
    q.path = "/v1/catalog/services";
  } else if (kind == "nodes") {
    q.path = "/v1/catalog/nodes";
  } else if (kind == "service") {
    if (service.empty())
      return failure{"Must specify a single service to watch"};
    q.path = "/v1/health/service/" + go_compat::escape_path(service);
    for (const auto& tag : o.values("tag"))
      q.query.add("tag", tag);
    if (o.value("passingonly") == "true")
      q.query.add("passing", "1");
  } else if (kind == "checks") {
    if (!service.empty() && !state.empty())
      return failure{"Cannot specify service and state"};
    q.path = service.empty() ? "/v1/health/state/" + (state.empty() ? "any" : state)
                             : "/v1/health/checks/" + go_compat::escape_path(service);
  } else if (kind == "event") {
    q.path = "/v1/event/list";
    q.query = {};
    if (!o.value("name").empty())
      q.query.add("name", o.value("name"));
    q.of = event;
  } else {
    return failure{"Unsupported watch type: " + kind};
  }
  return q;
}

/// The given flags that select what to watch and belong to another type. They are rejected, as they
/// would have no effect.
std::string flags_of_other_types(const options& o, std::string_view kind) {
  static constexpr std::pair<std::string_view, std::string_view> types_of_flags[] = {
      {"key", "key"},         {"name", "event"},     {"passingonly", "service"}, {"prefix", "keyprefix"},
      {"service", "service"}, {"service", "checks"}, {"state", "checks"},        {"tag", "service"},
  };
  std::string others;
  for (const auto flag : {"key", "name", "passingonly", "prefix", "service", "state", "tag"})
    if (o.given(flag) && std::none_of(std::begin(types_of_flags), std::end(types_of_flags), [&](const auto& each) {
          return each == std::pair(std::string_view(flag), kind);
        }))
      others += (others.empty() ? "" : " ") + std::string(flag);
  return others;
}

int watch(const options& o, terminal t) {
  if (o.on("changes"))
    return follow_changes(o, t);
  for (const auto* other : {"cursor-file", "group", "retry", "snapshot", "tries"})
    if (o.given(other))
      return o.wrong_usage(t, std::string("-") + other + " requires -changes");
  const auto kind = o.value("type");
  if (kind.empty())
    return o.wrong_usage(t, "Watch type must be specified");
  auto what = value_of(query_of(o, kind), t, "");
  if (const auto others = flags_of_other_types(o, kind); !others.empty()) // text of Consul
    return error(t, "Invalid parameters: [" + others + "]");
  const auto client = o.client(t);
  answer_of(client.ask("GET", "/v1/status/leader", {}), t, "Error querying Consul agent: ");
  asio::io_context loop;
  return watch_run(loop, client, std::move(what), kind, o.words(), o.on_by_default("shell"), t).run();
}

} // namespace

std::vector<command> watch_commands() {
  using enum flag_kind;
  return {
      {.name = "watch",
       .help = "Wait for changes, and run a command for each",
       .operands = "[COMMAND...]",
       .text =
           "The command gets the present data as JSON on its standard input, and the index in CONSUL_INDEX. It\n"
           "runs once at the start and again after each change, never twice at a time; changes while it runs are\n"
           "combined. If it fails, the watch ends with 1. Without a command, the watch prints the present data\n"
           "and ends.\n\n"
           "With -changes the watch delivers each change of a key under -prefix, once and in order, as one line\n"
           "of JSON (docs/reference/changes.md). The command runs once for each change, with its cursor in\n"
           "BELAY_CURSOR; without a command the lines go to the standard output. If -cursor-file names a file,\n"
           "the watch stores the cursor there after each change, so that the next watch also delivers the changes\n"
           "in between. If the command fails for a change, the next watch delivers that change again. If the server\n"
           "no longer has the changes after the cursor, the watch sends a line with the event gap, followed by\n"
           "the present keys.\n\n"
           "With -group several watches, on any machines, process the changes together: one of them at a time\n"
           "runs the command, and another one continues if it dies. A change is acknowledged when the command\n"
           "succeeds. If the command fails, is killed, or dies with its machine, the change is redelivered, up\n"
           "to -tries times (BELAY_TRIES), and then stored in a key under NAME/dead/. A new group, or one whose\n"
           "changes the server no longer has, starts with a line with the event snapshot and the present keys,\n"
           "all for one run of the command. BELAY_LOCK_FENCE is the fencing token of the member. The group\n"
           "stores its cursor in the key NAME/.state. On Consul it gets only snapshots.",
       .formats = false,
       .flags = {{"changes", toggle, "", "deliver each change of a key under -prefix"},
                 {"cursor-file", text, "<file>", "file that stores the cursor, to continue there; for -changes"},
                 {"group", text, "<name>", "name of a group whose members process -changes together"},
                 {"key", text, "<key>", "key to watch; for the type key"},
                 {"name", text, "<name>", "name of the events; for the type event"},
                 {"passingonly", text, "true|false", "only instances whose checks all pass; for the type service"},
                 {"prefix", text, "<prefix>", "prefix of the keys to watch; for the type keyprefix, and for -changes"},
                 {"retry", duration, "<duration>",
                  "delay before a failed change is redelivered; for -group (default 30s)"},
                 {"service", text, "<name>", "service to watch; for the types service and checks"},
                 {"shell", toggle, "", "run the command with $SHELL or /bin/sh; -shell=false runs it directly"},
                 {"snapshot", toggle, "", "start with the present keys; for -changes without a cursor"},
                 {"state", text, "any|passing|warning|critical", "only checks in this state; for the type checks"},
                 {"tag", list, "<tag>", "only instances with this tag; for the type service"},
                 {"tries", unsigned_number, "<number>",
                  "number of deliveries before a change is stored in a dead-letter key; for -group (default 5)"},
                 {"type", text, "<type>",
                  "key, keyprefix, services, nodes, service, checks or event; required without -changes"}},
       .examples = {{"watch -type=key -key=app/config ./reload", "Run ./reload when the key changes"},
                    {"watch -changes -prefix=orders/ -cursor-file=/var/lib/mail/cursor ./mail",
                     "Run ./mail for each change, including those since the last run"},
                    {"watch -changes -prefix=orders/ -group=mailers ./mail",
                     "Share the changes among several machines: each is delivered until it is done"},
                    {"watch -type=service -service=web -passingonly=true",
                     "Print the present healthy instances of the service"}},
       .run = watch}};
}

} // namespace belay::cli
