#pragma once
// Known bugs of recipes that tests switch on, one at a time, to check that they are found. They
// exist only in builds with BELAY_SIMULATION_HOOKS, never in releases. (The server's mutants are in
// protocol/base/mutants.hpp; its simulator finds those.)

#include <string_view>

namespace belay {
inline namespace v0 {
namespace detail {

#ifdef BELAY_SIMULATION_HOOKS
inline std::string_view active_client_mutant;
#define CLIENT_MUTANT(name) (::belay::v0::detail::active_client_mutant == #name)
#else
#define CLIENT_MUTANT(name) false
#endif

} // namespace detail
} // namespace v0
} // namespace belay
