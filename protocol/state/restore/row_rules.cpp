#include "protocol/state/restore/row_rules.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/state/acl/acl_table.hpp"
#include "protocol/state/acl/acl_validation.hpp"
#include "protocol/state/catalog/catalog_rules.hpp"
#include "protocol/state/claims/asking.hpp"
#include "protocol/state/claims/session_claims.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace belay::state {

namespace {

using complaint = std::optional<std::string>;

// docs/contract/04, section 2.1. The minimum TTL is a setting: the archive's may have differed.
constexpr std::int64_t session_ttl_max_ns = 24LL * 60 * 60 * 1'000'000'000;

/// Whether it can be written into responses as it is.
bool is_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64; // as for requests (protocol/go_compat/json_input.cpp), which it came from
  boost::system::error_code wrong;
  (void)boost::json::parse({text.data(), text.size()}, wrong, {}, options);
  return !wrong;
}

complaint wrong_with(const kv_entry& e) {
  if (e.key.empty())
    return "has no key";
  if (e.value && e.value->size() > value_bytes_max)
    return "has a value of more than " + std::to_string(value_bytes_max) + " bytes";
  if (!e.session.empty() && !is_uuid(e.session))
    return "is held by a session whose ID is no UUID";
  return std::nullopt;
}

complaint wrong_with(const session_record& s) {
  if (!is_uuid(s.id))
    return "has an ID that is no UUID";
  if (s.node.empty())
    return "has no node";
  if (s.ttl_ns < 0 || s.ttl_ns > session_ttl_max_ns)
    return "has a TTL below zero or of more than 24 hours";
  if (auto why = wrong_with(session_begin{s, s.ttl_mode, s.on_end}))
    return "is none that could be made: " + why->text;
  return std::nullopt;
}

complaint wrong_with(const node_record& n) {
  if (n.node.empty())
    return "has no name";
  if (!n.id.empty() && n.id.size() != uuid_characters)
    return "has an ID that is no UUID";
  return std::nullopt;
}

complaint wrong_with(const service_record& s) {
  if (s.node.empty() || s.service.empty())
    return "has no node or no name";
  if (s.id.empty())
    return "has no ID";
  if (service_error(s))
    return "has an address that is none";
  if ((!s.proxy_json.empty() && !is_json(s.proxy_json)) || (!s.connect_json.empty() && !is_json(s.connect_json)))
    return "has a proxy or connect section that is no JSON";
  return std::nullopt;
}

complaint wrong_with(const check_record& c) {
  if (c.node.empty())
    return "has no node";
  if (!is_json(c.definition_json))
    return "has a definition that is no JSON";
  if (c.check_id.empty())
    return "has no CheckID";
  if (c.status.empty())
    return "has no status";
  return std::nullopt;
}

bool are_ids(const std::vector<std::string>& ids) {
  return std::all_of(ids.begin(), ids.end(), [](const std::string& id) { return is_uuid(id) && folded(id) == id; });
}

complaint wrong_with(const acl_policy& p) {
  if (!are_ids({p.id}))
    return "has an ID that is no UUID";
  if (auto why = policy_error(p))
    return "is none that could be made: " + *why;
  return std::nullopt;
}

complaint wrong_with(const acl_role& r) {
  if (!are_ids({r.id}) || !are_ids(r.policies))
    return "has an ID that is no UUID";
  if (auto why = role_error(r))
    return "is none that could be made: " + *why;
  return std::nullopt;
}

complaint wrong_with(const acl_token& k) {
  if (!is_uuid(k.accessor) || !are_ids(k.policies) || !are_ids(k.roles))
    return "has an ID that is no UUID";
  if (k.secret.empty() || is_reserved_secret(k.secret))
    return "has a secret that names no token";
  if ((k.accessor == anonymous_accessor) != (k.secret == anonymous_secret))
    return "has the accessor or the secret of the anonymous token";
  if (k.expires.is_zero() != (k.expiration_time_ns == 0))
    return "expires and does not expire";
  if (auto why = identities_error(k))
    return "is none that could be made: " + *why;
  return std::nullopt;
}

bool is_permits(std::uint64_t n) {
  return n >= 1 && n <= claim_permits_max;
}

complaint wrong_with(const claim_record& c) {
  if (c.of.name.empty())
    return "has no name";
  if (!is_uuid(c.session) || folded(c.session) != c.session)
    return "is of a session whose ID is no UUID";
  if (!is_claim_id(c.id) || (c.of.space == claim_space::keys && (c.id != c.session || c.state != claim_state::waiting)))
    return "has an ID that is none";
  if (!is_permits(c.permits) || c.priority > claim_priority_max)
    return "has permits or a priority that nobody can ask for";
  if (c.value->size() > claim_value_bytes_max)
    return "has a value of more than " + std::to_string(claim_value_bytes_max) + " bytes";
  return std::nullopt;
}

complaint wrong_with(const claim_resource& r) {
  if (r.of.name.empty())
    return "has no name";
  if (r.kind == claim_kind::semaphore && !is_permits(r.limit))
    return "has a limit that nobody can set";
  return std::nullopt;
}

complaint wrong_with(const claim_ghost& g) {
  if (g.of.name.empty() || !is_permits(g.permits))
    return "has no name, or permits that nobody can ask for";
  return std::nullopt;
}

complaint wrong_with(const claim_end_record& e) {
  if (e.of.name.empty() || !is_claim_id(e.id))
    return "has no name, or an ID that is none";
  return std::nullopt;
}

complaint wrong_with(const guard_record& g) {
  if (g.prefix.empty() || g.by.name.empty())
    return "has no prefix, or is by nothing";
  return std::nullopt;
}

complaint wrong_with(const ended_session& s) {
  if (!is_uuid(s.id) || folded(s.id) != s.id)
    return "has an ID that is no UUID";
  if (s.released.size() > ended_session_names_max)
    return "names more than a session is shown with";
  return std::nullopt;
}

complaint wrong_with(const outcome_record& o) {
  if (!is_once_key(o.id) || !(o.scope.empty() || is_uuid(o.scope)))
    return "has a key or an accessor that is none";
  return std::nullopt;
}

/// Tables with only numbers, which a restore limits to their ranges, and settings.
template <class Record>
complaint wrong_with(const Record&) {
  return std::nullopt;
}

} // namespace

std::optional<std::string> complaint_of(const dirty_row& row) {
  return std::visit(overloaded{[](std::monostate) { return complaint("is empty"); },
                               [](const auto& each) { return wrong_with(record_of(each)); }},
                    row.row);
}

bool known_services::admits(const dirty_row& row) {
  if (const auto* service = std::get_if<service_ptr>(&row.row))
    keys_.insert(row_key((*service)->node, (*service)->id));
  const auto* check = std::get_if<check_ptr>(&row.row);
  return check == nullptr || (*check)->service_id.empty() ||
         keys_.contains(row_key((*check)->node, (*check)->service_id));
}

} // namespace belay::state
