"""Find standing notes: what a user says once and expects to hold from then on.

Precision comes first, because a wrong note is in every window from then on. A sentence must use one of a few wordings,
and lookalikes ("never mind", "I always wondered", "call me back") are ruled out first. Pasted or quoted text is
ignored.
"""

import re
from collections.abc import Sequence
from itertools import islice

from app.extractive.blocks import take_apart
from app.extractive.patterns import strip_lead
from app.text.language import clip, language, squeeze, window

_MAX_SENTENCE = 300
_NOTE_CHARS = 200
NOTES_MAX = 20
"""Notes of one message."""

LANGUAGES = (
    r"(?:english|french|german|spanish|italian|portuguese|dutch|russian|ukrainian|polish|turkish|arabic|hebrew"
    r"|hindi|chinese|mandarin"
    r"|cantonese|japanese|korean|vietnamese|thai|swedish|danish|norwegian|finnish|greek|czech)"
)
LANGUAGES_HAN = (
    "(?:中文|英文|英语|汉语|普通话|粤语|日语|日文|韩语|韩文|法语|法文|德语|德文|俄语|西班牙语|葡萄牙语"
    "|意大利语|阿拉伯语|越南语|泰语"
    "|繁体中文|简体中文|繁体|简体)"
)

_NOT_STANDING = re.compile(
    r"\bnever ?mind\b|\b(?:always|never) (?:been|had|seen|heard|thought|knew|known|tried|got|was|were|wondered"
    r"|wanted|imagined|said|told|made|found|took|went|did|came|gave|felt|saw|met|wrote"
    r"|used to|going|gonna|wins?|fails?|ends?|again|happy|good|great|nice|fun|(?:a|an"
    r"|the) (?!.{0,60}\bfor me\b)|such|enough"
    r"|\w{3,}ed)\b|\b(?:i"
    r"|we) (?:would|could|might|may|almost|nearly|have|'ve|had)\b.{0,20}\b(?:never|always)\b"
    r"|\b(?:he|she|they|it|people|who|that|which|there|this) (?:always|never)\b"
    r"|(?<!can )(?<!could )(?<!would )(?<!will )\byou (?:always|never)\b|\bas always\b|\bremind(?:s|ing)\b"
    r"|\bgive up\b|\bgonna\b|\bquit\b|\bone of my\b|^\W*always (?:\w+ing|by|here|there)\b"
    r"|\b(?:bright side|and forever|by your side|rooting for|cheer(?:s|ing)? (?:me|you|us) on|proud of you"
    r"|true to (?:my|your)self)\b"
    r"|\balways (?:returns?|throws?"
    r"|crash|gives|shows|raises?|prints|happens?|null|true|false)|\bpretend\b"
    r"|以后再[说聊谈看]|再也[没不]|从来没|从没|从未|[他她它](?:们)?(?:总是|从不|永远|一直)|总是(?:报错|失败"
    r"|出现|返回|提示"
    r"|会)|一直(?:在|报错|失败|没|无法|想)|永远(?:是|在一起|爱|快乐|记得)"
    r"|(?:天|年|月|周|小时|分钟|之|毕业|结婚|退休|吃饭|下班|长大)以后",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:what|why|whether|who|whose|which|where|how|if|but|says?|said|saying|tells?|told|claims?|mean(?:s|ing)?|myth"
    r"|story|novel|character|lyrics|song|saying|motto|moral|proverb|rule (?:in|of|is)|translate|hope|wish|maybe"
    r"|perhaps|guess)\b|[\"“”]",
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
    r"[^，。]{0,6}(?:说|讲|规定|叫我|让我)|翻译|帮我|请问|会不会|出自|故事|[但可]是?这"
    r"|第[一二三四五六七八九十\d]+[题个]|这[道个]题|的部分"
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
    r"|上次|上周|去年|昨天|前天|那时|当时|小时候|刚才|看到了|一起(?:玩|去|吃|看)|我们?(?:每次|总|一直)都?"
    r"|这一刻|这份|快乐|开心|难过"
    r"|的时候|幸福|梦想|加油|以后的(?:路|日子|事|人生|生活)|我叫(?:妈|爸|爷|奶|哥|姐|弟|妹|老师|朋友|同事"
    r"|[^，。,！!]{1,6}[了来去])|支持你|爱你|以后(?:你|我|我们|咱们"
    r"|他们)?(?:会|还会|还能|想|能|可以|有|再也|一定要?(?:带|去|来|看))|[她他](?:说|讲)",
    re.IGNORECASE,
)
"""A story, a feeling or cheer, which only sounds like an order; one of today does not name a day gone by."""


