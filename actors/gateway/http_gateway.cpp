#include "actors/gateway/http_gateway.hpp"

#include "actors/gateway/requests/answers.hpp"
#include "actors/gateway/requests/logged_request.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/host_facts.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/telemetry/old_names.hpp"
#include "actors/telemetry/process_facts.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/forward/renewals.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/http/acl/acl_render.hpp"
#include "protocol/http/reading/cached_read.hpp"
#include "protocol/http/request_context.hpp"
#include "protocol/wire/command_codec.hpp"

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <algorithm>

namespace belay::actors {

namespace {

// Read size; all connections share the buffer, so that an idle one needs none.
constexpr std::size_t input_bytes = 65536;
// The other actors answer this long after the hold time, if only with a reason.
constexpr std::chrono::milliseconds renewal_grace{1200};
constexpr std::chrono::milliseconds tick_period{250};
constexpr std::chrono::milliseconds tick_period_while_draining{20};
constexpr std::chrono::seconds sweep_interval{1};
// Maximum delay until changed permissions affect streams and waits.
// A client agent asks the servers every 30 s only (proxies.cpp).
constexpr std::chrono::seconds reauthorized_after{1}, reauthorized_by_client_agent_after{5};

// An agent writes its node to the catalog when it first has a leader;
// a client that waited for that leader may be faster.
constexpr std::chrono::seconds own_node_wait{2};
constexpr std::chrono::milliseconds own_node_pause{20};

// Requests with larger bodies are authorized before their body is read. Registrations and sessions
// are smaller; transactions may be larger.
constexpr std::size_t body_bytes_read_for_anybody = 64 * 1024;

// Waits that are due within this time are withdrawn by one entry.
constexpr std::chrono::milliseconds withdrawals_apart{250};
// A system timer stops while the machine is suspended, and the node's clock does not.
constexpr std::chrono::seconds longest_withdrawal_sleep{1};

constexpr auto shutting_down = "agent is shutting down";

/// Secret of the request's token; empty: ACLs are disabled.
std::string_view secret_of(const exchange& e) {
  return e.by ? std::string_view(e.by->secret) : std::string_view();
}

std::shared_ptr<agent_tokens> tokens_of(const http::route_settings& routes) {
  agent_token_values configured;
  configured.of_requests = routes.default_token;
  return std::make_shared<agent_tokens>(std::move(configured));
}

std::shared_ptr<client_admission> admission_of(const gateway_settings& s) {
  return s.admission != nullptr
             ? s.admission
             : std::make_shared<client_admission>(s.connections_max != 0 ? s.connections_max : connections_allowed(),
                                                  s.connections_per_client_max);
}

} // namespace

http_gateway::http_gateway(caf::actor_config& config, asio_host* host, node_actors_ptr node_actors,
                           gateway_settings settings, metrics& m)
    : hosted(config, host), asio_(host), node_actors_(std::move(node_actors)), settings_(std::move(settings)),
      metrics_(m), random_(settings_.seed), times_{settings_.queue_timeout, settings_.answer_slack},
      readers_(reader_rules()), connections_(*this, settings_.limits, admission_of(settings_), m),
      pending_(settings_.number, settings_.seed), transfers_(*this, pending_, times_), streams_(pending_),
      passed_on_(settings_.relay, pending_, times_, settings_.passed_on),
      questions_(*this, pending_, times_, std::move(settings_.facts)),
      access_(*this, pending_, times_, settings_.routes.node_name,
              settings_.tokens != nullptr ? settings_.tokens : settings_.tokens = tokens_of(settings_.routes)),
      access_watches_(*this, pending_, settings_.tokens,
                      settings_.relay != nullptr ? reauthorized_by_client_agent_after : reauthorized_after),
      claim_waits_(*this, pending_, times_), changes_(*this, pending_, times_, held, m),
      admission_(settings_.shedding, m), large_answers_(pending_, admission_, held, m, node_actors_) {
  end_node_by_exceptions_of(*this, node_actors_, "http_gateway");
  held.limit(settings_.bytes_in_flight_max);
  if (!settings_.uuid)
    settings_.uuid = [this] {
      const auto high = random_.next();
      return uuid_of(high, random_.next());
    };
  if (!settings_.wall_clock)
    settings_.wall_clock = [] { return std::chrono::system_clock::now(); };
  if (!settings_.cached)
    settings_.cached = std::make_shared<cache_history>();
  if (settings_.audit)
    audit_ = std::make_unique<audit_trail>(
        settings_.number, *settings_.audit, static_cast<outbox&>(*this), pending_, settings_.uuid,
        [this] { return wall_ns(); }, metrics_);
  connections_.secure_by(settings_.https);
  connections_.share_with(settings_.share_connections);
  if (asio_ != nullptr) {
    sockets_ = std::make_shared<socket_poller>(asio_->loop());
    input.resize(input_bytes);
  }
}

http_reader_rules http_gateway::reader_rules() const {
  return {settings_.header_bytes_max, [this](std::string_view method, std::string_view target) {
            return http::body_limit_of(method, target, settings_.routes);
          }};
}

http_gateway_actor::behavior_type http_gateway::make_behavior() {
  return {
      [this](write_results& w) { answered(w); },
      [this](const renew_result& r) { answered(r); },
      [this](read_result& r) { answered(r); },
      [this](const status_result& s) { answered(s); },
      [this](archive_packed& p) { answered(p); },
      [this](const archive_unpacked& u) { answered(u); },
      [this](const cluster_view& v) { view_changed(v); },
      [this](agent_answer& a) { answered(a); },
      [this](const audit_written& w) { answered(w); },
      [this](const wait_changed& w) { note_wait(w); },
      [this](flush_atom) {
        withdrawals_armed_ = false;
        withdraw_waits();
        arm_withdrawals();
      },
      [this](tick_atom) { tick(); },
      [this](stop_atom) { stop(); },
  };
}

// ---- sockets

status http_gateway::listen() {
  if (asio_ == nullptr)
    return failure{"this gateway has no sockets"};
  const bool https = std::any_of(settings_.listen.begin(), settings_.listen.end(), [](auto& a) { return a.https; });
  if (https && settings_.https == nullptr)
    return failure{"this gateway has no credentials for HTTPS"};
  auto sockets = listening_sockets::open(settings_.listen, settings_.unix_sockets);
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
  connections_.listen(asio_->loop(), std::move(sockets));
  begin_work();
}

void http_gateway::start() {
  boost::asio::post(asio_->loop(), [this, self = caf::strong_actor_ptr(ctrl())] {
    if (stopping_ || exited_)
      return;
    context(asio_->context());
    begin_work();
  });
}

void http_gateway::begin_work() {
  probe_ = std::make_unique<arrival_probe>(sockets_, [this] {
    admission_.probe_served(pending_.load(), now());
    if (settings_.numbers != nullptr)
      settings_.numbers->http_rounds[settings_.number].fetch_add(1, std::memory_order_relaxed);
  });
  send(this, tick_atom::value);
}

void http_gateway::serve(client_agent_connection c) {
  auto shared = std::make_shared<client_agent_connection>(std::move(c)); // what is posted is copied
  boost::asio::post(asio_->loop(), [this, self = caf::strong_actor_ptr(ctrl()), shared] {
    if (stopping_ || exited_) {
      ::close(shared->fd);
      return;
    }
    context(asio_->context());
    connections_.take(asio_->loop(), std::move(*shared));
  });
}

void http_gateway::serve(const accepted_connection& c) {
  boost::asio::post(asio_->loop(), [this, self = caf::strong_actor_ptr(ctrl()), c] {
    if (stopping_ || exited_)
      return connections_.reject(c);
    context(asio_->context());
    connections_.take(asio_->loop(), c);
  });
}

std::int64_t http_gateway::wall_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(settings_.wall_clock().time_since_epoch()).count();
}

