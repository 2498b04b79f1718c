// How a cluster handles many sessions: creation, renewals, expiry, and the end of thousands at
// once. Prints one JSON object. Not a test: figures depend on the machine.
//
//   session_scale HOST:PORT [--sessions N] [--ttl SECONDS] [--connections N] [--seconds N]
//       [--locked N] [--pid PID]... [--exact SECONDS] [--sample N] [--waiting N]
//
// Phases: register a node and create N sessions with that TTL; renew all round-robin for --seconds;
// stop, and measure how long after twice the TTL a sample of them ends; then, under a stream of
// puts, end --locked sessions that hold a lock each by one entry (deregister their node).
//
// --exact: sessions with exact TTLs. Instead of the second phase each is renewed once more, spread
// over that time; blocking reads compare the ends of the sample with the TTL. No further phases.
// --waiting: in the last phase the sessions hold a claim each, and N others wait for all in turn.

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using tcp = asio::ip::tcp;
using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

namespace {

struct options {
  std::string host = "127.0.0.1", port = "8500";
  std::size_t sessions = 100'000, connections = 64, locked = 10'000, sample = 200, waiting = 0;
  int ttl_s = 60, duration_s = 20;
  std::optional<int> exact_over_s;
  std::vector<int> pids;
};

double since(steady::time_point t) {
  return seconds(steady::now() - t).count();
}

double percentile(std::vector<double>& v, double p) {
  if (v.empty())
    return 0;
  const auto at = static_cast<std::size_t>(p * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(at), v.end());
  return v[at];
}

double round3(double v) {
  return std::round(v * 1000) / 1000;
}

/// One keep-alive connection; one request at a time.
class connection : public std::enable_shared_from_this<connection> {
public:
  using done = std::function<void(int status, std::string body)>;

  connection(asio::io_context& loop, const tcp::resolver::results_type& where) : stream_(loop) {
    stream_.connect(where);
    stream_.socket().set_option(tcp::no_delay(true));
  }

  /// The index in the last response.
  std::string index() const { return std::string(response_["X-Consul-Index"]); }

  void ask(http::verb verb, const std::string& target, std::string body, done then) {
    request_ = {verb, target, 11};
    request_.set(http::field::host, "localhost");
    request_.body() = std::move(body);
    request_.prepare_payload();
    then_ = std::move(then);
    http::async_write(stream_, request_, [self = shared_from_this()](beast::error_code e, std::size_t) {
      if (e)
        return self->finish(0, e.message());
      self->response_ = {};
      http::async_read(self->stream_, self->buffer_, self->response_, [self](beast::error_code e, std::size_t) {
        self->finish(e ? 0 : static_cast<int>(self->response_.result_int()),
                     e ? e.message() : std::move(self->response_.body()));
      });
    });
  }

private:
  void finish(int status, std::string body) { std::exchange(then_, nullptr)(status, std::move(body)); }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
  done then_;
};

struct usage {
  double cpu_s = 0;
  std::uint64_t rss_kib = 0;
};

/// The sum over all servers named by --pid.
usage used(const std::vector<int>& pids) {
  usage u;
  for (const int pid : pids) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto after = text.rfind(')');
    if (after == std::string::npos)
      continue;
    std::istringstream in(text.substr(after + 2));
    std::vector<std::string> fields{std::istream_iterator<std::string>(in), {}};
    if (fields.size() < 22)
      continue;
    u.cpu_s += static_cast<double>(std::stoull(fields[11]) + std::stoull(fields[12])) /
               static_cast<double>(sysconf(_SC_CLK_TCK));
    u.rss_kib += std::stoull(fields[21]) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  }
  return u;
}

class bench {
public:
  explicit bench(options o) : o_(std::move(o)), where_(tcp::resolver(loop_).resolve(o_.host, o_.port)) {
    for (std::size_t i = 0; i < o_.connections; ++i)
      pool_.push_back(std::make_shared<connection>(loop_, where_));
  }

