#include "protocol/base/mutants.hpp"
#include "sim/clients/operation_kinds.hpp"
#include "sim/program/process_setup.hpp"
#include "sim/program/program.hpp"

#include <iostream>
#include <thread>
#include <unistd.h>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  belay::sim::set_up_process();

  belay::sim::program_parts parts{
      .name = argv[0],
      .run = belay::sim::run,
      .profile_named = belay::sim::profile_named,
      .names = {.profiles = belay::sim::profile_names(), .mutants = {}},
      .activate_mutant = [](const std::string& name) { return belay::activate_mutant(name); },
      .processors = std::thread::hardware_concurrency(),
      .interactive = ::isatty(2) == 1,
      .stop = belay::sim::interrupted,
      .out = std::cout,
      .err = std::cerr};
  for (const auto& kind : belay::sim::operation_kinds())
    parts.names.kinds.push_back(kind.name);
  for (const auto name : belay::mutant_names())
    parts.names.mutants.emplace_back(name);
  return belay::sim::run_program({argv + 1, argv + argc}, parts);
}
