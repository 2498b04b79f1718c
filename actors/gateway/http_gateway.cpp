#include "actors/gateway/http_gateway.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/golang/json_output.hpp"
#include "protocol/http/agent/agent_render.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/render.hpp"
#include "protocol/lease/session_deadlines.hpp"
#include "protocol/wire/command_codec.hpp"

#include <boost/asio/post.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace belay::actors {

namespace {

// Read at once and shared by all connections, so that an idle one needs no buffer.
constexpr std::size_t input_bytes = 65536;
constexpr std::chrono::milliseconds tick{250};
constexpr std::chrono::milliseconds tick_while_draining{20};
constexpr std::chrono::seconds sweep_interval{1};
// File descriptors left for log segments, checkpoints and peers.
constexpr std::size_t descriptors_reserved = 256;
constexpr std::size_t spare_readers_max = 64;

constexpr std::string_view no_leader = "No cluster leader";
constexpr auto shutting_down = "agent is shutting down";

std::size_t connections_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 1u << 20;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  return all - std::min(descriptors_reserved, all / 4);
}

/// A random UUID (version 4) from two numbers.
std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xF000ULL) | 0x4000ULL;
  low = (low & ~(3ULL << 62)) | (2ULL << 62);
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20)
      out += '-';
    const auto word = i < 16 ? high : low;
    out += digits[(word >> (60 - 4 * (i % 16))) & 15];
  }
  return out;
}

} // namespace

http_gateway::http_gateway(caf::actor_config& config, asio_host* host, wiring_ptr wires, gateway_settings settings,
                           metrics& m)
    : hosted(config, host), asio_(host), wires_(std::move(wires)), settings_(std::move(settings)), metrics_(m),
      random_(settings_.seed), ids_(settings_.number, settings_.seed) {
  reader_rules_.header_bytes_max = settings_.header_bytes_max;
  reader_rules_.body_bytes_max = [this](std::string_view method, std::string_view target) {
    return http::body_limit_of(method, target, settings_.routes).bytes_max;
  };
  reader_rules_.body_streamed = [this](std::string_view method, std::string_view target) {
    return http::body_limit_of(method, target, settings_.routes).streamed;
  };
  if (!settings_.uuid)
    settings_.uuid = [this] {
      const auto high = random_.next();
      return uuid_of(high, random_.next());
    };
  if (!settings_.wall_clock)
    settings_.wall_clock = [] { return std::chrono::system_clock::now(); };
  if (settings_.connections_max == 0)
    settings_.connections_max = connections_allowed();
  if (asio_ != nullptr) {
    sockets_ = std::make_shared<socket_poller>(asio_->loop());
    input.resize(input_bytes);
  }
}

http_gateway_actor::behavior_type http_gateway::make_behavior() {
  return {
      [this](write_results& w) { on_writes(w); },
      [this](const renew_result& r) { on_renewal(r); },
      [this](read_result& r) { on_read(r); },
      [this](const status_result& s) { on_status(s); },
      [this](archive_packed& p) { on_packed(p); },
      [this](archive_unpacked& u) { on_unpacked(u); },
      [this](const cluster_view& v) { on_view(v); },
      [this](const agent_answer& a) { on_agent(a); },
      [this](tick_atom) { on_tick(); },
      [this](flush_atom) { progress_touched(); },
      [this](stop_atom) { stop(); },
  };
}

// ---- sockets

status http_gateway::listen() {
  if (asio_ == nullptr)
    return failure{"this gateway has no sockets"};
  auto sockets = listening_sockets::open(settings_.listen, settings_.share_port);
  if (!sockets)
    return failure{sockets.error()};
  for (const auto& s : sockets->list())
    addresses_.push_back(s.name);
  boost::asio::post(asio_->loop(), [this, self = caf::strong_actor_ptr(ctrl()), s = std::move(*sockets)]() mutable {
    serve(std::move(s));
  });
  return belay::done{};
}

void http_gateway::serve(listening_sockets sockets) {
  if (stopping_ || exited_)
    return;
  context(asio_->context());
  for (auto& s : sockets.release()) {
    auto l = std::make_shared<http_listener>(asio_->loop(), std::move(s),
                                             [this](int fd, const std::string& address) { accepted(fd, address); });
    l->start();
    listeners_.push_back(std::move(l));
  }
  send(this, tick_atom::value);
}

