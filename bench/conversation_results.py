"""The large tool results of the demo conversation, made from hand-written words.

Every maker takes a seeded `Random` and gives the same text for the same seed: the templates
are lines of `conversation_script/words-*.txt`, where `{name}` stands for a line of that
section and `{3-9}` for a whole number in that range. What the dialogue relies on (a note on
one order, one clause, one sensor reading) is planted by the maker itself, in the middle of
its text, so that no excerpt from the beginning will do.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

SCRIPT = Path(__file__).parent / "conversation_script"
SLOT = re.compile(r"\{(?:(\d+)-(\d+)|(\w+))\}")


def read_words(folder: Path) -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    section: list[str] = []
    for file in sorted(folder.glob("words-*.txt")):
        for line in file.read_text("utf-8").splitlines():
            if line.startswith("["):
                section = words.setdefault(line.strip("[]"), [])
            elif line:
                section.append(line)
    return words


WORDS = read_words(SCRIPT)


def fill(rng: Random, template: str) -> str:
    """Fill the template's slots, and the slots of what filled them."""

    def one(found: re.Match[str]) -> str:
        low, high, name = found.groups()
        if name is None:
            return str(rng.randint(int(low), int(high)))
        return pick(rng, name) if name in WORDS else found[0]

    return SLOT.sub(one, template)


def pick(rng: Random, name: str) -> str:
    return fill(rng, rng.choice(WORDS[name]))


def deck(rng: Random, name: str) -> Iterator[str]:
    """The section's lines in random order, over and over: neighbours never repeat closely."""
    lines = list(WORDS[name])
    while True:
        rng.shuffle(lines)
        yield from (fill(rng, line) for line in lines)


def paragraph(lines: Iterator[str], count: int, joint: str = " ") -> str:
    return joint.join(next(lines) for _ in range(count))


# --- orders and tables ---------------------------------------------------------------------


def order(rng: Random, number: str, placed: datetime) -> dict[str, object]:
    items = []
    for product in rng.sample(WORDS["product"], rng.choice([1, 1, 2, 2, 3])):
        sku, title, price = product.split("|")
        items.append({"sku": sku, "title": title, "quantity": rng.choice([1, 1, 1, 2, 4]), "unit_price": int(price)})
    city, country = pick(rng, "city").split("|")
    return {
        "order_id": number,
        "placed_at": placed.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "channel": pick(rng, "channel"),
        "status": pick(rng, "status"),
        "customer": pick(rng, "customer"),
        "ship_to": {"street": f"{pick(rng, 'street')} {rng.randint(1, 180)}", "city": city, "country": country},
        "items": items,
        "total_eur": sum(int(str(item["unit_price"])) * int(str(item["quantity"])) for item in items),
        "note": pick(rng, "shipnote") if rng.random() < 0.45 else "",
    }


def orders(rng: Random, start: datetime, count: int) -> list[dict[str, object]]:
    placed, found = start, []
    for number in range(401, 401 + count):
        placed += timedelta(minutes=rng.randint(60, 240))
        found.append(order(rng, f"MQ-{start:%y%m%d}-{number:04d}", placed))
    return found


def orders_march(rng: Random) -> str:
    found = orders(rng, datetime(2025, 3, 10, 6, 0, tzinfo=UTC), 62)
    found[17]["note"] = "leave with the porter at gate 7, he signs as V. Ruud"
    found[17] |= {
        "status": "shipped",
        "customer": "Harbor & Pine",
        "ship_to": {"street": "Kanaalkade 88", "city": "Rotterdam", "country": "NL"},
    }
    return json.dumps({"count": len(found), "orders": found}, ensure_ascii=False, indent=1)


def orders_april(rng: Random) -> str:
    found = orders(rng, datetime(2025, 3, 31, 6, 0, tzinfo=UTC), 54)
    return json.dumps({"count": len(found), "orders": found}, ensure_ascii=False, indent=1)


