#include "client/asio/socket_environment.hpp"

#include "client/asio/byte_stream.hpp"
#include "client/core/connection_classes.hpp"
#include "client/core/json_answers.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

namespace http = boost::beast::http;

namespace {

/// Timers stop during a suspension; the clock of sessions does not. So check it this often.
constexpr std::chrono::seconds look_at_clock{5};
constexpr std::size_t idle_max = 16;
constexpr std::chrono::seconds idle_longest{60};
constexpr std::size_t piece_bytes = 64 * 1024; ///< size of the pieces of a streamed body

std::chrono::nanoseconds timer_length(instant until) {
  auto left = until - lease_clock::now();
  return std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), look_at_clock);
}

/// Control characters would end a header line.
bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; });
}

} // namespace

class socket_environment::parts : public std::enable_shared_from_this<parts> {
public:
  parts(asio::io_context& loop, transport_options options);

  struct connection {
    connection(std::size_t s, std::unique_ptr<byte_stream> b, asio::io_context& loop)
        : server(s), bytes(std::move(b)), resolver(loop), timer(loop) {}
    std::size_t server;
    std::unique_ptr<byte_stream> bytes;
    asio::ip::tcp::resolver resolver;
    asio::steady_timer timer; ///< while it connects
    std::chrono::steady_clock::time_point connect_until;
    std::vector<byte_stream::endpoint> addresses; ///< from the one to try first on
    std::size_t first_address = 0;                ///< its position in the list as resolved
    std::size_t next_address = 0;                 ///< in `addresses`
    bool too_slow = false;                        ///< the time of the present address has passed
    bool connected = false;
    bool closed = false;
    std::uint64_t ticket = 0; ///< ticket of the request that it carries; 0: none
    std::string out;
    std::array<char, 16384> in{};
    std::string unread;
    std::optional<http::response_parser<http::string_body>> parser;
    bool answered_a_byte = false;
    bool writes = false; ///< not all of the request has been sent
    bool kept = false;   ///< it has carried a request before
    std::chrono::steady_clock::time_point idle_since;
  };
  using connection_ptr = std::shared_ptr<connection>;

  struct exchange {
    exchange(operation& o, request r, instant d, streamed_bodies b, asio::io_context& loop)
        : op(&o), question(std::move(r)), bodies(std::move(b)), kind(class_of(question)), deadline(d), timer(loop) {}
    operation* op;
    request question;
    streamed_bodies bodies;
    connection_class kind;
    instant sent_at = lease_clock::now();
    instant deadline;
    asio::steady_timer timer;
    connection_ptr on;
    std::size_t servers_tried = 0;
    bool sent = false;
    bool requested_again = false;
    std::string last_failure = "no connection was free in time";
  };
  struct sleeper {
    sleeper(operation& o, instant u, asio::io_context& loop) : op(&o), until(u), timer(loop) {}
    operation* op;
    instant until;
    asio::steady_timer timer;
  };

  void close_all() noexcept;
  void arm(std::uint64_t ticket, sleeper& s);
  void arm(std::uint64_t ticket, exchange& e);
  void dispatch(std::uint64_t ticket);
  void next_waiting();
  void give(exchange& e, std::uint64_t ticket, const connection_ptr& c);
  connection_ptr take_back(exchange& e);
  void gone(std::uint64_t ticket, exchange& e);
  void resolve(const connection_ptr& c);
  void connect_next(const connection_ptr& c);
  void arm(const connection_ptr& c, std::chrono::nanoseconds length);
  /// The next connection to this server begins with the address at `next_address`, less `back`.
  void begin_later_with(const connection& c, std::size_t back) {
    if (c.next_address > 0)
      first_addresses[c.server] = (c.first_address + c.next_address - back) % c.addresses.size();
  }
  /// @returns the request that was in progress on it, which has failed now; null: none was
  exchange* end_connection(const connection_ptr& c, const std::string& why);
  void not_connected(const connection_ptr& c, const std::string& why);
  std::unique_ptr<byte_stream> stream_to(const server_address& to);
  void send(const connection_ptr& c);
  void write(const connection_ptr& c, const std::shared_ptr<exchange>& e);
  void read(const connection_ptr& c);
  void take_in(const connection_ptr& c, error_code failed, std::size_t n);
  bool hand_on(connection& c);
  void answered(const connection_ptr& c);
  void broken(const connection_ptr& c, const std::string& why);
  void drop(const connection_ptr& c) noexcept;
  void finish(std::uint64_t ticket, bool stopped, answer a);
  void avoid(std::size_t server) {
    if (server == preferred)
      preferred = (server + 1) % servers.size();
  }
  std::string bytes_of(const exchange& e, const server_address& to) const;

