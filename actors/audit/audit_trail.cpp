#include "actors/audit/audit_trail.hpp"

#include "actors/audit/audit_targets.hpp"
#include "actors/audit/rotated_file.hpp"
#include "actors/gateway/requests/logged_request.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/go_compat/url.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"
#include "protocol/state/acl/permissions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace belay::actors {

namespace {

using stage = audited_request::stage;

// How often a full disk is retried while requests wait for it.
constexpr std::chrono::seconds retry_after{1};
// How long clients wait for a disk that hangs.
constexpr std::chrono::seconds write_timeout{30};
// A disk may be full for hours.
constexpr std::chrono::minutes logged_again_after{1};

/// Load balancers and orchestrators poll these; they reveal nothing that needs a permission.
bool is_probe(std::string_view route) {
  constexpr std::array<std::string_view, 4> probes{"agent_live", "agent_ready", "status_leader", "status_peers"};
  return std::find(probes.begin(), probes.end(), route) != probes.end();
}

/// Decoded; empty: it is malformed.
std::string path_of(std::string_view target) {
  if (const auto authority = target.find("://"); !target.starts_with('/') && authority != std::string_view::npos)
    target.remove_prefix(std::min(target.find('/', authority + 3), target.size()));
  std::string path;
  return go_compat::decode_path(target.substr(0, target.find('?')), path) ? path : std::string();
}

/// The decoded path if it is served; empty for all others, which may contain anything.
std::string endpoint_of(std::string_view target) {
  const auto path = path_of(target);
  const auto* at = http::find_route(path);
  if (at == nullptr)
    return {};
  // In ACLs from before Consul 1.4 the path contains a token's secret.
  for (const std::string_view old : {"/v1/acl/info/", "/v1/acl/destroy/", "/v1/acl/clone/"})
    if (path.starts_with(old))
      return std::string(old) + "<hidden>";
  http::raw_request shown; // a client may have escaped the question mark before its token
  shown.target = path;
  return logged_request(shown, {}, true).substr(1);
}

/// Hides a token's name in the path if no such token exists.
void hide_what_named_none(audited_request& a) {
  const auto& named = a.token_named;
  const bool made_or_read = a.event.status == 200 && a.event.method != "DELETE";
  if (named.empty() || a.token_known || made_or_read)
    return;
  auto& path = a.event.endpoint;
  if (const auto at = token_named_in(path); at == named)
    path.replace(static_cast<std::size_t>(at.data() - path.data()), at.size(), "<hidden>");
  const auto in_words = go_compat::quoted(named);
  if (const auto at = a.event.error.find(in_words); at != std::string::npos)
    a.event.error.replace(at, in_words.size(), "\"<hidden>\"");
  hide_secret(a.event, named);
}

/// Limits what is kept during a request, with a margin: a secret must be whole to be hidden.
void cut(std::string& text, std::size_t bytes_max) {
  if (text.size() > bytes_max + http::token_bytes_max) {
    text.resize(bytes_max + http::token_bytes_max);
    text.shrink_to_fit();
  }
}

std::string header(const http::raw_request& r, std::string_view name) {
  for (const auto& [each, value] : r.headers)
    if (go_compat::equal_ignoring_case(each, name))
      return std::string(value);
  return {};
}

audit_outcome outcome_of(const audited_request& a, const http::response* answer) {
  const bool reads = a.event.method == "GET" || a.event.method == "HEAD";
  if (answer == nullptr || a.reported == audit_outcome::unknown)
    return audit_outcome::unknown;
  if (answer->status == 403 ||
      (answer->status >= 400 && answer->body.find(state::permission_denied) != std::string::npos))
    return audit_outcome::denied;
  if (answer->status == 404 && reads)
    return audit_outcome::done; // nothing exists, which is a result
  return answer->status >= 400 ? audit_outcome::refused : a.reported;
}

} // namespace

// ---- one request

