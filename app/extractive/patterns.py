"""Classify sentences by their wording: request, greeting, conclusion and so on.

The patterns search single sentences that were cut to a few hundred characters. A repetition of overlapping alternatives
is possessive (``*+``), so that none can backtrack out of hand.
"""

import re
from dataclasses import dataclass

_I = re.IGNORECASE
_SEEN = 400
_ENGLISH_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Seen:
    """A sentence prepared for the cues."""

    text: str
    lower: str
    words: frozenset[str]
    ascii: bool


def look(sentence: str) -> Seen:
    """Return a sentence as the cues see it: its first 400 characters."""
    text = sentence[:_SEEN]
    lower = text.lower()
    return Seen(text, lower, frozenset(_ENGLISH_WORD.findall(lower.replace("’", "'"))), text.isascii())


class Cue:
    """A pattern, and English words; it can match only where at least one of them occurs.

    Searching for dozens of alternatives at every character would be the main cost of a line, and most sentences contain
    none of the words. Without words the pattern is always searched.

    The English pattern is in lower case and searches the sentence in lower case, which is several times as fast as
    ignoring case.
    """

    def __init__(self, words: str, english: str, chinese: str) -> None:
        self._words = frozenset(words.split())
        self._english = re.compile(english)
        self._chinese = re.compile(chinese)

    def found(self, seen: Seen) -> bool:
        """Return whether the sentence gives this cue, in either language."""
        if not (self._words and self._words.isdisjoint(seen.words)) and self._english.search(seen.lower):
            return True
        return not seen.ascii and self._chinese.search(seen.text) is not None


