#pragma once
// A TCP connection of the load generator to a server on this machine, optionally with TLS.

#include "bench/load/event_loop.hpp"

#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

// What all connections have carried so far: requests, and bytes (before TLS) in each direction.
struct traffic {
  u64 requests = 0, sent = 0, received = 0;
};
inline traffic& carried() {
  static traffic t;
  return t;
}

struct endpoint {
  std::string text;
  sockaddr_in sa{};
  static endpoint parse(const std::string& s) {
    endpoint e;
    e.text = s;
    auto c = s.rfind(':');
    if (c == std::string::npos)
      die("endpoint needs host:port: " + s);
    e.sa.sin_family = AF_INET;
    e.sa.sin_port = htons(uint16_t(atoi(s.c_str() + c + 1)));
    if (inet_pton(AF_INET, s.substr(0, c).c_str(), &e.sa.sin_addr) != 1)
      die("not an IPv4 address: " + s);
    if ((ntohl(e.sa.sin_addr.s_addr) >> 24) != 127)
      die("loopback addresses only: " + s);
    return e;
  }
};

// Null: without TLS. Accepts any certificate, because the server is on this machine.
inline SSL_CTX*& tls_context() {
  static SSL_CTX* context = nullptr;
  return context;
}
inline void use_tls() {
  tls_context() = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(tls_context(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

// A non-blocking stream socket with an output buffer and a growing input buffer.
// Subclasses parse; any failure ends in fail(), which must resume the waiting
// coroutine.
class byte_stream : public pollable {
public:
  explicit byte_stream(const endpoint& e) : ep_(e) { loop().watch_deadlines(this); }
  ~byte_stream() override { close_fd(); }

protected:
  virtual void on_bytes() = 0;           // in_[0..len_) holds unread bytes; call consume()
  virtual void on_fail(outcome why) = 0; // the socket is already closed
  virtual void on_connected() {}

  bool open_fd() {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
      return false;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connected_ = false;
    epoch_++;
    out_.clear();
    off_ = 0;
    beg_ = len_ = 0;
    int r = connect(fd, reinterpret_cast<const sockaddr*>(&ep_.sa), sizeof ep_.sa);
    if (r == 0)
      connected_ = true;
    if (r < 0 && errno != EINPROGRESS) {
      close(fd);
      fd = -1;
      return false;
    }
    if (tls_context() != nullptr) {
      ssl_ = SSL_new(tls_context());
      // Reads with recv(), as without TLS: OpenSSL would need several reads per record.
      SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new_socket(fd, BIO_NOCLOSE));
      SSL_set_connect_state(ssl_);
      drained_ = false;
    }
    loop().add(this);
    return true;
  }
  void close_fd() {
    SSL_free(std::exchange(ssl_, nullptr));
    if (fd >= 0)
      close(fd);
    fd = -1;
    connected_ = false;
  }
  void fail(outcome why) {
    close_fd();
    deadline = 0;
    on_fail(why);
  }
  // @returns false: failed (fail() was NOT called; the caller decides)
  bool push_out() {
    if (!connected_)
      return true;
    while (off_ < out_.size()) {
      ssize_t n = put(out_.data() + off_, out_.size() - off_);
      if (n > 0) {
        off_ += size_t(n);
        carried().sent += size_t(n);
      } else if (n < 0 && errno == EAGAIN) {
        return true;
      } else if (n < 0 && errno == EINTR) {
        continue;
      } else {
        return false;
      }
    }
    out_.clear();
    off_ = 0;
    return true;
  }
  std::string_view input() const { return {in_.data() + beg_, len_ - beg_}; }
  void consume(size_t n) {
    beg_ += n;
    if (beg_ == len_)
      beg_ = len_ = 0;
  }
  void on_timeout() override {
    if (fd >= 0)
      fail(outcome::timeout);
  }
  void on_event(u32) override {
    if (fd < 0)
      return;
    if (!connected_) {
      int err = 0;
      socklen_t l = sizeof err;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &l);
      if (err)
        return fail(outcome::conn);
      sockaddr_in peer;
      socklen_t pl = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &pl) < 0) {
        if (errno == ENOTCONN)
          return;
        return fail(outcome::conn);
      }
      connected_ = true;
      on_connected();
      if (fd < 0)
        return;
    }
    if (off_ < out_.size() && !push_out())
      return fail(outcome::conn);
    for (;;) {
      if (beg_ > 0 && beg_ == len_)
        beg_ = len_ = 0;
      if (in_.size() - len_ < 4096) {
        if (beg_ > 0) {
          memmove(in_.data(), in_.data() + beg_, len_ - beg_);
          len_ -= beg_;
          beg_ = 0;
        }
        if (in_.size() - len_ < 4096)
          in_.resize(std::max<size_t>(8192, in_.size() * 2));
      }
      size_t space = in_.size() - len_;
      ssize_t n = get(in_.data() + len_, space);
      if (n > 0) {
        len_ += size_t(n);
        carried().received += size_t(n);
        unsigned was = epoch_;
        on_bytes();
        if (fd < 0 || epoch_ != was)
          return;
        if (ssl_ == nullptr ? size_t(n) < space
                            : drained_ && SSL_has_pending(ssl_) == 0 && BIO_pending(SSL_get_rbio(ssl_)) == 0)
          return; // the next arrival is a new edge
      } else if (n == 0) {
        return fail(outcome::conn);
      } else if (errno == EAGAIN) {
        if (ssl_ != nullptr && !push_out()) // output that waited for the end of the handshake
          return fail(outcome::conn);
        return;
      } else if (errno != EINTR) {
        return fail(outcome::conn);
      }
    }
  }

  endpoint ep_;
  std::string out_;
  size_t off_ = 0;
  bool connected_ = false;

private:
  // Like send() and recv(), with or without TLS.
  ssize_t put(const char* bytes, size_t size) {
    return ssl_ == nullptr ? send(fd, bytes, size, MSG_NOSIGNAL) : classified(SSL_write(ssl_, bytes, int(size)));
  }
  ssize_t get(char* bytes, size_t size) {
    if (ssl_ == nullptr)
      return recv(fd, bytes, size, 0);
    for (;;) {
      ssize_t n = classified(SSL_read(ssl_, bytes, int(size)));
      if (n >= 0 || errno != EAGAIN)
        return n;
      char sealed[16384];
      ssize_t bytes_read = recv(fd, sealed, sizeof sealed, 0);
      if (bytes_read <= 0)
        return bytes_read;
      drained_ = size_t(bytes_read) < sizeof sealed;
      BIO_write(SSL_get_rbio(ssl_), sealed, int(bytes_read));
    }
  }
  ssize_t classified(int n) {
    if (n > 0)
      return n;
    const int why = SSL_get_error(ssl_, n);
    if (why == SSL_ERROR_ZERO_RETURN)
      return 0;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
  }

  SSL* ssl_ = nullptr;
  bool drained_ = false; ///< with TLS: the last read drained the socket
  std::vector<char> in_;
  size_t beg_ = 0, len_ = 0;
  unsigned epoch_ = 0;
};

// One waiting coroutine and its outcome.
struct waiter {
  std::coroutine_handle<> h;
  outcome st = outcome::ok;
  void wake(outcome s) {
    st = s;
    if (h)
      std::exchange(h, {}).resume();
  }
};
