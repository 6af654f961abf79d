"""The command line: run an experiment, list them, show what a run found."""

import contextlib
import dataclasses
import io
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

USAGE = """\
usage: neurosim run NAME [--preset quick|paper] [--set FIELD=VALUE ...] [options]
       neurosim list
       neurosim show RUN_DIR

run   runs an experiment into a folder of its own and prints its table
list  lists the experiments
show  prints config, metrics and figures of a run

neurosim run NAME --help lists every option of an experiment.
"""


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How to run, as against what."""

    preset: str = "quick"
    """The config to start from: quick takes about a minute, paper has the published sizes."""
    run_dir: Path | None = None
    """The folder of the run. Default: the next free RUNS/NAME/PRESET-NNN."""
    runs: Path = Path("runs")
    """The folder under which runs get folders of their own."""
    resume: bool = False
    """Go on with the run in --run-dir, or with the newest of this preset that was cut short. Its
    config is taken from its folder."""
    quiet: bool = False
    """Show no progress."""


class UsageError(ValueError):
    """The command line cannot be understood."""


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status: 0, or 1 for an error, 2 for a wrong command line,
    130 after Ctrl-C."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(argv)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"neurosim: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output, `head` for one, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, ArithmeticError, OSError) as error:
        print(f"neurosim: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("neurosim: interrupted; what was done is saved, --resume goes on.", file=sys.stderr)
        return 130


def _dispatch(argv: list[str]) -> int:
    command, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    asks_for_help = any(arg in ("-h", "--help") for arg in rest)
    if command in ("-h", "--help", "help") or (command in ("list", "show") and asks_for_help):
        print(USAGE, end="")
        return 0
    if command == "--version":
        from . import __version__

        print(__version__)
        return 0
    if command == "list":
        return _list(rest)
    if command == "run":
        return _run(rest)
    if command == "show":
        return _show(rest)
    import difflib

    near = difflib.get_close_matches(command, ["run", "list", "show"], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "known: run, list, show."
    raise UsageError(f"there is no command {command!r}; {hint}")


def _list(rest: list[str]) -> int:
    if rest:
        raise UsageError(f"list takes no arguments, got {rest[0]!r}.")
    from .experiments import experiment_names, get_experiment

    names = experiment_names()
    width = max(map(len, names))
    for name in names:
        print(f"{name.ljust(width)}  {get_experiment(name).summary}")
    return 0


def _run(rest: list[str]) -> int:
    if not rest or rest[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if rest else 2
    from .experiments import get_experiment, run_experiment
    from .experiments.run_directory import latest_unfinished, new_run_path, stored_config

    experiment = get_experiment(rest[0])
    options, config = parse_run(experiment, rest[1:])
    path = options.run_dir
    if options.resume:
        path = path or latest_unfinished(options.runs, experiment.name, options.preset)
        if path is None:
            raise ValueError(
                f"no unfinished run of {experiment.name} with preset {options.preset} under "
                f"{options.runs}: name one by --run-dir."
            )
        if (path / "config.json").exists():
            # The folder says what is run; what the command line says besides must agree with it.
            stored = stored_config(path, experiment.name, experiment.config)
            _, config = parse_run(experiment, rest[1:], base=stored)
    if path is None:
        path = new_run_path(options.runs, experiment.name, options.preset)
    result = run_experiment(
        experiment,
        config,
        run_dir=path,
        resume=options.resume,
        progress=False if options.quiet else None,
    )
    print(result.table)
    _print_files(path)
    return 0


def parse_run(experiment: Any, args: list[str], *, base: Any = None) -> tuple[RunOptions, Any]:
    """Options and config from the arguments of `neurosim run NAME`.

    The arguments change `base`, which is the preset's config by default.

    **Raises:** `UsageError` of one line for an unknown option, preset or value.
    """
    import tyro

    args = _spell_out_set(args)
    preset = _preset(args)
    if preset not in experiment.presets:
        known = ", ".join(experiment.presets)
        raise UsageError(f"there is no preset {preset!r} of {experiment.name}; known: {known}.")
    combined = dataclasses.make_dataclass(
        "Run",
        [
            (
                "config",
                Annotated[experiment.config, tyro.conf.arg(name="")],
                dataclasses.field(default=base or experiment.presets[preset]),
            )
        ],
        bases=(RunOptions,),
        frozen=True,
    )
    shown = io.StringIO()
    try:
        with contextlib.redirect_stderr(shown):
            parsed: Any = tyro.cli(
                combined,
                args=args,
                prog=f"neurosim run {experiment.name}",
                description=experiment.summary,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise UsageError(_one_line(shown.getvalue())) from None
    except ValueError as error:  # a config that refuses its own values
        raise UsageError(" ".join(str(error).split())) from None
    fields = {f.name: getattr(parsed, f.name) for f in dataclasses.fields(RunOptions)}
    return RunOptions(**fields), parsed.config


def _spell_out_set(args: list[str]) -> list[str]:
    """`--set train.steps=10` as `--train.steps 10`."""
    spelled, waiting = [], False
    for arg in args:
        value = None
        if waiting:
            value, waiting = arg, False
        elif arg == "--set":
            waiting = True
        elif arg.startswith("--set="):
            value = arg.removeprefix("--set=")
        else:
            spelled.append(arg)
        if value is not None:
            name, equals, content = value.partition("=")
            if not (name and equals):
                raise UsageError(f"--set takes FIELD=VALUE, got {value!r}.")
            spelled += [f"--{name}", *(content.split(",") if "," in content else [content])]
    if waiting:
        raise UsageError("--set takes FIELD=VALUE, got nothing.")
    return spelled


def _preset(args: list[str]) -> str:
    """The last preset named, as the parser takes the last of repeated options."""
    preset = "quick"
    for arg, following in zip(args, [*args[1:], ""]):
        if arg == "--preset":
            preset = following
        elif arg.startswith("--preset="):
            preset = arg.removeprefix("--preset=")
    return preset


def _one_line(box: str) -> str:
    """The parser's message without its frame."""
    lines = [re.sub(r"[│╭╮╰╯─]", " ", line).strip() for line in box.splitlines()]
    title, *body = [line for line in lines if line] or ["wrong command line"]
    kept = []
    for line in body:
        if line.startswith(("For full helptext", "Argument helptext")):
            break
        if not line.startswith("(default"):
            kept.append(line)
    return " ".join(kept) or title