# Sentences that say nothing but politeness or assent.
FILLER = re.compile(
    r"^\W*(?:hi|hey|hello|dear|good (?:morning|afternoon|evening|day)|thanks?|thank you|thx|cheers|ok(?:ay)?|sure"
    r"|yes|yep"
    r"|yeah|no|nope|great|cool|nice|perfect|awesome|wow|got it|alright|absolutely|of course|certainly|you'?re welcome"
    r"|no problem|sounds good|sorry|bye|please|understood|i see|well done|excellent|hmm+|oh|haha+|lol|good job"
    r"|continue|go on|go ahead)"
    r"(?:[\s,]+(?:there|all|everyone|team|so much|a lot|very much|again|in advance|for (?:the|your"
    r"|all)\b(?: \w+){0,4}|you|sir"
    r"|to see you|to hear|that'?s (?:great|fine|ok|cool|good)|please|thanks?|thank you|mate|man|guys"
    r"|(?-i:[A-Z])\w{1,15}))*+\W*$"
    r"|^\W*(?:你好|您好|大家好|早上好|下午好|晚上好|早安|晚安|嗨|哈喽|谢谢|多谢|感谢|辛苦了?|好的?|好吧|好啊|好滴"
    r"|嗯+|哦+|行|可以|对|是的|没错"
    r"|没问题|不客气|当然可以|当然|明白了?|知道了|收到|了解|请问|在吗|抱歉|对不起|不好意思|再见|拜拜|哈+|继续"
    r"|太好了|太棒了|真棒)"
    r"(?:[啊呀哈呢吧了哦，,\s]|你们?|您|大家|老师|谢谢|的|好|啦)*\W*$",
    _I,
)
# Politeness that may fill a whole sentence of more words.
PLEASANTRY = Cue(
    "hope free know anything questions question request how how's nice great safe wonderful thanks thank happy glad "
    "appreciate moment regards care meet good hold apologise apologize welcome hesitate here forward like what's",
    r"hope (?:you(?:'re| are)|this|that|it) |feel free|let me know (?:if|how|when|what|which)|anything else"
    r"|any (?:other|further|more) (?:question|help|request)"
    r"|how (?:are|have) (?:you|things)|how(?:'s| is) it going|how (?:was|is) your (?:day|week|weekend|trip|holiday)"
    r"|what's up\b|how can i (?:help|assist)|(?:thanks?"
    r"|thank you) (?:for|in advance|so much|a lot|again)|happy to help|glad (?:to|you|i could)"
    r"|i (?:really |truly |do )?appreciate"
    r"|have a (?:great|nice|good|safe|wonderful) (?:day|one|trip|flight|weekend|evening|time)|hold on|one moment"
    r"|best regards|take care|nice to meet|good to (?:see|hear)|i apologi[sz]e for"
    r"|you're (?:very |most )?welcome|don't hesitate|i'm here to|looking forward to|would you like me to",
    r"还有(?:什么|其他|别的).{0,8}(?:吗|呢|帮)|随时(?:告诉|联系|提问|问我|找我)|希望(?:这|对你|对您|能帮|以上)"
    r"|有什么.{0,4}(?:帮|可以)|祝(?:你|您)|请稍[等候]|很高兴"
    r"|感谢(?:你|您)的|谢谢(?:你|您)的|不客气|如有|如需|如果(?:你|您)(?:还|有任何|需要)|打扰|辛苦",
)
# "That's great, Mel!": what is said, not what it is about.
REACTION = re.compile(
    r"^\W*(?:that(?:['’]s| is| was| sounds)|(?:this|it)(?:['’]s| is| sounds)|sounds|how|what an?|you['’]re)\s"
    r"(?:(?:an?|so|really|very|pretty|doing|all)\s)*+(?:great|good|awesome|amazing|wonderful|fantastic|cool|nice|lovely"
    r"|sweet|awful|terrible|sad|tough|interesting|true|right|fine|fun|inspiring|exciting)\b(?: (?:job|idea|one|news))?"
    r"(?:,? [A-Z]\w+)?\W*$"
    r"|^\W*(?:[哇哦嗯啊呀哈]+[，,！!]*)?(?:听起来|那|这|真是?|太|好).{0,6}(?:好|棒|酷|有趣|厉害|开心|可爱|对)(?:极?了|啊|呀|呢|吧|哦)*\W*$",
    _I,
)
# "Can you help with that?": a request whose object is in another sentence.
EMPTY_REQUEST = re.compile(
    r"^\W*(?:so |and |but |please |then )*(?:(?:can|could|would|will) (?:you|someone|anyone|we)|i need|need"
    r"|any)\W*(?:please )?(?:help|assist|advise?|look|check|ideas?|thoughts?|explain|fix|do)?"
    r"(?: me| us| you)?(?: out)?(?: (?:with|on|about|into|for|at))?(?: (?:it|this|that|them|these|those"
    r"|one))?(?: (?:please|here|for me|up))*\W*$"
    r"|^\W*(?:please (?:help|advise|explain|fix)|help|what (?:should i do|do i do|now|is (?:this|that|it|wrong))"
    r"|what'?s (?:this|wrong|up|happening)|how (?:do i|to|can i) fix (?:this|it|that)|why|any (?:ideas?|thoughts?)"
    r"|fix (?:this|it)|explain(?: this| it)?)(?: please)?\W*$"
    r"|^\W*(?:请|麻烦|求|能不能|可以|能)?(?:你|您|大家)?(?:帮|帮帮|帮忙|帮助|指教|解答|看|看看|看一下|看下|解释"
    r"|处理|弄)(?:我|忙|一下|下|看看|看|解决|吗|吧|呢|解释)*+\W*$"
    r"|^\W*(?:请问)?(?:这|这个|那|它)?(?:是|到底)?(?:怎么办|怎么回事|怎么解决|如何解决|为什么|什么意思|什么情况"
    r"|咋办|该怎么做|怎么弄|啥意思|怎么处理)(?:呢|啊|呀|吗)?\W*$"
    r"|^\W*i(?:'ve| have)(?: got)? (?:a|an|another|one|some) (?:quick |small |strange )?(?:issue|problem|question"
    r"|request)s?(?: here| for you)?\W*$"
    r"|^\W*我(?:这边|这里)?(?:有|遇到了?)一?个?(?:问题|疑问|小问题)\W*$",
    _I,
)
# Who speaks, before what they want.
INTRODUCTION = re.compile(
    r"^\W*(?:i'?m|i am|my name is|this is)\s+(?-i:[A-Z])|^\W*we(?:'ll| will| are going to) be working\b"
    r"|^\W*(?:大家好)?[，,！!]?(?:我叫|我的名字是|我是|中英文)",
    _I,
)
REQUEST = Cue(
    "can could would will please help like i'm am need want have possible there show tell give send find get make "
    "write explain teach remind let's lets task goal job",
    r"\b(?:can|could|would|will) you\b|\bplease\b|\bhelp (?:me|us)\b|\bi(?:'d| would) like\b|\bi(?:'m"
    r"| am) (?:looking|trying|planning|hoping)\b|\b(?:i|we) (?:need|want|have to)\b"
    r"|\bis (?:it possible|there (?:a|any))\b|\b(?:show|tell|give|send|find|get|make|write|explain|teach"
    r"|remind) (?:me|us)\b|\blet'?s\b|\byour (?:task|goal|job)\b|\btask is\b",
    r"请(?!问)|麻烦|帮(?:我|忙|助)|能不能|能否|可不可以|可否|可以.{1,30}吗|我想(?!到|起)|我要|我需要|希望(?:你|能)"
    r"|给我|告诉我|替我|需要(?:你|实现|一个|把|将)",
)
IMPERATIVE = re.compile(
    r"^\W*(?:write|create|make|build|generate|implement|add|fix|find|search|explain|describe|summari[sz]e|translate"
    r"|compare|list|show|tell|give|calculate|compute|convert|refactor"
    r"|design|draft|plan|book|cancel|update|change|remove|delete|rename|move|check|review|analy[sz]e|debug|install"
    r"|deploy|run|test|open|read|extract|download|schedule|remind|set|use|do|don'?t|try"
    r"|recommend|suggest|prepare|organi[sz]e|collect|help|edit|send|order|look|investigate|optimi[sz]e|rewrite"
    r"|solve|play|draw|plot|introduce|get|migrate|merge|upload|transfer)\b"
    r"|^\W*(?:写|做|生成|创建|实现|添加|增加|修复|修改|查找|查询|查一下|查|搜索|解释|介绍|总结|翻译|对比|比较|列出"
    r"|计算|转换|重构|设计|规划|预订|取消|更新|删除|检查|分析|调试|部署|运行|打开|读取|提取|下载|安排|推荐|整理|画"
    r"|把|将|用)",
    _I,
)
QUESTION = Cue(
    "",
    r"[?？]|^\W*(?:what(?! an?\b)|how|why|when|where|which|who|whose|is|are|was|were|does|did|can|could|should"
    r"|would|has"
    r"|have)\b.{8}",
    r"怎么|如何|为什么|为何|什么|哪[个些里儿种]|多少|是否|是不是|有没有|吗\W*$|呢\W*$|几[个点天]",
)
PROBLEM = Cue(
    "error errors fail fails failed failing failure bug bugs crash crashes crashed crashing broken issue problem "
    "stuck wrong exception timeout slow leak lost missing doesn't isn't can't won't didn't not",
    r"\b(?:error|fail(?:s|ed|ing|ure)?|bug|crash(?:es|ed|ing)?|broken|issue|problem|stuck|wrong|exception|timeout"
    r"|slow|leak|lost|missing"
    r"|(?:doesn|isn|can|won|didn)'?t (?:work|start|run|load|log|open|find|connect)|not working)\b",
    r"报错|错误|失败|异常|崩溃|卡住|不行|无法|不能用|打不开|出问题|坏了|丢失|超时|很慢|泄漏|找不到",
)
CONCLUSION = Cue(
    "therefore thus hence summary short conclusion sum overall answer result cause fix solution reason total "
    "problem issue flag turns turn means recommend recommendation conclude line caused due because should need can",
    r"\b(?:therefore|thus|hence|in (?:summary|short|conclusion)|to sum(?:mari[sz]e)?|overall|the (?:answer|result"
    r"|root cause|cause|fix|solution|reason|conclusion|total|problem|issue|flag) (?:is|was|turned out)"
    r"|as a result|turns? out|this means|recommend(?:ation)?|conclu(?:de|sion)|bottom line|caused by|due to|because"
    r"|you (?:should|need to|can))\b",
    r"总之|综上|总的来说|总体(?:来看|而言)|因此|所以|结论|答案是|结果(?:是|为)|原因(?:是|在于)|建议|推荐|意味着"
    r"|由此可见|根本原因|关键(?:是|在于)|最终|应该|导致|是因为",
)
DONE = Cue(
    "i've we've have been was were now successfully fixed updated created complete completed booked cancelled "
    "canceled saved confirmed found added removed deployed resolved issued refunded passes passed done decided "
    "agreed chose",
    r"\b(?:(?:i|we)(?:'ve| have)|(?:has|have) been|was|were|is now|successfully|fixed|updated|created|completed?"
    r"|booked|cancel+ed|saved|confirmed|found|added|removed|deployed|resolved|issued|refunded|passes|passed|done"
    r"|decided|agreed|chose)\b",
    r"已经?(?!知)|成功|完成了?|搞定|修复了|更新了|创建了|预订了|取消了|保存(?:到|在|了)|找到了|发现|决定|选择了"
    r"|通过了",
)
# What an assistant says before it does anything.
PLAN = re.compile(
    r"^\W*(?:(?:great|sure|ok(?:ay)?|perfect|now|next|first|then|so|of course|certainly|alright|absolutely"
    r"|excellent|good)[,!.\s]+)*+"
    r"(?:(?:now|next|first),? )?(?:let me|let'?s|i(?:'ll| will| can| am going to|'m going to|'d be happy)"
    r"|we (?:will|can|should|need)|we'll|to (?:do|proceed)|try to)\b"
    r"|^\W*(?:好的[，,。！!]?)?(?:当然[，,！!]?)?(?:没问题[，,！!]?)?(?:现在|首先|接下来|下面)?(?:让我|我来|我会"
    r"|我将|我可以|我们来|我先|我这就|以下是|下面是|这是)",
    _I,
)
BOILERPLATE = re.compile(
    r"^\W*(?:note|important|reminder|you are (?:a|an|the|now)\b|here(?:'s| is| are) (?:the|my|a|some)|see below"
    r"|as follows|we(?:'re| are) currently solving"
    r"|the following|attached|sent from my|begin|end of|注意|以下是|如下|附件|下面是)",
    _I,
)
# "ISSUE:" on a line of its own: what follows is what it is all about.
LEAD_LABEL = re.compile(
    r"^\W*(?:the )?(?:issue|task|question|problem|request|title|subject|query|goal|description|问题|任务|需求|标题"
    r"|主题|目标|题目|描述)(?: (?:text|statement|is))?\s*[:：]\s*",
    _I,
)
# "Key points" as a heading: the sentence below it is the gist.
GIST_LABEL = re.compile(
    r"^\W*(?:key (?:points?|findings?|takeaways?)|tl;?dr|(?:executive )?summary|conclusions?|(?:final )?answer"
    r"|results?"
    r"|(?:关键|核心|主要)?(?:结论|要点|发现)|总结|摘要|核心要点|关键点|核心观点|答案)\s*[:：]?\W*$",
    _I,
)
# "INSTRUCTIONS:" on a line of its own: what follows is how, not what.
RULES_LABEL = re.compile(
    r"^\W*(?:instructions?|rules?|guidelines|constraints?|requirements?|tips|notes?|important(?: tips| notes)?"
    r"|output format|注意事项|规则|要求|说明|输出格式)\s*[:：]?\W*$",
    _I,
)
LASTING = Cue(
    "always never from going prefer prefers preferred preference favourite favorite allergic allergy call name "
    "decided decision agreed deadline must remember password budget birthday don't promise promised promises",
    r"\b(?:always|never|from now on|going forward|prefer(?:s|red|ence)?|favou?rite|allerg(?:ic|y)|call me"
    r"|my name is|decided|decision|agreed|deadline|must|remember|password|budget|birthday|don'?t (?:ever|use)"
    r"|promise[ds]?)\b",
    r"以后|从现在起|今后|始终|永远|总是|从不|从来|一律|务必|必须|偏好|更喜欢|最喜欢|过敏|叫我|我叫|名字|决定|约定"
    r"|截止|预算|生日|记住|不要|禁止|密码|习惯",
)
LEAD_IN = re.compile(
    r"^[\s,，.。!！:：~\-–—*_#>\"“]*(?:"
    r"(?:hi|hey|hello|dear|good (?:morning|afternoon|evening))(?: (?:there|all|everyone|team|guys|claude|chatgpt"
    r"|assistant|[A-Z][a-z]{1,14}))?\s*[,!.:]+"
    r"|(?:hi|hey|hello)(?: there)?\s+(?=(?:can|could|i|please|how|what|we)\b)"
    r"|(?:(?:but |and )?(?:just )?to (?:clarify|confirm|be clear)|by the way|btw|one more thing"
    r"|no worries)(?: [A-Z]\w+)?\s*[,!.:]+|(?:ok(?:ay)?|sure|yes|yeah|yep|great|perfect|thanks?|thank you|well|so"
    r"|alright|oh|wow|got it|of course|certainly|absolutely|no problem|cool|excellent|awesome|please|actually|also"
    r"|and|but"
    r"|hmm+|good|sorry)\s*[,!.:]+"
    r"|(?:you|您)好[，,！!。\s]*|(?:你好|您好|大家好|嗨|早上好|下午好|晚上好|请问(?:一下)?|好的|嗯+|当然(?:可以)?"
    r"|没问题|谢谢|不好意思|对了|那个|那么|哈喽|是的|抱歉)(?:[，,！!。、\s~啊呀]+|(?=请问|我|帮|能))"
    r"|请问(?:一下)?[，,]?)",
    _I,
)
# Names, numbers, identifiers, addresses, quotations. It starts with one class of
# characters, which lets the engine skip everything else quickly.
SPECIFIC = re.compile(
    r"[hA-Z0-9 _@/.`《“「](?:(?<=h)ttps?://\S+|(?<=[0-9])[\w.,:/%-]*|(?<=\b[A-Z])[A-Z]+\b|(?<=[a-z][A-Z])\w*"
    r"|(?<=[a-z,:] )(?!I\b)[A-Z][\w'’-]*|(?<=\w[_@])\w+|(?<=\s/)\w+|(?<=[a-z]\.)[a-z]{2,4}\b"
    r"|(?<=`)[^`\n]{1,60}`|(?<=[《“「])[^《》“”「」\n]{2,40}[》”」])"
)
ERROR_LINE = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Failure)|E[A-Z]{4,}|ERROR|FATAL|CRITICAL|PANIC|panic:|[Ee]rror(?:s)?\s*[:\]]"
    r"|[Ff]ailed|FAILED|FAIL|[Ee]xception|[Uu]nauthori[sz]ed|[Ff]orbidden|[Nn]ot found|[Nn]o such file"
    r"|[Pp]ermission denied|[Tt]imed out"
    r"|cannot|could not|command not found|[Ss]egmentation fault|fatal:)"
    r"|\"isError\":\s*true|错误|失败|异常|无法|拒绝|超时|不存在"
)
WARNING_LINE = re.compile(r"\b(?:WARN(?:ING)?|[Ww]arning)\b|警告")


