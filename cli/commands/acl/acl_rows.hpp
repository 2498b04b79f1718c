#pragma once
// Prints policies, roles and tokens as Consul's command line does, and turns flags into the JSON
// that the API takes.

#include "cli/flags/options.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>

namespace belay::cli {

/// Rows end with a line break and leave out empty lists of links.
std::string policy_text(const boost::json::value& policy, bool meta);
std::string policy_list_text(const options& o, const boost::json::value& policies);
std::string role_text(const boost::json::value& role, bool meta);
std::string role_list_text(const options& o, const boost::json::value& roles);
/// @param listed as one of many: without its secret
std::string token_text(const boost::json::value& token, bool meta, bool listed);
std::string token_list_text(const options& o, const boost::json::value& tokens);

/// Adds what -policy-id, -policy-name, -role-id, -role-name, -service-identity and -node-identity
/// name to the lists of `row`, unless it is there already. The command need not have all of these
/// flags. IDs may be shortened to a prefix.
/// @returns what is wrong, in the words of Consul
status add_links(const options& o, const api_client& client, boost::json::object& row);
/// Whether none of those flags was given.
bool no_links(const options& o);

enum class acl_kind { policy, role, token };

/// The ID that begins with `beginning`. The failure reads `No such policy ID with prefix: x`.
result<std::string> id_of(const options& o, const api_client& client, acl_kind kind, const std::string& beginning);
/// The ID of the policy or role with this name.
result<std::string> id_named(const options& o, const api_client& client, acl_kind kind, const std::string& name);

/// Sends `row` to `path` and prints the response, or an error that begins with `failed`.
int write_row(const options& o, terminal t, const api_client& client, const std::string& path,
              const boost::json::object& row, const std::string& failed,
              std::string (*text)(const boost::json::value&, bool));

} // namespace belay::cli
