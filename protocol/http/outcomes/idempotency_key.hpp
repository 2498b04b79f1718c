#pragma once
// The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header; docs/exactly-once.md).

#include "protocol/http/request_context.hpp"

namespace belay::http {

/// For a request that brings the header and is no read: its write takes effect once, or it is refused because it is none that can.
void make_idempotent(const request_context& c, action& a);

} // namespace belay::http
