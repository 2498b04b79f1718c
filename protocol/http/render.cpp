#include "protocol/http/render.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/http/acl/acl_render.hpp"
#include "protocol/http/claims/claim_render.hpp"
#include "protocol/http/kv/change_render.hpp"
#include "protocol/http/list_rows.hpp"
#include "protocol/http/outcomes/outcome_render.hpp"
#include "protocol/http/reading/cached_read.hpp"
#include "protocol/http/record_json.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/http/request_context.hpp"

#include <type_traits>

namespace belay::http {

namespace {

template <class T, class Variant>
struct is_one_of;
template <class T, class... Ts>
struct is_one_of<T, std::variant<Ts...>> : std::disjunction<std::is_same<T, Ts>...> {};

using discovery_queries =
    std::variant<state::catalog_nodes, state::catalog_services, state::catalog_service, state::catalog_node,
                 state::health_node, state::health_checks, state::health_state, state::health_service>;

/// docs/contract/01, section 7: catalog and health reads.
bool has_consistency_headers(const state::query& q) {
  return std::visit([](const auto& each) { return is_one_of<std::decay_t<decltype(each)>, discovery_queries>::value; },
                    q);
}

bool asks_coordinates(const state::query& q) {
  return std::holds_alternative<state::coordinate_nodes>(q) || std::holds_alternative<state::coordinate_node>(q);
}

/// docs/contract/01, section 7: errors of these have meta headers.
bool sets_meta_late(const state::query& q) {
  const bool session = std::holds_alternative<state::session_info>(q) ||
                       std::holds_alternative<state::session_list>(q) || std::holds_alternative<state::session_node>(q);
  return session || has_consistency_headers(q) || asks_coordinates(q) || is_acl_read(q);
}

template <class Query>
constexpr bool is_of_settings = false;
template <class Settings>
constexpr bool is_of_settings<state::settings_get<Settings>> = true;

bool reads_settings(const state::query& q) {
  return std::visit([](const auto& each) { return is_of_settings<std::decay_t<decltype(each)>>; }, q);
}

/// The index for the header. For changes it is the position to continue at, which may be within an
/// entry.
std::string index_text(const state::query_result& result) {
  const auto* changes = std::get_if<state::change_rows>(&result.data);
  return changes != nullptr ? to_string(changes->reached) : to_string(result.index);
}

void add_meta(response& r, const read_request& request, const state::query_result& result, const read_meta& meta) {
  r.headers.reserve(6);
  r.headers.emplace_back("X-Consul-Index", index_text(result));
  r.headers.emplace_back("X-Consul-Knownleader", meta.known_leader ? "true" : "false");
  r.headers.emplace_back("X-Consul-Lastcontact", std::to_string(meta.last_contact_ms));
  if (has_consistency_headers(request.query))
    r.headers.emplace_back("X-Consul-Effective-Consistency", request.mode == consistency::stale && !request.cached
                                                                 ? "stale"
                                                             : request.mode == consistency::consistent ? "consistent"
                                                                                                       : "leader");
}

/// Headers that Consul does not have (docs/reference/http-extensions.md).
void add_remaining_times(response& r, const read_meta& meta) {
  if (meta.lock_delay_ms != 0)
    r.headers.emplace_back("X-Belay-Lock-Delay-Ms", std::to_string(meta.lock_delay_ms));
  if (meta.session_ttl_ms != 0)
    r.headers.emplace_back("X-Belay-Session-Ttl-Ms", std::to_string(meta.session_ttl_ms));
}

/// Reading the key returns the holder's fencing token again, after a lost response.
void add_fence(response& r, const state::query& q, const state::query_result& result) {
  const auto* found = std::get_if<state::kv_entries>(&result.data);
  if (found != nullptr && std::holds_alternative<state::kv_get>(q) && !found->entries.empty() &&
      found->entries.front()->fence != 0)
    r.headers.emplace_back("X-Belay-Fence", std::to_string(found->entries.front()->fence));
}

/// Position and history to continue at. X-Consul-Index stays a number, for clients of 0.2.0.
void add_cursor(response& r, const state::query_result& result) {
  const auto* changes = std::get_if<state::change_rows>(&result.data);
  if (changes != nullptr && !changes->gone && !changes->history.is_none())
    r.headers.emplace_back("X-Belay-Cursor", to_string(state::change_cursor{changes->reached, changes->history}));
}

void add_read_headers(response& r, const read_request& request, const state::query_result& result,
                      const read_meta& meta, const render_options& options) {
  add_meta(r, request, result, meta);
  if (options.cache)
    add_cache_headers(r, *options.cache);
  add_cursor(r, result);
  add_fence(r, request.query, result);
  add_remaining_times(r, meta);
}

bool succeeded(const state::reply& reply) {
  if (const auto* yes = std::get_if<bool>(&reply))
    return *yes;
  if (const auto* txn = std::get_if<state::txn_reply>(&reply))
    return txn->errors.empty();
  return !std::holds_alternative<state::claim_refusal>(reply) && !std::holds_alternative<state::refusal>(reply) &&
         !std::holds_alternative<state::once_refusal>(reply);
}

void add_outcome(response& r, const state::reply& reply, log_index index) {
  if (!reply.decided_at.is_zero()) {
    index = reply.decided_at;
    r.headers.emplace_back("X-Belay-Replayed", "true");
  }
  if (!index.is_zero() && succeeded(reply))
    r.headers.emplace_back("X-Belay-Index", to_string(index));
  const auto& note = reply.note;
  if (note.why != state::refused_for::nothing)
    r.headers.emplace_back("X-Belay-Reason", name_of(note.why));
  if (!note.holder.empty())
    r.headers.emplace_back("X-Belay-Holder", note.holder);
  if (note.retry_after_ms != 0)
    r.headers.emplace_back("X-Belay-Retry-After-Ms", std::to_string(note.retry_after_ms));
  if (note.fence != 0)
    r.headers.emplace_back("X-Belay-Fence", std::to_string(note.fence));
}

response not_found() {
  response r;
  r.status = 404;
  return r;
}

response raw_value(const state::kv_entry& e) {
  response r;
  r.content_type = "text/plain";
  r.body_shared = e.value;
  r.headers.reserve(6);
  r.headers.emplace_back("X-Content-Type-Options", "nosniff");
  r.headers.emplace_back("Content-Security-Policy", "sandbox");
  return r;
}

/// The body for the type of the data; the query decides between forms of the same data.
struct body_writer {
  const state::query& query;
  const state::query_result& result;
  const render_options& options;

