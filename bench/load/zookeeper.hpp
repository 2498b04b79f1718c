#pragma once
// A client of the load generator for ZooKeeper's protocol (jute): one session on one connection.
//
// Messages are a length (4 bytes) and these fields, with numbers in network byte order:
//
//   | connect      | protocol 0 (4), zxid (8), timeout (4), session (8), password, read-only (1)
//   | its response | protocol (4), agreed timeout in ms (4), session (8), password, read-only (1)
//   | request      | xid (4), operation (4), arguments
//   | response     | xid (4), zxid (8), error (4), results; in the order of the requests
//   | notification | xid -1, zxid, 0, type (4), state (4), path

#include "bench/load/client.hpp"

struct jute {
  std::string s;
  jute& i32(int32_t v) {
    u32 n = htonl(u32(v));
    s.append(reinterpret_cast<char*>(&n), 4);
    return *this;
  }
  jute& l64(i64 v) { return i32(int32_t(v >> 32)).i32(int32_t(v)); }
  jute& flag(bool b) {
    s += char(b);
    return *this;
  }
  jute& str(std::string_view v) {
    i32(int32_t(v.size()));
    s += v;
    return *this;
  }
  /// Everyone may do everything.
  jute& acl() { return i32(1).i32(31).str("world").str("anyone"); }
};

struct jute_reader {
  std::string_view b;
  bool bad = false;
  int32_t i32() {
    if (b.size() < 4) {
      bad = true;
      return 0;
    }
    u32 n;
    memcpy(&n, b.data(), 4);
    b.remove_prefix(4);
    return int32_t(ntohl(n));
  }
  i64 l64() {
    u64 high = u32(i32());
    return i64(high << 32 | u32(i32()));
  }
  bool flag() {
    if (b.empty()) {
      bad = true;
      return false;
    }
    bool v = b[0] != 0;
    b.remove_prefix(1);
    return v;
  }
  std::string_view str() {
    int32_t n = i32();
    if (n < 0)
      return {};
    if (size_t(n) > b.size()) {
      bad = true;
      return {};
    }
    auto r = b.substr(0, size_t(n));
    b.remove_prefix(size_t(n));
    return r;
  }
  void stat() {
    if (b.size() < stat_bytes)
      bad = true;
    else
      b.remove_prefix(stat_bytes);
  }
  static constexpr size_t stat_bytes = 68;
};

namespace zookeeper_op {
constexpr int create = 1, erase = 2, exists = 3, get_data = 4, set_data = 5, get_children = 8, sync = 9, ping = 11,
              multi = 14, close = -11;
}

namespace zookeeper_error {
constexpr int no_node = -101, node_exists = -110;
}

class zookeeper_connection : public byte_stream {
public:
  using byte_stream::byte_stream;
  std::string reply; ///< the result of the operation
  int code = 0;      ///< 0, or ZooKeeper's error
  u64 session = 0;
  int timeout_ms = 60'000; ///< timeout of the session that open() requests
  /// A watch has fired; lost: the connection has ended while no request was in flight.
  std::function<void(bool lost)> on_watch;

