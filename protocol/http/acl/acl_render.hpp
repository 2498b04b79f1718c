#pragma once
// Renders policies, roles, tokens, and permissions (docs/contract/10, section 5).

#include "protocol/http/request.hpp"

namespace belay::http {

/// Lists omit the rules of policies and the secrets of tokens. `legacy`:
/// the form of tokens before Consul 1.4 (docs/contract/10, section 5.5).
enum class acl_shape { whole, listed, legacy };
acl_shape shape_in_list(const state::query& q);
/// Secrets that must not be shown become `<hidden>`.
void append_acl_row(std::string& out, const state::acl_row& row, acl_shape shape, bool shows_secrets);

bool is_acl_list(const state::query& q);
bool is_acl_read(const state::query& q);

/// Renders one row or none: status and body, without the headers of reads.
response render_acl_row(const state::query& q, const state::acl_rows& found, const render_options& options);
/// Renders the response to a command that created or changed the row.
response render_acl_written(const state::command& c, const state::acl_row& row, const render_options& options);
response render_permissions(const state::permissions_read& requested, const state::permissions& answer,
                            const render_options& options);
/// Handles local_kind::translate_rules. Cost is proportional to the text: check permission first.
response render_translation(const local_request& r);

} // namespace belay::http
