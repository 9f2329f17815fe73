"""Lines and tables of a terminal: nothing is left out, and nothing in them is a style or a command."""

from __future__ import annotations

from rich.console import Console

from pcevolve.public.screen import lay_out, print_table


def test_titles_stand_at_the_left_of_what_is_told_and_a_name_in_brackets_is_no_style():
    console = Console(width=40, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(lay_out([("run", "[red]cats[/red] " + "x" * 40), ("epsilon", "2")], heading="What came"))
    lines = [each.rstrip() for each in console.export_text().splitlines()]
    assert lines[0] == "What came"
    assert lines[1].startswith("run       [red]cats[/red]")
    assert lines[-1] == "epsilon   2"
    assert "".join(each.strip() for each in lines).count("x") == 40


def test_a_table_in_a_file_is_wide_and_cells_command_no_terminal(capsys):
    print_table("Runs", ["name", "said"], [["a" * 150, "[bold]b\x1b[2J\nsecond"]])
    out = capsys.readouterr().out
    assert "a" * 150 in out
    assert "[bold]b [2J" in out
    assert "\x1b" not in out


def test_a_narrow_table_folds_and_leaves_nothing_out(capsys):
    print_table("Runs", ["name"], [["ab" * 100]], columns=80, lines=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("ab") + "".join(lines).count("ba") >= 100
    assert sum(each.count("a") for each in lines) == 100 + "name".count("a")