_PEOPLE = (
    r"(?:daughters?|sons?|child|children|kids?|baby|toddler|twins|wife|husband|partner|spouse|girlfriend|boyfriend"
    r"|mother|mom|mum|father|dad|parents?|sister|brother|siblings?|grandmother|grandma|grandfather|grandpa|aunt|uncle"
    r"|niece|nephew|cousin|in-laws?|roommates?|flatmates?|housemates?|friends?|colleagues?|coworkers?|boss|guests?"
    r"|team|family|dog|cat)"
)
_HOUSEHOLD = (
    r"(?:daughters?|sons?|child|children|kids?|baby|toddler|twins|wife|husband|partner|spouse|girlfriend|boyfriend"
    r"|family|roommates?|flatmates?|housemates?|guests?)"
)
"""Those whose meals the user plans; what others eat is told in passing."""
_PEOPLE_HAN = (
    "(?:女儿|儿子|孩子|小孩|宝宝|老婆|老公|先生|太太|妻子|丈夫|爱人|妈妈|爸爸|母亲|父亲|妈|爸|爷爷|奶奶|外公"
    "|外婆|姥姥|姥爷|哥哥|姐姐|弟弟|妹妹"
    "|男朋友|女朋友|男友|女友|室友|同事|朋友|家人|客人|狗|猫)"
)
_ONCE = re.compile(
    r"\bthis time\b|\bfor (?:this|today|tonight|now)\b|\b(?:today|tonight|tomorrow)\b|\bit'?s for\b|\b(?:this"
    r"|that) one\b"
    r"|(?<![按照])(?:这|本)(?:次|一|个|份|段|篇|张|条|回)|那[个张份]|今天|今晚|明天|刚才|下面|上面|一下|小时候"
    r"|以前|现在好",
    re.IGNORECASE,
)
"""What limits an order to its occasion."""
_ROLE_PLAY = re.compile(
    r"\brole[- ]?play|\bpretend\b|\bimagine (?:you|that you|we|a)\b|\bin character\b|\blet'?s play\b"
    r"|\bact (?:as if|like)\b"
    r"|扮演|假装|假设你是|想象你|玩个?(?:角色|游戏)",
    re.IGNORECASE,
)
"""A message that opens a play: none of its orders is the user's own wish."""


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
        r"| with me)?(?: only)? in " + LANGUAGES + r"\b",
    ),
    _wording(
        "always never",
        r"(?:^\W*(?:please |and |also |but |so )*|[,;:] (?:and |but )?)(?:always|never) (?:ever )?"
        r"(?:be (?!yourself|there\b|with\b|able\b|like\b|the\b|a\b|an\b|my\b|home\b)[a-z]+"
        r"|(?!be\b|say never\b|love\b|wonder|know\b|forget\b|stop\b|mind\b|again\b|nice|sunny|happy|glad|sure\b|here\b"
        r"|there\b|on\b|in\b|at\b|up\b|so\b|too\b|more\b|less\b|late\b|early\b|open|busy|ready|my\b|your\b|our\b|his\b"
        r"|her\b|their\b|this\b|that\b|it\b|one\b|some\b|very\b|really\b|quite\b|for\b|from\b|as\b|to\b|not\b|works\b)"
        r"[a-z][a-z-]+(?<!ed)(?<!ing)(?<![^s]s) \w)",
    ),
    _wording(
        "keep make stick",
        r"^\W*(?:please )?(?:keep|make|stick to .{3,30}? in) (?:all (?:of )?|every |any |your |the |my )*"
        r"(?:answers|replies|responses|messages|explanations|comments|summaries|emails|sentences|outputs)\b",
    ),
    _wording(
        "use avoid using more",
        r"^\W*(?:please )?(?:(?:do not|don'?t|never) use|avoid|stop using|no more) (?:any )?"
        r"(?!it\b|this|that|the\b|these|those|my\b|your\b|a\b|an\b|one\b|him|her|them)(?:[a-z]+ ){0,2}[a-z]+s\b\W*$",
    ),
    _wording(
        "all every any everything",
        r"^\W*(?:please )?[a-z]+ .{0,60}\bin (?:all|every|any)(?: of)?(?: your| the| our)? "
        r"(?:answers?|repl(?:y|ies)|responses?|messages?|emails?)\b"
        r"|^\W*(?:please )?[a-z]+ .{0,60}\bin everything you (?:write|say|send|make)\b",
    ),
    _wording(
        "now here forward ever me",
        r"^\W*(?:please |and )*[a-z]+ .{3,120}\b(?:from now on|from here on|going forward)\W*$"
        r"|^\W*(?:always|no|only) (?:an? |the )?(?:[a-z]+ ){1,4}for me\b",
    ),
    # Needs of people around the user.
    _wording(
        "allergic allergy allergies intolerant diabetic coeliac celiac gluten lactose",
        r"\b(?:my|our) (?:[\w-]+ ){0,2}?"
        + _PEOPLE
        + r"(?: [A-Z]\w+)? (?:is|are|has|have|can'?t|cannot|can not|do(?:es)?n'?t"
        r"|do(?:es)? not|never) (?!been\b)(?:(?:an?|both|all|very|severely|highly|also|strictly|severe"
        r"|serious) )*(?:[a-z]+ ){0,2}?"
        r"(?:allergic|allergy|allergies|intolerant|diabetic|coeliac|celiac|gluten|lactose)\b",
    ),
    _wording(
        "vegan vegetarian eat drink halal kosher",
        r"\b(?:my|our) (?:[\w-]+ ){0,2}?" + _HOUSEHOLD + r"(?: [A-Z]\w+)? (?:is|are|can'?t|cannot|can not|do(?:es)?n'?t"
        r"|do(?:es)? not|never) (?:(?:both|all|strictly|also) )*(?:vegan|vegetarian|halal|kosher|eat|drink)\b",
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
_PLAIN_HAN = re.compile(
    r"(?:^|[，,。；;：:！!\s])请(?:你|您)?(?:总是|一直|每次|每回)(?!结)"
    r"|^每次(?:[^，。]{0,6}?)都(?:要|请|必须|得)?(?:先)?(?:给出|附|写|注明|标|列|说明|用|加|提供|引用|检查|问"
    r"|告诉|确认|解释|翻译|保留|检|提醒)"
    r"|^总是先[^，。]{1,12}再"
    r"|^(?:请)?(?:回答|回复|答复|解释|说明|输出|语气|注释|总结)(?:我)?(?:的时候|时)?(?:都|要|请|尽量|一律|统一"
    r"|控制|保持|先|用|别|不要)"
    r"[^，。]{2,}"
    r"|^(?:还有|另外|对了)?[，,]?(?:请|麻烦)?(?:不要|别|请勿)(?:再)?(?:用|使用|加|放|写|说|给我推荐|推荐)(?!这"
    r"|那|刚|力|它|他|她|我)[^，。,了]{2,12}(?:[。！!]?$|[，,]我)"
    r"|(?:我们?(?:家)?(?:的)?(?:[^，。\s]{0,2})" + _PEOPLE_HAN + r"|^我们?家[^，。\s]{0,4})(?:[^，。]{0,3}?)"
    r"(?:对[^，。,！!？?]{1,12}过敏|不(?:能|可以)?(?:吃|喝)[^，。,了]{1,8}|吃素|(?:有|得了)(?:糖尿病|高血压"
    r"|哮喘)|乳糖不耐|是?素食)"
    r"|(?:^|[，,。；;：:\s])(?![他她它谁])[\u4e00-\u9fff]{2,3}对[^，。,！!？?]{1,10}过敏"
    r"|^(?:所有|全部|一切|凡是)[^，。]{1,8}?(?:都|一律|统一)(?:要|用|保留|写成|按|以|加|附|标|放)"
    r"|(?:写|做|给|发)[^，。]{1,8}(?:的时候|时)[^，。]{0,8}?(?:都要|都用|用|要|先|别|不要)[^，。]{1,}"
    r"|(?:^|[，,。；;：:\s])以后[^，。]{2,20}(?:按|照)(?:这个|此|这样)(?:来|做|办|执行)"
)
"""Plain orders with any verb, and needs of people around the user."""
_WHEN_WRITING_HAN = re.compile(r"^\W*写[^，。]{1,8}(?:的时候|时)")
_COMPLAINT_HAN = re.compile(
    r"失败|报错|很|太|等很久|被|烦|分心|忘|睡不|迟到|有意思|以前每次|我总是|[他她][^，。]{0,2}(?:妈|爸|女儿|儿子)"
)
_CHINESE = re.compile(
    r"(?:^|[，,。；;：:！!\s])(?:请|那)?(?:你|您|我们|咱们)?(?:以后|今后(?!.{0,2}[年月天])|往后|从现在起"
    r"|从现在开始|从今以后|从今往后"
    r"|从今天起|从此)(?:，|,)?(?:请|你|您|我们|咱们|的|所有|每次|凡是|回答|回复|跟我|和我|给我|代码|涉及|遇到"
    r"|任何)*(?:.{0,12}?)(?:都|请|不要|别|不准|不能|一律|必须|务必|记得|统一|用|叫我|称呼|只|始终|不用|无需"
    r"|默认|先|控制|保持|保留)"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|您|我们|必须|务必|一定)*(?:始终|永远|一律|(?<=[请须])总是|自始至终|在任何情况下"
    r"|任何时候)(?:都|要|请|不要|别|不能|不得|不许|不准|用|使用|以|保持|先|必须|给|把|在|记得|附上|说|称呼|保留"
    r"|按|选|写)"
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
    + LANGUAGES_HAN
    + r"(?:来|跟我|和我|给我)?(?:回答|回复|交流|沟通|对话|答复|作答|聊天)(?!.{0,4}(?:这|下面|以下|上面|如下))"
    r"|我(?:个人|平时|一般|通常|一直|还是)?(?:更喜欢|更偏好|偏好|比较喜欢|更习惯)(?![跟和听看玩吃去在]|这|那"
    r"|你刚|第|上一|下一)[^？?]{2}"
    r"|我最(?:喜欢|爱)的(?!老师|人|同学|朋友|季节|歌|电影)[^，。,]{1,12}是"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你)*(?:不要|别)再(?:用|使用|给我|发|提|推荐|称呼|叫我|加|写|说)(?!了)[^？?]{2}"
    r"|(?:^|[，,。；;：:！!\s])(?:请|你|要|一定)*(?:记住|牢记|切记|请记得)[，,：:]?\s*(?:我|公司|以后|今后|不要"
    r"|别|必须|每次|所有|凡是)[^，。,！!？?]{3}"
    r"|(?:^|[，,。；;：:！!\s])(?:每次|每当|凡是|只要)[^，。,？?]{2,24}[，,]?(?:都要(?:先|附|写|注明|问|告诉"
    r"|检查|给|发|用)|都请|请|必须|务必|都得|都先"
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


def standing_notes(text: str) -> list[str]:
    """Return the sentences of a user's message that hold for good, each at most 200 characters."""
    return notes_in(take_apart(window(text)).prose)


def notes_in(prose: Sequence[str]) -> list[str]:
    """Return the standing notes among the sentences of a message; see ``standing_notes``."""
    if any(_ROLE_PLAY.search(sentence) for sentence in prose):
        return []
    squeezed = (squeeze(sentence) for sentence in prose)
    found = (one for one in squeezed if 4 <= len(one) <= _MAX_SENTENCE and _holds_for_good(one))
    return list(dict.fromkeys(clip(strip_lead(one), _NOTE_CHARS) for one in islice(found, NOTES_MAX)))


def _holds_for_good(sentence: str) -> bool:
    if language(sentence) == "zh":
        return _holds_for_good_in_chinese(sentence)
    holds = _holds_for_good_in_english(sentence)
    return holds and _NOT_STANDING.search(sentence) is None and _NARRATED.search(sentence) is None


def _holds_for_good_in_chinese(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _HAN_ASKS.search(sentence) or _NOT_STANDING.search(sentence):
        return False
    if _TOLD_HAN.search(sentence) and not _WHEN_WRITING_HAN.match(sentence):
        return False
    if _CHINESE.search(sentence) and not _NARRATED.search(sentence):
        return True
    limits = _ONCE.search(sentence) or _COMPLAINT_HAN.search(sentence)
    return limits is None and _PLAIN_HAN.search(sentence) is not None


def _holds_for_good_in_english(sentence: str) -> bool:
    if _TASK.match(sentence) is not None:
        return False
    words = set(_LETTERS.findall(sentence.lower()))
    if not any(pattern.search(sentence) for needed, pattern in _ENGLISH if not needed.isdisjoint(words)):
        return False
    if _ONCE.search(sentence):
        return False
    if sentence.endswith(("?", "？")):
        return _ASKED_FOR_GOOD.search(sentence) is not None and _TOLD.search(sentence) is None
    return _TOLD.search(sentence) is None or _ORDER.match(sentence) is not None
