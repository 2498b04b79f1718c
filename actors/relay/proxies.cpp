#include "actors/relay/proxies.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/go_compat/error_list.hpp"
#include "protocol/go_compat/url.hpp"
#include "protocol/http/discovery/registration_json.hpp"
#include "protocol/http/tokens.hpp"

namespace belay::actors {

namespace {

constexpr std::size_t answer_bytes_max = 64u << 20; ///< limit for the rows of one node
constexpr auto beyond_a_client_agent = "client agents do not support this";

// As Consul's acl.token_ttl and acl.policy_ttl.
constexpr std::chrono::seconds rules_ttl{30};
constexpr std::size_t rules_kept_max = 4096;

/// Permissions that a client agent decides itself.
bool allows(const acl::authorizer& may, const state::permission_needed& n) {
  using of = state::permission_needed::of;
  const bool writes = n.level == acl::permission::write;
  switch (n.what) {
  case of::agent:
    return may.allows(acl::resource::agent, n.level, n.name);
  case of::node:
    return may.allows(acl::resource::node, n.level, n.name);
  case of::operators:
    return writes ? may.operator_write() : may.operator_read();
  default:
    return false;
  }
}

/// Response to a deregistration without write permission: nothing is left to do, as in Consul.
bool is_not_there(const std::string& response) {
  return response.find("Unknown service '") != std::string::npos ||
         response.find("Unknown check '") != std::string::npos;
}

} // namespace

// ---- tables

class remote_tables::question final : public answer_listener {
public:
  using answered = std::function<void(int status, std::string body)>; ///< status 0: no response, and why

  question(request_relay& relay, relayed_request r, answered then) : then_(std::move(then)) {
    call_ = relay.begin(std::move(r), *this);
  }

  void on_head(int status, header_list) override { status_ = status; }
  void on_body(std::string_view bytes) override {
    if (body_.size() + bytes.size() > answer_bytes_max)
      return respond(0, "the response is too large");
    body_ += bytes;
  }
  void on_end() override { respond(status_, std::move(body_)); }
  void on_failure(std::string text, bool) override { respond(0, std::move(text)); }

private:
  void respond(int status, std::string what) {
    INVARIANT(then_);                   // answered once
    const auto then = std::move(then_); // which destroys this object
    then(status, std::move(what));
  }

