// Runs checks against sockets and programs of this machine.

#include "actors/agent/asio_probes.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

struct probe_result {
  std::string status, output;
};

agent::check_definition check_every_second() {
  agent::check_definition c;
  c.interval_ns = std::chrono::nanoseconds(1s).count();
  return c;
}

/// @pre the check ends by itself
probe_result run(const agent::check_definition& check, http_networks_ptr allowed = nullptr) {
  boost::asio::io_context loop;
  asio_probes probes(loop, std::move(allowed));
  std::optional<probe_result> found;
  probes.start(check, [&](std::string status, std::string output) {
    REQUIRE_FALSE(found);
    found = probe_result{std::move(status), std::move(output)};
  });
  loop.run();
  REQUIRE(found);
  return *found;
}

/// A thread that calls `serve` with each of the first connections, after the head of its request.
class local_server {
public:
  using server = std::function<void(tcp::socket& client, std::string head)>;

  local_server(std::size_t connections, server serve)
      : acceptor_(loop_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this, connections, serve = std::move(serve)] {
          for (std::size_t i = 0; i < connections; ++i) {
            tcp::socket client(loop_);
            acceptor_.accept(client);
            boost::asio::streambuf head;
            boost::system::error_code e;
            boost::asio::read_until(client, head, "\r\n\r\n", e);
            serve(client, {boost::asio::buffers_begin(head.data()), boost::asio::buffers_end(head.data())});
          }
        }) {}
  ~local_server() { join(); }

  void join() {
    if (thread_.joinable())
      thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  /// Whether no further connection waits. @pre joined
  bool is_left_alone() {
    acceptor_.non_blocking(true);
    tcp::socket again(loop_);
    boost::system::error_code e;
    acceptor_.accept(again, e);
    return e == boost::asio::error::would_block;
  }

private:
  boost::asio::io_context loop_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

/// Answers each connection with the next text.
class text_server {
public:
  explicit text_server(const std::vector<std::string>& answers)
      : server_(answers.size(), [this, answers](tcp::socket& client, std::string head) {
          boost::system::error_code e;
          boost::asio::write(client, boost::asio::buffer(answers.at(requests.size())), e);
          requests.push_back(std::move(head));
        }) {}

  void join() { server_.join(); }
  std::string address() const { return server_.address(); }

  std::vector<std::string> requests; ///< after join()

private:
  local_server server_;
};

std::string http_answer(const std::string& status, const std::string& body, const std::string& more = {}) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

/// A port without a listener: bound, but closed to connections.
struct closed_port {
  closed_port() : socket(loop, tcp::v4()) { socket.bind({boost::asio::ip::address_v4::loopback(), 0}); }
  std::string address() const { return "127.0.0.1:" + std::to_string(socket.local_endpoint().port()); }

  boost::asio::io_context loop;
  tcp::socket socket;
};

agent::check_definition script(std::vector<std::string> args) {
  auto c = check_every_second();
  c.args = std::move(args);
  return c;
}

} // namespace

TEST_CASE("a TCP check connects, or reports why not", "[probes]") {
  boost::asio::io_context loop;
  tcp::acceptor listens(loop, {boost::asio::ip::address_v4::loopback(), 0});
  auto c = check_every_second();
  c.tcp = "127.0.0.1:" + std::to_string(listens.local_endpoint().port());
  auto v = run(c);
  CHECK(v.status == "passing");
  CHECK(v.output == "TCP connect " + c.tcp + ": Success");
  const closed_port nobody;
  c.tcp = nobody.address();
  v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output == "dial tcp " + c.tcp + ": connect: connection refused");
  c.tcp = "127.0.0.1";
  CHECK(run(c).output == "dial tcp: address 127.0.0.1: missing port in address");
}

