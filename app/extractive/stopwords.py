"""Words that tell nothing about a text, written by hand for this project.

``COMMON`` words are not stop words: they may be part of a term, but they make a
poor term on their own. Chinese needs no such list, rjieba's dictionary has
frequencies.
"""

ENGLISH = frozenset(
    """
    a about above across actually after again against ago all almost along already also although always am among
    an and another any anybody anyone anything anyway anywhere are aren't around as ask at away back be became
    because become been before behind being below besides best better between beyond big both bring but by came can
    can't cannot come could couldn't did didn't do does doesn't doing don't done down during each either else
    enough especially etc even ever every everybody everyone everything everywhere exactly far feel few find fine
    first for from full further gave get gets getting give given gives go goes going gone gonna good got great had
    hadn't happen happened has hasn't have haven't having he he'd he'll he's hello help hence her here here's hers
    herself hey hi him himself his hope how how's however i i'd i'll i'm i've if in indeed instead into is isn't it
    it'd it'll it's its itself just keep kind knew know known knows last later least less let let's like likely
    little long look looking looks lot lots made mainly make makes making many may maybe me mean means might mine
    more most mostly much must my myself near need needed needs neither never next nice no nobody none nor not
    nothing now nowhere of off often oh ok okay on once one ones only onto or other others otherwise our ours
    ourselves out over own per perhaps please possible possibly probably put quite rather really right said same
    saw say saying says see seem seemed seems seen several shall she she'd she'll she's should shouldn't show shown
    shows since so some somebody someone something sometimes somewhere soon still such sure take taken takes taking
    tell than thank thanks that that'll that's the their theirs them themselves then there there's therefore these
    they they'd they'll they're they've thing things think this those though thought through throughout thus to
    today together told too took toward towards tried try trying two under unless until up upon us use used uses
    using usually very via want wanted wants was wasn't way ways we we'd we'll we're we've well went were weren't
    what what's whatever when when's where where's whether which while who who's whoever whole whom whose why will
    with within without won't wonder work works would wouldn't wow yeah yes yesterday yet you you'd you'll you're
    you've your yours yourself yup
    """.split()
)

COMMON = frozenset(
    """
    able account action actions add added additional address allow amount answer answers available based basic
    call called case cases change changed changes check class clear close code common complete completed content
    content_type contents context correct create created current currently data date day days default description
    detail details different directory document done easy edit end ensure entire error errors example examples
    exist existing exists expected fact false field fields file files final follow following form format found free
    function functions future general give group hand hard high home hour hours html http https id idea image images
    important include included includes including index info information input item items job key keys kind known
    large later learn left level life line lines link list lists live load local location low main making mark
    match matter message messages method minute minutes mode model modern modify module moment month months move
    name names new next none null number numbers object objects old open option optional options order original
    output page pages param params parameter parameters part parts pass path people person place plan point points
    post problem process program project properties property provide provided provides public question questions
    read ready real reason recent related release remove request requests require required requires response
    result results return returned returns review run running save saved search second section select self send
    sent separate server service services set several share short show side similar simple single site size small
    snippet source sources specific start started state status step steps stop string strings success summary
    support system table task tasks test tests text three time times title today tool tools top topic total true
    type types understand undefined update updated url user users value values version view wait web website week
    weeks word words world write written wrong www year years yes
    """.split()
)

CHINESE = frozenset(
    """
    的 了 和 是 在 我 你 他 她 它 们 我们 你们 他们 她们 它们 咱们 大家 自己 这 那 这个 那个 这些 那些 这里 那里
    这儿 那儿 这样 那样 这么 那么 什么 怎么 怎样 怎么样 怎么办 如何 为何 为什么 哪 哪个 哪些 哪里 哪儿 谁 几
    多少 多 少 很 太 更 最 非常 十分 特别 比较 有点 有些 一些 一下 一点 一个 一种 一样 一起 一直 一定 一般 一切
    两个 几个 每 每个 各 各种 某 某个 该 此 其 其他 其它 另 另外 也 都 就 才 又 再 还 还有 还是 只 只有 只是 不
    不是 不会 不能 不要 不用 没 没有 别 非 无 有 有没有 要 想 想要 会 能 能够 可以 可能 应该 应当 需要 必须 得
    着 过 地 吗 呢 吧 啊 呀 哦 嗯 哈 哈哈 啦 嘛 呗 哎 喂 嗨 您 您好 你好 好 好的 好吧 行 可 对 对于 关于 至于
    由于 因为 所以 因此 但 但是 不过 然而 而 而且 并 并且 或 或者 以及 及 与 同 跟 给 把 被 将 让 使 由 从 到 向
    往 于 以 为 为了 按 按照 根据 通过 作为 如果 假如 要是 虽然 尽管 即使 无论 不管 除了 之 之前 之后 之间 以前
    以后 以上 以下 以内 以外 前 后 上 下 里 内 外 中 左右 时 时候 当 当时 现在 目前 今天 昨天 明天 刚才 刚刚
    已经 已 正在 正 曾 曾经 然后 接着 首先 其次 最后 最近 后来 随后 同时 说 说明 觉得 认为 感觉 知道 看 看看
    看到 来 去 做 进行 使用 用 请 请问 麻烦 谢谢 多谢 感谢 抱歉 对不起 没关系 没问题 帮 帮我 帮忙 帮助 告诉
    告诉我 一次 两次 次 个 位 件 条 张 种 些 点 天 年 月 日 号 时间 东西 事情 问题 情况 方面 部分 内容 方式 方法
    地方 开始 结束 继续 完成 出来 起来 下来 上来 出去 过来 过去 进去 回来 得到 成为 属于 包括 包含 具有 存在
    发现 提供 表示 显示 出现 发生 采用 等 等等 比如 例如 譬如 其中 其实 确实 真的 当然 只要 只能 不仅 甚至 尤其
    主要 重要 相关 具体 不同 相同 所有 全部 任何 许多 很多 大量 不少
    """.split()
)
