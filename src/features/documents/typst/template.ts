/**
 * The template for Typst markup and the variables that fill it. Pandoc fills in the text, and escapes it; variables are
 * not escaped, so they are numbers or checked names.
 */
import type { DocumentLayout } from '../document.ts';
import { listCodeFamilies, sortFamiliesForLanguage, toTypstLanguage, listMathFamilies } from './fonts.ts';

/** How deep headings go into the table of contents. */
const typstContentsDepth = 3;

/**
 * What the template needs besides the metadata, for Pandoc's `variables`. Pandoc does not escape them, so all of them are
 * numbers or checked names. `families` are those of `Typst`.
 */
export function buildTypstVariables(
  layout: DocumentLayout,
  families: readonly string[],
): Record<string, unknown> {
  const inOrder = sortFamiliesForLanguage(layout.language, families);
  const { language, region } = toTypstLanguage(layout.language);
  return {
    'paper-name': layout.paper === 'a4' ? 'a4' : 'us-letter',
    'margin-mm': toTypstDecimal(layout.marginMm),
    'font-size-pt': toTypstDecimal(layout.fontSizePt),
    'text-language': language,
    'text-region': region === null ? 'none' : `"${region}"`,
    'text-fonts': toTypstList(inOrder),
    'code-fonts': toTypstList(listCodeFamilies(inOrder)),
    'math-fonts': toTypstList(listMathFamilies(inOrder)),
    'number-headings': layout.numberSections,
    'show-contents': layout.toc,
    'contents-depth': String(typstContentsDepth),
  };
}

/** Never `1e-7`. */
const toTypstDecimal = (value: number): string => value.toFixed(2);

/** A Typst list of strings. The comma at the end makes a single one a list, too. */
const toTypstList = (names: readonly string[]): string =>
  names.map((name) => `${quoteTypst(name)},`).join(' ');

const quoteTypst = (name: string): string => `"${name.replaceAll(/["\\]/g, '\\$&')}"`;

/**
 * The template with which Pandoc writes Typst: `title`, `author`, `date` and `abstract` are metadata that Pandoc writes as
 * markup; the rest comes from `buildTypstVariables`, unescaped. A `$` of Typst has to be written as `$$`.
 */