void audit_trail::begin(exchange& e, const http::raw_request& r, const http::parsed_request& p, monotonic_time now) {
  const auto* known = std::get_if<http::response>(&p.action);
  const bool denied = known != nullptr && known->status == 403;
  if (is_probe(p.route) || (p.route == http::parsed_request{}.route && !denied))
    return;
  auto a = std::make_shared<audited_request>();
  auto& event = a->event;
  event.id = uuid_();
  event.began_ns = r.now_ns;
  event.method = r.method;
  event.endpoint = endpoint_of(r.target);
  a->token_named = token_named_in(path_of(r.target));
  event.remote_address = r.remote_address;
  event.user_agent = header(r, "User-Agent");
  event.host = header(r, "Host");
  cut(event.method, audit_text_bytes_max);
  cut(event.endpoint, audit_path_bytes_max);
  cut(event.user_agent, audit_text_bytes_max);
  cut(event.host, audit_text_bytes_max);
  event.route = p.route;
  event.targets = audit_targets_of(p.action);
  if (event.targets.size() > audit_targets_max) {
    event.more_targets = event.targets.size() - audit_targets_max;
    event.targets.resize(audit_targets_max);
  }
  for (auto& t : event.targets) {
    cut(t.name, audit_path_bytes_max);
    cut(t.id, audit_path_bytes_max);
  }
  a->by = p.by;
  e.audit = a;
  // Look up the token at once: the request may delete it.
  name(a, now);
  look_up(a, now);
}

void audit_trail::look_up(const std::shared_ptr<audited_request>& a, monotonic_time now) {
  if (!is_uuid(a->token_named) || !a->by || a->event.route == "agent_token")
    return;
  ++a->lookups;
  owners_.ask_for_accessor(a->token_named, now, [this, a, now](bool known) {
    a->token_known = known;
    found(a, now);
  });
}

void audit_trail::name(const std::shared_ptr<audited_request>& a, monotonic_time now) {
  if (!a->by)
    return;
  ++a->lookups;
  owners_.ask(*a->by, now, [this, a, now](const token_owner& owner) {
    a->event.accessor = owner.accessor;
    a->event.description = owner.description;
    a->event.token_created_ns = owner.created_ns;
    found(a, now);
  });
}

void audit_trail::found(const std::shared_ptr<audited_request>& a, monotonic_time now) {
  if (--a->lookups == 0 && a->reached == stage::complete)
    finish(a, now);
}

bool audit_trail::admit(exchange& e) {
  if (e.audit == nullptr || e.audit->reached != stage::read)
    return true;
  if (rules_.enforced && refusing()) {
    e.answer = withheld(); // and decide() keeps it
    return false;
  }
  e.audit->reached = stage::begun;
  return true;
}

void audit_trail::decided(exchange& e, const write_result& r) const {
  if (e.audit == nullptr)
    return;
  auto& a = *e.audit;
  const auto* yes = std::get_if<bool>(&r.reply);
  const bool refused = r.outcome == wire::call_outcome::refused || std::holds_alternative<state::refusal>(r.reply) ||
                       (yes != nullptr && !*yes);
  a.reported = r.outcome == wire::call_outcome::unknown ? audit_outcome::unknown
               : refused                                ? audit_outcome::refused
                                                        : audit_outcome::done;
  a.event.index = r.index;
}

void audit_trail::given_up(exchange& e) const {
  if (e.audit != nullptr && !e.answer)
    e.audit->reported = audit_outcome::unknown;
}

http::response audit_trail::withheld() const {
  return http::error_response(500, "the audit log cannot be written (" +
                                       (broken_ ? why_broken_ : std::string("too many lines wait for its disk")) +
                                       "), and audit.sink.delivery_guarantee is enforced");
}

audit_trail::decision audit_trail::decide(exchange& e, monotonic_time now) {
  if (e.audit == nullptr)
    return decision::send;
  const auto a = e.audit;
  if (a->reached == stage::read && rules_.enforced && refusing()) {
    // The request was not started, and there is no space to log it.
    metrics_.audit_refused();
    e.audit.reset();
    return decision::withhold;
  }
  a->agent_master = e.access.decided_here;
  if (a->reached != stage::complete)
    complete(a, &*e.answer, now);
  if (!rules_.enforced || (a->line != 0 && a->line <= written_)) {
    e.audit.reset();
    return decision::send;
  }
  if (broken_) {
    metrics_.audit_refused();
    e.audit.reset();
    return decision::withhold;
  }
  if (std::exchange(a->waits, round_) != round_)
    clients_.push_back(e.from->weak_from_this());
  return decision::wait;
}

void audit_trail::dropped(exchange& e, monotonic_time now) {
  if (const auto a = std::exchange(e.audit, nullptr); a != nullptr && e.sent && a->reached != stage::complete)
    complete(a, e.answer ? &*e.answer : nullptr, now);
}

