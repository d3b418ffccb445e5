//! The page's style: one sheet inside it, for desktops and phones, light and dark.

/// On narrow screens each row of a table becomes a card, its cells named by `data-l`.
pub const SHEET: &str = "\
:root{color-scheme:light dark;--line:#d5d9de;--soft:#f4f6f8;--text:#1b1f24;--dim:#5d6670;--link:#0b57d0;--ok:#1a7f37;--bad:#b42318;--warn:#9a6700;--page:#fff}\
@media(prefers-color-scheme:dark){:root{--line:#3a4149;--soft:#1e2329;--text:#e4e8ec;--dim:#9aa4af;--link:#8ab4f8;--ok:#57c273;--bad:#ff7b72;--warn:#e0b041;--page:#14171a}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:1rem;max-width:104rem;font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--page)}\
h1{font-size:1.35rem;margin:.2rem 0 .6rem}h2,h3{font-size:1.1rem;margin:1.6rem 0 .5rem;overflow-wrap:anywhere}\
a{color:var(--link)}dl{margin:0;color:var(--dim);font-size:.87rem}\
.scroll{overflow-x:auto}\
table{border-collapse:collapse;width:100%;margin:.4rem 0;font-variant-numeric:tabular-nums}\
th,td{padding:.35rem .45rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:middle}\
th{font-size:.78rem;color:var(--dim);font-weight:600;white-space:nowrap}\
td.n{text-align:right;white-space:nowrap}td.u{overflow-wrap:anywhere;min-width:13rem}\
tr.sel td{background:var(--soft)}\
.st{font-weight:600;white-space:nowrap}.ok{color:var(--ok)}.bad{color:var(--bad)}.off{color:var(--warn)}\
.pic{display:block}.req{fill:var(--link)}.err{fill:var(--bad)}.base{stroke:var(--line);fill:none}\
.msg{padding:.6rem .8rem;margin:.8rem 0;border-left:4px solid;background:var(--soft);overflow-wrap:anywhere}\
.msg ul{margin:.2rem 0;padding-left:1.2rem}\
form{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:1rem;max-width:34rem}\
form h3{margin-top:0}form:target{border-color:var(--link)}\
.f{display:flex;gap:.8rem;align-items:center;padding:.25rem 0;flex-wrap:wrap}\
.f>label:first-child,.f>span:first-child{flex:0 0 11rem}\
.f input[type=text],.f select{flex:1 1 12rem;min-width:0;padding:.45rem;font:inherit;color:inherit;background:var(--page);border:1px solid var(--line);border-radius:4px}\
.f input[type=radio],.f input[type=checkbox]{width:1.15rem;height:1.15rem;vertical-align:-.2rem}\
.hint{color:var(--dim);font-size:.85rem}\
.r{padding:.3rem .6rem .3rem 0}\
button{font:inherit;font-weight:600;padding:.55rem 1.4rem;margin-top:.6rem;border:0;border-radius:4px;background:var(--link);color:var(--page);cursor:pointer}\
address{color:var(--dim);font-size:.8rem;margin-top:2rem}\
@media(max-width:60rem){\
.cards thead{display:none}.cards,.cards tbody,.cards tr,.cards td{display:block;width:100%}\
.cards tr{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:.3rem .6rem}\
.cards td,.cards td.n{display:flex;justify-content:space-between;gap:1rem;text-align:right;border:0;padding:.2rem 0;white-space:normal}\
.cards td::before{content:attr(data-l);color:var(--dim);text-align:left;flex:none}\
.cards td:empty{display:none}\
.cards td.u{font-weight:600;text-align:left;min-width:0}.cards td.u::before{content:none}\
.cards tbody{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:0 .8rem}\
}";
