// `belay watch`: blocking queries, and a command for each change. Requests and answers as those of `consul watch`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/locks/session_lease.hpp"
#include "cli/output/json_text.hpp"
#include "cli/process/guarded_child.hpp"
#include "protocol/golang/base64.hpp"
#include "protocol/golang/url.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ostream>
#include <unistd.h>

namespace belay::cli {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds first_pause = 5s, longest_pause = 180s; // after errors, as Consul's
constexpr auto query_limit = 11min; // servers answer after 10 minutes at the latest, and up to a sixteenth of it more

/// What is asked, again and again.
struct watch_query {
  std::string path;
  api_query query;
  enum class kind { plain, key, prefix, event } of = kind::plain;
};

/// Consul's number for an event: the two halves of its ID, one upon the other.
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
json::value key_as_told(const json::value& row) {
  json::object out;
  for (const auto* name : {"Key", "CreateIndex", "ModifyIndex", "LockIndex", "Flags", "Value"})
    out.emplace(name, member(row, name) ? *member(row, name) : json::value());
  out.emplace("Session", member_text(row, "Session"));
  return out;
}

class watch_run {
public:
  watch_run(asio::io_context& loop, const api_client& client, watch_query what, std::string kind,
            std::vector<std::string> words, bool shell, terminal t)
      : loop_(loop), connection_(loop.get_executor(), client.target()), what_(std::move(what)), kind_(std::move(kind)),
        words_(std::move(words)), shell_(shell), terminal_(t), signals_(loop, SIGINT, SIGTERM),
        bell_(loop.get_executor()) {}

  int run() {
    int code = 1;
    signals_.async_wait([this](const boost::system::error_code& ec, int number) {
      if (ec)
        return;
      stopped_ = true;
      if (child_)
        child_->signal(number);
      connection_.close();
      bell_.ring();
    });
    asio::co_spawn(
        loop_,
        [](watch_run& self, int& out) -> asio::awaitable<void> {
          out = co_await self.all();
          self.signals_.cancel();
        }(*this, code),
        asio::detached);
    loop_.run();
    return code;
  }

private:
  asio::awaitable<int> all() {
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
        complaint = "the answer is not JSON: " + ec.message();
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
      if (now == index && last) // the wait is over, and nothing has changed
        continue;
      if (what_.of == watch_query::kind::key)
        data = elements(&data).empty() ? json::value() : key_as_told(elements(&data)[0]);
      else if (what_.of == watch_query::kind::prefix && data.is_array())
        for (auto& row : data.get_array())
          row = key_as_told(row);
      if (what_.of == watch_query::kind::event)
        drop_known(data, index);
      const bool same = last && *last == data;
      index = now < index ? 0 : now;
      if (same)
        continue;
      last = data;
      if (words_.empty()) {
        terminal_.out << pretty(data);
        co_return 0;
      }
      if (!co_await hand_over(data, now))
        co_return 1;
    }
    co_return 0;
  }

  /// Removes the events up to the one that `index` stands for.
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

  /// Runs the command with `data` at its standard input. @returns false after a complaint
  asio::awaitable<bool> hand_over(const json::value& data, std::uint64_t index) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
    const auto text = compact(data) + "\n";
    if (!input || std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() ||
        std::fflush(input.get()) != 0 || ::lseek(fileno(input.get()), 0, SEEK_SET) != 0) {
      error(terminal_, "Error executing handler: its input cannot be written to the temporary folder");
      co_return false;
    }
    child_plan plan;
    plan.argv = command_line(words_, shell_);
    plan.environment = {{"CONSUL_INDEX", std::to_string(index)}};
    plan.stdin_fd = fileno(input.get());
    auto started = guarded_child::start(loop_.get_executor(), plan);
    if (!started) {
      error(terminal_, "Error starting handler: " + started.error());
      co_return false;
    }
    child_ = std::move(*started);
    const auto end = co_await child_->ended();
    child_.reset();
    if (end.well() || stopped_)
      co_return true;
    error(terminal_, "Error executing handler: " + end.text());
    co_return false;
  }

  asio::io_context& loop_;
  api_connection connection_;
  watch_query what_;
  std::string kind_;
  std::vector<std::string> words_;
  bool shell_;
  terminal terminal_;
  asio::signal_set signals_;
  bell bell_;
  std::unique_ptr<guarded_child> child_;
  bool stopped_ = false;
};

