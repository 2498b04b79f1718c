#include "protocol/wire/operator_codec.hpp"

#include "protocol/base/overloaded.hpp"

#include <charconv>

namespace belay::wire {

namespace {

using forward::add_member;
using forward::agent_received;
using forward::call_kind;
using forward::describe_health;
using forward::force_leave;
using forward::let_leave;
using forward::remove_member;

constexpr std::string_view added = "add ";
constexpr std::string_view added_by_id = "add id ";
constexpr std::string_view leaving = "leave ";
constexpr std::string_view forced_out = "force-leave ";

constexpr std::string_view agent_is_there = "agent there ";
constexpr std::string_view agent_leaves = "agent leaves ";
/// With a proof that it may act for the node (client_address_level).
constexpr std::string_view proving_agent_is_there = "proving agent there ";
constexpr std::string_view proving_agent_leaves = "proving agent leaves ";
constexpr std::string_view no_proof = "-", authenticated_word = "authenticated", anybody_word = "anybody";

/// Removes a word and the space after it from the front; empty: there is none.
std::string take_word(std::string_view& bytes) {
  const auto end = bytes.find(' ');
  if (end == std::string_view::npos)
    return {};
  std::string word(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  return word;
}

std::optional<forward::operator_call> decode_agent(std::string_view bytes, bool leaves, bool proves) {
  agent_received a;
  a.leaves = leaves;
  a.uuid = take_word(bytes);
  a.address = take_word(bytes);
  if (proves) {
    a.source = take_word(bytes);
    a.proof = take_word(bytes);
    const auto who = take_word(bytes);
    a.authenticated = who == authenticated_word;
    if (a.source.empty() || a.proof.empty() || (who != authenticated_word && who != anybody_word))
      return std::nullopt;
    if (a.proof == no_proof)
      a.proof.clear();
  }
  a.name = bytes;
  if (a.uuid.empty() || a.address.empty() || a.name.empty())
    return std::nullopt;
  return a;
}

std::string encode_agent(const agent_received& a) {
  if (a.source.empty())
    return std::string(a.leaves ? agent_leaves : agent_is_there) + a.uuid + " " + a.address + " " + a.name;
  std::string out(a.leaves ? proving_agent_leaves : proving_agent_is_there);
  for (const auto word :
       {std::string_view(a.uuid), std::string_view(a.address), std::string_view(a.source),
        a.proof.empty() ? no_proof : std::string_view(a.proof), a.authenticated ? authenticated_word : anybody_word})
    out.append(word).append(" ");
  return out + a.name;
}

std::optional<forward::operator_call> decode_change(std::string_view bytes) {
  if (bytes.starts_with(agent_is_there))
    return decode_agent(bytes.substr(agent_is_there.size()), false, false);
  if (bytes.starts_with(agent_leaves))
    return decode_agent(bytes.substr(agent_leaves.size()), true, false);
  if (bytes.starts_with(proving_agent_is_there))
    return decode_agent(bytes.substr(proving_agent_is_there.size()), false, true);
  if (bytes.starts_with(proving_agent_leaves))
    return decode_agent(bytes.substr(proving_agent_leaves.size()), true, true);
  if (bytes.starts_with(added_by_id))
    return add_member{{}, std::string(bytes.substr(added_by_id.size()))};
  if (bytes.starts_with(added))
    return add_member{std::string(bytes.substr(added.size()))};
  if (bytes.starts_with(leaving))
    return let_leave{std::string(bytes.substr(leaving.size()))};
  if (bytes.starts_with(forced_out))
    return force_leave{std::string(bytes.substr(forced_out.size()))};
  for (const auto by : {remove_member::named_by::id, remove_member::named_by::address}) {
    const auto prefix = std::string(name_of(by)) + " ";
    if (bytes.starts_with(prefix))
      return remove_member{by, std::string(bytes.substr(prefix.size()))};
  }
  return std::nullopt;
}

/// Removes a number and the space after it from the front. @returns false: they are missing
template <class Int>
bool take_number(std::string_view& bytes, Int& out) {
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), out);
  const auto length = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || length == bytes.size() || bytes[length] != ' ')
    return false;
  bytes.remove_prefix(length + 1);
  return true;
}

std::optional<describe_health> decode_rules(std::string_view bytes) {
  describe_health d;
  if (!take_number(bytes, d.last_contact_threshold_ns) || !take_number(bytes, d.max_trailing_logs) ||
      bytes.find(' ') != std::string_view::npos)
    return std::nullopt;
  d.version = bytes;
  return d;
}

} // namespace

std::string encode_operator_call(const forward::operator_call& c) {
  return std::visit(overloaded{
                        [](const add_member& a) {
                          return a.id.empty() ? std::string(added) + a.address : std::string(added_by_id) + a.id;
                        },
                        [](const agent_received& a) { return encode_agent(a); },
                        [](const let_leave& l) { return std::string(leaving) + l.id; },
                        [](const force_leave& f) { return std::string(forced_out) + f.name; },
                        [](const remove_member& r) { return name_of(r.by) + (" " + r.name); },
                        [](const describe_health& d) {
                          return std::to_string(d.last_contact_threshold_ns) + " " +
                                 std::to_string(d.max_trailing_logs) + " " + d.version;
                        },
                    },
                    c);
}

std::optional<forward::operator_call> decode_operator_call(call_kind kind, std::string_view bytes) {
  if (kind == call_kind::remove_member)
    return decode_change(bytes);
  if (kind == call_kind::describe_health)
    return decode_rules(bytes);
  return std::nullopt;
}

std::optional<std::string> without_proof_of_agent(std::string_view bytes) {
  auto c = decode_change(bytes);
  auto* received = c ? std::get_if<agent_received>(&*c) : nullptr;
  if (received == nullptr || received->source.empty())
    return std::nullopt;
  received->source.clear();
  return encode_agent(*received);
}

} // namespace belay::wire