void http_gateway::accepted(int fd, const std::string& address) {
  auto client = connections_of_client_.try_emplace(address, 0).first;
  const bool too_many_of_client = !address.empty() && settings_.connections_per_client_max > 0 &&
                                  client->second >= settings_.connections_per_client_max;
  if (too_many_of_client || connections_.size() >= settings_.connections_max) {
    metrics_.connection_refused();
    ::close(fd);
    if (client->second == 0)
      connections_of_client_.erase(client);
    return;
  }
  ++client->second;
  auto c = std::make_shared<http_connection>(static_cast<http_front&>(*this), settings_.limits, fd, &client->first);
  c->place = connections_.size();
  connections_.push_back(c);
  metrics_.connections(connections_.size());
  c->start();
}

void http_gateway::closed(http_connection& c) {
  if (auto client = connections_of_client_.find(c.address());
      client != connections_of_client_.end() && --client->second == 0)
    connections_of_client_.erase(client);
  const auto place = c.place;
  connections_.back()->place = place;
  std::swap(connections_[place], connections_.back());
  const auto keep = std::move(connections_.back());
  connections_.pop_back();
  metrics_.connections(connections_.size());
}

std::unique_ptr<http_reader> http_gateway::take_reader() {
  if (spare_readers_.empty())
    return std::make_unique<http_reader>(reader_rules_);
  auto r = std::move(spare_readers_.back());
  spare_readers_.pop_back();
  return r;
}

void http_gateway::give_back(std::unique_ptr<http_reader> reader) {
  if (spare_readers_.size() >= spare_readers_max)
    return;
  reader->reset();
  spare_readers_.push_back(std::move(reader));
}

std::int64_t http_gateway::wall_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(settings_.wall_clock().time_since_epoch()).count();
}

std::string_view http_gateway::date() {
  const auto second = wall_seconds();
  if (second != date_second_) {
    date_second_ = second;
    const std::time_t t = second;
    std::tm utc{};
    gmtime_r(&t, &utc);
    char text[40];
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
  }
  return date_;
}

// ---- requests

namespace {

/// The target as it may stand in a log: `token=` is a secret (Consul hides it, too).
std::string without_token(std::string_view target) {
  constexpr std::string_view name = "token=";
  std::string shown(target);
  for (auto at = shown.find(name); at != std::string::npos; at = shown.find(name, at + name.size())) {
    if (at == 0 || (shown[at - 1] != '?' && shown[at - 1] != '&'))
      continue;
    const auto end = shown.find('&', at);
    shown.replace(at + name.size(), (end == std::string::npos ? shown.size() : end) - at - name.size(), "<hidden>");
  }
  return shown;
}

} // namespace

void http_gateway::understand(http_connection&, const http::raw_request& r, exchange& e) {
  auto parsed = http::parse(r, settings_.routes, settings_.uuid);
  e.options = parsed.options;
  e.route = parsed.route;
  if (log::enabled(log::level::debug))
    e.shown = std::string(r.method) + " " + without_token(r.target);
  if (auto* known = std::get_if<http::response>(&parsed.action))
    e.answer = std::move(*known);
  else if (auto* read = std::get_if<http::read_request>(&parsed.action))
    e.what = std::move(*read);
  else if (auto* write = std::get_if<http::write_request>(&parsed.action)) {
    e.what = std::move(write->command);
    if (write->lock_wait.count() > 0)
      e.wait_until = now() + write->lock_wait;
  } else if (auto* renewal = std::get_if<http::session_renew>(&parsed.action))
    e.what = std::move(*renewal);
  else if (auto* agents = std::get_if<http::agent_request>(&parsed.action))
    e.what = std::move(*agents);
  else if (auto* save = std::get_if<http::snapshot_save>(&parsed.action))
    e.what = *save;
  else if (std::holds_alternative<http::snapshot_restore>(parsed.action)) {
    e.what = http::snapshot_restore{};
    e.transfer = std::make_unique<snapshot_transfer>();
    e.transfer->body = r.body;
  } else
    e.what = std::get<http::local_request>(parsed.action);
}

