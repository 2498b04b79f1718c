#include "cli/commands/outcome.hpp"

#include "cli/output/json_text.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

int succeed(const options& o, terminal t, const std::string& line, json::object facts) {
  if (!o.json()) {
    t.out << line << "\n";
    return 0;
  }
  json::object all{{"Success", true}};
  for (auto& fact : facts)
    all.emplace(fact.key(), std::move(fact.value()));
  t.out << pretty(all);
  return 0;
}

api_answer answer_of(result<api_answer> r, terminal t, const std::string& failed) {
  if (const auto complaint = complaint_about(r); !complaint.empty())
    throw command_ended{error(t, failed + complaint)};
  return std::move(*r);
}

int show(const options& o, terminal t, const std::string& path, const api_query& query, const std::string& failed,
         std::string (*text)(const options&, const json::value&)) {
  const auto client = o.client(t);
  const auto answer = value_of(client.get_json(path, query), t, failed);
  t.out << (o.json() ? pretty(answer) : text(o, answer));
  return 0;
}

int show_outcome(const options& o, terminal t, const std::string& path, const api_query& query,
                 const std::string& failed, const std::string& line, json::object facts) {
  const auto client = o.client(t);
  answer_of(client.ask("PUT", path, query), t, failed);
  return succeed(o, t, line, std::move(facts));
}

} // namespace belay::cli