  json::object run() {
    one(http::verb::put, "/v1/catalog/register", node("scale"));
    one(http::verb::put, "/v1/catalog/register", node("bulk"));
    json::object figures;
    const auto before = used(o_.pids);
    figures["create"] = create();
    const auto with_sessions = used(o_.pids);
    if (!o_.pids.empty())
      figures["kib_per_session_all_servers"] =
          round3(static_cast<double>(with_sessions.rss_kib - before.rss_kib) / static_cast<double>(ids_.size()));
    if (o_.exact_over_s) {
      figures["exact"] = exact();
      return figures;
    }
    figures["renew"] = renew();
    figures["expiry"] = expiry();
    if (o_.waiting > 0)
      figures["end_of_holders"] = end_holders();
    else
      figures["end_of_locked"] = end_many();
    return figures;
  }

private:
  static std::string node(const std::string& name) { return R"({"Node":")" + name + R"(","Address":"127.0.0.1"})"; }

  std::pair<int, std::string> one(http::verb verb, const std::string& target, const std::string& body) {
    std::pair<int, std::string> answer;
    pool_[0]->ask(verb, target, body, [&](int status, std::string text) { answer = {status, std::move(text)}; });
    loop_.restart();
    loop_.run();
    if (answer.first != 200)
      std::cerr << target << ": " << answer.first << " " << answer.second << "\n";
    return answer;
  }

  using request = std::function<void(std::size_t i, connection&, std::function<void()> next)>;

  /// Uses all connections from `first` on. Each sends request 0, 1, ... after its previous
  /// response, while `more` holds. Ends after the last response, when no timer is left.
  void keep_asking(std::size_t first, const std::function<bool(std::size_t i)>& more, const request& ask) {
    std::size_t begun = 0;
    std::vector<std::function<void()>> steps(pool_.size());
    for (std::size_t c = first; c < pool_.size(); ++c) {
      steps[c] = [&, c] {
        if (more(begun))
          ask(begun++, *pool_[c], steps[c]);
      };
      steps[c]();
    }
    loop_.restart();
    loop_.run();
  }

  void all(std::size_t count, const request& ask) {
    keep_asking(
        0, [count](std::size_t i) { return i < count; }, ask);
  }

  static std::string session(const std::string& node, int ttl_s, bool exact = false) {
    return R"({"Node":")" + node + R"(","NodeChecks":[],"LockDelay":"0s","TTL":")" + std::to_string(ttl_s) + R"(s")" +
           (exact ? R"(,"TTLMode":"exact"})" : "}");
  }

  json::object create() {
    ids_.resize(o_.sessions);
    renewed_.resize(o_.sessions);
    std::size_t failed = 0;
    const auto start = steady::now();
    all(o_.sessions, [&](std::size_t i, connection& c, const std::function<void()>& next) {
      c.ask(http::verb::put, "/v1/session/create", session("scale", o_.ttl_s, o_.exact_over_s.has_value()),
            [&, i, next](int status, const std::string& body) {
              if (status != 200 && failed++ == 0)
                std::cerr << "a session could not be made: " << status << " " << body << "\n";
              if (status == 200)
                ids_[i] = json::parse(body).at("ID").as_string().c_str();
              renewed_[i] = steady::now();
              next();
            });
    });
    const auto took = since(start);
    return {
        {"sessions", o_.sessions}, {"failed", failed}, {"per_second", round3(static_cast<double>(o_.sessions) / took)}};
  }

  json::object renew() {
    std::size_t failed = 0, done = 0;
    std::vector<double> latency;
    const auto start = steady::now();
    const auto before = used(o_.pids);
    keep_asking(
        0, [&](std::size_t) { return since(start) < o_.duration_s; },
        [&](std::size_t number, connection& c, const std::function<void()>& next) {
          const auto i = number % ids_.size();
          c.ask(http::verb::put, "/v1/session/renew/" + ids_[i], {},
                [&, i, next, sent = steady::now()](int status, const std::string&) {
                  failed += status == 200 ? 0 : 1;
                  ++done;
                  latency.push_back(since(sent) * 1e3);
                  renewed_[i] = steady::now();
                  next();
                });
        });
    const auto took = since(start);
    const auto after = used(o_.pids);
    json::object r{{"per_second", round3(static_cast<double>(done) / took)},
                   {"failed", failed},
                   {"p50_ms", round3(percentile(latency, 0.5))},
                   {"p99_ms", round3(percentile(latency, 0.99))},
                   {"max_ms", round3(percentile(latency, 1))}};
    if (!o_.pids.empty())
      r["server_cpu_us_per_renewal"] = round3((after.cpu_s - before.cpu_s) * 1e6 / static_cast<double>(done));
    return r;
  }