void http_gateway::dispatch(http_connection& c, exchange& e) {
  if (const auto* command = std::get_if<state::command>(&e.what)) {
    e.deadline = now() + settings_.hold + settings_.answer_slack;
    const auto request = new_id(c, e);
    if (e.plain_write())
      send(wires_->raft_peer, propose_write{request, make_payload(wire::encode_command(*command))});
    else // the state machine looks first whether it is worth a log entry
      send(wires_->fsm, check_write{request, *command});
  } else if (const auto* read = std::get_if<http::read_request>(&e.what)) {
    e.deadline = now() + settings_.hold + settings_.answer_slack;
    new_id(c, e);
    send_read(e, *read);
  } else if (const auto* renewal = std::get_if<http::session_renew>(&e.what)) {
    e.deadline = now() + settings_.hold + settings_.answer_slack;
    send(wires_->raft_peer, renew_session{new_id(c, e), renewal->id});
  } else if (const auto* save = std::get_if<http::snapshot_save>(&e.what)) {
    begin_save(c, e, *save);
  } else if (std::holds_alternative<http::snapshot_restore>(e.what)) {
    begin_restore(c, e);
  } else if (const auto* local = std::get_if<http::local_request>(&e.what)) {
    answer_here(c, e, *local);
  } else if (const auto* agents = std::get_if<http::agent_request>(&e.what)) {
    send_agent(c, e, *agents);
  }
}

void http_gateway::send_agent(http_connection& c, exchange& e, const http::agent_request& r) {
  if (!wires_->health) {
    e.answer = http::error_response(500, "this server has no agent");
    return;
  }
  e.deadline = now() + settings_.hold + settings_.answer_slack + agent::wait_of(r.what);
  send(wires_->health, agent_call{new_id(c, e), r.what});
}

void http_gateway::send_read(exchange& e, const http::read_request& r) {
  read_query q{e.id, r, {}};
  if (r.min_index > 0) {
    // Contract 02 section 4: up to a sixteenth more, so that clients that began together do not come back together.
    const auto wait = static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.wait.count()));
    const auto extra = random_.below(wait / 16 + 1);
    q.deadline = now() + std::chrono::nanoseconds(static_cast<std::int64_t>(wait + extra));
    e.deadline = q.deadline + settings_.hold + settings_.answer_slack;
  }
  send(wires_->fsm, std::move(q));
}

void http_gateway::answer_here(http_connection& c, exchange& e, const http::local_request& r) {
  switch (r.kind) {
  case http::local_kind::agent_metrics: {
    e.answer.emplace();
    const auto& prefix = settings_.metrics_prefix;
    if (r.prometheus) {
      e.answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
      e.answer->body = metrics_.prometheus(prefix);
    } else {
      e.answer->content_type = "application/json";
      e.answer->body = metrics_.json(prefix, wall_seconds());
      if (e.options.pretty)
        e.answer->body = golang::prettify_json(e.answer->body);
    }
    return;
  }
  case http::local_kind::agent_reload: {
    const auto error = settings_.reload ? settings_.reload() : std::string();
    e.answer = error.empty() ? http::response{} : http::error_response(500, error);
    return;
  }
  case http::local_kind::remove_peer:
    e.deadline = now() + settings_.hold + settings_.answer_slack;
    send(wires_->raft_peer, propose_write{new_id(c, e), make_payload(r.peer), wire::call_kind::remove_member});
    return;
  case http::local_kind::autopilot_health: { // first what healthy means; then the leader is asked
    e.deadline = now() + settings_.hold + settings_.answer_slack;
    read_query q{new_id(c, e), {}, {}};
    q.request.query = state::autopilot_get{};
    send(wires_->fsm, std::move(q));
    return;
  }
  case http::local_kind::catalog_datacenters:
    e.answer = answer_local(r, {}, settings_.facts, e.options);
    return;
  case http::local_kind::status_leader:
  case http::local_kind::status_peers:
    if (view_known_) { // raft_peer tells every change
      status_result known;
      known.view = view_;
      e.answer = answer_local(r, known, settings_.facts, e.options);
      return;
    }
    break;
  default:
    break;
  }
  const bool repeated = e.deadline != monotonic_time{};
  if (!repeated) {
    const bool held = r.kind == http::local_kind::raft_configuration && !r.stale;
    e.deadline = now() + settings_.hold;
    if (held)
      e.give_up = no_leader;
    else
      e.deadline += settings_.answer_slack;
  }
  send(wires_->raft_peer, status_request{new_id(c, e), r});
}

request_id http_gateway::new_id(http_connection& c, exchange& e) {
  e.id = ids_.next();
  asked_.insert_or_assign(e.id, asked{&c, &e});
  return e.id;
}

