#pragma once
// Checks whether a server would start from the data directory of a stopped one. Changes nothing.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace belay::actors {

struct data_report {
  struct part {
    std::string name;
    bool right = true;
    std::string what; ///< content, or what is wrong with it
  };
  std::vector<part> parts;
  bool starts = false;
  std::string conclusion; ///< one sentence
};

/// Reads identity, checkpoints, log and other files with the code of a start, and applies
/// the log to the checkpoint. @returns a failure if the check is impossible:
/// no data directory, a running server, no permission
result<data_report> check_data(const std::string& data_dir);

} // namespace belay::actors
