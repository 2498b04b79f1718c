#include "cli/help/completion.hpp"

#include "cli/help/usage.hpp"

#include <map>
#include <set>

namespace belay::cli {

namespace {

/// The words that may follow other words: each next word, once, with its help.
std::map<std::string, std::map<std::string, std::string>> words_behind(const std::vector<command>& commands) {
  std::map<std::string, std::map<std::string, std::string>> out;
  for (const auto& c : commands)
    for (std::size_t at = 0;;) {
      const auto blank = c.name.find(' ', at);
      const auto word = std::string(c.name.substr(at, blank == c.name.npos ? blank : blank - at));
      const auto before = at == 0 ? std::string() : std::string(c.name.substr(0, at - 1));
      const bool whole = blank == c.name.npos;
      auto& help = out[before][word];
      if (whole || help.empty())
        help = whole ? std::string(c.help) : "Commands of " + word;
      if (whole)
        break;
      at = blank + 1;
    }
  return out;
}

bool takes_file(const flag& f) {
  return f.value == "<file>" || f.value == "<folder>";
}

/// Quotes text for a shell.
std::string quoted_for_shell(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string without_colons(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos)
      out += '\\';
    out += c;
  }
  return out;
}

/// `-name` for a toggle, `-name=` for a flag that takes a value.
std::string word_of(const flag& f) {
  return "-" + std::string(f.name) + (f.kind == flag_kind::toggle ? "" : "=");
}

} // namespace

std::string bash_completion(const std::vector<command>& commands) {
  std::string out =
      "# bash completion of belay: source <(belay completion bash)\n"
      "_belay() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before= i w\n"
      "  # The shell takes -flag=value apart at the equals sign.\n"
      "  local flag= value=\n"
      "  if [[ $word == = ]]; then flag=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then flag=${COMP_WORDS[COMP_CWORD-2]} value=$word; fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    w=${COMP_WORDS[i]}\n"
      "    [[ $w == -* || $w == = ]] && break\n"
      "    case \" ${before:+$before }$w\" in\n";
  std::set<std::string> prefixes;
  for (const auto& c : commands) {
    prefixes.insert(std::string(c.name));
    for (auto at = c.name.find(' '); at != c.name.npos; at = c.name.find(' ', at + 1))
      prefixes.insert(std::string(c.name.substr(0, at)));
  }
  for (const auto& p : prefixes)
    out += "      \" " + p + "\") before='" + p + "' ;;\n";
  out += "      *) break ;;\n"
         "    esac\n"
         "  done\n"
         "  local words=\n"
         "  case \"$before $flag\" in\n";
  for (const auto& c : commands)
    for (const auto& f : all_flags(c)) {
      std::string values;
      for (const auto v : choices(f))
        values += (values.empty() ? "" : " ") + std::string(v);
      if (!values.empty())
        out += "    '" + std::string(c.name) + " -" + std::string(f.name) + "') COMPREPLY=($(compgen -W '" + values +
               "' -- \"$value\")); return ;;\n";
    }
  out += "  esac\n"
         "  if [[ -n $flag ]]; then COMPREPLY=($(compgen -f -- \"$value\")); return; fi\n"
         "  case \"$before\" in\n";
  for (const auto& [before, next] : words_behind(commands)) {
    out += "    '" + before + "') words='";
    for (const auto& [word, help] : next)
      out += (word == next.begin()->first ? "" : " ") + word;
    out += "' ;;\n";
  }
  for (const auto& c : commands) {
    out += "    '" + std::string(c.name) + "') words='";
    std::string flags = "-h";
    for (const auto& f : all_flags(c))
      flags += " " + word_of(f);
    out += flags + "' ;;\n";
  }
  out += "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  [[ ${#COMPREPLY[@]} -eq 0 && $word != -* ]] && COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
         "}\n"
         "complete -o filenames -F _belay belay\n";
  return out;
}

