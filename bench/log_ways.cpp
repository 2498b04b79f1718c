// Compares ways to write a frame of the log and get notified: a thread that writes and syncs (as
// log_writer), io_uring, and the calling thread. One frame at a time (docs/internals/adr/0023-io-uring.md).
//
// usage: log_ways FOLDER [ROUNDS] [BYTES]  uses 16 MiB; default: 8 rounds of 500 512-byte frames

#include <liburing.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::size_t frames = 500, file_bytes = 16u << 20;

void must(bool ok, const char* what) {
  if (ok)
    return;
  std::perror(what);
  std::exit(1);
}

struct log_file {
  int fd = -1;
  std::vector<char> frame;
  off_t at = 0;

  off_t next() {
    at = at + 2 * static_cast<off_t>(frame.size()) < static_cast<off_t>(file_bytes)
             ? at + static_cast<off_t>(frame.size())
             : 0;
    return at;
  }
  void write_and_sync() {
    must(::pwrite(fd, frame.data(), frame.size(), next()) == static_cast<ssize_t>(frame.size()), "pwrite");
    must(::fdatasync(fd) == 0, "fdatasync");
  }
};

/// Waits as the event loop of an actor does.
struct event_loop {
  int epoll = ::epoll_create1(0), event = ::eventfd(0, EFD_NONBLOCK);

  event_loop() {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.fd = event;
    must(::epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e) == 0, "epoll_ctl");
  }
  void wait() {
    epoll_event e{};
    while (::epoll_wait(epoll, &e, 1, -1) != 1)
      ;
    std::uint64_t n = 0;
    must(::read(event, &n, sizeof n) == sizeof n, "read of an eventfd");
  }
};

struct writer_thread {
  log_file& file;
  event_loop& loop;
  std::mutex m;
  std::condition_variable wanted;
  bool work = false, stop = false;
  std::thread thread{[this] { run(); }};

  void run() {
    std::unique_lock lock(m);
    for (;;) {
      wanted.wait(lock, [this] { return work || stop; });
      if (stop)
        return;
      work = false;
      lock.unlock();
      file.write_and_sync();
      const std::uint64_t one = 1;
      must(::write(loop.event, &one, sizeof one) == sizeof one, "write to an eventfd");
      lock.lock();
    }
  }
  void ask() {
    {
      const std::lock_guard lock(m);
      work = true;
    }
    wanted.notify_one();
  }
  ~writer_thread() {
    {
      const std::lock_guard lock(m);
      stop = true;
    }
    wanted.notify_one();
    thread.join();
  }
};

struct ring {
  io_uring r{};
  log_file& file;

  ring(log_file& f, int event) : file(f) {
    must(io_uring_queue_init(8, &r, IORING_SETUP_SINGLE_ISSUER) == 0, "io_uring_queue_init");
    if (event >= 0)
      must(io_uring_register_eventfd(&r, event) == 0, "io_uring_register_eventfd");
  }
  ~ring() { io_uring_queue_exit(&r); }

  /// Two steps, the second after the first.
  unsigned submit_linked() {
    auto* w = io_uring_get_sqe(&r);
    io_uring_prep_write(w, file.fd, file.frame.data(), static_cast<unsigned>(file.frame.size()),
                        static_cast<std::uint64_t>(file.next()));
    w->flags |= IOSQE_IO_LINK;
    auto* s = io_uring_get_sqe(&r);
    io_uring_prep_fsync(s, file.fd, IORING_FSYNC_DATASYNC);
    return 2;
  }
  /// One step that does both.
  unsigned submit_dsync() {
    auto* w = io_uring_get_sqe(&r);
    io_uring_prep_write(w, file.fd, file.frame.data(), static_cast<unsigned>(file.frame.size()),
                        static_cast<std::uint64_t>(file.next()));
    w->rw_flags = RWF_DSYNC;
    return 1;
  }
  /// @returns how many have ended
  unsigned reap() {
    io_uring_cqe* c = nullptr;
    unsigned n = 0;
    while (io_uring_peek_cqe(&r, &c) == 0) {
      must(c->res >= 0, "a step of io_uring");
      io_uring_cqe_seen(&r, c);
      ++n;
    }
    return n;
  }
};