  /// co_await c.request(...) -> outcome (ok: see code). Opens connection and session if needed.
  auto request(int op, std::string body, u64 timeout_ns) {
    return awaiter{*this, op, std::move(body), timeout_ns, 0, {}};
  }
  /// Two requests that are sent together; the response is that to the second one.
  auto request_both(int first, std::string first_body, int op, std::string body, u64 timeout_ns) {
    return awaiter{*this, op, std::move(body), timeout_ns, first, std::move(first_body)};
  }
  auto open(u64 timeout_ns) { return awaiter{*this, 0, {}, timeout_ns, 0, {}}; }
  /// Closes the connection after the session was closed.
  void closed() {
    close_fd();
    up_ = false;
  }
  /// Closes session and connection without waiting for responses. A waiting request ends as lost.
  void abandon() {
    if (fd < 0)
      return;
    if (up_) {
      queue(zookeeper_op::close, {});
      push_out();
    }
    shutdown(fd, SHUT_WR);
    fail(outcome::conn);
  }

private:
  struct awaiter {
    zookeeper_connection& c;
    int op;
    std::string body;
    u64 timeout_ns;
    int first;
    std::string first_body;
    bool await_ready() { return false; }
    bool await_suspend(std::coroutine_handle<> h) { return c.begin(*this, h); }
    outcome await_resume() { return c.w_.st; }
  };
  bool begin(const awaiter& a, std::coroutine_handle<> h) {
    expect_ = 0;
    if (!up_) {
      close_fd();
      if (!open_fd()) {
        w_.st = outcome::conn;
        return false;
      }
      jute m;
      m.i32(0).l64(0).i32(timeout_ms).l64(0).i32(16);
      m.s.append(16, '\0');
      m.flag(false);
      frame(m.s);
      carried().requests++;
      expect_ = 1;
      handshake_ = true;
    }
    if (a.first)
      queue(a.first, a.first_body);
    if (a.op)
      queue(a.op, a.body);
    deadline = now_ns() + a.timeout_ns;
    if (!push_out()) {
      closed();
      deadline = 0;
      w_.st = outcome::conn;
      return false;
    }
    w_.h = h;
    return true;
  }
  void queue(int op, std::string_view body) {
    jute m;
    last_xid_ = op == zookeeper_op::ping ? -2 : ++xid_;
    m.i32(last_xid_).i32(op);
    m.s += body;
    frame(m.s);
    carried().requests++;
    expect_++;
  }
  void frame(std::string_view m) {
    u32 n = htonl(u32(m.size()));
    out_.append(reinterpret_cast<char*>(&n), 4);
    out_ += m;
  }
  void on_connected() override {
    if (!push_out())
      fail(outcome::conn);
  }
  void on_fail(outcome why) override {
    up_ = handshake_ = false;
    expect_ = 0;
    if (w_.h)
      w_.wake(why);
    else if (on_watch)
      on_watch(true);
  }
  void on_bytes() override {
    while (fd >= 0) {
      auto in = input();
      if (in.size() < 4)
        return;
      u32 n;
      memcpy(&n, in.data(), 4);
      n = ntohl(n);
      if (n > (64u << 20))
        return fail(outcome::proto);
      if (in.size() < 4 + size_t(n))
        return;
      std::string message(in.substr(4, n));
      consume(4 + size_t(n));
      if (!take(message))
        return fail(outcome::proto);
    }
  }
  // @returns false: no such message can come now
  bool take(std::string_view message) {
    jute_reader r{message};
    if (handshake_) {
      handshake_ = false;
      r.i32();
      int agreed_ms = r.i32();
      session = u64(r.l64());
      if (agreed_ms <= 0 || r.bad) // the session no longer exists
        return false;
      up_ = true;
      code = 0;
      answered();
      return true;
    }
    int xid = r.i32();
    r.l64(); // zxid
    int error = r.i32();
    if (r.bad)
      return false;
    if (xid == -1) {
      if (on_watch)
        on_watch(false);
      return true;
    }
    if (!w_.h || expect_ <= 0)
      return false;
    if (expect_ == 1) {
      if (xid != last_xid_)
        return false;
      code = error;
      reply.assign(r.b);
    }
    answered();
    return true;
  }
  void answered() {
    if (--expect_ > 0)
      return;
    deadline = 0;
    w_.wake(outcome::ok);
  }
  waiter w_;
  bool up_ = false, handshake_ = false;
  int expect_ = 0, xid_ = 0, last_xid_ = 0;
};

/// What ZooKeeper lacks (lists of values or renewals) ends with outcome::status and an error text.
class zookeeper_client : public client {
public:
  explicit zookeeper_client(const options& o) : o_(o), c_(o.server) {
    c_.timeout_ms = o.ttl_s * 1000;
    c_.on_watch = [this](bool lost) {
      fired_ = true;
      lost_ = lost_ || lost;
      if (!watching_)
        return;
      auto h = std::exchange(watching_, {});
      loop().at(0, [h] { h.resume(); }); // outside the connection's own work
    };
  }

