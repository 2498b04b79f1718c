// Hostile traffic to a port of a server, for bench/hostile.py. Prints counts as one JSON object.
//
//   hostile_traffic peer|http PORT SECONDS [FROM [TOKEN]]
//
// FROM: source address (127.0.0.9); TOKEN: for HTTP requests.
//
// Threads have rates: 250 connections, 1,200 forged messages and 22 MB per second, as far as
// accepted. Over HTTP they also send four requests per second that are expensive for the server.

#include "bench/hostile/http_traffic.hpp"
#include "bench/hostile/peer_traffic.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr double connections = 250, messages = 1200, bytes = 22e6, costly = 4; // per second

} // namespace

int main(int argc, char** argv) {
  using namespace belay::hostile;
  const std::string kind = argc > 1 ? argv[1] : "";
  if (argc < 4 || argc > 6 || (kind != "peer" && kind != "http")) {
    std::fprintf(stderr, "usage: hostile_traffic peer|http PORT SECONDS [FROM [TOKEN]]\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  target at;
  at.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  at.from = argc > 4 ? argv[4] : "127.0.0.9";
  at.token = argc > 5 ? argv[5] : "";
  const auto began = steady::now();
  at.end = began + std::chrono::milliseconds(static_cast<std::int64_t>(std::atof(argv[3]) * 1000));
  counts counted;
  if (kind == "peer") {
    const auto v = identified_to_two(at, counted);
    std::thread opens([&] { open_connections(at, v, connections, counted); }),
        forges([&] { forge(at, v, messages, counted); });
    flood(at, v, bytes, counted);
    opens.join();
    forges.join();
  } else {
    std::thread opens([&] { open_connections(at, connections, counted); }),
        pesters([&] { pester(at, messages, counted); });
    std::thread amplifies([&] { amplify(at, costly, counted); });
    flood(at, bytes, counted);
    opens.join();
    pesters.join();
    amplifies.join();
  }
  const auto seconds = std::chrono::duration<double>(steady::now() - began).count();
  const auto rate = [&](const std::atomic<std::uint64_t>& n) { return static_cast<double>(n.load()) / seconds; };
  std::printf("{\"connections_s\": %.0f, \"messages_s\": %.0f, \"mb_s\": %.1f}\n", rate(counted.connections),
              rate(counted.messages), rate(counted.bytes) / 1e6);
}
