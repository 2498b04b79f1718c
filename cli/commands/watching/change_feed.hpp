#pragma once
// `belay watch -changes`: each change of the keys below a prefix, once and in order (docs/reference/changes.md).

#include "cli/flags/options.hpp"

#include <functional>
#include <string>

namespace belay::cli {

int follow_changes(const options& o, terminal t);
/// With -group: changes are worked through by its members, each until the command did not fail.
int work_for_group(const options& o, terminal t);

/// What command_world::on_trouble() takes.
std::function<void(const std::string& why)> complaints_of_watch(terminal t);

} // namespace belay::cli
