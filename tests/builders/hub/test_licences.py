"""What may not be redistributed is not published."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hub_server import HubServer

from benchmark_spec.errors import LicenceError
from benchmark_spec.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    Dataset,
    Manifest,
    Redistribution,
    Table,
    table_path,
)
from builders.cli import main
from builders.hub.publish import check_licences
from builders.release.build import build_release
from builders.release.spec_file import read_spec
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.card import dataset_card


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


def test_what_may_be_published(embedded: Release) -> None:
    check_licences(_manifest("pets", "features", *ALL))
    check_licences(_manifest("pets", "tables", "classes", "images"))
    check_licences(embedded.manifest)


def test_a_manifest_allows_no_more_than_the_catalogue() -> None:
    check_licences(_manifest("omniglot", "features", "features"))
    for redistribution in ("tables", "features"):
        with pytest.raises(LicenceError, match="1 table may not be published: it is computed"):
            check_licences(_manifest("cub", redistribution, "features"))  # type: ignore[arg-type]
    with pytest.raises(LicenceError):
        check_licences(_manifest("omniglot", "tables", "features"))


def test_the_command_refuses_before_anything_is_sent(hub: HubServer, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    spec, folder = tmp_path / "spec.toml", tmp_path / "release"
    spec.write_text(
        'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "digits"\n'
        'suites = ["open"]\nprotocols = ["5w5s5q"]\nfeatures = ["pixels"]\n'
    )
    manifest = build_release(read_spec(spec), folder)
    arguments = ["publish", str(folder), "--repo-id", "org/digits", "--private"]
    about = tuple(replace(d, redistribution="tables") for d in manifest.datasets)
    kept = replace(manifest, datasets=about)
    (folder / MANIFEST_FILE).write_text(kept.to_json())
    (folder / CARD_FILE).write_text(dataset_card(kept))
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "features/pixels/digits-00000-of-00001.parquet (digits: CC BY 4.0)" in result.output
    assert not hub.requests
    (folder / MANIFEST_FILE).write_text(manifest.to_json())
    card = dataset_card(manifest, load_release(folder))
    (folder / CARD_FILE).write_text(card)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "features/pixels/digits-00000-of-00001.parquet" in hub.files("org/digits")
