#include "protocol/http/list_rows.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/http/acl/acl_render.hpp"
#include "protocol/http/discovery/coordinate_json.hpp"
#include "protocol/http/kv/change_render.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/state/answer_size.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

namespace belay::http {

namespace {

template <class List, class Append>
list_rows listed(const List& list, Append append) {
  list_rows rows;
  rows.count = list.size();
  rows.append = [&list, append](std::string& out, std::size_t i) { append(out, list[i]); };
  return rows;
}

struct rows_by_data {
  const state::query& query;
  const render_options& options;
  const read_meta* meta;
  using found_rows = std::optional<list_rows>;

  found_rows operator()(const state::kv_entries& found) const {
    if (found.entries.empty())
      return std::nullopt;
    if (options.raw && asks_one_key(query))
      return raw(*found.entries.front()->value);
    return listed(found.entries, [](auto& out, const auto& e) { append_kv_entry(out, *e, true); });
  }

  static list_rows raw(std::string_view value) {
    constexpr std::size_t part_bytes = 64 << 10;
    list_rows rows{{}, {}, (value.size() + part_bytes - 1) / part_bytes, {}, false};
    rows.append = [value](std::string& out, std::size_t i) { out.append(value.substr(i * part_bytes, part_bytes)); };
    return rows;
  }

  found_rows operator()(const state::key_names& found) const {
    if (found.keys.empty())
      return std::nullopt;
    return listed(found.keys, [](auto& out, const auto& key) { go_compat::append_json_string(out, key); });
  }

  found_rows operator()(const state::sessions& found) const {
    return listed(found.list, [](auto& out, const auto& s) { append_session(out, *s); });
  }

  found_rows operator()(const state::nodes& found) const {
    return listed(found.list, [](auto& out, const auto& n) { append_node(out, *n); });
  }

  found_rows operator()(const state::service_names& found) const {
    std::vector<const std::pair<const std::string, std::vector<std::string>>*> pairs;
    pairs.reserve(found.tags_by_service.size());
    for (const auto& each : found.tags_by_service)
      pairs.push_back(&each);
    list_rows rows{"{", "}", pairs.size(), {}, true};
    rows.append = [pairs = std::move(pairs)](std::string& out, std::size_t i) {
      go_compat::append_json_string(out, pairs[i]->first);
      out += ':';
      go_compat::append_json_strings(out, pairs[i]->second);
    };
    return rows;
  }

  found_rows operator()(const state::service_instances& found) const {
    if (!std::holds_alternative<state::health_service>(query))
      return listed(found.list, [](auto& out, const auto& i) { append_service_node(out, *i.node, *i.service); });
    return listed(found.list, [](auto& out, const auto& i) {
      out += "{\"Node\":";
      append_node(out, *i.node);
      out += ",\"Service\":";
      append_service(out, *i.service, absent_tags::empty);
      out += ",\"Checks\":";
      out += whole(listed(i.checks, [](auto& o, const auto& c) { append_check(o, *c, absent_tags::empty); }));
      out += '}';
    });
  }

  found_rows operator()(const state::node_services& found) const {
    if (!found.node)
      return std::nullopt;
    std::map<std::string_view, const state::service_record*> by_id;
    for (const auto& s : found.services)
      by_id[s->id] = s.get();
    std::vector<const state::service_record*> services;
    services.reserve(by_id.size());
    for (const auto& [id, service] : by_id)
      services.push_back(service);
    const auto* requested = std::get_if<state::catalog_node>(&query);
    const bool as_list = requested != nullptr && requested->as_list;
    list_rows rows{"{\"Node\":", as_list ? "]}" : "}}", services.size(), {}, true};
    append_node(rows.begin, *found.node);
    // Rendered like a nil list in Go. A list whose rows were all filtered out is empty instead.
    if (as_list && services.empty() && options.filter == nullptr && !found.some_hidden) {
      rows.begin += ",\"Services\":";
      rows.end = "null}";
      return rows;
    }
    rows.begin += as_list ? ",\"Services\":[" : ",\"Services\":{";
    rows.append = [services = std::move(services), as_list](std::string& out, std::size_t i) {
      if (!as_list) {
        go_compat::append_json_string(out, services[i]->id);
        out += ':';
      }
      append_service(out, *services[i], absent_tags::empty);
    };
    return rows;
  }

