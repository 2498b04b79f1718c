#pragma once
// A client of the load generator for Consul's HTTP API, of Belay or of Consul.

#include "bench/load/client.hpp"
#include "bench/load/events.hpp"
#include "bench/load/http.hpp"
#include "bench/load/values.hpp"

class consul_client : public client {
public:
  /// @param token empty: requests without a token
  consul_client(const options& o, const std::string& token)
      : o_(o), c_(o.server), fields_(o.server.text + (token.empty() ? "" : "\r\nX-Consul-Token: " + token)) {}
  task<outcome> put(const std::string& key, const std::string& val) override {
    if (o_.idempotent)
      idempotency_key_ =
          "bench-" + std::to_string(getpid()) + "-" + std::to_string(number_) + "-" + std::to_string(++keys_);
    co_return co_await want_true("PUT", "/v1/kv/" + key, val);
  }
  task<outcome> get(const std::string& key, read_mode mode) override {
    outcome s = co_await c_.request(req("GET", "/v1/kv/" + key + query(mode), {}), o_.timeout_ns);
    if (s != outcome::ok)
      co_return s;
    co_return entry(key) == 1 ? outcome::ok : bad();
  }
  task<outcome> list(const std::string& prefix) override {
    outcome s = co_await ask("GET", "/v1/kv/" + prefix + "?recurse", {});
    if (s != outcome::ok)
      co_return s;
    listed = 0;
    std::string_view b = c_.body;
    // Every entry must have a value of the right length; decoding all would cost too much.
    size_t vl = (o_.vsize + 2) / 3 * 4;
    for (size_t p = 0; (p = b.find("\"Value\"", p)) != std::string_view::npos;) {
      p += 7;
      while (p < b.size() && (b[p] == ':' || b[p] == ' '))
        p++;
      if (p + vl + 1 < b.size() && b[p] == '"' && b[p + vl + 1] == '"')
        listed++;
    }
    co_return outcome::ok;
  }
  task<outcome> txn(const std::vector<std::string>& keys, const std::vector<std::string>& vals) override {
    std::string b = "[";
    for (size_t i = 0; i < keys.size(); i++) {
      if (i)
        b += ',';
      b += "{\"KV\":{\"Verb\":\"set\",\"Key\":\"" + keys[i] + "\",\"Value\":\"" + b64(vals[i]) + "\"}}";
    }
    b += "]";
    outcome s = co_await ask("PUT", "/v1/txn", b);
    if (s != outcome::ok)
      co_return s;
    size_t n = 0;
    for (size_t p = 0; (p = c_.body.find("\"ModifyIndex\"", p)) != std::string_view::npos; p += 13)
      n++;
    size_t e = c_.body.find("\"Errors\"");
    bool no_errors = e != std::string_view::npos && c_.body.substr(e, 20).find("null") != std::string_view::npos;
    co_return n == keys.size() && no_errors ? outcome::ok : outcome::body;
  }
  task<outcome> session_create(int ttl_s) override {
    std::string b = "{\"TTL\":\"" + std::to_string(ttl_s) + "s\",\"LockDelay\":\"0s\",\"Name\":\"bench\"}";
    outcome s = co_await ask("PUT", "/v1/session/create", b);
    if (s != outcome::ok)
      co_return s;
    sid = std::string(text("\"ID\"", c_.body));
    co_return sid.size() == 36 ? outcome::ok : outcome::body;
  }
  task<outcome> session_renew(const std::string& id) override {
    outcome s = co_await ask("PUT", "/v1/session/renew/" + id, {});
    if (s != outcome::ok)
      co_return s;
    co_return text("\"ID\"", c_.body) == id ? outcome::ok : outcome::body;
  }
  task<outcome> session_destroy(const std::string& id) override {
    co_return co_await want_true("PUT", "/v1/session/destroy/" + id, {});
  }

  // Belay only.
  task<outcome> session_renew_list(const std::vector<std::string>& ids) override {
    std::string b = "[";
    for (const auto& id : ids) {
      if (b.size() > 1)
        b += ',';
      b += '"' + id + '"';
    }
    b += ']';
    outcome s = co_await ask("PUT", "/v1/session/renew", b);
    if (s != outcome::ok)
      co_return s;
    size_t renewed = 0;
    for (size_t p = 0; (p = c_.body.find("\"Renewed\":true", p)) != std::string_view::npos; p += 14)
      renewed++;
    co_return renewed == ids.size() ? outcome::ok : bad();
  }

