#pragma once
// The stored inputs of a subject (corpus/SUBJECT), and how tests use them.

#include "protocol/base/random.hpp"
#include "tests/fuzz/property.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace belay::fuzz {

using corpus = std::map<std::string, std::string>; ///< contents by name of the file

/// All stored inputs of the subject; the test fails if there are none.
corpus read_corpus(const std::string& subject);

/// Checks that each sample is stored as it is here: this program writes today what it wrote then.
/// With BELAY_CORPUS_DIR in the environment it writes them below that folder instead.
void check_stored(const std::string& subject, const corpus& samples);

/// Bytes of the input in a form for a C++ string.
std::string printable(const std::string& input);

/// Changes some bytes of `input`, from the second one on: the first says what the others are.
/// `other` is a second input that may be spliced in.
void mutate_bytes(std::string& input, const std::string& other, seeded_random& random);

/// Runs the subject; a broken property fails the test and shows the input.
template <class Fuzz>
auto run_input(Fuzz fuzz, const std::string& input) {
  try {
    return fuzz(std::string_view(input));
  } catch (const property_broken& broken) {
    FAIL(broken.what() << "\ninput (" << input.size() << " bytes): \"" << printable(input) << "\"");
    throw;
  }
}

} // namespace belay::fuzz
