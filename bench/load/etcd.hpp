#pragma once
// A client of the load generator for etcd's v3 API over gRPC.

#include "bench/load/client.hpp"
#include "bench/load/grpc.hpp"
#include "bench/load/protobuf.hpp"

#include <map>

// Clients may share connections, and watches on one connection share one Watch stream (as in the
// official client).
struct etcd_watches {
  grpc_connection* c;
  grpc_call call;
  struct watch {
    i64 id = -1;
    std::function<void(int kind, std::string_view kv)> f; // 0: created, 1: put, 2: delete, 3: ended
  };
  std::map<i64, watch*> by_id;
  std::vector<watch*> creating;
  size_t created_head = 0;
  bool up = false;
  explicit etcd_watches(grpc_connection* x) : c(x) {}
  bool ensure() {
    if (up)
      return true;
    call.on_message = [this](std::string_view m) { on(m); };
    call.on_end = [this](outcome) {
      up = false;
      auto a = std::move(by_id);
      auto b = std::move(creating);
      by_id.clear();
      creating.clear();
      for (auto& [i, w] : a)
        w->f(3, {});
      for (auto* w : b)
        w->f(3, {});
    };
    up = c->open_stream(&call, "/etcdserverpb.Watch/Watch");
    return up;
  }
  /// @param end watches all keys from `key` up to this one; empty: only `key`
  bool create(watch* w, std::string_view key, i64 rev, std::string_view end = {}) {
    if (!ensure())
      return false;
    protobuf cr;
    cr.bytes(1, key);
    if (!end.empty())
      cr.bytes(2, end);
    if (rev)
      cr.num(3, u64(rev));
    protobuf r;
    r.msg(1, cr);
    creating.push_back(w);
    c->send(&call, r.s);
    return true;
  }
  void cancel(watch* w) {
    if (w->id < 0 || !up)
      return;
    by_id.erase(w->id);
    protobuf cr;
    cr.num(1, u64(w->id));
    protobuf r;
    r.msg(2, cr);
    c->send(&call, r.s);
    w->id = -1;
  }
  void on(std::string_view m) {
    protobuf_reader r(m);
    i64 id = 0;
    bool created = false, canceled = false;
    std::vector<std::string_view> evs;
    while (r.next()) {
      if (r.field == 2)
        id = i64(r.v);
      else if (r.field == 3)
        created = r.v;
      else if (r.field == 4)
        canceled = r.v;
      else if (r.field == 11)
        evs.push_back(r.d);
    }
    if (created) { // the server responds to creations in order
      if (creating.empty())
        return;
      watch* w = creating.front();
      creating.erase(creating.begin());
      w->id = id;
      by_id[id] = w;
      w->f(canceled ? 3 : 0, {});
      return;
    }
    for (auto e : evs) {
      auto it = by_id.find(id);
      if (it == by_id.end())
        return;
      protobuf_reader er(e);
      int type = 0;
      std::string_view kv;
      while (er.next()) {
        if (er.field == 1)
          type = int(er.v);
        else if (er.field == 2)
          kv = er.d;
      }
      it->second->f(type == 0 ? 1 : 2, kv);
    }
  }
};

struct etcd_connection {
  grpc_connection c;
  etcd_watches hub;
  explicit etcd_connection(const endpoint& e) : c(e), hub(&c) {}
};

struct etcd_entry {
  std::string_view key, value;
  i64 create = 0, mod = 0;
  static etcd_entry parse(std::string_view b) {
    etcd_entry k;
    protobuf_reader r(b);
    while (r.next()) {
      if (r.field == 1)
        k.key = r.d;
      else if (r.field == 2)
        k.create = i64(r.v);
      else if (r.field == 3)
        k.mod = i64(r.v);
      else if (r.field == 5)
        k.value = r.d;
    }
    return k;
  }
};

class etcd_client : public client {
public:
  etcd_client(const options& o, std::shared_ptr<etcd_connection> c) : o_(o), c_(std::move(c)) {}

