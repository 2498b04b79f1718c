#pragma once
// Policies, roles and tokens as clients see them, and answers about permissions (docs/contract/10, section 5).

#include "protocol/http/request.hpp"

namespace belay::http {

/// Lists leave out the rules of policies and the secrets of tokens. `legacy` is that of tokens before Consul 1.4 (docs/contract/10,
/// section 5.5).
enum class acl_shape { whole, listed, legacy };
acl_shape shape_in_list(const state::query& q);
/// Secrets that are not to be shown are `<hidden>`.
void append_acl_row(std::string& out, const state::acl_row& row, acl_shape shape, bool shows_secrets);

bool is_acl_list(const state::query& q);
bool is_acl_read(const state::query& q);

/// Of one row, or none: status and body, without the headers of reads.
response render_acl_row(const state::query& q, const state::acl_rows& found, const render_options& options);
/// Of a command that made or changed the row.
response render_acl_written(const state::command& c, const state::acl_row& row, const render_options& options);
response render_permissions(const state::permissions_read& asked, const state::permissions& answer,
                            const render_options& options);
/// Answers local_kind::translate_rules. Costs time in proportion to the text: only for whoever has the permission.
response render_translation(const local_request& r);

} // namespace belay::http
