#include "protocol/agent/requests.hpp"

#include "protocol/base/compiled_once_here.hpp"

template struct belay::compiled_once<belay::agent::request::plain>;
