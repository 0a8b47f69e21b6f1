"""The cluster template: only a whole one of the user's own is copied."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evalq.engines.cluster_template import ClusterTemplate, is_unnamed, note_named


def make_cluster(folder: Path) -> Path:
    cluster = folder / "postgres"
    (cluster / "base").mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("18\n")
    (cluster / "base" / "1").write_bytes(b"x" * 8192)
    return cluster


@pytest.fixture
def template(tmp_path: Path) -> ClusterTemplate:
    made = ClusterTemplate.of(["build", "schema"], {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert made.keep(make_cluster)
    return made


def test_a_template_is_copied_whole_and_the_copy_has_no_name_of_its_own_yet(
    template: ClusterTemplate, tmp_path: Path
) -> None:
    target = tmp_path / "data"
    assert template.copy_to(target)
    assert (target / "base" / "1").read_bytes() == b"x" * 8192
    assert is_unnamed(target)
    note_named(target)
    assert not is_unnamed(target)


def test_another_build_or_schema_has_another_template(template: ClusterTemplate, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    other = ClusterTemplate.of(["build", "newer schema"], environ)
    assert not other.is_sound()
    assert ClusterTemplate.of(["build", "schema"], environ) == template


def cut_short(template: ClusterTemplate) -> None:
    (template.folder / "pg" / "base" / "1").write_bytes(b"x" * 100)


def lose_a_file(template: ClusterTemplate) -> None:
    (template.folder / "pg" / "PG_VERSION").unlink()


def lose_the_manifest(template: ClusterTemplate) -> None:
    (template.folder / "complete.json").unlink()


def garble_the_manifest(template: ClusterTemplate) -> None:
    (template.folder / "complete.json").write_text("{")


def let_others_write(template: ClusterTemplate) -> None:
    template.folder.chmod(0o777)


def let_others_write_beside_it(template: ClusterTemplate) -> None:
    template.folder.parent.chmod(0o777)


def replace_by_a_link(template: ClusterTemplate) -> None:
    elsewhere = template.folder.with_name("elsewhere")
    template.folder.rename(elsewhere)
    template.folder.symlink_to(elsewhere)


def give_to_another_user(template: ClusterTemplate) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(template.folder, 12345, 12345)


@pytest.mark.parametrize(
    "spoil",
    [
        cut_short,
        lose_a_file,
        lose_the_manifest,
        garble_the_manifest,
        let_others_write,
        let_others_write_beside_it,
        replace_by_a_link,
        give_to_another_user,
    ],
)
def test_a_template_that_is_damaged_or_not_our_own_is_not_used(
    template: ClusterTemplate, tmp_path: Path, spoil: Callable[[ClusterTemplate], None]
) -> None:
    spoil(template)
    assert not template.copy_to(tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_template_that_was_cut_short_is_made_again(template: ClusterTemplate, tmp_path: Path) -> None:
    cut_short(template)
    assert template.keep(make_cluster)
    assert template.copy_to(tmp_path / "data")


def test_a_template_is_not_made_while_another_process_makes_it(tmp_path: Path) -> None:
    template = ClusterTemplate.of(["build"], {"XDG_CACHE_HOME": str(tmp_path)})
    asked: list[bool] = []

    def make_and_ask(folder: Path) -> Path:
        asked.append(template.keep(make_cluster))
        return make_cluster(folder)

    assert template.keep(make_and_ask)
    assert asked == [False]
    assert template.is_sound()


def test_only_the_newest_templates_are_kept(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    templates = [ClusterTemplate.of([f"schema {number}"], environ) for number in range(5)]
    for age, template in enumerate(templates):
        assert template.keep(make_cluster)
        os.utime(template.folder, (age, age))
    assert [template.is_sound() for template in templates] == [False, False, True, True, True]
