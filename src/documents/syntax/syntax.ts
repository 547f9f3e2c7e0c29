/** What a document says, bounded and judged before any writer sees it. */
export { parseAst, writeAst, type Ast } from './ast.ts';
export { demandBounded } from './bounds.ts';
export { citedKeys, renamePictures, unwrapCites, type CitedKey } from './cites.ts';
export { decodeText } from './decode.ts';
export type { EmbeddedPicture, WantedPicture } from './findings.ts';
export { withMetadata } from './front-matter.ts';
export { parseMargin } from './front-matter-values.ts';
export { judge, type Judged, type Policy } from './judge.ts';
export { hasRareCharacters } from './rare.ts';
export { readerFormat } from './reader.ts';
export { wordsAsInlines } from './text.ts';