  answered then_;
  int status_ = 0;
  std::string body_;
  std::unique_ptr<relayed_call> call_;
};

remote_tables::remote_tables(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                             request_relay& relay, std::function<agent_secrets()> secrets)
    : hosted(config, host), node_actors_(std::move(node_actors)), relay_(relay), secrets_(std::move(secrets)) {
  end_node_by_exceptions_of(*this, node_actors_, "remote_tables");
}

remote_tables::~remote_tables() = default;

fsm_actor::behavior_type remote_tables::make_behavior() {
  return {
      [](const committed_entries&) {},
      [this](const check_write& w) { write(w); },
      [this](const read_query& q) { read(q); },
      [](const cancel_query&) {},
      [](const end_wait&) {},
      [](const barrier_result&) {},
      [](const renew_session&) {},
      [](const renew_request&) {},
      [](const lease_extended&) {},
      [](const give_up_lease&) {},
      [](const coordinates_known&) {},
      [](const cluster_view&) {},
      [](const queries_touched&) {},
      [](const checkpoint_written&) {},
      [](const catalog_mended&) {},
      [](const machine_replaced&) {},
      [](tick_atom) {},
      [](flush_atom) {},
      [](go_on_atom) {},
      [this](stop_atom) {
        questions_.clear();
        quit();
      },
  };
}

void remote_tables::ask(std::string method, std::string target, std::string body, std::string secret,
                        std::function<void(int, std::string)> then, relay_lane lane) {
  relayed_request r{std::move(method), std::move(target), {}, std::move(body), false};
  r.lane = lane;
  if (!secret.empty())
    r.headers.emplace_back("X-Consul-Token", http::token_header(secret));
  const auto number = ++requested_;
  questions_.emplace(number,
                     std::make_unique<question>(relay_, std::move(r),
                                                [this, number, then = std::move(then)](int status, std::string what) {
                                                  const auto keep = questions_.extract(number);
                                                  then(status, std::move(what));
                                                }));
}

void remote_tables::write(const check_write& w) {
  const auto secrets = secrets_();
  const auto& of_services = w.token.empty() ? secrets.of_services : w.token;
  const auto then = [this, id = w.id](int status, std::string body) { written(id, status, std::move(body)); };
  std::visit(
      overloaded{
          [&](const state::catalog_register& r) {
            ask("PUT", "/v1/catalog/register", http::json_of(r),
                r.service || !r.checks.empty() ? of_services : secrets.of_node, then);
          },
          [&](const state::catalog_deregister& r) { deregister(http::json_of(r), of_services, secrets.of_node, then); },
          [&](const auto&) { written(w.id, 500, beyond_a_client_agent); },
      },
      static_cast<const state::plain_command&>(w.command));
}

/// A registration's token may have been deleted: the deregistration then uses the node's token.
void remote_tables::deregister(std::string body, const std::string& secret, const std::string& of_node,
                               std::function<void(int, std::string)> then) {
  constexpr auto target = "/v1/catalog/deregister";
  const auto settled = [then](int status, std::string response) {
    const bool gone = is_not_there(response);
    then(gone ? 200 : status, std::move(response));
  };
  ask("PUT", target, body, secret, [=, this](int status, std::string response) {
    if (status != 403 || secret == of_node)
      return settled(status, std::move(response));
    ask("PUT", target, body, of_node, settled);
  });
}

void remote_tables::written(request_id id, int status, std::string body) {
  write_result r;
  r.id = id;
  if (status == 200) {
    r.outcome = wire::call_outcome::done;
    r.reply = true;
  } else {
    r.outcome = status == 0 ? wire::call_outcome::unknown : wire::call_outcome::refused;
    r.text = std::move(body);
  }
  answer_gateway(*this, *node_actors_, id, write_results{{std::move(r)}});
}

void remote_tables::read(const read_query& q) {
  const auto then = [this, q](int status, const std::string& body) { found(q, status, body); };
  const auto secret = secrets_().of_node;
  std::visit(overloaded{
                 [&](const state::catalog_node& n) {
                   ask("GET", "/v1/catalog/node/" + go_compat::escape_path(n.node), {}, secret, then);
                 },
                 [&](const state::health_node& n) {
                   ask("GET", "/v1/health/node/" + go_compat::escape_path(n.node), {}, secret, then);
                 },
                 [&](const state::permissions_read&) { read_permissions(q); },
                 [&](const auto&) { found(q, 500, beyond_a_client_agent); },
             },
             static_cast<const state::plain_query&>(q.request.query));
}

// The agent authorizes requests for its own services and checks, by rules that it got from servers.

void remote_tables::read_permissions(const read_query& q) {
  if (!q.request.query.by)
    return answer(q, failure{"in nobody's name"});
  const auto& secret = q.request.query.by->secret;
  const auto known = known_.find(secret);
  if (known != known_.end() && now_of(*this, *node_actors_) - known->second.since < rules_ttl &&
      q.request.mode == http::consistency::stale)
    return send_permissions(q, known->second);
  auto& waiting = waiting_for_rules_[secret];
  waiting.push_back(q);
  if (waiting.size() == 1)
    ask(
        "GET", "/v1/internal/acl/rules", {}, secret,
        [this, secret](int status, const std::string& body) { rules_received(secret, status, body); },
        relay_lane::clients); // each request of a client may have another token
}

void remote_tables::rules_received(const std::string& secret, int status, const std::string& body) {
  const auto waiting = waiting_for_rules_.extract(secret);
  INVARIANT(!waiting.empty() && !waiting.mapped().empty());
  auto rules = status == 200 ? http::read_token_rules(body) : std::nullopt;
  if (rules) {
    if (known_.size() >= rules_kept_max)
      known_.clear();
    known_[secret] = {std::move(*rules), nullptr, false, now_of(*this, *node_actors_)};
  } else if (status == 403) {
    known_.erase(secret);
  }
  const auto known = known_.find(secret);
  for (const auto& q : waiting.mapped()) {
    if (known != known_.end()) // if no server responds: the previous rules
      send_permissions(q, known->second);
    else if (status == 403)
      answer(q, state::query_result{log_index{1}, state::refusal{body}});
    else
      answer(q, failure{status == 200 ? "malformed response of the server" : body});
  }
}

void remote_tables::send_permissions(const read_query& q, known_rules& known) {
  const bool by_default = q.request.query.by->allowed_by_default;
  if (known.compiled == nullptr || known.allowed_by_default != by_default) {
    std::vector<const acl::rules*> all;
    for (const auto& each : known.rules.rules)
      all.push_back(&each);
    known.compiled = std::make_shared<const acl::authorizer>(all, by_default ? acl::default_policy::allow
                                                                             : acl::default_policy::deny);
    known.allowed_by_default = by_default;
  }
  state::permissions p;
  p.may = known.compiled;
  for (const auto& each : std::get<state::permissions_read>(q.request.query).requested)
    p.allowed.push_back(allows(*known.compiled, each));
  auto token = std::make_shared<state::acl_token>();
  token->accessor = known.rules.accessor;
  p.token = std::move(token);
  answer(q, state::query_result{log_index{1}, std::move(p)});
}

void remote_tables::answer(const read_query& q, std::variant<state::query_result, failure> what) {
  read_result r;
  r.id = q.id;
  r.answer = std::move(what);
  answer_gateway(*this, *node_actors_, q.id, std::move(r));
}

void remote_tables::found(const read_query& q, int status, const std::string& body) {
  std::variant<state::query_result, failure> out = failure{status == 200 ? "malformed response of the server" : body};
  const auto take = [&out](auto rows) {
    if (rows)
      out = state::query_result{log_index{1}, std::move(*rows)};
  };
  if (status == 200) {
    if (std::holds_alternative<state::catalog_node>(q.request.query))
      take(http::read_node_services(body));
    else
      take(http::read_checks(body));
  }
  answer(q, std::move(out));
}

// ---- consensus

remote_consensus::remote_consensus(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                                   raft::member self, std::function<bool()> cluster_answers, joiner join)
    : hosted(config, host), node_actors_(std::move(node_actors)), self_(std::move(self)),
      cluster_answers_(std::move(cluster_answers)), join_(std::move(join)) {
  end_node_by_exceptions_of(*this, node_actors_, "remote_consensus");
}

raft_peer_actor::behavior_type remote_consensus::make_behavior() {
  return {
      [](const propose_write&) {},
      [](const renew_session&) {},
      [](const barrier_request&) {},
      [](const end_wait&) {},
      [](const forwarded_results&) {},
      [](const log_written&) {},
      [](const frames_received&) {},
      [](const peer_lost&) {},
      [](const propose_internal&) {},
      [](const renew_answer&) {},
      [](const checkpoint_written&) {},
      [](const peer_connected&) {},
      [](const dialled_now&) {},
      [](const autopilot_changed&) {},
      [](const client_agent_answered&) {},
      [](broadcast_commit_atom) {},
      [](const snapshot_chunk_loaded&) {},
      [](const snapshot_chunk_stored&) {},
      [](const snapshot_in_force&) {},
      [](const leadership_transfer&) {},
      [](const give_up_lease&) {},
      [](const change_members&) {},
      [this](const status_request& r) { respond(r); },
      [](const keyring_operated&) {},
      [](tick_atom) {},
      [](flush_atom) {},
      [this](stop_atom) { quit(); },
  };
}

/// The view of a cluster of one node, which is the leader while the servers respond.
cluster_view remote_consensus::view_of(const raft::member& self, bool cluster_answers) {
  cluster_view v;
  v.self = self.id;
  v.config.members = {self};
  if (cluster_answers)
    v.soft.leader = self.id;
  return v;
}

void remote_consensus::join(const status_request& r) {
  join_(r.what.text, [this, r](const std::string& why) {
    write_result w;
    w.id = r.id;
    w.outcome = wire::call_outcome::done;
    w.reply = true;
    if (!why.empty()) // Consul's text
      w.reply =
          state::refusal{go_compat::error_list({"Failed to join " + split_host_port(r.what.text).host + ": " + why})};
    answer_gateway(*this, *node_actors_, r.id, write_results{{std::move(w)}});
  });
}

void remote_consensus::respond(const status_request& r) {
  if (r.what.kind == http::local_kind::agent_join)
    return join(r);
  status_result s;
  s.id = r.id;
  s.view = view_of(self_, cluster_answers_());
  s.ms_since_leader = s.view.soft.leader.is_zero() ? -1 : 0;
  peer_status self;
  self.member = self_;
  self.voter = false;
  self.alive = true;
  s.peers.push_back(std::move(self));
  answer_gateway(*this, *node_actors_, r.id, std::move(s));
}

} // namespace belay::actors
