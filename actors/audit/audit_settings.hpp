#pragma once
// Settings of the audit log.

#include "actors/audit/rotated_file.hpp"

namespace belay::actors {

struct audit_settings {
  rotation_rules file;
  /// delivery_guarantee: no answer is sent before its line is written. Otherwise lost lines are
  /// counted.
  bool enforced = false;
};

} // namespace belay::actors
