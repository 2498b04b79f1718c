// Claims of the model server: docs/reference/claims.md.
#include "tests/unit/client/model_server.hpp"
#include "tests/unit/client/model_texts.hpp"

#include <boost/json.hpp>

#include <algorithm>

namespace belay::client_tests {

namespace json = boost::json;

/// Whether the claim can be granted now.
/// @param only the session whose holders count; or all
bool model_server::fits(const resource& c, const waiter& w, const std::string& only) {
  std::uint64_t taken = 0;
  bool exclusive = false;
  bool any = false;
  for (const auto& h : c.holders) {
    if (!only.empty() && h.session != only)
      continue;
    taken += h.permits;
    exclusive = exclusive || !h.shared;
    any = true;
  }
  if (c.kind == "rw")
    return w.shared ? !exclusive : !any;
  return taken + w.permits <= c.limit;
}

void model_server::grant_claims(const std::string& name) {
  auto& c = claims_[name];
  for (;;) {
    if (c.queue.empty() || !fits(c, c.queue.front(), {}))
      return;
    auto w = std::move(c.queue.front());
    c.queue.pop_front();
    c.modify = ++index_;
    c.holders.push_back({w.session, w.id, w.value, w.permits, w.shared, index_});
    if (w.done)
      w.done(claim_answer(name, w.id));
  }
}

answer model_server::claim_answer(const std::string& name, const std::string& id) const {
  for (const auto& h : claims_.at(name).holders)
    if (h.id == id)
      return answer(200, "{\"ID\":\"" + id + "\",\"State\":\"held\",\"Fence\":" + std::to_string(h.fence) + "}");
  return answer(200, "{\"ID\":\"" + id + "\",\"State\":\"waiting\",\"Position\":1}");
}

void model_server::claim_request(const parsed& p, const request& q, const reply& done) {
  if (p.path == "/v1/claims") {
    done(answer(200, "[]"));
    return;
  }
  auto name = p.path.substr(10);
  auto id = p.at("id");
  const std::string transfer = has_old_names ? "/hand-over" : "/transfer";
  if (q.method() == "PUT" && !p.has("session") && name.size() > transfer.size() && name.ends_with(transfer)) {
    name.resize(name.size() - transfer.size());
    auto& c = claims_[name];
    if (c.holders.empty() || c.holders.front().id != id || c.queue.empty()) {
      answer a(409, "nobody waits");
      a.add_header("X-Belay-Reason", c.queue.empty() ? "no-waiter" : "not-held");
      done(a);
      return;
    }
    ended_claims_.insert(id);
    c.holders.clear();
    grant_claims(name);
    done(answer(200, "{}"));
    return;
  }
  if (auto at = name.rfind("/mode"); at != name.npos && at + 5 == name.size()) {
    name = name.substr(0, at);
    auto& held = claims_[name].holders;
    auto found = std::find_if(held.begin(), held.end(), [&](const holder& h) { return h.id == id; });
    if (found == held.end()) {
      done(answer(410, "released"));
      return;
    }
    found->shared = true;
    claims_[name].modify = ++index_;
    grant_claims(name);
    done(claim_answer(name, id));
    return;
  }
  auto& c = claims_[name];
  if (q.method() == "GET") {
    auto index = number(p.at("index"));
    read(
        p, [this, name, index](bool now) { return look_at_claim(name, index, now); }, done);
    return;
  }
  if (q.method() == "DELETE") {
    ended_claims_.insert(id);
    std::erase_if(c.holders, [&](const holder& h) { return h.id == id; });
    for (auto& w : c.queue)
      if (w.id == id && w.done)
        w.done(answer(410, "withdrawn"));
    std::erase_if(c.queue, [&](const waiter& w) { return w.id == id; });
    c.modify = ++index_;
    grant_claims(name);
    done(answer(200, "true"));
    return;
  }
  if (!p.has("session")) {
    answer a(400, "Invalid session: missing");
    a.add_header("X-Belay-Reason", "parameter");
    done(a);
    return;
  }
  if (!sessions_.count(p.at("session"))) {
    answer a(404, "unknown session");
    a.add_header("X-Belay-Reason", "unknown-session");
    done(a);
    return;
  }
  if (ended_claims_.count(id)) {
    done(answer(410, "released"));
    return;
  }
  if (std::any_of(c.holders.begin(), c.holders.end(), [&](const holder& h) { return h.id == id; })) {
    done(claim_answer(name, id));
    return;
  }
  if (c.holders.empty() && c.queue.empty())
    c.limit = p.has("limit") ? number(p.at("limit")) : 1;
  if (c.holders.empty() && c.queue.empty())
    c.kind = p.at("kind");
  waiter asks;
  asks.session = p.at("session");
  asks.id = id;
  asks.permits = p.has("permits") ? number(p.at("permits")) : 1;
  asks.shared = p.at("mode") == "shared";
  // docs/reference/claims.md, rule 8.
  bool its_own =
      std::any_of(c.holders.begin(), c.holders.end(), [&](const holder& h) { return h.session == asks.session; });
  if (its_own && !fits(c, asks, {}) && (c.kind != "rw" || !fits(c, asks, asks.session))) {
    answer a(409, "the session would wait for itself");
    a.add_header("X-Belay-Reason", "deadlock");
    done(a);
    return;
  }
  auto same = std::find_if(c.queue.begin(), c.queue.end(), [&](const waiter& w) { return w.id == id; });
  if (same == c.queue.end()) {
    c.queue.push_back(asks);
    same = std::prev(c.queue.end());
  }
  same->value = q.body();
  same->done = done;
  same->ask = next_ask_++;
  auto ask = same->ask;
  time_.at(time_.now() + duration(p.at("wait")), [this, name, ask] {
    for (auto& w : claims_[name].queue)
      if (w.ask == ask && w.done)
        std::exchange(w.done, nullptr)(claim_answer(name, w.id));
  });
  time_.at(time_.now() + duration(p.at("deadline")), [this, name, id] {
    auto& queue = claims_[name].queue;
    for (auto& w : queue)
      if (w.id == id && w.done)
        w.done(answer(410, "deadline"));
    if (std::erase_if(queue, [&](const waiter& w) { return w.id == id; }))
      ended_claims_.insert(id);
    grant_claims(name);
    changed();
  });
  grant_claims(name);
}

std::optional<answer> model_server::look_at_claim(const std::string& name, std::uint64_t index, bool now) const {
  auto found = claims_.find(name);
  auto modify = found == claims_.end() || found->second.modify == 0 ? 1 : found->second.modify;
  if (!now && index >= modify)
    return std::nullopt;
  if (found == claims_.end() || (found->second.holders.empty() && found->second.queue.empty()))
    return with_index(answer(404, ""), modify);
  json::array holders;
  for (const auto& h : found->second.holders)
    holders.push_back(
        json::object{{"ID", h.id}, {"Session", h.session}, {"Fence", h.fence}, {"Value", base64(h.value)}});
  return with_index(answer(200, json::serialize(json::object{{"Holders", holders}})), modify);
}

} // namespace belay::client_tests