  task<outcome> put(const std::string& key, const std::string& val) override {
    protobuf m;
    m.bytes(1, key).bytes(2, val);
    co_return co_await call("/etcdserverpb.KV/Put", m);
  }
  task<outcome> get(const std::string& key, read_mode mode) override {
    protobuf m;
    m.bytes(1, key);
    if (mode == read_mode::stale)
      m.num(7, 1); // RangeRequest.serializable
    outcome s = co_await call("/etcdserverpb.KV/Range", m);
    if (s != outcome::ok)
      co_return s;
    int n = 0;
    protobuf_reader r(reply_);
    while (r.next())
      if (r.field == 2) {
        auto kv = etcd_entry::parse(r.d);
        if (kv.key != key)
          co_return outcome::body;
        got.assign(kv.value);
        wrev_ = kv.mod;
        n++;
      }
    co_return n == 1 && !r.bad ? outcome::ok : outcome::body;
  }
  task<outcome> list(const std::string& prefix) override {
    protobuf m;
    m.bytes(1, prefix).bytes(2, end_of(prefix));
    outcome s = co_await call("/etcdserverpb.KV/Range", m);
    if (s != outcome::ok)
      co_return s;
    listed = 0;
    protobuf_reader r(reply_);
    while (r.next())
      if (r.field == 2) {
        auto kv = etcd_entry::parse(r.d);
        if (kv.value.size() == o_.vsize)
          listed++;
      }
    co_return r.bad ? outcome::body : outcome::ok;
  }
  task<outcome> txn(const std::vector<std::string>& keys, const std::vector<std::string>& vals) override {
    protobuf t;
    for (size_t i = 0; i < keys.size(); i++) {
      protobuf p, op;
      p.bytes(1, keys[i]).bytes(2, vals[i]);
      op.msg(2, p);
      t.msg(2, op);
    }
    outcome s = co_await call("/etcdserverpb.KV/Txn", t);
    if (s != outcome::ok)
      co_return s;
    size_t n = 0;
    bool ok = false;
    protobuf_reader r(reply_);
    while (r.next()) {
      if (r.field == 2)
        ok = r.v;
      if (r.field == 3)
        n++;
    }
    co_return ok&& n == keys.size() ? outcome::ok : outcome::body;
  }

  task<outcome> session_create(int ttl_s) override {
    protobuf m;
    m.num(1, u64(ttl_s));
    outcome s = co_await call("/etcdserverpb.Lease/LeaseGrant", m);
    if (s != outcome::ok)
      co_return s;
    u64 id = 0;
    protobuf_reader r(reply_);
    while (r.next())
      if (r.field == 2)
        id = r.v;
    sid = std::to_string(id);
    co_return id ? outcome::ok : outcome::body;
  }
  // Uses one long-lived LeaseKeepAlive stream, as the official client does.
  task<outcome> session_renew(const std::string& id) override {
    std::vector<std::string> one(1, id);
    co_return co_await session_renew_list(one);
  }
  // Sends all at once; the server responds in their order.
  task<outcome> session_renew_list(const std::vector<std::string>& ids) override {
    if (!ka_.open) {
      ka_.on_message = [this](std::string_view m) {
        i64 ttl = 0;
        u64 id = 0;
        protobuf_reader r(m);
        while (r.next()) {
          if (r.field == 2)
            id = r.v;
          if (r.field == 3)
            ttl = i64(r.v);
        }
        if (ttl > 0 && ka_answers_ < ka_ids_.size() && id == ka_ids_[ka_answers_])
          ka_renewed_++;
        if (++ka_answers_ == ka_ids_.size())
          wake(outcome::ok);
      };
      ka_.on_end = [this](outcome s) { wake(s == outcome::ok ? outcome::proto : s); };
      if (!c_->c.open_stream(&ka_, "/etcdserverpb.Lease/LeaseKeepAlive"))
        co_return outcome::conn;
    }
    ka_ids_.clear();
    ka_answers_ = ka_renewed_ = 0;
    for (const auto& id : ids)
      ka_ids_.push_back(strtoull(id.c_str(), nullptr, 10));
    for (u64 id : ka_ids_) {
      protobuf m;
      m.num(1, id);
      c_->c.send(&ka_, m.s);
    }
    outcome s = co_await wait();
    if (s != outcome::ok)
      co_return s;
    co_return ka_renewed_ == ka_ids_.size() ? outcome::ok : outcome::body;
  }
  task<outcome> session_destroy(const std::string& id) override {
    protobuf m;
    m.num(1, strtoull(id.c_str(), nullptr, 10));
    co_return co_await call("/etcdserverpb.Lease/LeaseRevoke", m);
  }

  // The concurrency package's Mutex. It creates a key under the lock's prefix in a transaction.
  // Unless that is the oldest, it waits for the deletion of the next older one.
  task<outcome> lock_prepare(const std::string& name) override {
    outcome s = co_await session_create(o_.ttl_s);
    my_ = sid;
    char b[40];
    snprintf(b, sizeof b, "%llx", strtoull(my_.c_str(), nullptr, 10));
    lname_ = name;
    lpfx_ = name + "/";
    lkey_ = lpfx_ + b;
    co_return s;
  }
  task<outcome> lock_acquire() override {
    if (o_.lock_rpc)
      co_return co_await ask_server();
    co_return co_await acquire_by_recipe();
  }

