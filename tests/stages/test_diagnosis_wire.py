from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from inquest.domain.diagnosis import Proposal
from inquest.domain.value import Json
from inquest.stages.diagnosis_parse import Unparsed, parse_proposal, salvage_proposal
from inquest.stages.diagnosis_schema import CLAIM_TYPES, DIAGNOSIS_SCHEMA, WireClaim, WireProposal
from inquest.stages.diagnosis_wire import ReadProposal, read_proposal, write_proposal
from inquest.stages.publishable import clean, publishable
from tests.incident import incident_shelf, proposal

SHELF = incident_shelf()
ITEMS = SHELF.items
WHOLE = proposal(SHELF)
TEXT = write_proposal(WHOLE)


def read(text: str) -> ReadProposal:
    found = parse_proposal(text)
    assert isinstance(found, WireProposal), found
    return read_proposal(found, {item.name: item for item in ITEMS}, WHOLE.author)


def edited(**changed: Json) -> str:
    return json.dumps({**json.loads(TEXT), **changed})


def with_claim(**fields: Json) -> ReadProposal:
    return read(edited(claims=[{**json.loads(TEXT)["claims"][0], **fields}]))


# ---- the schema ------------------------------------------------------------------------------------------


def nodes(schema: Json) -> Iterator[dict[str, Json]]:
    if isinstance(schema, dict):
        if "type" in schema:
            yield schema
        for inner in schema.values():
            yield from nodes(inner)


def test_the_schema_is_closed_all_the_way_down() -> None:
    Draft202012Validator.check_schema(DIAGNOSIS_SCHEMA)
    for node in nodes(DIAGNOSIS_SCHEMA):
        kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
        assert [kind for kind in kinds if kind != "null"] == [kinds[0]], "no union beyond null"
        assert not {"anyOf", "oneOf", "allOf", "$ref", "patternProperties"} & node.keys()
        if "object" in kinds:
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])  # type: ignore[arg-type]


def test_the_schema_and_the_reader_know_the_same_fields() -> None:
    properties = DIAGNOSIS_SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == set(WireProposal.model_fields)
    claims: Json = properties["claims"]
    assert set(claims["items"]["properties"]) == set(WireClaim.model_fields)  # type: ignore[index,call-overload,arg-type]


def test_what_the_analyst_writes_satisfies_the_schema() -> None:
    Draft202012Validator(DIAGNOSIS_SCHEMA).validate(json.loads(TEXT))


def test_a_proposal_comes_back_as_it_was_written() -> None:
    found = read(TEXT)
    assert found.proposal == WHOLE
    assert found.notes == ()


def test_every_claim_type_has_a_wire_form() -> None:
    assert {claim.type for claim in WHOLE.claims} <= set(CLAIM_TYPES)


# ---- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{TEXT}\n```",
        f"Here is my diagnosis:\n```\n{TEXT}\n```\nHope that helps.",
        f"I think so: {TEXT} That is all.",
        json.dumps({"diagnosis": json.loads(TEXT)}),
        json.dumps({"name": "json_tool_call", "arguments": TEXT}),
        edited(confidence=0.9, extra={"free": "dict"}),
    ],
)
def test_fences_prose_wrappers_and_additions_do_not_matter(text: str) -> None:
    assert read(text).proposal == WHOLE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I could not find anything.",
        '{"name":"kubectl_get","arguments":{}}',
        '{"rootCause":{}}',
        "[1, 2, 3]",
        '{"verdict": "guilty", "root_cause": "x"}',
        '{"verdict": "cause_found"}',
        TEXT[:-40],
        '{"verdict":' * 100_000,
        "{" + " " * 300_000 + "}",
    ],
)
def test_what_is_no_proposal_is_said_not_guessed(text: str) -> None:
    found = parse_proposal(text)
    assert isinstance(found, Unparsed)
    assert 1 <= len(found.problems) <= 10


def test_problems_never_repeat_what_was_said() -> None:
    found = parse_proposal('{"verdict": "SENTINEL-1", "root_cause": {"SENTINEL": 2}}')
    assert isinstance(found, Unparsed)
    assert "SENTINEL" not in " ".join(found.problems)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_bl_053_a_score_that_a_model_gives_itself_is_none_of_ours(number: str) -> None:
    assert read(TEXT.replace("{", f'{{"validity_score": {number}, ', 1)).proposal == WHOLE


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_null_and_its_claim_is_left_out(number: str) -> None:
    text = TEXT.replace('"after": 0.45', f'"after": {number}')
    assert number in text
    found = read(text)
    assert len(found.proposal.claims) == len(WHOLE.claims) - 1
    assert found.notes == ("claim 2 is left out: after: field required",)


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"type": "vibe"}, "there is no claim type 'vibe'"),
        ({"at": "yesterday"}, "at: 'yesterday' is no time"),
        ({"at": None}, "at: field required"),
        ({"citations": []}, "citations:"),
        ({"citations": [{"evidence": "the logs", "pointer": "", "quoted": ""}]}, "'the logs' is no evidence name"),
    ],
)
def test_a_claim_that_cannot_be_read_is_left_out_with_a_note(fields: dict[str, Json], note: str) -> None:
    found = with_claim(**fields)
    assert found.proposal.claims == ()
    assert note in found.notes[0]