def _show(rest: list[str]) -> int:
    if len(rest) != 1 or rest[0].startswith("-"):
        raise UsageError("show takes one RUN_DIR.")
    from .experiments.run_directory import read_json
    from .training import is_locked

    path = Path(rest[0])
    if not (path / "config.json").exists():
        raise ValueError(f"{path} holds no run: a folder with a config.json is needed.")
    config = read_json(path / "config.json")
    status = path / "status.json"
    state = read_json(status) if status.exists() else {"status": "unknown"}
    if state["status"] == "running" and not is_locked(path):
        state["status"] = "stopped, go on with run --resume"
    print(f"experiment  {config['experiment']}")
    print(f"status      {state.pop('status')}" + "".join(f"  {k}: {v}" for k, v in state.items()))
    print("config")
    for name, value in _flat(config["config"]):
        print(f"  {name} = {value}")
    for metrics in sorted(path.glob("train/*/metrics.jsonl")):
        lines = metrics.read_text().splitlines()
        if lines:
            print(f"metrics     {metrics}: {len(lines)} records, last {lines[-1]}")
    if (path / "results.json").exists():
        print(read_json(path / "results.json")["table"])
    _print_files(path)
    return 0


def _print_files(path: Path) -> None:
    if (path / "results.json").exists():
        print(f"results  {path / 'results.json'}")
    for figure in sorted((path / "figures").glob("*.png")):
        print(f"figure   {figure}")


def _flat(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    else:
        yield name, value


if __name__ == "__main__":
    raise SystemExit(main())
