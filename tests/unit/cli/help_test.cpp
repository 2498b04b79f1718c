// Help, completion and the man page come from the tables of commands: rules, and output.

#include "cli/commands/all.hpp"
#include "cli/help/completion.hpp"
#include "cli/help/nearest.hpp"
#include "cli/help/usage.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace belay::cli;

namespace {

arguments words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  arguments out;
  for (std::string word; in >> word;)
    out.push_back(word);
  return out;
}

/// The longest command that is a prefix of `words`; nullptr: none.
const command* command_in(const arguments& words) {
  const command* found = nullptr;
  for (const auto& c : all_commands()) {
    const auto name = words_of(c.name);
    if (words.size() >= name.size() && std::equal(name.begin(), name.end(), words.begin()) &&
        (!found || found->name.size() < c.name.size()))
      found = &c;
  }
  return found;
}

std::string output_of(const std::string& shell_command) {
  std::FILE* pipe = ::popen(shell_command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  std::array<char, 4096> piece;
  while (const auto n = std::fread(piece.data(), 1, piece.size(), pipe))
    out.append(piece.data(), n);
  ::pclose(pipe);
  return out;
}

} // namespace

TEST_CASE("every command has help: a line for each flag and two examples", "[help]") {
  CHECK(all_commands().size() > 60);
  for (const auto& c : all_commands()) {
    INFO(c.name);
    CHECK(c.help.size() > 5);
    CHECK(c.help.size() < 90);
    CHECK_FALSE(c.help.ends_with('.'));
    CHECK((c.run != nullptr) != (c.run_words != nullptr));
    CHECK(c.examples.size() >= 2);
    const auto flags = all_flags(c);
    for (const auto& f : flags) {
      INFO(f.name);
      CHECK_FALSE(f.help.empty());
      CHECK(f.help.size() < 110);
      CHECK(std::count_if(flags.begin(), flags.end(), [&](const flag& g) { return g.name == f.name; }) == 1);
    }
    auto words = words_of(c.name);
    words.push_back("-h");
    const auto s = run_cli(words);
    CHECK(s.code == 0);
    CHECK(s.err.empty());
    CHECK(s.out.starts_with("Usage: belay " + std::string(c.name)));
    for (const auto& f : flags)
      CHECK(s.out.find("\n  " + shown(f) + " ") != std::string::npos);
    for (const auto& e : c.examples)
      CHECK(s.out.find("  belay " + std::string(e.line) + "\n") != std::string::npos);
  }
}

TEST_CASE("examples name commands and flags that exist", "[help]") {
  for (const auto& c : all_commands())
    for (const auto& e : c.examples) {
      INFO(e.line);
      const auto words = words_of(e.line);
      const auto* named = command_in(words);
      REQUIRE(named != nullptr);
      for (auto i = words_of(named->name).size(); i < words.size() && words[i].starts_with('-') && words[i].size() > 1;
           ++i) {
        const auto name = words[i].substr(1, words[i].find('=') - 1);
        INFO(name);
        CHECK(find_flag(all_flags(*named), name) != nullptr);
      }
    }
}