def returns_csv(rng: Random) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(
        ["return_id", "received_on", "order_id", "sku", "country", "reason", "inspector", "refund_eur", "days"]
    )
    day = datetime(2025, 1, 2, tzinfo=UTC)
    for number in range(3101, 3321):
        day += timedelta(hours=rng.randint(2, 16) * 0.93)
        sku, _, price = rng.choice(WORDS["product"]).split("|")
        reason = pick(rng, "reason")
        if sku == "MP1-EDU-BLK" and rng.random() < 0.7:
            reason = "joint 3 backlash above spec"
        refund = round(int(price) * rng.choice([1, 1, 0.5, 0]), 2)
        place = pick(rng, "city").split("|")[1]
        source = f"MQ-{day - timedelta(days=19):%y%m%d}-{rng.randint(401, 470):04d}"
        rows.writerow(
            [
                f"R{number}",
                f"{day:%Y-%m-%d}",
                source,
                sku,
                place,
                reason,
                pick(rng, "inspector"),
                refund,
                rng.randint(1, 29),
            ]
        )
    return out.getvalue()


def telemetry_csv(rng: Random) -> str:
    lines = ["time,unit,battery_pct,motor_temp_c,ambient_c,speed_mps,event"]
    now = datetime(2025, 3, 27, 1, 0, tzinfo=UTC)
    units = [f"CB30-{number:04d}" for number in (87, 88, 91, 93, 95, 102)]
    for step in range(330):
        now += timedelta(seconds=rng.randint(20, 75))
        reading = [rng.randint(31, 98), rng.randint(410, 640) / 10, rng.randint(28, 52) / 10, rng.randint(0, 16) / 10]
        if step == 171:
            now = now.replace(hour=3, minute=12, second=8)
            lines.append(f"{now:%H:%M:%S},CB30-0093,41,87.4,4.1,0.3,motor over temperature on the ramp")
            continue
        lines.append(f"{now:%H:%M:%S},{rng.choice(units)},{','.join(map(str, reading))},{pick(rng, 'robotevent')}")
    return "\n".join(lines)


# --- logs ------------------------------------------------------------------------------------


def gateway_log(rng: Random) -> str:
    """A quiet half hour, then the pool runs dry; the first refused call carries the id to find."""
    lines, now = [], datetime(2025, 3, 18, 13, 52, tzinfo=UTC)
    calm, bad = deck(rng, "logline"), deck(rng, "logbad")
    for step in range(430):
        now += timedelta(milliseconds=rng.randint(400, 4200))
        if step == 226:
            now = datetime(2025, 3, 18, 14, 7, 32, tzinfo=UTC)
            lines.append(
                "2025-03-18T14:07:32.018Z order-gateway-1 ERROR pool    exhausted size=12 waiting=97 first refused request rq-7f3c19 route=/v2/checkout"
            )
        broken = step > 226 and rng.random() < 0.72
        stamp = f"{now:%Y-%m-%dT%H:%M:%S}.{rng.randint(0, 999):03d}Z"
        lines.append(f"{stamp} order-gateway-{rng.randint(0, 3)} {next(bad if broken else calm)}")
    return "\n".join(lines)


def webhook_log(rng: Random) -> str:
    lines, now = [], datetime(2025, 4, 9, 8, 30, tzinfo=UTC)
    chatter = deck(rng, "k8smsg")
    for step in range(170):
        now += timedelta(milliseconds=rng.randint(300, 6000))
        worker = f"webhook-worker-{rng.randint(0, 2)}"
        if step in (61, 62, 118):
            twin = 41877 if step < 100 else 42260
            lines.append(
                f"{now:%H:%M:%S} {worker} WARN  order 2{twin % 10000:04d} handled twice: evt_{twin} redelivered while the first delivery was still running"
            )
        lines.append(f"{now:%H:%M:%S} {worker} {'DEBUG' if step % 5 == 0 else 'INFO '} {next(chatter)}")
    return "\n".join(lines)


