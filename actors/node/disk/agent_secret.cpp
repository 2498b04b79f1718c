#include "actors/node/disk/agent_secret.hpp"

#include "actors/node/disk/data_directory.hpp"
#include "protocol/base/hex.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::size_t secret_digits = 64;

std::string new_secret() {
  std::string digits;
  while (digits.size() < secret_digits)
    digits += to_hex(random_u64());
  return digits;
}

} // namespace

result<std::string> open_agent_secret(const std::string& data_dir, storage::file_system& files) {
  const auto file = data_dir + "/node-secret";
  auto kept = files.read_if_there(file);
  if (!kept)
    return failure{"cannot read " + file + ": " + kept.error() + ". Give the user of this process access to it"};
  if (*kept) {
    auto& text = **kept;
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (text.size() != secret_digits || !std::all_of(text.begin(), text.end(), is_digit))
      return failure{file + " is damaged: remove it and deregister the node, so that the servers accept a new secret"};
    return std::move(text);
  }
  auto made = new_secret();
  if (auto s = write_durably(files, file, made + "\n"); !s)
    return s.reason();
  return made;
}

} // namespace belay::actors
