#pragma once
// What is in the data directory of a stopped server, and whether a server would start from it. Changes nothing.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace belay::actors {

struct data_report {
  struct part {
    std::string name;
    bool right = true;
    std::string what; ///< found there, or what is wrong with it
  };
  std::vector<part> parts;
  bool starts = false;
  std::string verdict; ///< one sentence
};

/// Reads identity, checkpoints, log and the files beside them with the code that a start uses, and applies the log to the
/// checkpoint.
/// @returns a failure if nothing could be looked at: there is no data directory, a server runs on it, no permission
result<data_report> check_data(const std::string& data_dir);

} // namespace belay::actors
