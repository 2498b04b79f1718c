// http_gateway: the part for ACLs. access_questions, the state machine and the agent authorize.

#include "actors/gateway/http_gateway.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/http/tokens.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace belay::actors {

std::int64_t http_gateway::wall_ns() {
  if (!settings_.routes.acl_enabled && audit_ == nullptr) // not needed
    return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(settings_.wall_clock().time_since_epoch()).count();
}

/// Another gateway, or a reload, may have changed them.
void http_gateway::take_tokens() {
  if (const auto version = settings_.tokens->version(); version != tokens_seen_) {
    tokens_seen_ = version;
    settings_.routes.default_token = settings_.tokens->now().of_requests;
  }
}

void http_gateway::permission_received(exchange& e, const read_result& r) {
  if (access_.answered(e, r, now()))
    pass_on(e);
  else
    requested(e);
}

void http_gateway::watch_access(exchange& e) {
  const bool streams = streams_.has(e) && e.transfer != nullptr;
  const bool waits = std::holds_alternative<http::agent_request>(e.what) && e.blocking() && !e.answer;
  if (e.by && (streams || waits))
    access_watches_.begin(e, now());
}

void http_gateway::reauthorized(const access_watches::news& n) {
  if (n.whose == nullptr || (!n.refusal && n.may == n.whose->access.may))
    return;
  auto& e = *n.whose;
  if (streams_.has(e)) {
    if (n.refusal)
      streams_.end(e);
    return;
  }
  // Asks again with the rows that are visible now: these may be fewer than the client knows.
  const auto waited = now() - e.access.watch->since;
  send(node_actors_->health_checks, cancel_query{e.id});
  if (n.refusal) {
    pending_.settle(e.id);
    e.access.watch.reset();
    e.answer = http::error_response(500, *n.refusal); // 403 if it is about permissions
    return;
  }
  pending_.forget(e);
  e.access.may = n.may;
  auto what = std::get<http::agent_request>(e.what).what;
  agent::wait_less(what, waited);
  send(node_actors_->health_checks, agent_call{pending_.add(e), std::move(what), n.may});
}

void http_gateway::note_bootstrapped(const exchange& e, const write_result& r) {
  const auto* command = std::get_if<state::command>(&e.what);
  if (command == nullptr || r.outcome != wire::call_outcome::done || !settings_.files.remove_bootstrap_reset)
    return;
  const auto* first = std::get_if<state::acl_bootstrap>(command);
  if (first == nullptr || first->reset_index.is_zero() || std::holds_alternative<state::refusal>(r.reply))
    return;
  if (settings_.files.elsewhere)
    settings_.files.elsewhere(settings_.files.remove_bootstrap_reset);
  else
    settings_.files.remove_bootstrap_reset();
}

void http_gateway::do_elsewhere(exchange& e, std::function<std::string()> work,
                                std::function<void(exchange&, std::string)> then) {
  if (!settings_.files.elsewhere || asio_ == nullptr)
    return then(e, work());
  const auto id = pending_.add(e, answer_due());
  settings_.files.elsewhere([this, self = caf::strong_actor_ptr(ctrl()), loop = &asio_->loop(), id,
                             work = std::move(work), then = std::move(then)] {
    boost::asio::post(*loop, [this, self, id, then, computed = work()] {
      if (exited_)
        return;
      if (auto* waiting = pending_.settle(id))
        then(*waiting, computed);
      pending_.progress();
    });
  });
}

void http_gateway::set_token(exchange& e, const http::agent_token_change& change) {
  if (change.kind == http::agent_token_kind::unknown) {
    const auto& name = std::get<http::local_request>(e.what).text;
    e.answer = http::error_response(404, "Token " + go_compat::quoted(name) + " is unknown");
    return;
  }
  settings_.tokens->set(change);
  take_tokens();
  log::info("http", "token of this server changed by a client", {{"which", http::name_of(change.kind)}});
  if (!settings_.files.keep_tokens) {
    e.answer.emplace();
    return;
  }
  do_elsewhere(e, settings_.files.keep_tokens, [](exchange& waiting, std::string error) {
    waiting.answer =
        error.empty() ? http::response{} : http::error_response(500, "failed to persist the token: " + error);
  });
}

/// The state machine decides whether the index is valid.
void http_gateway::ask_bootstrap(exchange& e) {
  if (!settings_.files.bootstrap_reset)
    return propose(e, std::get<state::command>(e.what));
  const auto index = std::make_shared<log_index>();
  do_elsewhere(
      e,
      [read = settings_.files.bootstrap_reset, index] {
        *index = read();
        return std::string();
      },
      [this, index](exchange& waiting, const std::string&) {
        auto& command = std::get<state::command>(waiting.what);
        std::get<state::acl_bootstrap>(command).reset_index = *index;
        propose(waiting, command);
      });
}

} // namespace belay::actors
