// Compiles the copies, moves and destructors of this folder's variants, once.

#include "protocol/base/compiled_once_here.hpp"
#include "protocol/state/queries.hpp"

namespace belay {

template struct compiled_once<state::effect::plain>;
template struct compiled_once<state::plain_command::plain>;
template struct compiled_once<state::plain_query::plain>;
template struct compiled_once<state::query_data::plain>;
template struct compiled_once<state::row_value::plain>;

} // namespace belay