TEST_CASE("an HTTP check is decided by the status code, and shows the body", "[probes]") {
  text_server server({http_answer("200 OK", "fine"), http_answer("429 Too Many Requests", "busy"),
                      http_answer("503 Service Unavailable", "")});
  auto c = check_every_second();
  c.http = "http://" + server.address() + "/health?x=1";
  c.header["X-Mine"] = {"7"};
  auto v = run(c);
  CHECK(v.status == "passing");
  CHECK(v.output == "HTTP GET " + c.http + ": 200 OK Output: fine");
  v = run(c);
  CHECK(v.status == "warning");
  CHECK(v.output == "HTTP GET " + c.http + ": 429 Too Many Requests Output: busy");
  c.method = "POST";
  c.body = "abc";
  CHECK(run(c).status == "critical");
  server.join();
  REQUIRE(server.requests.size() == 3);
  CHECK(server.requests[0].rfind("GET /health?x=1 HTTP/1.1\r\n", 0) == 0);
  CHECK(server.requests[0].find("X-Mine: 7\r\n") != std::string::npos);
  CHECK(server.requests[0].find("User-Agent: Consul Health Check\r\n") != std::string::npos);
  CHECK(server.requests[2].rfind("POST /health?x=1 HTTP/1.1\r\n", 0) == 0);
}

TEST_CASE("an HTTP check follows redirects and shows the end of a long body", "[probes]") {
  text_server server({http_answer("302 Found", "", "Location: /there\r\n"), http_answer("200 OK", "0123456789")});
  auto c = check_every_second();
  c.http = "http://" + server.address();
  c.output_bytes_max = 4;
  const auto v = run(c);
  CHECK(v.status == "passing");
  CHECK(v.output == "HTTP GET " + c.http + ": 200 OK Output: 6789");
  server.join();
  CHECK(server.requests.at(1).rfind("GET /there HTTP/1.1\r\n", 0) == 0);
}