  /// Queries each session of a sample every 50 ms, from shortly before twice the TTL on. @returns a
  /// histogram of how long after that it was gone
  json::object expiry() {
    std::vector<double> late;
    std::vector<std::shared_ptr<connection>> watchers;
    const auto step = std::max<std::size_t>(1, ids_.size() / o_.sample);
    for (std::size_t i = 0; i < ids_.size(); i += step) {
      auto c = std::make_shared<connection>(loop_, where_);
      watchers.push_back(c);
      auto timer =
          std::make_shared<asio::steady_timer>(loop_, renewed_[i] + std::chrono::milliseconds(2000 * o_.ttl_s - 500));
      timer->async_wait([this, timer, c, i, &late](beast::error_code) { look(*c, i, late); });
    }
    loop_.restart();
    loop_.run();
    json::object histogram;
    for (const double edge : {0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0}) {
      const auto n = std::count_if(late.begin(), late.end(), [edge](double l) { return l <= edge; });
      histogram["<=" + std::to_string(edge).substr(0, 4) + "s"] = n;
    }
    const auto earliest = late.empty() ? 0.0 : *std::min_element(late.begin(), late.end());
    return {{"sample", late.size()},
            {"after_twice_the_ttl", histogram},
            {"earliest_s", round3(earliest)},
            {"p50_s", round3(percentile(late, 0.5))},
            {"p99_s", round3(percentile(late, 0.99))},
            {"max_s", round3(percentile(late, 1))}};
  }

  struct lifetime {
    std::shared_ptr<connection> watcher;
    steady::time_point sent, answered, ended; ///< the last renewal; when the end was seen
    bool renewed = false;
  };

  /// Waits for the end of one session of the sample.
  void watch(lifetime& l, const std::string& target, const std::string& index) {
    l.watcher->ask(http::verb::get, target + (index.empty() ? "" : "?wait=600s&index=" + index), {},
                   [this, &l, target](int status, const std::string& body) {
                     if (status == 200 && body.starts_with("[]"))
                       l.ended = steady::now();
                     else if (status == 200)
                       watch(l, target, l.watcher->index());
                   });
  }

  json::object exact() {
    std::vector<lifetime> sample(std::min(o_.sample, ids_.size()));
    const auto stride = ids_.size() / sample.size();
    for (std::size_t s = 0; s < sample.size(); ++s) {
      sample[s].watcher = std::make_shared<connection>(loop_, where_);
      watch(sample[s], "/v1/session/info/" + ids_[s * stride], "");
    }
    std::size_t failed = 0, next = 0;
    const auto start = steady::now();
    const auto due = [&](std::size_t i) {
      return start +
             std::chrono::duration_cast<steady::duration>(seconds(
                 static_cast<double>(*o_.exact_over_s) * static_cast<double>(i) / static_cast<double>(ids_.size())));
    };
    std::vector<std::shared_ptr<asio::steady_timer>> pauses;
    std::vector<std::function<void()>> steps(pool_.size());
    for (std::size_t c = 0; c < pool_.size(); ++c) {
      pauses.push_back(std::make_shared<asio::steady_timer>(loop_));
      steps[c] = [&, c] {
        if (next == ids_.size())
          return;
        const auto i = next++;
        pauses[c]->expires_at(due(i));
        pauses[c]->async_wait([&, c, i](beast::error_code) {
          pool_[c]->ask(http::verb::put, "/v1/session/renew/" + ids_[i], {},
                        [&, c, i, sent = steady::now()](int status, const std::string&) {
                          failed += status == 200 ? 0 : 1;
                          if (i % stride == 0 && i / stride < sample.size()) {
                            auto& l = sample[i / stride];
                            l.sent = sent;
                            l.answered = steady::now();
                            l.renewed = status == 200;
                          }
                          steps[c]();
                        });
        });
      };
      steps[c]();
    }
    loop_.restart();
    loop_.run();
    std::vector<double> after_answer, after_sent;
    std::size_t unheard = 0;
    for (const auto& l : sample) {
      if (!l.renewed || l.ended == steady::time_point{}) {
        ++unheard;
        continue;
      }
      after_sent.push_back((seconds(l.ended - l.sent).count() - o_.ttl_s) * 1e3);
      after_answer.push_back((seconds(l.ended - l.answered).count() - o_.ttl_s) * 1e3);
    }
    json::object histogram;
    for (const int edge : {0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000}) {
      const auto n = std::count_if(after_answer.begin(), after_answer.end(), [edge](double l) { return l <= edge; });
      histogram["<=" + std::to_string(edge) + "ms"] = n;
    }
    const auto early = std::count_if(after_sent.begin(), after_sent.end(), [](double l) { return l < 0; });
    return {{"sessions", ids_.size()},
            {"renewals_failed", failed},
            {"sample", after_sent.size()},
            {"unheard", unheard},
            {"early", early},
            {"earliest_ms", round3(percentile(after_sent, 0))},
            {"late", histogram},
            {"p50_ms", round3(percentile(after_answer, 0.5))},
            {"p99_ms", round3(percentile(after_answer, 0.99))},
            {"max_ms", round3(percentile(after_answer, 1))}};
  }