def strip_lead(sentence: str) -> str:
    """Return the sentence without "Hey Max, ", "Okay, ", "你好，请问": at most four of them."""
    for _ in range(4):
        lead = LEAD_IN.match(sentence)
        if lead is None or lead.end() == 0 or len(sentence) - lead.end() < 4:
            break
        sentence = sentence[lead.end() :].lstrip()
    return sentence


def specifics(sentence: str) -> int:
    """Count the names, numbers, identifiers and quotations in a sentence, up to six."""
    count = 0
    for _ in SPECIFIC.finditer(sentence[:_SEEN]):
        count += 1
        if count == 6:
            break
    return count


def is_filler(sentence: str) -> bool:
    """Return whether a sentence is a greeting, thanks or assent and nothing else."""
    return len(sentence) < 120 and FILLER.match(sentence) is not None


def is_boilerplate(seen: Seen) -> bool:
    """Return whether a sentence only announces what follows elsewhere."""
    if "following" in seen.words and "the following" in seen.text:
        return True
    return BOILERPLATE.match(seen.text) is not None or seen.text.rstrip("：: 。").endswith("如下")


def salience(sentence: str) -> float:
    """Score how much would be lost if this sentence of a conversation were forgotten."""
    seen = look(sentence)
    if is_filler(seen.text):
        return 0.0
    score = 1.0 + 0.5 * specifics(seen.text) + min(len(seen.text), 80) / 80
    score += 2.5 * LASTING.found(seen) + 0.8 * CONCLUSION.found(seen)
    score += 0.6 * DONE.found(seen) + 0.4 * PROBLEM.found(seen)
    score -= 1.5 * PLEASANTRY.found(seen) + 1.0 * bool(PLAN.match(seen.text))
    score -= 0.5 * QUESTION.found(seen) + 1.5 * seen.text.startswith(("(", "[", "（"))
    return max(score, 0.05)