  response json(std::string text) const { return json_response(std::move(text), options); }
  response list() const { return json(whole(*rows_of(query, result, options))); }

  response operator()(const state::kv_entries& found) const {
    if (found.entries.empty())
      return not_found();
    if (options.raw && asks_one_key(query))
      return raw_value(*found.entries.front());
    constexpr std::size_t members_bytes_typical = 160;
    std::size_t bytes = 2;
    for (const auto& e : found.entries)
      bytes += members_bytes_typical + e->key.size() + e->value->size() * 4 / 3;
    std::string out;
    out.reserve(bytes);
    char lead = '[';
    for (const auto& e : found.entries) {
      out += lead;
      lead = ',';
      append_kv_entry(out, *e, true);
    }
    out += ']';
    return json(std::move(out));
  }

  response operator()(const state::key_names& found) const {
    const auto* requested = std::get_if<state::kv_keys>(&query);
    if (found.keys.empty() && requested && !requested->prefix.empty())
      return not_found();
    std::string out;
    go_compat::append_json_strings(out, found.keys);
    return json(std::move(out));
  }

  response operator()(const state::node_services& found) const {
    if (found.node)
      return list();
    const auto* requested = std::get_if<state::catalog_node>(&query);
    return json(requested != nullptr && requested->as_list ? "{\"Node\":null,\"Services\":null}" : "null");
  }

  response operator()(const state::sessions&) const { return list(); }
  response operator()(const state::nodes&) const { return list(); }
  response operator()(const state::service_names&) const { return list(); }
  response operator()(const state::service_instances&) const { return list(); }
  response operator()(const state::checks&) const { return list(); }
  response operator()(const state::coordinate_rows& found) const {
    return found.list.empty() && std::holds_alternative<state::coordinate_node>(query) ? not_found() : list();
  }

  template <state::operator_settings Settings>
  response operator()(const state::settings_ptr<Settings>& settings) const {
    std::string out;
    append_object(out, *settings);
    return json(std::move(out));
  }

  response operator()(const state::acl_rows& found) const {
    return is_acl_list(query) ? list() : render_acl_row(query, found, options);
  }
  response operator()(const state::permissions& answer) const {
    return render_permissions(std::get<state::permissions_read>(query), answer, options);
  }

  /// Claims, write guards, ended sessions.
  template <class OfClaims>
  requires requires(const OfClaims& found, const render_options& o) { render_claims(found, o); }
  response operator()(const OfClaims& found) const { return render_claims(found, options); }

  response operator()(const state::change_rows& found) const {
    if (found.gone)
      return gone_response(found);
    if (std::holds_alternative<state::kv_at>(query))
      return error_response(400, "Invalid at: the newest index here is " + to_string(found.applied));
    return list();
  }
  response operator()(const state::outcome_view& found) const {
    if (found.row == nullptr)
      return not_found();
    state::reply stored;
    if (found.row->answer != nullptr)
      stored = *found.row->answer;
    stored.decided_at = found.row->index;
    return render_outcome(stored, options);
  }

