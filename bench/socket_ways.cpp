// Compares serving small requests from one thread: epoll with a recv and a send each, and io_uring
// with multishot receives and one system call per turn. No HTTP (docs/internals/adr/0023-io-uring.md).
//
// usage: socket_ways [CONNECTIONS] [ROUNDS] [REQUEST_BYTES] [ANSWER_BYTES]  default: 64 6 120 300

#include <liburing.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

void must(bool ok, const char* what) {
  if (ok)
    return;
  std::perror(what);
  std::exit(1);
}

struct sizes {
  std::size_t request, answer;
};

/// Pairs of connected sockets over loopback.
struct connections {
  std::vector<int> clients, servers;

  explicit connections(std::size_t n) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    must(::bind(listener, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0, "bind");
    must(::listen(listener, 1024) == 0, "listen");
    must(::getsockname(listener, reinterpret_cast<sockaddr*>(&a), &size) == 0, "getsockname");
    for (std::size_t i = 0; i < n; ++i) {
      const int c = ::socket(AF_INET, SOCK_STREAM, 0);
      must(::connect(c, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0, "connect");
      const int s = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      must(s >= 0, "accept");
      const int one = 1;
      for (const int fd : {c, s})
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      clients.push_back(c);
      servers.push_back(s);
    }
    ::close(listener);
  }
  ~connections() {
    for (const auto* fds : {&clients, &servers})
      for (const int fd : *fds)
        ::close(fd);
  }
};

/// Each connection has one request in flight.
void run_clients(const connections& all, sizes z, const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done) {
  const int epoll = ::epoll_create1(0);
  const std::string request(z.request, 'q');
  std::vector<std::size_t> got(all.clients.size());
  std::vector<char> in(1 << 16);
  for (std::size_t i = 0; i < all.clients.size(); ++i) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    must(::epoll_ctl(epoll, EPOLL_CTL_ADD, all.clients[i], &e) == 0, "epoll_ctl");
    must(::send(all.clients[i], request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()), "send");
  }
  std::vector<epoll_event> events(256);
  while (!stop) {
    const int n = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 100);
    for (int k = 0; k < n; ++k) {
      const auto i = events[static_cast<std::size_t>(k)].data.u64;
      const auto bytes = ::recv(all.clients[i], in.data(), in.size(), 0);
      if (bytes <= 0)
        return;
      got[i] += static_cast<std::size_t>(bytes);
      if (got[i] < z.answer)
        continue;
      got[i] = 0;
      done.fetch_add(1, std::memory_order_relaxed);
      must(::send(all.clients[i], request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()), "send");
    }
  }
  ::close(epoll);
}

void serve_by_epoll(const connections& all, sizes z, const std::atomic<bool>& stop) {
  const int epoll = ::epoll_create1(0);
  const std::string answer(z.answer, 'a');
  std::vector<char> in(1 << 16);
  for (const int fd : all.servers) {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;
    e.data.fd = fd;
    must(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
  }
  std::vector<epoll_event> events(256);
  while (!stop) {
    const int n = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 100);
    for (int k = 0; k < n; ++k) {
      const int fd = events[static_cast<std::size_t>(k)].data.fd;
      const auto bytes = ::recv(fd, in.data(), in.size(), 0);
      if (bytes == static_cast<ssize_t>(z.request))
        must(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size()), "send");
    }
  }
  ::close(epoll);
}

