"""Find standing notes: what a user says once and expects to hold from then on.

Precision comes first, because a wrong note is in every window from then on. A sentence must use one of a few wordings,
and lookalikes ("never mind", "I always wondered", "call me back") are ruled out first. Pasted or quoted text is
ignored.
"""

import re
from collections.abc import Iterable

from app.extractive.blocks import take_apart
from app.extractive.patterns import strip_lead
from app.text.language import clip, language, squeeze, window

_MAX_SENTENCE = 300
_NOTE_CHARS = 200

_LANGUAGES = (
    r"(?:english|french|german|spanish|italian|portuguese|dutch|russian|ukrainian|polish|turkish|arabic|hebrew"
    r"|hindi|chinese|mandarin"
    r"|cantonese|japanese|korean|vietnamese|thai|swedish|danish|norwegian|finnish|greek|czech)"
)
_LANGUAGES_HAN = (
    "(?:中文|英文|英语|汉语|普通话|粤语|日语|日文|韩语|韩文|法语|法文|德语|德文|俄语|西班牙语|葡萄牙语|意大利语|阿拉伯语|越南语|泰语"
    "|繁体中文|简体中文|繁体|简体)"
)

_NOT_STANDING = re.compile(
    r"\bnever ?mind\b|\b(?:always|never) (?:been|had|seen|heard|thought|knew|known|tried|got|was|were|wondered"
    r"|wanted|imagined|said|told|made|found|took|went|did|came|gave|felt|saw|met|wrote"
    r"|used to|going|gonna|wins?|fails?|ends?|again|happy|good|great|nice|fun|a |an |the |such|enough"
    r"|\w{3,}ed)\b|\b(?:i"
    r"|we) (?:would|could|might|may|almost|nearly|have|'ve|had)\b.{0,20}\b(?:never|always)\b"
    r"|\b(?:he|she|they|it|people|who|that|which|there|this) (?:always|never)\b"
    r"|(?<!can )(?<!could )(?<!would )(?<!will )\byou (?:always|never)\b|\bas always\b|\bremind(?:s|ing)\b"
    r"|\bgive up\b|\bgonna\b|\bquit\b|\bone of my\b|^\W*always (?:\w+ing|by|here|there)\b"
    r"|\b(?:by your side|rooting for|cheer(?:s|ing)? (?:me|you|us) on|proud of you|true to (?:my|your)self)\b"
    r"|\balways (?:returns?|throws?"
    r"|crash|gives|shows|raises?|prints|happens?|null|true|false)|\bpretend\b"
    r"|以后再[说聊谈看]|再也[没不]|从来没|从没|从未|[他她它](?:们)?(?:总是|从不|永远|一直)|总是(?:报错|失败|出现|返回|提示"
    r"|会)|一直(?:在|报错|失败|没|无法|想)|永远(?:是|在一起|爱|快乐|记得)"
    r"|(?:天|年|月|周|小时|分钟|之|毕业|结婚|退休|吃饭|下班|长大)以后",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:what|why|whether|who|whose|which|where|how|if|but|says?|said|saying|tells?|told|claims?|mean(?:s|ing)?|myth"
    r"|story|novel|character|lyrics|song|translate|hope|wish|maybe|perhaps|guess)\b|[\"“”]",
    re.IGNORECASE,
)
"""A question inside the sentence, somebody else's words, a doubt: then only a plain order is a note."""
_ORDER = re.compile(
    r"^\W*(?:please |and |also )*(?:always|never (?!have\b|had\b|did\b|has\b)|from now on|from here on|going forward"
    r"|do(?:n'?t| not) ever|make sure|whenever|every time|each time|remember|keep in mind|until (?:i|we)\b"
    r"|in all your|for all future)",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^\W*(?:please |now |then )*(?:write|rewrite|convert|translate|summari[sz]e|paraphrase|shorten|expand|create|draft"
    r"|compose|find|search|look|read|check|explain|describe|compare|list|tell|turn|change|fix|correct|proofread"
    r"|continue|imagine|suppose|pretend|complete|classify|extract|parse)\b",
    re.IGNORECASE,
)
"""One task, whatever it quotes."""
_TOLD_HAN = re.compile(
    r"(?:里|上|中|着|道)写|写[着道一]|(?:[他她]|老师|妈妈|爸爸|父母|朋友|同事|老板|经理|医生|书上|手册|合同|短信)"
    r"[^，。]{0,6}(?:说|讲|规定|叫我|让我)|翻译|帮我|请问|会不会|出自|故事|[但可]是?这|第[一二三四五六七八九十\d]+[题个]|这[道个]题|的部分"
    r"|的地方|[:：].{0,4}我们|^\W*(?:把|将|写|编|翻|改|总结|概括)|习惯了|知道错"
)
_LETTERS = re.compile("[a-z]+")


_ORDERS = (
    r"(?:accept|add|address|answer|ask|assume|attach|avoid|back|begin|book|bring|buy|call|cc|change|charge|check|cite"
    r"|close|commit|confirm|contact|convert|copy|count|create|delete|deploy|describe|disclose|edit|email|end|explain"
    r"|expose|export|format|give|guess|hide|include|install|invent|keep|leave|link|list|log|make|mark|mention"
    r"|merge|message"
    r"|name|offer|open|order|overwrite|pay|post|print|promise|propose|publish|push|put|quote|read|recommend"
    r"|release|remind"
    r"|reply|report|respond|restart|reveal|round|run|save|schedule|send|set|share|show|sign|skip|sort|speak|start|state"
    r"|store|suggest|summari[sz]e|tell|test|text|touch|translate|turn|use|validate|verify|write)"
)
"""What somebody can order an assistant to do for good."""
_NARRATED = re.compile(
    r"\b(?:told me|says? (?:to|that)|said|used to|last (?:year|month|week|night|time|summer|winter)|yesterday|once"
    r"|years ago|when i was|was|were|did|had|felt|loved|together|growing up|these days|again|any ?more|haha\w*|lol)\b"
    r"|\b(?:yourself|your (?:dreams?|heart|own pace)|you are (?:loved|enough|strong)|count on|believe in"
    r"|be there for)\b"
    r"|上次|上周|去年|昨天|前天|那时|当时|小时候|刚才|看到了|一起(?:玩|去|吃|看)|我们?(?:每次|总|一直)都?|这一刻|这份|快乐|开心|难过"
    r"|的时候|幸福|梦想|加油|以后的(?:路|日子|事|人生|生活)|我叫(?:妈|爸|爷|奶|哥|姐|弟|妹|老师|朋友|同事|[^，。,！!]{1,6}[了来去])|支持你|爱你|以后(?:你|我|我们|咱们"
    r"|他们)?(?:会|还会|还能|想|能|可以|有|再也|一定要?(?:带|去|来|看))|[她他](?:说|讲)",
    re.IGNORECASE,
)
"""A story, a feeling or cheer, which only sounds like an order; one of today does not name a day gone by."""


def _wording(words: str, pattern: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """Return a pattern with the words that must occur for it to match; searching for every pattern would dominate the
    cost.
    """
    return frozenset(words.split()), re.compile(pattern, re.IGNORECASE)


_ENGLISH = [
    # Orders for good.
    _wording(
        "always never ever",
        r"^\W*(?:please )?(?:always|never) (?:ever )?" + _ORDERS + r"\b"
        r"|\byou (?:must|should|are to|have to) (?:always|never)\b|\b(?:please"
        r"|(?:sure|remember|careful|(?:want|need|like) you) to) (?:always|never) (?!be\b)[a-z]+"
        r"|^\W*(?:we|all|any|each|every|answers?|replies|responses?|code)\b.{0,40}\b(?:must|should)"
        r" (?:always|never)\b"
        r"|\b(?:can|could|would|will) you (?:please )?(?:always|never)\b"
        r"|^\W*(?:please )?(?:don'?t|do not) ever\b"
        r"|\bi (?:always|never|only ever) (?:eat|drink|fly|book|accept)\b(?!.*\b(?:when|if|because|after he|with my)\b)"
        r"|\bwe (?:always|never|only ever) (?:use|deploy|merge|push|commit|release|ship|write|pay|answer"
        r"|schedule|accept|book)\b",
    ),
    _wording(
        "now here forward point all rest until",
        r"\b(?:(?:from now on|from here on|going forward|from this point on)(?!,? (?:it|this|that|there|things"
        r"|life|he|she"
        r"|they|nothing|everything|nobody|everyone|the|my|i'?m|i am|i'?ll|i will|i want|we'?re|we'?ll|is|was"
        r"|means|what|how|who|when|where|why|which)\b)"
        r"|in all (?:future|your)|for all future"
        r"|for the rest of (?:this|our)|until (?:i|we) (?:say|tell you) otherwise)\b.{6}"
        r"|\b(?:can|could|would|will) you (?:please )?from now on\b",
    ),
    _wording(
        "whenever time",
        r"^\W*(?:whenever|every time|each time|any time) (?:i|we|you)\b.{3,80}(?:,| please| then) ?(?:please |then "
        r"|you )?(?:always|never|use|add|ask|run|write|give|show|remind|tell|answer|reply|respond|include|check"
        r"|keep|don'?t|do not|make)\b",
    ),
    _wording(
        "remember mind note",
        r"^\W*(?:please )?(?:remember|keep in mind|note for (?:the )?future|bear in mind)(?: that|:|,)?"
        r" (?:i (?:have|need|work|live|can'?t|cannot|don'?t|prefer|want)|my|we|our|to (?:always|never))\b.{4}",
    ),
    _wording(
        "answer reply respond speak talk communicate",
        r"^\W*(?:please )?(?:only |just )?(?:answer|reply|respond|speak|talk|communicate)(?: to me"
        r"| with me)?(?: only)? in " + _LANGUAGES + r"\b",
    ),
    # Lasting traits of the user.
    _wording(
        "allergic intolerant vegan vegetarian pescatarian diabetic blind colorblind colourblind coeliac celiac"
        " gluten lactose left deaf dyslexic",
        r"\b(?:i am|i'm|im) (?:\w+ly )?(?:allergic to|intolerant (?:to|of)|vegan|vegetarian|pescatarian|diabetic"
        r"|colou?r-?blind|coeliac|celiac|gluten[- ](?:free|intolerant)|lactose[- ]intolerant|left-handed|deaf"
        r"|dyslexic)\b",
    ),
    _wording(
        "allergy intolerance",
        r"\bi have (?:a |an )?(?:\w+ ){0,2}(?:allergy|intolerance)\b(?! (?:test|appointment|season|clinic|shot"
        r"|report))",
    ),
    _wording(
        "eat drink",
        r"\bi (?:can'?t|cannot|don'?t|do not|never) (?:eat|drink)\b(?= [a-z])(?!.*\b(?:another|anymore|any more"
        r"|today|tonight"
        r"|tomorrow|now|yet|this|that|breakfast|lunch|dinner|bite|much|out|when|if|well|enough|like|because)\b)",
    ),
    _wording(
        "call",
        r"\b(?:just |please |you can |everyone |people )?call me (?!back\b|at\b|on\b|when\b|later\b|tomorrow\b|if\b"
        r"|in\b|a\b|an\b|the\b|crazy\b|for\b|to\b|today\b|tonight\b|soon\b|asap\b|now\b|before\b|after\b|by\b"
        r"|as\b|old\b|stupid\b)[A-Za-z][\w'-]*(?:\W*$|\W+(?:from|instead|please|not|and|,))",
    ),
    _wording(
        "my go",
        r"\bmy (?:name is (?-i:[A-Z])\w*|name's (?-i:[A-Z])\w*|pronouns are|time ?zone is|native language is"
        r"|preferred \w+(?: \w+)? is"
        r"|preference is (?!not|un)|favou?rite (?!of\b|among\b|part|bit|scene|line|moment|thing|one|quote|chapter"
        r"|episode)\w+(?: \w+){0,3}"
        r" (?:is|are) (?!\w+ing\b))\b|\bi go by [A-Z]?\w+\W*$",
    ),
    _wording(
        "prefer",
        r"\bi (?:strongly |really |always |generally |usually |much |personally )?prefer (?!.*\b(?:until|today"
        r"|tonight|tomorrow|this time|for this|for now)\b|not to say|to\b|the\b|one\b|my\b|when\b|to (?:cancel"
        r"|change|book|keep|do (?:that|it))|that\b|this\b|it\b|the (?:first|second|third|last|latter|former)\b)"
        r".{4}",
    ),
    _wording(
        "policy rule convention",
        r"^\W*(?:our|my) (?:team )?(?:policy|house rule|rule|convention) is (?!not\b|under\b|still\b|being\b"
        r"|\w+(?:ed|ing)\b)",
    ),
]
_CHINESE = re.compile(
    r"(?:^|[，,。；;：:！!\s])(?:请|那)?(?:你|您|我们|咱们)?(?:以后|今后(?!.{0,2}[年月天])|往后|从现在起|从现在开始|从今以后|从今往后"
    r"|从今天起|从此)(?:，|,)?(?:请|你|您|我们|咱们|的|所有|每次|凡是|回答|回复|跟我|和我|给我|代码|涉及|遇到"
    r"|任何)*(?:.{0,12}?)(?:都|请|不要|别|不准|不能|一律|必须|务必|记得|统一|用|叫我|称呼|只|始终|不用|无需|默认|先|控制|保持|保留)"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|您|我们|必须|务必|一定)*(?:始终|永远|一律|(?<=[请须])总是|自始至终|在任何情况下"
    r"|任何时候)(?:都|要|请|不要|别|不能|不得|不许|不准|用|使用|以|保持|先|必须|给|把|在|记得|附上|说|称呼|保留|按|选|写)"
    r"|(?:^|[，,。；;：:！!\s])(?:我们?|团队|公司)(?:从不|从来不|绝不|永远不)(?:用"
    r"|吃|喝|坐|住|在|会|接受|买|要|穿|部署|发布|上线|合并|做|去|于|选|订|看)"
    r"|我(?:还|也)?(?:是)?(?:对|有)[^，。,！!？?]{1,12}过敏|我(?:是)?(?:素食|吃素|吃纯素|纯素|糖尿病|色盲|色弱|左撇子"
    r"|乳糖不耐|回族|清真)|我(?:有|得了)(?:糖尿病|高血压|乳糖不耐|色盲|哮喘)|我(?:不|不能|从不|从来不)(?:吃"
    r"|喝)(?![，。,！!？?.\s]|$|饭|早|午|晚|了|完|完了|下|的|[^，。]*了[。！!]?$)"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|您|可以|就|直接|大家都|大家|平时|以后)*(?:叫我|称呼我为?|喊我)(?!去|来|做"
    r"|干|帮|把|吃|起|回|过|一|怎|什|的|不|别|在|先|加|写|改|到)[^，。,！!？?\s]{1,8}(?:就好|就行|吧|即可"
    r"|就可以)?[。.！!，,\s]*$"
    r"|(?:^|[，,。；;：:！!\s])我(?:的名字)?(?:叫|名叫|的名字是)(?!你|他|她|了|车|外卖"
    r"|人)[^，。,！!？?\s的]{1,8}(?=[，,。.！!\s]|$)"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|您|只|麻烦|只能|必须|全程|统一)*(?:用|使用|以)"
    + _LANGUAGES_HAN
    + r"(?:来|跟我|和我|给我)?(?:回答|回复|交流|沟通|对话|答复|作答|聊天)(?!.{0,4}(?:这|下面|以下|上面|如下))"
    r"|我(?:个人|平时|一般|通常|一直|还是)?(?:更喜欢|更偏好|偏好|比较喜欢|更习惯)(?![跟和听看玩吃去在]|这|那|你刚|第|上一|下一)[^？?]{2}"
    r"|我最(?:喜欢|爱)的(?!老师|人|同学|朋友|季节|歌|电影)[^，。,]{1,12}是"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你)*(?:不要|别)再(?:用|使用|给我|发|提|推荐|称呼|叫我|加|写|说)(?!了)[^？?]{2}"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|要|一定)*(?:记住|牢记|切记|请记得)[，,：:]?\s*(?:我|公司|以后|今后|不要|别|必须|每次|所有|凡是)[^，。,！!？?]{3}"
    r"|(?:^|[，,。；;：:！!\s])(?:每次|每当|凡是|只要)[^，。,？?]{2,24}[，,]?(?:都要(?:先|附|写|注明|问|告诉|检查|给|发|用)|都请|请|必须|务必|都得|都先"
    r"|都用|一律)"
)
_ASKED_FOR_GOOD = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:(?:always|never|only)|from now on,?(?: always| never| only)?)"
    r" (?:please )?(?:answer|reply|respond|write|speak|talk|use|give|include|add|show|cite|name|explain|keep"
    r"|format|call"
    r"|check|ask|remind|send|put|start|begin|end|run|list|translate|sign|mention|quote|avoid|suggest|recommend)\b",
    re.IGNORECASE,
)
_HAN_ASKS = re.compile(r"[吗么呢]\W*$|什么|怎么|为什么|是不是|有没有|谁|哪")


