"""The style sheet of the HTML report: readable at phone width, in light and dark."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b3261e; --mild: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --good: #57c26f; --bad: #ff8a80; --mild: #e0b050 } }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 50rem; margin: 0 auto; padding: 1rem }
h1, h2, h3, p { overflow-wrap: anywhere }
h1 { font-size: 1.4rem; margin: .5rem 0 }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 0; color: var(--bad) }
.score { font-size: 1.6rem; font-weight: 600; margin: .5rem 0 }
.notice { border-left: .25rem solid var(--mild); padding: .25rem .75rem; margin: .75rem 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line) }
td { vertical-align: top }
td:nth-child(2), td:nth-child(3) { white-space: nowrap }
.speed { font-size: .85rem }
.speed td { white-space: nowrap }
.speed td:nth-child(2), .speed td:last-child { white-space: normal; min-width: 9rem }
.suspicious td { color: var(--mild) }
meter { width: 6rem }
code, pre { font: .85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { white-space: pre-wrap; margin: .4rem 0; padding: .6rem; border: 1px solid var(--line) }
.failure { border-left: .25rem solid var(--bad); padding: .25rem .75rem; margin: 1rem 0 }
details { border-bottom: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer }
ul { padding-left: 1.2rem }
li.passed::marker { color: var(--good) }
li.lost::marker { color: var(--bad) }
figure { margin: 1rem 0 }
img { max-width: 100% }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1rem }
dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 30rem) { meter { width: 3rem } dl { grid-template-columns: 1fr } }
"""
