"""Words and phrases of small talk, which have no subject; written by hand for this project.

``PHRASES`` are removed from a text first, longest first; then ``WORDS`` and bm25's stop words do not count as a
subject. A word belongs here only if nobody would search a memory for it: "like", "work" and "name" do not.
"""

ENGLISH_PHRASES = (
    "absolutely not, all good, all right, all set, anyone there, anything else, are you kidding, are you serious, "
    "as you wish, back in a bit, back in a minute, back in a second, be right back, bear with me, bit by bit, "
    "by the way, carry on, catch you later, couldn't agree more, didn't catch that, don't worry, enough for now, "
    "excuse me, fair enough, fair point, fingers crossed, forget about it, forget it, get on with it, give it a try, "
    "give me a minute, give me a moment, give me a second, glad to hear it, glad to hear that, glad to help, "
    "go ahead, go for it, go on, good afternoon, good chat, good day, good evening, good grief, good luck, "
    "good morning, good night, good to hear, good to know, got it, gotta go, hang on, happy to help, "
    "have a good weekend, have a great day, have a great weekend, have a nice day, have a nice weekend, help me, "
    "here we go, hold on, hope that helps, how are things, how are you doing, how can you help, how do you feel, "
    "how funny, how interesting, how is it going, how is your day, how was your day, how's everything, "
    "how's it going, how's your day, i apologize, i didn't get that, i do not know, i don't get it, i don't know, "
    "i don't mind, i don't think so, i doubt it, i get it, i guess so, i hope so, i like it, i love it, i mean it, "
    "i owe you one, i see, i take it back, i think so, i was just thinking that, i'll keep that in mind, "
    "i'll let you know, i'll remember, i'll think about it, i'm ready, if you say so, ignore that, just a moment, "
    "just a second, just kidding, keep going, keep it up, kind of, let me check, let me know, let me see, "
    "let me think, let me think about it, let's begin, let's go, let's move on, let's see, let's start, "
    "long time no see, looks fine, looks good, looks great, looks right, lucky me, makes sense, many thanks, "
    "me neither, more or less, moving on, my apologies, my bad, my goodness, never mind, nice chatting with you, "
    "nice talking to you, nice to meet you, no big deal, no comment, no hurry, no idea, no kidding, no need, "
    "no problem, no rush, no way, no worries, not at all, not bad, of course, oh dear, oh my god, on second thought, "
    "one moment, one more time, one second, pleased to meet you, poor me, ready when you are, right away, "
    "say it again, say no more, say that again, scratch that, see ya, see you, see you around, see you soon, "
    "so far so good, so long, sorry about that, sort of, sounds fine, sounds good, sounds great, spot on, "
    "sweet dreams, take care, take your time, talk later, talk soon, talk to you later, talk to you soon, "
    "tell me more, thank you for letting me know, thank you for your patience, thank you for your time, "
    "thanks a bunch, thanks a lot, thanks a million, thanks a ton, thanks for everything, "
    "thanks for letting me know, thanks for your patience, thanks for your time, that figures, that helps, "
    "that is all, that will be all, that works, that's all, that's enough, that's funny, that's interesting, "
    "that's not what i meant, that's so funny, that's what i meant, too bad, try again, try it, try once more, "
    "until next time, very interesting, wait a minute, wait a moment, wait a second, we'll see, well done, "
    "well said, what a pity, what a relief, what a shame, what about you, what do you mean, what do you think, "
    "what's going on, what's new, what's next, what's up, who knows, works for me, you are a star, you are the best, "
    "you bet, you don't say, you know what, you never know, you read my mind, you rock, you're a star, "
    "you're the best, your help, all done, are we done, are you done, do you remember, "
    "do you still remember, what about it, what comes next, what did i say, "
    "what did you say, "
    "what happened next, what happened then, what happens next, "
    "what happens now, what i told you, where did we leave off, where did we stop, "
    "which one, which ones, who was it"
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
        "again agree agreed ah aha ahead alright also amazing any anyway appreciate appreciated awesome aww bravo bye "
        "certainly cheers congrats congratulations continue cool correct definitely done else er exactly excellent "
        "fantastic fine finished goodbye good gosh great ha haha hahaha hello helpful hey hi hm hmm hooray huh indeed "
        "just k kay kk later lol lovely maybe more much nah neat never nevermind next nice nope nothing noted now oh "
        "ok okay okey oops ouch pardon perfect perhaps please pls proceed quite really repeat right roger so sorry "
        "splendid still super sure thank thanks that's thx today tomorrow tonight too totally true ty uh understand "
        "understood very wait welcome well wonderful wow wrong ya yay yea yeah yep yes yesterday yo you're yup am "
        "both don't didn't doesn't i'd i'll i'm i've isn't it's let's let must no shall should since than though "
        "through until upon we'll we're we've while won't wouldn't yet yours yourself myself mine only ought once "
        "over out off own per same such under down here"
    ).split()
)
CHINESE_PHRASES = (
    "再讲一遍 再试一次 重试一下 试一下 原来如此 原来是这样 你觉得呢 你觉得怎么样 你认为呢 没有问题 没问题 没关系 "
    "没事儿 不客气 不用谢 不用了 不要紧 别担心 别客气 非常感谢 早上好 上午好 中午好 下午好 晚上好 最近怎么样 "
    "最近好吗 怎么样 回头见 明天见 下次见 一会儿见 再联系 辛苦了 真不错 挺好 好极了 干得好 干得漂亮 做得好 有道理 "
    "就这么办 说下去 往下说 真的假的 知道了 等一等 稍等 等会儿 好主意 好想法 随便 算了 无所谓 有什么可以帮您 "
    "有什么可以帮你 记住了 记下了 我会记住 已记录 已经记住 加油 恭喜 祝你好运 吃了吗 帮帮我 帮我一下 帮个忙 什么意思 "
    "为什么呢 怎么办 感激不尽 非常感激 万分感谢 感谢您 帮大忙了 帮了大忙 帮了我大忙 帮了我一个大忙 打扰了 打搅了 "
    "打扰一下 劳驾 打错了 打错字了 说错了 发错了 我的错 怪我 就这样定了 就这么定了 说定了 一言为定 不着急 不急 别急 "
    "别着急 慢慢来 不忙 没什么 没其他问题了 好久不见 回头聊 回头再聊 回头再说 改天聊 改天再聊 改天再说 有空再聊 "
    "有空聊 下次聊 下次再聊 下次再说 晚点再聊 晚点聊 晚点再说 以后再说 先这样 先到这里 先到这儿 先到这 到此为止 "
    "就到这儿 我回来了 我走了 先走了 先忙了 你先忙 您先忙 去忙吧 先撤了 溜了 马上来 马上就来 马上就好 稍等片刻 "
    "等我一会儿 等一会儿 等下 想一想 容我想想 我考虑一下 听你的 听您的 你说了算 你决定 你定吧 你看着办 按你说的 "
    "按你说的办 照你说的做 依你 真有意思 挺有意思 真好玩 太逗了 逗死了 笑死 太搞笑了 没听懂 不知道 你真聪明 太强了 "
    "太酷了 点赞 是这个意思 怪不得 难怪 马马虎虎 祝好 周末愉快 节日快乐 新年快乐 祝你愉快 晚上见 周末见 待会儿见 "
    "待会见 一会见 后会有期 慢走 多保重 早点休息 好好休息 晚安好梦 我睡了 先睡了 我去睡了 你先说 您先说 请讲 "
    "说来听听 愿闻其详 我听着呢 当我没说 换个话题 言归正传 话说回来 话又说回来 无语了 真无语 我服了 我晕 天哪 天啊 "
    "我的天 太可惜了 真可惜 真遗憾 太遗憾了 好可惜 没办法 看情况 到时候再说 倒也是 那倒是 谁知道呢 难说 说不准 也许 "
    "大概吧 或许吧 差不多吧 一定的 没毛病 妥了 妥妥的 成交 搞定了 完事了 足够了 得嘞 遵命 好滴 好哒 好咧 哈喽 哈啰 "
    "嗨喽 有人吗 醒了吗 睡了吗 吃了没 忙不忙 近来可好 近来如何 别来无恙 久仰 幸会 很高兴认识你 认识你很高兴 "
    "很高兴见到你 请多关照 多多指教 承让 过奖 不敢当 彼此彼此 我也一样 同上 借你吉言 托你的福 承蒙关照 劳您费心 "
    "费心了 久等了 抱歉久等 来晚了 失陪 告辞 先告辞了 别闹 别逗了 开个玩笑 逗你的 逗你玩 是么 "
    "接下来呢 接下来怎么办 接下来做什么 接下来 下一步呢 "
    "下一步是什么 下一步做什么 下一步 你还记得吗 还记得吗 记得吗 那个东西"
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
        "为 所 等 等等 呃 唔 嘘 哟 咦 诶 欸 嘿"
    ).split()
)
