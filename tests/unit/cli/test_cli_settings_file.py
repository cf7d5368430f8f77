"""``import --settings``: another program's file instead of a command."""

import json


def test_that_import_makes_a_plan_of_the_file_and_names_what_was_left_out(run, moe, tmp_path):
    path = tmp_path / "我的 settings.kcpps"
    path.write_text(
        json.dumps({"contextsize": 512, "gpulayers": 0, "threads": 3, "smartcontext": True}), encoding="utf-8"
    )
    said = run("import", moe, "--settings", path, "--json")
    plan = json.loads(said.out)
    assert said.code == 0
    argv = plan["argv"]
    assert (argv[argv.index("-c") + 1], argv[argv.index("-t") + 1]) == ("512", "3")
    left = [problem for problem in plan["problems"] if problem["code"] == "foreign_left_out"]
    assert [problem["params"]["name"] for problem in left] == ["smartcontext"]


def test_that_a_file_of_no_known_program_is_bad_input(run, moe, tmp_path):
    path = tmp_path / "a.kcpps"
    path.write_text("{}", encoding="utf-8")
    said = run("import", moe, "--settings", path)
    assert said.code == 2
    assert "a.kcpps holds no settings" in said.err
