#pragma once
// `belay watch -changes`: delivers each change of the keys under a prefix, once and in order
// (docs/reference/changes.md).

#include "cli/flags/options.hpp"

#include <functional>
#include <string>

namespace belay::cli {

int follow_changes(const options& o, terminal t);
/// With -group: the members of a group work on changes, and retry each that fails.
int work_for_group(const options& o, terminal t);

/// A callback for command_environment::on_trouble().
std::function<void(const std::string& why)> complaints_of_watch(terminal t);

} // namespace belay::cli