std::string zsh_completion(const std::vector<command>& commands) {
  std::string out = "#compdef belay\n"
                    "# zsh completion of belay: belay completion zsh >\"${fpath[1]}/_belay\"\n"
                    "_belay() {\n"
                    "  local before= w\n"
                    "  local -a next\n"
                    "  integer at=2\n"
                    "  while (( at < CURRENT )); do\n"
                    "    w=${words[at]}\n"
                    "    [[ $w == -* ]] && break\n"
                    "    case \"${before:+$before }$w\" in\n";
  std::set<std::string> prefixes;
  for (const auto& c : commands) {
    prefixes.insert(std::string(c.name));
    for (auto blank = c.name.find(' '); blank != c.name.npos; blank = c.name.find(' ', blank + 1))
      prefixes.insert(std::string(c.name.substr(0, blank)));
  }
  std::string all;
  for (const auto& p : prefixes)
    all += (all.empty() ? "      " : "|") + quoted_for_shell(p);
  out += all + ") before=\"${before:+$before }$w\" ;;\n"
               "      *) break ;;\n"
               "    esac\n"
               "    (( at++ ))\n"
               "  done\n"
               "  case \"$before\" in\n";
  for (const auto& [before, next] : words_behind(commands)) {
    out += "    " + quoted_for_shell(before) + ")\n      next=(";
    for (const auto& [word, help] : next)
      out += "\n        " + quoted_for_shell(word + ":" + without_colons(help, ":"));
    out += ")\n      _describe command next ;;\n";
  }
  for (const auto& c : commands) {
    out += "    " + quoted_for_shell(c.name) +
           ")\n      words=(belay ${words[at,-1]}); (( CURRENT -= at - 2 ))\n      _arguments";
    for (const auto& f : all_flags(c)) {
      auto spec = (f.kind == flag_kind::list ? "*" : "") + word_of(f) + (f.kind == flag_kind::toggle ? "" : "") + "[" +
                  without_colons(f.help, "[]:") + "]";
      if (f.kind != flag_kind::toggle) {
        spec += ":" + std::string(f.name) + ":";
        std::string values;
        for (const auto v : choices(f))
          values += (values.empty() ? "" : " ") + std::string(v);
        spec += !values.empty() ? "(" + values + ")" : takes_file(f) ? "_files" : " ";
      }
      out += " \\\n        " + quoted_for_shell(spec);
    }
    out += " \\\n        '*:file:_files' ;;\n";
  }
  return out + "  esac\n}\n_belay \"$@\"\n";
}

std::string fish_completion(const std::vector<command>& commands) {
  std::string out = "# fish completion of belay: belay completion fish >~/.config/fish/completions/belay.fish\n"
                    "function __belay_is\n"
                    "  set -l words (commandline -opc)\n"
                    "  set -l name\n"
                    "  for w in $words[2..-1]\n"
                    "    string match -q -- '-*' $w; and break\n"
                    "    set -a name $w\n"
                    "  end\n"
                    "  set -l wanted (string split ' ' -- $argv[1])\n"
                    "  test -z \"$argv[1]\"; and set wanted\n"
                    "  test \"$argv[2]\" = exactly; and test (count $name) -ne (count $wanted); and return 1\n"
                    "  test (count $name) -lt (count $wanted); and return 1\n"
                    "  for i in (seq (count $wanted))\n"
                    "    test \"$name[$i]\" = \"$wanted[$i]\"; or return 1\n"
                    "  end\n"
                    "  return 0\n"
                    "end\n"
                    "complete -c belay -f\n";
  for (const auto& [before, next] : words_behind(commands))
    for (const auto& [word, help] : next)
      out += "complete -c belay -n \"__belay_is '" + before + "' exactly\" -a " + word + " -d " +
             quoted_for_shell(help) + "\n";
  for (const auto& c : commands) {
    const auto when = "complete -c belay -n \"__belay_is '" + std::string(c.name) + "'\"";
    for (const auto& f : all_flags(c)) {
      out += when + " -o " + std::string(f.name) + " -d " + quoted_for_shell(f.help);
      if (f.kind != flag_kind::toggle) {
        std::string values;
        for (const auto v : choices(f))
          values += (values.empty() ? "" : " ") + std::string(v);
        out += !values.empty() ? " -x -a " + quoted_for_shell(values) : takes_file(f) ? " -r -F" : " -x";
      }
      out += "\n";
    }
    if (!c.operands.empty())
      out += when + " -F\n";
  }
  return out;
}

} // namespace belay::cli
