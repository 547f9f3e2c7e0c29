import { invalid, type BibliographyFormat } from './reference.ts';

/** What BibLaTeX knows and BibTeX does not. */
const biblatexTypes =
  /@(?:online|thesis|report|dataset|software|collection|incollection\*|mvbook|mvcollection|bookinbook|suppbook|inreference|reference|periodical|patent|set|xdata|image|video|audio|standard)\s*[{(]/i;
const biblatexFields =
  /[,\s](?:journaltitle|journalsubtitle|date|origdate|eventdate|urldate|location|eventtitle|maintitle|booksubtitle|subtitle|eprinttype|eprintclass|langid|shortjournal|entrysubtype|xdata)\s*=/i;

/** Finds out by its text what a bibliography is written in. */
export function formatOf(text: string): BibliographyFormat {
  const start = text.trimStart();
  if (start === '') throw invalid('it is empty. Leave it out, or give entries.', null);
  if (/^(?:\[|\{)/.test(start)) return 'csljson';
  if (/^[ \t]*TY {1,2}-/m.test(firstPart(start))) return 'ris';
  if (/@[a-z]+\s*[{(]/i.test(start)) return isBiblatex(start) ? 'biblatex' : 'bibtex';
  if (/^(?:---\s|references\s*:|-\s+\w+\s*:)/m.test(firstPart(start))) return 'cslyaml';
  throw invalid(
    'it is neither BibTeX, BibLaTeX, RIS, CSL JSON nor CSL YAML. Entries of BibTeX begin as in `@article{key,`.',
    1,
  );
}

const isBiblatex = (text: string): boolean => biblatexTypes.test(text) || biblatexFields.test(text);

const firstPart = (text: string): string => text.slice(0, 64 * 1024);
