import { invalid, type Refused } from './refusal.testing.ts';

const namespace = 'xmlns="http://purl.org/net/xbiblio/csl"';
const cited = (more: Record<string, unknown>): Record<string, unknown> => ({
  documentContent: 'See [@a].',
  bibliographyContent: '@book{a, title={A}, year={2000}}',
  ...more,
});
const style = (cslContent: string): Record<string, unknown> => cited({ cslContent });
const entries = (bibliographyContent: string, bibliographyFormat?: string): Record<string, unknown> =>
  cited({ bibliographyContent, ...(bibliographyFormat && { bibliographyFormat }) });

const circular = `<style ${namespace} version="1.0" class="in-text"><macro name="m"><text macro="m"/></macro><citation><layout><text macro="m"/></layout></citation></style>`;
const dependent = `<style ${namespace} version="1.0"><info><link href="http://www.zotero.org/styles/apa" rel="independent-parent"/></info></style>`;
const withEntity = `<!DOCTYPE style [<!ENTITY a SYSTEM "file:///etc/passwd">]><style ${namespace}>&a;</style>`;

export const refusedCitations: readonly Refused[] = [
  invalid(
    'BibTeX with a brace missing',
    entries('@book{b, title={B}}\n\n@book{a,\n  title = {A,\n  year = {2000}\n}\n'),
    /line 3.*`a`.*brace/,
  ),
  invalid('BibTeX with a comma missing', entries('@book{a,\n title={A}\n year={1}}'), /line 3.*comma/),
  invalid(
    'BibTeX whose entries take over from each other',
    entries('@book{a, crossref={b}}\n@book{b, crossref={a}}'),
    /line 1.*`a`/,
  ),
  invalid('JSON that is none', entries('[{"id": "a",]', 'csljson'), /line 1.*JSON/),
  invalid('YAML that is none', entries('references:\n- id: "a\n', 'cslyaml'), /^The bibliography/),
  invalid('a style that is no XML', style('author (year)'), /CSL.*not XML/),
  invalid('a style with a DOCTYPE', style(withEntity), /CSL.*document type/),
  invalid('a style that refers to another', style(dependent), /use that one/),
  invalid('a style that calls itself', style(circular), /"m" calls itself/),
  invalid(
    'a style by its path',
    cited({ style: '../../../etc/passwd' }),
    /Available styles: chicago.*as CSL/,
  ),
  invalid('a style that there is not', cited({ style: 'nobodys' }), /Available styles: chicago.*as CSL/),
];
