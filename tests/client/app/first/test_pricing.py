"""What a budget buys, told before it is spent."""

from __future__ import annotations

from pcevolve.app.first.pricing import compare_budgets


def test_an_outlook_is_for_several_classes_whose_means_are_released(check, folder):
    assert "your classes may be more alike" in check()[1]
    alone = (folder / "cut", "--shots", 4, "--set", "data.unlabelled=true")
    for code, told in (check(folder, "--shots", 4, "--method", "pe"), check(*alone)):
        assert code == 0
        assert "more alike" not in told


def test_an_outlook_never_gets_worse_with_more_images_or_a_larger_budget():
    order = ["none", "clearly different classes", "most classes", "also similar classes"]
    rows = [[order.index(cell) for cell in row[1:]] for row in compare_budgets(classes=4, shots=10)]
    assert rows[0][0] == 0, "ten images at epsilon 1 are noise"
    assert rows[-1] == [3, 3, 3], "a hundred are not"
    assert all(row == sorted(row) for row in rows)
    assert all(list(column) == sorted(column) for column in zip(*rows, strict=True))
