#pragma once
// By which names a server may be called. A page of another origin reaches a server that is not open to its author by DNS rebinding: its
// own name is resolved a second time, to 127.0.0.1, and the browser takes that for the same origin. The Host header still has the name.

#include "protocol/http/request.hpp"

#include <string_view>

namespace belay::http {

/// Whether the name in the Host header is one that `s.allowed_hosts` allows. IP addresses, `localhost`, the name of the node, requests
/// without a host and those through Unix sockets always are.
bool may_call_by_host(const raw_request& r, const route_settings& s);

/// The 403 for one that may not; it names the setting.
response refuse_host(const raw_request& r);

/// Whether a browser says that a page of another origin makes the request: Sec-Fetch-Site is neither `same-origin` nor `none`, or the host
/// and port of Origin are neither those of the request nor a name that `s.allowed_hosts` lists (W3C Fetch Metadata; RFC 6454). Requests
/// with neither header are no browser's. Such a page can send some requests without asking first (a form's POST), and does not need the
/// answer to do harm.
bool comes_from_another_site(const raw_request& r, const route_settings& s);

/// The 403 for one that changes something.
response refuse_site();

} // namespace belay::http