// ---- requests

void http_gateway::understand(const http::raw_request& r, exchange& e) {
  take_tokens();
  if (!put_off(r, e))
    understand_now(r, e);
}

void http_gateway::understand_now(const http::raw_request& r, exchange& e) {
  auto parsed = http::parse(r, settings_.routes, settings_.uuid);
  if (parsed.old_name != nullptr)
    warn_of_old_name(*parsed.old_name);
  if (audit_ != nullptr)
    audit_->begin(e, r, parsed, now());
  std::optional<passed_on_request> for_servers;
  if (parsed.for_servers)
    for_servers = request_for_servers(r, parsed, settings_.simulated_header);
  if (log::enabled(log::level::debug)) {
    const auto own = parsed.for_servers ? parsed.secret_for_servers : parsed.by ? parsed.by->secret : std::string();
    e.shown = logged_request(r, own);
    // A DELETE does not report whether anything was found.
    if (auto shown = logged_request(r, own, true); shown != e.shown && r.method != "DELETE")
      e.shown_if_found = std::move(shown);
  }
  e.understood(std::move(parsed), r.body);
  if (for_servers) { // the servers authorize it, too
    e.by.reset();
    e.what = std::move(*for_servers);
  }
}

/// With ACLs, the token is checked before a large body is parsed: otherwise anyone could make
/// this thread parse megabytes. @returns true: it is parsed when its token is known
bool http_gateway::put_off(const http::raw_request& r, exchange& e) {
  const auto& routes = settings_.routes;
  if (!routes.acl_enabled || routes.client_agent || r.body.size() < body_bytes_read_for_anybody ||
      !http::parses_body(r.target))
    return false;
  auto head = r;
  head.body = {};
  auto parsed = http::parse(head, routes, settings_.uuid);
  if (!parsed.by || parsed.needs == http::access::unrestricted)
    return false;
  PROBE("gateway: a large body waits for its token");
  if (audit_ != nullptr)
    audit_->begin(e, head, parsed, now());
  if (log::enabled(log::level::debug))
    e.shown = logged_request(head, parsed.by->secret);
  e.route = parsed.route;
  e.by = std::move(parsed.by);
  e.needs = parsed.needs;
  e.what = std::make_unique<const unread_request>(r);
  return true;
}

