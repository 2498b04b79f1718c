#include "tests/actors/gateway/http_gateway_fixture.hpp"

#include "actors/tables/lock_delay_tracker.hpp"
#include "protocol/forward/renewals.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace belay::actors::testing {

namespace {

fsm_actor fake_fsm(caf::actor_system& system, std::shared_ptr<backstage> b, node_actors_ptr node_actors) {
  return sim::stub_of<fsm_actor>(
      system,
      [=](const check_write& w) {
        std::lock_guard lock(b->mutex);
        b->checked.push_back(w);
        state::reply r = false;
        if (!b->check_replies.empty()) {
          r = b->check_replies.back();
          b->check_replies.pop_back();
        } else if (b->apply) {
          r = b->apply(w.command);
        }
        caf::anon_send(node_actors->gateways[0],
                       write_results{{{w.id, wire::call_outcome::done, std::move(r), b->check_index, {}}}});
      },
      [=](const read_query& q) {
        std::lock_guard lock(b->mutex);
        b->reads.push_back(q);
        if (b->hold_reads)
          return;
        const auto* get = std::get_if<state::kv_get>(&q.request.query);
        auto found = b->answer ? b->answer(q.request.query) : entry_result(get != nullptr ? get->key : "", "v");
        caf::anon_send(node_actors->gateways[0], read_result{q.id, std::move(found), 0, true});
      },
      [=](const renew_session& r) { // there is no such actor
        caf::anon_send(
            node_actors->gateways[0],
            renew_result{r.id, true, nullptr, {}, forward::renewed_lifetimes(forward::sessions_of(r.sessions).size())});
      },
      [=](const cancel_query& c) {
        std::lock_guard lock(b->mutex);
        b->cancelled.push_back(c.id);
      },
      [=](const end_wait& w) {
        std::lock_guard lock(b->mutex);
        b->wait_ended.push_back(w.id);
        for (const auto& q : b->reads)
          if (q.id == w.id && b->hold_reads)
            caf::anon_send(
                node_actors->gateways[0],
                read_result{q.id, b->answer ? b->answer(q.request.query) : entry_result("k", "at the end"), 0, true});
      });
}

raft_peer_actor fake_raft_peer(caf::actor_system& system, std::shared_ptr<backstage> b, node_actors_ptr node_actors) {
  return sim::stub_of<raft_peer_actor>(
      system,
      [=](const propose_write& w) {
        std::lock_guard lock(b->mutex);
        b->writes.push_back(w);
        if (!b->hold_writes)
          caf::anon_send(node_actors->gateways[0],
                         write_results{{{w.id, wire::call_outcome::done, true, log_index{7}, {}}}});
      },
      [=](const status_request& s) {
        std::lock_guard lock(b->mutex);
        auto r = b->status;
        r.id = s.id;
        caf::anon_send(node_actors->gateways[0], std::move(r));
      });
}

health_checks_actor fake_agent(caf::actor_system& system, std::shared_ptr<backstage> b, node_actors_ptr node_actors) {
  return sim::stub_of<health_checks_actor>(
      system,
      [=](const agent_call& c) {
        std::lock_guard lock(b->mutex);
        b->agent_calls.push_back(c);
        if (auto response = b->agent(c))
          caf::anon_send(node_actors->gateways[0], agent_answer{c.id, std::move(*response)});
      },
      [=](const end_wait& w) {
        std::lock_guard lock(b->mutex);
        for (const auto& c : b->agent_calls)
          if (c.id == w.id)
            caf::anon_send(node_actors->gateways[0], agent_answer{c.id, agent::refused{418, "at the end"}});
      });
}

} // namespace

namespace {

// Nothing here takes a hundredth of it, but a busy machine may stop a process for seconds.
constexpr std::chrono::seconds timeout{60};

} // namespace

bool eventually(const std::function<bool()>& what) {
  for (const auto until = std::chrono::steady_clock::now() + timeout; std::chrono::steady_clock::now() < until;) {
    if (what())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

state::query_result entry_result(const std::string& key, const std::string& value) {
  state::kv_draft e;
  e.key = key;
  e.value = make_payload(value);
  e.create_index = e.modify_index = log_index{5};
  return {log_index{5}, state::kv_entries{{e}}};
}

// ---- raw_client

raw_client::raw_client(std::uint16_t port, int receive_buffer) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd_ >= 0);
  const timeval limit{timeout.count(), 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (receive_buffer > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
}

void raw_client::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) // the server may have rejected the rest
      return;
    sent += static_cast<std::size_t>(n);
  }
}

void raw_client::end_of_output() {
  ::shutdown(fd_, SHUT_WR);
}

void raw_client::close() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

void raw_client::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