  task<outcome> put(const std::string& key, const std::string& value) override {
    outcome s = co_await ask(zookeeper_op::set_data, jute().str("/" + key).str(value).i32(-1).s);
    if (s == outcome::status && c_.code == zookeeper_error::no_node)
      co_return co_await create(key, value);
    co_return s;
  }
  // sync and getData, sent together: the closest to a linearizable read (sync needs no quorum).
  task<outcome> get(const std::string& key, read_mode mode) override {
    if (mode != read_mode::strong)
      co_return data(co_await ask(zookeeper_op::get_data, jute().str("/" + key).flag(false).s));
    co_return data(
        classified(co_await c_.request_both(zookeeper_op::sync, jute().str("/" + key).s, zookeeper_op::get_data,
                                            jute().str("/" + key).flag(false).s, o_.timeout_ns)));
  }
  task<outcome> list(const std::string&) override { co_return missing("ZooKeeper lists names without their values"); }
  // Creates missing nodes.
  task<outcome> txn(const std::vector<std::string>& keys, const std::vector<std::string>& values) override {
    outcome s = co_await multi(keys, values, false);
    if (s != outcome::status || c_.code != zookeeper_error::no_node)
      co_return s;
    s = co_await parents(keys[0]);
    if (s != outcome::ok)
      co_return s;
    co_return co_await multi(keys, values, true);
  }

  // A session is a connection: the previous one stays open.
  task<outcome> session_create(int) override {
    c_.closed();
    outcome s = co_await c_.open(o_.timeout_ns);
    sid = std::to_string(c_.session);
    co_return s;
  }
  task<outcome> session_renew(const std::string&) override { co_return co_await ask(zookeeper_op::ping, {}); }
  task<outcome> session_destroy(const std::string&) override {
    outcome s = co_await ask(zookeeper_op::close, {});
    c_.closed();
    co_return s;
  }

  // The recipe (as for elections): an ephemeral sequential child; waits for the next lower to go.
  task<outcome> lock_prepare(const std::string& name) override {
    outcome s = co_await create(name, "");
    lock_ = "/" + name;
    co_return s;
  }
  task<outcome> lock_acquire() override {
    constexpr int ephemeral_sequential = 3;
    outcome s = co_await ask(zookeeper_op::create, jute().str(lock_ + "/n-").str("").acl().i32(ephemeral_sequential).s);
    if (s != outcome::ok)
      co_return s;
    node_ = std::string(jute_reader{c_.reply}.str());
    if (node_.size() <= lock_.size())
      co_return outcome::body;
    std::string mine = node_.substr(lock_.size() + 1);
    for (;;) {
      s = co_await ask(zookeeper_op::get_children, jute().str(lock_).flag(false).s);
      if (s != outcome::ok)
        co_return s;
      jute_reader r{c_.reply};
      std::string before;
      bool there = false;
      for (int n = r.i32(); n > 0 && !r.bad; n--) {
        std::string_view name = r.str();
        there = there || name == mine;
        if (name < mine && name > before)
          before = std::string(name);
      }
      if (r.bad || !there)
        co_return outcome::body;
      if (before.empty())
        co_return outcome::ok;
      fired_ = lost_ = false;
      s = co_await ask(zookeeper_op::exists, jute().str(lock_ + "/" + before).flag(true).s);
      if (s == outcome::status && c_.code == zookeeper_error::no_node)
        continue;
      if (s != outcome::ok)
        co_return s;
      co_await fired();
      if (lost_)
        co_return outcome::conn;
    }
  }
  task<outcome> lock_release() override { co_return co_await ask(zookeeper_op::erase, jute().str(node_).i32(-1).s); }
  task<outcome> lock_end() override { co_return co_await session_destroy({}); }
  void lock_abandon() override { c_.abandon(); }

