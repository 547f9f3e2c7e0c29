import type { PandocAst, PandocBlock, PandocInline, PandocMeta } from './ast.ts';

export const astOf = (blocks: PandocBlock[], meta: PandocMeta = {}): PandocAst => ({
  'pandoc-api-version': [1, 23, 1],
  meta,
  blocks,
});

export const str = (c: string): PandocInline => ({ t: 'Str', c });
export const para = (...c: PandocInline[]): PandocBlock => ({ t: 'Para', c });
export const paragraph = (...c: PandocInline[]): PandocAst => astOf([para(...c)]);
export const image = (url: string): PandocInline => ({
  t: 'Image',
  c: [['', [], []], [str('a')], [url, '']],
});
export const link = (url: string): PandocInline => ({
  t: 'Link',
  c: [['', [], []], [str('text')], [url, '']],
});
export const html = (c: string): PandocInline => ({ t: 'RawInline', c: ['html', c] });
