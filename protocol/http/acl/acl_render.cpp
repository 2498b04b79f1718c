#include "protocol/http/acl/acl_render.hpp"

#include "protocol/acl/legacy_rules.hpp"
#include "protocol/archive/sha256.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/timestamp.hpp"
#include "protocol/http/acl/acl_input.hpp"
#include "protocol/http/acl/token_rules.hpp"
#include "protocol/http/record_json.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

namespace {

/// Hash by which clients detect changes: 32 bytes. Excludes ids, indexes and times, as Consul's.
class content_hash {
public:
  /// Includes the length, so that different lists of parts have different bytes.
  content_hash& add(std::string_view part) {
    sum_.add(std::to_string(part.size()) + ":");
    sum_.add(part);
    return *this;
  }
  template <class List, class Add>
  content_hash& each(const List& list, Add add_one) {
    add(std::to_string(list.size()));
    for (const auto& one : list)
      add_one(one);
    return *this;
  }
  content_hash& identities(const std::vector<state::service_identity>& services,
                           const std::vector<state::node_identity>& nodes) {
    each(services, [this](const state::service_identity& s) {
      add(s.service_name);
      datacenters(s.datacenters);
    });
    return each(nodes, [this](const state::node_identity& n) { add(n.node_name).add(n.datacenter); });
  }
  content_hash& links(const std::vector<state::acl_link>& list) {
    return each(list, [this](const state::acl_link& l) { add(l.id); });
  }
  content_hash& datacenters(const std::optional<std::vector<std::string>>& list) {
    return each(list.value_or(std::vector<std::string>{}), [this](const std::string& dc) { add(dc); });
  }

  std::string base64() const {
    const auto digits = sum_.hex();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes += static_cast<char>(hex_value(digits[i]) * 16 + hex_value(digits[i + 1]));
    return go_compat::base64(bytes);
  }

private:
  archive::sha256 sum_;
};

void append_indexes(std::string& out, log_index created, log_index modified) {
  go_compat::append_json_number_member(out, "CreateIndex", created.value);
  go_compat::append_json_number_member(out, "ModifyIndex", modified.value);
  out += '}';
}

void append_end(std::string& out, const content_hash& hash, log_index created, log_index modified) {
  go_compat::append_json_member(out, "Hash", hash.base64());
  append_indexes(out, created, modified);
}

/// Omitted if empty, like all lists here.
template <class Record>
void append_list(std::string& out, std::string_view name, const std::vector<Record>& list) {
  if (list.empty())
    return;
  go_compat::append_json_name(out, name);
  char lead = '[';
  for (const auto& each : list) {
    out += lead;
    lead = ',';
    append_object(out, each);
  }
  out += ']';
}

void append_policy(std::string& out, const state::acl_policy& p, acl_shape shape) {
  using namespace go_compat;
  out += '{';
  append_json_member(out, "ID", p.id);
  append_json_member(out, "Name", p.name);
  append_json_member(out, "Description", p.description);
  if (shape == acl_shape::whole)
    append_json_member(out, "Rules", p.rules);
  if (const bool any = p.datacenters && !p.datacenters->empty(); any || shape == acl_shape::listed) {
    append_json_name(out, "Datacenters");
    if (any)
      append_json_strings(out, *p.datacenters);
    else
      out += "null";
  }
  content_hash hash;
  hash.add(p.name).add(p.description).add(p.rules).datacenters(p.datacenters);
  append_end(out, hash, p.create_index, p.modify_index);
}

void append_role(std::string& out, const state::acl_role& r, const std::vector<state::acl_link>& policies) {
  using namespace go_compat;
  out += '{';
  append_json_member(out, "ID", r.id);
  append_json_member(out, "Name", r.name);
  append_json_member(out, "Description", r.description);
  append_list(out, "Policies", policies);
  append_list(out, "ServiceIdentities", r.service_identities);
  append_list(out, "NodeIdentities", r.node_identities);
  content_hash hash;
  hash.add(r.name).add(r.description).links(policies).identities(r.service_identities, r.node_identities);
  append_end(out, hash, r.create_index, r.modify_index);
}

/// Appended after members that `out` may have already.
void append_token_members(std::string& out, const state::acl_token& t, const state::acl_row& row, acl_shape shape,
                          bool shows_secrets) {
  using namespace go_compat;
  append_json_member(out, "AccessorID", t.accessor);
  if (shape == acl_shape::whole)
    append_json_member(out, "SecretID", shows_secrets ? std::string_view(t.secret) : "<hidden>");
  append_json_member(out, "Description", t.description);
  append_list(out, "Policies", row.policies);
  append_list(out, "Roles", row.roles);
  append_list(out, "ServiceIdentities", t.service_identities);
  append_list(out, "NodeIdentities", t.node_identities);
  append_json_name(out, "Local");
  append_bool(out, t.local);
  if (t.expiration_time_ns != 0)
    append_json_member(out, "ExpirationTime", format_timestamp(timestamp::of(t.expiration_time_ns)));
  append_json_member(out, "CreateTime", format_timestamp(timestamp::of(t.create_time_ns)));
  content_hash hash;
  hash.add(t.description).add(t.local ? "local" : "global").links(row.policies).links(row.roles);
  hash.identities(t.service_identities, t.node_identities);
  append_end(out, hash, t.create_index, t.modify_index);
}

/// Tokens shown in this form have no rules of their own, and all permissions.
void append_legacy_token(std::string& out, const state::acl_token& t) {
  using namespace go_compat;
  out += '{';
  append_json_member(out, "ID", t.secret);
  append_json_member(out, "Name", t.description);
  append_json_member(out, "Type", "management");
  append_json_member(out, "Rules", "");
  append_indexes(out, t.create_index, t.modify_index);
}

/// Only tokens from before Consul 1.4 have rules of their own, and there are none here.
response no_rules_of_its_own() {
  return error_response(500, "The specified token does not have any rules set");
}

} // namespace

