import type { Log } from '../../log.ts';
import type { CallContext } from '../../threads/threads.ts';
import type { Engines } from '../formats/formats.ts';
import { openPandoc } from '../pandoc/open.ts';
import { openTypst } from '../typst/open.ts';
import { readDocument, validate, type ReadRequest } from './read.ts';
import { rememberBibliographies } from './remembered.ts';
import { writeDocument, type WriteRequest } from './write.ts';

export interface ComposingSettings {
  /** A Pandoc of the machine; null: the packaged one. */
  readonly pandoc: string | null;
  readonly fontFolders: readonly string[];
  readonly memoryBytes: number;
  /** Seconds since 1970 that all documents are dated, null: now. */
  readonly epoch: number | null;
}

/** They live as long as the process that has them, which ends when it is idle. */
const idleSeconds = 86_400;

/** What is done in the process that composes documents, which has converters of its own and one document at a time. */
export function createComposing({ pandoc, fontFolders, memoryBytes, epoch }: ComposingSettings, log: Log) {
  const usual = { processes: 1, idleSeconds, memoryBytes, epoch, log };
  const engines: Engines = {
    pandoc: openPandoc({ ...usual, command: pandoc }),
    typst: openTypst({ ...usual, fontFolders }),
  };
  const reading = { pandoc: engines.pandoc, remembered: rememberBibliographies() };
  return {
    read: (request: ReadRequest, { signal }: CallContext) => readDocument(reading, request, signal),
    write: (request: WriteRequest, context: CallContext) => writeDocument(engines, request, context),
    validate: (request: ReadRequest, { signal }: CallContext) => validate(reading, request, signal),
  };
}

export type ComposingMethods = ReturnType<typeof createComposing>;