  // The steps of the official client's Lock: read, wait by a blocking query while the lock is held,
  // then acquire; after a lost race read again.
  task<outcome> lock_prepare(const std::string& name) override {
    lock_key_ = name;
    outcome s = co_await session_create(o_.ttl_s);
    my_ = sid;
    co_return s;
  }
  task<outcome> lock_acquire() override {
    if (o_.lock_claims)
      co_return co_await claim();
    co_return co_await acquire_by_recipe();
  }
  task<outcome> lock_release() override {
    if (o_.lock_claims)
      co_return co_await want_true("DELETE", "/v1/claim/" + lock_key_ + "?id=" + claim_, {});
    co_return co_await want_true("PUT", "/v1/kv/" + lock_key_ + "?release=" + my_, my_);
  }
  task<outcome> lock_transfer() override {
    if (!o_.lock_claims)
      co_return co_await lock_release();
    constexpr u64 time_limit_ns = 100'000'000; // a former leader campaigns again much sooner
    u64 until = now_ns() + time_limit_ns;
    for (;;) {
      outcome s =
          co_await c_.request(req("PUT", "/v1/claim/" + lock_key_ + "/transfer?id=" + claim_, {}), o_.timeout_ns);
      if (s != outcome::ok)
        co_return s;
      if (c_.status == 200) // the next holder's claim
        co_return text("\"State\"", c_.body) == "held" && text("\"ID\"", c_.body) != claim_ ? outcome::ok : bad();
      if (c_.status != 409 || c_.body.find("nobody waits") == std::string_view::npos)
        co_return bad();
      if (now_ns() > until)
        co_return co_await lock_release();
      co_await loop().sleep(1'000'000);
    }
  }
  task<outcome> lock_end() override { co_return co_await session_destroy(my_); }
  void lock_abandon() override { c_.drop(); }
  std::string lock_session() const override { return my_; }

