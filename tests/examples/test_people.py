"""The shipped file of replies, real ones and written ones, sifted as in `make demo`."""

from pathlib import Path

from tests.batch.sifting import run_files


def test_the_sample_is_sifted_whole(root: Path, tmp_path: Path) -> None:
    sample = root / "examples" / "replies" / "people.jsonl"
    ran = run_files(tmp_path, [str(sample)], root / "examples" / "contracts" / "people.yaml")
    assert len(ran.valid) + len(ran.failed) == len(sample.read_bytes().splitlines()) == 293
    assert set(ran.summary["stages"]) == {"parse", "schema_validation", "validation", "pipeline_internal"}
    invented = [row["unit_id"] for row in ran.failed if row["errors"][0]["rule"] == "name_from_the_text"]
    assert any(uid.startswith("smollm2") for uid in invented), "the small model makes up names, and the rule says so"
    assert {"B005", "P001", "R002", "U001", "U002", "U003", "V005"} <= ran.summary["codes"].keys()
    assert sum(row["unit_id"].startswith("smollm2") for row in (*ran.valid, *ran.failed)) == 60
