#pragma once
// Describes requests and responses in words, for the story.

#include <belay/environment.hpp>

#include <string>

namespace belay {
inline namespace v0 {
namespace sim {

/// The bytes to send to a server.
std::string bytes_of(const request& q);

/// What the request is for, to follow a process's name: "asks for the lock jobs/x".
std::string words_of(const request& q);
/// What the response means, after a process's name; empty: not worth a line (a renewal).
std::string words_of(const request& q, const answer& a);
/// The ID of the session that was created; empty: none was.
std::string opened_session(const request& q, const answer& a);

} // namespace sim
} // namespace v0
} // namespace belay