def load_test(rng: Random) -> str:
    lines = ["load test: order-gateway on staging, 40 virtual users, ramp 5 minutes, hold 20 minutes", ""]
    lines.append("minute  step              requests  errors   p50_ms   p95_ms   p99_ms  pool_in_use  pool_wait_ms")
    for minute in range(1, 29):
        for step in WORDS["loadstep"]:
            users = min(minute, 5) / 5
            numbers = [
                int(rng.randint(180, 320) * users) + 1,
                rng.choice([0, 0, 0, 0, 1]),
                rng.randint(18, 60),
                rng.randint(90, 210),
                rng.randint(240, 480),
            ]
            pool = [rng.randint(4, 19), rng.randint(0, 12)]
            lines.append(f"{minute:>6}  {step:<16}" + "".join(f"{value:>9}" for value in [*numbers, *pool]))
    lines += [
        "",
        "summary: checkout p95 188 ms (limit 400), highest pool use 19 of 24, no request refused",
        "verdict: PASS",
    ]
    return "\n".join(lines)


# --- conversations and papers ----------------------------------------------------------------


def interview(rng: Random) -> str:
    questions, answers = deck(rng, "interviewq"), deck(rng, "interviewa")
    parts = [
        "# Interview 03: Fjordlys Logistik, Bergen",
        "Date: 2025-03-14. Present: M. Solheim (site manager), Priya (notes), Yan (questions).",
    ]
    for number in range(1, 31):
        parts.append(f"**Yan [{number * 2:02d}:{rng.randint(0, 59):02d}]** {next(questions)}")
        parts.append(f"**Marit** {paragraph(answers, rng.randint(2, 3))}")
        if number == 14:
            parts.append(
                "**Marit** And now the thing I really wanted to say: at 4 °C the battery gives us 3 h 20 min. The brochure says five hours. I plan my shifts with the brochure, so I am short of robots from half past one every night."
            )
    return "\n\n".join(parts)


def support_chat(rng: Random) -> str:
    talks = deck(rng, "客服问答")
    now, parts = datetime(2025, 3, 24, 8, 40, tzinfo=UTC), ["客服聊天记录导出　2025-03-24 至 2025-03-30　已脱敏", ""]
    for number in range(1, 125):
        now += timedelta(minutes=rng.randint(12, 95))
        ask, reply = next(talks).split("|")
        parts.append(f"[会话{number:03d}] {now:%m-%d %H:%M} 客户{rng.randint(100, 999)}：{ask}")
        parts.append(
            f"　　　　　{now + timedelta(minutes=rng.randint(1, 9)):%m-%d %H:%M} 客服{rng.choice('甲乙丙')}：{reply}"
        )
    parts.append("合计 124 个会话，首次响应中位数 4 分钟。")
    return "\n".join(parts)


def reviews(rng: Random) -> str:
    lines, parts = deck(rng, "评论"), ["检索“G2 夹爪 用户评价”，返回 176 条（按时间排序）", ""]
    for number in range(1, 177):
        text = paragraph(lines, rng.choice([1, 1, 2]), "")
        if number == 83:
            text = "冬天教室里没有暖气，室温低于12℃的时候G2夹爪会吱吱响，暖和以后就好了，怀疑是润滑脂变稠。问过客服说没有听说过，希望能重视。"
        parts.append(
            f"{number}. {'★' * rng.choice([2, 3, 4, 4, 5, 5, 5])}　{pick(rng, '城市')}　2025-0{rng.randint(1, 3)}-{rng.randint(1, 28):02d}　{text}"
        )
    return "\n".join(parts)


def contract(rng: Random) -> str:
    clauses = deck(rng, "条款")
    parts = [
        "采购框架合同",
        "合同编号：HJ-MQ-2025-0317",
        "甲方：墨鹊机器人（杭州）有限公司　　乙方：海岬电机有限公司",
        "",
    ]
    heads = [
        "标的与订单",
        "价格与付款",
        "交付",
        "包装与运输",
        "检验与验收",
        "质量保证",
        "违约责任",
        "保密",
        "变更与停产",
        "不可抗力",
        "对账与发票",
        "争议解决",
    ]
    for number, head in enumerate(heads, 1):
        parts.append(f"第{number}条　{head}")
        for sub in range(1, 8):
            text = next(clauses)
            if (head, sub) == ("质量保证", 3):
                text = "乙方对货物的质保期为18个月，自甲方入库之日起计算；质保期内同一故障出现三次的，甲方有权要求整批更换。"
            if (head, sub) == ("违约责任", 2):
                text = "乙方逾期交货的，每逾期一日按逾期货款的千分之三支付违约金，累计不超过该订单总额的8%。"
            parts.append(f"{number}.{sub}　{text}")
    parts += ["", "附件一　检验项目与判定标准"]
    parts += [inspection(rng, number) for number in range(1, 166)]
    return "\n".join(parts)


