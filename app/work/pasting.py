"""A pasted command judged for one model and one machine: what the window's paste box shows and loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from app.common.problem import Problem, Severity, fail
from app.diagnose.lint import LintReport, lint
from app.planner.command_import import ImportedCommand, read_command
from app.planner.flag_table import Given
from app.planner.pasted import Pasted, PasteError, read_pasted
from app.planner.plan import PlanInputs
from app.work.companions import with_companions
from app.work.reach import listen_problems


@dataclass(frozen=True, slots=True)
class PasteCheck:
    """``problems``: those of the command and those of the paste itself, worst first. ``report.meant`` is what would be
    loaded onto the board, ``report.converted`` its command."""

    pasted: Pasted
    command: ImportedCommand
    report: LintReport
    problems: tuple[Problem, ...]


def read_paste(text: str) -> Pasted:
    """The command in a text. Raises ProblemError ``import_empty``, ``import_quote``, ``import_json``,
    ``import_no_options`` or ``import_too_long``."""
    try:
        return read_pasted(text)
    except PasteError as error:
        raise fail(f"import_{error.reason}") from error


def check_paste(text: str, inputs: PlanInputs, around: Sequence[Given] = ()) -> PasteCheck:
    """Read and check a pasted command; at most seconds, whatever was pasted. Raises ProblemError as ``read_paste``.

    ``around``: what configuration files and variables of this machine add.
    """
    pasted = read_paste(text)
    command = read_command(pasted.argv, inputs.capabilities, pasted.variables)
    command, inputs = with_companions(command, inputs)
    report = lint(command, inputs, around)
    order = list(Severity)
    found = (*report.problems, *_about_paste(pasted, command, inputs))
    return PasteCheck(pasted, command, report, tuple(sorted(found, key=lambda p: order.index(p.severity))))


def _about_paste(pasted: Pasted, command: ImportedCommand, inputs: PlanInputs) -> list[Problem]:
    found = [Problem("import_variable", Severity.WARNING, {"name": name}) for name in pasted.unset]
    named, here = _file_name(command.model_path), _file_name(inputs.model.path)
    if named and named.lower() != here.lower():
        found.append(Problem("paste_other_model", Severity.WARNING, {"named": named, "here": here}))
    found += listen_problems(command.host)
    strangers = [server for server in command.rpc_servers if server not in inputs.devices.rpc_servers]
    if strangers:
        found.append(Problem("paste_rpc_servers", Severity.WARNING, {"servers": ", ".join(strangers)}))
    return found


def _file_name(path: str | None) -> str:
    """The last part of a path of any system: a command may come from another one."""
    return "" if path is None else PureWindowsPath(PurePosixPath(path).name).name