  task<outcome> watch_begin(const std::string& key) override {
    watched_ = key;
    fired_ = lost_ = false;
    co_return data(co_await ask(zookeeper_op::get_data, jute().str("/" + key).flag(true).s));
  }
  // A notification has no value: reading it is part of waking up, and sets the watch again.
  task<outcome> watch_next(u64) override {
    co_await fired();
    if (lost_)
      co_return outcome::conn;
    co_return co_await watch_begin(watched_);
  }

private:
  task<outcome> ask(int op, std::string body) {
    outcome s = co_await c_.request(op, std::move(body), o_.timeout_ns);
    co_return classified(s);
  }
  outcome classified(outcome s) {
    if (s != outcome::ok || c_.code == 0)
      return s;
    err = "ZooKeeper's error " + std::to_string(c_.code);
    return outcome::status;
  }
  outcome data(outcome s) {
    if (s != outcome::ok)
      return s;
    jute_reader r{c_.reply};
    got.assign(r.str());
    r.stat();
    return r.bad ? outcome::body : outcome::ok;
  }
  task<outcome> create(const std::string& key, const std::string& value) {
    for (;;) {
      outcome s = co_await ask(zookeeper_op::create, jute().str("/" + key).str(value).acl().i32(0).s);
      if (s == outcome::status && c_.code == zookeeper_error::node_exists)
        co_return co_await ask(zookeeper_op::set_data, jute().str("/" + key).str(value).i32(-1).s);
      if (s != outcome::status || c_.code != zookeeper_error::no_node)
        co_return s;
      s = co_await parents(key);
      if (s != outcome::ok)
        co_return s;
    }
  }
  task<outcome> parents(std::string key) {
    for (size_t p = key.find('/'); p != std::string::npos; p = key.find('/', p + 1)) {
      outcome s = co_await ask(zookeeper_op::create, jute().str("/" + key.substr(0, p)).str("").acl().i32(0).s);
      if (s != outcome::ok && c_.code != zookeeper_error::node_exists)
        co_return s;
    }
    co_return outcome::ok;
  }
  // All nodes in one transaction that creates or sets them. c_.code is the first part's error.
  task<outcome> multi(const std::vector<std::string>& keys, const std::vector<std::string>& values, bool makes) {
    jute m;
    for (size_t i = 0; i < keys.size(); i++) {
      m.i32(makes ? zookeeper_op::create : zookeeper_op::set_data)
          .flag(false)
          .i32(-1)
          .str("/" + keys[i])
          .str(values[i]);
      if (makes)
        m.acl().i32(0);
      else
        m.i32(-1);
    }
    m.i32(-1).flag(true).i32(-1);
    outcome s = co_await ask(zookeeper_op::multi, std::move(m.s));
    if (s != outcome::ok)
      co_return s;
    constexpr int undone_for_another = -2;
    jute_reader r{c_.reply};
    size_t done = 0;
    int first = 0;
    for (;;) {
      int type = r.i32();
      bool end = r.flag();
      r.i32();
      if (end || r.bad)
        break;
      if (type == zookeeper_op::set_data) {
        r.stat();
      } else if (type == zookeeper_op::create) {
        r.str();
      } else if (type == -1) {
        int error = r.i32();
        if (error != undone_for_another && first == 0)
          first = error;
        continue;
      } else {
        r.bad = true;
      }
      if (!r.bad)
        done++;
    }
    if (first != 0) {
      c_.code = first;
      co_return classified(outcome::ok);
    }
    co_return !r.bad && done == keys.size() ? outcome::ok : outcome::body;
  }
  struct fired_awaiter {
    zookeeper_client& c;
    bool await_ready() { return c.fired_; }
    void await_suspend(std::coroutine_handle<> h) { c.watching_ = h; }
    void await_resume() {}
  };
  // Waits until a watch set after fired_ became false has fired, or the connection is lost.
  fired_awaiter fired() { return {*this}; }
  const options& o_;
  zookeeper_connection c_;
  std::string lock_, node_, watched_;
  bool fired_ = false, lost_ = false;
  std::coroutine_handle<> watching_;
};