  // v3lockpb and v3electionpb: the server follows the recipe.
  task<outcome> ask_server() {
    protobuf m;
    m.bytes(1, lname_).num(2, strtoull(my_.c_str(), nullptr, 10));
    if (o_.elect)
      m.bytes(3, my_);
    outcome s =
        co_await call(o_.elect ? "/v3electionpb.Election/Campaign" : "/v3lockpb.Lock/Lock", m, 60'000'000'000ull);
    if (s != outcome::ok)
      co_return s;
    granted_.clear();
    protobuf_reader r(reply_);
    while (r.next())
      if (r.field == 2)
        granted_ = std::string(r.d); // the lock's key, or the leader
    co_return granted_.empty() ? outcome::body : outcome::ok;
  }
  task<outcome> acquire_by_recipe() {
    protobuf cmp, put, put_op, get, get_op, own, own_op, t;
    cmp.num(1, 0).num(2, 1).bytes(3, lkey_).num(5, 0);
    put.bytes(1, lkey_).num(3, strtoull(my_.c_str(), nullptr, 10));
    put_op.msg(2, put);
    get.bytes(1, lkey_);
    get_op.msg(1, get);
    own.bytes(1, lpfx_).bytes(2, end_of(lpfx_)).num(3, 1).num(5, 1).num(6, 2); // limit 1, ascending by create revision
    own_op.msg(1, own);
    t.msg(1, cmp).msg(2, put_op).msg(2, own_op).msg(3, get_op).msg(3, own_op);
    outcome s = co_await call("/etcdserverpb.KV/Txn", t);
    if (s != outcome::ok)
      co_return s;
    i64 rev = 0, my_rev = 0, own_rev = 0;
    bool ok = false;
    {
      protobuf_reader r(reply_);
      int i = 0;
      while (r.next()) {
        if (r.field == 1) {
          rev = revision(r.d);
        } else if (r.field == 2) {
          ok = r.v;
        } else if (r.field == 3) {
          protobuf_reader op(r.d);
          while (op.next())
            if (op.field == 1) { // a range response
              protobuf_reader rr(op.d);
              while (rr.next())
                if (rr.field == 2) {
                  auto kv = etcd_entry::parse(rr.d);
                  if (i == 0)
                    my_rev = kv.create;
                  else
                    own_rev = kv.create;
                }
            }
          i++;
        }
      }
    }
    if (ok)
      my_rev = rev;
    if (own_rev == 0 || own_rev == my_rev)
      co_return outcome::ok;
    for (;;) {
      protobuf g; // the newest key older than mine
      g.bytes(1, lpfx_).bytes(2, end_of(lpfx_)).num(3, 1).num(5, 2).num(6, 2).num(13, u64(my_rev - 1));
      s = co_await call("/etcdserverpb.KV/Range", g);
      if (s != outcome::ok)
        co_return s;
      std::string prev;
      i64 prev_rev = 0;
      rev = 0;
      protobuf_reader r(reply_);
      while (r.next()) {
        if (r.field == 1) {
          rev = revision(r.d);
        } else if (r.field == 2) {
          auto kv = etcd_entry::parse(r.d);
          prev = std::string(kv.key);
          prev_rev = kv.create;
        }
      }
      if (prev.empty())
        break;
      bool tuned = o_.lock_tuned;
      gone_ = false;
      w_.id = -1;
      w_.f = [this, tuned](int kind, std::string_view) {
        if (kind == 2)
          gone_ = true;
        if (kind >= 2)
          wake(kind == 2 ? outcome::ok : outcome::conn);
        else if (kind == 0 && tuned)
          wake(outcome::ok);
      };
      // The official client watches from the revision that it read. The server checks such
      // unsynced watches every 100 ms. Tuned: watch from now on, then check whether the key still
      // exists.
      if (!c_->hub.create(&w_, prev, tuned ? 0 : rev))
        co_return outcome::conn;
      outcome st = outcome::ok;
      if (tuned) {
        st = co_await wait(); // created
        if (st != outcome::ok)
          co_return st;
        protobuf p;
        p.bytes(1, prev).num(8, 1);
        s = co_await call("/etcdserverpb.KV/Range", p);
        if (s != outcome::ok)
          co_return s;
        bool there = false;
        protobuf_reader pr(reply_);
        while (pr.next())
          if (pr.field == 2 && etcd_entry::parse(pr.d).create == prev_rev)
            there = true; // not a later incarnation
        if (!there)
          gone_ = true;
      }
      while (!gone_ && st == outcome::ok)
        st = co_await wait();
      if (st != outcome::ok)
        co_return st;
      ready_ = false;
      c_->hub.cancel(&w_);
    }
    protobuf mine; // does my key still exist (session alive)?
    mine.bytes(1, lkey_);
    co_return co_await call("/etcdserverpb.KV/Range", mine);
  }
  task<outcome> lock_release() override {
    protobuf m;
    if (o_.lock_rpc) {
      m.bytes(1, granted_);
      co_return co_await call(o_.elect ? "/v3electionpb.Election/Resign" : "/v3lockpb.Lock/Unlock", m);
    }
    m.bytes(1, lkey_);
    co_return co_await call("/etcdserverpb.KV/DeleteRange", m);
  }
  task<outcome> lock_end() override { co_return co_await session_destroy(my_); }
  void lock_abandon() override { c_->c.drop(); }
  std::string lock_session() const override { return my_; }

  task<outcome> watch_begin(const std::string& key) override {
    outcome s = co_await get(key, read_mode::strong);
    if (s != outcome::ok)
      co_return s;
    events_ = 0;
    w_.id = -1;
    w_.f = [this](int kind, std::string_view kv) {
      if (kind == 1) {
        events_++;
        got.assign(etcd_entry::parse(kv).value);
      }
      wake(kind == 3 ? outcome::conn : outcome::ok);
    };
    const std::string prefix = key.substr(0, key.rfind('/') + 1);
    const bool created =
        o_.follow ? c_->hub.create(&w_, prefix, wrev_ + 1, end_of(prefix)) : c_->hub.create(&w_, key, wrev_ + 1);
    if (!created)
      co_return outcome::conn;
    co_return co_await wait();
  }
  task<outcome> watch_next(u64) override {
    if (events_ == 0) {
      outcome s = co_await wait();
      if (s != outcome::ok)
        co_return s;
    }
    if (events_ == 0)
      co_return outcome::body;
    events_--;
    co_return outcome::ok;
  }

private:
  // The revision of the whole store, from the header of a response.
  static i64 revision(std::string_view header) {
    i64 found = 0;
    protobuf_reader r(header);
    while (r.next())
      if (r.field == 3)
        found = i64(r.v);
    return found;
  }
  static std::string end_of(std::string p) {
    p.back() = char(p.back() + 1);
    return p;
  }
  task<outcome> call(const char* path, const protobuf& m, u64 longer_ns = 0) {
    outcome s = co_await c_->c.unary(call_, path, m.s, o_.timeout_ns + longer_ns);
    if (s != outcome::ok) {
      if (s == outcome::status)
        err = std::to_string(call_.grpc_status) + " " + call_.grpc_message.substr(0, 160);
      co_return s;
    }
    if (call_.in.size() < 5)
      co_return outcome::proto;
    reply_ = std::string_view(call_.in).substr(5);
    // The header of every etcd response names the cluster.
    if (reply_.empty() || reply_[0] != 0x0a)
      co_return outcome::body;
    co_return outcome::ok;
  }
  // A one-slot event for streams.
  struct wait_awaiter {
    etcd_client& c;
    bool await_ready() { return c.ready_; }
    void await_suspend(std::coroutine_handle<> h) { c.ev_.h = h; }
    outcome await_resume() {
      c.ready_ = false;
      return c.ev_.st;
    }
  };
  wait_awaiter wait() { return {*this}; }
  void wake(outcome s) {
    ready_ = true;
    ev_.st = s;
    if (ev_.h) {
      // Resumes outside of nghttp2's callbacks.
      auto h = std::exchange(ev_.h, {});
      loop().at(0, [h] { h.resume(); });
    }
  }
  const options& o_;
  std::shared_ptr<etcd_connection> c_;
  grpc_call call_, ka_;
  std::string_view reply_;
  std::string my_, lname_, lpfx_, lkey_;
  std::string granted_; ///< what the Lock or Election RPC needs for the release
  i64 wrev_ = 0;
  std::vector<u64> ka_ids_; ///< in flight on the keep-alive stream
  size_t ka_answers_ = 0, ka_renewed_ = 0;
  int events_ = 0;
  etcd_watches::watch w_;
  waiter ev_;
  bool ready_ = false;
  bool gone_ = false; // the key that a lock waits for
};
