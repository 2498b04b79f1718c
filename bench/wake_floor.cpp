// Minimum cost of waking N watchers over HTTP: one thread, one key, no log, no peers, no routes,
// one response rendered once and written to all sockets. The rest is the kernel's loopback path.
//
// usage: wake_floor PORT   prints nothing; supports GET and PUT of any key (all are one), `index=`,
//                          and `changes`: then each write is sent as a server-sent event

#include "bench/load/values.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct the_key {
  std::string name, value64;
  std::uint64_t index = 1;
  std::string answer, event; ///< rendered once for all
};

std::string chunk(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

void render(the_key& k) {
  const auto index = std::to_string(k.index);
  const auto body = "[{\"LockIndex\":0,\"Key\":\"" + k.name + "\",\"Flags\":0,\"Value\":\"" + k.value64 +
                    "\",\"CreateIndex\":1,\"ModifyIndex\":" + index + "}]";
  k.answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: " + index +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  k.event = chunk("id: " + index + ".0\nevent: set\ndata: {\"Key\":\"" + k.name + "\",\"Value\":\"" + k.value64 +
                  "\",\"Flags\":0,\"Session\":\"\",\"PreviousIndex\":" + index + ",\"Index\":" + index + "}\n\n");
}

void write_all(int fd, std::string_view bytes) {
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    ::shutdown(fd, SHUT_RDWR);
}

/// @returns the bytes of `in` that the first request takes; 0: it is incomplete.
std::size_t request_bytes(std::string_view in) {
  const auto head = in.find("\r\n\r\n");
  if (head == std::string_view::npos)
    return 0;
  const auto field = in.substr(0, head).find("Content-Length: ");
  const auto body = field == std::string_view::npos ? 0 : std::strtoull(in.data() + field + 16, nullptr, 10);
  return in.size() < head + 4 + body ? 0 : head + 4 + body;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: wake_floor PORT\n");
    return 2;
  }
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 4096) != 0) {
    std::perror("wake_floor");
    return 1;
  }
  const int set = ::epoll_create1(0);
  const auto watch = [set](int fd) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.fd = fd;
    ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
  };
  watch(listener);

  the_key key;
  std::unordered_map<int, std::string> unread;
  std::vector<int> parked, followers;
  std::vector<epoll_event> events(1024);
  std::vector<char> buffer(1u << 16);
  for (;;) {
    const int n = ::epoll_wait(set, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        const int client = ::accept(listener, nullptr, nullptr);
        ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(client);
        continue;
      }
      const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
      auto& in = unread[fd];
      if (got <= 0) {
        std::erase(followers, fd);
        std::erase(parked, fd);
        unread.erase(fd);
        ::close(fd);
        continue;
      }
      in.append(buffer.data(), static_cast<std::size_t>(got));
      while (const auto bytes = request_bytes(in)) {
        const std::string request = in.substr(0, bytes);
        in.erase(0, bytes);
        const auto path = request.substr(0, request.find(" HTTP"));
        if (path.starts_with("PUT ")) {
          key.name = path.substr(sizeof "PUT /v1/kv/" - 1);
          key.value64 = b64(std::string_view(request).substr(request.find("\r\n\r\n") + 4));
          ++key.index;
          render(key);
          write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue");
          for (const int waiting : parked)
            write_all(waiting, key.answer);
          parked.clear();
          for (const int follower : followers)
            write_all(follower, key.event);
          continue;
        }
        if (path.find("changes") != std::string::npos) {
          followers.push_back(fd);
          write_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
                            chunk("id: 1\nevent: progress\ndata: {\"Index\":1}\n\n"));
          continue;
        }
        const auto requested = path.find("index=");
        if (requested != std::string::npos && std::strtoull(path.c_str() + requested + 6, nullptr, 10) >= key.index)
          parked.push_back(fd);
        else
          write_all(fd, key.answer);
      }
    }
  }
}
