// The program of one subject, BELAY_FUZZ_SUBJECT being its function.

#include "tests/fuzz/subjects.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)belay::fuzz::BELAY_FUZZ_SUBJECT({reinterpret_cast<const char*>(data), size});
  return 0;
}
