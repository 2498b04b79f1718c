#include "actors/relay/relay_calls.hpp"

#include "actors/relay/request_text.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/forward/requests.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds tick_period{100};
// A server that could not be reached is not dialled for this long, if there are others.
constexpr std::chrono::milliseconds failed_pause{1000};
// As in Consul's clients, so that servers that come back get their share.
constexpr std::chrono::seconds rebalance_interval{120};
constexpr std::chrono::seconds idle_limit{30};
constexpr std::chrono::milliseconds leave_limit{5000};
constexpr std::size_t dials_at_once_max = 32;

constexpr auto no_servers = "No known Consul servers";
constexpr int too_many_requests = 429; // as in Consul, for too many connections of a client
constexpr auto too_many_wait_text =
    "too many requests wait at this client agent: end some blocking queries or streams, or raise "
    "limits.http_max_conns_per_client of the servers and of this agent";

} // namespace

// ---- start and end

server_relay::server_relay(relay_loop& loop, server_relay_settings settings)
    : loop_(loop), settings_(std::move(settings)), random_(settings_.seed), names_(settings_.look_up),
      heartbeats_([this](const std::string& server, server_connection::events then) {
        const auto where = split_host_port(server);
        const auto to = names_.find(where.host, where.number());
        if (!to)
          return std::shared_ptr<server_connection>();
        auto c = std::make_shared<server_connection>(loop_, server, settings_.credentials->now(), std::move(then));
        c->dial(*to, hello_);
        return c;
      }) {
  wire::encode_frame(settings_.hello, hello_);
  for (const auto& address : settings_.servers)
    servers_.push_back({address, {}, true});
  for (const auto& address : settings_.remembered)
    if (servers_.size() < relay_limits::servers_max && !lists(address))
      servers_.push_back({address, {}, false});
}

bool server_relay::lists(const std::string& address) const {
  return std::any_of(servers_.begin(), servers_.end(), [&](const server& s) { return s.address == address; });
}

server_relay::~server_relay() {
  alive_.reset();
  beat_.reset();
  listing_.reset();
  leaving_.reset();
  for (auto& l : links_)
    l.connection->close();
  for (auto& c : joining_)
    c->close();
}

void server_relay::start() {
  if (!servers_.empty())
    preferred_ = static_cast<std::size_t>(random_.below(servers_.size()));
  contact_at_ = loop_.now();
  tick();
}

void server_relay::stop(bool leaves, std::function<void()> then) {
  stopping_ = true;
  respond_to_joins("this agent is stopping");
  beat_.reset();
  listing_.reset();
  auto once = std::make_shared<std::function<void()>>(std::move(then));
  const auto end = [once] {
    if (*once)
      std::exchange(*once, nullptr)();
  };
  if (!leaves)
    return end();
  leave_timer_ = loop_.after(leave_limit, end);
  leaving_ = std::make_unique<question>(
      *this, "DELETE", "/v1/internal/agent/alive",
      [end](int status, const std::string& why) {
        if (status != 200)
          log::warn("relay", "departure of this agent not sent to the servers", {{"reason", why}});
        end();
      },
      proof_of_node());
}

void server_relay::tick_later() {
  timer_ = loop_.after(tick_period, [this] { tick(); });
}

void server_relay::tick() {
  const auto now = loop_.now();
  give_up_late(now);
  leave_standing(now);
  close_idle(now);
  if (!stopping_) {
    beat(now);
    complain(now);
    give_up_joins(now);
    if (now >= next_listing_ && listing_ == nullptr && answers_ == true)
      ask_for_servers();
    if (now >= next_rebalance_ && !servers_.empty()) {
      preferred_ = static_cast<std::size_t>(random_.below(servers_.size()));
      next_rebalance_ = now + rebalance_interval + std::chrono::seconds(random_.below(rebalance_interval.count()));
    }
  }
  serve_waiting();
  tick_later();
}

// ---- requests