/// The token is valid and has the permissions that its route always needs. Parse it as usual.
void http_gateway::understand_later(exchange& e) {
  const auto kept = std::move(std::get<std::unique_ptr<const unread_request>>(e.what));
  e.what = std::monostate{};
  e.access = {};
  understand_now(kept->view(), e);
  if (!e.answer)
    dispatch(e);
}

void http_gateway::dispatch(exchange& e) {
  if (audit_ != nullptr && !audit_->admit(e))
    return;
  if (!admission_.admit(e, pending_.load(), now()))
    return;
  if (access_.begin(e, now()))
    pass_on(e);
  else
    requested(e);
}

void http_gateway::pass_on(exchange& e) {
  if (std::holds_alternative<std::unique_ptr<const unread_request>>(e.what))
    return understand_later(e);
  std::visit(overloaded{[](std::monostate) {}, [this, &e](const auto& wanted) { ask(e, wanted); }}, e.what);
  watch_access(e);
  requested(e);
}

void http_gateway::requested(exchange& e) {
  const bool streaming = e.transfer != nullptr && e.transfer->streaming && !e.transfer->ended;
  if (e.input_ended && (!e.answer || streaming))
    end_wait(e);
}

void http_gateway::ask(exchange& e, const state::command& command) {
  if (std::holds_alternative<state::acl_bootstrap>(command))
    return ask_bootstrap(e);
  propose(e, command);
}

void http_gateway::propose(exchange& e, const state::command& command) {
  const auto id = pending_.add(e, answer_due());
  claim_waits_.asks(command);
  if (e.plain_write())
    send(node_actors_->raft_peer, propose_write{id, make_payload(wire::encode_command(command))});
  else // the state machine may reject it before it costs a log entry
    send(node_actors_->fsm, check_write{id, command});
}

