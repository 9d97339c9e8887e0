"""The glossary is true: what it names is in the code, and it has MirrorMaker 2's word beside each of ours."""

import ast
import re

import pytest

from tests.unit.test_imports import ROOT

GLOSSARY = (ROOT / "docs" / "concepts" / "glossary.md").read_text(encoding="utf-8")
TERMS = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", GLOSSARY, flags=re.MULTILINE | re.DOTALL))
OUR_WORDS = {
    *("Lane", "Ledger", "Watermark", "Owed", "Covered", "Verdict", "Fence", "First sight", "History and live"),
    *("Generation", "Take-over and hand-back", "Heartbeat path", "Offset map", "Thinned", "Wave", "Write fence"),
}


def test_glossary_has_the_words_of_our_own() -> None:
    assert TERMS.keys() == OUR_WORDS


@pytest.mark.parametrize("term", TERMS)
def test_term_has_a_text_the_code_and_the_word_of_mirrormaker_2(term: str) -> None:
    text, _, last = TERMS[term].strip().rpartition("\n\n")
    word, code = last.split("\n")
    assert 2 <= len(re.findall(r"[.:] |\.$", text)) <= 6
    assert code.startswith("- Code: `include/kafka_mirror/")
    assert word.startswith("- MirrorMaker 2: ")


@pytest.mark.parametrize("term", TERMS)
def test_files_and_definitions_of_a_term_are_there(term: str) -> None:
    line = next(line for line in TERMS[term].splitlines() if line.startswith("- Code: "))
    defined: set[str] = set()
    for word in re.findall(r"`([^`]+)`", line):
        if word.endswith(".py"):
            tree = ast.parse((ROOT / word).read_text(encoding="utf-8"))
            defined = {name for statement in tree.body for name in names_of(statement)}
        else:
            assert word in defined


def names_of(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return {target.id for target in getattr(statement, "targets", ()) if isinstance(target, ast.Name)}
