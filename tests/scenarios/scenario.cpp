#include "tests/scenarios/scenario.hpp"

#include <sstream>

namespace belay::raft::testing {

std::uint64_t scenario::command::number(std::size_t i) const {
  if (i >= words.size())
    throw broken_invariant("command needs another word: " + name);
  return std::strtoull(words[i].c_str(), nullptr, 10);
}

std::uint64_t scenario::command::option(const std::string& key, std::uint64_t otherwise) const {
  auto it = options.find(key);
  return it == options.end() ? otherwise : std::strtoull(it->second.c_str(), nullptr, 10);
}

std::vector<std::uint64_t> scenario::command::list(const std::string& key) const {
  auto it = options.find(key);
  return it == options.end() ? std::vector<std::uint64_t>{} : numbers(it->second);
}

std::vector<std::uint64_t> scenario::numbers(const std::string& text) {
  std::vector<std::uint64_t> all;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');)
    all.push_back(std::strtoull(part.c_str(), nullptr, 10));
  return all;
}

scenario::command scenario::parse(const std::string& line) {
  command c;
  std::istringstream in(line);
  in >> c.name;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos)
      c.words.push_back(word);
    else
      c.options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return c;
}

std::string scenario::run(const std::string& text) {
  std::istringstream in(text);
  std::string result;
  std::string output;
  bool expecting = false;
  for (std::string line; std::getline(in, line);) {
    if (expecting) {
      if (line.empty()) {
        expecting = false;
        result += "\n";
      }
      continue; // what was expected is replaced by what came
    }
    result += line + "\n";
    if (line == "----") {
      try {
        cluster_.check_logs();
      } catch (const broken_invariant& broken) {
        output += std::string("BROKEN: ") + broken.what() + "\n";
      }
      result += output.empty() ? "ok\n" : output;
      output.clear();
      expecting = true;
    } else if (!line.empty() && line[0] != '#') {
      try {
        output += execute(parse(line));
      } catch (const broken_invariant& broken) {
        output += std::string("BROKEN: ") + broken.what() + "\n";
      }
    }
  }
  if (!expecting)
    result += "BROKEN: the last block has no ----\n";
  try {
    if (auto wrong = cluster_.converge(); !wrong.empty())
      result += "BROKEN: not converged: " + wrong + "\n";
  } catch (const broken_invariant& broken) {
    result += std::string("BROKEN: at the end: ") + broken.what() + "\n";
  }
  return result;
}

std::string scenario::elect(const command& c) {
  const auto id = c.number(0);
  const bool silent = c.words.size() > 1 && c.words[1] == "silent";
  for (int i = 0; i < 500; ++i) {
    if (silent && cluster_.leader() == id)
      return {};
    if (cluster_.leader() == id && cluster_.core(id).commit_index() == cluster_.core(id).last_index())
      return {};
    cluster_.tick_all();
    std::erase_if(cluster_.in_flight(),
                  [&](const message& m) { return m.from.value != id && std::holds_alternative<vote_request>(m.body); });
    if (silent) {
      auto& net = cluster_.in_flight();
      const auto appends = [&](const message& m) {
        return m.from.value == id && std::holds_alternative<append_entries>(m.body);
      };
      while (std::erase_if(net, appends), !net.empty())
        cluster_.deliver(0);
    } else {
      cluster_.deliver_all();
    }
  }
  return "not elected\n";
}

bool scenario::matches(const command& c, const message& m) {
  if (m.from.value != c.option("from", m.from.value) || m.to.value != c.option("to", m.to.value))
    return false;
  auto type = c.options.find("type");
  if (type == c.options.end())
    return true;
  std::istringstream text(to_text(m));
  std::string link;
  std::string term;
  std::string kind;
  text >> link >> term >> kind;
  return kind == type->second;
}

std::string scenario::deliver(const command& c) {
  auto left = c.option("n", 1000);
  auto& net = cluster_.in_flight();
  for (std::size_t i = 0; i < net.size() && left > 0;) {
    if (!matches(c, net[i])) {
      ++i;
      continue;
    }
    cluster_.deliver(i);
    --left;
    i = 0;
  }
  return {};
}

std::string scenario::pick(const command& c, const std::function<void(std::size_t)>& act, bool removes) {
  auto left = c.option("n", 1000);
  auto count = cluster_.in_flight().size();
  for (std::size_t i = 0; i < count && left > 0;) {
    if (!matches(c, cluster_.in_flight()[i])) {
      ++i;
      continue;
    }
    act(i);
    --left;
    if (removes)
      --count;
    else
      ++i;
  }
  return {};
}

std::string scenario::reads(std::uint64_t id) {
  auto& n = cluster_.node(id);
  std::string s;
  for (const auto& r : std::exchange(n.reads_confirmed, {}))
    s += "read " + std::to_string(r.id) + " at " + to_string(r.index) + "\n";
  for (auto r : std::exchange(n.reads_failed, {}))
    s += "read " + std::to_string(r) + " failed\n";
  return s.empty() ? "none\n" : s;
}