void http_gateway::ask(exchange& e, const http::read_request& r) {
  const auto t = now();
  if (auto found = settings_.read_here ? settings_.read_here(r, t) : std::nullopt) {
    PROBE("gateway: a key read beside the thread of the tables");
    e.answer = answer_to(e, *found);
    return admission_.answered(e, t);
  }
  read_query q{pending_.add(e, times_.due(t)), r, {}};
  q.request.mode = MUTANT(reads_served_stale) ? http::consistency::stale : r.mode;
  if (r.min_index > 0) {
    // docs/contract/02, section 4: up to a sixteenth more, so that clients that started
    // together do not return together.
    const auto wait = static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.wait.count()));
    const auto extra = random_.below(wait / 16 + 1);
    q.deadline = t + std::chrono::nanoseconds(static_cast<std::int64_t>(wait + extra));
    e.deadline = times_.due(q.deadline);
  }
  send(node_actors_->fsm, std::move(q));
}

void http_gateway::ask(exchange& e, const http::session_renew& renewal) {
  send(node_actors_->fsm, renew_session{pending_.add(e, renewal_due(e)), renewal.id});
}

void http_gateway::ask(exchange& e, const http::session_renew_list& renewals) {
  send(node_actors_->fsm, renew_session{pending_.add(e, renewal_due(e)), forward::renewal_list(renewals.ids)});
}

/// A renewal that waits to be authorized, and then for a leader, would wait for the hold
/// time twice: its session may end before.
monotonic_time http_gateway::renewal_due(const exchange& e) {
  const auto due = answer_due();
  return e.access.since == monotonic_time{} ? due
                                            : std::min(due, e.access.since + times_.queue_timeout + renewal_grace);
}

void http_gateway::ask(exchange& e, const http::snapshot_save& save) {
  transfers_.begin_save(e, save, questions_.leaderless(), now());
}

void http_gateway::ask(exchange& e, const http::snapshot_restore&) {
  transfers_.begin_restore(e, settings_.uuid(), now());
}

void http_gateway::ask(exchange& e, const http::agent_request& r) {
  if (!node_actors_->health_checks) {
    e.answer = http::error_response(500, "this server has no agent");
    return;
  }
  send(node_actors_->health_checks,
       agent_call{pending_.add(e, answer_due() + agent::wait_of(r.what)), r.what, e.access.may});
}

void http_gateway::ask(exchange& e, const http::local_request& r) {
  if (r.kind == http::local_kind::agent_metrics) {
    show_metrics(e, r);
  } else if (r.kind == http::local_kind::agent_monitor) {
    streams_.begin(e, r);
  } else if (r.kind == http::local_kind::agent_host) {
    describe_host(e);
  } else if (r.kind == http::local_kind::agent_reload) {
    ask_around(e, settings_.reload);
  } else if (r.kind == http::local_kind::agent_leave) {
    ask_around(e, settings_.leave);
  } else if (r.kind == http::local_kind::agent_token) {
    set_token(e, r.token);
  } else if (r.kind == http::local_kind::translate_rules) {
    e.answer = http::render_translation(r);
  } else {
    questions_.begin(e, r, now());
    if (e.cached != nullptr && e.answer)
      http::add_cache_headers(*e.answer, settings_.cached->answered(secret_of(e), *e.cached, {}, now()));
  }
}

/// Calls a function that the node provides.
void http_gateway::ask_around(exchange& e, const gateway_settings::order& what) {
  if (!what) {
    e.answer = http::response{};
    return;
  }
  const auto id = pending_.add(e, answer_due());
  what([id, self = caf::weak_actor_ptr(ctrl())](std::string error) {
    auto reply = error.empty() ? agent::reply{agent::accepted{}} : agent::reply{agent::refused{500, std::move(error)}};
    if (auto strong = self.lock())
      caf::anon_send(caf::actor_cast<http_gateway_actor>(strong), agent_answer{id, std::move(reply)});
  });
}

void http_gateway::show_metrics(exchange& e, const http::local_request& r) {
  if (!r.prometheus) {
    e.answer =
        answer_metrics(r, metrics_, settings_.metrics_prefix, settings_.old_metric_names, wall_seconds(), e.options);
    return;
  }
  const auto process = std::make_shared<process_facts>();
  do_elsewhere(
      e,
      [process] {
        *process = read_process_facts();
        return std::string();
      },
      [this, process](exchange& waiting, const std::string&) {
        waiting.answer = answer_metrics(std::get<http::local_request>(waiting.what), metrics_, settings_.metrics_prefix,
                                        settings_.old_metric_names, wall_seconds(), waiting.options);
        append_prometheus(waiting.answer->body, *process);
      });
}