std::unique_ptr<relayed_call> server_relay::begin(relayed_request r, answer_listener& listener) {
  const bool writable = can_be_written(r);
  auto c = std::make_unique<call>(*this, std::move(r), listener, loop_.now() + settings_.queue_timeout);
  const bool rejected = c->request.waits && too_many_wait();
  if (!writable || rejected) {
    later([c = c.get(), rejected, alive = std::weak_ptr<const char>(c->alive)] {
      if (alive.expired())
        return;
      if (rejected)
        c->reject(too_many_requests, too_many_wait_text);
      else
        c->fail(relay_limits::unwritable_request, true);
    });
    return c;
  }
  queue_of(c->request.lane).push_back(c.get());
  later([this] { serve_waiting(); }); // the listener must not be called before this returns
  return c;
}

void server_relay::later(std::function<void()> what) {
  loop_.post([alive = std::weak_ptr<const char>(alive_), what = std::move(what)] {
    if (!alive.expired())
      what();
  });
}

void server_relay::forget(call& c) {
  std::erase(queue_of(c.request.lane), &c);
  if (c.on == nullptr)
    return;
  INVARIANT(c.on->carries == &c);
  c.on->carries = nullptr;
  if (c.leaves_words()) {
    c.on->since = loop_.now();
    return c.on->connection->leave();
  }
  c.on->connection->abandon();
  const auto* gone = c.on;
  links_.remove_if([gone](const link& l) { return &l == gone; });
}

bool server_relay::too_many_wait() {
  const auto carried = std::count_if(links_.begin(), links_.end(),
                                     [](const link& l) { return l.carries != nullptr && l.carries->request.waits; });
  const auto& queue = queue_of(relay_lane::clients);
  const auto queued = std::count_if(queue.begin(), queue.end(), [](const call* c) { return c->request.waits; });
  return static_cast<std::size_t>(carried + queued) + relay_limits::links_without_waits >=
         links_max(relay_lane::clients);
}

void server_relay::carry_next(link& l) {
  auto& queue = queue_of(l.lane);
  if (queue.empty())
    return;
  auto* c = queue.front();
  queue.pop_front();
  l.since = loop_.now();
  c->carried_by(l);
}

void server_relay::serve_waiting() {
  for (const auto lane : {relay_lane::rows, relay_lane::clients})
    for (auto& queue = queue_of(lane); queue.size() > settings_.waiting_max;) {
      auto* c = queue.back();
      queue.pop_back();
      c->fail("too many requests wait for a server", true);
    }
  for (auto& l : links_)
    // A server that is no longer in use, because it has no leader, still answers.
    if (!l.dialling && l.connection->idle() && !is_elsewhere(l))
      carry_next(l);
  for (const auto lane : {relay_lane::relay, relay_lane::rows, relay_lane::clients})
    dial(lane);
}

void server_relay::give_up_late(monotonic_time now) {
  for (auto& queue : waiting_)
    // A callback may end others of them.
    for (;;) {
      const auto it = std::find_if(queue.begin(), queue.end(),
                                   [&](call* c) { return c->deadline <= now || (c->wait_ended && answers_ == false); });
      if (it == queue.end())
        break;
      auto* c = *it;
      queue.erase(it);
      c->fail(last_failure_.empty() ? std::string(no_servers)
                                    : "rpc error getting client: failed to get conn: " + last_failure_,
              true);
    }
}

// ---- connections

std::optional<std::size_t> server_relay::reachable_server(monotonic_time now) const {
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (const auto at = (preferred_ + i) % servers_.size(); servers_[at].not_before <= now)
      return at;
  return std::nullopt;
}

std::size_t server_relay::links_max(relay_lane lane) const {
  using namespace relay_limits;
  if (lane == relay_lane::relay)
    return relay_links_max;
  if (lane == relay_lane::rows)
    return rows_links_max;
  const auto configured = settings_.accepted_by_server.now();
  const auto accepted =
      configured == 0 ? connections_max : std::clamp(configured, settings_.accepted_by_default, connections_max);
  return accepted - relay_links_max - rows_links_max - probes_and_joins;
}