void append_acl_row(std::string& out, const state::acl_row& row, acl_shape shape, bool shows_secrets) {
  if (const auto* policy = std::get_if<state::acl_policy_ptr>(&row.row))
    return append_policy(out, **policy, shape);
  if (const auto* role = std::get_if<state::acl_role_ptr>(&row.row))
    return append_role(out, **role, row.policies);
  const auto& token = *std::get<state::acl_token_ptr>(row.row);
  if (shape == acl_shape::legacy)
    return append_legacy_token(out, token);
  out += '{';
  append_token_members(out, token, row, shape, shows_secrets);
}

bool is_acl_list(const state::query& q) {
  return std::holds_alternative<state::acl_policy_list>(q) || std::holds_alternative<state::acl_role_list>(q) ||
         std::holds_alternative<state::acl_token_list>(q) || std::holds_alternative<state::acl_legacy_list>(q);
}

acl_shape shape_in_list(const state::query& q) {
  return std::holds_alternative<state::acl_legacy_list>(q) ? acl_shape::legacy : acl_shape::listed;
}

bool is_acl_read(const state::query& q) {
  return is_acl_list(q) || std::holds_alternative<state::acl_policy_read>(q) ||
         std::holds_alternative<state::acl_role_read>(q) || std::holds_alternative<state::acl_token_read>(q) ||
         std::holds_alternative<state::acl_token_self>(q);
}

response render_acl_row(const state::query& q, const state::acl_rows& found, const render_options& options) {
  if (found.list.empty()) {
    if (!std::holds_alternative<state::acl_role_read>(q))
      return refusal_response(std::string(acl_not_found));
    response r; // for roles only
    r.status = 404;
    return r;
  }
  if (options.rules_of_token)
    return no_rules_of_its_own();
  std::string out;
  append_acl_row(out, found.list.front(), acl_shape::whole, found.shows_secrets);
  return json_response(std::move(out), options);
}

response render_acl_written(const state::command& c, const state::acl_row& row, const render_options& options) {
  std::string out;
  const auto* token = std::get_if<state::acl_token_ptr>(&row.row);
  if (token != nullptr && std::holds_alternative<state::acl_bootstrap>(c)) {
    out += '{';
    go_compat::append_json_member(out, "ID", (*token)->secret);
    append_token_members(out, **token, row, acl_shape::whole, true);
  } else {
    append_acl_row(out, row, acl_shape::whole, true);
  }
  return json_response(std::move(out), options);
}

response render_permissions(const state::permissions_read& requested, const state::permissions& answer,
                            const render_options& options) {
  using namespace go_compat;
  if (requested.rules_too)
    return json_response(json_of(token_rules{answer.token != nullptr ? answer.token->accessor : "", answer.rules}),
                         options);
  std::string out = "[";
  for (std::size_t i = 0; i < requested.requested.size() && i < answer.allowed.size(); ++i) {
    const auto question = requested_by(requested.requested[i]);
    out += i == 0 ? "{" : ",{";
    append_json_member(out, "Resource", question.resource);
    if (!question.segment.empty())
      append_json_member(out, "Segment", question.segment);
    append_json_member(out, "Access", question.access);
    append_json_name(out, "Allow");
    append_bool(out, answer.allowed[i]);
    out += '}';
  }
  return json_response(out += ']', options);
}

response render_translation(const local_request& r) {
  auto translated = acl::translate_legacy(std::string_view(r.text));
  if (!translated)
    return error_response(400, "Bad request: " + translated.error());
  return error_response(200, std::move(*translated)); // plain text, like errors
}

} // namespace belay::http
