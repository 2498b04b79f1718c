#pragma once
// Keeps two types apart: the server and the client library share the namespace `belay`, and both
// have a `result` and a `status` in it. A file that includes headers of the library includes this
// one first. In the server's modules and in the program, the plain names then mean the server's
// types; v0::result is the library's. Remove this when the server has a root namespace of its own
// (docs/internals/adr/0032).

#include "protocol/base/result.hpp"

namespace belay::acl {
using belay::result, belay::status;
}
namespace belay::actors {
using belay::result, belay::status;
}
namespace belay::agent {
using belay::result, belay::status;
}
namespace belay::archive {
using belay::result, belay::status;
}
namespace belay::cli {
using belay::result, belay::status;
}
namespace belay::filter {
using belay::result, belay::status;
}
namespace belay::go_compat {
using belay::result, belay::status;
}
namespace belay::hcl {
using belay::result, belay::status;
}
namespace belay::http {
using belay::result, belay::status;
}
namespace belay::raft {
using belay::result, belay::status;
}
namespace belay::state {
using belay::result, belay::status;
}
namespace belay::storage {
using belay::result, belay::status;
}
namespace belay::tls {
using belay::result, belay::status;
}
namespace belay::wire {
using belay::result, belay::status;
}
