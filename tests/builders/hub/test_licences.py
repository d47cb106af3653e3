"""What may not be redistributed is not published."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from hub_server import HubServer
from msgspec.structs import replace

from benchmark_spec.errors import LicenceError
from benchmark_spec.manifest import (
    MANIFEST_FILE,
    Dataset,
    Manifest,
    Redistribution,
    Table,
    table_path,
)
from builders.cli import main
from builders.hub.publish import check_licences
from fslbench_data.release.release import Release


def _manifest(name: str, redistribution: Redistribution, *kinds: str) -> Manifest:
    about = Dataset(name, "t", "h", "for research only", "@misc{x}", 1, 1, "", redistribution)
    tables = tuple(
        Table(table_path(kind, name, "a"), kind, name, "a", 1, 1, "s", "d", "", {})  # type: ignore[arg-type]
        for kind in kinds
    )
    return Manifest("small", "1.0.0", "d", (about,), tables)


ALL = ("classes", "images", "features", "attributes")


def test_each_table_is_named_with_its_licence() -> None:
    with pytest.raises(LicenceError, match="2 tables may not be published") as error:
        check_licences(_manifest("pets", "tables", *ALL))
    assert error.value.where == (
        "features/a/pets-00000-of-00001.parquet (pets: for research only); "
        "attributes/a/pets.parquet (pets: for research only)"
    )
    assert "take features and attributes of pets out of the specification" in error.value.fix
    assert "private repository changes nothing" in error.value.fix


@pytest.mark.parametrize(
    ("dataset", "redistribution", "kinds", "may_be"),
    [
        ("pets", "images", ("pictures",), True),
        ("pets", "features", ("pictures",), False),
        ("pets", "features", ALL, True),
        ("pets", "tables", ("classes", "images"), True),
        ("omniglot", "features", ("features",), True),
        ("omniglot", "tables", ("features",), False),
        ("cub", "features", ("features",), False),  # the catalogue says less
    ],
)
def test_what_may_be_published(
    dataset: str, redistribution: Redistribution, kinds: tuple[str, ...], may_be: bool
) -> None:
    manifest = _manifest(dataset, redistribution, *kinds)
    with nullcontext() if may_be else pytest.raises(LicenceError, match="may not be published"):
        check_licences(manifest)


def test_the_package_may_be_published(embedded: Release) -> None:
    check_licences(embedded.manifest)


def test_the_command_refuses_before_anything_is_sent(
    hub: HubServer, sharded: Release, tmp_path: Path
) -> None:
    folder, manifest = tmp_path / "release", sharded.manifest
    shutil.copytree(sharded.files.where, folder)
    about = tuple(replace(d, redistribution="tables") for d in manifest.datasets)
    (folder / MANIFEST_FILE).write_text(replace(manifest, datasets=about).to_json())
    arguments = ["publish", str(folder), "--repo-id", "org/birds", "--private"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "8 tables may not be published" in result.output
    assert not hub.requests
