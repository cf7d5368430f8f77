"""The answer about a second GPU as sentences, for the window and the command line."""

from __future__ import annotations

from app.planner.second_gpu import SecondGpu, Worth
from app.words import say


def second_gpu_text(answer: SecondGpu) -> str:
    """One sentence for writing, one for prompts."""
    facts = {
        "devices": say("cli.comma").join(answer.devices),
        "alone": answer.alone,
        "with_tps": answer.decode_with,
        "without_tps": answer.decode_without,
        "with_read": answer.ram_read_with_bytes,
        "without_read": answer.ram_read_without_bytes,
    }
    decode = answer.decode.value
    if answer.decode is Worth.FASTER:
        decode = "fewer_bytes" if answer.decode_with is None else "faster_known"
    first = say(f"second_gpu.decode.{decode}", factor=answer.decode_factor, **facts)
    return say("ui.sentences", first=first, second=prompt_text(answer))


def prompt_text(answer: SecondGpu) -> str:
    """The sentence for prompts alone."""
    return say(f"second_gpu.prompt.{answer.prompt.value}", factor=answer.prompt_factor)


def gain_text(answer: SecondGpu) -> str:
    """What writing gains, in two or three words."""
    if answer.decode_with is not None and answer.decode_without is not None and answer.decode is Worth.FASTER:
        return say("second_gpu.row.faster", tps=answer.decode_with - answer.decode_without)
    if answer.decode in (Worth.FASTER, Worth.MORE_IN_VRAM):
        saved = answer.ram_read_without_bytes - answer.ram_read_with_bytes
        return say("second_gpu.row.fewer_bytes", size=saved)
    return say("second_gpu.row.unknown" if answer.decode is Worth.UNKNOWN else "second_gpu.row.none")