  asio::io_context& loop;
  transport_options options;
  error wrong;
  std::vector<server_address> servers;
  std::vector<std::size_t> first_addresses; ///< for each server, the one of its addresses to try first
  std::shared_ptr<asio::ssl::context> tls;
  std::size_t preferred = 0;
  std::mt19937_64 random;
  std::uint64_t next_ticket = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<sleeper>> sleepers;
  std::unordered_map<std::uint64_t, std::shared_ptr<exchange>> exchanges;
  connection_classes classes;
  std::vector<connection_ptr> connections;
};

socket_environment::parts::parts(asio::io_context& l, transport_options o)
    : loop(l), options(std::move(o)), random(std::random_device{}()),
      classes(options.connections_max, options.waiting_max) {
  bool any_tls = false;
  for (const auto& text : options.servers) {
    auto address = parse_server(text);
    if (!address) {
      wrong = address.error();
      return;
    }
    servers.push_back(std::move(*address));
  }
  servers.insert(servers.end(), options.addresses.begin(), options.addresses.end());
  first_addresses.resize(servers.size());
  for (const auto& to : servers)
    any_tls = any_tls || to.tls;
  if (servers.empty())
    wrong = error(outcome::refused, reason::invalid, "no server is configured");
  if (!is_plain(options.token))
    wrong = error(outcome::refused, reason::invalid, "the token must not contain control characters");
  tls = options.tls;
  if (any_tls && !tls && wrong.reason() == reason::none) {
    auto context = tls_context(options);
    if (context)
      tls = *context;
    else
      wrong = context.error();
  }
}

void socket_environment::parts::close_all() noexcept {
  for (auto& [ticket, s] : sleepers)
    s->timer.cancel();
  for (auto& [ticket, e] : exchanges)
    e->timer.cancel();
  sleepers.clear();
  exchanges.clear();
  classes = connection_classes(options.connections_max, options.waiting_max);
  auto all = std::exchange(connections, {});
  for (auto& c : all)
    drop(c);
}

void socket_environment::parts::arm(std::uint64_t ticket, sleeper& s) {
  s.timer.expires_after(timer_length(s.until));
  s.timer.async_wait([self = shared_from_this(), ticket](error_code cancelled) {
    auto found = self->sleepers.find(ticket);
    if (cancelled || found == self->sleepers.end())
      return;
    if (lease_clock::now() < found->second->until) {
      self->arm(ticket, *found->second);
      return;
    }
    auto s = found->second;
    self->sleepers.erase(found);
    s->op->finish(false, answer());
  });
}

void socket_environment::parts::arm(std::uint64_t ticket, exchange& e) {
  e.timer.expires_after(timer_length(e.deadline));
  e.timer.async_wait([self = shared_from_this(), ticket](error_code cancelled) {
    auto found = self->exchanges.find(ticket);
    if (cancelled || found == self->exchanges.end())
      return;
    auto& late = *found->second;
    if (lease_clock::now() < late.deadline) {
      self->arm(ticket, late);
      return;
    }
    // A server that accepts connections and does not respond is not retried at once, nor is an
    // address that accepts none.
    if (late.on)
      self->avoid(late.on->server);
    if (late.on && !late.on->connected)
      self->begin_later_with(*late.on, 0);
    self->finish(ticket, false, answer::none(late.sent, late.sent ? "no response in time" : late.last_failure));
  });
}