def standing_note(text: str) -> str | None:
    """Return the first sentence of a user's message that holds for good, at most 200 characters; None if none does."""
    return note_in(take_apart(window(text)).prose)


def note_in(prose: Iterable[str]) -> str | None:
    """Return the first standing note in the sentences of a message; see ``standing_note``."""
    for raw in prose:
        sentence = squeeze(raw)
        if 4 <= len(sentence) <= _MAX_SENTENCE and _holds_for_good(sentence):
            return clip(strip_lead(sentence), _NOTE_CHARS)
    return None


def _holds_for_good(sentence: str) -> bool:
    if language(sentence) == "zh":
        asks = sentence.endswith(("?", "？")) or _HAN_ASKS.search(sentence) is not None
        holds = not asks and _CHINESE.search(sentence) is not None and _TOLD_HAN.search(sentence) is None
    else:
        holds = _holds_for_good_in_english(sentence)
    return holds and _NOT_STANDING.search(sentence) is None and _NARRATED.search(sentence) is None


def _holds_for_good_in_english(sentence: str) -> bool:
    if _TASK.match(sentence) is not None:
        return False
    words = set(_LETTERS.findall(sentence.lower()))
    if not any(pattern.search(sentence) for needed, pattern in _ENGLISH if not needed.isdisjoint(words)):
        return False
    if sentence.endswith(("?", "？")):
        return _ASKED_FOR_GOOD.search(sentence) is not None and _TOLD.search(sentence) is None
    return _TOLD.search(sentence) is None or _ORDER.match(sentence) is not None