def inspection(rng: Random, number: int) -> str:
    limit = f"{rng.randint(1, 40)}.{rng.randint(0, 9)}±0.{rng.randint(1, 9)}"
    return f"附1-{number:03d}　{pick(rng, '零件')}　{pick(rng, '检验项')}　标准值 {limit}　抽样 {rng.choice([5, 8, 13, 20, 32])} 件　判定：{rng.choice(['关键', '主要', '次要'])}　频次：{rng.choice(['每批', '每周', '首件', '每季度'])}"


def lease(rng: Random) -> str:
    clauses, parts = (
        deck(rng, "clause"),
        [
            "WAREHOUSE LEASE (translation for information)",
            "Premises: Hall S4, Waalhaven, Rotterdam. Tenant: Moque Robotics Europe B.V.",
            "",
        ],
    )
    for number, head in enumerate(WORDS["leasehead"], 1):
        parts.append(f"{number}. {head}")
        for sub in range(1, 9):
            text = next(clauses)
            if (head, sub) == ("Termination", 4):
                text = "Either party may end this lease to the last day of a quarter by registered letter, with a notice period of 95 days."
            if (head, sub) == ("Parking", 2):
                text = "The rent includes six parking bays, of which two have charging posts of 11 kW."
            parts.append(f"{number}.{sub} {text}")
        parts.append("")
    return "\n".join(parts)


def handbook(rng: Random) -> str:
    rules, parts = (
        deck(rng, "展务"),
        ["华南智能装备展　参展商手册（节选）", "展期：2025年4月24日至26日　地点：深圳　9号馆", ""],
    )
    for number, head in enumerate(WORDS["展务章"], 1):
        parts.append(f"第{number}章　{head}")
        for sub in range(1, 31):
            text = next(rules)
            if (head, sub) == ("展台搭建", 9):
                text = "布展截止时间为4月23日22:00，加班须在当天15:00前到主场服务台申请，每小时每平方米收取20元。"
            if (head, sub) == ("用电与压缩空气", 6):
                text = "标准展位配220V/5A插座一个；需要三相电的展商可申请380V/16A，费用1,350元，押金3,000元，展后七个工作日退还。"
            parts.append(f"{number}.{sub}　{text}")
    return "\n".join(parts)


# --- source code -----------------------------------------------------------------------------

SOURCE_HEAD = '''"""Nightly stock synchronisation between the warehouse and the web shop."""

import logging
from dataclasses import dataclass
from datetime import datetime, time

log = logging.getLogger("inventory_sync")
BATCH_SIZE = 250
WAREHOUSE_CUTOFF = time(16, 30)  # Hangzhou goes home


@dataclass(frozen=True)
class Level:
    sku: str
    on_hand: int
    reserved: int
    counted_at: datetime


def is_after_cutoff(level: Level, now: datetime) -> bool:
    """Counts made after the warehouse closed belong to the next day."""
    return level.counted_at.time() > WAREHOUSE_CUTOFF and level.counted_at < now

'''