void socket_environment::parts::finish(std::uint64_t ticket, bool stopped, answer a) {
  auto found = exchanges.find(ticket);
  if (found == exchanges.end())
    return;
  auto e = found->second;
  exchanges.erase(found);
  gone(ticket, *e);
  next_waiting();
  if (!stopped && options.on_answer)
    options.on_answer(e->question, e->deadline - e->sent_at, a);
  e->op->finish(stopped, std::move(a));
}

void socket_environment::parts::next_waiting() {
  while (auto ticket = classes.next())
    dispatch(*ticket);
}

void socket_environment::parts::give(exchange& e, std::uint64_t ticket, const connection_ptr& c) {
  e.on = c;
  c->ticket = ticket;
  classes.begun(e.kind);
}

socket_environment::parts::connection_ptr socket_environment::parts::take_back(exchange& e) {
  auto c = std::exchange(e.on, nullptr);
  if (c)
    classes.ended(e.kind);
  return c;
}

/// The response is no longer needed.
void socket_environment::parts::gone(std::uint64_t ticket, exchange& e) {
  e.timer.cancel();
  classes.gone(e.kind);
  if (auto c = take_back(e)) {
    c->ticket = 0;
    drop(c);
  } else {
    classes.withdraw(e.kind, ticket);
  }
}

void socket_environment::parts::dispatch(std::uint64_t ticket) {
  auto& e = *exchanges.at(ticket);
  if (!classes.is_free(e.kind)) {
    classes.enqueue(e.kind, ticket);
    return;
  }
  // Use an idle connection, if there is one.
  auto now = std::chrono::steady_clock::now();
  auto idle = connections;
  for (auto& c : idle) {
    if (c->ticket != 0 || !c->connected)
      continue;
    if (now - c->idle_since > idle_longest || !c->bytes->quiet()) {
      drop(c);
      continue;
    }
    if (c->server != preferred || e.requested_again)
      continue;
    give(e, ticket, c);
    send(c);
    return;
  }
  if (connections.size() >= classes.connections_max()) {
    // Close an idle connection to another server.
    auto unused = std::find_if(idle.begin(), idle.end(), [](const auto& c) { return !c->closed && c->ticket == 0; });
    if (unused != idle.end())
      drop(*unused);
  }
  const auto& to = servers[preferred];
  auto c = std::make_shared<connection>(preferred, stream_to(to), loop);
  connections.push_back(c);
  give(e, ticket, c);
  resolve(c);
}

std::unique_ptr<byte_stream> socket_environment::parts::stream_to(const server_address& to) {
  if (!to.tls)
    return plain_stream(loop);
  auto host = to.unix_socket ? to.host_header : to.host;
  return tls_stream(loop, *tls, options.server_name.empty() ? host : options.server_name);
}

void socket_environment::parts::resolve(const connection_ptr& c) {
  auto self = shared_from_this();
  c->connect_until = std::chrono::steady_clock::now() + options.connect_within;
  arm(c, options.connect_within);
  const auto& to = servers[c->server];
  if (to.unix_socket) {
    c->addresses.emplace_back(asio::local::stream_protocol::endpoint(to.host));
    connect_next(c);
    return;
  }
  error_code no_address;
  auto address = asio::ip::make_address(to.host, no_address);
  if (!no_address) {
    c->addresses.emplace_back(asio::ip::tcp::endpoint(address, to.port));
    connect_next(c);
    return;
  }
  c->resolver.async_resolve(to.host, std::to_string(to.port), [self, c](error_code failed, auto found) {
    if (c->closed)
      return;
    for (const auto& each : found)
      c->addresses.emplace_back(each.endpoint());
    if (!c->addresses.empty()) {
      c->first_address = self->first_addresses[c->server] % c->addresses.size();
      std::rotate(c->addresses.begin(), c->addresses.begin() + static_cast<std::ptrdiff_t>(c->first_address),
                  c->addresses.end());
    }
    if (failed)
      self->not_connected(c, failed.message());
    else
      self->connect_next(c);
  });
}

