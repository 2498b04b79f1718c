#pragma once
// An unexpected exception ends the node, and the log names the actor. CAF would end only the actor:
// the others would continue without it, and the node would look healthy (docs/internals/pitfalls.md F12).

#include "actors/actor_context.hpp"

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace belay::actors {

/// Text of the exception, or a remark that it has none. @pre `e` holds one
std::string text_of(const std::exception_ptr& e);

bool is_ended_for_test(const std::exception_ptr& e);

/// Logs that an exception ended `who`, with its text.
void log_fatal_exception(std::string_view who, const std::exception_ptr& e);

/// From now on an exception that leaves a handler of `self` ends its node. Every actor of a node
/// calls this in its constructor; `name` is its name in the log, a literal.
inline void end_node_by_exceptions_of(caf::scheduled_actor& self, node_actors_ptr node_actors, const char* name) {
  self.set_exception_handler([node_actors = std::move(node_actors), name](std::exception_ptr& e) -> caf::error {
    if (is_ended_for_test(e))
      return caf::exit_reason::unhandled_exception;
    log_fatal_exception(name, e);
    fail_stop(*node_actors);
  });
}

/// Logs exceptions outside of handlers (callbacks of sockets and timers, threads of libraries)
/// before the process aborts. Applies to the whole process.
void log_uncaught_exceptions();

} // namespace belay::actors
