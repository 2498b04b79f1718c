#include "tests/contract/transcript_run.hpp"

#include "tests/harness/base64.hpp"

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

namespace belay::contract {

using harness::http_reply;
using harness::http_request;
using harness::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds request_limit{60000};
constexpr milliseconds background_limit{700000};
/// How long a background request gets to reach the server.
constexpr milliseconds settle{150};

std::string new_tag() {
  static std::mutex guard;
  static std::random_device random;
  std::lock_guard lock(guard);
  char text[16];
  std::snprintf(text, sizeof text, "x%08x", static_cast<unsigned>(random()));
  return text;
}

milliseconds duration_in(const json::object& step, const char* field, double otherwise) {
  const auto* value = step.if_contains(field);
  return milliseconds{static_cast<long long>(1000 * (value ? value->to_number<double>() : otherwise))};
}

const json::object& expectation(const json::object& step) {
  static const json::object nothing;
  const auto* expected = step.if_contains("expect");
  return expected ? expected->as_object() : nothing;
}

std::optional<std::string> body_of(const json::object& step, const variables& env) {
  if (const auto* v = step.if_contains("json"))
    return json::serialize(fill(*v, env));
  if (const auto* v = step.if_contains("text"))
    return plain_text(fill(*v, env));
  if (const auto* v = step.if_contains("b64"))
    return harness::base64_decoded(plain_text(*v));
  if (const auto* v = step.if_contains("fill")) {
    std::string out;
    auto piece = plain_text(v->at(0));
    for (auto left = v->at(1).to_number<std::size_t>(); left; --left)
      out += piece;
    return out;
  }
  if (const auto* v = step.if_contains("saved")) {
    auto found = env.find(plain_text(*v));
    if (found == env.end())
      throw problem("nothing was saved as " + plain_text(*v));
    return plain_text(found->second);
  }
  return std::nullopt;
}

http_request request_of(const json::object& step, const variables& env) {
  auto line = fill_text(plain_text(step.at("send")), env);
  auto space = line.find(' ');
  if (space == line.npos)
    throw problem("no target in " + line);
  http_request request;
  request.method = line.substr(0, space);
  request.target = line.substr(space + 1);
  if (const auto* headers = step.if_contains("headers"))
    for (const auto& [name, value] : headers->as_object())
      request.headers.push_back({std::string(name), plain_text(fill(value, env))});
  request.body = body_of(step, env);
  request.chunked = step.contains("chunked") && step.at("chunked").as_bool();
  return request;
}

json::value digits_or_text(const std::string& text) {
  bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits && text.size() <= 19 ? json::value(std::stoull(text)) : json::value(text);
}

/// The value at a save path: header:NAME, json:A.0.B, text: or bytes:.
json::value picked(const http_reply& reply, const std::string& path) {
  auto colon = path.find(':');
  auto kind = path.substr(0, colon), rest = colon == path.npos ? "" : path.substr(colon + 1);
  if (kind == "bytes" || kind == "text")
    return json::value(reply.body);
  if (kind != "header" && kind != "json")
    throw problem("bad save path " + path);
  try {
    if (kind == "header") {
      const auto* value = reply.header(rest);
      if (!value)
        throw problem("no such header");
      return digits_or_text(*value);
    }
    json::value at = parse_json(reply.body);
    for (std::size_t from = 0; from < rest.size();) {
      auto dot = std::min(rest.find('.', from), rest.size());
      auto part = rest.substr(from, dot - from);
      if (!part.empty())
        at = json::value(at.is_array() ? at.as_array().at(std::stoull(part)) : at.as_object().at(part));
      from = dot + 1;
    }
    return at;
  } catch (const std::exception&) {
    throw problem("nothing at " + path + " to save (status " + std::to_string(reply.status) + ", body " +
                  reply.body.substr(0, 300) + ")");
  }
}

} // namespace

/// A request in progress, on a thread of its own.
struct transcript_run::background {
  harness::http_connection connection;
  std::mutex guard;
  std::condition_variable changed;
  bool done = false;
  http_reply reply;
  std::thread thread;

  background(const replay_server& server, http_request request) : connection(server.port()) {
    thread = std::thread([this, &server, request = std::move(request)] {
      auto got = server.send(connection, request, background_limit);
      std::lock_guard lock(guard);
      reply = std::move(got);
      done = true;
      changed.notify_all();
    });
  }
  ~background() {
    // The connection may be opening at this moment, so interrupt again until the thread has
    // finished.
    while (!answered(milliseconds{20}))
      connection.interrupt();
    thread.join();
  }
  bool answered(milliseconds limit) {
    std::unique_lock lock(guard);
    return changed.wait_for(lock, limit, [this] { return done; });
  }
};