void serve_by_uring(const connections& all, sizes z, const std::atomic<bool>& stop) {
  constexpr unsigned buffers = 1024, buffer_bytes = 4096, group = 1;
  constexpr std::uint64_t is_send = 1ull << 63;
  io_uring r{};
  io_uring_params p{};
  p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
  p.cq_entries = 4096;
  must(io_uring_queue_init_params(1024, &r, &p) == 0, "io_uring_queue_init_params");
  const std::string answer(z.answer, 'a');
  std::vector<char> space(std::size_t{buffers} * buffer_bytes);
  void* memory = nullptr;
  must(::posix_memalign(&memory, 4096, buffers * sizeof(io_uring_buf)) == 0, "posix_memalign");
  auto* ring = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_reg reg{};
  reg.ring_addr = reinterpret_cast<std::uintptr_t>(ring);
  reg.ring_entries = buffers;
  reg.bgid = group;
  must(io_uring_register_buf_ring(&r, &reg, 0) == 0, "io_uring_register_buf_ring");
  io_uring_buf_ring_init(ring);
  const auto give = [&](unsigned id, int at) {
    io_uring_buf_ring_add(ring, &space[std::size_t{id} * buffer_bytes], buffer_bytes, static_cast<unsigned short>(id),
                          io_uring_buf_ring_mask(buffers), at);
  };
  for (unsigned i = 0; i < buffers; ++i)
    give(i, static_cast<int>(i));
  io_uring_buf_ring_advance(ring, buffers);
  const auto sqe = [&] {
    auto* s = io_uring_get_sqe(&r);
    if (s == nullptr) {
      io_uring_submit(&r);
      s = io_uring_get_sqe(&r);
    }
    return s;
  };
  const auto receive = [&](int fd) {
    auto* s = sqe();
    io_uring_prep_recv_multishot(s, fd, nullptr, 0, 0);
    s->flags |= IOSQE_BUFFER_SELECT;
    s->buf_group = group;
    io_uring_sqe_set_data64(s, static_cast<std::uint64_t>(fd));
  };
  for (const int fd : all.servers)
    receive(fd);
  while (!stop) {
    io_uring_cqe* c = nullptr;
    __kernel_timespec timeout{0, 100'000'000};
    io_uring_submit_and_wait_timeout(&r, &c, 1, &timeout, nullptr);
    unsigned head = 0, n = 0;
    int given = 0;
    io_uring_for_each_cqe(&r, head, c) {
      ++n;
      if ((c->user_data & is_send) != 0)
        continue;
      const int fd = static_cast<int>(c->user_data);
      if (c->res > 0) {
        give(c->flags >> IORING_CQE_BUFFER_SHIFT, given++);
        auto* s = sqe();
        io_uring_prep_send(s, fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        s->flags |= IOSQE_CQE_SKIP_SUCCESS;
        io_uring_sqe_set_data64(s, is_send);
      }
      if ((c->flags & IORING_CQE_F_MORE) == 0)
        receive(fd);
    }
    io_uring_buf_ring_advance(ring, given);
    io_uring_cq_advance(&r, n);
  }
  io_uring_queue_exit(&r);
  std::free(memory);
}

struct result {
  std::vector<double> rates, cpu;
};

using way = std::function<void(const connections&, sizes, const std::atomic<bool>&)>;

void measure(result& out, const way& serve, std::size_t count, sizes z) {
  const connections all(count);
  std::atomic<bool> stop = false, stop_clients = false;
  std::atomic<std::uint64_t> done = 0;
  double cpu = 0, seconds = 0;
  std::thread server([&] {
    const auto begun = clock_type::now();
    serve(all, z, stop);
    rusage u{};
    ::getrusage(RUSAGE_THREAD, &u);
    cpu = 1e6 * static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
          static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    seconds = std::chrono::duration<double>(clock_type::now() - begun).count();
  });
  std::thread clients([&] { run_clients(all, z, stop_clients, done); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  stop_clients = true;
  clients.join();
  const auto n = static_cast<double>(done.load());
  stop = true;
  server.join();
  out.rates.push_back(n / seconds);
  out.cpu.push_back(cpu / n);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : otherwise;
  };
  const auto count = number(1, 64), rounds = number(2, 6);
  const sizes z{number(3, 120), number(4, 300)};
  const std::vector<std::pair<const char*, way>> ways = {{"epoll, recv, send", serve_by_epoll},
                                                         {"io_uring, multishot", serve_by_uring}};
  std::vector<result> results(ways.size());
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto at = (i + round) % ways.size();
      measure(results[at], ways[at].second, count, z);
    }
  std::printf("%zu connections, medians of %zu rounds\n%-24s %12s %24s\n", count, rounds, "", "requests/s",
              "server CPU us a request");
  for (std::size_t i = 0; i < ways.size(); ++i)
    std::printf("%-24s %12.0f %24.2f\n", ways[i].first, median(results[i].rates), median(results[i].cpu));
}
