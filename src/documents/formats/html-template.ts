import { pageStyle, sharedStyle } from './html-style.ts';

/** Nothing is fetched and nothing runs, whatever stands in the page. */
const policy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Pandoc's template of the web page. What stands between dollars was judged, and is escaped by the writer. */
export const htmlTemplate = `<!DOCTYPE html>
<html lang="$lang$"$if(dir)$ dir="$dir$"$endif$>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
$for(author-meta)$<meta name="author" content="$author-meta$">
$endfor$$if(date-meta)$<meta name="dcterms.date" content="$date-meta$">
$endif$<title>$pagetitle$</title>
<style>${sharedStyle}${pageStyle}
body { counter-reset: figure table; }
figcaption { counter-increment: figure; }
figcaption::before { content: "$figure-word$ " counter(figure) ": "; }
caption { counter-increment: table; }
caption::before { content: "$table-word$ " counter(table) ": "; }
@page { size: $paper$; margin: $margin-mm$mm; }
@media print { body { font-size: $font-size-pt$pt; } }
</style>
</head>
<body>
$if(title)$
<header class="title-block">
<h1>$title$</h1>
$if(subtitle)$<p class="subtitle">$subtitle$</p>
$endif$$for(author)$<p class="author">$author$</p>
$endfor$$if(date)$<p class="date">$date$</p>
$endif$$if(abstract)$<div class="abstract">
<p class="abstract-title">$if(abstract-title)$$abstract-title$$else$Abstract$endif$</p>
$abstract$
</div>
$endif$</header>
$endif$
$if(toc)$
<nav aria-label="$contents-word$">
<h2>$contents-word$</h2>
$table-of-contents$
</nav>
$endif$
<main>
$body$
</main>
</body>
</html>
`;
