import type { Ast, Block, Inline, Meta } from './ast.ts';

export const astOf = (blocks: Block[], meta: Meta = {}): Ast => ({
  'pandoc-api-version': [1, 23, 1],
  meta,
  blocks,
});

export const str = (c: string): Inline => ({ t: 'Str', c });
export const para = (...c: Inline[]): Block => ({ t: 'Para', c });
export const paragraph = (...c: Inline[]): Ast => astOf([para(...c)]);
export const image = (url: string): Inline => ({ t: 'Image', c: [['', [], []], [str('a')], [url, '']] });
export const link = (url: string): Inline => ({ t: 'Link', c: [['', [], []], [str('text')], [url, '']] });
export const html = (c: string): Inline => ({ t: 'RawInline', c: ['html', c] });