def test_evidence_that_does_not_exist_is_left_to_the_check() -> None:
    found = with_claim(citations=[{"evidence": "E99", "pointer": "/x", "quoted": "1"}])
    assert found.proposal.claims[0].citations[0].evidence == "E99"


@pytest.mark.parametrize(
    "text",
    ["2026-03-01T10:02:00Z", "2026-03-01 10:02:00 UTC", "2026-03-01T11:02:00+01:00", "1772359320", "1772359320000"],
)
def test_times_are_read_in_common_forms(text: str) -> None:
    assert with_claim(at=text).proposal.claims == WHOLE.claims[:1]


def test_what_is_over_the_limit_is_counted_not_dropped_silently() -> None:
    found = read(edited(next_checks=[f"check {number}" for number in range(25)]))
    assert len(found.proposal.next_checks) == 20
    assert found.notes == ("5 more of kind 'next check' were not read: at most 20",)


def test_a_text_with_unstorable_characters_becomes_storable() -> None:
    found = read(edited(root_cause="a\x00b\ud800c\x1b[2J"))
    assert found.proposal.root_cause == "a\u2400b\ufffdc\u241b[2J"
    found.proposal.canonical()


# ---- salvage ---------------------------------------------------------------------------------------------


def test_whole_claims_of_a_cut_answer_are_salvaged() -> None:
    claims_end = TEXT.index('"ruled_out"')
    found = salvage_proposal(TEXT[: claims_end - 60])
    assert found is not None
    salvaged = read_proposal(found, {item.name: item for item in ITEMS}, WHOLE.author).proposal
    assert salvaged.claims == WHOLE.claims[:5]
    assert salvaged.causal_chain == WHOLE.causal_chain
    assert (salvaged.verdict, salvaged.root_cause) == (WHOLE.verdict, WHOLE.root_cause)
    assert salvaged.affected_object == WHOLE.affected_object


@pytest.mark.parametrize(
    "text", ["", "Root cause: the deployment.", '{"verdict":"cause_found","root_cause":"x', "{" * 5000]
)
def test_a_summary_without_a_claim_is_not_salvaged(text: str) -> None:
    assert salvage_proposal(text) is None


# ---- what may be published -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("The deployment broke it.", True),
        ("[checkout] is slow", True),
        ("{}", False),
        ('{"name":"kubectl_get","arguments":{}}', False),
        ('```json\n{"a": 1}\n```', False),
        ('[{"type": "text"}]', False),
        ('"root_cause": "x"', False),
        ("[System: Empty message content sanitised to satisfy protocol]", False),
        ("[Tool returned an image - see the following user message]", False),
        ("Please continue.", False),
        ("This is a mock request", False),
        ("dummy_tool", False),
        ("<tool_call>x", False),
        ("functions.get_logs({})", False),
        ("<|im_start|>", False),
        ("NaN", False),
        ("n/a", False),
        ("", False),
        ("  ", False),
    ],
)
def test_only_prose_is_published(text: str, may: bool) -> None:
    assert publishable(text) is may


@pytest.mark.parametrize(
    "field", ["root_cause", "affected_object", "next_checks", "missing_evidence", "remediation_steps", "causal_chain"]
)
def test_raw_json_and_placeholders_reach_no_field(field: str) -> None:
    raw = '{"name":"kubectl_get","arguments":{}}'
    lists: dict[str, Json] = {
        "next_checks": [raw],
        "missing_evidence": [raw],
        "remediation_steps": [{"text": raw, "risk": "low"}],
        "causal_chain": [{"at": "2026-03-01T10:02:00Z", "text": raw, "citations": []}],
    }
    found: Proposal = read(edited(**{field: lists.get(field, raw)})).proposal
    assert "kubectl_get" not in found.model_dump_json()


def test_cleaning_keeps_line_ends_and_tabs() -> None:
    assert clean("a\r\nb\rc\td") == "a\nb\nc\td"