export const typstTemplate = String.raw`#let ink = rgb("#1a1a1a")
#let accent = rgb("#1f4e79")
#let faint = rgb("#6b6b6b")
#let ground = rgb("#f5f6f8")
#let hairline = 0.4pt + rgb("#9a9a9a")

#let plain(it) = {
  if type(it) == str { it }
  else if it.has("text") { plain(it.text) }
  else if it.has("children") { it.children.map(plain).join() }
  else if it.has("body") { plain(it.body) }
  else if it.func() == smartquote { if it.double { "\"" } else { "'" } }
  else { " " }
}
#let trimmed(it) = {
  let text = plain(it)
  if text == none { "" } else { text.trim() }
}

#let title = $if(title)$[$title$]$else$none$endif$
#let authors = ($for(author)$[$author$],$endfor$)

$if(title)$
#set document(title: trimmed(title))
$endif$
$if(author)$
#set document(author: authors.map(trimmed))
$endif$
$if(keywords)$
#set document(keywords: ($for(keywords)$trimmed[$keywords$],$endfor$))
$endif$
#set page(
  paper: "$paper-name$",
  margin: $margin-mm$mm,
  numbering: "1",
  footer: context if counter(page).final().first() > 1 {
    align(center, text(size: 0.85em, fill: faint, counter(page).display("1 / 1", both: true)))
  },
)
#set text(
  font: ($text-fonts$),
  size: $font-size-pt$pt,
  fill: ink,
  lang: "$text-language$",
  region: $text-region$,
  fallback: false,
)
#set par(justify: true, leading: 0.68em, spacing: 1.05em)
$if(smart)$
$else$
#set smartquote(enabled: false)
$endif$

#set heading(numbering: $if(number-headings)$"1.1"$else$none$endif$)
#show heading: set par(justify: false)
#show heading: set text(hyphenate: false)
#show heading: set block(above: 1.5em, below: 0.8em)
#show heading.where(level: 1): set text(size: 1.06em)
#show heading.where(level: 1): set block(above: 1.9em, below: 0.95em)
#show heading.where(level: 4): set text(style: "italic", weight: "regular")
#show heading.where(level: 5): set text(style: "italic", weight: "regular", size: 0.95em)
#show heading.where(level: 6): set text(style: "italic", weight: "regular", size: 0.95em)

#show outline.entry.where(level: 1): set block(above: 1em)
#show outline.entry.where(level: 1): set text(weight: "bold")
#set outline.entry(fill: text(fill: faint, weight: "regular", repeat(gap: 0.25em)[.]))
#let without-notes(it) = {
  if it.func() == footnote { none }
  else if it.has("children") { it.children.map(without-notes).join() }
  else if it.func() == emph or it.func() == strong { (it.func())(without-notes(it.body)) }
  else { it }
}
#show outline.entry: it => {
  let heading = without-notes(it.element.body)
  if heading == it.element.body { return it }
  link(it.element.location(), it.indented(it.prefix(), {
    heading
    sym.space
    box(width: 1fr, it.fill)
    sym.space
    sym.wj
    it.page()
  }))
}

#set list(indent: 0.6em, body-indent: 0.6em, marker: ([•], [–], [·]))
#set enum(indent: 0.6em, body-indent: 0.6em)
#show terms.item: it => block(width: 100%, {
  block(sticky: true, below: 0.6em, strong(it.term))
  pad(left: 1.6em, it.description)
})

#show quote.where(block: true): it => block(
  width: 100%,
  above: 1.3em,
  below: 1.3em,
  inset: (left: 1.1em, right: 1em, y: 0.2em),
  stroke: (left: 1.5pt + rgb("#c9ced6")),
  text(fill: ink.lighten(15%), it.body),
)

#set raw(tab-size: 4)
#show raw: set text(font: ($code-fonts$), fallback: false)
#show raw: it => {
  show regex("\\S{40,}"): long => long.text.clusters().chunks(8).map(part => part.join()).join(sym.zws)
  it
}
#show raw.where(block: false): set text(size: 1.08em)
#show raw.where(block: true): set par(justify: false, leading: 0.62em)
#show raw.where(block: true): it => block(
  width: 100%,
  above: 1.3em,
  below: 1.3em,
  inset: (x: 0.9em, y: 0.8em),
  radius: 3pt,
  fill: ground,
  it,
)
#show math.equation: set text(font: ($math-fonts$), fallback: false)

#set table(inset: (x: 0.7em, y: 0.42em), stroke: none)
#set table.hline(stroke: 0.6pt + ink)
#show table: set par(justify: false, leading: 0.55em)
#show table: set text(size: 0.95em, hyphenate: auto)
#show table: it => {
  show table.cell.where(y: 0): it2 => if it.children.any(child => child.func() == table.header) {
    strong(it2)
  } else { it2 }
  block(stroke: (y: 0.9pt + ink), { set align(start); it })
}

#let table-in(it) = {
  if it.func() == table { it }
  else if it.has("body") { table-in(it.body) }
  else if it.has("children") { it.children.map(table-in).find(found => found != none) }
}
#let rows(it) = {
  let found = table-in(it)
  if found == none { 0 } else { found.children.len() / calc.max(1, found.columns.len()) }
}
#let short-table = 20

#show figure: set block(above: 1.7em, below: 1.7em)
#show figure.where(caption: none): set figure(numbering: none)
#show figure.where(kind: table): set figure.caption(position: top)
#show figure.where(kind: table): it => {
  set block(breakable: rows(it.body) > short-table)
  it
}
#set figure(gap: 0.9em)
#let without-space(it) = {
  let parts = it.fields().at("children", default: ())
  if parts.len() > 0 and parts.first() == [ ] { parts.slice(1).join() } else { it }
}
#show figure.caption: it => {
  set text(size: 0.92em)
  set par(justify: false, leading: 0.55em)
  block(width: 92%, sticky: it.kind == table, {
    if it.numbering != none {
      strong[#it.supplement~#context it.counter.display(it.numbering)#it.separator]
    }
    without-space(it.body)
  })
}
#let tallest = 88%
#let extent(wanted, whole) = {
  let sum = wanted + 0% + 0pt
  sum.ratio * whole + sum.length.to-absolute()
}
#show image: it => layout(room => {
  let natural = if it.width == auto and it.height == auto { measure(it) } else { measure(image(it.source)) }
  let shape = natural.height / natural.width
  let width = if it.width != auto { extent(it.width, room.width) }
    else if it.height != auto { extent(it.height, room.height) / shape }
    else { natural.width }
  let height = if it.height != auto { extent(it.height, room.height) } else { width * shape }
  let scale = calc.min(1, room.width / width, room.height * tallest / height)
  if scale > 0.999 { it } else {
    image(it.source, alt: it.alt, width: scale * width, height: scale * height)
  }
})

#set footnote.entry(separator: line(length: 22%, stroke: hairline), gap: 0.55em)
#show footnote.entry: set par(leading: 0.5em, spacing: 0.6em)

#show link: it => if type(it.dest) == location { it } else if type(it.dest) == label and not str(it.dest).starts-with("ref-") {
  context {
    let found = query(it.dest)
    if found.len() == 0 { it.body } else {
      link(found.first().location(), text(fill: accent, it.body))
    }
  }
} else { text(fill: accent, it) }

#show <refs>: set par(hanging-indent: 1.6em, justify: false)
#show <refs>: set block(spacing: 0.75em)

#let horizontalrule = block(width: 100%, above: 1.6em, below: 1.6em, align(center, line(length: 30%, stroke: hairline)))

$if(highlighting-definitions)$
$highlighting-definitions$

$endif$
#if title != none or authors.len() > 0 {
  set align(center)
  set par(justify: false, leading: 0.5em)
  v(0.8em)
  if title != none { block(below: 1.1em, text(size: 1.75em, weight: "bold", hyphenate: false, title)) }
$if(subtitle)$
  block(below: 1.1em, text(size: 1.2em, fill: faint, hyphenate: false)[$subtitle$])
$endif$
  if authors.len() > 0 { block(below: 0.8em, text(size: 1.1em, authors.map(box).join([#h(0.35em)·#h(0.35em)#sym.zws]))) }
$if(date)$
  block(text(fill: faint)[$date$])
$endif$
  v(1.2em)
}
$if(abstract)$
#pad(x: 2.2em)[
  #set text(size: 0.95em)
  #align(center, strong[$abstract-title$])
$abstract$
]
#v(0.8em)
$endif$
$if(show-contents)$
#outline(depth: $contents-depth$, indent: auto)
#v(1em)
$endif$

$body$
`;
