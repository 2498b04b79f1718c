#include "actors/gateway/http_listener.hpp"

#include "actors/spare_descriptors.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace belay::actors {

namespace {

// Accepted in one turn of the loop before other connections are served.
constexpr int accepts_per_batch = 64;
// When no file descriptors are left, other connections must be closed before this one is accepted.
constexpr std::chrono::milliseconds clients_wait_without_descriptors{100};

constexpr char nearly_used_up[] = "file descriptors are nearly used up; the remaining ones are reserved for the log";

failure refused(const char* step, const std::string& name, int error) {
  return failure{"listen " + name + ": " + step + ": " + std::strerror(error)};
}

void set_option(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

/// A server that is gone leaves its socket file behind; one that responds must not be removed.
bool is_dead_socket(const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(address.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
    return false;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0)
    return false;
  const bool dead =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return dead;
}

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  sockaddr* any() { return reinterpret_cast<sockaddr*>(&bytes); }
};

bool fill(socket_address& to, const listen_address& from) {
  if (!from.unix_path.empty()) {
    auto& un = reinterpret_cast<sockaddr_un&>(to.bytes);
    if (from.unix_path.size() >= sizeof un.sun_path)
      return false;
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, from.unix_path.c_str(), from.unix_path.size() + 1);
    to.size = sizeof un;
    return true;
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(to.bytes);
  if (::inet_pton(AF_INET, from.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(from.port);
    to.size = sizeof v4;
    return true;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(to.bytes);
  if (::inet_pton(AF_INET6, from.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(from.port);
    to.size = sizeof v6;
    return true;
  }
  return false;
}

unsigned port_of(const socket_address& a) {
  if (a.bytes.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(a.bytes).sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6&>(a.bytes).sin6_port);
}

std::string ip_of(const socket_address& a) {
  char text[INET6_ADDRSTRLEN] = "";
  if (a.bytes.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(a.bytes).sin_addr, text, sizeof text);
  } else if (a.bytes.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(a.bytes).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&ip))
      ::inet_ntop(AF_INET, &ip.s6_addr[12], text, sizeof text);
    else
      ::inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  return text;
}

/// @returns nullopt: there is none.
/// @param find getpwnam_r or getgrnam_r
template <class Id, class Entry, class Find>
std::optional<Id> id_of(const std::string& text, Find find, Id Entry::*id) {
  Id number{};
  const auto* end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return number;
  Entry entry{};
  Entry* found = nullptr;
  std::vector<char> buffer(16384);
  while (find(text.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE && buffer.size() < (1u << 20))
    buffer.resize(buffer.size() * 2);
  return found != nullptr ? std::optional<Id>(found->*id) : std::nullopt;
}

/// Texts are Consul's.
status set_rights(const std::string& path, const unix_socket_rights& rights) {
  auto user = static_cast<uid_t>(-1); // unchanged
  auto group = static_cast<gid_t>(-1);
  if (!rights.user.empty()) {
    const auto id = id_of(rights.user, ::getpwnam_r, &passwd::pw_uid);
    if (!id)
      return failure{"invalid user specified: " + rights.user};
    user = *id;
  }
  if (!rights.group.empty()) {
    const auto id = id_of(rights.group, ::getgrnam_r, &group::gr_gid);
    if (!id)
      return failure{"invalid group specified: " + rights.group};
    group = *id;
  }
  if ((!rights.user.empty() || !rights.group.empty()) && ::lchown(path.c_str(), user, group) != 0)
    return failure{"failed setting ownership to " + rights.user + ":" + rights.group + " on " +
                   go_compat::quoted(path) + ": " + std::strerror(errno)};
  if (rights.mode.empty())
    return done{};
  unsigned mode = 0;
  const auto* end = rights.mode.data() + rights.mode.size();
  const auto read = std::from_chars(rights.mode.data(), end, mode, 8);
  if (read.ec != std::errc() || read.ptr != end || mode > 07777)
    return failure{"invalid mode specified: " + rights.mode};
  if (::chmod(path.c_str(), mode) != 0)
    return failure{"failed setting permissions to " + rights.mode + " on " + go_compat::quoted(path) + ": " +
                   std::strerror(errno)};
  return done{};
}

/// Whether the socket also gets IPv4 connections: at ::, as in Go, unless an IPv4
/// address with the same port is configured.
bool has_both_families(const listen_address& where, const std::vector<listen_address>& all) {
  return where.host == "::" && std::none_of(all.begin(), all.end(), [&](const listen_address& other) {
           return other.unix_path.empty() && other.port == where.port && other.host.find(':') == std::string::npos;
         });
}

/// Opens one listening socket, TCP or Unix. A Unix socket left by a dead process is replaced, and
/// gets its owner and mode before clients can connect.
result<listening_sockets::one> open_one(const listen_address& where, const std::vector<listen_address>& all,
                                        const unix_socket_rights& rights) {
  const bool local = !where.unix_path.empty();
  listening_sockets::one s{-1, local ? "unix://" + where.unix_path : join_host_port(where.host, where.port),
                           where.unix_path, where.https};
  socket_address address;
  if (!fill(address, where))
    return failure{"listen " + s.name + ": not an IP address or usable path"};
  s.fd = ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s.fd < 0)
    return refused("socket", s.name, errno);
  const auto give_up = [&](const char* step) -> failure {
    const auto why = errno;
    ::close(s.fd);
    return refused(step, s.name, why);
  };
  if (local) {
    if (is_dead_socket(reinterpret_cast<const sockaddr_un&>(address.bytes)))
      ::unlink(where.unix_path.c_str());
  } else {
    set_option(s.fd, SOL_SOCKET, SO_REUSEADDR);
    set_option(s.fd, IPPROTO_TCP, TCP_NODELAY); // accepted sockets inherit it
    if (address.bytes.ss_family == AF_INET6 && !has_both_families(where, all))
      set_option(s.fd, IPPROTO_IPV6, IPV6_V6ONLY);
  }
  if (::bind(s.fd, address.any(), address.size) != 0)
    return give_up("bind");
  if (local) // no client can connect before it listens
    if (auto ok = set_rights(where.unix_path, rights); !ok) {
      ::close(s.fd);
      ::unlink(where.unix_path.c_str());
      return failure{"listen " + s.name + ": Failed setting up socket: " + ok.error()};
    }
  if (::listen(s.fd, SOMAXCONN) != 0)
    return give_up("listen");
  if (!local) {
    address.size = sizeof address.bytes;
    if (::getsockname(s.fd, address.any(), &address.size) != 0)
      return give_up("getsockname");
    s.name = join_host_port(where.host, port_of(address));
  }
  return s;
}

} // namespace

// ---- listening_sockets

listening_sockets& listening_sockets::operator=(listening_sockets&& other) noexcept {
  if (this != &other) {
    close();
    list_ = other.release();
  }
  return *this;
}

void listening_sockets::close() {
  for (const auto& s : release()) {
    ::close(s.fd);
    if (!s.unix_path.empty())
      ::unlink(s.unix_path.c_str());
  }
}

result<listening_sockets> listening_sockets::open(const std::vector<listen_address>& addresses,
                                                  const unix_socket_rights& rights) {
  listening_sockets all;
  for (const auto& a : addresses) {
    auto s = open_one(a, addresses, rights);
    if (!s)
      return failure{s.error()};
    all.list_.push_back(std::move(*s));
  }
  return all;
}

// ---- http_listener

http_listener::http_listener(boost::asio::io_context& loop, listening_sockets::one socket, accept_handler accepted)
    : socket_(loop), pause_(loop), name_(std::move(socket.name)), unix_path_(std::move(socket.unix_path)),
      accepted_(std::move(accepted)) {
  boost::system::error_code ec;
  socket_.assign(socket.fd, ec);
  if (ec) {
    ::close(socket.fd);
    log::error("http_gateway", "address not served", {{"address", name_}, {"error", ec.message()}});
  }
}

void http_listener::stop() {
  accepted_ = nullptr;
  boost::system::error_code ignored;
  pause_.cancel();
  if (socket_.is_open()) {
    socket_.close(ignored);
    if (!unix_path_.empty())
      ::unlink(unix_path_.c_str());
  }
}

void http_listener::wait() {
  if (!socket_.is_open())
    return;
  socket_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code& ec) {
    if (!ec && self->accepted_)
      self->accept_some();
  });
}