/// Ends the attempt to resolve the name, or to connect to the present address.
void socket_environment::parts::arm(const connection_ptr& c, std::chrono::nanoseconds length) {
  c->timer.expires_after(length);
  c->timer.async_wait([self = shared_from_this(), c, attempt = c->next_address](error_code cancelled) {
    if (cancelled || c->connected || c->closed || c->next_address != attempt)
      return;
    if (c->next_address >= c->addresses.size()) {
      self->not_connected(c, "no connection in time");
      return;
    }
    c->too_slow = true; // the handler of the attempt continues with the next address
    c->bytes->close();
  });
}

/// The addresses of a name share the time to connect: one that does not respond must not use it up.
void socket_environment::parts::connect_next(const connection_ptr& c) {
  if (c->next_address >= c->addresses.size()) {
    // Never finish inside ask().
    asio::post(loop, [self = shared_from_this(), c] { self->not_connected(c, "the name has no address"); });
    return;
  }
  auto left = c->connect_until - std::chrono::steady_clock::now();
  auto share = left / static_cast<std::int64_t>(c->addresses.size() - c->next_address);
  auto to = c->addresses[c->next_address++];
  arm(c, share);
  c->bytes->connect(to, [self = shared_from_this(), c](error_code failed) {
    if (c->closed)
      return;
    bool too_slow = std::exchange(c->too_slow, false);
    if ((failed || too_slow) && c->next_address < c->addresses.size()) {
      c->bytes = self->stream_to(self->servers[c->server]);
      self->connect_next(c);
      return;
    }
    if (failed) {
      self->not_connected(c, c->bytes->explain(failed));
      return;
    }
    c->timer.cancel();
    c->connected = true;
    self->begin_later_with(*c, 1);
    self->send(c);
  });
}

socket_environment::parts::exchange* socket_environment::parts::end_connection(const connection_ptr& c,
                                                                               const std::string& why) {
  auto found = exchanges.find(std::exchange(c->ticket, 0));
  drop(c);
  if (found == exchanges.end())
    return nullptr;
  auto& e = *found->second;
  take_back(e);
  e.last_failure = options.names_server ? servers[c->server].host_header + ": " + why : why;
  return &e;
}

void socket_environment::parts::not_connected(const connection_ptr& c, const std::string& why) {
  if (c->closed)
    return;
  auto ticket = c->ticket;
  avoid(c->server);
  auto* lost = end_connection(c, why);
  if (lost == nullptr)
    return;
  auto& e = *lost;
  if (++e.servers_tried < servers.size())
    dispatch(ticket);
  else
    finish(ticket, false, answer::none(e.sent, e.last_failure));
}

std::string socket_environment::parts::bytes_of(const exchange& e, const server_address& to) const {
  const auto& q = e.question;
  std::string out = q.method() + " " + q.target();
  if (!options.scope.empty())
    out += (q.target().find('?') == std::string::npos ? "?" : "&") + options.scope;
  out += " HTTP/1.1\r\nHost: " + to.host_header + "\r\nUser-Agent: belay-client\r\n";
  if (!options.token.empty())
    out += "X-Consul-Token: " + options.token + "\r\n";
  if (!options.basic_auth.empty())
    out += "Authorization: Basic " + base64_encoded(options.basic_auth) + "\r\n";
  for (const auto& [name, value] : q.headers())
    out += name + ": " + value + "\r\n";
  if (q.method() != "GET")
    out += "Content-Length: " + std::to_string(e.bodies.source ? e.bodies.length : q.body().size()) + "\r\n";
  out += "\r\n";
  if (q.method() != "GET" && !e.bodies.source)
    out += q.body();
  return out;
}