  found_rows operator()(const state::checks& found) const {
    return listed(found.list, [](auto& out, const auto& c) { append_check(out, *c, absent_tags::empty); });
  }

  found_rows operator()(const state::coordinate_rows& found) const {
    if (found.list.empty() && std::holds_alternative<state::coordinate_node>(query))
      return std::nullopt;
    return listed(found.list, [](auto& out, const auto& r) { append_coordinate_row(out, *r); });
  }

  found_rows operator()(const state::acl_rows& found) const {
    if (!is_acl_list(query))
      return std::nullopt;
    return listed(found.list, [shape = shape_in_list(query)](auto& out, const auto& row) {
      append_acl_row(out, row, shape, false);
    });
  }

  found_rows operator()(const state::change_rows& found) const {
    if (found.gone || std::holds_alternative<state::kv_at>(query))
      return std::nullopt;
    list_rows rows;
    rows.count = found.rows.size() + found.list.size();
    rows.append = [&found, keys_only = options.keys_only](std::string& out, std::size_t i) {
      if (i < found.rows.size())
        append_change(out, *found.rows[i], keys_only);
      else
        append_change(out, found.list[i - found.rows.size()], keys_only);
    };
    return rows;
  }

  found_rows operator()(const state::txn_reply& found) const { return txn_rows(found, meta); }

  template <class Other>
  found_rows operator()(const Other&) const {
    return std::nullopt;
  }
};

/// Typical bytes of a row, without the values of keys.
constexpr std::size_t kv_row_bytes = 160, row_bytes = 400;

struct size_by_data {
  std::size_t enough;

  std::size_t operator()(const state::kv_entries& found) const {
    std::size_t bytes = 2;
    for (auto e = found.entries.begin(); e != found.entries.end() && bytes < enough; ++e)
      bytes += kv_row_bytes + (*e)->key.size() + (*e)->value->size() * 4 / 3;
    return bytes;
  }
  std::size_t operator()(const state::key_names& found) const {
    std::size_t bytes = 2;
    for (auto k = found.keys.begin(); k != found.keys.end() && bytes < enough; ++k)
      bytes += k->size() + 3;
    return bytes;
  }
  std::size_t operator()(const state::sessions& found) const { return found.list.size() * row_bytes; }
  std::size_t operator()(const state::nodes& found) const { return found.list.size() * row_bytes; }
  std::size_t operator()(const state::service_names& found) const {
    std::size_t bytes = 2;
    for (const auto& [name, tags] : found.tags_by_service) {
      bytes += name.size() + 6;
      for (const auto& t : tags)
        bytes += t.size() + 3;
    }
    return bytes;
  }
  std::size_t operator()(const state::service_instances& found) const {
    std::size_t rows = 0;
    for (const auto& i : found.list)
      rows += 2 + i.checks.size();
    return rows * row_bytes;
  }
  std::size_t operator()(const state::node_services& found) const { return found.services.size() * row_bytes; }
  std::size_t operator()(const state::checks& found) const { return found.list.size() * row_bytes; }
  std::size_t operator()(const state::coordinate_rows& found) const { return found.list.size() * row_bytes; }
  std::size_t operator()(const state::change_rows& found) const {
    std::size_t bytes = 2;
    for (const auto& e : found.rows)
      bytes += kv_row_bytes + e->key.size() + e->value->size() * 4 / 3;
    for (const auto& c : found.list)
      bytes += kv_row_bytes + c.row->key.size() + c.row->value->size() * 4 / 3;
    return bytes;
  }
  std::size_t operator()(const state::acl_rows& found) const {
    constexpr std::size_t link_bytes = 80;
    const auto of_record = overloaded{[](const state::acl_policy_ptr& p) { return p->description.size(); },
                                      [](const auto& p) {
                                        return p->description.size() +
                                               (p->service_identities.size() + p->node_identities.size()) * link_bytes;
                                      }};
    std::size_t bytes = 2;
    for (const auto& r : found.list)
      bytes += row_bytes + (r.policies.size() + r.roles.size()) * link_bytes + std::visit(of_record, r.row);
    return bytes;
  }
  /// A failed transaction shows only its errors, which are no longer than the request.
  std::size_t operator()(const state::txn_reply& found) const {
    std::size_t bytes = 2;
    if (found.errors.empty())
      for (auto r = found.results.begin(); r != found.results.end() && bytes < enough; ++r)
        bytes += state::shown_bytes(*r);
    return bytes;
  }
  template <class Other>
  std::size_t operator()(const Other&) const {
    return 0;
  }
};

/// Rows are immutable: the same pointer is the same content.
struct equal_data {
  const decltype(state::query_result::data)& other;

