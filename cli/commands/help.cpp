// `belay completion` and `belay manual`: output that is made from the tables of commands.

#include "cli/commands/all.hpp"
#include "cli/flags/options.hpp"
#include "cli/help/completion.hpp"

#include <ostream>

namespace belay::cli {

namespace {

int completion(const options& o, terminal t) {
  if (o.words().size() == 1)
    for (const auto& [shell, script] :
         {std::pair("bash", &bash_completion), {"zsh", &zsh_completion}, {"fish", &fish_completion}})
      if (o.words()[0] == shell) {
        t.out << script(all_commands());
        return 0;
      }
  return o.wrong_usage(t, "One argument is required: bash, zsh or fish");
}

int man_page(const options&, terminal t) {
  t.out << manual(all_commands(), BELAY_VERSION);
  return 0;
}

} // namespace

std::vector<command> help_commands() {
  return {
      {.name = "completion",
       .help = "Print a completion script for a shell",
       .operands = "bash|zsh|fish",
       .asks = reach::nothing,
       .formats = false,
       .examples = {{"completion bash >/etc/bash_completion.d/belay",
                     "Install it for bash; `source <(belay completion bash)` is for this shell only"},
                    {"completion zsh >\"${fpath[1]}/_belay\"", "Install it for zsh"},
                    {"completion fish >~/.config/fish/completions/belay.fish", "Install it for fish"}},
       .run = completion},
      {.name = "manual",
       .help = "Print the man page",
       .asks = reach::nothing,
       .formats = false,
       .examples = {{"manual | man -l -", "Read it"}, {"manual >/usr/local/share/man/man1/belay.1", "Install it"}},
       .run = man_page},
  };
}

} // namespace belay::cli
