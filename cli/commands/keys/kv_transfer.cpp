// `belay kv export|import`: the format is Consul's, but an import is sent in transactions.

#include "cli/commands/keys/kv_transfer.hpp"

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/escaped_output.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_input.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/url.hpp"

#include <filesystem>
#include <ostream>
#include <system_error>

namespace belay::cli {

namespace json = boost::json;

namespace {

const json::value* member_in_any_case(const json::object& o, const char* name) {
  for (const auto& m : o)
    if (equal_ignoring_case({m.key().data(), m.key().size()}, name))
      return &m.value();
  return nullptr;
}

} // namespace

std::string write_export(const std::vector<exported_key>& keys) {
  if (keys.empty())
    return "[]\n";
  std::string out = "[\n";
  for (const auto& k : keys) {
    out += "\t{\n\t\t\"key\": ";
    go_compat::append_json_string(out, k.key);
    out += ",\n\t\t\"flags\": " + std::to_string(k.flags) + ",\n\t\t\"value\": \"";
    go_compat::append_base64(out, k.value);
    out += "\"\n\t}";
    out += &k == &keys.back() ? "\n" : ",\n";
  }
  return out + "]\n";
}

result<std::vector<exported_key>> read_export(std::string_view text) {
  const auto read = go_compat::read_json_file(text);
  if (!read)
    return failure{"Cannot unmarshal data: " + read.error()};
  const auto& v = *read;
  boost::system::error_code ec;
  if (v.is_null())
    return std::vector<exported_key>{};
  if (!v.is_array())
    return failure{"Cannot unmarshal data: it is not a list"};
  std::vector<exported_key> out;
  for (const auto& one : v.get_array()) {
    const auto* o = one.if_object();
    if (!o)
      return failure{"Cannot unmarshal data: an entry is not an object"};
    exported_key k;
    if (const auto* m = member_in_any_case(*o, "key")) {
      if (!m->is_string())
        return failure{"Cannot unmarshal data: a key is not a string"};
      k.key = std::string(m->get_string());
    }
    if (const auto* m = o->if_contains("ModifyIndex"); m != nullptr)
      k.index = m->to_number<std::uint64_t>(ec);
    if (const auto* m = member_in_any_case(*o, "flags"); m && !m->is_null()) {
      k.flags = m->to_number<std::uint64_t>(ec);
      if (ec)
        return failure{"Cannot unmarshal data: flags of key " + k.key + " are not an unsigned number"};
    }
    if (const auto* m = member_in_any_case(*o, "value"); m && !m->is_null()) {
      if (!m->is_string())
        return failure{"Cannot unmarshal data: value of key " + k.key + " is not a string"};
      auto value = go_compat::decode_base64(std::string_view(m->get_string()));
      if (!value)
        return failure{"Error base 64 decoding value for key " + k.key + ": " + value.error()};
      k.value = *value;
    }
    out.push_back(std::move(k));
  }
  return out;
}

namespace {

/// What Go and this server write in JSON for a byte that is not UTF-8 (U+FFFD).
constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Removes from `keys` those whose names are not UTF-8, as the list shows the name of another key
/// for them.
/// @returns the names that the list shows for them
result<std::vector<std::string>> take_misnamed(const options& o, const api_client& client,
                                               std::vector<exported_key>& keys) {
  std::vector<std::string> out;
  std::vector<exported_key> rest;
  for (auto& k : keys) {
    if (k.key.find(replacement) != k.key.npos) {
      const auto answer = client.ask("GET", "/v1/kv/" + go_compat::escape_path(k.key), o.query());
      if (!answer)
        return failure{answer.error()};
      if (answer->status != 404 && !answer->found())
        return failure{answer->complaint()};
      const auto named = read_export(answer->status == 404 ? std::string("[]") : answer->body);
      if (!named)
        return named.reason();
      if (named->empty() || named->front().index != k.index) {
        out.push_back(std::move(k.key));
        continue;
      }
    }
    rest.push_back(std::move(k));
  }
  keys = std::move(rest);
  return out;
}

int kv_export(const options& o, terminal t) {
  if (o.words().size() > 1)
    return error(t, "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto prefix = without_leading_slash(o.words().empty() ? "" : o.words()[0]);
  const auto client = o.client(t);
  auto answer = value_of(client.ask("GET", "/v1/kv/" + go_compat::escape_path(prefix), o.query().add("recurse")), t,
                         "Error querying agent: ");
  if (answer.status == 404) {
    t.out << write_export({});
    return 0;
  }
  if (!answer.found())
    return error(t, "Error querying agent: " + answer.complaint());
  // The API's list has the same members with capitalized names, and more members.
  auto keys = value_of(read_export(answer.body), t, "Error querying agent: ");
  const auto misnamed = value_of(take_misnamed(o, client, keys), t, "Error querying agent: ");
  t.out << write_export(keys);
  for (const auto& key : misnamed)
    error(t, "Error! Not exported: " + key + ": its name is not UTF-8, so that no list of keys can contain it");
  return misnamed.empty() ? 0 : 1;
}

/// The most operations of a transaction. Servers take 64, later ones 128.
constexpr std::size_t operations_max = 64;
/// The longest transaction, in bytes of JSON. The default of `txn_max_req_len` is 512 KiB, and some
/// servers have less.
constexpr std::size_t transaction_bytes_max = 384 * 1024;
/// How many keys are written between two updates of the progress line.
constexpr std::size_t keys_per_line = 1000;

std::string set_operation(const exported_key& k) {
  std::string out = R"({"KV":{"Verb":"set","Key":)";
  go_compat::append_json_string(out, k.key);
  out += R"(,"Value":")";
  go_compat::append_base64(out, k.value);
  out += R"(","Flags":)" + std::to_string(k.flags) + "}}";
  return out;
}

