from __future__ import annotations

import json
from pathlib import Path

import pytest

from inquest.scenarios import bounds
from inquest.scenarios.journal import RequestJournal, RequestRecord


def record(ordinal: int, *, path: str = "/prometheus/api/v1/query", query: str = "", form: str = "") -> RequestRecord:
    return RequestRecord(
        ordinal=ordinal,
        server="prometheus",
        method="GET",
        path=path,
        query=query,
        form=form,
        credential="none",
        status=200,
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("private_token=glpat-1&page=2", "private_token=***&page=2"),
        ("a=b&private%5Ftoken=x", "a=b&private%5Ftoken=***"),
        ("ACCESS_TOKEN=x", "ACCESS_TOKEN=***"),
        ("query=up%7Ba%3D%22s3cret%22%7D", "query=***"),
        ("query=up%7Ba%3D%22s3cre%74%22%7D", "query=***"),
        ("query=token_total", "query=token_total"),
        ("", ""),
    ],
)
def test_secrets_are_masked_by_name_and_by_value(sent: str, kept: str) -> None:
    journal = RequestJournal(secrets=("s3cret",))
    journal.add(record(1, query=sent, form=sent))
    assert [(one.query, one.form) for one in journal.records] == [(kept, kept)]


def test_a_secret_in_the_path_is_masked() -> None:
    journal = RequestJournal(secrets=("s3cret",))
    journal.add(record(1, path="/gitlab/s3cret/x"))
    assert journal.records[0].path == "/gitlab/***/x"


def test_records_are_in_order_of_arrival_whatever_order_they_end_in() -> None:
    journal = RequestJournal()
    first, second = journal.arrive(), journal.arrive()
    journal.add(record(second))
    journal.add(record(first))
    assert [one.ordinal for one in journal.records] == [1, 2]


def test_each_record_is_in_the_file_as_soon_as_it_is_added(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    with RequestJournal(file=file) as journal:
        journal.add(record(1, query="a=1"))
        seen = json.loads(file.read_text())
    assert seen == record(1, query="a=1").model_dump(mode="json")


def test_what_is_above_the_ceiling_is_counted_and_still_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_JOURNAL_RECORDS", 2)
    file = tmp_path / "requests.jsonl"
    with RequestJournal(file=file) as journal:
        for _ in range(3):
            journal.add(record(journal.arrive()))
    assert (len(journal.records), journal.left_out, len(file.read_text().splitlines())) == (2, 1, 3)


def test_a_very_long_query_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_JOURNAL_TEXT_CHARS", 10)
    journal = RequestJournal()
    journal.add(record(1, query="q=" + "x" * 20))
    assert journal.records[0].query == "q=xxxxxxxx...(12 characters left out)"
