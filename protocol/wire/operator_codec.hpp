#pragma once
// Encoding of operators' calls: texts, for historical reasons. It must not
// change, because nodes of two versions call each other during an upgrade.
//
//   remove_member    "id " or "address ", then the name of the server, to the end
//   add_member       "add " host:port, or "add id " node ID; of the kind remove_member, which an
// older
//                    leader rejects as unreadable (the second form as not a host:port), whereas an
//                    unknown kind would end the connection
//   let_leave        "leave " node ID; of the kind remove_member for the same reason
//   force_leave      "force-leave " name; likewise
//   agent_received      "agent there " or "agent leaves ", node ID | " " | address | " " | name;
// likewise
//                    client_address_level: "proving agent there " or "proving agent leaves ", node
// ID | " " |
//                    address | " " | source | " " | proof or "-" | " " | "authenticated" or
// "anybody" | " " | name
//   describe_health  LastContactThreshold in ns | " " | MaxTrailingLogs | " " | version; numbers in
// decimal

#include "protocol/forward/messages.hpp"
#include "protocol/forward/operator_calls.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// Encodes a call of the kind with the same name.
std::string encode_operator_call(const forward::operator_call& c);

/// nullopt: malformed, or not an operator's call.
std::optional<forward::operator_call> decode_operator_call(forward::call_kind kind, std::string_view bytes);

/// An agent_received for servers below client_address_level. nullopt: another call, or unchanged.
std::optional<std::string> without_proof_of_agent(std::string_view bytes);

} // namespace belay::wire