  bool operator()(const state::kv_entries& a) const { return a.entries == std::get<state::kv_entries>(other).entries; }
  bool operator()(const state::key_names& a) const { return a.keys == std::get<state::key_names>(other).keys; }
  bool operator()(const state::sessions& a) const { return a.list == std::get<state::sessions>(other).list; }
  bool operator()(const state::nodes& a) const { return a.list == std::get<state::nodes>(other).list; }
  bool operator()(const state::service_names& a) const {
    return a.tags_by_service == std::get<state::service_names>(other).tags_by_service;
  }
  bool operator()(const state::service_instances& a) const {
    const auto& b = std::get<state::service_instances>(other).list;
    return std::equal(a.list.begin(), a.list.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.node == y.node && x.service == y.service && x.checks == y.checks;
    });
  }
  bool operator()(const state::node_services& a) const {
    const auto& b = std::get<state::node_services>(other);
    return a.node == b.node && a.services == b.services && a.some_hidden == b.some_hidden;
  }
  bool operator()(const state::checks& a) const { return a.list == std::get<state::checks>(other).list; }
  bool operator()(const state::coordinate_rows& a) const {
    return a.list == std::get<state::coordinate_rows>(other).list;
  }
  bool operator()(const state::change_rows& a) const {
    const auto& b = std::get<state::change_rows>(other);
    return a.gone == b.gone && a.rows == b.rows && a.list == b.list;
  }
  bool operator()(const state::acl_rows& a) const {
    const auto& b = std::get<state::acl_rows>(other);
    return a.shows_secrets == b.shows_secrets &&
           std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(), [](const auto& x, const auto& y) {
             return x.row == y.row && x.policies == y.policies && x.roles == y.roles;
           });
  }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

} // namespace

std::optional<list_rows> rows_of(const state::query& q, const state::query_result& result,
                                 const render_options& options, const read_meta* meta) {
  return std::visit(rows_by_data{q, options, meta}, result.data);
}

bool asks_one_key(const state::query& q) {
  return std::holds_alternative<state::kv_get>(q) || std::holds_alternative<state::kv_at>(q);
}

std::string whole(const list_rows& rows) {
  auto out = rows.begin;
  for (std::size_t i = 0; i < rows.count; ++i)
    rows.append_row(out, i);
  return out += rows.end;
}

std::size_t estimated_bytes(const state::query_result& result, std::size_t enough) {
  return std::visit(size_by_data{enough}, result.data);
}

std::size_t estimated_bytes(const state::txn_reply& result, std::size_t enough) {
  return size_by_data{enough}(result);
}

bool same_rows(const state::query_result& a, const state::query_result& b) {
  return a.data.index() == b.data.index() && std::visit(equal_data{b.data}, a.data);
}

} // namespace belay::http
