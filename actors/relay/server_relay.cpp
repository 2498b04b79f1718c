#include "actors/relay/server_relay.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/golang/json_input.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds tick_period{100};
constexpr std::chrono::milliseconds dial_limit{2000};
// A server that could not be reached is left alone for so long, if there are others.
constexpr std::chrono::milliseconds failed_pause{1000};
constexpr std::chrono::milliseconds beat_interval{1000}, beat_limit{3000};
constexpr std::chrono::seconds listing_interval{10};
// As Consul's clients do, so that servers that come back get their share.
constexpr std::chrono::seconds rebalance_interval{120};
constexpr std::chrono::seconds idle_limit{30};
constexpr std::chrono::milliseconds leave_limit{5000};
// Somebody should know when servers have not heard an agent for so long; after two more seconds they take it for dead.
constexpr std::chrono::milliseconds unheard_limit{3000};
constexpr std::chrono::seconds complaint_interval{10};
// Of a join, from the connection on. A request may wait for 7 s (rpc_hold_timeout).
constexpr std::chrono::milliseconds join_limit{4500};
constexpr int refused_status = 409; ///< of an agent whose name or ID is another's
constexpr std::size_t dials_at_once_max = 32;
constexpr int attempts_max = 3;
constexpr std::size_t servers_max = 64;
constexpr std::size_t own_answer_bytes_max = 64u << 10; ///< of what the agent itself asks

constexpr auto no_servers = "No known Consul servers";
constexpr auto no_answer = "no answer within 3 s";

} // namespace

// ---- a request on its way

class server_relay::call final : public relayed_call, public answer_listener {
public:
  call(server_relay& relay, relayed_request r, answer_listener& listener, monotonic_time deadline)
      : relay_(&relay), request(std::move(r)), deadline(deadline), listener_(listener) {}
  ~call() override {
    if (relay_ != nullptr)
      relay_->forget(*this);
  }

  void send_body(std::string_view bytes, bool last) override {
    if (on != nullptr) {
      on->connection->send_body(bytes, last);
    } else {
      body_ += bytes;
      body_ended_ = last;
    }
  }
  std::size_t unsent() const override { return on != nullptr ? on->connection->unsent() : body_.size(); }
  void let_come(bool wanted) override {
    if (on != nullptr)
      on->connection->let_come(wanted);
  }

  void carried_by(link& l) {
    on = &l;
    server = l.connection->server();
    ++attempts;
    l.carries = this;
    l.connection->carry(request, *this);
    if (request.body_follows && (!body_.empty() || body_ended_))
      l.connection->send_body(std::exchange(body_, {}), body_ended_);
  }
  /// Whether it may be asked again although the server may have got it.
  bool may_repeat() const {
    return (request.method == "GET" || MUTANT(passed_on_write_repeated)) && attempts < attempts_max;
  }
  void fail(std::string text, bool nothing_sent) {
    relay_ = nullptr;
    listener_.on_failure(std::move(text), nothing_sent);
  }

  // answer_listener
  void on_head(int status, header_list headers) override {
    relay_->pulses_.heard(server, relay_->loop_.now());
    listener_.on_head(status, std::move(headers));
  }
  void on_body(std::string_view bytes) override {
    relay_->pulses_.heard(server, relay_->loop_.now());
    listener_.on_body(bytes);
  }
  void on_end() override {
    on->carries = nullptr;
    on = nullptr;
    relay_ = nullptr;
    listener_.on_end();
  }
  void on_failure(std::string text, bool nothing_sent) override {
    on->carries = nullptr;
    on = nullptr;
    relay_ = nullptr;
    listener_.on_failure("rpc error making call: " + text, nothing_sent);
  }

private:
  server_relay* relay_; ///< null: it has ended

public:
  relayed_request request;
  monotonic_time deadline; ///< for finding a server
  link* on = nullptr;
  std::string server; ///< that it went to last
  int attempts = 0;

private:
  answer_listener& listener_;
  std::string body_; ///< that nobody carries yet
  bool body_ended_ = false;
};

/// What the agent itself asks.
class server_relay::question final : public answer_listener {
public:
  using answered = std::function<void(int status, const std::string& body)>; ///< status 0: none, and why

  question(server_relay& relay, std::string method, std::string target, answered then) : then_(std::move(then)) {
    call_ = relay.begin({std::move(method), std::move(target), {}, {}, false}, *this);
  }

  /// Empty: none was asked yet.
  const std::string& server() const { return static_cast<const call&>(*call_).server; }

