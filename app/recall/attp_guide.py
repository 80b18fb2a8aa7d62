"""Tell a model how it writes ATTP documents, in its system prompt."""

from __future__ import annotations

from app.core.model import Language

ATTP: dict[Language, str] = {
    "en": '''\
Answer with one TOML document and nothing else: a `thought`, then a [tool_call] table with `code` to run, or with a \
`message` when you are done.

thought = "Tea was mentioned before; I look for it."
[tool_call]
status = "continue"
target = "memory"
code = """
hits = search_memories(query="tea")
__result__ = [hit["content_preview"] for hit in hits]
"""

thought = "I know it now."
[tool_call]
status = "done"
message = "You like green tea."

The code is Starlark: Python without import, while, classes, exceptions and files. Assign what you want to see to \
__result__. Besides the built-ins it has these functions, called with named arguments:''',
    "zh": '''\
只回复一个 TOML 文档，不要其他内容：先写 `thought`，再写 [tool_call] 表，其中用 `code` 给出要运行的代码，完成时用 \
`message` 给出回答。

thought = "之前提到过茶，我来查找。"
[tool_call]
status = "continue"
target = "memory"
code = """
hits = search_memories(query="茶")
__result__ = [hit["content_preview"] for hit in hits]
"""

thought = "已经知道了。"
[tool_call]
status = "done"
message = "你喜欢绿茶。"

代码是 Starlark：没有 import、while、类、异常和文件的 Python。把想看到的内容赋给 __result__。除内置函数外还有以下函数，\
用命名参数调用：''',
}
"""The guide to ATTP; the functions follow."""
