"""A file to download as words, the same in the window and on the command line."""

from __future__ import annotations

from app.words import say
from app.work.hub.choices import Choice, VerdictBasis
from app.work.hub.listing import RemoteSet
from app.work.library.words import verdict_words


def set_title(each: RemoteSet) -> str:
    """Its name, with the number of parts of a split one."""
    return each.name if len(each.files) == 1 else say("hub.set.parts", name=each.name, n=len(each.files))


def choice_words(choice: Choice) -> str:
    """The verdict, or what takes its place."""
    if choice.set.is_projector:
        return say("hub.set.projector")
    if choice.verdict is None:
        return say("hub.fits_by_size" if choice.basis is VerdictBasis.SIZE else "hub.basis.none")
    return verdict_words(choice.verdict)
