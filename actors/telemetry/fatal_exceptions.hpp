#pragma once
// An exception that nobody expected ends the node, and the log says whose it was. CAF would end the actor only: the others would go on
// without it, and the node would look healthy (docs/pitfalls.md F12).

#include "actors/surroundings.hpp"

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace belay::actors {

/// What the exception says of itself, or that it says nothing. @pre `e` holds one
std::string text_of(const std::exception_ptr& e);

bool is_ended_for_test(const std::exception_ptr& e);

/// Logs that `who` ended by an exception, and with which text.
void log_fatal_exception(std::string_view who, const std::exception_ptr& e);

/// From now on an exception that leaves a handler of `self` ends its node. Called in the constructor of every actor of a node; `name` is
/// what the log calls it, a literal.
inline void end_node_by_exceptions_of(caf::scheduled_actor& self, wiring_ptr wires, const char* name) {
  self.set_exception_handler([wires = std::move(wires), name](std::exception_ptr& e) -> caf::error {
    if (is_ended_for_test(e))
      return caf::exit_reason::unhandled_exception;
    log_fatal_exception(name, e);
    fail_stop(*wires);
  });
}

/// For exceptions outside of handlers (callbacks of sockets and timers, threads of libraries): before the process aborts, the log is told
/// of them. In force for the whole process.
void log_uncaught_exceptions();

} // namespace belay::actors