// Beast's limits are stricter than those of Go's client: each of these ended sessions.
TEST_CASE("an HTTP check accepts the responses that Go's client accepts", "[probes]") {
  std::string many_headers, long_header = "X-Long: " + std::string(200'000, 'h') + "\r\n";
  for (int i = 0; i < 500; ++i)
    many_headers += "X-" + std::to_string(i) + ": " + std::string(100, 'h') + "\r\n";
  struct row {
    std::string bytes, shown;
  };
  for (const auto& each : std::vector<row>{
           {"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "200 OK Output: ok"},
           {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "200 OK Output: ok"},
           {"HTTP/1.1 200 OK\r\n" + many_headers + "Content-Length: 2\r\n\r\nok", "200 OK Output: ok"},
           {"HTTP/1.1 200 OK\r\n" + long_header + "Content-Length: 2\r\n\r\nok", "200 OK Output: ok"},
           {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 Fine\r\n"
            "Content-Length: 2\r\n\r\nok",
            "200 Fine Output: ok"},
           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "200 OK Output: ok"},
           {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nok", "200 OK Output: ok"}, // and ends there
           {"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + std::string(1'999'998, 'x') + "ok",
            "200 OK Output: " + std::string(4094, 'x') + "ok"}}) {
    text_server server({each.bytes});
    auto c = check_every_second();
    c.http = "http://" + server.address();
    const auto v = run(c);
    CHECK(v.status == "passing");
    CHECK(v.output == "HTTP GET " + c.http + ": " + each.shown);
    server.join();
  }
}

bool has_line(const std::string& request, const std::string& line) {
  return request.find("\r\n" + line + "\r\n") != std::string::npos;
}

// The server of a check, or an attacker who has taken it over, can redirect the agent anywhere.
TEST_CASE("secrets and the virtual host of an HTTP check go to no other server", "[probes][redirects]") {
  for (const auto* status : {"301 Moved", "302 Found", "303 See Other", "307 Again", "308 Forever"}) {
    INFO(status);
    text_server back({http_answer("200 OK", "there")});
    text_server other({http_answer("302 Found", "", "Location: /again\r\n"),
                       http_answer("302 Found", "", "Location: http://" + back.address() + "/back\r\n")});
    text_server first({http_answer("302 Found", "", "Location: /own\r\n"),
                       http_answer(status, "", "Location: http://" + other.address() + "/x\r\n")});
    auto c = check_every_second();
    c.http = "http://" + first.address() + "/";
    c.header = {
        {"authorization", {"Bearer SECRET"}}, {"Cookie", {"sid=SECRET"}}, {"Host", {"my.vhost"}}, {"X-Own", {"1"}}};
    CHECK(run(c).status == "passing");
    first.join();
    other.join();
    back.join();
    for (const auto& own : first.requests) {
      CHECK(has_line(own, "authorization: Bearer SECRET"));
      CHECK(has_line(own, "Cookie: sid=SECRET"));
      CHECK(has_line(own, "Host: my.vhost"));
    }
    for (const auto& foreign : {other.requests.at(0), other.requests.at(1), back.requests.at(0)}) {
      CHECK(foreign.find("SECRET") == std::string::npos);
      CHECK(foreign.find("my.vhost") == std::string::npos);
      CHECK(has_line(foreign, "X-Own: 1"));
    }
    CHECK(has_line(other.requests.at(0), "Host: " + other.address()));
  }
}

// The read is pending then: a further request destroyed the parser that it uses.
TEST_CASE("a redirect whose body does not arrive ends its HTTP check at the timeout", "[probes][redirects]") {
  const std::string head = "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\n";
  local_server server(1, [&](tcp::socket& client, const std::string&) {
    boost::asio::streambuf rest;
    boost::system::error_code e;
    boost::asio::write(client, boost::asio::buffer(head), e);
    boost::asio::read(client, rest, e); // until the check closes the connection
  });
  auto c = check_every_second();
  c.http = "http://" + server.address() + "/";
  c.timeout_ns = std::chrono::nanoseconds(200ms).count();
  const auto v = run(c);
  server.join();
  CHECK(v.status == "critical");
  CHECK(v.output.find("context deadline exceeded") != std::string::npos);
  CHECK(server.is_left_alone());
}

// Such bytes were all kept until the timeout: one check took 9 GB, and its end stopped the thread
// for seconds.
TEST_CASE("an HTTP check ends when the line of a chunk or a trailer has no end", "[probes]") {
  const std::string begin = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  constexpr std::size_t sent_max = 64u << 20; // buffers of the system take a few MiB
  for (const std::string endless : {"5;", "2\r\nup\r\n5;", "2\r\nup\r\n0\r\nX-More: "}) {
    CAPTURE(endless);
    std::size_t sent = 0;
    local_server server(1, [&](tcp::socket& client, const std::string&) {
      boost::system::error_code e;
      boost::asio::write(client, boost::asio::buffer(begin + endless), e);
      for (const std::string more(65536, 'x'); !e && sent < sent_max;)
        sent += boost::asio::write(client, boost::asio::buffer(more), e);
    });
    auto c = check_every_second();
    c.http = "http://" + server.address() + "/";
    c.timeout_ns = std::chrono::nanoseconds(20s).count();
    const auto v = run(c);
    server.join();
    CHECK(v.status == "passing"); // as in Consul: the status has arrived
    CHECK(v.output.find("200 OK") != std::string::npos);
    CHECK(sent < sent_max);
  }
}

TEST_CASE("an HTTP check with POST follows a 303 without a body, with the right headers", "[probes][redirects]") {
  text_server server({http_answer("303 See Other", "", "Location: /there\r\n"), http_answer("200 OK", "x")});
  auto c = check_every_second();
  c.http = "http://" + server.address();
  c.method = "POST";
  c.body = "the body";
  CHECK(run(c).output == "HTTP POST " + c.http + ": 200 OK Output: x");
  server.join();
  CHECK(server.requests.at(0).find("Content-Length: 8\r\n") != std::string::npos);
  CHECK(server.requests.at(1).rfind("GET /there HTTP/1.1\r\n", 0) == 0);
  CHECK(server.requests.at(1).find("Content-Length") == std::string::npos);
}

TEST_CASE("a login in the URL of an HTTP check is sent, but never shown", "[probes][login]") {
  text_server server({http_answer("302 Found", "", "Location: there\r\n"), http_answer("200 OK", "x")});
  auto c = check_every_second();
  c.http = "http://user:pa%40ss@" + server.address() + "/auth";
  auto v = run(c);
  CHECK(v.status == "passing");
  CHECK(v.output == "HTTP GET http://user:***@" + server.address() + "/auth: 200 OK Output: x");
  server.join();
  for (const auto& request : server.requests) {
    CHECK(has_line(request, "Authorization: Basic dXNlcjpwYUBzcw=="));
    CHECK(has_line(request, "Host: " + server.address()));
  }
  // A header of the check's own takes precedence.
  text_server own({http_answer("200 OK", "x")});
  c.http = "http://user:pass@" + own.address();
  c.header = {{"Authorization", {"Bearer b"}}};
  CHECK(run(c).status == "passing");
  own.join();
  CHECK(has_line(own.requests.at(0), "Authorization: Bearer b"));
  CHECK(own.requests.at(0).find("Basic") == std::string::npos);
  // Nor if the request fails, or after a redirect.
  const closed_port nobody;
  c.http = "http://user:s3cret@" + nobody.address() + "/x";
  CHECK(run(c).output == "Get \"http://user:***@" + nobody.address() + "/x\": dial tcp " + nobody.address() +
                             ": connect: connection refused");
  text_server sends({http_answer("302 Found", "", "Location: http://u:s3cret@" + nobody.address() + "/\r\n")});
  c.http = "http://" + sends.address();
  CHECK(run(c).output.find("s3cret") == std::string::npos);
  c.http = "http://user:s3%zzcret@" + nobody.address();
  CHECK(run(c).output.find("s3") == std::string::npos);
}

TEST_CASE("an HTTP check connects only to addresses that the configuration allows, redirects included",
          "[probes][B25]") {
  const auto networks = [](std::vector<std::string> list) {
    return std::make_shared<const std::vector<std::string>>(std::move(list));
  };
  auto c = check_every_second();
  for (const auto& list : {networks({}), networks({"10.0.0.0/8", "::1/128", "127.0.0.2/32"})}) {
    const closed_port nobody;
    c.http = "http://" + nobody.address();
    const auto v = run(c, list);
    CHECK(v.status == "critical");
    CHECK(v.output.find("the address is in no network of check_http_allow") != std::string::npos);
    c.http = "http://localhost:1";
    CHECK((list->empty() ? run(c, list).output.find("check_http_allow") != std::string::npos : true));
  }
  text_server server({http_answer("302 Found", "", "Location: http://127.0.0.2:1/\r\n")});
  c.http = "http://" + server.address();
  const auto v = run(c, networks({"127.0.0.1/32"}));
  CHECK(v.output ==
        "Get \"http://127.0.0.2:1/\": dial tcp 127.0.0.2:1: connect: the address is in no network of check_http_allow");
}

TEST_CASE("an HTTP check of a closed port, of a silent server, of an invalid URL", "[probes]") {
  auto c = check_every_second();
  const closed_port nobody;
  c.http = "http://" + nobody.address() + "/";
  auto v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output == "Get \"" + c.http + "\": dial tcp " + nobody.address() + ": connect: connection refused");

  boost::asio::io_context loop; // accepts connections, and never sends a byte
  tcp::acceptor silent(loop, {boost::asio::ip::address_v4::loopback(), 0});
  c.http = "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port()) + "/";
  c.timeout_ns = std::chrono::nanoseconds(50ms).count();
  v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output ==
        "Get \"" + c.http + "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
  c.http = "ftp://x/";
  CHECK(run(c).output == "Get \"ftp://x/\": unsupported protocol scheme \"ftp\"");
}

// The protocol itself is tested in tests/unit/actors/agent/grpc_call_test.cpp.
TEST_CASE("a gRPC check of a closed port, of a silent server, of a web server", "[probes]") {
  auto c = check_every_second();
  const closed_port nobody;
  c.grpc = nobody.address() + "/my.Service";
  auto v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output ==
        "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial "
        "tcp " +
            nobody.address() + ": connect: connection refused\"");
  c.grpc = "127.0.0.1";
  CHECK(run(c).output.find("missing port in address") != std::string::npos);

  text_server web({http_answer("400 Bad Request", "what?")});
  c.grpc = web.address();
  v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output == "rpc error: code = Unavailable desc = connection closed");
  web.join();
  CHECK(web.requests.front().find("PRI * HTTP/2.0") == 0);

  boost::asio::io_context loop;
  tcp::acceptor silent(loop, {boost::asio::ip::address_v4::loopback(), 0});
  c.grpc = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  c.timeout_ns = std::chrono::nanoseconds(200ms).count();
  CHECK(run(c).output == "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
}