/// What the options ask for. The failure reads like Consul's.
result<watch_query> query_of(const options& o, const std::string& kind) {
  using enum watch_query::kind;
  watch_query q;
  q.query = o.query();
  const auto service = o.value("service"), state = o.value("state");
  if (kind == "key") {
    if (o.value("key").empty())
      return failure{"Must specify a single key to watch"};
    q.path = "/v1/kv/" + golang::escape_path(without_leading_slash(o.value("key")));
    q.of = key;
  } else if (kind == "keyprefix") {
    if (o.value("prefix").empty())
      return failure{"Must specify a single prefix to watch"};
    q.path = "/v1/kv/" + golang::escape_path(without_leading_slash(o.value("prefix")));
    q.query.add("recurse");
    q.of = prefix;
  } else if (kind == "services") {
    q.path = "/v1/catalog/services";
  } else if (kind == "nodes") {
    q.path = "/v1/catalog/nodes";
  } else if (kind == "service") {
    if (service.empty())
      return failure{"Must specify a single service to watch"};
    q.path = "/v1/health/service/" + golang::escape_path(service);
    for (const auto& tag : o.values("tag"))
      q.query.add("tag", tag);
    if (o.value("passingonly") == "true")
      q.query.add("passing", "1");
  } else if (kind == "checks") {
    if (!service.empty() && !state.empty())
      return failure{"Cannot specify service and state"};
    q.path = service.empty() ? "/v1/health/state/" + (state.empty() ? "any" : state)
                             : "/v1/health/checks/" + golang::escape_path(service);
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

int watch(const options& o, terminal t) {
  const auto kind = o.value("type");
  if (kind.empty())
    return o.wrong_usage(t, "Watch type must be specified");
  auto what = query_of(o, kind);
  if (!what)
    return error(t, what.error());
  const auto client = o.client(t);
  if (!client)
    return 1;
  if (const auto complaint = complaint_about(client->ask("GET", "/v1/status/leader", {})); !complaint.empty())
    return error(t, "Error querying Consul agent: " + complaint);
  asio::io_context loop;
  return watch_run(loop, *client, std::move(*what), kind, o.words(), !o.given("shell") || o.on("shell"), t).run();
}

} // namespace

std::vector<command> watch_commands() {
  using enum flag_kind;
  return {{.name = "watch",
           .help = "Waits for changes, and runs a command for each",
           .operands = "[COMMAND...]",
           .text = "The command finds what there is now as JSON at its standard input, and the index in CONSUL_INDEX. "
                   "It runs once at the\n"
                   "beginning, then with each change, never twice at once; changes while it runs are told together. If "
                   "it fails the watch\n"
                   "ends with 1. Without a command: prints what there is now, and ends.",
           .formats = false,
           .flags = {{"key", text, "<key>", "key to watch; for the type key"},
                     {"name", text, "<name>", "name of events; for the type event"},
                     {"passingonly", text, "true|false", "only instances whose checks all pass; for the type service"},
                     {"prefix", text, "<prefix>", "keys to watch; for the type keyprefix"},
                     {"service", text, "<name>", "service to watch; for the types service and checks"},
                     {"shell", toggle, "", "run the command by $SHELL, or /bin/sh; -shell=false runs it as it is"},
                     {"state", text, "any|passing|warning|critical", "only checks in this state; for the type checks"},
                     {"tag", list, "<tag>", "only instances with this tag; for the type service"},
                     {"type", text, "<type>", "key, keyprefix, services, nodes, service, checks or event; required"}},
           .examples = {{"watch -type=key -key=app/config ./reload", "Runs ./reload when the key changes"},
                        {"watch -type=service -service=web -passingonly=true", "Prints who offers the service now"}},
           .run = watch}};
}

} // namespace belay::cli
