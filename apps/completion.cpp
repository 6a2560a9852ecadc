// SPDX-License-Identifier: Apache-2.0

// tulle completion: what a shell needs to complete the command line, from the commands themselves.
#include "tulle/core/registry.hpp"
#include "tulle/format/formats.hpp"
#include "tulle/gen/generate.hpp"

#include "apps/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <sstream>

namespace tulle::app {
namespace {

// What an argument is: MATRIX, GENERATOR, FILE, FOLDER, LAYOUT or LAYOUTS as its type or name says;
// WORDS, one of `choices`; otherwise nothing that could be completed.
struct argument {
  std::vector<std::string> names; // "-o", "--output"; none if it goes by its place
  std::string about, kind;
  std::vector<std::string> choices;
  bool takes_value = true, value_in_word = false; // --json[=FILE]
};

struct command {
  std::string path; // "tulle bench spmv"
  std::vector<std::pair<std::string, std::string>> commands;
  std::vector<argument> options, places;
};

std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);)
    parts.push_back(part);
  return parts;
}

// The first sentence, on one line.
std::string sentence(std::string text) {
  for (char const* const end : {"; ", ": ", ", ", "\n"})
    if (text.size() > 60)
      text = text.substr(0, text.find(end));
  return text;
}

argument describe(CLI::Option const& o) {
  argument a;
  for (std::string const& name : o.get_snames())
    a.names.push_back("-" + name);
  for (std::string const& name : o.get_lnames())
    a.names.push_back("--" + name);
  a.about = sentence(o.get_description());
  a.takes_value = o.get_expected_max() != 0;
  std::string const type = o.get_type_name(); // "N", "N:POSITIVE", ":{f32,f64}"
  auto const brace = type.find('{');
  std::string const first = type.substr(0, type.find(':'));
  if (brace != std::string::npos) {
    a.kind = "WORDS";
    a.choices = split(type.substr(brace + 1, type.find('}') - brace - 1), ',');
  } else {
    a.kind = first.empty() || first == "TEXT" ? o.get_name(true) : first;
    if (a.kind == "SPEC")
      a.kind = "GENERATOR";
  }
  if (!a.names.empty() && a.names.back() == "--json") {
    a.kind = "FILE";
    a.value_in_word = true;
  }
  return a;
}

void describe(CLI::App const& app, std::string const& path, std::vector<command>& all) {
  command c{path, {}, {}, {}};
  for (CLI::App const* const sub : app.get_subcommands({}))
    c.commands.emplace_back(sub->get_name(), sentence(sub->get_description()));
  for (CLI::Option const* const o : app.get_options()) {
    argument a = describe(*o);
    (a.names.empty() ? c.places : c.options).push_back(std::move(a));
  }
  all.push_back(std::move(c));
  for (CLI::App const* const sub : app.get_subcommands({}))
    describe(*sub, path + " " + sub->get_name(), all);
}

std::string words(std::vector<std::string> const& all) {
  return fmt::format("{}", fmt::join(all, " "));
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (format const f : all_formats)
    names.emplace_back(name(f));
  return names;
}

template <class Options>
void add_options_of(char const* format, std::vector<std::string>& to) {
  if constexpr (requires(Options o) { o.fields([](char const*, auto&) {}); }) {
    Options options;
    options.fields(
        [&](char const* name, auto&) { to.push_back(fmt::format("{}:{}=", format, name)); });
  }
}

template <class... Formats>
std::vector<std::string> options_of(std::tuple<Formats...> const*) {
  std::vector<std::string> all;
  (add_options_of<typename Formats::options>(name(owner_traits<Formats>::format), all), ...);
  return all;
}

// "csr5:omega=", "csr5:sigma=", ...
std::vector<std::string> format_options() {
  using formats = formats_over<double, std::int32_t, std::int32_t>::type;
  return options_of(static_cast<formats const*>(nullptr));
}

std::vector<std::string> generator_names() {
  std::vector<std::string> all;
  for (gen::generator_info const& g : gen::generators())
    all.push_back(fmt::format("{}:", g.name));
  return all;
}

