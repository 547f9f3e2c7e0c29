import { html } from '../html/html.ts';
import { answerCalls } from '../workers/inside.ts';
import { renderMarkdown } from './markdown.ts';
import { renderNotebook } from './notebook.ts';
import { findSeparator, renderCsvTable } from './table.ts';

/** What is parsed here: the whole text of a file, or its beginning. */
export interface RenderingJob {
  readonly kind: 'markdown' | 'notebook' | 'table';
  readonly text: string;
  readonly isCut: boolean;
}

const renderingMethods = {
  async render({ kind, text, isCut }: RenderingJob): Promise<string> {
    if (kind === 'markdown') return (await html`<div class="card">${renderMarkdown(text)}</div>`).toString();
    if (kind === 'notebook') return (await renderNotebook(text)).toString();
    return (await renderCsvTable({ text, isCut, separator: findSeparator(text) })).toString();
  },
};

export type RenderingMethods = typeof renderingMethods;

answerCalls(renderingMethods);