  void look(connection& c, std::size_t i, std::vector<double>& late) {
    c.ask(http::verb::get, "/v1/session/info/" + ids_[i], {},
          [this, &c, i, &late](int status, const std::string& body) {
            if (status == 200 && body.starts_with("[]"))
              return late.push_back(since(renewed_[i]) - 2.0 * o_.ttl_s);
            auto timer = std::make_shared<asio::steady_timer>(loop_, std::chrono::milliseconds(50));
            timer->async_wait([this, timer, &c, i, &late](beast::error_code) { look(c, i, late); });
          });
  }

  std::vector<std::string> sessions_of(const std::string& node, std::size_t count) {
    std::vector<std::string> made(count);
    all(count, [&](std::size_t i, connection& c, const std::function<void()>& next) {
      c.ask(http::verb::put, "/v1/session/create", session(node, 86'400), [&, i, next](int, const std::string& body) {
        made[i] = json::parse(body).at("ID").as_string().c_str();
        next();
      });
    });
    return made;
  }

  struct entry_under_load {
    double took_ms = 0;
    std::vector<double> before, around; ///< puts, in ms
  };
  /// Puts from all connections but the first; deregisters the node in the middle.
  entry_under_load deregister_under_puts() {
    entry_under_load r;
    std::optional<steady::time_point> ended;
    const auto start = steady::now();
    asio::steady_timer middle(loop_, std::chrono::seconds(3));
    middle.async_wait([&](beast::error_code) {
      ended = steady::now();
      pool_[0]->ask(http::verb::put, "/v1/catalog/deregister", R"({"Node":"bulk"})",
                    [&](int, const std::string&) { r.took_ms = since(*ended) * 1e3; });
    });
    keep_asking(
        1, [&](std::size_t) { return since(start) < 6; },
        [&](std::size_t number, connection& c, const std::function<void()>& next) {
          c.ask(http::verb::put, "/v1/kv/scale/put/" + std::to_string(number % 64), "value",
                [&, next, sent = steady::now()](int, const std::string&) {
                  (ended ? r.around : r.before).push_back(since(sent) * 1e3);
                  next();
                });
        });
    return r;
  }

  static json::object shown(entry_under_load& r) {
    const auto puts = static_cast<double>(r.before.size() + r.around.size());
    return {{"entry_took_ms", round3(r.took_ms)},
            {"puts_p99_ms_before", round3(percentile(r.before, 0.99))},
            {"puts_p99_ms_after", round3(percentile(r.around, 0.99))},
            {"puts_max_ms_before", round3(percentile(r.before, 1))},
            {"puts_max_ms_after", round3(percentile(r.around, 1))},
            {"puts_per_second", round3(puts / 6)}};
  }

  json::object end_many() {
    const auto locked = sessions_of("bulk", o_.locked);
    std::size_t granted = 0;
    all(o_.locked, [&](std::size_t i, connection& c, const std::function<void()>& next) {
      c.ask(http::verb::put, "/v1/kv/scale/lock/" + std::to_string(i) + "?acquire=" + locked[i], "held",
            [&, next](int, const std::string& body) {
              granted += body == "true" || body == "true\n" ? 1 : 0;
              next();
            });
    });
    auto under_load = deregister_under_puts();
    auto figures = shown(under_load);
    figures["sessions_with_a_lock_each"] = granted;
    return figures;
  }

