/** What a document may try to get at: a file of the server, and an address at which somebody listens. */
export interface Baits {
  readonly file: string;
  readonly url: string;
}

/** A document that is built, and names its baits wherever something could follow them. */
export function nastyDocument({ file, url }: Baits): string {
  return `---
title: 'The \`#read("${file}")\` of it, and #read("${file}")'
subtitle: '\\input{${file}}'
author: '#include "${file}"'
abstract: '#import "@preview/nobody:0.1.0": *'
keywords: ['#image("${url}")', '\\href{${url}}{x}']
template: '${file}'
header-includes: '\\input{${file}}'
include-before: '#read("${file}")'
include-after: '<script src="${url}"></script>'
include-in-header: '${file}'
css: ['${url}', '${file}']
reference-doc: '${file}'
metadata-file: '${file}'
abbreviations: '${file}'
syntax-definition: '${file}'
highlight-style: '${file}'
epub-cover-image: '${file}'
cover-image: '${file}'
epub-fonts: ['${file}']
stylesheet: '${url}'
filters: ['${file}']
lua-filter: '${file}'
mainfont: '#read("${file}")'
documentclass: 'article}\\input{${file}}'
classoption: '${file}'
linkcolor: '#read("${file}")'
section-numbering: '1.1"); #read("${file}'
columns: '1); #read("${file}")'
bibliographystyle: '${file}'
link-citations: true
math: '<script src="${url}"></script>'
thanks: '#read("${file}")'
---

# Includes {#one typst:fill="red); #read(\\"${file}\\")" style="background: url(${url})"}

!include ${file}

!include "${file}"

{{< include ${file} >}}

{{#include ${file}}}

.. include:: ${file}

#+INCLUDE: "${file}"

<!--#include virtual="${file}" -->

@import url("${url}");

\\input{${file}} \\include{${file}} \\verbatiminput{${file}} \\lstinputlisting{${file}} \\includegraphics{${file}}

#read("${file}") #include("${file}") #image("${url}") #import "@preview/nobody:0.1.0": *

$\\input{${file}}$ and $$\\text{\\includegraphics{${file}}} \\href{${url}}{x} \\unicode{#read("${file}")}$$

$"); #read("${file}"); ("$

[A link](${file}) [another](file://${file}) [and one](${url}) <${url}> [code](javascript:fetch('${url}'))

[Attributes]{typst:text:fill="red); #read(\\"${file}\\")" style="background: url(${url})" src="${file}"}

::: {typst:inset="1pt); #read(\\"${file}\\")" include="${file}" custom-style="${file}" data-src="${url}"}
A division.
:::

\`\`\`{.python include="${file}" startFrom="1); #read(1)"}
open("${file}")
\`\`\`

| A cell | \\input{${file}} |
|--------|------|
| #read("${file}") | <iframe src="${url}"></iframe> |

: A caption #read("${file}") {#tbl typst:align="center); #read(\\"${file}\\")"}

<script src="${url}"></script> <link rel="stylesheet" href="${url}"> <object data="file://${file}"></object>

<video src="${url}"></video>

As they say [@nasty, p. #read("${file}"); @{${file}}] and @nobody.

A note.^[#read("${file}") \\input{${file}}]

![A picture #read("${file}")](dot.png){typst:alt="x); #read(\\"${file}\\")" width="10); #read(1)" src="${url}"}
`;
}

/** A reference that does the same. */
export const nastyBibliography = ({ file, url }: Baits): string => `@string{bait = "\\input{${file}}"}
@article{nasty,
  author = {\\input{${file}} and #read("${file}")},
  title = {The \\include{${file}} of \\verbatiminput{${file}} \`#read("${file}")\`{=typst}},
  journal = bait # " \\href{${url}}{here} <img src='${url}'>",
  note = {![x](${file}) \\includegraphics{${file}} <script src="${url}"></script>},
  file = {${file}},
  url = {file://${file}},
  doi = {x"); \\#read("${file}")},
  year = {2000"); \\#read("${file}")}
}
`;

/** A style whose own texts do the same. */
export const nastyStyle = ({ file, url }: Baits): string => `<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text" default-locale="en-US">
<info><title>${file}</title><id>${url}</id><link href="${url}" rel="self"/><link href="file://${file}" rel="template"/></info>
<citation><layout prefix="(&lt;img src=&quot;${url}&quot;&gt; " suffix=")" delimiter="; "><names variable="author"/></layout></citation>
<bibliography><layout suffix=" #read(&quot;${file}&quot;) \\input{${file}}"><text variable="title"/><text variable="container-title" prefix=" "/><text variable="note" prefix=" "/><text variable="URL" prefix=" "/></layout></bibliography>
</style>
`;

const relationships = 'http://schemas.openxmlformats.org/package/2006/relationships';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';

/** The parts of a DOCX that points outside. */
export const nastyReference = ({ file, url }: Baits): Readonly<Record<string, string>> => ({
  '[Content_Types].xml':
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
  '_rels/.rels': `<Relationships xmlns="${relationships}"><Relationship Id="rId1" Type="${office}/officeDocument" Target="word/document.xml"/></Relationships>`,
  'word/document.xml': `<w:document xmlns:w="${word}"><w:body><w:p/></w:body></w:document>`,
  'word/styles.xml': `<w:styles xmlns:w="${word}"/>`,
  'word/_rels/document.xml.rels': `<Relationships xmlns="${relationships}"><Relationship Id="rId90" Type="${office}/image" Target="file://${file}" TargetMode="External"/><Relationship Id="rId91" Type="${office}/image" Target="../../../..${file}"/><Relationship Id="rId92" Type="${office}/attachedTemplate" Target="${url}" TargetMode="External"/></Relationships>`,
});
