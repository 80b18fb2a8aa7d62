"""The catalogue of short texts that models read, in both languages.

Prompts and long texts are files in `app/prompts`; tools describe themselves in `app/recall/tools.json`; what people
read in the inspector is in `app/ui/words.*.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from app.core.model import Language


class Wording(NamedTuple):
    en: str
    zh: str

    def say(self, language: Language, **values: object) -> str:
        """Return the text with `{name}` replaced by values."""
        text = self.zh if language == "zh" else self.en
        return text.format(**values) if values else text


# --- Quoted text -----------------------------------------------------------------------------------

PAGE_TITLE = Wording("page {page}, {time}", "第{page}页，{time}")
RUN_TITLE = Wording("pages {first}–{last}", "第{first}–{last}页")
ARCHIVE_TITLE = Wording("tool result {uuid}, {tool}, {part}", "工具结果 {uuid}，{tool}，{part}")
ON_PAGE = Wording("page {page}", "第{page}页")
IN_ARCHIVE = Wording("archive", "归档")
ELSEWHERE = Wording("another conversation, {name}", "另一对话 {name}")
PASSAGE_AT = Wording("[{where}, {time}]", "[{where}，{time}]")
NEWEST_DAY = Wording("{day} (newest)", "{day}（最新）")
BY_PAGE = Wording("{day}, by page:", "{day}，按页：")
OTHER_CONVERSATION = Wording("In another conversation, {name}:", "在另一对话 {name} 中：")
REPORT = Wording("[Result of {name}]\n{text}", "[{name} 的结果]\n{text}")
THIS_CONVERSATION = Wording("In this conversation:", "在本对话中：")
BY_DAY_ELSEWHERE = Wording("{day}, another conversation, {name}:", "{day}，另一对话 {name}：")
LATEST_MESSAGES = Wording("the latest messages", "最近的消息")
QUERY = Wording("query", "查询")
TO_FIND = Wording("To be found: ", "要查找：")
KEYS_SEEN = Wording("Keys seen so far: ", "已经见过的 memory_key：")

# --- Windows ---------------------------------------------------------------------------------------

DATE_LINE = Wording("[Date: {day}]", "[日期：{day}]")
LIST_SEPARATOR = Wording(", ", "、")
RESULT_CUT = Wording(
    "{text}… [{length} characters in all; recall_page({page}) has the rest]",
    "{text}…[共{length}字符，全文用 recall_page({page}) 取回]",
)
SHOWN_BEFORE = Wording(
    "[{name}({arguments}) was shown in full at the time; call it again to see it again]",
    "[{name}({arguments}) 的结果已在当时完整显示；需要时可再次调用]",
)
ERASED = Wording("[erased]", "[已删除]")
PRUNED = Wording("[pruned; search_memories still finds what it said]", "[已精简；search_memories 仍可查到其内容]")
REFUSED = Wording("[refused by the model's API]", "[被模型接口拒绝]")
ARCHIVE_ERASED = Wording(
    "[Tool result {uuid} was erased and can no longer be read]", "[工具结果 {uuid} 已被删除，无法再读取]"
)

# --- Contents page ---------------------------------------------------------------------------------

PAGE = Wording("[Page {page}{to}]", "[第{page}页{to}]")
PAGES = Wording("[Pages {first}–{last}{to}]", "[第{first}–{last}页{to}]")
RECALLED = Wording(" (recalled {count}×)", "（已召回{count}次）")

# --- Answers of tools ------------------------------------------------------------------------------

NO_ARGUMENT = Wording("There is no argument {name}. Use {signature}.", "没有参数 {name}。用法：{signature}。")
MISSING = Wording("`{name}` is missing. Use {signature}.", "缺少 `{name}`；用法：{signature}。")
WRONG_RANGE = Wording(
    "`range` must be two characters' numbers, the first smaller, as [200, 900], and without offset and length.",
    "`range` 应为两个字符位置，前小后大，如 [200, 900]，且不与 offset、length 同用。",
)
MUST_BE = Wording("`{name}` must be {what}.", "`{name}` 应为{what}。")
USE = Wording("Use {signature}.", "用法：{signature}。")
CALLS_MAX = Wording("At most {most} calls of tools.", "最多调用 {most} 次工具。")
CODE_BUSY = Wording(
    "Too much code is being run right now; send it again in a moment.", "当前运行的代码太多；请稍后再发。"
)
NO_RESULT = Wording("The code ran, and assigned nothing to __result__.", "代码已运行，但没有给 __result__ 赋值。")
REMEMBERED = Wording("It is remembered.", "已记下。")
PROPOSED = Wording("It is proposed: it counts once a person accepts it.", "已作为提议记下，有人接受后才生效。")
NOT_PROPOSED = Wording("It is not remembered: a person refused it before.", "没有记下：有人拒绝过这条内容。")
NOTHING_KEPT = Wording("Nothing is remembered in this conversation.", "这个对话中不记忆任何内容。")
NO_ARCHIVE = Wording(
    "There is no such archive; use the uuid in a placeholder's first line.",
    "没有这个归档；请使用占位文本第一行里的 uuid。",
)
NO_MEMORY = Wording(
    "There is no such memory; use a memory_key that search_memories gave.",
    "没有这条记忆；请使用 search_memories 结果里的 memory_key。",
)
NO_PAGE = Wording("There is no page {page}; ", "没有第 {page} 页；")
NO_CONVERSATION = Wording("no conversation is open here, so there are no pages.", "此处没有当前对话，无页可读。")
NO_PAGES = Wording("the conversation has no pages yet.", "对话还没有任何页。")
PAGES_EXIST = Wording("pages 1–{last} exist.", "现有第 1–{last} 页。")
SOME_OF = Wording("{count} of {total}", "{total} 条中的 {count} 条")
SOME_LINES = Wording("{count} of {total} lines, newest last", "{total} 行中的 {count} 行，最新的在最后")
SOME_LINES_YET = Wording(
    "{count} of at least {total} lines, newest last; the oldest text was not read: make the pattern more specific",
    "至少 {total} 行中的 {count} 行，最新的在最后；最早的内容未读：请使用更具体的 pattern",
)
NO_LINE = Wording(
    "No line matches; search_memories(query) finds by meaning.",
    "没有匹配的行；可用 search_memories(query) 按含义查找。",
)
NO_LINE_YET = Wording(
    "No line that was read matches, and the oldest text was not read: make the pattern more specific.",
    "已读内容中没有匹配的行，最早的内容未读：请使用更具体的 pattern。",
)
ON_LINE = Wording("{role}, line {line}", "{role}，第{line}行")
ON_ARCHIVED_LINE = Wording(
    "{role}, {uuid}, line {line}, offset {offset}", "{role}，{uuid}，第{line}行，offset {offset}"
)
EARLIER_CONVERSATIONS = Wording(
    " This user has had other conversations with you before: search_memories(query) finds what was said in them.",
    "该用户此前还和你有过其他对话：其中的内容可用 search_memories(query) 查找。",
)
"""What the guide to the recall tools adds in a conversation that is not its user's first."""
RELEVANT_PASSAGES = Wording("relevant passages", "相关段落")
BY_KEYWORD_ALONE = Wording(" (by keyword alone)", "（仅按关键词）")
NOT_EMBEDDED = Wording(" (behind by {count}: the newest by keyword alone)", "（落后 {count} 条：最新的仅按关键词）")
DOUBTFUL = Wording(" (doubtful)", "（存疑）")
NO_PASSAGE = Wording("No passage matches the query.", "没有与查询相关的段落。")
NO_WORDS = Wording("The query has no words to search for; name some.", "查询里没有可搜索的词；请写出要找的词。")
NOTHING_FOUND = Wording("Nothing was found; try other words.", "没有找到；请换别的词再试。")
KEYWORD = Wording("{keyword} ({type} {weight})", "{keyword}（{type} {weight}）")
EXPANDED = Wording("Expanded query: {query}", "扩展后的查询：{query}")
NOT_FOUND = Wording("Nothing was found for: {queries}", "没有找到：{queries}")
MORE_LIKE_IT = Wording(" (and {count} more like it)", "（另有 {count} 条相近内容）")
NO_KEYWORDS = Wording("There are no words worth searching for.", "没有值得搜索的词。")
SAY_MORE = Wording("Can you say more about what you are looking for?", "能否提供更多细节？")
RUN_CUT = Wording(
    '… [cut; recall_page("{first}-{last}") reads on]', '…[已截断；用 recall_page("{first}-{last}") 继续读取]'
)
CUT = Wording("… [cut]", "…[已截断]")
CUT_PAGE = Wording("… [cut; search_memories(query) finds the rest]", "…[已截断；其余可用 search_memories(query) 查找]")
READ_ON = Wording(
    '… [cut; load_tool_history("{uuid}", offset={offset}) reads on]',
    '…[已截断；用 load_tool_history("{uuid}", offset={offset}) 继续读取]',
)
ASK_CLOSER = Wording(
    '… [more passages match; load_tool_history("{uuid}", a narrower query) or with offset and length reads them]',
    '…[还有匹配的段落；用 load_tool_history("{uuid}", query) 并写出更具体的 query，或用 offset 和 length 读取]',
)


def lacking(warnings: Iterable[Mapping[str, str]], language: Language) -> str:
    """Return what a search lacked, for a model, whether or not it found anything; "" if nothing."""
    details = {warning["code"]: warning["detail"] for warning in warnings}
    by_words = BY_KEYWORD_ALONE.say(language) if details.keys() & {"embeddings_absent", "semantic_unavailable"} else ""
    lag = details.get("vectors_lag", "").partition(" ")[0]
    return by_words + (NOT_EMBEDDED.say(language, count=lag) if lag else "")