  // These are rendered elsewhere.
  response operator()(const state::txn_reply&) const { return {}; }
  response operator()(const state::refusal&) const { return {}; }
  response operator()(const state::claim_standing&) const { return {}; }
};

} // namespace

response render_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options) {
  if (const auto* no = std::get_if<state::refusal>(&result.data))
    return render_read_error(request, no->text);
  if (const auto* txn = std::get_if<state::txn_reply>(&result.data))
    return render_txn(*txn, &meta, options);
  auto r = std::visit(body_writer{request.query, result, options}, result.data);
  if (reads_settings(request.query) || std::holds_alternative<state::permissions_read>(request.query) ||
      (r.status == 404 && (asks_coordinates(request.query) || MUTANT(index_of_nothing_untold))))
    return r; // no meta headers: operator endpoints (docs/contract/12), /v1/internal/acl; docs/contract/17
  add_read_headers(r, request, result, meta, options);
  return r;
}

response render_read_head(const read_request& request, const state::query_result& result, const read_meta& meta,
                          const render_options& options) {
  if (const auto* txn = std::get_if<state::txn_reply>(&result.data))
    return render_txn_head(txn->errors.empty(), &meta);
  const auto* found = std::get_if<state::kv_entries>(&result.data);
  const bool raw = options.raw && found != nullptr && asks_one_key(request.query);
  auto r = raw ? raw_value(*found->entries.front()) : json_response({}, {});
  r.body_shared = nullptr;
  add_read_headers(r, request, result, meta, options);
  return r;
}

response render_read_error(const read_request& request, std::string text) {
  auto r = refusal_response(std::move(text));
  return sets_meta_late(request.query) ? with_unknown_meta(std::move(r)) : r;
}

int status_of_refusal(std::string_view text) {
  const auto says = [text](std::string_view words) { return text.find(words) != std::string_view::npos; };
  if (says(permission_denied) || says(acl_not_found))
    return 403;
  return text.starts_with("Answer too large: ") ? 413 : 500; // protocol/state/answer_size.hpp
}

response refusal_response(std::string text) {
  const int status = status_of_refusal(text);
  return error_response(status, std::move(text));
}

namespace {

response write_body(const state::command& command, const state::reply& reply, const render_options& options,
                    log_index index, std::uint64_t ttl_ms) {
  if (const auto* no = std::get_if<state::once_refusal>(&reply))
    return render_once_refusal(*no);
  if (const auto* sum = std::get_if<state::kv_added>(&reply))
    return render_sum(*sum, reply.decided_at.is_zero() ? index : reply.decided_at, options);
  if (const auto* yes = std::get_if<bool>(&reply))
    return json_response(*yes ? "true" : "false", options);
  if (const auto* id = std::get_if<std::string>(&reply)) {
    std::string out = "{\"ID\":";
    go_compat::append_json_string(out, *id);
    return json_response(out += '}', options);
  }
  if (const auto* txn = std::get_if<state::txn_reply>(&reply))
    return render_txn(*txn, nullptr, options);
  if (const auto* no = std::get_if<state::refusal>(&reply))
    return refusal_response(no->text);
  if (const auto* row = std::get_if<state::acl_row>(&reply))
    return render_acl_written(command, *row, options);
  if (std::holds_alternative<state::claim_answer>(reply) && std::holds_alternative<state::kv_acquire>(command))
    return error_response(500, "the acquire waits in the queue; its outcome is unknown here");
  if (const auto* claim = std::get_if<state::claim_answer>(&reply))
    return render_claim(*claim, options, ttl_ms);
  if (const auto* no = std::get_if<state::claim_refusal>(&reply))
    return render_claim_refusal(*no);
  return json_response("true", options);
}

} // namespace

response render_write(const state::command& command, const state::reply& reply, const render_options& options,
                      log_index index, std::uint64_t ttl_ms) {
  if (std::holds_alternative<state::outcome_seal>(command) && !reply.decided_at.is_zero())
    return render_outcome(reply, options);
  auto r = write_body(command, reply, options, index, ttl_ms);
  add_outcome(r, reply, index);
  return r;
}

response render_renew(const std::string& id, const state::session_ptr& session, const render_options& options,
                      std::uint64_t ttl_ms) {
  if (!session)
    return error_response(404, "Session id '" + id + "' not found");
  std::string out = "[";
  append_session(out, *session);
  auto r = json_response(out += ']', options);
  add_remaining_times(r, {0, true, 0, ttl_ms});
  return r;
}

response render_renewals(const std::vector<std::string>& ids, const std::vector<std::optional<std::uint64_t>>& ttls_ms,
                         const render_options& options) {
  PRECONDITION(ids.size() == ttls_ms.size());
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out += i == 0 ? "[{" : ",{";
    go_compat::append_json_member(out, "ID", ids[i]);
    go_compat::append_json_name(out, "Renewed");
    go_compat::append_bool(out, ttls_ms[i].has_value());
    if (ttls_ms[i].value_or(0) != 0) {
      go_compat::append_json_name(out, "TtlMs");
      go_compat::append_number(out, *ttls_ms[i]);
    }
    out += '}';
  }
  return json_response(out += ']', options);
}

} // namespace belay::http
