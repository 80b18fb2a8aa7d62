import time
from concurrent.futures import ThreadPoolExecutor

from app.ids import uuid7


def test_ids_carry_their_version_and_time() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid7()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000


def test_ids_grow_and_never_repeat() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_threads_never_get_the_same_id() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [made for batch in pool.map(lambda _: [uuid7() for _ in range(2_000)], range(4)) for made in batch]
    assert len(set(made)) == 8_000
