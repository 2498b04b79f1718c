#include <belay/sim.hpp>

int main(int argc, char** argv) {
  return belay::sim::run_program(argc, argv);
}