SOURCE_PART = '''
class {camel}Source:
    """Reads stock levels from the {plain}."""

    name = "{snake}"
    timeout_seconds = {timeout}

    def __init__(self, client: "Client", warehouse: str) -> None:
        self.client = client
        self.warehouse = warehouse
        self.seen: set[str] = set()

    def fetch(self, since: datetime) -> list[Level]:
        rows, cursor = [], None
        while True:
            page = self.client.get("/{path}", params=dict(since=since.isoformat(), cursor=cursor, limit=BATCH_SIZE))
            rows.extend(self.parse(row) for row in page["items"] if row["{key}"] not in self.seen)
            self.seen.update(row["{key}"] for row in page["items"])
            cursor = page.get("next")
            if cursor is None:
                return rows

    def parse(self, row: dict) -> Level:
        counted = datetime.fromisoformat(row["{stamp}"])
        on_hand = int(row["{amount}"]) - int(row.get("{minus}", 0))
        if on_hand < 0:
            log.warning("%s: negative stock for %s, taken as zero", self.name, row["{key}"])
            on_hand = 0
        return Level(row["{key}"], on_hand, int(row.get("reserved", 0)), counted)


def merge_{snake}(known: dict[str, Level], fresh: list[Level], now: datetime) -> list[str]:
    """Take the newer of two counts; give back the keys that changed."""
    changed = []
    for level in fresh:
        old = known.get(level.sku)
        if old is not None and old.counted_at >= level.counted_at:
            continue
        if is_after_cutoff(level, now):
            log.info("%s counted after the cut-off, kept for tomorrow", level.sku)
            continue
        known[level.sku] = level
        changed.append(level.sku)
    return changed

'''

SOURCE_DRIFT = '''
MAX_DRIFT_UNITS = 17  # above this a person has to look; found by trial in November


def drifted(shop: dict[str, int], warehouse: dict[str, Level]) -> list[str]:
    """Keys whose shop figure is further from the shelf than we dare to correct by machine."""
    return [sku for sku, level in warehouse.items() if abs(shop.get(sku, 0) - level.on_hand) > MAX_DRIFT_UNITS]

'''

SOURCES = [
    ("ShelfScanner", "shelf scanner in hall two", 20, "scans", "sku", "scanned_at", "pieces", "damaged"),
    ("Marketplace", "European marketplace feed", 45, "offers/stock", "seller_sku", "updated", "quantity", "blocked"),
    ("ReturnDesk", "return desk's intake list", 15, "returns/open", "sku", "received_at", "count", "scrapped"),
    ("SchoolPool", "pool of loan kits for schools", 30, "loans", "kit_code", "counted_at", "available", "lent"),
    ("PartnerDepot", "partner depot in Ghent", 60, "depot/levels", "article", "as_of", "stock", "quarantine"),
    ("Production", "production line's finished goods", 25, "finished", "sku", "packed_at", "boxes", "rework"),
    ("Consignment", "consignment shelf of the repair shop", 20, "consigned", "part_no", "counted", "pieces", "used"),
]


def inventory_sync(rng: Random) -> str:
    parts = [SOURCE_HEAD]
    names = ("camel", "plain", "timeout", "path", "key", "stamp", "amount", "minus")
    for index, source in enumerate(SOURCES):
        values = dict(zip(names, map(str, source), strict=True))
        values["snake"] = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", source[0]).lower()
        text = SOURCE_PART
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        parts += [text, SOURCE_DRIFT] if index == 3 else [text]
    return "".join(parts)


# --- the web ---------------------------------------------------------------------------------


def search_reviews(rng: Random) -> str:
    heads, lines = deck(rng, "reviewhead"), deck(rng, "reviewsent")
    found = []
    for rank in range(1, 19):
        title = next(heads)
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        text = "\n".join(paragraph(lines, rng.randint(3, 6)) for _ in range(2))
        found.append(
            {
                "rank": rank,
                "title": title,
                "url": f"https://reviews.example.com/{slug}",
                "published": f"2025-0{rng.randint(1, 4)}-{rng.randint(1, 28):02d}",
                "text": text,
            }
        )
    return json.dumps(
        {"query": "desktop robot arm review schools 2025", "results": found}, ensure_ascii=False, indent=1
    )


