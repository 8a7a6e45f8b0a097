/** Stylesheet of all pages: the system's fonts, light and dark, from a phone's width up. It is the only one. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1c2429; --soft: #5b6770; --paper: #fff; --panel: #f5f7f8; --line: #dce2e6;
  --accent: #2a6b89; --on-accent: #fff; --good: #1d7a46; --warn: #9a5b00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaee; --soft: #9aa7b0; --paper: #14191d; --panel: #1c2328;
  --line: #2f3941; --accent: #6fb6d6; --on-accent: #0d1417; --good: #6fcf97; --warn: #e5ab55; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { font: 1rem/1.6 system-ui, sans-serif; margin: 0; color: var(--ink); background: var(--paper);
  overflow-wrap: break-word; }
header, main { max-width: 54rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center; justify-content: space-between;
  padding-top: 1rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
header a { text-decoration: none; }
header nav { display: flex; gap: 1.25rem; }
.brand { display: inline-flex; align-items: center; gap: .55rem; font-weight: 650; font-size: 1.1rem; color: var(--ink); }
main { padding-top: 2.25rem; padding-bottom: 4rem; }
main.narrow, .narrow { max-width: 26rem; }
h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.01em; margin: 0 0 .75rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p, ul, ol, pre, table { margin: 0 0 1rem; }
ul, ol { padding-left: 1.4rem; }
.soft { color: var(--soft); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
a { color: var(--accent); }
img { max-width: 100%; height: auto; }
code, pre, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
:not(pre) > code { background: var(--panel); border-radius: .25rem; padding: .1em .3em; }
pre { font-size: .85rem; line-height: 1.5; padding: .85rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--panel); overflow-x: auto; }
label { display: block; font-weight: 600; margin-bottom: .3rem; }
input, textarea { font: inherit; color: inherit; width: 100%; padding: .55rem .7rem; border: 1px solid var(--line);
  border-radius: .45rem; background: var(--paper); }
input.code, textarea.code { font-size: .85rem; }
button, .button { font: inherit; font-weight: 600; display: inline-block; padding: .55rem 1.1rem; border: 1px solid transparent;
  border-radius: .45rem; background: var(--accent); color: var(--on-accent); cursor: pointer; text-decoration: none; }
button.plain, .button.plain { background: transparent; color: var(--accent); border-color: var(--line); }
button:disabled { opacity: .5; cursor: default; }
.row { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0 0 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .9rem .45rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .85rem; color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); gap: .8rem; padding: 0; list-style: none; }
.cards a { display: block; height: 100%; padding: .85rem 1rem; border: 1px solid var(--line); border-radius: .6rem;
  color: inherit; text-decoration: none; background: var(--panel); }
.cards a:hover { border-color: var(--accent); }
.cards b { display: block; color: var(--accent); }
.cards span { color: var(--soft); font-size: .92rem; }
[hidden] { display: none !important; }
`