void server_relay::dial(relay_lane lane) {
  const auto now = loop_.now();
  const auto needed = std::min(queue_of(lane).size(), dials_at_once_max);
  std::size_t links = 0, dialling = 0;
  for (const auto& l : links_)
    if (l.lane == lane) {
      ++links;
      dialling += l.dialling ? 1 : 0;
    }
  while (dialling < needed && links < links_max(lane)) {
    const auto at = reachable_server(now);
    if (!at)
      return;
    preferred_ = *at;
    auto& s = servers_[*at];
    const auto where = split_host_port(s.address);
    const auto to = names_.find(where.host, where.number());
    if (!to) {
      server_failed(s.address, "lookup " + where.host + ": no such host, or not resolved yet");
      continue;
    }
    server_connection::events then;
    then.ready = [this](server_connection& c) { connection_ready(c); };
    then.closed = [this](server_connection& c, const std::string& why) { connection_closed(c, why); };
    auto c = std::make_shared<server_connection>(loop_, s.address, settings_.credentials->now(), std::move(then));
    links_.push_back({c, nullptr, true, now, lane});
    c->dial(*to, hello_);
    ++links;
    ++dialling;
  }
}

server_relay::link* server_relay::find(const server_connection& c) {
  const auto it = std::find_if(links_.begin(), links_.end(), [&](const link& l) { return l.connection.get() == &c; });
  return it == links_.end() ? nullptr : &*it;
}

bool server_relay::is_elsewhere(const link& l) const {
  return preferred_ < servers_.size() && l.connection->server() != servers_[preferred_].address;
}

void server_relay::connection_ready(server_connection& c) {
  auto* l = find(c);
  if (l == nullptr)
    return;
  INVARIANT(l->carries == nullptr);
  l->dialling = false;
  last_failure_.clear();
  carry_next(*l);
}

void server_relay::connection_closed(server_connection& c, const std::string& why) {
  const auto it = std::find_if(links_.begin(), links_.end(), [&](const link& l) { return l.connection.get() == &c; });
  if (it == links_.end())
    return;
  auto* carried = it->carries;
  INVARIANT(carried == nullptr || carried->on == &*it);
  INVARIANT(carried == nullptr || !it->dialling);
  const bool dialled_in_vain = it->dialling;
  // A server that closes the connection after the hello has rejected it.
  const bool refused = carried != nullptr && !c.used_before();
  const auto address = c.server();
  links_.erase(it);
  if (dialled_in_vain || refused)
    server_failed(address, why);
  if (carried == nullptr)
    return;
  carried->on = nullptr;
  if (carried->may_repeat())
    queue_of(carried->request.lane).push_front(carried);
  else
    carried->fail("rpc error making call: " + why, false);
}

void server_relay::close_idle(monotonic_time now) {
  for (auto it = links_.begin(); it != links_.end();) {
    auto& l = *it;
    const bool late = l.dialling && now - l.since > relay_limits::dial_limit;
    const bool unused = !l.dialling && l.connection->idle() && (is_elsewhere(l) || now - l.since > idle_limit);
    const bool left = l.carries == nullptr && l.connection->output_ended() && now - l.since > relay_limits::dial_limit;
    if (!late && !unused && !left) {
      ++it;
      continue;
    }
    const auto address = l.connection->server();
    l.connection->close();
    it = links_.erase(it);
    if (late)
      server_failed(address, "dial tcp " + address + ": i/o timeout");
  }
}

void server_relay::leave_standing(monotonic_time now) {
  std::set<std::string> awaited;
  for (const auto& l : links_)
    if (l.carries != nullptr)
      awaited.insert(l.connection->server());
  for (const auto& address : heartbeats_.check(now, awaited)) {
    std::vector<std::shared_ptr<server_connection>> these; // a callback may end others of them
    for (const auto& l : links_)
      if (l.connection->server() == address)
        these.push_back(l.connection);
    server_failed(address, relay_limits::no_answer);
    for (const auto& c : these)
      c->give_up(relay_limits::no_answer);
  }
}

void server_relay::server_failed(const std::string& address, const std::string& why) {
  last_failure_ = why;
  names_.failed(split_host_port(address).host);
  const auto it = std::find_if(servers_.begin(), servers_.end(), [&](const server& s) { return s.address == address; });
  if (it == servers_.end())
    return;
  it->not_before = loop_.now() + failed_pause;
  leave(address, why);
}

void server_relay::leave(const std::string& address, const std::string& why) {
  INVARIANT(servers_.empty() || preferred_ < servers_.size());
  if (servers_.size() < 2 || servers_[preferred_].address != address)
    return;
  log::info("relay", "server does not serve; using another one", {{"server", address}, {"reason", why}});
  preferred_ = (preferred_ + 1) % servers_.size();
}

} // namespace belay::actors
