#include "actors/node/disk/acl_files.hpp"

#include "actors/node/config/file_text.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/telemetry/log.hpp"

#include <boost/json.hpp>

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>
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

} // namespace

std::string agent_tokens_file(const std::string& data_dir) {
  return data_dir + "/acl-tokens.json";
}

result<agent_token_values> read_agent_tokens(const std::string& data_dir) {
  const auto file = agent_tokens_file(data_dir);
  const auto text = read_file_text_if_there(file);
  if (!text)
    return text.reason();
  agent_token_values tokens;
  if (!*text)
    return tokens;
  const failure wrong{file +
                      ": not a JSON object of tokens; remove it, and set the tokens again with PUT /v1/agent/token"};
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
  return write_durably(storage::posix_file_system(), agent_tokens_file(data_dir), json::serialize(out));
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
  log::error("acl", "acl-bootstrap-reset ignored",
             {{"file", file}, {"reason", text ? std::string("it is not a number") : text.error()}});
  return {};
}

void remove_bootstrap_reset(const std::string& data_dir) {
  const auto file = reset_file(data_dir);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    log::error("acl", "acl-bootstrap-reset not removed; its index is no longer valid",
               {{"file", file}, {"reason", std::strerror(errno)}});
}

agent_token_values tokens_of(const acl_config& acl) {
  return {acl.of_requests, acl.agent, acl.agent_master, acl.replication};
}

result<std::shared_ptr<agent_tokens>> open_agent_tokens(const node_config& config) {
  agent_token_values kept;
  if (config.acl.keeps_tokens) {
    auto found = read_agent_tokens(config.data_dir);
    if (!found)
      return found.reason();
    kept = std::move(*found);
  }
  return std::make_shared<agent_tokens>(tokens_of(config.acl), std::move(kept));
}

access_files access_files_of(const node_config& config, const std::shared_ptr<const agent_tokens>& tokens) {
  access_files f;
  if (config.acl.keeps_tokens) {
    // One after the other, so that the last one writes the newest values.
    f.keep_tokens = [tokens, data_dir = config.data_dir, writing = std::make_shared<std::mutex>()] {
      std::lock_guard hold(*writing);
      const auto saved = save_agent_tokens(data_dir, tokens->kept());
      return saved ? std::string() : saved.error();
    };
  }
  f.bootstrap_reset = [data_dir = config.data_dir] { return read_bootstrap_reset(data_dir); };
  f.remove_bootstrap_reset = [data_dir = config.data_dir] { remove_bootstrap_reset(data_dir); };
  return f;
}

} // namespace belay::actors
