"""What `benchmarks.robustness` measures: its checks by hand and by Babel, its losses by an echo, its verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from babel.dates import format_date
from babel.numbers import format_decimal, parse_decimal
from sacrebleu import BLEU

from benchmarks import challenges, robustness
from benchmarks import sentences as by_hand
from benchmarks.challenges import DE_EN, EN_DE, Challenge, Direction
from benchmarks.robustness import Probe
from pellucid.decode.translator import Translator
from pellucid.errors import UserError

BOTH = pytest.mark.parametrize("direction", [EN_DE, DE_EN])


@BOTH
@pytest.mark.parametrize("draw", [draw for draw, _ in robustness.SETS.values()])
def test_sets_are_seeded_and_have_different_sentences(draw: challenges.Draw, direction: Direction) -> None:
    made = challenges.challenges(draw, direction, 30)
    assert made == challenges.challenges(draw, direction, 30)
    assert made != challenges.challenges(draw, direction, 30, seed=2)
    assert len({challenge.source for challenge in made}) == 30
    assert not any(challenge.met("") or challenge.met("Ja.") for challenge in made)


@BOTH
def test_numbers_are_right_as_babel_writes_them(direction: Direction) -> None:
    for challenge in challenges.challenges(challenges.digits, direction, 60):
        [number] = re.findall(r"\d[\d.,]*\d|\d", challenge.source)
        value = parse_decimal(number, locale=direction[0])
        written = format_decimal(value, locale=direction[1])
        assert challenge.met(f"Es sind {written}."), (challenge, written)
        assert challenge.met(f"Es sind {format_decimal(value, locale=direction[1], group_separator=False)}.")
        assert not challenge.met(f"Es sind {format_decimal(value + 1, locale=direction[1])}.")
        assert not challenge.met(f"Es sind {written} oder 7.")
        assert not challenge.met(f"Es sind {written}0.")


@BOTH
def test_dates_are_right_as_babel_writes_them(direction: Direction) -> None:
    for challenge in challenges.challenges(challenges.dates, direction, 25):
        [text] = re.findall(r"\d+\.? \w+ \d{4}|\w+ \d+, \d{4}|\d\d\.\d\d\.\d{4}", challenge.source)
        day = date_of(text, direction[0])
        assert challenge.met(f"Am {format_date(day, 'long', locale=direction[1])} um neun")
        assert challenge.met(f"({format_date(day, 'dd/MM/yyyy', locale=direction[1])})")
        other = day + timedelta(days=1)
        assert not challenge.met(f"Am {format_date(other, 'long', locale=direction[1])} um neun")


def date_of(text: str, language: str) -> datetime:
    for month in range(1, 13):
        for shape in ("d. MMMM y", "d MMMM y", "MMMM d, y", "dd.MM.y"):
            for day in range(1, 29):
                when = datetime(int(text[-4:]), month, day)
                if format_date(when, shape, locale=language) == text:
                    return when
    raise AssertionError(text)


def test_times_need_the_part_of_the_day_when_12_hours_are_written() -> None:
    random = Random(0)
    made = [challenges.times(EN_DE, random) for _ in range(200)]
    afternoon = next(each for each in made if re.search(r" [2-9]:\d\d pm", each.source))
    [hour, minute] = map(int, re.findall(r"\d+", afternoon.source))
    assert afternoon.met(f"um {hour + 12}:{minute:02d} Uhr")
    assert afternoon.met(f"um {hour}:{minute:02d} Uhr abends")
    assert not afternoon.met(f"um {hour}:{minute:02d} Uhr")
    assert not afternoon.met(f"am Abend um {hour}:{(minute + 1) % 60:02d} Uhr")


def test_prices_need_amount_and_currency() -> None:
    price = Challenge("I paid €1,250.", ((("1.250", "1250"), challenges.CURRENCIES["€"]),), r"\d")
    assert price.met("Ich habe 1.250 € bezahlt.")
    assert price.met("Ich habe 1250 Euro bezahlt.")
    for wrong in ("Ich habe 1.250 bezahlt.", "Ich habe 250 € bezahlt.", "Ich habe 1.2500 € bezahlt.", "1.250 $"):
        assert not price.met(wrong)
    for challenge in challenges.challenges(challenges.prices, EN_DE, 100):
        assert not challenge.met(re.sub(r"[€$£]|euros|dollars|pounds", "Franken", challenge.source))


def test_what_is_copied_is_copied_whole() -> None:
    name = Challenge("I met Arov.", ((("Arov",),),))
    assert name.met("Arovs Haus")
    assert name.met("Ich traf Arov.")
    assert not name.met("Ich traf Arova.")
    for draw in (challenges.names, challenges.emoji, challenges.addresses, challenges.placeholders):
        assert all(challenge.met(challenge.source) for challenge in challenges.challenges(draw, DE_EN, 50))
    [[[[picture]]]] = [challenge.answers for challenge in challenges.challenges(challenges.emoji, EN_DE, 1)]
    assert not challenges.challenges(challenges.emoji, EN_DE, 1)[0].met(f"{picture} und {picture}")


def test_long_sentences_are_one_sentence_of_sixty_words() -> None:
    for direction in (EN_DE, DE_EN):
        text = challenges.long_sentence(direction, Random(3))
        assert 60 <= len(text.split()) < 80
        assert text.count(".") == 1


def test_a_typo_is_one_slip_in_one_word() -> None:
    random = Random(1)
    for sentence in ["The weather was terrible yesterday.", "Ich gehe jetzt schlafen.", "I am it"] * 40:
        slipped = robustness.with_typo(sentence, random).split(" ")
        changed = [pair for pair in zip(sentence.split(" "), slipped, strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1
        [(before, after)] = changed
        assert abs(len(before) - len(after)) <= 1
        assert sum((Counter(before) - Counter(after)).values()) <= 1  # letters lost
        assert sum((Counter(after) - Counter(before)).values()) <= 1
    assert robustness.with_typo("?!", random) == "?!"


def test_repetitions_are_found_unless_the_source_repeats_itself() -> None:
    said = ["Das Haus, das Haus, das Haus, das Haus.", "und der Hund und der Hund und der Hund", "Nein nein nein."]
    fine = ["Es ist sehr, sehr gut.", "Der Hund und die Katze und die Maus.", "Er war der der derer."]
    assert all(map(robustness.repeats, said))
    assert not any(map(robustness.repeats, fine))
    assert robustness.loops([("House.", said[0]), ("no no no", said[2]), ("Good.", fine[0])]) == [("House.", said[0])]


class Echo:
    """A translator that says what it hears, in two parts if that is long."""

    directory = SimpleNamespace(path=Path("echo"), name="echo")
    languages = SimpleNamespace(directions=[EN_DE])

    def translate(self, texts: Sequence[str], *_: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(text=text, notes=("in parts",) if len(text.split()) > 65 else ()) for text in texts]


def echo() -> Probe:
    probe = object.__new__(Probe)
    probe.translator = cast(Translator, Echo())
    probe.spoken = []
    return probe


def test_what_an_echo_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["There was a small house on the hill.", "The weather was terrible yesterday.", "Nobody knows it better."]
    monkeypatch.setattr(robustness, "validation", lambda *_: (texts, texts))
    found = robustness.measure(echo(), None, 40, 3)
    assert {tuple(each) for each in found.values()} == {("en-de",)}  # the only direction it has
    figures = {name: by_direction["en-de"] for name, by_direction in found.items()}
    random = Random(1)
    slipped = [robustness.with_typo(text, random) for text in texts]
    typo = BLEU().corpus_score(slipped, [texts]).score
    assert figures[robustness.BLEU] == pytest.approx(100)
    assert figures[robustness.lost("without the full stop")] == pytest.approx(0)
    assert figures[robustness.lost("in capitals")] == pytest.approx(0)
    assert figures[robustness.lost("with a typo")] == pytest.approx(100 - typo)
    assert figures["unknown names"] == figures["placeholders"] == 100
    assert figures["dates"] < 50  # English months, where German ones are wanted
    assert 0 < figures[robustness.LONG] < 100


def test_only_pairs_with_a_full_stop_on_both_sides_are_compared() -> None:
    sources, references = robustness.validation(None, DE_EN, 12)
    assert len(sources) == len(references) == 12
    assert all(text.endswith(".") and not text.endswith("..") for text in sources + references)


def test_there_are_300_sentences_written_by_hand() -> None:
    sentences = by_hand.hand_written()
    assert len(sentences) == len({each.id for each in sentences}) == 300
    assert Counter(each.direction for each in sentences) == {EN_DE: 150, DE_EN: 150}
    assert min(Counter(each.kind for each in sentences).values()) >= 15
    for each in sentences:
        assert each.id.startswith(each.kind)
        assert each.references
        assert all(text == text.strip() and text for text in (each.source, *each.references)), each


def test_an_output_is_judged_once_for_all_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = by_hand.hand_written()[:3]
    outputs = {first.id: first.references[0], second.id: "Hier\nklicken", third.id: "Was?"}
    by_hand.write_outputs(tmp_path / "outputs.tsv", outputs)
    read = dict(by_hand.rows(tmp_path / "outputs.tsv", 2))
    assert read == outputs | {second.id: "Hier klicken"}

    verdicts = tmp_path / "verdicts.tsv"
    assert by_hand.read_verdicts(verdicts) == {}
    verdicts.write_text(f"id\toutput\tacceptable\n{second.id}\tHier klicken\tno\n", encoding="utf-8")
    judged = by_hand.read_verdicts(verdicts)
    kinds = by_hand.by_kind(by_hand.hand_written(), outputs, judged)
    assert kinds == {first.kind: [True, False, None]}
    assert by_hand.summary(kinds)[-1] == "all            1 of 3 acceptable, 1 without a verdict"

    monkeypatch.setattr(by_hand, "VERDICTS", verdicts)
    monkeypatch.setattr("sys.argv", ["sentences", str(tmp_path / "outputs.tsv")])
    assert by_hand.main() == 1  # one is missing


def test_every_line_that_is_no_verdict_is_reported(tmp_path: Path) -> None:
    number = by_hand.hand_written()[0].id
    wrong = tmp_path / "verdicts.tsv"
    lines = [
        "id\toutput\tacceptable",
        "nobody-01\ta\tyes",
        f"{number}\ta\tmaybe",
        f"{number}\tb\tyes",
        f"{number}\tb\tno",
    ]
    wrong.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        by_hand.read_verdicts(wrong)
    assert [problem.where for problem in error.value.problems] == [f"verdicts.tsv:{line}" for line in (2, 3, 5)]
    wrong.write_text("id\toutput\tacceptable\nonly two\tcolumns\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"verdicts\.tsv:2"):
        by_hand.read_verdicts(wrong)
