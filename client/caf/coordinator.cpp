#include <belay/caf/coordinator.hpp>

#include "client/caf/coordinator_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/message.hpp>

#include <utility>

namespace belay {
inline namespace v0 {
namespace caf {

namespace {

constexpr auto category = ::caf::atom("belay");
constexpr std::uint8_t unknown_bit = 0x80;

reason reason_of(std::uint8_t code) {
  auto n = code & ~unknown_bit;
  auto last = static_cast<int>(reason::closed);
  return n >= 1 && n <= last + 1 ? static_cast<reason>(n - 1) : reason::none;
}

outcome outcome_of(std::uint8_t code) {
  return code & unknown_bit ? outcome::unknown : outcome::refused;
}

std::string text_in(const ::caf::message& context) {
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string();
}

/// Destroys the transport on a thread of its own: the destructor waits for the transport's thread,
/// and no worker of CAF may block.
void destroy_on_own_thread(::caf::actor_system& system, transport* over) {
  system.spawn<::caf::detached>([over](::caf::event_based_actor*) { delete over; });
}

} // namespace

::caf::error error_to_send(const error& why) {
  // CAF treats zero as no error.
  auto code = static_cast<std::uint8_t>(static_cast<std::uint8_t>(why.reason()) + 1);
  if (why.outcome() == outcome::unknown)
    code |= unknown_bit;
  return ::caf::error(code, category, ::caf::make_message(why.text()));
}

error error_of(const ::caf::error& e) {
  if (e.category() != category)
    return error(outcome::unknown, reason::no_answer, ::caf::to_string(e));
  return error(outcome_of(e.code()), reason_of(e.code()), text_in(e.context()));
}

std::string text_of_error(std::uint8_t code, ::caf::atom_value, const ::caf::message& context) {
  std::string out = outcome_of(code) == outcome::unknown ? "unknown" : "refused";
  return out + " (" + std::string(name_of(reason_of(code))) + "): " + text_in(context);
}

coordinator_actor coordinator(::caf::actor_system& system, const client_options& options, coordinator_options more) {
  if (!more.over) {
    auto made = socket_transport(options);
    more.over =
        std::shared_ptr<transport>(made.release(), [&system](transport* over) { destroy_on_own_thread(system, over); });
  }
  return system.spawn<detail::coordinator_state>(options, std::move(more));
}

} // namespace caf
} // namespace v0
} // namespace belay
