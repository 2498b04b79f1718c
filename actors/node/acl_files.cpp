#include "actors/node/acl_files.hpp"

#include "actors/node/config/file_text.hpp"
#include "actors/telemetry/log.hpp"
#include "storage/file_system.hpp"

#include <boost/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace belay::actors {

namespace json = boost::json;

namespace {

using member = std::string agent_token_values::*;
constexpr std::pair<std::string_view, member> token_names[] = {
    {"replication", &agent_token_values::replication},
    {"agent_master", &agent_token_values::agent_master},
    {"default", &agent_token_values::of_requests},
    {"agent", &agent_token_values::agent},
};

std::string reset_file(const std::string& data_dir) {
  return data_dir + "/acl-bootstrap-reset";
}

failure failed(const std::string& what, const std::string& file) {
  return failure{"cannot " + what + " " + file + ": " + std::strerror(errno)};
}

/// Private from its first byte on.
status write_private(const std::string& file, std::string_view text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return failed("create", file);
  bool done_well = ::fchmod(fd, 0600) == 0; // it may be left of an attempt that was cut short
  while (done_well && !text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n > 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else
      done_well = n < 0 && errno == EINTR;
  }
  done_well = done_well && ::fsync(fd) == 0;
  const auto error = done_well ? status(done{}) : status(failed("write", file));
  ::close(fd);
  return error;
}

} // namespace

std::string agent_tokens_file(const std::string& data_dir) {
  return data_dir + "/acl-tokens.json";
}

result<agent_token_values> read_agent_tokens(const std::string& data_dir) {
  const auto file = agent_tokens_file(data_dir);
  const auto text = read_file_text_if_there(file);
  if (!text)
    return text.why();
  agent_token_values tokens;
  if (!*text)
    return tokens;
  const failure wrong{file + ": not a JSON object of tokens; remove it, and set them again with PUT /v1/agent/token"};
  boost::system::error_code ec;
  const auto parsed = json::parse(**text, ec);
  if (ec || !parsed.is_object())
    return wrong;
  for (const auto& [name, to] : token_names)
    if (const auto* v = parsed.get_object().if_contains(name)) {
      if (!v->is_string())
        return wrong;
      tokens.*to = std::string(v->get_string());
    }
  return tokens;
}

status save_agent_tokens(const std::string& data_dir, const agent_token_values& tokens) {
  json::object out;
  for (const auto& [name, from] : token_names)
    if (!(tokens.*from).empty())
      out[name] = tokens.*from;
  const auto file = agent_tokens_file(data_dir);
  const auto unfinished = file + std::string(storage::unfinished_extension);
  if (auto written = write_private(unfinished, json::serialize(out)); !written)
    return written;
  if (::rename(unfinished.c_str(), file.c_str()) != 0)
    return failed("replace", file);
  return storage::posix_file_system().sync_directory(data_dir);
}

log_index read_bootstrap_reset(const std::string& data_dir) {
  const auto file = reset_file(data_dir);
  const auto text = read_file_text_if_there(file, 1024);
  if (text && !*text)
    return {};
  std::uint64_t index = 0;
  if (text) {
    const auto& all = **text;
    const auto begin = all.find_first_not_of(" \t\r\n");
    const auto end = all.find_last_not_of(" \t\r\n");
    if (begin != std::string::npos) {
      const auto [rest, error] = std::from_chars(all.data() + begin, all.data() + end + 1, index);
      if (error == std::errc{} && rest == all.data() + end + 1)
        return log_index{index};
    }
  }
  log::error("acl", "the file for one more bootstrap is not followed",
             {{"file", file}, {"reason", text ? std::string("it is not a number") : text.error()}});
  return {};
}

void remove_bootstrap_reset(const std::string& data_dir) {
  const auto file = reset_file(data_dir);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    log::error("acl", "the file for one more bootstrap stays; its index counts no more",
               {{"file", file}, {"reason", std::strerror(errno)}});
}

} // namespace belay::actors