std::vector<std::string> model_names() {
  std::vector<std::string> all;
  for (gen::model const& m : gen::models())
    all.push_back(fmt::format("like:{}", m.name));
  return all;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// What no shell changes between these quotes.
std::string in_quotes(std::string const& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string names_of(command const& c) {
  std::vector<std::string> all;
  for (argument const& a : c.options)
    all.insert(all.end(), a.names.begin(), a.names.end());
  return words(all);
}

std::string paths_of(std::vector<command> const& all, char const* between) {
  std::vector<std::string> paths;
  for (command const& c : all)
    if (c.path != "tulle")
      paths.push_back(in_quotes(c.path));
  return fmt::format("{}", fmt::join(paths, between));
}

// The names that any shell completes, and the paths of commands.
std::string with_names(std::string script, std::vector<command> const& all, char const* between) {
  script = replaced(script, "@PATHS@", paths_of(all, between));
  script = replaced(script, "@GENERATORS@", words(generator_names()));
  script = replaced(script, "@MODELS@", words(model_names()));
  script = replaced(script, "@FORMATS@", words(format_names()));
  return replaced(script, "@FORMAT_OPTIONS@", words(format_options()));
}

constexpr char const* bash_script =
    R"sh(# bash completion of tulle, written by 'tulle completion bash'
_tulle() {
  # Readline ends words at ':' and '=': what it took apart is put together again.
  local words=() word glue= i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $glue || $word == [:=]* ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    glue=
    [[ $word == *[:=] ]] && glue=1
  done
  local last=$((${#words[@]} - 1))
  local current=${words[last]} command=tulle options= kind= choices= prefix= value
  for ((i = 1; i < last; ++i)); do
    case "$command ${words[i]}" in
    @PATHS@) command+=" ${words[i]}" ;;
    esac
  done
  local option=${words[last-1]}
  value=$current
  if [[ $current == --*=* ]]; then
    option=${current%%=*}=
    prefix=$option
    value=${current#*=}
  fi
  case "$command $option" in
@VALUES@  *)
    case $command in
@PLACES@    esac
    if [[ $current == -?* || $current == - && $options != '' ]]; then
      kind=WORDS choices=$options
    fi ;;
  esac

  local IFS=$' \t\n' found=()
  local generators='@GENERATORS@'
  local models='@MODELS@'
  local formats='@FORMATS@'
  local format_options='@FORMAT_OPTIONS@'
  if [[ $kind == LAYOUTS ]]; then
    [[ $value == *,* ]] && prefix+=${value%,*},
    value=${value##*,}
    formats+=' all every'
  fi
  case $kind in
  WORDS) found=($(compgen -W "$choices" -- "$value")) ;;
  GENERATOR)
    [[ $value == gen:* ]] && prefix+=gen:
    value=${value#gen:}
    [[ $value == like:* ]] && generators=$models
    found=($(compgen -W "$generators" -- "$value")) ;;
  LAYOUT | LAYOUTS)
    [[ $value == *:* ]] && formats=$format_options
    found=($(compgen -W "$formats" -- "$value")) ;;
  MATRIX)
    if [[ $value == gen:* ]]; then
      prefix+=gen:
      value=${value#gen:}
      [[ $value == like:* ]] && generators=$models
      found=($(compgen -W "$generators" -- "$value"))
    else
      IFS=$'\n' found=($(compgen -f -- "$value"))
      if ((${#found[@]} == 0)); then
        [[ gen: == "$value"* ]] && found=(gen:)
      else
        compopt -o filenames 2>/dev/null
        [[ gen: == "$value"* ]] && found+=(gen:)
      fi
    fi ;;
  FILE)
    IFS=$'\n' found=($(compgen -f -- "$value"))
    compopt -o filenames 2>/dev/null ;;
  FOLDER)
    IFS=$'\n' found=($(compgen -d -- "$value"))
    compopt -o filenames 2>/dev/null ;;
  esac
  # Readline replaces what follows the last ':' or '=' only.
  local breaks=${COMP_WORDBREAKS//[^:=]/} typed=
  [[ $breaks && $current == *[$breaks]* ]] && typed=${current%"${current##*[$breaks]}"}
  COMPREPLY=()
  for word in "${found[@]}"; do
    word=$prefix$word
    COMPREPLY+=("${word#"$typed"}")
  done
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _tulle tulle
)sh";

// Cases of the options of a command: what may follow each.
std::string bash_values(command const& c) {
  std::string cases;
  for (argument const& a : c.options)
    if (a.takes_value || a.value_in_word) {
      std::vector<std::string> keys;
      for (std::string const& name : a.names) {
        if (a.takes_value)
          keys.push_back(in_quotes(c.path + " " + name));
        if (name.starts_with("--"))
          keys.push_back(in_quotes(c.path + " " + name + "="));
      }
      cases += fmt::format("    {}) kind={} choices={} ;;\n", fmt::join(keys, " | "),
                           in_quotes(a.kind), in_quotes(words(a.choices)));
    }
  return cases;
}

// The case of a command: its options, and what may stand without one.
std::string bash_places(command const& c) {
  std::vector<std::string> choices;
  for (auto const& [name, about] : c.commands)
    choices.push_back(name);
  std::string kind = choices.empty() ? "" : "WORDS";
  if (!c.places.empty()) { // those after the first are files, as a MATRIX may be
    kind = c.places.front().kind;
    choices = c.places.front().choices;
  }
  return fmt::format("      {})\n        options={}\n        kind={} choices={} ;;\n",
                     in_quotes(c.path), in_quotes(names_of(c)), in_quotes(kind),
                     in_quotes(words(choices)));
}

std::string bash(std::vector<command> const& all) {
  std::string values, places;
  for (command const& c : all) {
    values += bash_values(c);
    places += bash_places(c);
  }
  std::string script = with_names(bash_script, all, " | \\\n      ");
  script = replaced(script, "@VALUES@", values);
  return replaced(script, "@PLACES@", places);
}

// A description in a specification of zsh's _arguments.
std::string zsh_text(std::string text) {
  for (char const* const special : {"\\", "[", "]", ":"})
    text = replaced(text, special, std::string("\\") + special);
  return text;
}

std::string zsh_action(argument const& a) {
  if (a.kind == "WORDS")
    return "(" + words(a.choices) + ")";
  for (char const* const kind : {"MATRIX", "GENERATOR", "LAYOUT", "LAYOUTS"})
    if (a.kind == kind)
      return fmt::format("_tulle_{}", kind);
  return a.kind == "FILE" ? "_files" : a.kind == "FOLDER" ? "_files -/" : " ";
}

constexpr char const* zsh_script = R"sh(#compdef tulle
# zsh completion of tulle, written by 'tulle completion zsh'
_tulle_GENERATOR() {
  compset -P 'gen:'
  if [[ $PREFIX == like:* ]]; then
    compadd -- @MODELS@
  else
    compadd -S '' -- @GENERATORS@
  fi
}
_tulle_MATRIX() {
  if [[ $PREFIX == gen:* ]]; then
    _tulle_GENERATOR
  else
    _files
    compadd -S '' -- gen:
  fi
}
_tulle_LAYOUT() {
  if [[ $PREFIX == *:* ]]; then
    compadd -S '' -- @FORMAT_OPTIONS@
  else
    compadd -- @FORMATS@
  fi
}
_tulle_LAYOUTS() {
  compset -P '*,'
  _tulle_LAYOUT
  compadd -- all every
}
_tulle() {
  local command=tulle at=1 i
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command ${words[i]}" in
    (@PATHS@)
      command+=" ${words[i]}"
      at=$i ;;
    esac
  done
  words=("${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
  case $command in
@CASES@  esac
}
if [[ $funcstack[1] == _tulle ]]; then
  _tulle "$@"
else
  compdef _tulle tulle
fi
)sh";

std::string zsh_option(argument const& a, std::string const& name) {
  std::string const about = zsh_text(a.about);
  std::string const message = zsh_text(a.kind.empty() ? "value" : a.kind);
  if (a.value_in_word)
    return fmt::format("{}=-[{}]::{}:{}", name, about, message, zsh_action(a));
  if (!a.takes_value)
    return fmt::format("{}[{}]", name, about);
  char const* const equals = name.starts_with("--") ? "=" : "";
  return fmt::format("{}{}[{}]:{}:{}", name, equals, about, message, zsh_action(a));
}

// The case of a command: the specifications that _arguments gets.
std::string zsh_case(command const& c) {
  std::vector<std::string> specs;
  for (argument const& a : c.options)
    for (std::string const& name : a.names)
      specs.push_back(in_quotes(zsh_option(a, name)));
  for (argument const& a : c.places) {
    char const* const repeats = &a == &c.places.back() ? "*" : "";
    specs.push_back(in_quotes(fmt::format("{}:{}:{}", repeats, zsh_text(a.kind), zsh_action(a))));
  }
  if (!c.commands.empty()) {
    std::vector<std::string> named;
    for (auto const& [name, about] : c.commands)
      named.push_back(fmt::format("{}\\:\"{}\"", name, replaced(zsh_text(about), "\"", "")));
    specs.push_back(in_quotes(fmt::format(":command:(({}))", fmt::join(named, " "))));
  }
  return fmt::format("  {})\n    _arguments -S : \\\n      {} ;;\n", in_quotes(c.path),
                     fmt::join(specs, " \\\n      "));
}

std::string zsh(std::vector<command> const& all) {
  std::string cases;
  for (command const& c : all)
    cases += zsh_case(c);
  return replaced(with_names(zsh_script, all, " | \\\n      "), "@CASES@", cases);
}

// Of fish: the strings between its quotes.
std::string fish_quoted(std::string text) {
  return "'" + replaced(replaced(std::move(text), "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_value(argument const& a) {
  if (a.kind == "WORDS")
    return "-x -a " + fish_quoted(words(a.choices));
  for (char const* const kind : {"GENERATOR", "LAYOUT", "LAYOUTS"})
    if (a.kind == kind)
      return fmt::format("-x -a '(__tulle_{})'", kind);
  return a.kind == "MATRIX"   ? "-r -F -a '(__tulle_MATRIX)'"
         : a.kind == "FILE"   ? "-r -F"
         : a.kind == "FOLDER" ? "-x -a '(__fish_complete_directories)'"
                              : "-x";
}

constexpr char const* fish_script =
    R"sh(# fish completion of tulle, written by 'tulle completion fish'
function __tulle_at
    set -l path tulle
    for word in (commandline -opc)[2..-1]
        if contains -- "$path $word" @PATHS@
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
function __tulle_GENERATOR
    string split ' ' -- '@GENERATORS@' '@MODELS@'
end
function __tulle_MATRIX
    printf 'gen:%s\n' (__tulle_GENERATOR)
end
function __tulle_LAYOUT
    string split ' ' -- '@FORMATS@' '@FORMAT_OPTIONS@'
end
function __tulle_LAYOUTS
    set -l before (commandline -ct | string match -r '.*,')
    printf "$before%s\n" (__tulle_LAYOUT) all every
end
complete -c tulle -f
)sh";

// The lines of a command: what may follow it.
std::string fish_lines(command const& c) {
  std::string lines;
  std::string const here = "complete -c tulle -n " + fish_quoted("__tulle_at '" + c.path + "'");
  for (auto const& [name, about] : c.commands)
    lines += fmt::format("{} -a {} -d {}\n", here, name, fish_quoted(about));
  for (argument const& a : c.options) {
    lines += here;
    for (std::string const& name : a.names)
      lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (a.takes_value)
      lines += " " + fish_value(a);
    lines += fmt::format(" -d {}\n", fish_quoted(a.about));
  }
  for (argument const& a : c.places)
    if (std::string const value = fish_value(a); value.size() > 3) // without its -r or -x
      lines += fmt::format("{} {}\n", here, value.substr(3));
  return lines;
}

std::string fish(std::vector<command> const& all) {
  std::string script = with_names(fish_script, all, " ");
  for (command const& c : all)
    script += fish_lines(c);
  return script;
}

} // namespace

void add_completion_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("completion", "Print a script that completes tulle's commands in a shell");
  auto const shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "An installed tulle has these scripts where the shells look for them. Otherwise:\n\n"
      "  source <(tulle completion bash)                      in ~/.bashrc\n"
      "  source <(tulle completion zsh)                       in ~/.zshrc, after compinit\n"
      "  tulle completion fish > ~/.config/fish/completions/tulle.fish");
  command->callback([shell, &app] {
    std::vector<tulle::app::command> all;
    describe(app, "tulle", all);
    fmt::print("{}", *shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all));
  });
}

} // namespace tulle::app
