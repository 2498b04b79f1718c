#pragma once
// gRPC calls of the load generator over one HTTP/2 connection, with nghttp2.

#include "bench/load/stream.hpp"

#include <nghttp2/nghttp2.h>

#include <unordered_map>

class grpc_connection;
// One gRPC call. Unary: wake() when the stream has closed. Streaming: on_message for each message;
// wake() when the stream ends.
struct grpc_call {
  std::string out; // framed bytes still to send
  size_t off = 0;
  bool half_close = true, deferred = false, open = false;
  std::string in; // received bytes not yet split into messages
  int grpc_status = -1;
  std::string grpc_message;
  int32_t stream = -1;
  u64 deadline = 0;
  waiter w;
  std::function<void(std::string_view)> on_message;
  std::function<void(outcome)> on_end;
  static void frame(std::string& to, std::string_view m) {
    u32 n = htonl(u32(m.size()));
    to += '\0';
    to.append(reinterpret_cast<char*>(&n), 4);
    to += m;
  }
};

class grpc_connection : public byte_stream, public flushable {
public:
  using byte_stream::byte_stream;
  ~grpc_connection() override { drop_session(); }

  // Starts a call; the grpc_call must outlive it. @returns false: could not connect
  bool start(grpc_call* c, const char* path, u64 timeout_ns) {
    if (fd < 0 && !(drop_session(), open_fd() && make_session()))
      return false;
    auto nv = [](const char* n, std::string_view v) {
      return nghttp2_nv{(uint8_t*)n, (uint8_t*)v.data(), strlen(n), v.size(), NGHTTP2_NV_FLAG_NONE};
    };
    nghttp2_nv h[] = {nv(":method", "POST"),
                      nv(":scheme", "http"),
                      nv(":path", path),
                      nv(":authority", ep_.text),
                      nv("content-type", "application/grpc"),
                      nv("te", "trailers")};
    nghttp2_data_provider dp;
    dp.source.ptr = c;
    dp.read_callback = read_cb;
    c->in.clear();
    c->grpc_status = -1;
    c->deferred = false;
    c->stream = nghttp2_submit_request(s_, nullptr, h, 6, &dp, c);
    if (c->stream < 0)
      return false;
    c->open = true;
    c->deadline = timeout_ns ? now_ns() + timeout_ns : 0;
    calls_.insert({c->stream, c});
    if (!deadline)
      deadline = now_ns() + 50'000'000;
    loop().mark_dirty(this);
    return true;
  }
  // Starts a call whose messages follow by send(). @returns false: could not connect
  bool open_stream(grpc_call* c, const char* path) {
    c->out.clear();
    c->off = 0;
    c->half_close = false;
    return start(c, path, 0);
  }
  /// Closes the connection. All calls on it end.
  void drop() {
    if (fd >= 0)
      fail(outcome::conn);
  }
  // A further message on an open stream.
  void send(grpc_call* c, std::string_view m) {
    carried().requests++;
    grpc_call::frame(c->out, m);
    if (c->deferred) {
      c->deferred = false;
      nghttp2_session_resume_data(s_, c->stream);
    }
    loop().mark_dirty(this);
  }
  // co_await unary(call, path, request, timeout) -> outcome; the reply in call.in (see reply())
  auto unary(grpc_call& c, const char* path, std::string_view m, u64 timeout_ns) {
    struct awaiter {
      grpc_connection& hc;
      grpc_call& c;
      const char* path;
      u64 t;
      bool await_ready() { return false; }
      bool await_suspend(std::coroutine_handle<> h) {
        if (!hc.start(&c, path, t)) {
          c.w.st = outcome::conn;
          return false;
        }
        c.w.h = h;
        return true;
      }
      outcome await_resume() { return c.w.st; }
    };
    c.out.clear();
    c.off = 0;
    c.half_close = true;
    carried().requests++;
    grpc_call::frame(c.out, m);
    return awaiter{*this, c, path, timeout_ns};
  }
  void flush() override {
    if (!s_ || fd < 0)
      return;
    if (!pump())
      fail(outcome::conn);
  }

private:
  bool pump() {
    for (;;) {
      const uint8_t* p;
      ssize_t n = nghttp2_session_mem_send(s_, &p);
      if (n < 0)
        return false;
      if (n == 0)
        break;
      out_.append(reinterpret_cast<const char*>(p), size_t(n));
    }
    return push_out();
  }
  bool make_session() {
    nghttp2_session_callbacks* cb;
    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback(cb, header_cb);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, data_cb);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, close_cb);
    nghttp2_option* op;
    nghttp2_option_new(&op);
    nghttp2_option_set_peer_max_concurrent_streams(op, 1 << 20);
    int r = nghttp2_session_client_new2(&s_, cb, this, op);
    nghttp2_option_del(op);
    nghttp2_session_callbacks_del(cb);
    if (r)
      return false;
    nghttp2_settings_entry iv[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 8 << 20}, {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_submit_settings(s_, NGHTTP2_FLAG_NONE, iv, 2);
    nghttp2_session_set_local_window_size(s_, NGHTTP2_FLAG_NONE, 0, 64 << 20);
    return true;
  }
  void drop_session() {
    if (s_)
      nghttp2_session_del(s_);
    s_ = nullptr;
  }
  void on_connected() override {
    if (!push_out())
      fail(outcome::conn);
  }
  void on_bytes() override {
    auto in = input();
    unsigned gen = gen_;
    ssize_t n = nghttp2_session_mem_recv(s_, reinterpret_cast<const uint8_t*>(in.data()), in.size());
    if (gen != gen_)
      return;
    if (n < 0)
      return fail(outcome::proto);
    consume(size_t(n));
    wake_done();
    if (s_ && fd >= 0 && (nghttp2_session_want_write(s_)))
      loop().mark_dirty(this);
    if (s_ && fd >= 0 && calls_.empty() && !nghttp2_session_want_read(s_))
      fail(outcome::conn);
  }
  void wake_done() {
    while (!done_.empty()) {
      std::vector<std::pair<grpc_call*, outcome>> d;
      d.swap(done_);
      for (auto& [c, st] : d) {
        if (c->on_end)
          c->on_end(st);
        c->w.wake(st);
      }
    }
  }
  void on_fail(outcome why) override {
    gen_++;
    drop_session();
    auto m = std::move(calls_);
    calls_.clear();
    for (auto& [id, c] : m) {
      c->open = false;
      done_.push_back({c, why});
    }
    wake_done();
  }
  // The stream-level deadline: any overdue call fails the connection.
  void on_timeout() override {
    if (fd < 0)
      return;
    u64 n = now_ns();
    for (auto& [id, c] : calls_)
      if (c->deadline && c->deadline <= n)
        return fail(outcome::timeout);
    deadline = calls_.empty() ? 0 : n + 50'000'000;
  }
  static ssize_t read_cb(nghttp2_session*, int32_t, uint8_t* buf, size_t len, u32* flags, nghttp2_data_source* src,
                         void*) {
    grpc_call* c = static_cast<grpc_call*>(src->ptr);
    size_t n = std::min(len, c->out.size() - c->off);
    memcpy(buf, c->out.data() + c->off, n);
    c->off += n;
    if (c->off == c->out.size()) {
      c->out.clear();
      c->off = 0;
      if (c->half_close) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
      } else if (n == 0) {
        c->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
      }
    }
    return ssize_t(n);
  }
  static int header_cb(nghttp2_session* s, const nghttp2_frame* f, const uint8_t* n, size_t nl, const uint8_t* v,
                       size_t vl, uint8_t, void*) {
    grpc_call* c = static_cast<grpc_call*>(nghttp2_session_get_stream_user_data(s, f->hd.stream_id));
    if (!c)
      return 0;
    std::string_view name(reinterpret_cast<const char*>(n), nl), val(reinterpret_cast<const char*>(v), vl);
    if (name == "grpc-status")
      c->grpc_status = atoi(std::string(val).c_str());
    else if (name == "grpc-message")
      c->grpc_message = std::string(val);
    return 0;
  }
  static int data_cb(nghttp2_session* s, uint8_t, int32_t id, const uint8_t* d, size_t n, void*) {
    grpc_call* c = static_cast<grpc_call*>(nghttp2_session_get_stream_user_data(s, id));
    if (!c)
      return 0;
    c->in.append(reinterpret_cast<const char*>(d), n);
    if (c->on_message) {
      size_t p = 0;
      while (c->in.size() - p >= 5) {
        u32 l;
        memcpy(&l, c->in.data() + p + 1, 4);
        l = ntohl(l);
        if (c->in.size() - p - 5 < l)
          break;
        c->on_message(std::string_view(c->in).substr(p + 5, l));
        p += 5 + l;
      }
      c->in.erase(0, p);
    }
    return 0;
  }
  static int close_cb(nghttp2_session* s, int32_t id, u32 code, void* u) {
    auto* self = static_cast<grpc_connection*>(u);
    grpc_call* c = static_cast<grpc_call*>(nghttp2_session_get_stream_user_data(s, id));
    if (!c)
      return 0;
    self->calls_.erase(id);
    c->open = false;
    outcome st = code ? outcome::proto : c->grpc_status == 0 ? outcome::ok : outcome::status;
    if (c->grpc_status > 0)
      st = outcome::status;
    self->done_.push_back({c, st});
    return 0;
  }
  nghttp2_session* s_ = nullptr;
  unsigned gen_ = 0;
  std::unordered_map<int32_t, grpc_call*> calls_;
  std::vector<std::pair<grpc_call*, outcome>> done_;
};
