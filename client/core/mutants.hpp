#pragma once
// Known bugs of recipes that tests switch on, one at a time, to see that they are found. Never in what is shipped: they are
// there in builds with BELAY_SIMULATION_HOOKS only. (Those of the server are in protocol/base/mutants.hpp; the server's
// simulator looks for them.)

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
