/** The list of all tools for documents. What they do is in `tools/` and `zotero/tools.ts`. */
import type { DeclaredTool } from '../../core/offer/tool.ts';
import { declareBuildTool, type BuildRoom } from './tools/build.ts';
import { validateTool } from './tools/validate.ts';
import { libraryTools, type LibraryRoom } from './zotero/tools.ts';

export type DocumentsRoom = BuildRoom & LibraryRoom;

interface DocumentTerms {
  readonly hasLibrary: boolean;
  readonly fileTtl: number;
  readonly maxTtl: number;
}

export const declareDocumentTools = ({
  hasLibrary,
  ...terms
}: DocumentTerms): DeclaredTool<DocumentsRoom>[] => [
  declareBuildTool(terms),
  validateTool,
  ...(hasLibrary ? libraryTools : []),
];
