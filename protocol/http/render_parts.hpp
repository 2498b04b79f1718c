#pragma once
// Rows as JSON, appended to a string: parts that responses of
// several areas share (docs/contract/03, 04, 05, 07 and 08).

#include "protocol/go_compat/json_output.hpp"
#include "protocol/http/render.hpp"

namespace belay::http {

/// `with_value` false: Value is null (results of transactions).
void append_kv_entry(std::string& out, const state::kv_entry& e, bool with_value);
void append_session(std::string& out, const state::session_record& s);
void append_node(std::string& out, const state::node_record& n);
/// How absent tags are shown: `[]` by catalog and health, null by transactions.
enum class absent_tags { empty, null };
void append_service(std::string& out, const state::service_record& s, absent_tags tags);
/// Writes a service as the agent shows its own (docs/contract/09). `hash` empty: omitted.
void append_agent_service(std::string& out, const state::service_record& s, std::string_view hash);
void append_check(std::string& out, const state::check_record& c, absent_tags tags);
/// Writes a check as the agent shows it in a service's health: without a type, and with an empty
/// definition.
void append_agent_health_check(std::string& out, const state::check_record& c);
/// One row of /v1/catalog/service: the node's members, followed by the service's.
void append_service_node(std::string& out, const state::node_record& n, const state::service_record& s);
/// The response to a transaction: 200, or 409 if it failed. `meta` not null: it only reads.
response render_txn(const state::txn_reply& r, const read_meta* meta, const render_options& options);
/// The same without the body.
/// @param done it did not fail
response render_txn_head(bool done, const read_meta* meta);

} // namespace belay::http