void http_listener::accept_some() {
  if (tight_) { // connections wait in the kernel until others are closed
    const int next = ::dup(socket_.native_handle());
    tight_ = next < 0 || !leaves_spare_descriptors(next);
    if (next >= 0)
      ::close(next);
    if (tight_)
      return pause(nearly_used_up);
  }
  for (int i = 0; i < accepts_per_batch; ++i) {
    socket_address from;
    from.size = sizeof from.bytes;
    const int fd = ::accept4(socket_.native_handle(), from.any(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      tight_ = !leaves_spare_descriptors(fd);
      complained_ = complained_ && tight_;
      accepted_(fd, ip_of(from));
      if (!accepted_)
        return;
      if (tight_)
        return pause(nearly_used_up);
      continue;
    }
    switch (errno) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
      continue;
    case EAGAIN:
      return wait();
    default: // EMFILE, ENFILE, ENOBUFS, ENOMEM: the connection stays in the queue, so a plain wait would spin
      return pause(std::strerror(errno));
    }
  }
  wait();
}

void http_listener::pause(const char* why) {
  if (!std::exchange(complained_, true))
    log::warn("http_gateway", "accepting of connections paused",
              {{"address", name_}, {"error", why}, {"advice", "raise the limit of open files"}});
  pause_.expires_after(clients_wait_without_descriptors);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
    if (!ec && self->accepted_)
      self->accept_some();
  });
}

} // namespace belay::actors