void http_gateway::forget(exchange& e) {
  if (e.transfer != nullptr)
    abandon(e);
  if (asked_.erase(e.id) == 0)
    return;
  if (std::holds_alternative<http::read_request>(e.what))
    send(wires_->fsm, cancel_query{e.id});
  else if (std::holds_alternative<http::agent_request>(e.what))
    send(wires_->health, cancel_query{e.id});
  else if (e.in_delay)
    send(wires_->delays, cancel_query{e.id});
}

void http_gateway::count(const exchange& e, int status) {
  // Long polls last as long as the client likes: they would hide what the others took.
  last_answer_ = now();
  const auto took = last_answer_ - e.began;
  const bool waited = e.blocking() || e.wait_until != monotonic_time{};
  metrics_.request(waited ? "blocking" : e.route, status, took);
  if (!e.shown.empty())
    log::debug("http", "request finished",
               {{"request", e.shown},
                {"status", status},
                {"us", std::chrono::duration_cast<std::chrono::microseconds>(took).count()}});
}

// ---- answers

http_connection* http_gateway::connection_of(request_id id) const {
  const auto it = asked_.find(id);
  return it == asked_.end() ? nullptr : it->second.connection;
}

exchange* http_gateway::settle(request_id id) {
  const auto it = asked_.find(id);
  if (it == asked_.end())
    return nullptr;
  auto [connection, e] = it->second;
  asked_.erase(it);
  if (touched_.empty() || touched_.back().get() != connection)
    touched_.push_back(connection->shared_from_this());
  return e;
}

namespace {

/// The leader has done what an operator wanted, or says what it knows.
http::response decided_answer(const http::local_request& asked, write_result& r, const http::render_options& options) {
  if (r.outcome != wire::call_outcome::done)
    return http::error_response(500, std::move(r.text));
  if (auto* no = std::get_if<state::refusal>(&r.reply))
    return http::error_response(500, std::move(no->text));
  http::response answer;
  if (asked.kind != http::local_kind::autopilot_health)
    return answer;
  constexpr std::string_view all_well = "{\"Healthy\":true";
  auto* health = std::get_if<std::string>(&r.reply);
  if (health == nullptr)
    return http::error_response(500, "answer of the leader could not be read");
  answer.status = health->starts_with(all_well) ? 200 : 429;
  answer.content_type = "application/json";
  answer.body = options.pretty ? golang::prettify_json(*health) : std::move(*health);
  return answer;
}

} // namespace

bool http_gateway::wait_for_lock_delay(http_connection& c, exchange& e, const write_result& r) {
  e.in_delay = false;
  const auto& note = r.reply.note;
  if (r.outcome != wire::call_outcome::done || note.why != state::refused_for::lock_delay || stopping_)
    return false;
  const auto t = now();
  e.in_delay = t < e.wait_until;
  if (!e.in_delay)
    return false;
  const auto left =
      std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(note.retry_after_ms), e.wait_until - t);
  e.deadline = t + left + settings_.hold + settings_.answer_slack;
  send(wires_->delays, await_lock_delay{new_id(c, e), std::get<state::command>(e.what), left});
  return true;
}

void http_gateway::on_writes(write_results& w) {
  for (auto& r : w.list) {
    auto* c = connection_of(r.id);
    auto* e = settle(r.id);
    if (e == nullptr)
      continue;
    if (e->transfer != nullptr) {
      on_part_decided(*c, *e, r);
      continue;
    }
    if (const auto* local = std::get_if<http::local_request>(&e->what)) {
      e->answer = decided_answer(*local, r, e->options);
      continue;
    }
    if (wait_for_lock_delay(*c, *e, r))
      continue;
    const auto* command = std::get_if<state::command>(&e->what);
    if (r.outcome == wire::call_outcome::done && command != nullptr)
      e->answer = http::render_write(*command, r.reply, e->options, r.index);
    else
      e->answer = http::error_response(500, std::move(r.text)); // also a renewal that found no leader
  }
  progress_touched();
}

namespace {

/// Of a session that was renewed this moment.
std::uint64_t lifetime_ms(const state::session_ptr& s) {
  if (s == nullptr || s->ttl_ns <= 0)
    return 0;
  const auto all = lease::lifetime(std::chrono::nanoseconds(s->ttl_ns));
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(all).count());
}

} // namespace

void http_gateway::on_renewal(const renew_result& r) {
  if (auto* e = settle(r.id)) {
    const auto* renewal = std::get_if<http::session_renew>(&e->what);
    if (r.ok && renewal != nullptr)
      e->answer = http::render_renew(renewal->id, r.session, e->options, lifetime_ms(r.session));
    else
      e->answer = http::error_response(500, r.text);
  }
  progress_touched();
}

