"""``inspect``: what a GGUF header says. Reads neither the machine nor the engine."""

from __future__ import annotations

from argparse import Namespace

from app.cli.arguments import VerbParser, model_path
from app.cli.console import print_json, print_text
from app.work.models import open_model


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    parser.group("file").model()
    parser.group("output").switch("--tensors")


def run(options: Namespace) -> int:
    """Print the header's facts."""
    from app.cli.inspect_output import inspect_json, inspect_text

    model = open_model(model_path(options, "inspect"))
    if options.json:
        print_json(inspect_json(model, with_tensors=options.tensors))
    else:
        print_text(inspect_text(model, with_tensors=options.tensors))
    return 0