TEST_CASE("a wrong word is named with the nearest right one", "[help]") {
  struct row {
    arguments words;
    int code;
    const char* err; ///< the beginning
  };
  const row rows[] = {
      {{"kv", "gte"}, 1, "Unknown command: kv gte\nDid you mean `belay kv get`?\nUsage: belay kv <command>"},
      {{"snapshto", "save"}, 127, "Unknown command: snapshto\nDid you mean `belay snapshot`?\nUsage: belay <command>"},
      {{"opeartor"}, 127, "Unknown command: opeartor\nDid you mean `belay operator`?\n"},
      {{"operator", "raft", "listpeers"},
       1,
       "Unknown command: operator raft listpeers\nDid you mean `belay operator raft list-peers`?\n"},
      {{"member"}, 127, "Unknown command: member\nDid you mean `belay members`?\n"},
      {{"exec"}, 127, "Unknown command: exec\nUsage: belay <command>"},
      {{"kv", "get", "-recures", "a"},
       1,
       "flag provided but not defined: -recures\nDid you mean -recurse?\nUsage: belay kv get"},
      {{"kv", "get", "-zzz", "a"}, 1, "flag provided but not defined: -zzz\nUsage: belay kv get"},
      {{"kv", "get", "-format=jsno", "a"}, 1, "Unknown format: jsno\nDid you mean -format=json?\n"},
      {{"agent", "-bootsrap"},
       1,
       "flag provided but not defined: -bootsrap\nDid you mean -bootstrap?\nUsage: belay agent"},
      {{"lock", "-n=x", "a", "b"}, 1, "invalid value \"x\" for flag -n: parse error\n"},
      {{"lock", "-timeout=5", "a", "b"}, 1, "invalid value \"5\" for flag -timeout: parse error\n"},
      {{"kv", "get", "-recurse=maybe", "a"}, 1, "invalid boolean value \"maybe\" for -recurse: parse error\n"},
  };
  for (const auto& r : rows) {
    const auto s = run_cli(r.words);
    INFO(s.err.substr(0, 200));
    CHECK(s.code == r.code);
    CHECK(s.err.starts_with(r.err));
    CHECK(s.out.empty());
  }
}