class importer {
public:
  importer(const options& o, terminal t, const api_client& client, const std::vector<exported_key>& keys)
      : options_(o), terminal_(t), channel_(client), keys_(keys) {}

  /// @returns an error that names the first key that was not written
  status run() {
    while (next_ < keys_.size()) {
      if (impossible(keys_[next_]))
        return not_written("Invalid key. Key must not begin with a '/': " + keys_[next_].key);
      std::string body = "[";
      std::size_t end = next_;
      for (; end < keys_.size() && end - next_ < operations_max && !impossible(keys_[end]); ++end) {
        auto operation = set_operation(keys_[end]);
        if (body.size() + operation.size() > transaction_bytes_max)
          break;
        body += (end == next_ ? "" : ",") + std::move(operation);
      }
      const auto s = end - next_ < 2 ? one_by_one(next_ + 1) : together(body + "]", end);
      if (!s)
        return s;
    }
    return done{};
  }

  void end_line() const {
    if (terminal_.screen && !options_.json() && !keys_.empty())
      terminal_.out << "\n";
  }

private:
  /// Consul's client does not send such a key. A transaction would write it, but `kv get` could not
  /// name it.
  static bool impossible(const exported_key& k) { return k.key.starts_with('/'); }

  /// Sends one transaction. If the server rejects it, writes its keys one by one.
  status together(const std::string& body, std::size_t end) {
    const auto answer =
        channel_.ask({.method = "PUT", .path = "/v1/txn", .query = options_.write_query(), .body = body});
    if (!answer)
      return not_written(answer.error());
    // The server rejected all of it: it is too long for this server, or one key may not be written.
    if (answer->status == 413 || answer->status == 409 || answer->status == 404 || answer->status == 405)
      return one_by_one(end);
    if (!answer->found())
      return not_written(answer->complaint());
    written(end);
    return done{};
  }

  status one_by_one(std::size_t end) {
    while (next_ < end) {
      const auto& k = keys_[next_];
      auto query = options_.write_query();
      if (k.flags != 0)
        query.add("flags", std::to_string(k.flags));
      const auto answer = channel_.ask(
          {.method = "PUT", .path = "/v1/kv/" + go_compat::escape_path(k.key), .query = query, .body = k.value});
      if (const auto complaint = complaint_about(answer); !complaint.empty())
        return not_written(complaint);
      written(next_ + 1);
    }
    return done{};
  }

  failure not_written(const std::string& why) const {
    return {"Error! Failed writing data for key " + keys_[next_].key + ": " + why};
  }

  void written(std::size_t end) {
    for (; next_ < end; ++next_)
      if (!terminal_.screen && !options_.json())
        terminal_.out << "Imported: " << keys_[next_].key << "\n";
    if (terminal_.screen && !options_.json() && (next_ >= shown_ + keys_per_line || next_ == keys_.size())) {
      shown_ = next_;
      write_over_line(terminal_.out);
      terminal_.out << "Imported " << next_ << " of " << keys_.size() << " keys" << std::flush;
    }
  }

  const options& options_;
  terminal terminal_;
  api_channel channel_;
  const std::vector<exported_key>& keys_;
  std::size_t next_ = 0;  ///< the first key that is not known to be written
  std::size_t shown_ = 0; ///< how many keys the progress line shows
};

int kv_import(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, o.words().empty()
                        ? "Error! Missing DATA argument"
                        : "Error! Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  if (o.words()[0].empty())
    return error(t, "Error! Empty DATA argument");
  const auto text = value_of(value_given(o.words()[0], t.in), t, "Error! ");
  auto keys = read_export(text);
  if (!keys) {
    std::error_code none;
    const bool forgotten = std::filesystem::exists(o.words()[0], none);
    return error(t, keys.error() + (forgotten ? " (to read the file of that name, write @" + o.words()[0] + ")" : ""));
  }
  const auto client = o.client(t);
  importer work(o, t, client, *keys);
  const auto s = work.run();
  work.end_line();
  if (!s)
    return error(t, s.error());
  return o.json() ? succeed(o, t, "", {{"Imported", keys->size()}}) : 0;
}

} // namespace

std::vector<command> kv_transfer_commands() {
  return {
      {.name = "kv export",
       .help = "Export all keys under a prefix as JSON",
       .operands = "[PREFIX]",
       .text = "Prints keys, flags and values in base64, without sessions and indexes, all from one point in time.\n"
               "Keys whose names are not UTF-8 cannot be exported: each is reported as an error, the others are\n"
               "exported, and the exit code is 1.",
       .examples = {{"kv export app/ >app.json", "Export all keys under app/"}, {"kv export", "Export all keys"}},
       .run = kv_export},
      {.name = "kv import",
       .help = "Import keys from `kv export`",
       .operands = "DATA | @FILE | -",
       .text = "Keys are written in transactions of 64; a value too large for one is written alone. Existing keys\n"
               "are replaced, and none is deleted. After a failure, all keys before the reported one were written;\n"
               "that one was not, or its outcome is unknown. It is safe to repeat the same import.",
       .examples = {{"kv import @app.json", "Import a file"},
                    {"kv export -http-addr=old:8500 | belay kv import -", "Copy all keys of one cluster into another"}},
       .run = kv_import},
  };
}

} // namespace belay::cli
