"""`edgewise completion`: a script by which a shell completes commands, options, presets, runs and files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgewise.cli import COMMANDS
from edgewise.cli.grammar import Grammar, grammar_of
from edgewise.cli.helping import described

PACKAGE = Path(__file__).resolve().parent.parent
FILES = ("FOLDER", "FILE", "FILE.py:NAME", "PROBLEM")

BASH = """_edgewise() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" kind= options= file= name= kept=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
    return
  fi
  # Behind `file.py:` names in it. Bash parts words at colons, zsh does not.
  if [ "$word" = : ]; then file="$before"
  elif [ "$before" = : ]; then file="${{COMP_WORDS[COMP_CWORD-2]}}" name="$word"
  else case "$word" in *.py:*) file="${{word%:*}}" name="${{word##*:}}" kept="${{word%:*}}:" ;; esac
  fi
  if [ -f "$file" ] && [ "${{file%.py}}" != "$file" ]; then
    COMPREPLY=($(compgen -P "$kept" -W "$(sed -nE '{names}' "$file")" -- "$name"))
    return
  fi
  case "$command" in
{cases}
  esac
  case "$command $before" in
{values}
  esac
  case "$kind" in
    flag) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    RUN) COMPREPLY=($(compgen -W "{runs}" -- "$word") $(compgen -d -- "$word")) ;;
    PROBLEM) COMPREPLY=($(compgen -W "{problems}" -- "$word") {python}) ;;
    FILE.py:NAME) COMPREPLY=({python}) ;;
    {files}) COMPREPLY=($(compgen -f -- "$word")) ;;
    *"|"*) COMPREPLY=($(compgen -W "${{kind//|/ }}" -- "$word")) ;;
    *) COMPREPLY=() ;;
  esac
  # A colon may follow.
  case "$kind ${{COMPREPLY[*]}}" in PROBLEM*.py|FILE.py:NAME*.py) compopt -o nospace 2> /dev/null ;; esac
}}
complete -o filenames -F _edgewise edgewise
"""
# Files of Python, and folders that may have some.
PYTHON = """$(compgen -f -X '!*.py' -- "$word") $(compgen -d -- "$word")"""
# What may be a problem in a file: what a line gives a value to, and functions without arguments.
NAMES = r"s/^([A-Za-z][A-Za-z0-9_]*)(: [^=]*)? *= .*/\1/p; s/^def ([A-Za-z][A-Za-z0-9_]*)\(\).*/\1/p"
# Where zsh has not begun to complete, it begins here; scripts of bash it then reads itself.
ZSH = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"


def run(command: Any) -> None:
    scripts = {"bash": bash, "zsh": lambda: ZSH + bash(), "fish": fish}
    print(scripts[command.shell](), end="")


def bash() -> str:
    grammars = {name: grammar_of(command) for name, command in COMMANDS.items()}
    cases, values = [], []
    for name, grammar in grammars.items():
        options = " ".join(grammar.options)
        kind = grammar.positional[0] if grammar.positional else "flag"
        cases.append(f'    {name}) options="{options}" kind="{kind}" ;;')
        values += [f'    "{name} {option}") kind="{kind}" ;;' for option, kind in grammar.options.items() if kind]
    # A word that begins with a hyphen is an option, unless it is the value of one.
    values.append('    *) case "$word" in -*) kind=flag ;; esac ;;')
    return BASH.format(
        commands=" ".join(grammars),
        cases="\n".join(cases),
        values="\n".join(values),
        runs=" ".join(runs()),
        problems=" ".join(problems()),
        python=PYTHON,
        names=NAMES,
        files="|".join(kind for kind in FILES if kind not in ("PROBLEM", "FILE.py:NAME")),
    )


def fish() -> str:
    lines = ["complete -c edgewise -f"]
    lines += [
        f"complete -c edgewise -n __fish_use_subcommand -a {name} -d {_quoted(_summary(command))}"
        for name, command in COMMANDS.items()
    ]
    for name, command in COMMANDS.items():
        lines += _fish_lines(f"complete -c edgewise -n '__fish_seen_subcommand_from {name}'", grammar_of(command))
    return "\n".join(lines) + "\n"


def _fish_lines(start: str, grammar: Grammar) -> Iterable[str]:
    for kind in grammar.positional:
        words = {"RUN": [*runs(), "(__fish_complete_directories)"], "PROBLEM": problems()}.get(kind, kind.split("|"))
        yield f"{start} {'-F ' * (kind in FILES)}-a {_quoted(' '.join(words))}"
    for option, kind in grammar.options.items():
        value = "" if kind is None else " -r -F" if kind in FILES else f" -x -a {_quoted(_choices(kind))}"
        yield f"{start} -l {option.removeprefix('--')}{value}"


def _choices(kind: str) -> str:
    return kind.replace("|", " ") if "|" in kind else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _summary(command: type) -> str:
    """The first sentence of what help says, up to its colon."""
    return described(command)[0].partition(". ")[0].partition(":")[0].rstrip(".")


# By the names of files: to import the presets would import JAX.
def runs() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("operators/*/config.json"))


def problems() -> list[str]:
    return sorted(path.stem.replace("_", "-") for path in PACKAGE.glob("presets/[a-z]*.py"))