TEST_CASE("a request that cannot be written is a critical check, and nothing leaves the loop", "[probes]") {
  // None of these can be registered now (docs/internals/pitfalls.md H1); the probe checks it again.
  text_server server({http_answer("200 OK", "")});
  auto c = check_every_second();
  c.http = "http://" + server.address() + "/";
  c.header["X-Long"] = {std::string(70'000, 'x')};
  auto v = run(c); // run() would rethrow an exception of a handler
  CHECK(v.status == "critical");
  CHECK(v.output.rfind("Get \"" + c.http + "\": ", 0) == 0);
  server.join();
  CHECK(server.requests.at(0).empty());
  c.http = "http://bad\r\nhost/";
  CHECK(run(c).status == "critical");
}

TEST_CASE("an HTTP check sends one request, whatever its URL and header contain", "[probes]") {
  text_server server({http_answer("200 OK", "")});
  auto c = check_every_second();
  c.http = "http://" + server.address() + "/a b\r\n?c=\xc3\xa9";
  c.body = "abc";
  c.header["Content-Length"] = {"1"};
  c.header["transfer-encoding"] = {"chunked"};
  c.header["Trailer"] = {"X"};
  CHECK(run(c).status == "passing");
  server.join();
  const auto& request = server.requests.at(0);
  CHECK(request.rfind("GET /a%20b%0D%0A?c=%C3%A9 HTTP/1.1\r\n", 0) == 0);
  CHECK(request.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(request.find("Content-Length: 1") == std::string::npos);
  CHECK(request.find("ransfer-") == std::string::npos);
  CHECK(request.find("Trailer") == std::string::npos);
}

TEST_CASE("a script's exit code is the status, what it writes is shown", "[probes]") {
  auto v = run(script({"/bin/sh", "-c", "echo out; echo err >&2"}));
  CHECK(v.status == "passing");
  CHECK(v.output == "out\nerr\n");
  CHECK(run(script({"/bin/sh", "-c", "exit 1"})).status == "warning");
  CHECK(run(script({"/bin/sh", "-c", "exit 2"})).status == "critical");
  CHECK(run(script({"/bin/sh", "-c", "kill -9 $$"})).status == "critical");
  CHECK(run(script({"sh", "-c", "exit 0"})).status == "passing"); // found by PATH
  v = run(script({"/nonexistent/program"}));
  CHECK(v.status == "critical");
  CHECK(v.output == "fork/exec /nonexistent/program: no such file or directory");
  CHECK(run(script({"belay-no-such-program"})).output ==
        "exec: \"belay-no-such-program\": executable file not found in $PATH");
}

// The server has open files that are not close-on-exec. A check must not pass them to its program.
TEST_CASE("a script inherits nothing but its input and output", "[probes]") {
  const int opened = ::open("/dev/null", O_RDONLY);
  const int inherited = ::fcntl(opened, F_DUPFD, 200); // the shell opens low descriptors itself, to list the folder
  REQUIRE(inherited >= 200);
  const auto v = run(script({"/bin/sh", "-c", "echo /proc/$$/fd/*"}));
  ::close(inherited);
  ::close(opened);
  CHECK(v.output.find("/fd/" + std::to_string(inherited)) == std::string::npos);
  CHECK(v.output.find("/fd/2") != std::string::npos);
}

TEST_CASE("the end of a long output of a script is kept", "[probes]") {
  auto c = script({"/bin/sh", "-c", "printf 0123456789"});
  c.output_bytes_max = 4;
  CHECK(run(c).output == "Captured 4 of 10 bytes\n...\n6789");
}

TEST_CASE("a script that takes too long is ended with all it started", "[probes]") {
  auto c = script({"/bin/sh", "-c", "sleep 1000 & sleep 1000"});
  c.timeout_ns = std::chrono::nanoseconds(50ms).count();
  const auto v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output == "Timed out (50ms) running check");
}

TEST_CASE("a script that leaves its process group is ended at the timeout, too", "[probes]") {
  auto c = script(
      {"/usr/bin/env", "python3", "-c", "import os, time; os.setpgid(0, os.getpgid(os.getppid())); time.sleep(1000)"});
  c.timeout_ns = std::chrono::nanoseconds(500ms).count();
  const auto v = run(c);
  CHECK(v.status == "critical");
  CHECK(v.output == "Timed out (500ms) running check");
}

TEST_CASE("runs that are stopped report nothing", "[probes]") {
  boost::asio::io_context loop;
  asio_probes probes(loop);
  bool received = false;
  probes.start(script({"/bin/sh", "-c", "sleep 1000"}), [&](std::string, std::string) { received = true; });
  boost::asio::io_context silent_loop;
  tcp::acceptor silent(silent_loop, {boost::asio::ip::address_v4::loopback(), 0});
  auto c = check_every_second();
  c.http = "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port()) + "/";
  probes.start(c, [&](std::string, std::string) { received = true; });
  probes.stop();
  loop.run(); // returns: nothing is left
  CHECK_FALSE(received);
}

// Asio looks up a loop's names on one thread: an unanswered name made other checks critical.
TEST_CASE("a name that is not answered delays neither other names nor addresses", "[probes]") {
  struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  const auto closed = std::make_shared<gate>();
  const auto look_up = [closed](const std::string& host) {
    std::unique_lock lock(closed->mutex);
    closed->changed.wait(lock, [&] { return closed->open || host != "slow.example"; });
    return host == "well.example" ? all_resolved("127.0.0.1", nullptr, 0) : name_lookups::addresses{};
  };
  text_server server({http_answer("200 OK", "a"), http_answer("200 OK", "b")});
  const auto at = server.address();
  const auto port = at.substr(at.rfind(':'));
  boost::asio::io_context loop;
  {
    asio_probes probes(loop, nullptr, look_up);
    std::map<std::string, probe_result> found;
    const auto probe = [&](const std::string& name, agent::check_definition c) {
      probes.start(c, [&, name](std::string status, std::string output) {
        found[name] = {std::move(status), std::move(output)};
        if (found.size() == 4)
          probes.stop();
      });
    };
    auto c = check_every_second();
    c.timeout_ns = std::chrono::nanoseconds(60s).count(); // a wrong response comes by then
    c.tcp = "slow.example:80";
    probe("slow tcp", c);
    c.tcp = "nobody.example:80";
    probe("nobody", c);
    c.tcp.clear();
    c.http = "http://slow.example/";
    probe("slow http", c);
    c.http = "http://" + at + "/";
    probe("address", c);
    c.http = "http://well.example" + port + "/";
    probe("name", c);
    c.http = "http://127.0.0.1:nowhere/";
    probe("port", c);
    loop.run(); // returns when the four others have ended
    CHECK(found.size() == 4);
    CHECK(found["address"].status == "passing");
    CHECK(found["name"].status == "passing");
    CHECK(found["nobody"].output == "dial tcp: lookup nobody.example: no such host");
    CHECK(found["port"].output == "Get \"http://127.0.0.1:nowhere/\": dial tcp: lookup tcp/nowhere: unknown port");
  }
  {
    std::lock_guard lock(closed->mutex);
    closed->open = true;
  }
  closed->changed.notify_all();
  server.join();
}