void socket_environment::parts::send(const connection_ptr& c) {
  auto found = exchanges.find(c->ticket);
  if (found == exchanges.end()) {
    drop(c);
    return;
  }
  auto& e = *found->second;
  c->out = bytes_of(e, servers[c->server]);
  c->answered_a_byte = false;
  c->unread.clear();
  c->parser.emplace();
  c->parser->body_limit(options.answer_bytes_max);
  c->parser->eager(true);
  e.sent = true;
  write(c, found->second);
  if (!c->closed)
    read(c);
}

/// Sends `out`, and then the pieces of a streamed body.
void socket_environment::parts::write(const connection_ptr& c, const std::shared_ptr<exchange>& e) {
  c->writes = true;
  c->bytes->write(c->out, [self = shared_from_this(), c, e](error_code failed, std::size_t) {
    // A server may respond and close before it has read everything: the response decides.
    if (!c->closed && failed && failed != asio::error::broken_pipe && failed != asio::error::connection_reset)
      self->broken(c, failed.message());
    if (c->closed || failed || e->on != c)
      return;
    auto& left = e->bodies.length;
    if (!e->bodies.source || left == 0) {
      c->writes = false;
      return;
    }
    c->out.resize(std::min<std::uint64_t>(piece_bytes, left));
    c->out.resize(e->bodies.source(c->out.data(), c->out.size()));
    left -= c->out.size();
    if (c->out.empty())
      self->broken(c, e->bodies.complaint);
    else // a write that completes at once calls back from within itself
      asio::post(self->loop, [self, c, e] {
        if (!c->closed)
          self->write(c, e);
      });
  });
}

void socket_environment::parts::read(const connection_ptr& c) {
  c->bytes->read(c->in.data(), c->in.size(), [self = shared_from_this(), c](error_code failed, std::size_t n) {
    if (!c->closed)
      self->take_in(c, failed, n);
  });
}

/// @returns false: the sink wants no more of the body
bool socket_environment::parts::hand_on(connection& c) {
  auto found = exchanges.find(c.ticket);
  if (found == exchanges.end() || !found->second->bodies.sink || !c.parser->is_header_done())
    return true;
  auto& message = c.parser->get();
  if (message.result_int() != 200 || message.body().empty())
    return true;
  auto piece = std::exchange(message.body(), {});
  return found->second->bodies.sink(piece);
}

void socket_environment::parts::take_in(const connection_ptr& c, error_code failed, std::size_t n) {
  error_code wrong_bytes;
  if (n > 0) {
    c->answered_a_byte = true;
    c->unread.append(c->in.data(), n);
    while (!c->unread.empty() && !c->parser->is_done()) {
      auto used = c->parser->put(asio::buffer(c->unread), wrong_bytes);
      c->unread.erase(0, used);
      if (wrong_bytes == http::error::need_more) {
        wrong_bytes = {};
        break;
      }
      if (wrong_bytes || used == 0)
        break;
    }
    if (!wrong_bytes && !hand_on(*c)) {
      broken(c, "the response is no longer needed");
      return;
    }
  }
  // Only a proper end completes a body without a length: other errors cut it.
  if (failed == asio::error::eof && !wrong_bytes && c->parser->got_some() && !c->parser->is_done())
    c->parser->put_eof(wrong_bytes);
  if (wrong_bytes)
    broken(c, wrong_bytes.message());
  else if (c->parser->is_done())
    answered(c);
  else if (failed)
    broken(c, failed == asio::error::eof ? "the connection was closed" : failed.message());
  else
    read(c);
}

void socket_environment::parts::answered(const connection_ptr& c) {
  auto message = c->parser->release();
  answer a(static_cast<int>(message.result_int()), std::move(message.body()));
  for (const auto& field : message)
    a.add_header(std::string(field.name_string()), std::string(field.value()));
  auto ticket = std::exchange(c->ticket, 0);
  bool keep = message.keep_alive() && c->unread.empty() && !c->writes;
  if (a.status() >= 500)
    avoid(c->server);
  auto found = exchanges.find(ticket);
  if (found != exchanges.end())
    take_back(*found->second);
  auto idle = std::count_if(connections.begin(), connections.end(), [](const auto& o) { return o->ticket == 0; });
  if (keep && static_cast<std::size_t>(idle) <= idle_max) {
    c->kept = true;
    c->idle_since = std::chrono::steady_clock::now();
  } else {
    drop(c);
  }
  // A connection is free: waiting requests come first.
  next_waiting();
  finish(ticket, false, std::move(a));
}