def search_rules(rng: Random) -> str:
    heads, lines = deck(rng, "标题"), deck(rng, "法规句")
    found = []
    for rank in range(1, 41):
        text = paragraph(lines, rng.randint(4, 8), "")
        found.append(
            {
                "序号": rank,
                "标题": next(heads),
                "链接": f"https://freight.example.org/zh/{rng.randint(1000, 9999)}",
                "摘要": text,
            }
        )
    return json.dumps({"查询": "移动机器人 锂电池 展会 运输", "结果": found}, ensure_ascii=False, indent=1)


def hotels(rng: Random) -> str:
    found, remarks = [], deck(rng, "hotelremark")
    for index, name in enumerate(WORDS["hotel"] * 2):
        title, area = name.split("|")
        offer: dict[str, object] = {
            "name": title,
            "area": area,
            "room": rng.choice(["single", "double", "twin", "studio"])
            if index < 12
            else rng.choice(["double, refundable", "suite"]),
            "price_per_night_eur": rng.randint(84, 196),
            "rating": rng.randint(68, 94) / 10,
            "distance_to_waalhaven_km": rng.randint(12, 96) / 10,
            "remarks": [next(remarks) for _ in range(rng.randint(3, 5))],
            "nights": [
                {"date": f"2025-05-{12 + night}", "left": rng.randint(0, 7), "price_eur": rng.randint(84, 210)}
                for night in range(4)
            ],
        }
        if index == 1:
            offer |= {
                "room": "single to the courtyard",
                "price_per_night_eur": 118,
                "hold_code": "ZM-88214",
                "hold_until": "2025-04-30",
            }
        found.append(offer)
    return json.dumps(
        {"city": "Rotterdam", "check_in": "2025-05-12", "check_out": "2025-05-16", "offers": found},
        ensure_ascii=False,
        indent=1,
    )


def page(title: str, body: list[str]) -> str:
    head = f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n<link rel="stylesheet" href="/static/site.css">\n</head>\n<body>\n<nav><a href="/">Home</a> <a href="/search">Search</a> <a href="/about">About</a></nav>\n<main>\n<h1>{title}</h1>'
    return "\n".join([head, *body, "</main>\n<footer>© 2025 example.org</footer>\n</body>\n</html>"])


def api_docs(rng: Random) -> str:
    lines, body = deck(rng, "apisent"), []
    for index, noun in enumerate(WORDS["apiword"]):
        path = noun.replace(" ", "-") + "s"
        body.append(f'<section id="{path}">\n<h2>{noun.capitalize()}s</h2>\n<p>{paragraph(lines, 3)}</p>')
        for verb in ("GET", "POST", "PATCH", "DELETE"):
            body.append(
                f'<article class="call"><h3><span class="verb">{verb}</span> /v2/{path}</h3>\n<p>{paragraph(lines, 2)}</p>\n<table><tr><th>status</th><th>meaning</th></tr><tr><td>200</td><td>done</td></tr><tr><td>{rng.choice([404, 409, 422])}</td><td>{next(lines)}</td></tr></table></article>'
            )
        if index == 6:
            body.append(
                "<h3>Limits</h3>\n<p>A token may make <strong>240 requests a minute</strong>. Short peaks are allowed up to the value of the header <code>X-Moque-Burst: 30</code>; above it the service answers 429 and says in <code>Retry-After</code> how long to wait.</p>"
            )
        body.append("</section>")
    return page("Moque partner API, version 2", body)


def exhibitors(rng: Random) -> str:
    shows, body, seats = deck(rng, "exhibits"), [], rng.sample(range(101, 399), 96)
    for index, seat in enumerate(sorted(seats)):
        name = WORDS["exhibitor"][index % len(WORDS["exhibitor"])] + (
            "" if index < 18 else f" ({rng.choice(['Asia', 'Europe', '华东', '教育', 'Labs'])})"
        )
        body.append(
            f'<li class="exhibitor" data-hall="9"><h3>{name}</h3><p class="booth">Booth 9{"AB"[index % 2]}-{seat}</p><p>Shows {next(shows)}; also {next(shows)}.</p><a href="/exhibitors/{1000 + index}">details</a></li>'
        )
    return page("South China Smart Equipment Fair: exhibitors of hall 9", ["<ul>", *body, "</ul>"])


