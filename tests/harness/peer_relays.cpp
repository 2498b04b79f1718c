#include "tests/harness/peer_relays.hpp"

#include "tests/harness/scratch.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace belay::harness {

namespace {

constexpr std::size_t piece_bytes = 65536;

sockaddr_in ipv4(const std::string& host, std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &at.sin_addr);
  return at;
}

int new_socket() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// In the form of /proc/net/tcp.
std::string end_in_table(const sockaddr_in& at) {
  char text[16];
  std::snprintf(text, sizeof text, "%08X:%04X", at.sin_addr.s_addr, ntohs(at.sin_port));
  return text;
}

/// The inode of the socket with these ends; empty: there is none.
std::string socket_number(const sockaddr_in& local, const sockaddr_in& remote) {
  const auto ends = end_in_table(local) + ' ' + end_in_table(remote);
  std::istringstream table(file_text("/proc/net/tcp"));
  for (std::string line; std::getline(table, line);) {
    const auto at = line.find(ends);
    if (at == std::string::npos)
      continue;
    std::istringstream words(line.substr(at + ends.size()));
    std::string number;
    for (int i = 0; i < 7; ++i) // state, queues, timer, retransmits, user, timeout, number
      words >> number;
    return number;
  }
  return {};
}

bool has_socket(const std::filesystem::path& process, const std::string& number) {
  std::error_code gone;
  for (auto it = std::filesystem::directory_iterator(process / "fd", gone);
       !gone && it != std::filesystem::directory_iterator(); it.increment(gone)) {
    std::error_code closed;
    if (std::filesystem::read_symlink(it->path(), closed).string() == "socket:[" + number + "]")
      return true;
  }
  return false;
}

} // namespace