void socket_environment::parts::broken(const connection_ptr& c, const std::string& why) {
  auto ticket = c->ticket;
  bool stale = c->kept && !c->answered_a_byte;
  if (!stale)
    avoid(c->server);
  auto* lost = end_connection(c, why);
  if (lost == nullptr)
    return;
  auto& e = *lost;
  if (stale && e.question.is_repeatable() && !e.requested_again && !e.bodies.source) {
    e.requested_again = true;
    dispatch(ticket);
    return;
  }
  finish(ticket, false, answer::none(true, e.last_failure));
}

void socket_environment::parts::drop(const connection_ptr& c) noexcept {
  c->closed = true;
  c->timer.cancel();
  c->resolver.cancel();
  c->bytes->close();
  std::erase(connections, c);
}

socket_environment::socket_environment(asio::io_context& loop, transport_options options)
    : parts_(std::make_shared<parts>(loop, std::move(options))) {}

socket_environment::~socket_environment() {
  parts_->close_all();
}

const error& socket_environment::wrong() const {
  return parts_->wrong;
}

instant socket_environment::now() {
  return lease_clock::now();
}

std::uint64_t socket_environment::random(std::uint64_t n) {
  return parts_->random() % n;
}

void socket_environment::sleep(operation& op, instant until) {
  op.ticket = parts_->next_ticket++;
  auto s = std::make_shared<parts::sleeper>(op, until, parts_->loop);
  parts_->sleepers.emplace(op.ticket, s);
  parts_->arm(op.ticket, *s);
}

void socket_environment::ask(operation& op, const request& q, instant deadline) {
  ask(op, q, deadline, {});
}

void socket_environment::ask(operation& op, const request& q, instant deadline, streamed_bodies bodies) {
  op.ticket = parts_->next_ticket++;
  auto ticket = op.ticket;
  auto e = std::make_shared<parts::exchange>(op, q, deadline, std::move(bodies), parts_->loop);
  bool full = !parts_->classes.takes(e->kind);
  parts_->classes.arrived(e->kind);
  parts_->exchanges.emplace(ticket, e);
  if (full || parts_->wrong.reason() != reason::none) {
    auto refused = full ? answer::none(false, "too many requests are waiting", reason::limit)
                        : answer::none(false, parts_->wrong.text(), parts_->wrong.reason());
    asio::post(parts_->loop, [p = parts_, ticket, refused = std::move(refused)]() mutable {
      p->finish(ticket, false, std::move(refused));
    });
    return;
  }
  parts_->arm(ticket, *e);
  parts_->dispatch(ticket);
}

void socket_environment::stop(operation& op) {
  asio::post(parts_->loop, [p = parts_, ticket = op.ticket] {
    if (auto found = p->sleepers.find(ticket); found != p->sleepers.end()) {
      auto s = found->second;
      p->sleepers.erase(found);
      s->timer.cancel();
      s->op->finish(true, answer());
      return;
    }
    p->finish(ticket, true, answer());
  });
}

void socket_environment::forget(operation& op) noexcept {
  if (auto found = parts_->sleepers.find(op.ticket); found != parts_->sleepers.end()) {
    found->second->timer.cancel();
    parts_->sleepers.erase(found);
    return;
  }
  auto found = parts_->exchanges.find(op.ticket);
  if (found == parts_->exchanges.end())
    return;
  auto e = found->second;
  parts_->exchanges.erase(found);
  parts_->gone(op.ticket, *e);
  if (parts_->classes.somebody_queues())
    asio::post(parts_->loop, [p = parts_] { p->next_waiting(); });
}

} // namespace detail
} // namespace v0
} // namespace belay
