#pragma once
// Requests and answers in the words of the story.

#include <belay/world.hpp>

#include <string>

namespace belay {
inline namespace v0 {
namespace sim {

/// As bytes for a server.
std::string bytes_of(const request& q);

/// What somebody who sends it wants, behind his name: "asks for the lock jobs/x".
std::string words_of(const request& q);
/// What came of it, behind his name; empty: nothing worth a line (a session that was renewed).
std::string words_of(const request& q, const answer& a);
/// The ID of the session that was opened with it; empty: none was.
std::string opened_session(const request& q, const answer& a);

} // namespace sim
} // namespace v0
} // namespace belay