TEST_CASE("nearest words", "[help]") {
  const std::vector<std::string_view> words = {"get", "put", "delete", "export"};
  CHECK(nearest("gte", words) == "get");
  CHECK(nearest("ge", words) == "get");
  CHECK(nearest("exp", words) == "export");
  CHECK(nearest("deletee", words) == "delete");
  CHECK(nearest("zzz", words).empty());
  CHECK(nearest("", words).empty());
  CHECK(nearest("x", words).empty());
  CHECK(nearest(std::string(100'000, 'g'), words).empty());
}

TEST_CASE("help of groups, and of everything", "[help]") {
  CHECK(run_cli({"help"}).out == run_cli({"-h"}).out);
  CHECK(run_cli({"help", "kv", "get"}).out == run_cli({"kv", "get", "-h"}).out);
  const auto all = run_cli({"help"});
  for (const auto& c : all_commands())
    CHECK(all.out.find("\n  " + std::string(c.name) + " ") != std::string::npos);
  const auto group = run_cli({"acl", "token", "-h"});
  CHECK(group.code == 0);
  CHECK(group.out.find("acl token create") != std::string::npos);
  CHECK(group.out.find("acl role") == std::string::npos);
}

TEST_CASE("output that cannot be written is an error", "[help]") {
  std::istringstream in;
  std::ofstream full("/dev/full");
  std::ostringstream err;
  CHECK(run({"version"}, {in, full, err}) == 1);
  CHECK(err.str() == "Error writing to the standard output: No space left on device\n");
}

TEST_CASE("bash completes commands, flags and their values", "[completion]") {
  const working_directory here;
  std::ofstream("belay.bash") << bash_completion(all_commands());
  std::ofstream("some.file") << "";
  struct row {
    const char* words; ///< a bash array, the last is completed
    const char* completed;
  };
  const row rows[] = {
      {"belay kv g", "get"},
      {"belay kv ''", "add delete export get history import put revert"},
      {"belay snap", "snapshot"},
      {"belay operator raft l", "list-peers"},
      {"belay kv get -rec", "-recurse"},
      {"belay kv get -sep", "-separator="},
      {"belay kv get -format = js", "json"},
      {"belay kv put a @", ""},
      {"belay snapshot inspect some", "some.file"},
      {"belay -", ""},
  };
  for (const auto& r : rows) {
    INFO(r.words);
    const auto script =
        std::string("bash --norc -c 'source belay.bash; COMP_WORDS=(") + r.words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _belay; echo ${COMPREPLY[*]}' 2>&1";
    std::string command = script;
    for (std::size_t at = 0; (at = command.find("''", at)) != std::string::npos && at > 10; at += 4)
      command.replace(at, 2, "\"\"");
    CHECK(output_of(command) == std::string(r.completed) + "\n");
  }
}

TEST_CASE("completions of zsh and fish, and the man page, have every command and flag", "[completion]") {
  const auto zsh = run_cli({"completion", "zsh"}), fish = run_cli({"completion", "fish"}), man = run_cli({"manual"});
  CHECK(zsh.code == 0);
  CHECK(fish.code == 0);
  CHECK(man.code == 0);
  CHECK(zsh.out.starts_with("#compdef belay\n"));
  CHECK(man.out.starts_with(".TH BELAY 1 "));
  for (const auto& c : all_commands()) {
    INFO(c.name);
    CHECK(zsh.out.find("    '" + std::string(c.name) + "')\n") != std::string::npos);
    auto in_roff = std::string(c.name);
    for (std::size_t at = 0; (at = in_roff.find('-', at)) != std::string::npos; at += 2)
      in_roff.insert(at, "\\");
    CHECK(man.out.find(".SS \"belay " + in_roff) != std::string::npos);
    for (const auto& f : all_flags(c)) {
      INFO(f.name);
      CHECK(fish.out.find("__belay_is '" + std::string(c.name) + "'\" -o " + std::string(f.name) + " ") !=
            std::string::npos);
    }
  }
  CHECK(run_cli({"completion"}).code == 1);
  CHECK(run_cli({"completion", "tcsh"}).code == 1);
}

// Flags after an argument were arguments: `diff A B -timeout=2s` compared `-timeout=2s`.
TEST_CASE("options after arguments are refused, by every command", "[help]") {
  for (const auto& c : all_commands()) {
    if (c.run == nullptr)
      continue; // the agent rejects arguments
    INFO(c.name);
    const bool runs_command = c.operands.find("COMMAND...") != c.operands.npos;
    if (runs_command && (c.operands.starts_with("COMMAND") || c.operands.starts_with("[COMMAND")))
      continue; // its first argument begins a command with options of its own
    for (const auto& f : all_flags(c)) {
      auto words = words_of(c.name);
      const auto option = "-" + std::string(f.name) + "=1";
      words.insert(words.end(), {"word", option});
      const auto r = run_cli(words);
      INFO(option);
      CHECK(r.code == 1);
      CHECK(r.err.starts_with("options must come before arguments: " + option + "\n"));
    }
  }
}

TEST_CASE("words that belong to a command, or follow --, are not options", "[help]") {
  const auto refused = [](const arguments& words) {
    return run_cli(words).err.starts_with("options must come before arguments");
  };
  // A port without a listener.
  const std::string nowhere = "-http-addr=127.0.0.1:1";
  CHECK(refused({"kv", "get", nowhere, "k", "-recurse"}));
  CHECK(refused({"kv", "get", nowhere, "k", "--recurse"}));
  CHECK(refused({"kv", "get", nowhere, "k", "-h"}));
  CHECK(refused({"kv", "get", nowhere, "k", "-recruse"})); // misspelt
  CHECK(refused({"kv", "put", nowhere, "k", "-cas"}));
  CHECK_FALSE(refused({"kv", "put", nowhere, "k", "-1"}));
  CHECK_FALSE(refused({"kv", "put", nowhere, "k", "-"}));
  CHECK_FALSE(refused({"kv", "put", nowhere, "--", "k", "-cas"}));
  CHECK_FALSE(refused({"kv", "get", nowhere, "--", "-recurse"}));
  CHECK(refused({"lock", nowhere, "x", "-n=2", "true"}));
  CHECK_FALSE(refused({"lock", nowhere, "x", "true", "-n=2"}));
  CHECK_FALSE(refused({"lock", nowhere, "x", "--", "-n=2"}));
}
