"""How often the gist of a message survives: hand-written messages, each with words that must be kept."""

from dataclasses import dataclass, field

from app.extractive.lines import message_line, read, title_of
from app.extractive.terms import key_terms
from app.text.language import fold


@dataclass(frozen=True)
class Example:
    text: str
    line: tuple[str, ...]  # all of these in the line
    role: str = "user"
    title: tuple[str, ...] = field(default=())  # all of these in the title, for user messages
    terms: tuple[str, ...] = field(default=())  # all of these among the key terms


EXAMPLES = (
    # English, users.
    Example(
        "Hi! Hope you're well. Could you find me a train from Leeds to York on 12 March?",
        ("Leeds", "York"),
        title=("Leeds",),
    ),
    Example(
        "ok thanks. now rename the column user_nm to user_name in the orders table",
        ("user_nm",),
        title=("Rename",),
        terms=("user_nm",),
    ),
    Example(
        "I've been staring at this all day. My laptop fan is loud, the coffee is cold. Why does our nightly backup to "
        "s3://vault-7 stop at 42 GB?",
        ("backup", "42 GB"),
        terms=("backup",),
    ),
    Example(
        "What's wrong here?\n```\nKeyError: 'invoice_total'\n```", ("KeyError", "invoice_total"), terms=("KeyError",)
    ),
    Example(
        "```python\ndef settle_invoice(order, currency):\n    return order.total * currency.rate\n```",
        ("settle_invoice",),
    ),
    Example(
        "> We ship on Tuesday, said Ann.\n\nIs Tuesday realistic given the open security review?", ("security review",)
    ),
    Example(
        "Thanks! That worked. One more thing: can you also add a dark mode switch to the settings page?",
        ("dark mode",),
        title=("dark mode",),
    ),
    Example(
        "I'm allergic to shellfish, by the way. Anyway, how was your weekend?", ("shellfish",), terms=("shellfish",)
    ),
    Example(
        "My name is Priya Raman and I work at Helios Robotics. Nice to meet you!",
        ("Priya",),
        terms=("Priya Raman", "Helios Robotics"),
    ),
    Example("Please always answer in French, even when I write in English.", ("French",), terms=("French",)),
    Example(
        (
            "Task: migrate the billing service from MySQL 5.7 to PostgreSQL 16.\n\nInstructions:\n- Work in "
            "small steps.\n- Make sure that you run the tests.\n- Please do not edit generated files."
        ),
        ("billing", "PostgreSQL"),
        title=("billing",),
        terms=("PostgreSQL",),
    ),
    Example(
        "Hello there, I have an issue. The export button on the invoices page does nothing in Safari 17. Can you help?",
        ("export button",),
        terms=("Safari",),
    ),
    Example("no", ("no",)),
    Example(
        "We decided to go with Kafka instead of RabbitMQ because replay matters more to us. Good talk today!",
        ("Kafka",),
        terms=("Kafka", "RabbitMQ"),
    ),
    Example(
        (
            "2024-06-01 10:00:01 INFO boot\n2024-06-01 10:00:02 ERROR payment-gateway refused: certificate "
            "expired\n\nCan you look at this log?"
        ),
        ("certificate expired",),
    ),
    Example(
        "Book a table for four at Osteria Nove on Friday at 8pm, outside if possible, and tell Dana.",
        ("Osteria Nove",),
        title=("table",),
        terms=("Osteria Nove",),
    ),
    Example(
        "It was a lovely trip. We saw puffins on Skomer Island and my daughter lost her red hat.",
        ("Skomer",),
        terms=("Skomer Island", "puffin"),
    ),
    # English, assistants.
    Example(
        (
            "Sure, I'd be happy to help! The root cause is a missing index on orders.customer_id, so every "
            "page load scans 3 million rows. Let me know if you have any other questions."
        ),
        ("missing index",),
        "assistant",
        terms=("orders.customer_id",),
    ),
    Example(
        (
            "Great question! Let me check.\n\nYour refund of $84.20 was issued on May 3 and should arrive "
            "within five days."
        ),
        ("84.20",),
        "assistant",
    ),
    Example(
        (
            "I've fixed the login redirect by moving the cookie check before the router. Is there anything "
            "else I can help you with?"
        ),
        ("login redirect",),
        "assistant",
    ),
    Example(
        (
            "Of course! Here are the details:\n\n- **Total**: 12 nights\n- **Price**: 1,140 EUR\n\nIn short, "
            "the Lisbon flat is 300 EUR cheaper than the one in Porto."
        ),
        ("Lisbon",),
        "assistant",
        terms=("Lisbon",),
    ),
    Example(
        "I can help with that. Could you please provide your booking reference?", ("booking reference",), "assistant"
    ),
    Example(
        "<think>The user wants the capital. Easy.</think>The capital of Burkina Faso is Ouagadougou.",
        ("Ouagadougou",),
        "assistant",
    ),
    Example("Okay, let me run the tests first.", ("tests",), "assistant"),
    # Chinese, users.
    Example(
        "你好！请问从杭州东到上海虹桥明天早上最早的高铁是几点？谢谢！",
        ("杭州东", "上海虹桥"),
        title=("杭州东",),
        terms=("杭州",),
    ),
    Example("好的，谢谢。再帮我把报告里的销售额换算成欧元", ("销售额", "欧元"), title=("销售额",), terms=("欧元",)),
    Example("这个怎么解决？\n```\nConnectionRefusedError: [Errno 111] redis:6379\n```", ("ConnectionRefusedError",)),
    Example("我对青霉素过敏，以前住过院。今天天气不错。", ("青霉素",), terms=("青霉素",)),
    Example("以后都用繁体中文回答我，代码注释也一样。", ("繁体中文",)),
    Example(
        "大家好，我是新来的。我们的订单服务昨天晚上十点开始大量超时，数据库连接池满了，怎么排查？",
        ("排查",),
        terms=("连接池",),
    ),
    Example(
        "麻烦你帮我写一封英文邮件给供应商，催一下三月份的发票",
        ("英文邮件", "供应商"),
        title=("英文邮件",),
        terms=("供应商", "发票"),
    ),
    Example("周末我们全家去了莫干山，孩子第一次看到萤火虫，特别开心。", ("莫干山",), terms=("莫干山", "萤火虫")),
    Example(
        "经过讨论，我们决定用 ClickHouse 替换 Elasticsearch 存日志，预算控制在每月三万元以内。",
        ("ClickHouse",),
        terms=("ClickHouse",),
    ),
    Example("可以，继续。", ("继续",)),
    Example(
        "任务：为图书馆小程序设计借阅提醒功能。\n要求：\n- 代码要简洁\n- 请务必写注释",
        ("借阅提醒",),
        title=("借阅提醒",),
        terms=("图书馆",),
    ),
    Example("《三体》第二部里的面壁计划到底是什么意思？", ("面壁计划",), title=("面壁计划",), terms=("三体",)),
    # Chinese, assistants.
    Example(
        "好的，我来看看。原因是证书在6月1日过期了，导致网关拒绝所有请求。如果还有问题请随时告诉我。",
        ("证书",),
        "assistant",
        terms=("证书",),
    ),
    Example(
        "当然可以！已经为您预订了3月5日国航CA1831航班，票价980元。祝您旅途愉快！",
        ("CA1831",),
        "assistant",
        terms=("CA1831",),
    ),
    Example(
        "没问题。以下是对比：\n\n- 方案A：便宜\n- 方案B：稳定\n\n综上，建议选择方案B，因为它的故障率只有0.2%。",
        ("方案B",),
        "assistant",
    ),
    Example("让我先查询一下成都的天气。", ("成都",), "assistant"),
)


def misses(example: Example) -> list[str]:
    """What of an example's gist was lost."""
    line = fold(message_line(example.role, example.text))
    lost = [f"line {word!r}: {line}" for word in example.line if fold(word) not in line]
    title = fold(title_of(read("user", example.text)))
    lost += [f"title {word!r}: {title}" for word in example.title if fold(word) not in title]
    terms = [fold(term) for term in key_terms(example.text)]
    lost += [f"terms {word!r}: {terms}" for word in example.terms if not any(fold(word) in term for term in terms)]
    return lost


def test_most_messages_keep_their_gist() -> None:
    lost = {example.text: found for example in EXAMPLES if (found := misses(example))}

    assert len(EXAMPLES) >= 40
    assert 1 - len(lost) / len(EXAMPLES) >= 0.9, lost


def test_a_title_is_shorter_than_its_request() -> None:
    title = title_of(
        read("user", "Hi, could you please find me the cheapest flight from Oslo to Rome next Friday? Thanks!")
    )

    assert title == "Find me the cheapest flight from Oslo to Rome next Friday"
