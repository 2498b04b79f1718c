#pragma once
// Names by which a server may be addressed. DNS rebinding lets a foreign page reach a server that
// its author cannot. The name of the page then resolves to 127.0.0.1, so the origin is the same.

#include "protocol/http/request.hpp"

#include <string_view>

namespace belay::http {

/// Whether `s.allowed_hosts` allows the name in the Host header. IP addresses, `localhost`,
/// the node's name, requests without a host and those through Unix sockets are always allowed.
bool may_call_by_host(const raw_request& r, const route_settings& s);

/// The 403 for a name that is not allowed; it names the setting.
response refuse_host(const raw_request& r);

/// Whether a page of another origin sent the request, by a browser's headers: Sec-Fetch-Site is
/// neither `same-origin` nor `none`, or Origin's host and port are neither the request's nor in
/// `s.allowed_hosts` (W3C Fetch Metadata; RFC 6454). Requests without these are not a browser's.
/// Such a page can send some requests (a form's POST) without preflight, and needs no response.
bool comes_from_another_site(const raw_request& r, const route_settings& s);

/// The 403 for a request that changes something.
response refuse_site();

} // namespace belay::http