  void on_head(int status, header_list) override { status_ = status; }
  void on_body(std::string_view bytes) override {
    if (body_.size() + bytes.size() <= own_answer_bytes_max)
      body_ += bytes;
  }
  void on_end() override { tell(status_, body_); }
  void on_failure(std::string text, bool) override { tell(0, text); }

private:
  void tell(int status, std::string what) {
    const auto then = std::move(then_); // which may destroy this object
    then(status, what);
  }

  answered then_;
  int status_ = 0;
  std::string body_;
  std::unique_ptr<relayed_call> call_;
};

// ---- beginning and end

server_relay::server_relay(relay_loop& loop, server_relay_settings settings)
    : loop_(loop), settings_(std::move(settings)), random_(settings_.seed), names_(settings_.look_up),
      pulses_([this](const std::string& server, server_connection::events then) {
        const auto where = split_host_port(server);
        const auto to = names_.find(where.host, where.number());
        if (!to)
          return std::shared_ptr<server_connection>();
        auto c = std::make_shared<server_connection>(loop_, server, settings_.credentials->now(), std::move(then));
        c->dial(*to, introduction_);
        return c;
      }) {
  wire::encode_frame(settings_.introduction, introduction_);
  for (const auto& address : settings_.servers)
    servers_.push_back({address, {}, true});
  for (const auto& address : settings_.remembered)
    if (servers_.size() < servers_max && !knows(address))
      servers_.push_back({address, {}, false});
}

bool server_relay::knows(const std::string& address) const {
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
  heard_at_ = loop_.now();
  tick();
}

void server_relay::stop(bool leaves, std::function<void()> then) {
  stopping_ = true;
  tell_joined("this agent stops");
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
      *this, "DELETE", "/v1/internal/agent/alive", [end](int status, const std::string& why) {
        if (status != 200)
          log::warn("relay", "the servers were not told that this agent leaves", {{"reason", why}});
        end();
      });
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
  auto c = std::make_unique<call>(*this, std::move(r), listener, loop_.now() + settings_.hold);
  waiting_.push_back(c.get());
  later([this] { serve_waiting(); }); // the listener is not to be called before this returns
  return c;
}

void server_relay::later(std::function<void()> what) {
  loop_.post([alive = std::weak_ptr<const char>(alive_), what = std::move(what)] {
    if (!alive.expired())
      what();
  });
}

void server_relay::forget(call& c) {
  std::erase(waiting_, &c);
  if (c.on == nullptr)
    return;
  c.on->carries = nullptr;
  c.on->connection->abandon();
  const auto* gone = c.on;
  links_.remove_if([gone](const link& l) { return &l == gone; });
}

void server_relay::serve_waiting() {
  while (waiting_.size() > settings_.waiting_max) {
    auto* c = waiting_.back();
    waiting_.pop_back();
    c->fail("too many requests wait for a server", true);
  }
  for (auto& l : links_) {
    if (waiting_.empty())
      return;
    // A server that is not asked any more, because it has no leader, answers still.
    if (l.dialling || !l.connection->idle() || is_elsewhere(l))
      continue;
    auto* c = waiting_.front();
    waiting_.pop_front();
    l.since = loop_.now();
    c->carried_by(l);
  }
  dial();
}

void server_relay::give_up_late(monotonic_time now) {
  // Whoever is told may end others of them.
  for (;;) {
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](call* c) { return c->deadline <= now; });
    if (it == waiting_.end())
      return;
    auto* c = *it;
    waiting_.erase(it);
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

void server_relay::dial() {
  const auto now = loop_.now();
  auto dialling =
      static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const link& l) { return l.dialling; }));
  while (dialling < std::min(waiting_.size(), dials_at_once_max) && links_.size() < settings_.connections_max) {
    const auto at = reachable_server(now);
    if (!at)
      return;
    preferred_ = *at;
    auto& s = servers_[*at];
    const auto where = split_host_port(s.address);
    const auto to = names_.find(where.host, where.number());
    if (!to) {
      server_failed(s.address, "lookup " + where.host + ": no such host, or no answer yet");
      continue;
    }
    server_connection::events then;
    then.ready = [this](server_connection& c) { connection_ready(c); };
    then.closed = [this](server_connection& c, const std::string& why) { connection_closed(c, why); };
    auto c = std::make_shared<server_connection>(loop_, s.address, settings_.credentials->now(), std::move(then));
    links_.push_back({c, nullptr, true, now});
    c->dial(*to, introduction_);
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
  l->dialling = false;
  last_failure_.clear();
  if (!waiting_.empty()) {
    auto* next = waiting_.front();
    waiting_.pop_front();
    l->since = loop_.now();
    next->carried_by(*l);
  }
}