/// A connection between a client and the server behind the relay.
class peer_relays::connection {
public:
  connection(int client, std::size_t who, std::size_t whom) : from(who), to(whom) { ends_[0].fd = client; }
  ~connection() { close(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  bool over() const { return ends_[0].fd < 0; }
  bool connected() const { return ends_[1].fd >= 0; }

  void connect(std::uint16_t port) {
    ends_[1].fd = new_socket();
    const auto at = ipv4("127.0.0.1", port);
    if (::connect(ends_[1].fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 && errno != EINPROGRESS)
      close();
  }

  /// What to poll for at that end.
  /// @param in, out whether data from there, and to there, may pass
  pollfd wanted(std::size_t side, bool in, bool out) const {
    const auto& e = ends_[side];
    short events = 0;
    if (in && connected() && e.unsent.empty())
      events |= POLLIN;
    if (out && connected() && !ends_[1 - side].unsent.empty())
      events |= POLLOUT;
    // A descriptor without events is not polled: if it is closed, poll() would report it again and
    // again.
    return {events != 0 ? e.fd : -1, events, 0};
  }

  /// Moves bytes that come from that end.
  void move(std::size_t side) {
    if (over() || !connected())
      return;
    auto& e = ends_[side];
    if (e.unsent.empty()) {
      e.unsent.resize(piece_bytes);
      const auto n = recv(e.fd, e.unsent.data(), e.unsent.size(), 0);
      e.unsent.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      if (n == 0 || (n < 0 && !would_wait()))
        return close();
    }
    if (e.unsent.empty())
      return;
    const auto n = send(ends_[1 - side].fd, e.unsent.data(), e.unsent.size(), MSG_NOSIGNAL);
    if (n > 0)
      e.unsent.erase(0, static_cast<std::size_t>(n));
    else if (n < 0 && !would_wait())
      close();
  }

  void close() {
    for (auto& e : ends_)
      if (e.fd >= 0)
        ::close(std::exchange(e.fd, -1));
  }

  const std::size_t from, to;

private:
  struct end {
    int fd = -1;
    std::string unsent; ///< came from here
  };

  std::array<end, 2> ends_;
};

peer_relays::peer_relays(std::vector<relayed_server> servers) : servers_(std::move(servers)) {
  if (servers_.size() > servers_max)
    throw std::runtime_error("too many servers behind relays");
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    listeners_.push_back(new_socket());
    const int on = 1;
    setsockopt(listeners_[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto at = ipv4(host(i), servers_[i].port);
    if (bind(listeners_[i], reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(listeners_[i], 64) != 0)
      throw std::runtime_error("cannot listen on " + address(i));
  }
  thread_ = std::thread([this] { run(); });
}

peer_relays::~peer_relays() {
  ending_ = true;
  wake();
  thread_.join();
  made_.clear();
  for (const int fd : listeners_)
    ::close(fd);
  ::close(wake_);
}

void peer_relays::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = write(wake_, &one, sizeof one);
}

// A transfer that began before may carry data that is sent after it.
void peer_relays::settle() {
  const auto wanted = ++changes_;
  wake();
  for (auto seen = changes_seen_.load(); seen < wanted; seen = changes_seen_.load())
    changes_seen_.wait(seen);
}

void peer_relays::cut(std::size_t from, std::size_t to) {
  cut_[from][to] = true;
  settle();
}

void peer_relays::isolate(std::size_t i) {
  for (std::size_t k = 0; k < servers_.size(); ++k)
    if (k != i)
      cut_[i][k] = cut_[k][i] = true;
  settle();
}

void peer_relays::heal() {
  for (auto& row : cut_)
    for (auto& each : row)
      each = false;
  settle();
}

bool peer_relays::is_cut(std::size_t from, std::size_t to) const {
  return from < servers_max && to < servers_max && cut_[from][to];
}

std::size_t peer_relays::owner_of(const sockaddr_in& source, std::size_t to) const {
  // The table may be read in pieces, and an entry that moves meanwhile be missed.
  std::string number;
  for (int attempt = 0; number.empty() && attempt < 10; ++attempt)
    number = socket_number(source, ipv4(host(to), servers_[to].port));
  std::error_code gone;
  for (auto it = std::filesystem::directory_iterator("/proc", gone);
       !number.empty() && !gone && it != std::filesystem::directory_iterator(); it.increment(gone)) {
    if (it->path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    const auto command = file_text(it->path() / "cmdline");
    for (std::size_t i = 0; i < servers_.size(); ++i)
      if (command.find(servers_[i].configuration) != std::string::npos && has_socket(it->path(), number))
        return i;
  }
  return servers_max;
}

void peer_relays::accept_at(std::size_t to) {
  sockaddr_in who{};
  socklen_t size = sizeof who;
  const int fd = accept4(listeners_[to], reinterpret_cast<sockaddr*>(&who), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0)
    return;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  made_.push_back(std::make_unique<connection>(fd, owner_of(who, to), to));
  ++connections_;
}

void peer_relays::run() {
  while (!ending_) {
    changes_seen_ = changes_.load();
    changes_seen_.notify_all();
    std::vector<pollfd> polled{{wake_, POLLIN, 0}};
    for (const int fd : listeners_)
      polled.push_back({fd, POLLIN, 0});
    std::erase_if(made_, [](const auto& c) { return c->over(); });
    for (const auto& c : made_) {
      const bool there = !is_cut(c->from, c->to), back = !is_cut(c->to, c->from);
      if (there && back && !c->connected())
        c->connect(servers_[c->to].port);
      polled.push_back(c->wanted(0, there, back));
      polled.push_back(c->wanted(1, back, there));
    }
    const auto connections = made_.size();
    if (poll(polled.data(), polled.size(), -1) < 0)
      continue;
    std::uint64_t woken = 0;
    [[maybe_unused]] const auto n = read(wake_, &woken, sizeof woken);
    for (std::size_t i = 0; i < listeners_.size(); ++i)
      if (polled[1 + i].revents != 0)
        accept_at(i);
    const auto first = 1 + listeners_.size();
    for (std::size_t k = 0; k < connections; ++k) {
      auto& c = *made_[k];
      const auto came = [&](std::size_t end, int events) {
        return (polled[first + 2 * k + end].revents & events) != 0;
      };
      for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
        const bool passes = end == 0 ? !is_cut(c.from, c.to) : !is_cut(c.to, c.from);
        if (passes && (came(end, POLLIN | POLLHUP | POLLERR) || came(1 - end, POLLOUT)))
          c.move(end);
        else if (came(end, POLLHUP | POLLERR))
          c.close();
      }
    }
  }
}

} // namespace belay::harness
