#pragma once

#include <string_view>

namespace glia::detail {

/// The style sheet of a report. Phones and print show one column. The page is light or dark like
/// the reader's system. Charts have a white background. Dark mode inverts them, and then restores
/// their hues.
inline constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; --page: #fff; --ink: #1d2125; --soft: #5c6570; --line: #dfe3e8;
  --wash: #f5f6f8; --right: 23 64 122; --wrong: 217 100 43; --deep: #fff; }
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; }
body { max-width: 66rem; margin: 0 auto; padding: 3rem 1.5rem 2rem; overflow-wrap: break-word; }
h1 { font-size: 2rem; line-height: 1.2; font-weight: 650; letter-spacing: -.015em; margin: 0; }
h2 { font-size: 1.25rem; line-height: 1.3; font-weight: 620; margin: 0 0 1rem; }
h3 { font-size: 1rem; font-weight: 620; margin: 1.5rem 0 .5rem; }
p { margin: 0 0 .75rem; max-width: 44rem; }
section { margin-top: 2.5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
th, td, dt, dd, p { unicode-bidi: isolate; }
.byline, .note, figcaption, footer, small { color: var(--soft); font-size: .875rem; }
.byline { margin: .5rem 0 0; }
.note { margin: .5rem 0 0; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
dl { margin: 0; }
dd { margin: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
  gap: 1.25rem 2rem;
  margin-top: 2rem; }
.figures dt { color: var(--soft); font-size: .875rem; }
.figures dd { font-size: 1.6rem; line-height: 1.25; font-weight: 600; letter-spacing: -.01em;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
.pairs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr));
  column-gap: 2.5rem; }
.pairs div { display: flex; justify-content: space-between; gap: 1rem; padding: .35rem 0;
  border-bottom: 1px solid var(--line); }
.pairs dt { color: var(--soft); }
.pairs dd { text-align: right; min-width: 0; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; margin: 0 0 .75rem; }
table { border-collapse: collapse; font-size: .9375rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem 1.5rem .35rem 0; text-align: left; font-weight: 400;
  vertical-align: baseline;
  border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .875rem; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
tfoot th, tfoot td { font-weight: 600; border-bottom: 0; }
.beside { display: flex; flex-wrap: wrap; gap: 0 4rem; }
.beside > * { min-width: 0; max-width: 100%; }
.confusion { border-spacing: 2px; border-collapse: separate; margin-bottom: 1rem; }
.confusion th, .confusion td { border: 0; padding: .3rem .5rem; text-align: right;
  min-width: 2.8rem; }
.confusion thead tr:first-child th { text-align: center; }
.confusion .right { background: rgb(var(--right) / var(--depth)); }
.confusion .wrong { background: rgb(var(--wrong) / var(--depth)); }
.confusion .deep { color: var(--deep); }
.confusion .none { color: var(--soft); opacity: .55; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 1rem 2rem; }
figure { margin: 0 0 1rem; }
svg { display: block; max-width: 100%; height: auto; }
svg g { font-family: inherit; }
.charts svg { width: 100%; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
  gap: 1.5rem 1.25rem;
  list-style: none; margin: 0; padding: 0; }
.mistakes img { display: block; width: 100%; height: auto; border-radius: 3px; margin-bottom: .5rem;
  background: var(--wash); }
.mistakes .small { image-rendering: pixelated; }
.mistakes p { margin: 0; line-height: 1.35; font-size: .9375rem; }
.mistakes em { font-style: normal; color: rgb(var(--wrong)); font-weight: 600; }
.mistakes small { display: block; font-size: .8125rem; margin-top: .15rem; }
code { font: .875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--soft); font-size: .9375rem; margin-bottom: .5rem; }
@media (max-width: 40rem) {
  body { padding: 1.75rem 1rem 1.5rem; }
  h1 { font-size: 1.6rem; }
  .figures { grid-template-columns: repeat(2, 1fr); gap: 1rem; }
  .figures dd { font-size: 1.35rem; }
  th, td { padding-right: 1rem; }
  .mistakes { grid-template-columns: repeat(auto-fill, minmax(7rem, 1fr)); }
}
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #1a1a1a; --ink: #e6e6e6; --soft: #a0a4a8; --line: #34373a; --wash: #232527;
    --right: 108 160 220; --wrong: 236 132 76; --deep: #111; }
  .drawn svg { filter: invert(.9) hue-rotate(180deg); }
}
@media print {
  @page { margin: 16mm 14mm; }
  html { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  section { margin-top: 1.5rem; padding-top: 1rem; }
  h2, h3, summary { break-after: avoid; }
  figure, tr, li, .pairs div, .beside { break-inside: avoid; }
  .note { break-before: avoid; }
  details:not([open]) { display: none; }
  .wide { overflow: visible; }
  .mistakes { grid-template-columns: repeat(6, 1fr); }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

}  // namespace glia::detail