void audit_trail::complete(const std::shared_ptr<audited_request>& a, const http::response* answer,
                           monotonic_time now) {
  auto& event = a->event;
  event.completed_ns = wall_ns_();
  event.outcome = outcome_of(*a, answer);
  if (event.outcome != audit_outcome::done)
    event.index = log_index{};
  if (answer != nullptr) {
    event.status = answer->status;
    if (event.status >= 400)
      event.error = answer->body.substr(0, audit_text_bytes_max + http::token_bytes_max);
  }
  a->reached = stage::complete;
  if (a->lookups == 0)
    finish(a, now);
}

void audit_trail::finish(const std::shared_ptr<audited_request>& a, monotonic_time now) {
  auto& event = a->event;
  // A server that is behind may learn of a token after the leader has accepted it.
  if (a->agent_master)
    event.description = "acl.tokens.agent_master";
  else if (a->by && event.accessor.empty() && event.outcome == audit_outcome::done && !closing_ &&
           !std::exchange(a->named_again, true))
    return name(a, now);
  if (a->by)
    hide_secret(event, a->by->secret);
  hide_what_named_none(*a);
  hide_uuids(event.user_agent); // programs have no such names, and clients may put secrets here
  const auto line = audit_line(event);
  if (!rules_.enforced && waiting_bytes() + line.size() > rules_.waiting_bytes_max) {
    lost(1);
    return broken("too many lines wait for the disk", now);
  }
  waiting_ += line;
  a->line = ++lines_;
  flush(now);
}

// ---- the lines

void audit_trail::flush(monotonic_time now) {
  if (sent_ != nullptr || waiting_.empty() || (rules_.enforced && broken_ && now < retry_at_))
    return;
  if (lost_ > 0)
    waiting_.insert(0, audit_gap_line(uuid_(), wall_ns_(), lost_));
  lost_in_sent_ = lost_;
  sent_ = std::make_shared<const std::string>(std::exchange(waiting_, {}));
  sent_at_ = now;
  out_.post(write_audit{gateway_, sent_});
}

void audit_trail::written(const audit_written& w, monotonic_time now) {
  const auto sent = std::exchange(sent_, nullptr);
  if (sent == nullptr) // from before close()
    return;
  auto lines = w.lines;
  const auto reported = std::exchange(lost_in_sent_, 0);
  if (reported > 0 && lines > 0) {
    --lines;
    lost_ -= reported;
  }
  written_ += lines;
  metrics_.audit_lines(lines);
  if (w.error.empty()) {
    if (std::exchange(broken_, false)) {
      metrics_.audit_broken(false);
      log::info("audit", "audit log is written again", {{"lost_lines", std::exchange(lost_unlogged_, 0)}});
    }
  } else {
    const auto rest = std::string_view(*sent).substr(w.bytes);
    if (rules_.enforced) {
      waiting_.insert(0, rest);
      retry_at_ = now + retry_after;
    } else {
      lost(lines_in(rest) - (reported > 0 && w.lines == 0 ? 1 : 0));
    }
    broken(w.error, now);
  }
  flush(now);
  respond_to_clients();
}

void audit_trail::lost(std::uint64_t lines) {
  lost_ += lines;
  lost_unlogged_ += lines;
  metrics_.audit_lost(lines);
}

void audit_trail::broken(const std::string& why, monotonic_time now) {
  why_broken_ = why;
  if (std::exchange(broken_, true) && now - logged_at_ < logged_again_after)
    return;
  metrics_.audit_broken(true);
  logged_at_ = now;
  log::error("audit",
             rules_.enforced ? "audit log cannot be written: requests are rejected"
                             : "audit log cannot be written: lines are lost",
             {{"error", why}, {"lost_lines", std::exchange(lost_unlogged_, 0)}});
}

void audit_trail::respond_to_clients() {
  ++round_;
  for (const auto& each : std::exchange(clients_, {}))
    if (const auto client = each.lock())
      client->progress();
}

void audit_trail::tick(monotonic_time now) {
  owners_.tick(now);
  if (sent_ != nullptr && now - sent_at_ >= write_timeout) {
    broken("the disk does not respond", now);
    respond_to_clients();
  }
  flush(now);
}

void audit_trail::close() {
  closing_ = true;
  owners_.close();
  sent_ = nullptr;
  broken_ = false;
  if (!waiting_.empty())
    flush(sent_at_);
}

} // namespace belay::actors
