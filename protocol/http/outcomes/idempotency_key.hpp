#pragma once
// The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header; docs/reference/exactly-once.md).

#include "protocol/http/request_context.hpp"

namespace belay::http {

/// If the header is present and it is not a read: takes effect once, or is rejected if it cannot.
void make_idempotent(const request_context& c, action& a);

} // namespace belay::http