void http_gateway::describe_host(exchange& e) {
  const auto computed = std::make_shared<std::string>();
  do_elsewhere(
      e,
      [computed, disk = settings_.disk, at = settings_.wall_clock()] {
        *computed =
            host_json(disk, std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
        return std::string();
      },
      [computed](exchange& waiting, const std::string&) {
        waiting.answer = http::json_response(std::move(*computed), waiting.options);
      });
}

void http_gateway::body_arrived(exchange& e) {
  if (std::holds_alternative<passed_on_request>(e.what))
    passed_on_.body_arrived(e);
  else
    transfers_.body_arrived(e, now());
}

void http_gateway::next_piece(exchange& e) {
  if (e.transfer->rows != nullptr)
    shared_answers::next_piece(e);
  else if (std::holds_alternative<passed_on_request>(e.what))
    passed_on_.next_piece(e);
  else if (change_streams::has(e))
    changes_.next_piece(e, now());
  else if (streams_.has(e))
    streams_.next_piece(e);
  else
    transfers_.next_piece(e);
}

void http_gateway::end_transfer(exchange& e) {
  if (std::holds_alternative<passed_on_request>(e.what))
    passed_on_.forget(e);
  else if (change_streams::has(e))
    changes_.close(e);
  else if (streams_.has(e))
    streams_.close(e);
  else if (e.transfer != nullptr && e.transfer->rows == nullptr)
    transfers_.abandon(e);
}

/// The actor that has the request knows whether it waits, and answers it then.
void http_gateway::end_wait(exchange& e) {
  const actors::end_wait over{e.id};
  if (std::holds_alternative<passed_on_request>(e.what))
    return passed_on_.end_wait(e, now());
  if (change_streams::has(e) && e.transfer != nullptr)
    return changes_.end_wait(e);
  if (streams_.has(e) && e.transfer != nullptr)
    return streams_.end_wait(e);
  if (e.answer)
    return;
  if (std::exchange(e.ask_again, false)) {
    e.answer = http::error_response(500, std::string(e.give_up));
  } else if (e.in_delay) {
    send(node_actors_->lock_delay_tracker, over);
  } else if (std::holds_alternative<http::agent_request>(e.what) && !e.access.requested) {
    if (node_actors_->health_checks)
      send(node_actors_->health_checks, over);
  } else if (!std::holds_alternative<http::snapshot_restore>(
                 e.what)) { // its parts are work, and are retried for a while
    send(node_actors_->fsm, over);
  }
}

void http_gateway::forget(exchange& e) {
  if (audit_ != nullptr)
    audit_->given_up(e);
  end_transfer(e);
  e.access.watch.reset();
  if (!stopping_)
    claim_waits_.forgotten(e);
  if (!pending_.forget(e))
    return;
  large_answers_.forget();
  if (std::holds_alternative<http::read_request>(e.what) || change_streams::has(e) || e.access.requested || e.in_queue)
    send(node_actors_->fsm, cancel_query{e.id});
  else if (std::holds_alternative<http::agent_request>(e.what))
    send(node_actors_->health_checks, cancel_query{e.id});
  else if (e.in_delay)
    send(node_actors_->lock_delay_tracker, cancel_query{e.id});
}

bool http_gateway::may_answer(exchange& e) {
  const auto decision = audit_ != nullptr ? audit_->decide(e, now()) : audit_trail::decision::send;
  if (decision == audit_trail::decision::withhold) {
    if (e.transfer != nullptr && std::exchange(e.transfer->streaming, false))
      end_transfer(e);
    e.answer = audit_->withheld();
  }
  return decision != audit_trail::decision::wait;
}

void http_gateway::dropped(exchange& e) {
  if (audit_ != nullptr)
    audit_->dropped(e, now());
}

void http_gateway::count(const exchange& e, int status) {
  // Long polls last as long as clients like: they would hide the duration of others.
  last_answer_ = now();
  const auto took = last_answer_ - e.began;
  const bool waited = e.blocking() || e.wait_until != monotonic_time{};
  metrics_.request(waited ? "blocking" : e.route, status, took);
  if (!e.shown.empty())
    log::debug("http", "request finished",
               {{"request", status == 200 && !e.shown_if_found.empty() ? e.shown_if_found : e.shown},
                {"status", status},
                {"us", std::chrono::duration_cast<std::chrono::microseconds>(took).count()}});
}

// ---- answers: put into their exchanges first; then connections write those that are next

void http_gateway::answered(write_results& w) {
  const auto t = now();
  for (auto& r : w.list)
    if (auto* e = pending_.settle(r.id)) {
      admission_.decided(*e, r, t);
      note_bootstrapped(*e, r);
      decided(*e, r);
    } else if (!withdrawal_decided(r)) {
      claim_waits_.decided_late(r);
    }
  pending_.progress();
}

// ---- waits whose clients disconnected

void http_gateway::post(wait_changed m) {
  if (settings_.number == 0 || node_actors_->gateways.empty())
    note_wait(m);
  else
    send(node_actors_->gateways.front(), std::move(m));
}

void http_gateway::note_wait(const wait_changed& w) {
  disconnected_waits_.changed(w, now());
  arm_withdrawals();
}

void http_gateway::arm_withdrawals() {
  const auto due = disconnected_waits_.next_due();
  if (withdrawals_armed_ || stopping_ || due == monotonic_time::max())
    return;
  withdrawals_armed_ = true;
  wake_after(*this, *node_actors_,
             std::clamp<monotonic_time::duration>(due - now(), withdrawals_apart, longest_withdrawal_sleep),
             flush_atom::value);
}

void http_gateway::withdraw_waits() {
  while (!stopping_) {
    auto due = disconnected_waits_.take_due(now());
    if (due.empty())
      return;
    PROBE("gateway: waits are withdrawn whose clients disconnected");
    state::waits_withdraw c;
    for (const auto& w : due)
      c.waits.push_back(w.wait);
    const auto id = pending_.unclaimed_id();
    withdrawals_.emplace(id, std::move(due));
    post(propose_write{id, make_payload(wire::encode_command(std::move(c)))});
  }
}

/// While a server does not support such entries it rejects them, and waits end at their deadlines.
bool http_gateway::withdrawal_decided(const write_result& r) {
  auto list = withdrawals_.extract(r.id);
  if (list.empty())
    return false;
  if (r.outcome != wire::call_outcome::done)
    disconnected_waits_.not_withdrawn(std::move(list.mapped()), now());
  arm_withdrawals();
  return true;
}

void http_gateway::decided(exchange& e, write_result& r) {
  if (audit_ != nullptr)
    audit_->decided(e, r);
  if (e.transfer != nullptr)
    transfers_.part_decided(e, r, now());
  else if (std::holds_alternative<http::local_request>(e.what))
    questions_.decided(e, r);
  else if (claim_waits::make_plain(e, r) || stamp_again(e, r)) {
    if (now() < e.began + times_.queue_timeout) {
      propose(e, std::get<state::command>(e.what));
      requested(e);
    } else { // nothing was done, and its time is over
      PROBE("gateway: no time is left to propose a write again");
      write_result late{r.id, wire::call_outcome::refused, {}, {}, forward::no_leader};
      e.answer = answer_to(e, late);
    }
  } else if (!wait_for_lock_delay(e, r) && !wait_for_own_node(e, r) &&
             !claim_waits_.begin(e, r, stopping_ ? monotonic_time::max() : now())) {
    if (const auto* command = std::get_if<state::command>(&e.what))
      count_write(*command, now() - e.began);
    if (large_answers_.take(e, r, now()))
      render_soon();
    else
      e.answer = answer_to(e, r);
  }
}

/// Called once per request, however often its command was proposed.
void http_gateway::count_write(const state::command& c, std::chrono::nanoseconds took) {
  if (std::holds_alternative<state::kv_write>(c) || std::holds_alternative<state::fenced_write>(c))
    metrics_.kv_write(took);
  else if (std::holds_alternative<state::txn>(c) || std::holds_alternative<state::fenced_txn>(c))
    metrics_.transaction(took);
  else if (std::holds_alternative<state::session_create>(c) || std::holds_alternative<state::session_begin>(c) ||
           std::holds_alternative<state::session_destroy>(c))
    metrics_.session_write(took);
  else if (std::holds_alternative<state::catalog_register>(c))
    metrics_.registration(took);
  else if (std::holds_alternative<state::catalog_deregister>(c))
    metrics_.deregistration(took);
}

/// This server did not know the current cluster time. The rejected copy never takes effect.
bool http_gateway::stamp_again(exchange& e, const write_result& r) {
  auto* command = std::get_if<state::command>(&e.what);
  const auto* no = std::get_if<state::once_refusal>(&r.reply);
  if (command == nullptr || r.outcome != wire::call_outcome::done || no == nullptr ||
      no->why != state::once_error::too_old || std::exchange(e.stamped_again, true))
    return false;
  PROBE("gateway: a write is stamped again");
  auto* seal = std::get_if<state::outcome_seal>(command);
  (seal != nullptr ? seal->requested : command->once->requested) = no->now;
  return true;
}

bool http_gateway::wait_for_lock_delay(exchange& e, const write_result& r) {
  e.in_delay = false;
  const auto& note = r.reply.note;
  if (r.outcome != wire::call_outcome::done || note.why != state::refused_for::lock_delay || stopping_ || e.input_ended)
    return false;
  const auto t = now();
  const auto left = e.wait_for_lock(std::chrono::milliseconds(note.retry_after_ms), t);
  if (!left)
    return false;
  e.load = 0; // it may wait for minutes
  try_again_after(e, *left, r);
  return true;
}

bool http_gateway::wait_for_own_node(exchange& e, const write_result& r) {
  const auto* command = std::get_if<state::command>(&e.what);
  const auto* create = command != nullptr ? std::get_if<state::session_create>(command) : nullptr;
  const auto* no = std::get_if<state::refusal>(&r.reply);
  if (create == nullptr || r.outcome != wire::call_outcome::done || no == nullptr || stopping_ || e.input_ended ||
      no->text != state::missing_node_registration || create->session.node != settings_.routes.node_name ||
      now() >= e.began + own_node_wait)
    return false;
  try_again_after(e, own_node_pause, r);
  return true;
}

/// @param refused the answer if the retry does not happen
void http_gateway::try_again_after(exchange& e, std::chrono::nanoseconds pause, const write_result& refused) {
  e.in_delay = true;
  const auto id = pending_.add(e, times_.due(now() + pause));
  send(node_actors_->lock_delay_tracker, await_lock_delay{id, std::get<state::command>(e.what), pause, refused});
}

void http_gateway::answered(const renew_result& r) {
  if (auto* e = pending_.settle(r.id)) {
    metrics_.session_renewal(now() - e->began);
    e->answer = answer_to(*e, r);
  }
  pending_.progress();
}

void http_gateway::answered(read_result& r) {
  if (audit_ != nullptr && audit_->read_answered(r, now()))
    return;
  if (changes_.answered(r, now()))
    return pending_.progress();
  if (const auto news = access_watches_.answered(r, now())) {
    reauthorized(*news);
    return pending_.progress();
  }
  if (auto* e = pending_.settle(r.id)) {
    if (e->access.requested)
      permission_received(*e, r);
    else if (change_streams::has(*e)) {
      changes_.opened(*e, r, now());
      admission_.answered(*e, now());
    } else if (e->transfer != nullptr)
      transfers_.read_answered(*e, r, now());
    else if (std::holds_alternative<http::local_request>(e->what))
      questions_.rows_read(*e, r);
    else if (e->in_queue)
      claim_waits_.answered(*e, r, now());
    else {
      note_cached(*e, r);
      if (large_answers_.take(*e, r, answer_due(), now())) {
        render_soon();
      } else {
        e->answer = answer_to(*e, r);
        admission_.answered(*e, now());
      }
    }
  }
  pending_.progress();
}

/// A server's tables are its cache: their age is the time since the leader's last message.
void http_gateway::note_cached(exchange& e, const read_result& r) {
  const auto* found = r.found();
  if (e.cached == nullptr || found == nullptr || std::holds_alternative<state::refusal>(found->data))
    return;
  const std::chrono::milliseconds silent(r.known_leader ? 0 : r.last_contact_ms);
  e.options.cache = settings_.cached->answered(
      secret_of(e), *e.cached,
      {.waited = r.waited, .silent_for = std::chrono::duration_cast<std::chrono::seconds>(silent)}, now());
}

/// Renders after all other work of this thread. A message to this actor would overtake socket
/// events.
void http_gateway::render_soon() {
  if (asio_ == nullptr) {
    while (large_answers_.busy())
      large_answers_.go_on(now());
    return;
  }
  if (rendering_scheduled_ || !large_answers_.busy())
    return;
  rendering_scheduled_ = true;
  boost::asio::post(asio_->loop(), [this, self = caf::strong_actor_ptr(ctrl())] {
    rendering_scheduled_ = false;
    if (exited_)
      return;
    large_answers_.go_on(now());
    pending_.progress();
    if (held.exceeded())
      connections_.shed();
    render_soon();
  });
}

void http_gateway::answered(const status_result& s) {
  questions_.status_sent(s);
  pending_.progress();
}

void http_gateway::answered(archive_packed& p) {
  transfers_.packed(p);
  pending_.progress();
}

void http_gateway::answered(const archive_unpacked& u) {
  transfers_.unpacked(u, now());
  pending_.progress();
}

void http_gateway::answered(agent_answer& a) {
  if (auto* e = pending_.settle(a.id)) {
    e->access.watch.reset();
    if (access_.agent_answered(*e, a.reply, now()))
      e->answer = answer_to(*e, a);
  }
  pending_.progress();
}

void http_gateway::answered(const audit_written& w) {
  if (audit_ != nullptr)
    audit_->written(w, now());
}

void http_gateway::view_changed(const cluster_view& v) {
  questions_.view_changed(v);
  if (questions_.has_leader())
    connections_.sweep(now()); // some may have waited for that
}

// ---- maintenance

void http_gateway::tick() {
  const auto t = now();
  if (t < next_tick_) // a second start
    return;
  // The tick has waited after other actors' answers, and the probe waits after the sockets:
  // together as long as a request does.
  if (probe_ != nullptr && !stopping_ && probe_->begin())
    admission_.begin_probe(next_tick_ == monotonic_time{} ? t : next_tick_);
  const auto period =
      stopping_ ? std::chrono::nanoseconds(tick_period_while_draining) : together(*this, tick_period, tick_slack);
  next_tick_ = t + period;
  if (t >= next_sweep_) {
    next_sweep_ = t + sweep_interval;
    connections_.sweep(t);
    large_answers_.tick();
    const auto used = held.used();
    metrics_.buffered_bytes(std::exchange(held_counted_, used), used);
  }
  for (const auto& news : access_watches_.tick(t))
    reauthorized(news);
  streams_.tick();
  changes_.tick(t, questions_.leaderless());
  pending_.progress();
  admission_.tick(pending_.load(), t);
  if (audit_ != nullptr)
    audit_->tick(t);
  if (settings_.number == 0)
    metrics_.close_interval(wall_seconds());
  if (stopping_ && (t >= stop_deadline_ || connections_.idle())) {
    connections_.close_all();
    return quit();
  }
  wake_after(*this, *node_actors_, period, tick_atom::value);
}

void http_gateway::stop() {
  if (stopping_)
    return;
  stopping_ = true;
  stop_deadline_ = now() + settings_.drain;
  connections_.stop_listening();
  streams_.finish();
  changes_.finish();
  pending_.progress();
  connections_.finish(shutting_down);
  next_tick_ = {};
  send(this, tick_atom::value);
}

void http_gateway::on_exit() {
  exited_ = true;
  connections_.stop_listening();
  connections_.close_all();
  if (audit_ != nullptr)
    audit_->close();
  pending_.drop_settled();
  readers_.clear();
  probe_.reset();
  sockets_.reset(); // the loop may end before the last reference to this actor
  drained_.set_value();
}

} // namespace belay::actors
