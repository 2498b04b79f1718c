// The cost of the client library compared with hand-written requests. Prints one JSON object.
//
//   client_costs HOST:PORT [--rounds N] [--seconds N] [--sessions N] [--parts PART,...]
//
// locks: acquires and releases a lock, alternately by two plain requests and by belay::client.
// gets: belay::cache::get of one of 1,000 keys that are followed, by one thread and by four.
// sessions: N sessions of one belay::client for --seconds; clients: one each of N clients.

#include <belay/client.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;
using steady = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

struct settings {
  std::string host, port;
  int rounds = 2000;
  int seconds = 30;
  int sessions = 1000;
  std::string parts = "locks,gets,sessions,clients";
  std::string url() const { return "http://" + host + ":" + port; }
};

double us(steady::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// CPU time of this process, of all threads, in microseconds.
double cpu_us() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  return of(u.ru_utime) + of(u.ru_stime);
}

double tenth(double x) {
  return std::round(x * 10) / 10;
}

/// Requests on a socket of its own, one after the other.
class by_hand {
public:
  explicit by_hand(const settings& s) : socket_(loop_), host_(s.host + ":" + s.port) {
    asio::connect(socket_, asio::ip::tcp::resolver(loop_).resolve(s.host, s.port));
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }
  std::string ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    std::string out = method + " " + target + " HTTP/1.1\r\nHost: " + host_ +
                      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    asio::write(socket_, asio::buffer(out));
    http::response<http::string_body> answer;
    http::read(socket_, buffer_, answer);
    if (answer.result_int() != 200)
      throw std::runtime_error(target + ": " + std::to_string(answer.result_int()) + " " + answer.body());
    return answer.body();
  }

private:
  asio::io_context loop_;
  asio::ip::tcp::socket socket_;
  std::string host_;
  boost::beast::flat_buffer buffer_;
};

/// Percentiles, for CPU time by blocks. The 10th is that of an otherwise idle machine.
struct cost {
  std::vector<double> took;
  std::vector<double> cpu; ///< CPU time of each operation, by blocks

  template <class F>
  void block(int n, F&& one) {
    auto before = cpu_us();
    for (int i = 0; i < n; ++i) {
      auto begun = steady::now();
      one();
      took.push_back(us(steady::now() - begun));
    }
    cpu.push_back((cpu_us() - before) / n);
  }
  static double at(std::vector<double>& all, double part) {
    auto which = all.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(all.size() - 1));
    std::nth_element(all.begin(), which, all.end());
    return *which;
  }
  json::object shown() {
    return {{"p10_us", tenth(at(took, 0.1))},
            {"p50_us", tenth(at(took, 0.5))},
            {"p99_us", tenth(at(took, 0.99))},
            {"cpu_p10_us", tenth(at(cpu, 0.1))},
            {"cpu_p50_us", tenth(at(cpu, 0.5))}};
  }
};

json::object locks(const settings& s) {
  by_hand raw(s);
  auto made = json::parse(raw.ask("PUT", "/v1/session/create", R"({"TTL":"600s","LockDelay":"0s","NodeChecks":[]})"));
  std::string session(made.at("ID").as_string());
  belay::client_options options;
  options.servers = {s.url()};
  options.session.ttl = 600s;
  belay::client c(options);
  cost plain, library;
  constexpr int block = 50;
  auto flags = "&flags=3304740253564472344&queue=9800ms&wait=9800ms";
  // The first ones make connections, and the session.
  for (int n = -block; n < s.rounds; n += block) {
    if (n == 0)
      plain = library = cost();
    plain.block(block, [&] {
      raw.ask("PUT", "/v1/kv/costs/raw?acquire=" + session + flags);
      raw.ask("PUT", "/v1/kv/costs/raw?release=" + session);
    });
    library.block(block, [&] {
      auto held = c.lock("costs/lib").acquire(10s);
      if (!held || !held->release(5s))
        throw std::runtime_error("not locked");
    });
  }
  return {{"by_hand", plain.shown()}, {"library", library.shown()}};
}

json::object gets(const settings& s) {
  belay::client_options options;
  options.servers = {s.url()};
  belay::client c(options);
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.push_back("costs/conf/" + std::to_string(i));
    if (!c.put(keys.back(), std::string(100, 'x')))
      throw std::runtime_error("not put");
  }
  auto seen = c.follow("costs/conf/");
  if (!seen.wait(10s))
    throw std::runtime_error("not read");
  constexpr int each = 1'000'000;
  auto loop = [&](std::size_t first) {
    for (int i = 0; i < each; ++i)
      if (!seen.get(keys[(first + static_cast<std::size_t>(i) * 7) % keys.size()])->found())
        std::abort();
  };
  json::object out;
  for (int threads : {1, 4}) {
    auto before = cpu_us();
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back(loop, static_cast<std::size_t>(t) * 100);
    for (auto& t : all)
      t.join();
    auto cpu_ns = (cpu_us() - before) * 1000 / each / threads;
    out["cpu_ns_get_threads_" + std::to_string(threads)] = tenth(cpu_ns);
  }
  return out;
}