std::string describe(const json::object& step, const variables& env) {
  for (auto kind : {"send", "wait", "pending", "sleep"}) {
    const auto* what = step.if_contains(kind);
    if (!what)
      continue;
    auto text = plain_text(*what);
    try {
      text = fill_text(text, env);
    } catch (const problem&) { // show it as written
    }
    if (std::string_view(kind) != "send")
      text = std::string(kind) + " " + text;
    for (auto body : {"headers", "json", "text", "fill"})
      if (const auto* v = step.if_contains(body))
        text += " " + brief(*v);
    return text;
  }
  return brief(step);
}

transcript_run::transcript_run(const replay_server& server, const transcript& script)
    : server_(server), script_(script), env_(server.facts()), base_(0), matcher_(0) {
  auto tag = new_tag();
  env_["n"] = tag;
  env_["p"] = tag + "/";
  base_ = script.fresh ? server.newest_index() : server.write_start_key(tag);
  matcher_ = matcher(base_);
}

transcript_run::~transcript_run() = default;

failure transcript_run::all(const std::function<void(const std::string&)>& trace) {
  for (std::size_t i = 0; i < script_.steps.size(); ++i) {
    const auto& step = script_.steps[i];
    trace(std::to_string(i + 1) + ": " + describe(step, env_));
    std::vector<std::string> out;
    try {
      out = one(step);
    } catch (const std::exception& e) {
      out = {e.what()};
    }
    if (!out.empty())
      return {i + 1, describe(step, env_), out};
  }
  return {};
}

std::vector<std::string> transcript_run::check(const json::object& step, const http_reply& reply) {
  auto out = matcher_.reply(expectation(step), reply, env_);
  if (const auto* took = step.if_contains("took")) {
    auto low = took->at(0).to_number<double>(), high = took->at(1).to_number<double>();
    if (reply.took < low || reply.took > high)
      out.push_back("answered after " + std::to_string(reply.took) + " s, expected " + brief(*took));
  }
  return out;
}

variables transcript_run::with_saved(const json::object& step, const http_reply& reply) const {
  auto env = env_;
  if (const auto* save = step.if_contains("save"))
    for (const auto& [name, path] : save->as_object())
      env[std::string(name)] = picked(reply, plain_text(path));
  return env;
}

transcript_run::background& transcript_run::started(const json::value& name) {
  auto found = background_.find(plain_text(name));
  if (found == background_.end())
    throw problem("no request was started as " + plain_text(name));
  return *found->second;
}

std::vector<std::string> transcript_run::one(const json::object& step) {
  http_reply reply;
  if (step.contains("sleep")) {
    std::this_thread::sleep_for(duration_in(step, "sleep", 0));
    return {};
  }
  if (const auto* name = step.if_contains("pending")) {
    auto& request = started(*name);
    if (!request.answered(duration_in(step, "for", 0.3)))
      return {};
    return {plain_text(*name) + " was answered too early: " + std::to_string(request.reply.status) + " " +
            request.reply.error + request.reply.body.substr(0, 300)};
  }
  if (const auto* name = step.if_contains("wait")) {
    auto limit = duration_in(step, "within", 5);
    auto& request = started(*name);
    if (!request.answered(limit))
      return {plain_text(*name) + " was not answered within " + std::to_string(limit.count()) + " ms"};
    reply = request.reply;
  } else if (step.contains("as")) {
    start(step);
    return {};
  } else if (step.contains("retry")) {
    reply = until_expected(step);
  } else if (step.contains("send")) {
    reply = send(step);
  } else {
    throw problem("unknown step");
  }
  if (!reply.error.empty())
    return {"no answer: " + reply.error};
  env_ = with_saved(step, reply);
  auto out = check(step, reply);
  results_.push_back({&step, std::move(reply), env_});
  return out;
}

void transcript_run::start(const json::object& step) {
  background_[plain_text(step.at("as"))] = std::make_unique<background>(server_, request_of(step, env_));
  std::this_thread::sleep_for(settle);
}

http_reply transcript_run::send(const json::object& step) const {
  harness::http_connection connection(server_.port());
  return server_.send(connection, request_of(step, env_), request_limit);
}

http_reply transcript_run::until_expected(const json::object& step) {
  auto end = steady_clock::now() + duration_in(step, "retry", 0);
  for (;;) {
    auto reply = send(step);
    try {
      auto trial = matcher_;
      if (trial.reply(expectation(step), reply, with_saved(step, reply)).empty())
        return reply;
    } catch (const problem&) { // unknown so far
    }
    if (steady_clock::now() >= end)
      return reply;
    std::this_thread::sleep_for(milliseconds{50});
  }
}

} // namespace belay::contract
