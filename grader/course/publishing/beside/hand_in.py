"""How work is handed in, by git and at a service, as a tree's page says it in each language."""

from grader.languages.language import Language

PLAIN = """\
`make submit LAB={number}` commits and pushes the two files of a lab after asking you, the first
time for your id, too, and says whether they have arrived; nothing of yours goes to the branch that
you got this from. Collected are `labs/NN_topic/topic.py` and its `PSEUDOCODE.md`, {place}.
Your work is dated by the last commit that changes one of the two; other commits change nothing, and
handing in again is always possible."""

SERVED = """\
`make login URL={address}` once, with the token that your instructor gives you; then
`make submit LAB={number}` hands in the two files of a lab, `labs/NN_topic/topic.py` and its
`PSEUDOCODE.md`, after asking you, and shows what all tests say, as far as the course lets you see.
Your work is dated by its receipt. Handing in again is possible as often as the course allows; all
that you handed in stands at <{address}>."""

PLAIN_CHINESE = """\
`make submit LAB={number}` 先询问你（第一次还会问你的学号），再把一个实验的两个文件 commit 并 push，
并说明是否送达；你的内容不会进入你得到本课程的那个分支。收取的是 `labs/NN_topic/topic.py` 和其
`PSEUDOCODE.md`，{place}。作业的日期是最后一次改动这两个文件之一的 commit 的日期；其他 commit
不影响它，随时可以再次提交。"""
SERVED_CHINESE = """\
先用教师给你的 token 运行一次 `make login URL={address}`；之后
`make submit LAB={number}` 在询问你之后提交一个实验的两个文件 `labs/NN_topic/topic.py` 和其
`PSEUDOCODE.md`，并在课程允许的范围内显示所有测试的结果。
作业的日期以回执为准。在课程允许的次数内可以再次提交；你提交过的一切都在 <{address}>。"""
TEXTS = {
    Language.ENGLISH: (PLAIN, SERVED),
    Language.CHINESE: (PLAIN_CHINESE, SERVED_CHINESE),
}