bool raw_client::fill() {
  char bytes[65536];
  const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
  if (n < 0)
    INFO("recv: errno " << errno);
  if (n <= 0)
    return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

bool take_answer(std::string& bytes, answer& a, bool body) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos)
    return false;
  a.head = bytes.substr(0, end + 4);
  a.status = std::atoi(a.head.c_str() + 9);
  const auto at = a.head.find("Content-Length: ");
  const std::size_t size = body && at != std::string::npos ? std::strtoull(a.head.c_str() + at + 16, nullptr, 10) : 0;
  if (bytes.size() - a.head.size() < size)
    return false;
  a.body = bytes.substr(a.head.size(), size);
  bytes.erase(0, a.head.size() + size);
  return true;
}

answer raw_client::read(bool body) {
  answer a;
  while (!take_answer(buffer_, a, body))
    if (!fill())
      return {};
  return a;
}

std::string raw_client::receive() {
  if (buffer_.empty())
    fill();
  return std::exchange(buffer_, {});
}

std::string raw_client::rest() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

bool raw_client::closed() {
  char byte;
  if (!buffer_.empty())
    return false;
  const auto n = ::recv(fd_, &byte, 1, 0);
  return n == 0 || (n < 0 && errno == ECONNRESET);
}

// ---- gateway_fixture

gateway_fixture::gateway_fixture(gateway_settings settings, std::shared_ptr<const node_clock> clock, bool with_agent,
                                 const spawn_audit& audit)
    : system_(config_), host_(system_, loop_) {
  node_actors_->clock = std::move(clock);
  settings.listen = {{"127.0.0.1", 0, {}, settings.https != nullptr}};
  node_actors_->fsm = fake_fsm(system_, behind_, node_actors_);
  node_actors_->raft_peer = fake_raft_peer(system_, behind_, node_actors_);
  node_actors_->lock_delay_tracker = system_.spawn<lock_delay_tracker>(nullptr, node_actors_);
  if (with_agent)
    node_actors_->health_checks = fake_agent(system_, behind_, node_actors_);
  if (audit)
    node_actors_->audit_log = audit(system_, node_actors_);
  const auto gateway = system_.spawn<http_gateway>(&host_, node_actors_, std::move(settings), metrics_);
  node_actors_->gateways.push_back(gateway);
  auto* g = static_cast<http_gateway*>(caf::actor_cast<caf::abstract_actor*>(gateway));
  drained_ = g->drained();
  REQUIRE(g->listen().ok());
  const auto& address = g->addresses().at(0);
  port_ = static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1));
  thread_ = std::thread([this] { loop_.run(); });
}

gateway_fixture::~gateway_fixture() {
  stop();
  caf::anon_send(node_actors_->fsm, stop_atom::value);
  caf::anon_send(node_actors_->raft_peer, stop_atom::value);
  caf::anon_send(node_actors_->lock_delay_tracker, stop_atom::value);
  if (node_actors_->health_checks)
    caf::anon_send(node_actors_->health_checks, stop_atom::value);
  if (node_actors_->audit_log)
    caf::anon_send(node_actors_->audit_log, stop_atom::value);
  system_.await_all_actors_done();
  *node_actors_ = {};
  stays_.reset();
  loop_.stop();
  thread_.join();
}

bool gateway_fixture::stop() {
  if (!drained_.valid())
    return true;
  caf::anon_send(node_actors_->gateways[0], stop_atom::value);
  const bool done = drained_.wait_for(timeout) == std::future_status::ready;
  drained_ = {};
  return done;
}

void gateway_fixture::sync() {
  auto c = client();
  // An unknown path is answered by the gateway alone.
  CHECK(c.ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n").status == 404);
}

void gateway_fixture::answer_agent(std::size_t which, agent::reply r) {
  request_id id;
  {
    std::lock_guard lock(behind_->mutex);
    id = behind_->agent_calls.at(which).id;
  }
  caf::anon_send(node_actors_->gateways[0], agent_answer{id, std::move(r)});
}

void gateway_fixture::answer_write(std::size_t which, write_result r) {
  {
    std::lock_guard lock(behind_->mutex);
    r.id = behind_->writes.at(which).id;
  }
  caf::anon_send(node_actors_->gateways[0], write_results{{std::move(r)}});
}

void gateway_fixture::answer_read(std::size_t which) {
  request_id id;
  {
    std::lock_guard lock(behind_->mutex);
    id = behind_->reads.at(which).id;
  }
  caf::anon_send(node_actors_->gateways[0], read_result{id, entry_result("k", "v"), 0, true});
}

void gateway_fixture::answer_reads_with(std::size_t first, std::shared_ptr<const state::query_result> rows) {
  std::lock_guard lock(behind_->mutex);
  for (auto i = first; i < behind_->reads.size(); ++i)
    caf::anon_send(node_actors_->gateways[0],
                   read_result{behind_->reads[i].id, state::query_result{}, 0, true, 0, 0, rows});
}

} // namespace belay::actors::testing
