"""What is kept of many lines."""

from app.extractive.summary import pick_lines, summarize_lines

SMALL_TALK = (
    "ok",
    "Thanks!",
    "Great, let me check that.",
    "好的，谢谢",
    "Sure, I can help with that.",
    "Is there anything else?",
    "嗯嗯",
    "How are you today?",
)
FACTS = (
    "My passport expires on 14 August 2026.",
    "We decided to use Valkey instead of Redis.",
    "我对芒果过敏。",
    "The Lyon office has 48 desks.",
    "预算上限是十二万元。",
    "Please always answer in Portuguese.",
    "Booking reference is QX7-4410.",
    "项目代号叫“北极星”，由陈嘉负责。",
)


def planted() -> list[tuple[str, str]]:
    """The facts, each among small talk."""
    lines: list[tuple[str, str]] = []
    for at, fact in enumerate(FACTS):
        lines += [("assistant", SMALL_TALK[(at + shift) % len(SMALL_TALK)]) for shift in range(4)]
        lines.append(("user", fact))
        lines.append(("assistant", "Got it, noted."))
    return lines


def test_planted_facts_survive_the_small_talk_around_them() -> None:
    kept = summarize_lines(planted(), max_items=8, max_chars=1000)

    assert len(set(kept) & set(FACTS)) >= 7, kept


def test_lines_stay_in_their_order_and_within_their_room() -> None:
    lines = planted()
    picked = pick_lines(lines, max_items=5, max_chars=120)
    kept = summarize_lines(lines, max_items=5, max_chars=120)

    assert picked == sorted(picked)
    assert kept == [lines[at][1] for at in picked]
    assert len("\n".join(kept)) <= 120


def test_a_summary_does_not_repeat_itself() -> None:
    lines = [
        ("user", "The server room key is with Tomasz in building 4."),
        ("assistant", "So the key for the server room is with Tomasz in building 4."),
        ("user", "The alarm code changes every Monday at 6."),
    ]
    kept = summarize_lines(lines, max_items=2, max_chars=500)

    assert kept == [lines[0][1], lines[2][1]]


def test_empty_input_gives_an_empty_summary() -> None:
    assert summarize_lines([], max_items=3, max_chars=100) == []
    assert summarize_lines([("user", "a fact about 7 whales")], max_items=0, max_chars=100) == []
