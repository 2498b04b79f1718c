#include "tests/fuzz/corpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace belay::fuzz {

namespace {

const std::filesystem::path folder = std::filesystem::path(BELAY_SOURCE_DIR) / "tests" / "fuzz" / "corpus";

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

corpus read_corpus(const std::string& subject) {
  corpus all;
  for (const auto& f : std::filesystem::directory_iterator(folder / subject))
    all[f.path().filename().string()] = read_file(f.path());
  INFO("tests/fuzz/corpus/" << subject << ": a test of no inputs shows nothing");
  REQUIRE_FALSE(all.empty());
  return all;
}

void check_stored(const std::string& subject, const corpus& samples) {
  const char* write_to = std::getenv("BELAY_CORPUS_DIR");
  for (const auto& [name, bytes] : samples) {
    if (write_to != nullptr) {
      const auto into = std::filesystem::path(write_to) / subject;
      std::filesystem::create_directories(into);
      std::ofstream(into / name, std::ios::binary) << bytes;
      continue;
    }
    INFO(subject << "/" << name);
    CHECK(printable(read_file(folder / subject / name)) == printable(bytes));
  }
}

std::string printable(const std::string& input) {
  std::string out;
  for (unsigned char c : input) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c >= 0x20 && c < 0x7F) {
      out += static_cast<char>(c);
      continue;
    }
    // Octal: unlike \x it ends after three digits, whatever follows.
    out += '\\';
    for (int shift = 6; shift >= 0; shift -= 3)
      out += static_cast<char>('0' + ((c >> shift) & 7));
  }
  return out;
}

void mutate_bytes(std::string& input, const std::string& other, seeded_random& random) {
  static const std::string edges[] = {std::string(1, '\0'),
                                      "\xFF",
                                      "\x7F",
                                      "\x80",
                                      std::string(8, '\xFF'),
                                      std::string(8, '\0'),
                                      "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
                                      "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",
                                      "\x01",
                                      std::string("\x01\0\0\0", 4)};
  if (input.size() < 2)
    input += "xx";
  const auto at = 1 + random.below(input.size() - 1);
  switch (random.below(8)) {
  case 0:
    input[at] = static_cast<char>(random.below(256));
    break;
  case 1:
    input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
    break;
  case 2:
    input[at] = static_cast<char>(input[at] + (random.below(2) == 0 ? 1 : -1));
    break;
  case 3:
    input.insert(at, edges[random.below(std::size(edges))]);
    break;
  case 4: {
    const auto& edge = edges[random.below(std::size(edges))];
    input.replace(at, std::min(edge.size(), input.size() - at), edge);
    break;
  }
  case 5:
    input.erase(at, 1 + random.below(8));
    break;
  case 6: {
    const auto from = random.below(other.size() + 1);
    const auto part = other.substr(from, random.below(40));
    if (random.below(2) == 0)
      input.insert(at, part);
    else
      input.replace(at, std::min(part.size(), input.size() - at), part);
    break;
  }
  default:
    input.resize(at);
  }
}

} // namespace belay::fuzz
