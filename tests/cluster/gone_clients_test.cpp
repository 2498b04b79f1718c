// A client closes its side of the connection, or all of it, while its request waits. A server that
// continues the wait keeps the connection, and 200 of them lock an address out. A client that
// closed only its side (`nc -N`) must get a response. Covers all routes, methods and waiting
// parameters.

#include "tests/cluster/cluster_fixture.hpp"

#include "protocol/http/routes.hpp"

#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

namespace json = boost::json;

namespace gone_clients {

using namespace belay::harness;
using belay::http::all_routes;
using belay::http::method_names_of;
using std::chrono::steady_clock;

namespace {

// No step here takes that long by itself; one that takes a tenth of it has waited in vain.
constexpr auto long_wait = "590s";
constexpr milliseconds limit{59'000};

/// A request that may wait, on a connection of its own.
struct question {
  std::string route, text;
  std::unique_ptr<http_connection> connection;
};

/// These would end the server or delete what it stores, or respond to other requests that wait.
bool left_out(std::string_view pattern, std::string_view method) {
  return method != "GET" && (pattern == "/v1/agent/leave" || pattern == "/v1/agent/reload" ||
                             pattern == "/v1/agent/join/" || pattern == "/v1/snapshot" || pattern == "/v1/event/fire/");
}

/// What makes requests to routes wait; empty: for a leader. SESSION is replaced by a new session.
std::vector<std::string> parameters_of(std::string_view method) {
  const std::string wait = std::string("&wait=") + long_wait;
  if (method == "GET")
    return {"",
            "index=1000000000" + wait,
            "index=1000000000&consistent" + wait,
            "index=1000000000&stale" + wait,
            "index=NOW" + wait,
            "hash=NOW" + wait,
            "cached&index=1000000000" + wait,
            "changes&index=1000000000" + wait,
            "changes&snapshot"};
  if (method == "PUT")
    return {"", "acquire=SESSION&queue=" + std::string(long_wait), "session=SESSION" + wait};
  return {""};
}

std::string session_at(server_node& node) {
  const auto made = node.put("/v1/session/create", R"({"TTL":"3600s","NodeChecks":[]})", limit);
  REQUIRE(made.ok());
  return std::string(json::parse(made.body).at("ID").as_string());
}

/// The present indexes of a route, so that a request can wait for the next change.
class known_now {
public:
  explicit known_now(server_node& requested) {
    for (const auto& route : all_routes()) {
      const std::string pattern(route.pattern);
      if ((route.methods & belay::http::method_get) == 0 || pattern == "/v1/agent/monitor") // it does not end
        continue;
      auto& response = response_[pattern];
      response = requested.get(pattern + (pattern.ends_with('/') ? "busy?stale" : "?stale"), limit);
    }
  }
  /// "1" if there is no such header.
  std::string of(std::string_view pattern, const char* header) const {
    const auto found = response_.find(std::string(pattern));
    const auto* response = found == response_.end() ? nullptr : found->second.header(header);
    return response == nullptr ? "1" : *response;
  }

private:
  std::map<std::string, http_reply> response_;
};

void replace(std::string& text, const std::string& what, const std::function<std::string()>& by) {
  if (const auto at = text.find(what); at != std::string::npos)
    text.replace(at, what.size(), by());
}

/// @param session returns the ID of a new session; while there is no leader, of one that was
/// created before
std::vector<question> questions_for(const known_now& known, const std::function<std::string()>& session) {
  std::vector<question> all;
  for (const auto& route : all_routes())
    for (const auto method : method_names_of(route)) {
      if (left_out(route.pattern, method))
        continue;
      for (auto more : parameters_of(method)) {
        const bool streams = more == "changes&snapshot";
        if (more.starts_with("hash") && route.pattern != "/v1/agent/service/")
          continue;
        if (more.find("SESSION") != std::string::npos && route.pattern != "/v1/kv/" && route.pattern != "/v1/claim/")
          continue;
        std::string argument = !route.pattern.ends_with('/') ? "" : more.empty() ? "idle" : "busy";
        if (method == "PUT" && route.pattern.starts_with("/v1/session/") && !argument.empty())
          argument = session();
        replace(more, "SESSION", session);
        replace(more, "hash=NOW", [&] { return "hash=" + known.of(route.pattern, "X-Consul-ContentHash"); });
        replace(more, "index=NOW", [&] { return "index=" + known.of(route.pattern, "X-Consul-Index"); });
        const auto target = std::string(route.pattern) + argument + "?" + more;
        all.push_back({std::string(method) + " " + std::string(route.pattern),
                       std::string(method) + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
                           (streams ? "Accept: text/event-stream\r\n" : "") +
                           (method != "GET" ? "Content-Length: 0\r\n" : "") + "\r\n",
                       nullptr});
      }
    }
  return all;
}

void send(question& q, std::uint16_t port) {
  q.connection = std::make_unique<http_connection>(port);
  REQUIRE(q.connection->connect(limit).empty());
  REQUIRE(::send(q.connection->descriptor(), q.text.data(), q.text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(q.text.size()));
}

/// Reads what has arrived. @returns false: the connection has ended
bool receive(const question& q, std::string& into, bool wait) {
  char bytes[65536];
  const auto n = ::recv(q.connection->descriptor(), bytes, sizeof bytes, wait ? 0 : MSG_DONTWAIT);
  if (n > 0)
    into.append(bytes, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EAGAIN);
}

/// Everything that arrives until the server closes. nullopt: it does not
std::optional<std::string> rest(const question& q) {
  const auto begun = steady_clock::now();
  const timeval timeout{1, 0};
  ::setsockopt(q.connection->descriptor(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string all;
  while (receive(q, all, true))
    if (steady_clock::now() - begun > limit)
      return std::nullopt;
  return all;
}

/// Connections whose client has closed and the server has not.
std::size_t left_open(std::uint16_t port) {
  std::size_t count = 0;
  for (const auto* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    while (std::getline(in, line)) {
      unsigned local = 0, state = 0;
      if (std::sscanf(line.c_str(), "%*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2 &&
          local == port && state == 8)
        ++count;
    }
  }
  return count;
}

/// Returns when the server has read everything sent before, and answered what it could.
void settle(server_node& node) {
  for (int i = 0; i < 20; ++i)
    node.get("/v1/kv/busy?stale", limit);
  for (int i = 0; i < 20; ++i)
    node.get("/v1/agent/services", limit);
}

json::object patient() {
  return {{"limits", json::object{{"http_max_conns_per_client", 4000}}},
          {"performance", json::object{{"rpc_hold_timeout", long_wait}}}};
}

/// Another session holds `busy`, as a key and as a claim.
void make_busy(server_node& node) {
  const auto holder = session_at(node);
  REQUIRE(node.put("/v1/kv/busy?acquire=" + holder, "x").body.starts_with("true"));
  REQUIRE(node.put("/v1/claim/busy?session=" + holder, "").ok());
  REQUIRE(node.put("/v1/agent/service/register", R"({"Name":"busy"})").ok());
}

/// Ends the client's side of each request at each possible moment: before it waits, while it waits,
/// and completely.
/// @returns the routes whose requests have waited
std::set<std::string> end_all(server_node& requested, const known_now& known,
                              const std::function<std::string()>& session) {
  std::set<std::string> waited;
  auto at_once = questions_for(known, session);
  for (auto& q : at_once) {
    send(q, requested.http_port());
    ::shutdown(q.connection->descriptor(), SHUT_WR);
  }
  for (const auto& q : at_once) {
    INFO(requested.name() << ", input ends with the request: " << q.text);
    const auto all = rest(q);
    REQUIRE(all);
    CHECK(all->starts_with("HTTP/1.1 "));
  }
  auto later = questions_for(known, session);
  for (auto& q : later)
    send(q, requested.http_port());
  settle(requested);
  for (auto& q : later) {
    std::string before;
    receive(q, before, false);
    if (before.find("\r\n\r\n") == std::string::npos || before.find("Transfer-Encoding: chunked") != std::string::npos)
      waited.insert(q.route);
    ::shutdown(q.connection->descriptor(), SHUT_WR);
    INFO(requested.name() << ", input ends while it waits: " << q.text << before);
    const auto all = rest(q);
    REQUIRE(all);
    CHECK((before + *all).starts_with("HTTP/1.1 "));
  }
  auto gone = questions_for(known, session);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    send(gone[i], requested.http_port());
    if (i % 2 == 0)
      gone[i].connection->close();
  }
  settle(requested);
  for (auto& q : gone)
    q.connection->close();
  CHECK(eventually(limit, [&] { return left_open(requested.http_port()) == 0; }));
  return waited;
}

const std::set<std::string> must_wait{"GET /v1/kv/",           "PUT /v1/kv/",           "GET /v1/claim/",
                                      "PUT /v1/claim/",        "GET /v1/claims",        "GET /v1/health/service/",
                                      "GET /v1/catalog/nodes", "GET /v1/event/list",    "GET /v1/agent/service/",
                                      "GET /v1/session/list",  "GET /v1/agent/monitor", "GET /v1/catalog/service/"};

void check_waited(const std::set<std::string>& waited, const std::set<std::string>& wanted = must_wait) {
  for (const auto& route : wanted) {
    INFO(route);
    CHECK(waited.contains(route));
  }
}

} // namespace

TEST_CASE("gone clients: no wait at a server keeps the connection of a client that has ended its side",
          "[gone_clients]") {
  auto cluster = ready_cluster(1, patient());
  auto& server = cluster->node(0);
  cluster->wait_registered(0);
  make_busy(server);
  check_waited(end_all(server, known_now(server), [&] { return session_at(server); }));
}

TEST_CASE("gone clients: neither at a follower, nor when there is no leader", "[gone_clients]") {
  auto cluster = ready_cluster(3, patient());
  const auto leader = cluster->wait_leader();
  const auto follower = (leader + 1) % 3;
  auto& requested = cluster->node(follower);
  cluster->wait_registered(follower);
  make_busy(requested);
  const known_now known(requested);
  check_waited(end_all(requested, known, [&] { return session_at(requested); }));

  std::vector<std::string> sessions;
  for (int i = 0; i < 40; ++i)
    sessions.push_back(session_at(requested));
  for (std::size_t i = 0; i < 3; ++i)
    if (i != follower)
      cluster->node(i).pause();
  REQUIRE(eventually(limit, [&] { return requested.get("/v1/status/leader").body == "\"\""; }));
  const auto waited = end_all(requested, known, [&] {
    REQUIRE_FALSE(sessions.empty());
    auto one = sessions.back();
    sessions.pop_back();
    return one;
  });
  check_waited(waited, {"GET /v1/kv/", "PUT /v1/kv/", "DELETE /v1/kv/", "PUT /v1/claim/", "PUT /v1/session/create",
                        "PUT /v1/session/renew/", "GET /v1/catalog/nodes", "GET /v1/operator/raft/configuration"});
  for (std::size_t i = 0; i < 3; ++i)
    if (i != follower)
      cluster->node(i).resume();
}

// The server's wait ends, too; otherwise the agent's connections to it would be used up instead.
TEST_CASE("gone clients: neither at a client agent, nor at its server", "[gone_clients]") {
  raise_file_limit();
  auto cluster = std::make_unique<server_cluster>(server_command::from_environment(BELAY_BINARY_DIR),
                                                  cluster_options{1, "node", patient(), 0, 1});
  cluster->start_all();
  cluster->wait_ready();
  cluster->wait_agents();
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  make_busy(server);
  REQUIRE(agent.put("/v1/agent/service/register", R"({"Name":"busy"})").ok());
  check_waited(end_all(agent, known_now(agent), [&] { return session_at(server); }));
  CHECK(eventually(limit, [&] { return left_open(server.server_port()) == 0; }));
  const auto parked = [&] {
    const auto numbers = json::parse(server.get("/v1/agent/metrics").body);
    for (const auto& g : numbers.at("Gauges").as_array())
      if (g.at("Name").as_string().ends_with(".watch.parked_queries"))
        return g.at("Value").to_number<double>();
    return -1.0;
  };
  // For `?cached` the agent keeps one request for each list at the server (cached_answers.hpp).
  CHECK(eventually(limit, [&] { return parked() >= 0 && parked() < 40; }));
}

} // namespace gone_clients
