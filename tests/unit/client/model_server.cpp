#include "tests/unit/client/model_server.hpp"
#include "tests/unit/client/model_texts.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <ctime>

namespace belay::client_tests {

namespace json = boost::json;

namespace {

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

answer session_gone() {
  answer a(404, "the session has ended");
  a.add_header("X-Belay-Reason", "session");
  return a;
}

} // namespace

model_server::parsed model_server::parse(const std::string& target) {
  parsed p;
  auto separator = target.find('?');
  p.path = unescaped(target.substr(0, separator));
  while (separator != target.npos) {
    auto next = target.find('&', separator + 1);
    auto part = target.substr(separator + 1, next == target.npos ? target.npos : next - separator - 1);
    auto equal = part.find('=');
    p.query[part.substr(0, equal)] = equal == part.npos ? std::string() : unescaped(part.substr(equal + 1));
    separator = next;
  }
  return p;
}

answer model_server::with_index(answer a, std::uint64_t index) const {
  a.add_header("X-Consul-Index", std::to_string(index));
  return a;
}

answer model_server::with_date(answer a) const {
  auto now = std::chrono::system_clock::to_time_t(wall());
  std::tm t{};
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", ::gmtime_r(&now, &t));
  a.add_header("Date", text);
  return a;
}

answer model_server::boolean(bool made, std::uint64_t index) const {
  answer a(200, made ? "true" : "false");
  if (made && dialect_ == dialect::belay)
    a.add_header("X-Belay-Index", std::to_string(index));
  return a;
}

void model_server::take(const request& q, reply done) {
  if (silent)
    return;
  auto p = parse(q.target());
  ++counted_[q.method() + " " + p.path];
  if (p.path == "/store") {
    writes_.push_back({p.at("who"), number(p.at("fence")), time_.now()});
    done(answer(200, "true"));
    return;
  }
  if (leaderless) {
    done(answer(500, "No cluster leader"));
    return;
  }
  if (dialect_ == dialect::belay && settled(p, q, done))
    return;
  if (starts_with(p.path, "/v1/session/"))
    sessions_request(p, q, done);
  else if (starts_with(p.path, "/v1/kv/"))
    key_request(p, q, done);
  else if (starts_with(p.path, "/v1/claim") && dialect_ == dialect::belay)
    claim_request(p, q, done);
  else if (p.path == "/v1/txn")
    transaction(q, done);
  else if (p.path == "/v1/status/leader")
    done(with_date(answer(200, "\"127.0.0.1:8300\"")));
  else
    done(answer(404, ""));
  changed();
}

/// docs/reference/exactly-once.md. @returns whether that answers the request
bool model_server::settled(const parsed& p, const request& q, reply& done) {
  if (starts_with(p.path, "/v1/outcome/") && q.method() == "PUT" && has_old_names) {
    done(answer(405, "method PUT not allowed"));
    return true;
  }
  if (starts_with(p.path, "/v1/outcome/") && (q.method() == "PUT" || q.method() == "DELETE")) {
    auto key = p.path.substr(12);
    if (q.method() == "PUT")
      key.resize(key.rfind("/cancel"));
    auto found = outcomes_.find(key);
    json::object o;
    o["State"] = found == outcomes_.end() ? (q.method() == "PUT" ? "cancelled" : "void") : "done";
    if (found == outcomes_.end()) {
      cancelled_.insert(key);
    } else {
      o["Status"] = found->second.status();
      o["Body"] = found->second.body();
      if (auto why = std::string(found->second.header("X-Belay-Reason")); !why.empty())
        o["Reason"] = why;
    }
    done(answer(200, json::serialize(o)));
    return true;
  }
  for (const auto& [name, key] : q.headers()) {
    if (name != "Idempotency-Key")
      continue;
    if (cancelled_.count(key)) {
      done(answer(410, "cancelled"));
      return true;
    }
    if (auto found = outcomes_.find(key); found != outcomes_.end()) {
      done(found->second);
      return true;
    }
    done = [this, key = key, complete = done](answer a) {
      outcomes_[key] = a;
      complete(std::move(a));
    };
  }
  return false;
}

void model_server::sessions_request(const parsed& p, const request& q, const reply& done) {
  auto id = p.path.substr(p.path.rfind('/') + 1);
  if (starts_with(p.path, "/v1/session/create")) {
    auto o = json::parse(q.body()).as_object();
    auto name = "session-" + std::to_string(next_session_++);
    live_session s;
    s.ttl = duration(std::string(o.at("TTL").as_string()));
    s.delay = duration(std::string(o.at("LockDelay").as_string()));
    s.renewed = time_.now();
    if (auto* on_end = o.if_contains("OnEnd"))
      s.on_end = json::serialize(*on_end);
    sessions_[name] = s;
    ++index_;
    expire(name);
    done(answer(200, "{\"ID\":\"" + name + "\"}"));
  } else if (starts_with(p.path, "/v1/session/renew/")) {
    auto found = sessions_.find(id);
    if (found == sessions_.end()) {
      done(answer(404, "Session id '" + id + "' not found"));
      return;
    }
    found->second.renewed = time_.now();
    done(answer(200, "[]"));
  } else if (starts_with(p.path, "/v1/session/destroy/")) {
    end_session(id, "destroyed by client");
    done(answer(200, "true"));
  } else if (starts_with(p.path, "/v1/session/ended/") && dialect_ == dialect::belay && ended_.count(id)) {
    done(answer(200, "{\"ID\":\"" + id + "\",\"Cause\":\"" + ended_[id] + "\"}"));
  } else {
    done(answer(404, ""));
  }
}

void model_server::expire(const std::string& id) {
  auto due = sessions_[id].renewed + sessions_[id].ttl;
  time_.at(due, [this, id] {
    auto found = sessions_.find(id);
    if (found == sessions_.end())
      return;
    if (found->second.renewed + found->second.ttl > time_.now()) {
      expire(id);
      return;
    }
    end_session(id, "ttl");
    changed();
  });
}

void model_server::end_session(const std::string& id, std::string cause) {
  auto found = sessions_.find(id);
  if (found == sessions_.end())
    return;
  auto delay = found->second.delay;
  auto on_end = found->second.on_end;
  sessions_.erase(found);
  ended_[id] = std::move(cause);
  ++index_;
  for (auto& [key, queue] : key_queues_)
    for (auto& w : queue)
      if (w.session == id && w.done)
        std::exchange(w.done, nullptr)(session_gone());
  for (auto& [key, queue] : key_queues_)
    std::erase_if(queue, [&](const waiter& w) { return w.session == id; });
  for (auto& [key, r] : keys_) {
    if (r.session == id) {
      r.session.clear();
      stamp(key, index_);
      r.delayed_until = time_.now() + delay;
      time_.at(r.delayed_until, [this, key = key] {
        grant_keys(key);
        changed();
      });
    }
  }
  for (auto& [name, c] : claims_) {
    auto had = c.holders.size() + c.queue.size();
    std::erase_if(c.holders, [&](const holder& h) { return h.session == id; });
    for (auto& w : c.queue)
      if (w.session == id && w.done)
        std::exchange(w.done, nullptr)(session_gone());
    std::erase_if(c.queue, [&](const waiter& w) { return w.session == id; });
    if (had != c.holders.size() + c.queue.size())
      c.modify = index_;
    grant_claims(name);
  }
  if (!on_end.empty())
    for (auto ops = json::parse(on_end).as_array(); const auto& op : ops)
      do_operation(json::serialize(op), index_, nullptr);
}

/// The key has that value and holder since that index: adds the change to the window.
void model_server::stamp(const std::string& key, std::uint64_t index, const char* kind) {
  auto& r = keys_[key];
  r.modify = index;
  if (r.session.empty())
    r.fence = 0;
  bool there = r.value.has_value();
  if (!there && r.shown == 0)
    return;
  change c;
  c.index = index;
  while (!changes_.empty() && changes_.back().index == index && c.number <= changes_.back().number)
    ++c.number;
  c.kind = there ? kind : "delete";
  c.key = key;
  c.value = r.value.value_or("");
  c.flags = there ? r.flags : 0;
  c.session = r.session;
  c.previous = r.shown;
  r.shown = there ? index : 0;
  r.create = !there ? 0 : r.create == 0 ? index : r.create;
  changes_.push_back(std::move(c));
}

void model_server::unlock(const std::string& key) {
  keys_[key].session.clear();
  stamp(key, ++index_);
  grant_keys(key);
}

void model_server::grant_keys(const std::string& key) {
  auto& r = keys_[key];
  auto& queue = key_queues_[key];
  while (!queue.empty() && queue.front().deadline <= time_.now()) {
    if (queue.front().done)
      queue.front().done(boolean(false, 0));
    queue.pop_front();
  }
  if (!r.session.empty() || time_.now() < r.delayed_until || queue.empty())
    return;
  auto first = std::move(queue.front());
  queue.pop_front();
  r.session = first.session;
  r.value = first.value;
  r.flags = first.flags;
  stamp(key, ++index_);
  r.fence = index_;
  if (first.done) {
    auto a = boolean(true, index_);
    a.add_header("X-Belay-Fence", std::to_string(r.fence));
    first.done(a);
  }
}

void model_server::key_request(const parsed& p, const request& q, const reply& done) {
  auto key = p.path.substr(7);
  auto& r = keys_[key];
  auto index = number(p.at("index"));
  if (q.method() == "GET") {
    if (p.has("changes") && dialect_ == dialect::belay) {
      auto cursor = p.at("index");
      bool snapshot = p.has("snapshot");
      read(
          p, [this, key, cursor, snapshot](bool now) { return look_at_changes(key, cursor, snapshot, now); }, done);
    } else if (p.has("recurse"))
      read(
          p, [this, key, index](bool now) { return look_at_prefix(key, index, now); }, done);
    else
      read(
          p, [this, key, index](bool now) { return look_at_key(key, index, now); }, done);
    return;
  }
  if (q.method() == "DELETE") {
    if (p.has("cas") && r.value && number(p.at("cas")) != r.modify) {
      done(boolean(false, 0));
      return;
    }
    bool was_locked = !r.session.empty();
    bool was_there = r.value.has_value();
    r.value.reset();
    r.session.clear();
    if (was_there)
      stamp(key, ++index_);
    if (was_locked)
      grant_keys(key);
    done(boolean(true, index_));
    return;
  }
  if (p.has("acquire")) {
    auto session = p.at("acquire");
    if (!sessions_.count(session)) {
      done(answer(500, "invalid session \"" + session + "\""));
      return;
    }
    if (r.session == session) {
      if (r.value != q.body()) {
        r.value = q.body();
        stamp(key, ++index_);
      }
      auto a = boolean(true, r.modify);
      if (dialect_ == dialect::belay)
        a.add_header("X-Belay-Fence", std::to_string(r.fence));
      done(a);
      return;
    }
    auto& queue = key_queues_[key];
    if (dialect_ == dialect::consul || !p.has("queue")) {
      bool free = r.session.empty() && queue.empty() && time_.now() >= r.delayed_until;
      if (free) {
        r.session = session;
        r.value = q.body();
        r.flags = number(p.at("flags"));
        stamp(key, ++index_);
        r.fence = index_;
      }
      done(boolean(free, index_));
      return;
    }
    auto same = std::find_if(queue.begin(), queue.end(), [&](const waiter& w) { return w.session == session; });
    if (same == queue.end()) {
      queue.push_back({});
      same = std::prev(queue.end());
      same->session = session;
    }
    same->value = q.body();
    same->flags = number(p.at("flags"));
    same->deadline = time_.now() + duration(p.at("queue"));
    same->done = done;
    same->ask = next_ask_++;
    time_.at(same->deadline, [this, key, ask = same->ask] {
      auto& waiting = key_queues_[key];
      auto late = std::find_if(waiting.begin(), waiting.end(), [&](const waiter& w) { return w.ask == ask; });
      if (late == waiting.end())
        return;
      auto a = boolean(false, 0);
      a.add_header("X-Belay-Reason", "deadline");
      late->done(a);
      waiting.erase(late);
    });
    grant_keys(key);
    return;
  }
  if (p.has("release")) {
    auto session = p.at("release");
    auto& queue = key_queues_[key];
    for (auto& w : queue)
      if (w.session == session && w.done)
        w.done(boolean(false, 0));
    std::erase_if(queue, [&](const waiter& w) { return w.session == session; });
    bool held = !session.empty() && r.session == session;
    if (held)
      unlock(key);
    done(boolean(held, index_));
    return;
  }
  if (p.has("cas") && number(p.at("cas")) != (r.value ? r.modify : 0)) {
    auto a = boolean(false, 0);
    if (dialect_ == dialect::belay)
      a.add_header("X-Belay-Reason", "index");
    done(a);
    return;
  }
  if (p.has("fence")) {
    auto guard = keys_.find(p.at("lock"));
    bool valid = guard != keys_.end() && !guard->second.session.empty() && guard->second.fence == number(p.at("fence"));
    if (!valid) {
      answer a(409, "the fence is not that of the holder");
      a.add_header("X-Belay-Reason", "fence");
      done(a);
      return;
    }
  }
  bool same = r.value == q.body() && r.flags == number(p.at("flags"));
  r.value = q.body();
  r.flags = number(p.at("flags"));
  if (!same)
    stamp(key, ++index_);
  done(boolean(true, r.modify));
}

void model_server::read(const parsed& p, std::function<std::optional<answer>(bool)> look, const reply& done) {
  if (auto a = look(false)) {
    done(*a);
    return;
  }
  auto number = next_ask_++;
  parked one;
  one.path = p.path;
  one.index = number;
  one.look = std::move(look);
  one.done = done;
  parked_.push_back(one);
  auto wait = p.has("wait") ? duration(p.at("wait")) : milliseconds(300000);
  time_.at(time_.now() + wait, [this, number] {
    for (auto& r : parked_)
      if (r.index == number && r.done)
        std::exchange(r.done, nullptr)(*r.look(true));
    std::erase_if(parked_, [&](const parked& r) { return r.index == number; });
  });
}

void model_server::changed() {
  auto reads = std::exchange(parked_, {});
  for (auto& r : reads) {
    if (auto a = r.look(false))
      r.done(*a);
    else
      parked_.push_back(std::move(r));
  }
}

std::string model_server::json_of(const std::string& key, const row& r) const {
  json::object o;
  o["Key"] = shown(key);
  o["Value"] = base64(r.value.value_or(""));
  o["Flags"] = r.flags;
  o["ModifyIndex"] = r.modify;
  o["CreateIndex"] = r.create;
  if (!r.session.empty())
    o["Session"] = r.session;
  return json::serialize(o);
}

std::optional<answer> model_server::look_at_key(const std::string& key, std::uint64_t index, bool now) const {
  auto found = keys_.find(key);
  auto modify = found == keys_.end() || found->second.modify == 0 ? 1 : found->second.modify;
  if (!now && index >= modify)
    return std::nullopt;
  if (found == keys_.end() || !found->second.value)
    return with_index(answer(404, ""), modify);
  auto a = with_index(answer(200, "[" + json_of(key, found->second) + "]"), modify);
  if (dialect_ == dialect::belay && !found->second.session.empty())
    a.add_header("X-Belay-Fence", std::to_string(found->second.fence));
  return a;
}

std::optional<answer> model_server::look_at_prefix(const std::string& prefix, std::uint64_t index, bool now) const {
  std::uint64_t modify = 1;
  std::string out;
  for (const auto& [key, r] : keys_) {
    if (!starts_with(key, prefix))
      continue;
    modify = std::max(modify, r.modify);
    if (r.value)
      out += (out.empty() ? "[" : ",") + json_of(key, r);
  }
  if (!now && index >= modify)
    return std::nullopt;
  if (out.empty())
    return with_index(answer(404, ""), modify);
  return with_index(answer(200, out + "]"), modify);
}

std::set<std::string> model_server::sessions() const {
  std::set<std::string> out;
  for (const auto& [id, s] : sessions_)
    out.insert(id);
  return out;
}

std::vector<std::string> model_server::holders(const std::string& name) const {
  std::vector<std::string> out;
  if (auto found = keys_.find(name); found != keys_.end() && !found->second.session.empty())
    out.push_back(found->second.session);
  if (auto found = claims_.find(name); found != claims_.end())
    for (const auto& h : found->second.holders)
      out.push_back(h.session);
  return out;
}

std::size_t model_server::waiting(const std::string& name) const {
  std::size_t n = 0;
  if (auto found = key_queues_.find(name); found != key_queues_.end())
    n += found->second.size();
  if (auto found = claims_.find(name); found != claims_.end())
    n += found->second.queue.size();
  return n;
}

std::set<std::string> model_server::tied_to(const std::string& session) const {
  std::set<std::string> out;
  for (const auto& [key, r] : keys_)
    if (r.session == session)
      out.insert("key " + key);
  for (const auto& [key, queue] : key_queues_)
    for (const auto& w : queue)
      if (w.session == session)
        out.insert("queue of " + key);
  for (const auto& [name, claimed] : claims_) {
    for (const auto& h : claimed.holders)
      if (h.session == session)
        out.insert("claim " + name);
    for (const auto& w : claimed.queue)
      if (w.session == session)
        out.insert("queue of claim " + name);
  }
  return out;
}

std::optional<std::string> model_server::value(const std::string& key) const {
  auto found = keys_.find(key);
  return found == keys_.end() ? std::nullopt : found->second.value;
}

void model_server::put(const std::string& key, std::string value, std::optional<std::uint64_t> flags) {
  keys_[key].value = std::move(value);
  keys_[key].flags = flags.value_or(keys_[key].flags);
  stamp(key, ++index_);
  changed();
}

std::size_t model_server::requests(const std::string& start) const {
  std::size_t n = 0;
  for (const auto& [what, count] : counted_)
    if (what.compare(0, start.size(), start) == 0)
      n += count;
  return n;
}

} // namespace belay::client_tests