def recipes(rng: Random) -> str:
    steps, body = deck(rng, "步骤"), []
    for dish in WORDS["菜"]:
        name, stuff = dish.split("|")
        ingredients = "".join(f"<li>{part} {rng.randint(1, 9) * 100} 克</li>" for part in stuff.split("、"))
        method = "".join(f"<li>{next(steps)}</li>" for _ in range(rng.randint(19, 24)))
        body.append(
            f'<article class="recipe">\n<h2>{name}</h2>\n<p>适合 {rng.randint(8, 16)} 人，准备 {rng.randint(15, 50)} 分钟，烹饪 {rng.randint(20, 90)} 分钟。</p>\n<ul>{ingredients}</ul>\n<ol>{method}</ol>\n</article>'
        )
    return page("办公室聚餐菜谱十二道", body)


# --- middling results ------------------------------------------------------------------------


def weather(rng: Random, city: str, first: str, days: int) -> str:
    day, found = datetime.fromisoformat(first), []
    for _ in range(days):
        low = rng.randint(7, 13)
        hours = [
            {
                "hour": hour,
                "temp_c": low + rng.randint(0, 8),
                "rain_mm": rng.choice([0, 0, 0, 0.4, 1.2]),
                "wind_kmh": rng.randint(8, 41),
            }
            for hour in (8, 12, 16, 20)
        ]
        found.append(
            {
                "date": f"{day:%Y-%m-%d}",
                "sky": rng.choice(["showers", "cloudy", "clear", "fog, then sun", "light rain"]),
                "hours": hours,
            }
        )
        day += timedelta(days=1)
    return json.dumps({"city": city, "days": found}, ensure_ascii=False)


def weather_plan(rng: Random) -> str:
    return weather(rng, "Rotterdam", "2025-05-12", 5)


def weather_trip(rng: Random) -> str:
    return weather(rng, "Rotterdam", "2025-05-12", 6)


def weather_bergen(rng: Random) -> str:
    return weather(rng, "Bergen", "2025-05-15", 4)


def flights(rng: Random) -> str:
    found = []
    for number in range(14):
        leaves = rng.choice(["00:40", "01:25", "09:50", "10:35", "11:20", "13:05", "23:55"])
        via = rng.choice(["Helsinki", "Istanbul", "Doha", "none", "Munich"])
        found.append(
            {
                "flight": f"XM{310 + number * 7}",
                "from": "PVG",
                "to": "AMS",
                "leaves": leaves,
                "via": via,
                "hours": rng.randint(12, 19),
                "fare_eur": rng.randint(560, 1180),
                "window_seats_left": rng.randint(0, 9),
            }
        )
    found[5] |= {
        "flight": "XM345",
        "leaves": "10:35",
        "via": "none",
        "hours": 12,
        "fare_eur": 812,
        "window_seats_left": 4,
    }
    return json.dumps({"date": "2025-05-11", "offers": found}, indent=1)


def stock_days(rng: Random) -> str:
    lines = ["day        | sku         | sold | received | on_hand"]
    on_hand = 512
    for day in range(1, 45):
        sold, received = rng.randint(6, 29), rng.choice([0, 0, 0, 0, 0, 90])
        on_hand = max(0, on_hand - sold + received)
        when = datetime(2025, 2, 1, tzinfo=UTC) + timedelta(days=day)
        lines.append(f"{when:%Y-%m-%d} | GR2-SFT-040 | {sold:>4} | {received:>8} | {on_hand:>7}")
    return "\n".join([*lines, "(44 rows)"])