  // Sends a claim with an id of its own; if the wait expires, again with the same id.
  task<outcome> claim() {
    claim_ = my_ + "-" + std::to_string(++claims_);
    std::string target = "/v1/claim/" + lock_key_ + "?session=" + my_ + "&id=" + claim_ + "&wait=60s";
    if (o_.elect)
      target += "&kind=election";
    std::string value; // others see it while it leads
    if (o_.elect)
      value = my_;
    for (;;) {
      outcome s = co_await c_.request(req("PUT", target, value), o_.timeout_ns + 60'000'000'000ull);
      if (s != outcome::ok)
        co_return s;
      if (c_.status != 200 || text("\"ID\"", c_.body) != claim_)
        co_return bad();
      std::string_view state = text("\"State\"", c_.body); // its own comes first
      if (state != "waiting")
        co_return state == "held" ? outcome::ok : bad();
    }
  }
  task<outcome> acquire_by_recipe() {
    u64 idx = 0;
    for (;;) {
      std::string q = idx ? "?wait=15s&index=" + std::to_string(idx) : "";
      outcome s = co_await c_.request(req("GET", "/v1/kv/" + lock_key_ + q, {}), o_.timeout_ns + 16'000'000'000ull);
      if (s != outcome::ok)
        co_return s;
      if (c_.status != 200 && c_.status != 404)
        co_return bad();
      if (c_.status == 200) {
        std::string_view holder = text("\"Session\"", c_.body);
        if (holder == my_)
          co_return outcome::ok;
        if (!holder.empty()) {
          idx = c_.index;
          continue;
        }
      }
      s = co_await want_true("PUT", "/v1/kv/" + lock_key_ + "?acquire=" + my_, my_);
      if (s != outcome::body || trim(c_.body) != "false")
        co_return s;
      idx = 0; // another client was faster
    }
  }

  task<outcome> watch_begin(const std::string& key) override {
    wkey_ = key;
    if (o_.follow)
      co_return co_await follow(key.substr(0, key.rfind('/') + 1));
    outcome s = co_await get(key, read_mode::def);
    widx_ = c_.index;
    co_return s;
  }
  task<outcome> watch_next(u64 timeout_ns) override {
    if (o_.follow)
      co_return co_await next_event();
    u64 until = now_ns() + timeout_ns;
    for (;;) {
      u64 n = now_ns();
      if (n >= until)
        co_return outcome::timeout;
      outcome s = co_await c_.request(req("GET", "/v1/kv/" + wkey_ + "?wait=300s&index=" + std::to_string(widx_), {}),
                                      until - n);
      if (s != outcome::ok)
        co_return s;
      if (entry(wkey_) != 1)
        co_return bad();
      if (c_.index != widx_) {
        widx_ = c_.index;
        co_return outcome::ok;
      }
    }
  }

  /// The next event of the stream.
  auto until_something_happens() {
    struct awaiter {
      waiter& w;
      bool await_ready() { return false; }
      void await_suspend(std::coroutine_handle<> h) { w.h = h; }
      outcome await_resume() { return w.st; }
    };
    return awaiter{happened_};
  }
  /// A stream of the changes below a prefix; Belay only. Returns after the first progress event.
  task<outcome> follow(const std::string& prefix) {
    changes_ = std::make_unique<event_connection>(o_.server);
    changes_->on_end = [this](outcome why) { happened_.wake(why); };
    changes_->on_event = [this](std::string_view event, std::string_view data) {
      const bool set = event == "set";
      if (set) {
        received++;
        got_event_ = true;
        unb64(text("\"Value\"", data), got);
      }
      if (set || !began_)
        happened_.wake(outcome::ok);
      began_ = true;
    };
    std::string request = "GET /v1/kv/" + prefix + "?recurse&changes HTTP/1.1\r\nAccept: text/event-stream\r\nHost: ";
    if (!changes_->open(request + fields_ + "\r\n\r\n"))
      co_return outcome::conn;
    co_return co_await until_something_happens();
  }
  /// The next change of the stream; stores its value in `got`.
  task<outcome> next_event() {
    outcome s = outcome::ok;
    while (s == outcome::ok && !got_event_)
      s = co_await until_something_happens();
    got_event_ = false;
    co_return s;
  }
  u64 received = 0; ///< changes received on the stream

protected:
  std::string req(const char* method, const std::string& target, std::string_view body) {
    std::string r;
    r.reserve(64 + target.size() + fields_.size() + body.size());
    r += method;
    r += ' ';
    r += target;
    r += " HTTP/1.1\r\nHost: ";
    r += fields_;
    if (*method != 'G') {
      r += "\r\nContent-Length: ";
      r += std::to_string(body.size());
    }
    if (!idempotency_key_.empty()) {
      r += "\r\nIdempotency-Key: ";
      r += std::exchange(idempotency_key_, {});
    }
    r += "\r\n\r\n";
    r += body;
    return r;
  }
  static const char* query(read_mode m) {
    return m == read_mode::strong ? "?consistent" : m == read_mode::stale ? "?stale" : "";
  }
  static std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.back() == '\n' || s.back() == ' '))
      s.remove_suffix(1);
    return s;
  }
  // The text value of a field, anywhere in b; empty if absent.
  static std::string_view text(const char* quoted, std::string_view b) {
    size_t p = b.find(quoted);
    if (p == std::string_view::npos)
      return {};
    p += strlen(quoted);
    while (p < b.size() && (b[p] == ':' || b[p] == ' '))
      p++;
    if (p >= b.size() || b[p] != '"')
      return {};
    size_t e = b.find('"', p + 1);
    return e == std::string_view::npos ? std::string_view{} : b.substr(p + 1, e - p - 1);
  }
  // ok: status 200
  task<outcome> ask(const char* m, std::string target, std::string_view body) {
    outcome s = co_await c_.request(req(m, target, body), o_.timeout_ns);
    co_return s == outcome::ok&& c_.status != 200 ? bad() : s;
  }
  task<outcome> want_true(const char* m, std::string target, std::string body) {
    outcome s = co_await ask(m, target, body);
    if (s != outcome::ok)
      co_return s;
    if (trim(c_.body) == "true")
      co_return outcome::ok;
    err = std::string(c_.body.substr(0, 200));
    co_return outcome::body;
  }
  // 1: the response is that key's entry, and `got` its value; 0: not found; -1: wrong
  int entry(const std::string& key) {
    if (c_.status == 404)
      return 0;
    if (c_.status != 200)
      return -1;
    if (text("\"Key\"", c_.body) != key)
      return -1;
    return unb64(text("\"Value\"", c_.body), got) ? 1 : -1;
  }
  outcome bad() {
    err = std::to_string(c_.status) + " " + std::string(c_.body.substr(0, 200));
    return c_.status == 200 ? outcome::body : outcome::status;
  }
  const options& o_;
  http_connection c_;
  std::string fields_; ///< headers of each request: its host and its token
  std::string lock_key_, my_, wkey_, claim_;
  u64 claims_ = 0;
  std::string idempotency_key_; ///< key of the next request; empty: it has none
  u64 keys_ = 0;
  inline static u64 clients_ = 0;
  u64 number_ = ++clients_;
  u64 widx_ = 0;
  std::unique_ptr<event_connection> changes_;
  waiter happened_; ///< waiter for events of the stream
  bool began_ = false, got_event_ = false;
};
