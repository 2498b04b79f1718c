#pragma once
// What a configuration says of the audit log.

#include "actors/audit/rotated_file.hpp"

namespace belay::actors {

struct audit_settings {
  rotation_rules file;
  /// delivery_guarantee: nothing is answered that is not in the file. Else what cannot be written is counted, and left out.
  bool enforced = false;
};

} // namespace belay::actors