  /// Requests claim i for the session `of(i)`. @returns how many are then in that state
  std::size_t claim_all(std::size_t count, const std::string& state,
                        const std::function<std::string(std::size_t)>& of) {
    std::size_t found = 0;
    all(count, [&](std::size_t i, connection& c, const std::function<void()>& next) {
      c.ask(http::verb::put, "/v1/claim/scale/" + std::to_string(i % o_.locked) + "?wait=0s&session=" + of(i), {},
            [&, next](int status, const std::string& body) {
              found += status == 200 && json::parse(body).at("State").as_string() == state.c_str() ? 1 : 0;
              next();
            });
    });
    return found;
  }

  json::object end_holders() {
    const auto holders = sessions_of("bulk", o_.locked);
    const auto before = used(o_.pids);
    const auto held = claim_all(o_.locked, "held", [&](std::size_t i) { return holders[i]; });
    // Each for one resource.
    const auto waiters = sessions_of("scale", o_.waiting);
    const auto start = steady::now();
    const auto waiting = claim_all(o_.waiting, "waiting", [&](std::size_t i) { return waiters[i]; });
    const auto took = since(start);
    const auto with_queues = used(o_.pids);
    auto under_load = deregister_under_puts();
    std::size_t handed_on = 0;
    all(o_.locked, [&](std::size_t i, connection& c, const std::function<void()>& next) {
      c.ask(http::verb::get, "/v1/claim/scale/" + std::to_string(i), {},
            [&, i, next](int status, const std::string& body) {
              const auto holders_now = status == 200 ? json::parse(body).at("Holders").as_array() : json::array{};
              handed_on +=
                  holders_now.size() == 1 && holders_now[0].at("Session").as_string() == waiters[i].c_str() ? 1 : 0;
              next();
            });
    });
    auto figures = shown(under_load);
    figures["resources_held"] = held;
    figures["waiting"] = waiting;
    figures["asks_per_second"] = round3(static_cast<double>(o_.waiting) / took);
    if (!o_.pids.empty() && o_.waiting + o_.locked > 0)
      figures["bytes_per_claim_all_servers"] = round3(static_cast<double>(with_queues.rss_kib - before.rss_kib) * 1024 /
                                                      static_cast<double>(o_.waiting + o_.locked));
    figures["handed_on_to_the_head"] = handed_on;
    return figures;
  }

  options o_;
  asio::io_context loop_{1};
  tcp::resolver::results_type where_;
  std::vector<std::shared_ptr<connection>> pool_;
  std::vector<std::string> ids_;
  std::vector<steady::time_point> renewed_;
};

std::optional<options> understood(const std::vector<std::string>& words) {
  options o;
  if (words.empty())
    return std::nullopt;
  const auto colon = words[0].rfind(':');
  if (colon == std::string::npos)
    return std::nullopt;
  o.host = words[0].substr(0, colon);
  o.port = words[0].substr(colon + 1);
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto n = std::stoul(words[i + 1]);
    if (words[i] == "--sessions")
      o.sessions = n;
    else if (words[i] == "--ttl")
      o.ttl_s = static_cast<int>(n);
    else if (words[i] == "--connections")
      o.connections = std::max<std::size_t>(2, n);
    else if (words[i] == "--seconds")
      o.duration_s = static_cast<int>(n);
    else if (words[i] == "--locked")
      o.locked = n;
    else if (words[i] == "--exact")
      o.exact_over_s = static_cast<int>(n);
    else if (words[i] == "--sample")
      o.sample = std::max<std::size_t>(1, n);
    else if (words[i] == "--waiting")
      o.waiting = n;
    else if (words[i] == "--pid")
      o.pids.push_back(static_cast<int>(n));
    else
      return std::nullopt;
  }
  return o;
}

} // namespace

int main(int argc, char** argv) try {
  const auto o = understood({argv + 1, argv + argc});
  if (!o) {
    std::cerr << "Usage: session_scale HOST:PORT [--sessions N] [--ttl SECONDS] [--connections N] [--seconds N] "
                 "[--locked N] [--pid PID]... [--exact SECONDS] [--sample N] [--waiting N]\n";
    return 64;
  }
  std::cout << json::serialize(bench(*o).run()) << std::endl;
} catch (const std::exception& e) {
  std::cerr << "session_scale: " << e.what() << "\n";
  return 1;
}
