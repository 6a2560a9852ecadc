// SPDX-License-Identifier: Apache-2.0

/// The page's style sheet. Fonts are those that the reader's system has.
#pragma once

namespace tulle::bench::html {

inline constexpr char const* style_sheet = R"(
:root { color-scheme: light; --ink: #1c1f23; --soft: #5d656e; --rule: #e2e5e9; --bad: #b3261e;
  --own: #0072b2; --own-light: #86bbdd; --peer: #6f757c; --peer-light: #c0c5ca; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 32px 20px 64px; max-width: 1100px; background: #fff; color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial,
  sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
h1 { margin: 0 0 8px; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 56px 0 8px; padding-top: 20px; border-top: 2px solid var(--ink); font-size: 23px; }
h3 { margin: 40px 0 4px; font-size: 18px; }
h4 { margin: 24px 0 4px; font-size: 15px; }
p { margin: 0 0 12px; max-width: 84ch; text-wrap: pretty; }
.lead { color: var(--soft); }
.soft { color: var(--soft); font-weight: normal; }
.bad { color: var(--bad); }
a { color: var(--own); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 12px 0 16px; }
aside { margin: 20px 0; padding: 14px 18px; border-radius: 6px; background: #f5f7f9; }
aside p { margin: 4px 0 0; max-width: none; }
aside ul { margin: 4px 0 0; padding-left: 20px; }
.remarks { border-left: 5px solid #e69f00; background: #fff6e0; }
.machine { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); gap: 4px 28px;
  margin: 20px 0; font-size: 14px; }
.machine div { display: flex; gap: 10px; min-width: 0; }
dt { flex: 0 0 108px; color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }

.wide { overflow-x: auto; margin: 12px 0 20px; }
table { border-collapse: collapse; min-width: 60%; font-size: 14px; }
th, td { padding: 5px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { vertical-align: bottom; border-bottom: 1px solid var(--ink); color: var(--soft); font-weight: 600;
  font-size: 12.5px; line-height: 1.3; }
.n { text-align: right; }
td.n { white-space: nowrap; }
.up { color: #00664b; }
.full { min-width: 100%; }
.dense { font-size: 12.5px; line-height: 1.35; }
.dense th, .dense td { padding-top: 3px; padding-bottom: 3px; }
.dense th + th, .dense td + td { padding-left: 0; }
.dense thead th { font-size: 11.5px; }
.block th { padding-top: 16px; border-bottom: 1px solid var(--soft); font-weight: normal; font-size: 13px; }
.wrong td { background: #fdf1f0; }
.path { min-width: 110px; color: var(--soft); font-size: 11.5px; }

figure { margin: 0; min-width: 0; }
section > figure { margin: 12px 0 24px; overflow-x: auto; }
section > figure svg { min-width: 720px; }
figcaption { margin: 0 0 4px; font-size: 14px; line-height: 1.35; }
figcaption b { overflow-wrap: anywhere; }
.grid figcaption b { display: block; }
figcaption:empty { display: none; }
.grid { display: grid; gap: 28px 32px; margin-top: 16px; align-items: start; }
.two { grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
.three { grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); }
svg { display: block; width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); }
svg .start { text-anchor: start; } svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .soft { fill: var(--soft); } svg .small { font-size: 10.5px; } svg .bold { font-weight: 600; }
svg .bad { fill: var(--bad); }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .axis { stroke: #9aa1a9; stroke-width: 1; }
svg .bound { stroke: var(--ink); stroke-width: 1.4; }
svg .bound.faint { stroke: #a9afb6; stroke-dasharray: 6 4; }
svg .whisker { fill: none; stroke: var(--ink); stroke-width: 1.1; }
.own { fill: var(--own-light); } .own.best { fill: var(--own); }
.peer { fill: var(--peer-light); } .peer.best { fill: var(--peer); }

@media (max-width: 640px) { body { padding: 20px 14px 40px; } h1 { font-size: 25px; } }
@media print {
  @page { margin: 14mm 12mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  h2, h3, h4, figcaption { break-after: avoid; }
  figure, tr, aside { break-inside: avoid; }
  .wide, section > figure { overflow: visible; }
  section > figure svg { min-width: 0; }
  .two { grid-template-columns: 1fr 1fr; } .three { grid-template-columns: 1fr 1fr 1fr; }
  .grid { gap: 16px 20px; }
  table, .dense { font-size: 8pt; } thead th, .dense thead th { font-size: 7pt; }
  .full, .full thead th, .full .path, .full .block th { font-size: 6pt; } .path { min-width: 0; }
  th, td { padding-left: 3px; padding-right: 3px; }
  nav { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

} // namespace tulle::bench::html