struct result {
  std::vector<double> us;
  double cpu = 0;
  long switches = 0;
};

double cpu_us(const rusage& u) {
  return 1e6 * static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void measure(result& out, const std::function<void()>& once) {
  for (int i = 0; i < 20; ++i)
    once();
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (std::size_t i = 0; i < frames; ++i) {
    const auto begun = clock_type::now();
    once();
    out.us.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - begun).count());
  }
  ::getrusage(RUSAGE_SELF, &after);
  out.cpu += cpu_us(after) - cpu_us(before);
  out.switches += after.ru_nvcsw - before.ru_nvcsw;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: log_ways FOLDER [ROUNDS] [BYTES]\n");
    return 64;
  }
  const int rounds = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 8;
  log_file file;
  file.frame.assign(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 512, 'x');
  const auto path = std::string(argv[1]) + "/log_ways.data";
  file.fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(file.fd >= 0, path.c_str());
  const std::vector<char> nothing(file_bytes);
  must(::pwrite(file.fd, nothing.data(), nothing.size(), 0) == static_cast<ssize_t>(nothing.size()), "pwrite");
  must(::fsync(file.fd) == 0, "fsync");

  const auto received_by_epoll = [&](unsigned (ring::*submit)()) {
    return [&file, submit](result& r) {
      event_loop loop;
      ring u(file, loop.event);
      measure(r, [&] {
        auto left = (u.*submit)();
        must(io_uring_submit(&u.r) >= 0, "io_uring_submit");
        for (left -= u.reap(); left != 0; left -= u.reap())
          loop.wait();
      });
    };
  };
  const std::vector<std::pair<const char*, std::function<void(result&)>>> ways = {
      {"this thread: pwrite, fdatasync", [&](result& r) { measure(r, [&] { file.write_and_sync(); }); }},
      {"this thread: pwritev2, RWF_DSYNC",
       [&](result& r) {
         measure(r, [&] {
           const iovec v{file.frame.data(), file.frame.size()};
           must(::pwritev2(file.fd, &v, 1, file.next(), RWF_DSYNC) == static_cast<ssize_t>(v.iov_len), "pwritev2");
         });
       }},
      {"a writer thread, reported by epoll",
       [&](result& r) {
         event_loop loop;
         writer_thread writer{file, loop, {}, {}};
         measure(r, [&] {
           writer.ask();
           loop.wait();
         });
       }},
      {"io_uring: write and fsync linked, reported by epoll", received_by_epoll(&ring::submit_linked)},
      {"io_uring: write with RWF_DSYNC, reported by epoll", received_by_epoll(&ring::submit_dsync)},
      {"io_uring: write and fsync linked, waited for in the ring",
       [&](result& r) {
         ring u(file, -1);
         measure(r, [&] {
           const auto n = u.submit_linked();
           must(io_uring_submit_and_wait(&u.r, n) >= 0, "io_uring_submit_and_wait");
           must(u.reap() == n, "reaping");
         });
       }},
  };
  std::vector<result> results(ways.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto at = (i + static_cast<std::size_t>(round)) % ways.size();
      ways[at].second(results[at]);
    }
  std::printf("%-58s %8s %8s %10s %16s\n", "", "p50 us", "p99 us", "CPU us", "sleeps, a frame");
  for (std::size_t i = 0; i < ways.size(); ++i) {
    auto& r = results[i];
    std::sort(r.us.begin(), r.us.end());
    const auto n = static_cast<double>(r.us.size());
    std::printf("%-58s %8.1f %8.1f %10.1f %16.2f\n", ways[i].first, r.us[r.us.size() / 2], r.us[r.us.size() * 99 / 100],
                r.cpu / n, static_cast<double>(r.switches) / n);
  }
  ::unlink(path.c_str());
}
