"""Joins the areas' entries into one catalogue; the same code in two areas is a mistake and raises at import."""

from __future__ import annotations

from app.words import (
    _texts_cli,
    _texts_command,
    _texts_companions,
    _texts_devices,
    _texts_doctor,
    _texts_doctor_log,
    _texts_doctor_page,
    _texts_downloads,
    _texts_effort,
    _texts_engine,
    _texts_engines,
    _texts_everyday,
    _texts_export,
    _texts_facts,
    _texts_fits,
    _texts_gpu_live,
    _texts_hardware,
    _texts_learned,
    _texts_lint,
    _texts_machine,
    _texts_model,
    _texts_models,
    _texts_other_apps,
    _texts_plan,
    _texts_run_live,
    _texts_run_plots,
    _texts_speed,
    _texts_tour,
    _texts_ui_files,
    _texts_ui_plan,
    _texts_ui_run,
    _texts_updates,
)


def _join() -> dict[str, tuple[str, str]]:
    joined: dict[str, tuple[str, str]] = {}
    areas = (
        _texts_model,
        _texts_models,
        _texts_hardware,
        _texts_facts,
        _texts_gpu_live,
        _texts_machine,
        _texts_other_apps,
        _texts_plan,
        _texts_speed,
        _texts_tour,
        _texts_command,
        _texts_companions,
        _texts_lint,
        _texts_export,
        _texts_fits,
        _texts_devices,
        _texts_doctor,
        _texts_doctor_log,
        _texts_doctor_page,
        _texts_engine,
        _texts_downloads,
        _texts_engines,
        _texts_learned,
        _texts_cli,
        _texts_ui_plan,
        _texts_ui_files,
        _texts_ui_run,
        _texts_run_live,
        _texts_run_plots,
        _texts_effort,
        _texts_updates,
        _texts_everyday,
    )
    for area in areas:
        for code, pair in area.ENTRIES.items():
            if code in joined:
                raise ValueError(f"words: {code} is defined twice")
            joined[code] = pair
    return joined


ENTRIES = _join()
