"""Words and phrases of small talk, which have no subject; written by hand for this project.

``PHRASES`` are removed from a text first, longest first; then ``WORDS`` and bm25's stop words do not count as a
subject. A word belongs here only if nobody would search a memory for it: "like", "work" and "name" do not.
"""

ENGLISH_PHRASES = (
    "all right, anything else, are you sure, be right back, bit by bit, can you help me, carry on, could you help me, "
    "do it, don't worry, excuse me, fair enough, get on with it, give it a try, glad to hear it, glad to hear that, "
    "go ahead, go for it, go on, good afternoon, good bye, good day, good evening, good idea, good job, good luck, "
    "good morning, good night, good point, good to know, good work, got it, great idea, great job, great work, happy "
    "to help, have a good day, have a great day, have a nice day, help me, hope that helps, how are things, how are "
    "you, how are you doing, how can you help, how do you do, how is it going, how's it going, i appreciate it, i "
    "appreciate that, i appreciate your help, i get it, i guess so, i hope so, i like it, i love it, i see, i think "
    "so, i understand, i'll keep that in mind, i'll remember, i'll remember that, just a moment, just a second, keep "
    "going, keep it up, let me know, let me think, let's begin, let's do it, let's go, let's start, looks fine, looks "
    "good, looks great, looks right, makes sense, many thanks, much appreciated, my bad, never mind, nice job, nice "
    "to meet you, nice work, no idea, no need, no problem, no thanks, no way, no worries, not at all, not bad, not "
    "now, not yet, of course, once again, once more, one moment, one more time, one second, right away, right now, "
    "say it again, say that again, see you later, see you soon, see you tomorrow, so far so good, sounds fine, sounds "
    "good, sounds great, take care, talk to you later, tell me more, thank you, thank you for letting me know, thanks "
    "a bunch, thanks a lot, thanks a million, thanks a ton, thanks for letting me know, thanks for your help, that "
    "helps, that is all, that was helpful, that was really helpful, that works, that's all, that's it, that's right, "
    "try again, try it, try once more, very helpful, well done, what about you, what do you think, what else, what's "
    "new, what's next, what's up, works for me, you're right, you're welcome, your help"
).split(", ")
ENGLISH_PRAISE = (
    "amazing awesome brilliant cool excellent fantastic fine good great lovely neat nice outstanding perfect splendid "
    "super superb terrific wonderful"
).split()
"""Words of praise; with one of the things below they are a phrase."""
ENGLISH_PRAISED = (
    "answer catch choice effort idea job news one plan point progress question start stuff suggestion thing thinking "
    "try work"
).split()
ENGLISH_WORDS = frozenset(
    (
        "again agree agreed ah aha ahead alright also amazing any anyway appreciate appreciated awesome aww bravo "
        "bye certainly cheers congrats congratulations continue cool correct definitely else er exactly excellent "
        "fantastic fine goodbye good gosh great ha haha hahaha hello helpful hey hi hm hmm hooray huh indeed just k "
        "kay kk later lol lovely maybe more much nah neat never nevermind next nice nope nothing noted now oh ok "
        "okay okey oops ouch pardon perfect perhaps please pls proceed quite really repeat right roger so sorry "
        "splendid still super sure thank thanks that's thx today tomorrow tonight too totally true ty uh understand "
        "understood very wait welcome well wonderful wow wrong ya yay yea yeah yep yes yesterday yo you're yup am "
        "both don't didn't doesn't i'd i'll i'm i've isn't it's let's let must no shall should since than though "
        "through until upon we'll we're we've while won't wouldn't yet yours yourself myself mine only ought once "
        "over out off own per same such under down here"
    ).split()
)
CHINESE_PHRASES = (
    "再说一遍 再说一次 再讲一遍 再试一次 再试一遍 再试试 再来一次 重试一下 试一下 原来如此 原来是这样 你觉得呢 "
    "你觉得怎么样 你怎么看 你认为呢 没有问题 没问题 没关系 没事儿 没事 不客气 不用谢 不用了 不要紧 别担心 "
    "别客气 非常感谢 感谢你的帮助 谢谢你的帮助 感谢帮助 你的帮助 您的帮助 太感谢了 早上好 上午好 中午好 下午好 "
    "晚上好 大家好 你好吗 最近怎么样 最近好吗 怎么样 回头见 明天见 下次见 一会儿见 再联系 辛苦了 太棒了 真棒 "
    "真好 真不错 很不错 挺好的 挺好 太好了 好极了 干得好 干得漂亮 做得好 说得对 说得好 有道理 就这样吧 就这样 "
    "就这么办 那就这样 那就好 开始吧 那就开始 接着说 继续说 说下去 请继续 往下说 然后呢 还有呢 还有吗 真的吗 "
    "真的假的 是这样吗 你确定吗 你确定 确定吗 知道了 我知道了 明白了 我明白了 懂了 了解了 收到了 等一下 等一等 "
    "稍等 请稍等 等会儿 好主意 好想法 随便 都可以 都行 算了 无所谓 还有什么可以帮您 还有什么可以帮你 "
    "有什么可以帮您 有什么可以帮你 我记住了 记住了 记下了 我会记住的 我会记住 已记录 已经记住 加油 恭喜 "
    "祝你好运 吃了吗 在吗 在不在 帮帮我 帮我一下 帮个忙 什么意思 为什么呢 怎么了 怎么办"
).split()
CHINESE_WORDS = frozenset(
    (
        "的 了 和 是 在 我 你 您 他 她 它 们 我们 你们 他们 她们 它们 咱们 大家 自己 这 那 这个 那个 这些 那些 这里 "
        "那里 这样 那样 这么 那么 什么 怎么 怎样 为何 哪 哪个 哪些 哪里 谁 几 多少 很 太 更 最 非常 十分 比较 有点 "
        "一些 一下 一点 一个 也 都 就 才 又 再 还 还是 只 只是 不 不是 不会 不能 不要 没 没有 别 有 要 想 会 能 可以 "
        "应该 必须 得 地 着 过 吗 呢 吧 啊 呀 哦 噢 喔 嗯 嗯嗯 哈 哈哈 哈哈哈 呵呵 嘿嘿 嘻嘻 啦 嘛 呗 哎 唉 喂 嗨 哇 "
        "您好 你好 好 好的 好吧 好呀 好啊 好嘞 行 行吧 可 对 对的 没错 嗯哼 因为 所以 但是 不过 而且 或者 以及 与 跟 "
        "给 把 被 让 从 到 如果 当然 确实 真的 真 请 请问 麻烦 谢谢 谢谢你 谢谢您 多谢 感谢 谢 抱歉 对不起 不好意思 "
        "帮助 帮忙 早 早安 晚安 再见 拜拜 拜 继续 然后 接着 开始 明白 了解 懂 清楚 收到 同意 赞 赞成 确定 确认 厉害 "
        "不错 完美 优秀 棒 牛 来 说 看 试 试试 啥 咋 事 今天 昨天 明天 现在 刚才 已经 一遍 一次 次 个 之 其 而 于 以 "
        "为 所 等 等等"
    ).split()
)