std::string scenario::show(const command& c) {
  std::string s;
  for (auto id : cluster_.ids())
    if (c.words.empty() || c.number(0) == id)
      s += cluster_.up(id) ? cluster_.core(id).describe() + "\n" : std::to_string(id) + " down\n";
  return s;
}

std::string scenario::execute(const command& c) {
  const auto& name = c.name;
  if (name == "cluster") {
    auto lim = small_limits();
    lim.append_entries_max = c.option("batch", lim.append_entries_max);
    cluster_.start(c.option("nodes", 3), lim);
  } else if (name == "node") {
    cluster_.add_node(c.number(0));
  } else if (name == "elect") {
    return elect(c);
  } else if (name == "tick") {
    for (auto n = c.option("n", 1); n > 0; --n) {
      if (c.words.at(0) == "all")
        cluster_.tick_all();
      else
        cluster_.tick(c.number(0));
    }
  } else if (name == "run") {
    cluster_.run(static_cast<int>(c.option("n", 1)));
  } else if (name == "deliver") {
    return deliver(c);
  } else if (name == "duplicate") {
    return pick(
        c, [&](std::size_t i) { cluster_.deliver(i, true); }, false);
  } else if (name == "drop") {
    return pick(
        c, [&](std::size_t i) { cluster_.drop(i); }, true);
  } else if (name == "net") {
    std::string s;
    for (const auto& m : cluster_.in_flight())
      s += to_text(m) + "\n";
    return s.empty() ? "nothing\n" : s;
  } else if (name == "show") {
    return show(c);
  } else if (name == "log") {
    std::string s;
    const auto& core = cluster_.core(c.number(0));
    for (auto i = core.first_index(); i <= core.last_index(); i = i.next())
      s += (s.empty() ? "" : " ") + to_string(i) + "@" + to_string(core.term_at(i));
    return s.empty() ? "empty\n" : s + "\n";
  } else if (name == "propose") {
    const auto index = cluster_.propose(c.number(0), c.words.at(1));
    return index ? to_string(*index) + "\n" : "refused\n";
  } else if (name == "read") {
    const bool taken = cluster_.core(c.number(0)).read(c.number(1));
    cluster_.settle(c.number(0));
    return taken ? "" : "refused\n";
  } else if (name == "reads") {
    return reads(c.number(0));
  } else if (name == "unknown") {
    const auto from = std::exchange(cluster_.node(c.number(0)).unknown_from, std::nullopt);
    return from ? "from " + to_string(*from) + "\n" : "none\n";
  } else if (name == "lease") {
    return cluster_.core(c.number(0)).lease_until() > cluster_.now() ? "yes\n" : "no\n";
  } else if (name == "config") {
    const auto refused = cluster_.core(c.number(0))
                             .propose_configuration(make_config(c.list("voters"), c.list("learners")), cluster_.wall());
    cluster_.settle(c.number(0));
    return refused ? "refused: " + std::string(name_of(*refused)) + "\n" : "";
  } else if (name == "transfer") {
    const bool begun = cluster_.core(c.number(0)).transfer_leadership(node_id{c.number(1)});
    cluster_.settle(c.number(0));
    return begun ? "" : "refused\n";
  } else if (name == "unreachable") {
    cluster_.core(c.number(0)).peer_unreachable(node_id{c.number(1)});
    cluster_.settle(c.number(0));
  } else if (name == "cut") {
    cluster_.cut(c.number(0), c.number(1));
  } else if (name == "join") {
    cluster_.join(c.number(0), c.number(1));
  } else if (name == "heal") {
    cluster_.heal();
  } else if (name == "partition") {
    std::vector<std::vector<std::uint64_t>> groups;
    for (const auto& w : c.words)
      groups.push_back(numbers(w));
    cluster_.partition(groups);
  } else if (name == "crash") {
    cluster_.crash(c.number(0), c.option("survives", 0));
  } else if (name == "restart") {
    cluster_.restart(c.number(0));
  } else if (name == "stall" || name == "unstall") {
    cluster_.stall_disk(c.number(0), name == "stall");
  } else if (name == "sync") {
    cluster_.sync(c.number(0), c.option("n", 1000));
    cluster_.settle(c.number(0));
  } else if (name == "hold_install" || name == "release_install") {
    cluster_.stall_install(c.number(0), name == "hold_install");
  } else if (name == "checkpoint") {
    cluster_.checkpoint(c.number(0), c.option("keep", 0));
  } else if (name == "count") {
    return std::to_string(cluster_.take_sent()) + "\n";
  } else {
    return "BROKEN: no such command: " + name + "\n";
  }
  return {};
}

} // namespace belay::raft::testing
