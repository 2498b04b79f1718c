#pragma once
// Decodes an operation on a key from JSON: of a transaction, or of a session's OnEnd.

#include "protocol/http/record_input.hpp"

namespace belay::http {

/// The members of one operation. Its verb is a text: not every verb is one of a key.
struct kv_op_input {
  state::kv_op op; ///< `verb` is not set
  std::string verb;
  state::fence_ref fence; ///< for the verb `check-fence`
  int fence_names = 0;    ///< how many of `Claim` and `Lock` were given
  bool adds = false;      ///< `Add`, `Min` or `Max` was given

  bool names_fence() const { return fence_names != 0 || fence.fence != 0; }
  /// The error in the members of the verb `add`; empty: none.
  std::string_view wrong_sum() const {
    if (verb == "add" && !amount_given)
      return "add requires Add";
    return adds && verb != "add" ? "Add, Min and Max are members of add only" : "";
  }
  bool amount_given = false;
};

/// @param owner of the members, for error texts
/// @param what completes "json: cannot unmarshal string into Go "
kv_op_input decode_kv_op(go_compat::json_decoder& d, const boost::json::value& v, std::string_view owner,
                         std::string_view what);

} // namespace belay::http
