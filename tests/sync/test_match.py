"""Where a list and what is stored meet, as values: no message of the list is lost, none is added twice."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from app.core.history.sync import DIGEST_BYTES, Match, begins_with, chains, digest, endings, match
from app.core.messages import Limits, read

Digests = list[bytes]
LETTERS = [letter.encode() * DIGEST_BYTES for letter in "abc"]
some = st.lists(st.sampled_from(LETTERS), max_size=12)


def met(rest: Sequence[bytes], tail: Sequence[bytes], *, joins_forks: bool = False) -> Match | None:
    return match(rest, tail, stored=len(tail), joins_forks=joins_forks)


@given(rest=some, tail=some)
def test_endings_equal_those_of_a_naive_comparison(rest: Digests, tail: Digests) -> None:
    def common(end: int) -> int:
        length = 0
        while length < min(end, len(tail)) and rest[end - 1 - length] == tail[-1 - length]:
            length += 1
        return length

    assert endings(rest, tail) == [common(end) for end in range(len(rest) + 1)]


@given(tail=st.lists(st.sampled_from(LETTERS), min_size=1, max_size=12), new=some, data=st.data())
def test_a_trimmed_list_adds_at_most_what_is_new(tail: Digests, new: Digests, data: st.DataObject) -> None:
    """Less only where what is new repeats the newest stored messages."""
    cut = data.draw(st.integers(0, len(tail) - 1))
    rest = tail[cut:] + new
    found = met(rest, tail)
    assert found is not None
    assert found.matched >= len(tail) - cut
    assert found.ahead == 0
    assert tail[-found.matched :] == rest[: found.matched]


@given(rest=some, tail=some, joins_forks=st.booleans())
def test_added_messages_are_not_added_again(rest: Digests, tail: Digests, joins_forks: bool) -> None:
    found = met(rest, tail, joins_forks=joins_forks)
    assert found is not None or not joins_forks
    if found is not None and rest:
        again = met(rest, tail + rest[found.matched :], joins_forks=joins_forks)
        assert again is not None
        assert again.matched == len(rest)


@given(rest=some, tail=some)
def test_every_message_is_stored_added_or_reported(rest: Digests, tail: Digests) -> None:
    found = met(rest, tail, joins_forks=True)
    assert found is not None
    kept = {*tail, *rest[found.matched :]}
    assert all(digest in kept or i in found.passed_over for i, digest in enumerate(rest))
    assert all(i < found.matched for i in found.passed_over)


@given(first=some, second=some)
def test_equal_chains_mean_equal_histories(first: Digests, second: Digests) -> None:
    assert (chains(first)[-1] == chains(second)[-1]) == (first == second)
    assert len(set(chains(first))) == len(first) + 1


def test_three_example_lists() -> None:
    a, b, c = LETTERS
    assert met([b, c, a], [a, b, c]) == Match(2)
    assert met([a, b], [a, b, c]) == Match(2, ahead=1)
    assert met([a], [a, b, c]) is None
    assert met([a, c, b, c, a], [b, b, b, c], joins_forks=True) == Match(4, passed_over=(0,))


def test_a_list_of_equal_messages_is_matched_in_linear_time() -> None:
    """Twenty million comparisons would show."""
    same = [LETTERS[0]] * 20_000
    assert met([*same, LETTERS[1]], [*same[:1000], LETTERS[2]]) is None
    assert met(same, same[:1000]) == Match(1000)


def test_blanks_at_the_end_and_the_form_of_a_result_make_no_other_message() -> None:
    def digests(*messages: Mapping[str, object]) -> list[bytes]:
        return [digest(draft) for draft in read([dict(message) for message in messages], Limits())]

    said = {"role": "assistant", "content": "ok"}
    result = {"role": "tool", "tool_call_id": "c", "content": "found"}
    block = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "found"}]}
    assert digests(said, result) == digests({**said, "content": "ok \n"}, {"role": "user", "content": [block]})
    assert digests(said) != digests({**said, "content": " ok"})


def test_an_answer_is_there_where_what_was_stored_since_begins_with_it() -> None:
    one, other = b"1" * 16, b"2" * 16
    assert begins_with([one, other], [one])
    assert begins_with([one + other], [one])  # a message of two pieces
    assert not begins_with([other, one], [one])
    assert not begins_with([], [one])
    assert not begins_with([one], [])
