/** Every outcome of the tools for documents and references. */
import type { Stage } from './stage.testing.ts';

const bibliographyContent = `@article{smith2020, title={On Ice}, author={Smith, Ann}, journal={Snow}, year={2020}}
@article{spare, title={Unread}, author={Doe, Jo}, journal={Snow}, year={2019}}
@article{spare, title={Unread again}, author={Doe, Jo}, journal={Snow}, year={2018}}`;

const documentContent = '# Ice\n\nIt melts [@smith2020; @smyth2020; @nobody; @smyth2020].\n';

export async function showDocuments({ call, refuse }: Stage): Promise<void> {
  const text = { documentContent, bibliographyContent };
  await call('validate_citations', text);
  await call('validate_citations', { documentContent: 'See [@smith2020].', bibliographyContent });
  await refuse('validate_citations', {});
  const simple = { documentContent: '# Ice\n\nIt melts.\n', outputBasename: 'ice report' };
  const formats = ['pdf', 'docx', 'html', 'odt', 'epub', 'latex', 'typst', 'pptx', 'markdown', 'plain'];
  await call('build_exports_content', { ...simple, formats });
  await call('build_exports_content', { ...text, formats: ['markdown'] });
  // No font has it, which PDF/A does not take.
  await call('build_exports_content', {
    documentContent: '\u{13000}',
    formats: ['pdf', 'plain'],
    pdfa: true,
  });
  await refuse('build_exports_content', { formats: ['html'] });
  await call('search_library', { query: 'article', limit: 2 });
  await call('search_library', { query: 'nothing there' });
  await refuse('search_library', { collection: 'No such one' });
  await call('bibliography_for', { keys: ['doe1', 'missing9'] });
  await call('bibliography_for', { collection: 'Abstracts' });
  await call('bibliography_for', { collection: 'Methods', format: 'bibtex' });
  await refuse('bibliography_for', {});
}