void http_gateway::on_read(read_result& r) {
  auto* c = connection_of(r.id);
  if (auto* e = settle(r.id); e != nullptr && e->transfer != nullptr) {
    on_checkpointed(*c, *e, r);
  } else if (e != nullptr && std::holds_alternative<http::local_request>(e->what)) {
    ask_for_health(*c, *e, r);
  } else if (e != nullptr) {
    const auto& request = std::get<http::read_request>(e->what);
    if (auto* failed = std::get_if<failure>(&r.answer))
      e->answer = http::render_read_error(request, std::move(failed->text));
    else
      e->answer = http::answer_read(request, std::get<state::query_result>(r.answer),
                                    {r.last_contact_ms, r.known_leader, r.lock_delay_ms, r.session_ttl_ms}, e->options);
  }
  progress_touched();
}

void http_gateway::ask_for_health(http_connection& c, exchange& e, const read_result& r) {
  const auto* found = std::get_if<state::query_result>(&r.answer);
  const auto* settings = found == nullptr ? nullptr : std::get_if<state::autopilot_ptr>(&found->data);
  if (settings == nullptr) {
    e.answer = http::error_response(500, std::get<failure>(r.answer).text);
    return;
  }
  auto rules = std::to_string((*settings)->last_contact_threshold_ns) + " " +
               std::to_string((*settings)->max_trailing_logs) + " " + settings_.facts.version;
  send(wires_->raft_peer,
       propose_write{new_id(c, e), make_payload(std::move(rules)), wire::call_kind::describe_health});
}

void http_gateway::on_status(const status_result& s) {
  if (auto* e = settle(s.id)) {
    const auto& request = std::get<http::local_request>(e->what);
    const bool wants_leader = request.kind == http::local_kind::raft_configuration && !request.stale;
    if (wants_leader && leader_address(s.view).empty())
      e->ask_again = true;
    else
      e->answer = answer_local(request, s, settings_.facts, e->options);
  }
  progress_touched();
}

void http_gateway::on_agent(const agent_answer& a) {
  if (auto* e = settle(a.id))
    e->answer = http::render_agent(std::get<http::agent_request>(e->what), a.reply, e->options);
  progress_touched();
}

void http_gateway::on_view(const cluster_view& v) {
  view_ = v;
  view_known_ = true;
  if (!leader_address(v).empty())
    sweep(); // some may have waited for that
}

void http_gateway::progress_touched() {
  // Connections may be closed on the way, and their ends touch nothing else.
  for (const auto& c : touched_)
    c->progress();
  touched_.clear();
}

// ---- upkeep

void http_gateway::on_tick() {
  const auto t = now();
  if (t < next_tick_) // a second start
    return;
  const std::chrono::milliseconds period = stopping_ ? tick_while_draining : tick;
  next_tick_ = t + period;
  if (t >= next_sweep_) {
    next_sweep_ = t + sweep_interval;
    sweep();
  }
  if (settings_.number == 0)
    metrics_.close_interval(wall_seconds());
  if (stopping_ && (t >= stop_deadline_ || drained_now())) {
    close_all();
    return quit();
  }
  delayed_send(this, period, tick_atom::value);
}

void http_gateway::sweep() {
  const auto t = now();
  for (auto i = connections_.size(); i-- > 0;) {
    if (i >= connections_.size())
      continue;
    const auto c = connections_[i];
    c->sweep(t);
  }
}

void http_gateway::stop() {
  if (stopping_)
    return;
  stopping_ = true;
  stop_deadline_ = now() + settings_.drain;
  for (const auto& l : listeners_)
    l->stop();
  listeners_.clear();
  const auto all = connections_;
  for (const auto& c : all)
    c->finish(shutting_down);
  next_tick_ = {};
  send(this, tick_atom::value);
}

bool http_gateway::drained_now() const {
  return std::all_of(connections_.begin(), connections_.end(), [](const auto& c) { return c->idle(); });
}

void http_gateway::close_all() {
  while (!connections_.empty()) {
    const auto c = connections_.back();
    c->close();
  }
}

void http_gateway::on_exit() {
  exited_ = true;
  for (const auto& l : listeners_)
    l->stop();
  listeners_.clear();
  close_all();
  touched_.clear();
  spare_readers_.clear();
  sockets_.reset(); // the loop may end before the last reference to this actor
  drained_.set_value();
}

} // namespace belay::actors
