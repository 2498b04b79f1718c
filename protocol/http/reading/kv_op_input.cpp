#include "protocol/http/reading/kv_op_input.hpp"

namespace belay::http {

kv_op_input decode_kv_op(go_compat::json_decoder& d, const boost::json::value& v, std::string_view owner,
                         std::string_view what) {
  kv_op_input in;
  in.op.value = make_payload({});
  std::string ignored;
  const auto name_fence = [&](const boost::json::value& each, std::string_view member, state::claim_space space) {
    d.text(each, {owner, member}, in.fence.of.name);
    in.fence.of.space = space;
    ++in.fence_names;
  };
  d.object(v, what, [&](const std::string& name, const boost::json::value& each) {
    if (name == "verb")
      d.text(each, {owner, "Verb"}, in.verb);
    else if (name == "value") {
      std::string bytes;
      d.bytes(each, {owner, "Value"}, bytes);
      in.op.value = make_payload(bytes);
    } else if (name == "namespace")
      d.text(each, {owner, "Namespace"}, ignored);
    else if (name == "fence")
      d.unsigned_integer(each, {owner, "Fence"}, in.fence.fence);
    else if (name == "add") {
      d.integer(each, {owner, "Add"}, in.op.amount);
      in.amount_given = in.adds = true;
    } else if (name == "min") {
      d.integer(each, {owner, "Min"}, in.op.min.emplace());
      in.adds = true;
    } else if (name == "max") {
      d.integer(each, {owner, "Max"}, in.op.max.emplace());
      in.adds = true;
    } else if (name == "claim")
      name_fence(each, "Claim", state::claim_space::claims);
    else if (name == "lock")
      name_fence(each, "Lock", state::claim_space::keys);
    else
      return decode_member(name, in.op, member_input{d, each, owner});
    return true;
  });
  return in;
}

} // namespace belay::http
