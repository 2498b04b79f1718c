#pragma once
// HTTP/1.1 connections of the load generator, with keep-alive: one request at a time on each.

#include "bench/load/stream.hpp"

class http_connection : public byte_stream {
public:
  using byte_stream::byte_stream;
  int status = 0;
  u64 index = 0;         // X-Consul-Index
  std::string_view body; // valid until the next request

  /// Closes the connection. A waiting request ends as lost.
  void drop() {
    if (fd >= 0)
      fail(outcome::conn);
  }
  // co_await c.request(bytes, timeout) -> outcome (ok: a complete response, any status)
  auto request(std::string bytes, u64 timeout_ns) {
    struct awaiter {
      http_connection& c;
      std::string b;
      u64 t;
      bool await_ready() { return false; }
      bool await_suspend(std::coroutine_handle<> h) { return c.begin(std::move(b), t, h); }
      outcome await_resume() { return c.w_.st; }
    };
    return awaiter{*this, std::move(bytes), timeout_ns};
  }

private:
  bool begin(std::string b, u64 t, std::coroutine_handle<> h) {
    status = 0;
    index = 0;
    body = {};
    if (done_)
      consume(done_), done_ = 0;
    if (fd < 0) {
      done_ = 0;
      if (!open_fd()) {
        w_.st = outcome::conn;
        return false;
      }
    }
    carried().requests++;
    out_ = std::move(b);
    off_ = 0;
    deadline = now_ns() + t;
    scan_ = 0;
    hdr_ = 0;
    if (!push_out()) {
      close_fd();
      deadline = 0;
      w_.st = outcome::conn;
      return false;
    }
    w_.h = h;
    return true;
  }
  void finish(outcome s) {
    deadline = 0;
    w_.wake(s);
  }
  void on_fail(outcome why) override {
    done_ = 0;
    w_.wake(why);
  }
  static bool ieq(std::string_view a, const char* lower) {
    for (char c : a) {
      if (!*lower || (c | 0x20) != *lower)
        return false; // header names: letters and '-' (0x2d|0x20 == 0x2d)
      lower++;
    }
    return !*lower;
  }
  void on_bytes() override {
    if (!w_.h)
      return fail(outcome::proto); // a response without a request
    std::string_view in = input();
    if (!hdr_) {
      size_t from = scan_ > 3 ? scan_ - 3 : 0;
      size_t e = in.find("\r\n\r\n", from);
      if (e == std::string_view::npos) {
        scan_ = in.size();
        return;
      }
      if (in.size() < 12 || memcmp(in.data(), "HTTP/1.", 7) != 0)
        return fail(outcome::proto);
      status = (in[9] - '0') * 100 + (in[10] - '0') * 10 + (in[11] - '0');
      clen_ = -1;
      chunked_ = close_ = false;
      size_t p = in.find("\r\n") + 2;
      while (p < e + 2) {
        size_t q = in.find("\r\n", p);
        std::string_view l = in.substr(p, q - p);
        size_t c = l.find(':');
        if (c != std::string_view::npos) {
          std::string_view n = l.substr(0, c), v = l.substr(c + 1);
          while (!v.empty() && v[0] == ' ')
            v.remove_prefix(1);
          switch (n.size()) {
          case 14:
            if (ieq(n, "content-length")) {
              clen_ = 0;
              for (char ch : v)
                clen_ = clen_ * 10 + (ch - '0');
            } else if (ieq(n, "x-consul-index")) {
              index = 0;
              for (char ch : v)
                index = index * 10 + u64(ch - '0');
            }
            break;
          case 17:
            if (ieq(n, "transfer-encoding"))
              chunked_ = v.find("chunked") != std::string_view::npos;
            break;
          case 10:
            if (ieq(n, "connection"))
              close_ = v.find("close") != std::string_view::npos;
            break;
          }
        }
        p = q + 2;
      }
      hdr_ = e + 4;
      if (!chunked_ && clen_ < 0)
        clen_ = 0;
      cpos_ = hdr_;
      text_.clear();
    }
    if (!chunked_) {
      if (in.size() < hdr_ + size_t(clen_))
        return;
      body = in.substr(hdr_, size_t(clen_));
      done_ = hdr_ + size_t(clen_);
      return complete();
    }
    for (;;) {
      size_t q = in.find("\r\n", cpos_);
      if (q == std::string_view::npos)
        return;
      size_t n = 0;
      for (size_t i = cpos_; i < q; i++) {
        char ch = in[i];
        int d = ch >= '0' && ch <= '9'                     ? ch - '0'
                : (ch | 0x20) >= 'a' && (ch | 0x20) <= 'f' ? (ch | 0x20) - 'a' + 10
                                                           : -1;
        if (d < 0)
          break;
        n = n * 16 + size_t(d);
      }
      if (in.size() < q + 2 + n + 2)
        return;
      if (n == 0) {
        body = text_;
        done_ = q + 4;
        return complete();
      }
      text_.append(in.substr(q + 2, n));
      cpos_ = q + 2 + n + 2;
    }
  }
  void complete() {
    if (close_) {
      text_.assign(body);
      body = text_;
      done_ = 0;
      close_fd();
    }
    finish(outcome::ok);
  }
  waiter w_;
  size_t scan_ = 0, hdr_ = 0, done_ = 0, cpos_ = 0;
  long clen_ = 0;
  bool chunked_ = false, close_ = false;
  std::string text_;
};