def pods(rng: Random) -> str:
    names = [
        "order-gateway",
        "catalog",
        "stock-sync",
        "webhook-worker",
        "mailer",
        "invoice",
        "fx-rates",
        "search",
        "kiosk",
    ]
    lines = ["NAME                                READY   STATUS             RESTARTS   AGE     CPU    MEM"]
    for name in names:
        for number in range(rng.randint(2, 4)):
            bad = name == "order-gateway" and number < 2
            state = "CrashLoopBackOff" if bad else "Running"
            lines.append(
                f"{name + '-' + format(rng.randrange(16**8), '08x') + '-' + str(number):<36}{'0/1' if bad else '1/1':<8}{state:<19}{rng.randint(4, 9) if bad else 0:<11}{rng.randint(1, 40)}d{rng.randint(0, 23)}h   {rng.randint(3, 210)}m   {rng.randint(60, 480)}Mi"
            )
    return "\n".join(lines)


def metrics(rng: Random) -> str:
    lines = ["minute  rps   5xx_pct  pool_in_use  pool_wait_p95_ms  cpu_pct"]
    for minute in range(40):
        bad = minute >= 15
        row = [
            rng.randint(31, 48),
            rng.randint(22, 61) if bad else 0,
            12 if bad else rng.randint(4, 9),
            rng.randint(3100, 4900) if bad else rng.randint(2, 30),
            rng.randint(18, 33),
        ]
        lines.append(f"{13 + (52 + minute) // 60}:{(52 + minute) % 60:02d} " + "".join(f"{value:>10}" for value in row))
    return "\n".join(lines)


def nps_rows(rng: Random) -> str:
    lines = ["week       | segment   | answers | promoters | passives | detractors"]
    for week in range(1, 13):
        for segment in ("schools", "makers", "logistics"):
            parts = [rng.randint(2, 9), rng.randint(1, 5), rng.randint(0, 3)]
            lines.append(
                f"2025-W{week:02d}   | {segment:<9} | {sum(parts):>7} | {parts[0]:>9} | {parts[1]:>8} | {parts[2]:>10}"
            )
    return "\n".join([*lines, "(36 rows)"])


def survey_rows(rng: Random) -> str:
    lines = ["id,segment,role,price_ok,wants,willing_eur_per_month"]
    for number in range(1, 86):
        wish = rng.choice(
            [
                "rental in winter",
                "longer battery in the cold",
                "clear error texts",
                "中文教程",
                "faster spare parts",
                "quieter gripper",
                "a signal lamp",
            ]
        )
        lines.append(
            f"S{number:03d},{rng.choice(['school', 'maker', 'logistics'])},{rng.choice(['buyer', 'user', 'teacher', 'technician'])},{rng.choice(['yes', 'yes', 'no'])},{wish},{rng.randint(0, 36) * 10}"
        )
    return "\n".join(lines)


def firmware_log(rng: Random) -> str:
    lines, tick = [], 8_412_030
    for step in range(74):
        tick += rng.randint(40, 900)
        if step == 47:
            lines.append(f"[{tick}] E can: frame 0x1A4 dropped, tx mailbox full, last ok 312 ms ago")
            lines.append(f"[{tick + 3}] W joint3: position hold timed out, soft stop")
            continue
        lines.append(
            f"[{tick}] {rng.choice('DDDI')} {rng.choice(['joint1', 'joint2', 'joint3', 'can', 'grip', 'ui'])}: {rng.choice(['pos ok err', 'torque ok, ripple', 'frame ack in us', 'setpoint queue', 'heartbeat', 'encoder delta'])} {rng.randint(1, 420)}"
        )
    return "\n".join(lines)


RESULTS: dict[str, Callable[[Random], str]] = {
    maker.__name__: maker
    for maker in (
        orders_march,
        orders_april,
        returns_csv,
        telemetry_csv,
        gateway_log,
        webhook_log,
        load_test,
        interview,
        support_chat,
        reviews,
        contract,
        lease,
        handbook,
        inventory_sync,
        search_reviews,
        search_rules,
        hotels,
        api_docs,
        exhibitors,
        recipes,
        weather_plan,
        weather_trip,
        weather_bergen,
        flights,
        stock_days,
        pods,
        metrics,
        nps_rows,
        survey_rows,
        firmware_log,
    )
}


def result(name: str) -> str:
    """The text of the named tool result; the name is also its seed."""
    return RESULTS[name](Random(f"quire demo {name}"))
