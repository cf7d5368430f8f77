"""The bench: short logs of every kind of failure that engines and wrappers print, and of runs that went well."""

import functools

import pytest

from app.common.problem import Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts
from app.engine.failure import is_worth_a_look
from app.engine.failure_rules import RULES
from app.engine.failure_warnings import WARNINGS
from app.engine.loglines import clean_line
from app.words import Language, set_language
from app.work.doctor_text import words_of
from tests.tools.bench_logs import BENCH, bench_logs

LOGS = bench_logs()
FAILED = [log for log in LOGS if log.code is not None]
GOOD = [log for log in LOGS if log.code is None]


@functools.cache
def found(lines):
    return examine(Facts(log=read_log(lines)))


def test_that_the_bench_is_large_enough_to_mean_something():
    assert len(FAILED) >= 250
    assert len(GOOD) >= 40
    assert len({log.name for log in LOGS}) == len(LOGS)
    assert len({log.code for log in FAILED}) >= 75


@pytest.mark.parametrize("area", sorted({log.name.split(":")[0] for log in FAILED}))
def test_that_the_cause_stands_first(area):
    assert (BENCH / f"{area}.txt").exists()
    wrong = []
    for log in (log for log in FAILED if log.name.startswith(f"{area}:")):
        first = next(iter(found(log.lines)), None)
        if first is None or first.code not in {log.code, *log.aliases} or not first.evidence:
            wrong.append((log.name, log.code, first))
        elif first.code == log.code and any(str(first.params.get(name)) != log.params[name] for name in log.params):
            wrong.append((log.name, log.params, dict(first.params)))
    assert wrong == []


def test_that_nothing_is_called_an_error_in_a_run_that_went_well():
    errors = {log.name: [f.code for f in found(log.lines) if f.severity is Severity.ERROR] for log in GOOD}
    assert {name: codes for name, codes in errors.items() if codes} == {}


@pytest.mark.slow
def test_that_no_line_that_tells_a_cause_is_passed_over_by_the_first_look():
    tables = [rule.pattern for rule in (*RULES, *WARNINGS)]
    lines = {clean_line(line).text for log in FAILED for line in log.lines}
    telling = {line for line in lines if any(pattern.search(line) for pattern in tables)}
    assert len(telling) > 300
    assert {line for line in telling if not is_worth_a_look(line)} == set()


@pytest.mark.slow
def test_that_every_cause_is_a_whole_sentence_in_both_languages():
    firsts = {log.code: found(log.lines)[0] for log in FAILED}
    for language in Language:
        set_language(language)
        for finding in firsts.values():
            sentence = words_of(finding).sentence
            assert len(sentence) > 15
            assert "{" not in sentence or any("{" in str(value) for value in finding.params.values())
    set_language(Language.EN)