long resident_kb() {
  std::ifstream in("/proc/self/statm");
  long pages = 0, resident = 0;
  in >> pages >> resident;
  return resident * 4;
}

/// Requests per second of all kinds, as the server counts them, in the last complete 10 s.
double served(by_hand& raw) {
  double all = 0;
  auto received = json::parse(raw.ask("GET", "/v1/agent/metrics")).as_object();
  for (const auto& each : received.at("Samples").as_array()) {
    std::string name(each.at("Name").as_string());
    if (name.find(".http.") != name.npos)
      all += each.at("Count").to_number<double>();
  }
  return all / 10;
}

/// The cost of keeping sessions alive, over --seconds.
json::object kept(const settings& s, by_hand& raw, long before_kb) {
  auto begun = steady::now();
  auto cpu = cpu_us();
  std::this_thread::sleep_for(std::chrono::seconds(s.seconds));
  auto passed = us(steady::now() - begun) / 1e6;
  return {{"sessions", s.sessions},
          {"requests_s", tenth(served(raw))},
          {"cpu_percent", std::round((cpu_us() - cpu) / passed / 1e4 * 100) / 100},
          {"kb_session", tenth(static_cast<double>(resident_kb() - before_kb) / s.sessions)}};
}

belay::task<belay::result<int>> open_all(std::vector<std::unique_ptr<belay::session>>& all, int n, belay::session& s,
                                         belay::deadline limit) {
  for (int i = 0; i < n; ++i) {
    all.push_back(std::make_unique<belay::session>(s.env(), belay::session_options()));
    belay::status opened = co_await all.back()->open(limit);
    if (!opened)
      co_return opened.error();
  }
  co_return n;
}

belay::task<belay::result<int>> close_all(std::vector<std::unique_ptr<belay::session>>& all, belay::session&,
                                          belay::deadline limit) {
  int lived = 0;
  for (auto& s : all) {
    lived += s->safe() ? 1 : 0;
    co_await s->close(limit);
  }
  all.clear();
  co_return lived;
}

json::object sessions(const settings& s) {
  by_hand raw(s);
  belay::client_options options;
  options.servers = {s.url()};
  belay::client c(options);
  auto before = resident_kb();
  std::vector<std::unique_ptr<belay::session>> all;
  auto opened =
      c.run<int>([&](belay::session& own, belay::deadline p) { return open_all(all, s.sessions, own, p); }, 60s);
  if (!opened)
    throw std::runtime_error(opened.error().text());
  auto out = kept(s, raw, before);
  auto lived = c.run<int>([&](belay::session& own, belay::deadline p) { return close_all(all, own, p); }, 60s);
  out["lived"] = lived ? *lived : -1;
  return out;
}

json::object clients(const settings& s) {
  by_hand raw(s);
  auto before = resident_kb();
  std::vector<std::unique_ptr<belay::client>> all;
  std::vector<belay::client_lease> held;
  belay::client_options options;
  options.servers = {s.url()};
  for (int i = 0; i < s.sessions; ++i) {
    all.push_back(std::make_unique<belay::client>(options));
    auto lock = all.back()->lock("costs/own/" + std::to_string(i)).acquire(10s);
    if (!lock)
      throw std::runtime_error(lock.error().text());
    held.push_back(std::move(*lock));
  }
  auto out = kept(s, raw, before);
  out["lived"] = std::count_if(held.begin(), held.end(), [](const auto& h) { return h.safe(); });
  held.clear();
  return out;
}

settings parsed(int argc, char** argv) {
  settings s;
  std::string where = argc > 1 ? argv[1] : "";
  auto colon = where.rfind(':');
  if (colon == where.npos || argc % 2 != 0)
    throw std::invalid_argument(
        "usage: client_costs HOST:PORT [--rounds N] [--seconds N] [--sessions N] [--parts LIST]");
  s.host = where.substr(0, colon);
  s.port = where.substr(colon + 1);
  for (int i = 2; i + 1 < argc; i += 2) {
    std::string name = argv[i];
    if (name == "--rounds")
      s.rounds = std::stoi(argv[i + 1]);
    else if (name == "--seconds")
      s.seconds = std::stoi(argv[i + 1]);
    else if (name == "--sessions")
      s.sessions = std::stoi(argv[i + 1]);
    else if (name == "--parts")
      s.parts = argv[i + 1];
    else
      throw std::invalid_argument(name);
  }
  return s;
}

} // namespace

int main(int argc, char** argv) {
  try {
    auto s = parsed(argc, argv);
    json::object out;
    auto wanted = [&](const char* part) { return s.parts.find(part) != s.parts.npos; };
    if (wanted("locks"))
      out["locks"] = locks(s);
    if (wanted("gets"))
      out["gets"] = gets(s);
    if (wanted("sessions"))
      out["sessions"] = sessions(s);
    if (wanted("clients"))
      out["clients"] = clients(s);
    std::cout << json::serialize(out) << std::endl;
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "client_costs: " << e.what() << "\n";
    return 1;
  }
}
