#pragma once
// The bytes of operators' calls. They are texts, for a reason of history, and stay so: nodes of two versions call each
// other while a cluster is upgraded.
//
//   remove_member    "id " or "address ", then the name of the server up to the end
//   add_member       "add ", then host:port, or "add id ", then the node ID; a call of the kind remove_member, which a leader of
//                    an earlier version refuses as unreadable (the second form as no host:port), while an unknown kind would
//                    end the connection
//   let_leave        "leave ", then the node ID; of the kind remove_member for the same reason
//   force_leave      "force-leave ", then the name; likewise
//   agent_heard      "agent there " or "agent leaves ", then node ID | " " | address | " " | name; likewise. With what it proves (of
//                    client_address_level): "proving agent there " or "proving agent leaves ", then node ID | " " | address | " " | source | " " |
//                    proof or "-" | " " | "authenticated" or "anybody" | " " | name
//   describe_health  LastContactThreshold in ns | " " | MaxTrailingLogs | " " | version; numbers in decimal

#include "protocol/forward/messages.hpp"
#include "protocol/forward/operator_calls.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// For a call of the kind with the same name.
std::string encode_operator_call(const forward::operator_call& c);

/// nullopt: malformed, or operators' calls are of another kind.
std::optional<forward::operator_call> decode_operator_call(forward::call_kind kind, std::string_view bytes);

/// Of an agent_heard: as servers below client_address_level know it. nullopt: another call, or it is that already.
std::optional<std::string> without_proof_of_agent(std::string_view bytes);

} // namespace belay::wire
