"""Links of private folders, as those who keep large files elsewhere have them."""

from __future__ import annotations

from pathlib import Path

from pcevolve.public.processes.confinement import confine_keeper
from pcevolve.public.processes.links import follow_links
from support.confined import confines, in_a_process


def lay_links(folder: Path) -> list[str]:
    """A folder with links to a file, to a folder with links of its own, back to itself, and to nowhere."""
    for name in ("store/a", "store/b", "classes/cut/image"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    data = folder / "private"
    data.mkdir()
    (data / "one").symlink_to(folder / "store" / "a")
    (data / "cut").symlink_to(folder / "classes" / "cut")
    (folder / "classes" / "cut" / "other").symlink_to("../../store/b")
    (folder / "classes" / "cut" / "self").symlink_to(data)
    (data / "gone").symlink_to(folder / "nowhere")
    return [str(folder / name) for name in ("private", "classes/cut", "store/b", "store/a")]


def test_what_links_lead_to_is_found_once_each_and_nothing_else(tmp_path: Path) -> None:
    expected = lay_links(tmp_path)
    assert follow_links([expected[0]]) == expected
    assert follow_links([expected[3], "/not/there"]) == [expected[3], "/not/there"]


@confines
def test_a_keeper_reads_what_links_lead_to_and_not_what_lies_beside(folder: Path) -> None:
    places = [folder / "private" / name for name in ("one", "cut/image", "cut/other")]

    def work() -> list[str]:
        lay_links(folder / "shared")
        reads = follow_links([str(folder / "shared" / "private")])
        confine_keeper(reads, [])
        found = [str(folder / "shared" / each.relative_to(folder)) for each in places]
        said = [Path(each).read_text() for each in found]
        try:
            (folder / "shared" / "body").read_text()
        except PermissionError:
            said.append("refused")
        return said

    assert in_a_process(work) == ["store/a", "classes/cut/image", "store/b", "refused"]
