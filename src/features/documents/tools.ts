/** The list of all tools for documents. What they do is in `tools/`. */
import type { DeclaredTool } from '../../core/offer/tool.ts';
import { declareBuildTool, type BuildRoom } from './tools/build.ts';
import { validateTool } from './tools/validate.ts';

export type DocumentsRoom = BuildRoom;

interface DocumentTerms {
  readonly fileTtl: number;
  readonly maxTtl: number;
}

export const declareDocumentTools = (terms: DocumentTerms): DeclaredTool<DocumentsRoom>[] => [
  declareBuildTool(terms),
  validateTool,
];