void server_relay::connection_closed(server_connection& c, const std::string& why) {
  const auto it = std::find_if(links_.begin(), links_.end(), [&](const link& l) { return l.connection.get() == &c; });
  if (it == links_.end())
    return;
  auto* carried = it->carries;
  const bool dialled_in_vain = it->dialling;
  // A server that ends an introduction has refused it.
  const bool refused = carried != nullptr && !c.used_before();
  const auto address = c.server();
  links_.erase(it);
  if (dialled_in_vain || refused)
    server_failed(address, why);
  if (carried == nullptr)
    return;
  carried->on = nullptr;
  if (carried->may_repeat())
    waiting_.push_front(carried);
  else
    carried->fail("rpc error making call: " + why, false);
}

void server_relay::close_idle(monotonic_time now) {
  for (auto it = links_.begin(); it != links_.end();) {
    auto& l = *it;
    const bool late = l.dialling && now - l.since > dial_limit;
    const bool unused = !l.dialling && l.connection->idle() && (is_elsewhere(l) || now - l.since > idle_limit);
    if (!late && !unused) {
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
  std::set<std::string> owing;
  for (const auto& l : links_)
    if (l.carries != nullptr)
      owing.insert(l.connection->server());
  for (const auto& address : pulses_.look(now, owing)) {
    std::vector<std::shared_ptr<server_connection>> these; // whoever is told may end others of them
    for (const auto& l : links_)
      if (l.connection->server() == address)
        these.push_back(l.connection);
    server_failed(address, no_answer);
    for (const auto& c : these)
      c->give_up(no_answer);
  }
}

void server_relay::server_failed(const std::string& address, const std::string& why) {
  last_failure_ = why;
  const auto it = std::find_if(servers_.begin(), servers_.end(), [&](const server& s) { return s.address == address; });
  if (it == servers_.end())
    return;
  it->not_before = loop_.now() + failed_pause;
  leave(address, why);
}

void server_relay::leave(const std::string& address, const std::string& why) {
  if (servers_.size() < 2 || servers_[preferred_].address != address)
    return;
  log::info("relay", "server does not serve, another one is asked", {{"server", address}, {"reason", why}});
  preferred_ = (preferred_ + 1) % servers_.size();
}

void server_relay::join(const std::string& address, std::function<void(std::string)> then) {
  const auto where = split_host_port(address);
  const auto to = names_.find(where.host, where.number());
  if (!knows(address) && servers_.size() >= servers_max)
    return then("this agent knows as many servers as it can");
  if (!to)
    return then("lookup " + where.host + ": no such host, or no answer yet");
  const auto limit = std::make_shared<relay_loop::timer>();
  const auto end = [this, limit, then = std::move(then)](server_connection& c, const std::string& why) {
    std::shared_ptr<server_connection> kept;
    for (const auto& each : joining_)
      if (each.get() == &c)
        kept = each;
    if (kept == nullptr)
      return;
    joining_.remove(kept);
    kept->close();
    const auto keep = std::exchange(*limit, nullptr); // it may be what calls this
    if (!why.empty() || stopping_)
      return then(why.empty() ? "this agent stops" : why);
    if (!knows(kept->server())) {
      servers_.push_back({kept->server(), {}, true});
      say_servers();
      if (answers_ != true)
        preferred_ = servers_.size() - 1;
    }
    wait_until_heard(then);
  };
  server_connection::events events;
  events.ready = [end](server_connection& c) { end(c, {}); };
  events.closed = [end](server_connection& c, const std::string& why) { end(c, why); };
  auto c = std::make_shared<server_connection>(loop_, address, settings_.credentials->now(), std::move(events));
  joining_.push_back(c);
  *limit = loop_.after(dial_limit, [end, weak = std::weak_ptr<server_connection>(c)] {
    if (const auto strong = weak.lock())
      end(*strong, "dial tcp " + strong->server() + ": i/o timeout");
  });
  c->dial(*to, introduction_);
}

// ---- what the agent itself says and asks

void server_relay::beat(monotonic_time now) {
  if (beat_ != nullptr && now >= beat_due_) {
    beat_.reset();
    const auto why = last_failure_.empty() ? std::string(no_answer) : last_failure_;
    if (preferred_ < servers_.size())
      server_failed(servers_[preferred_].address, why);
    beaten(0, why);
  }
  if (beat_ != nullptr || now < next_beat_)
    return;
  next_beat_ = now + beat_interval;
  beat_due_ = now + beat_limit;
  beat_ =
      std::make_unique<question>(*this, "PUT", "/v1/internal/agent/alive", [this](int status, const std::string& what) {
        const auto keep = std::move(beat_);
        if (status >= 500) // it is cut off from the others, perhaps for ever
          leave(keep->server(), what);
        beaten(status, what);
      });
}

void server_relay::beaten(int status, const std::string& what) {
  const bool alive = status == 200;
  refused_ = status == refused_status;
  beat_failure_ = alive ? std::string() : what;
  if (alive)
    heard_at_ = loop_.now();
  complain(loop_.now());
  say(alive);
  if (alive || refused_)
    tell_joined(beat_failure_);
}

void server_relay::complain(monotonic_time now) {
  if ((!refused_ && now - heard_at_ < unheard_limit) || now < next_complaint_)
    return;
  next_complaint_ = now + complaint_interval;
  if (refused_)
    return log::error("relay", "the cluster refuses this client agent",
                      {{"reason", beat_failure_}, {"advice", "give it a name of its own: node_name"}});
  constexpr auto what = "the servers do not hear this agent";
  if (servers_.empty())
    return log::warn("relay", what,
                     {{"reason", "no server is named"}, {"advice", "retry_join, or PUT /v1/agent/join"}});
  const auto& why = last_failure_.empty() ? beat_failure_ : last_failure_;
  log::warn("relay", what, {{"reason", why.empty() ? std::string(no_answer) : why}});
}

// ---- joins

void server_relay::wait_until_heard(std::function<void(std::string)> then) {
  if (answers_ == true)
    return then({});
  joined_.push_back({std::move(then), loop_.now() + join_limit});
  if (beat_ == nullptr)
    next_beat_ = loop_.now();
  later([this] { serve_waiting(); });
}

void server_relay::tell_joined(const std::string& why) {
  for (const auto& j : std::exchange(joined_, {}))
    j.then(why);
}

void server_relay::give_up_joins(monotonic_time now) {
  std::vector<joined> late;
  std::erase_if(joined_, [&](joined& j) {
    if (now < j.deadline)
      return false;
    late.push_back(std::move(j));
    return true;
  });
  const auto& why = last_failure_.empty() ? beat_failure_ : last_failure_;
  for (const auto& j : late)
    j.then("the servers have not heard this agent: " + (why.empty() ? std::string(no_answer) : why));
}

void server_relay::say_servers() {
  if (!settings_.servers_changed)
    return;
  std::vector<std::string> all;
  for (const auto& s : servers_)
    all.push_back(s.address);
  settings_.servers_changed(all);
}

// ---- which servers there are

void server_relay::say(bool answers) {
  if (answers_ == answers)
    return;
  answers_ = answers;
  if (answers)
    log::info("relay", "the cluster answers", {{"server", servers_.empty() ? "" : servers_[preferred_].address}});
  if (settings_.cluster_answers)
    settings_.cluster_answers(answers);
}

void server_relay::ask_for_servers() {
  next_listing_ = loop_.now() + listing_interval;
  listing_ = std::make_unique<question>(*this, "GET", "/v1/status/peers", [this](int status, const std::string& what) {
    const auto keep = std::move(listing_);
    if (status == 200)
      take_servers(what);
  });
}

void server_relay::take_servers(const std::string& json) {
  const auto list = golang::read_json(json);
  if (!list || !list->is_array() || list->as_array().empty())
    return;
  const auto asked = preferred_ < servers_.size() ? servers_[preferred_].address : std::string();
  std::vector<server> next;
  for (const auto& each : list->as_array())
    if (each.is_string() && next.size() < servers_max)
      next.push_back({std::string(each.as_string()), {}, false});
  bool changed = false;
  for (const auto& old : servers_) {
    const auto it = std::find_if(next.begin(), next.end(), [&](const server& s) { return s.address == old.address; });
    if (it != next.end())
      *it = {old.address, old.not_before, old.named};
    else if (old.named)
      next.push_back(old);
    else
      changed = true;
  }
  changed = changed || next.size() != servers_.size();
  servers_ = std::move(next);
  preferred_ = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i].address == asked)
      preferred_ = i;
  if (changed)
    say_servers();
}

} // namespace belay::actors
