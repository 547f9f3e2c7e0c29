/**
 * Opens what lets code call tools, with the bytes that code may save: stored files of its user, and what a download link
 * of this server points at. Which tools there are is decided in `start.ts`.
 */
import type { Audit } from '../core/audit/audit.ts';
import { WorkcrateError } from '../platform/errors.ts';
import type { Files } from '../core/files/files.ts';
import { readSegments, type Links } from '../core/links/links.ts';
import type { ToolContext } from '../core/offer/tool.ts';
import type { RunExtension } from '../core/runs/extension.ts';
import { createCallingRuns } from '../features/code-mode/runs.ts';
import { createCallStore, type RunOfCalls } from '../features/code-mode/store.ts';
import {
  createToolCalls,
  saveToTool,
  type FileSource,
  type ToolCall,
} from '../features/code-mode/tool-calls.ts';
import type { AppContext } from './context.ts';

export interface ToolCallsRooms extends Pick<AppContext, 'config' | 'clock' | 'log'> {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly links: Pick<Links, 'resolve' | 'note'>;
  readonly audit: Audit;
}

export function openToolCalls({ config, files, links, audit, clock, log }: ToolCallsRooms): RunExtension {
  const callStore = createCallStore({ noted: (run, call) => auditToolCall(audit, run, call) });
  const toolCalls = createToolCalls({
    mostCalls: config.toolCalls,
    mostAtOnce: config.toolCallsAtOnce,
    openSource: (context, source) => openSource({ files, links, audit }, context, source),
    recorder: callStore,
    clock,
    log,
  });
  return createCallingRuns({ toolCalls, callStore, log });
}

/** A tool of ours has a line of its own too; this one says which code called it, and what was refused. */
function auditToolCall(audit: Audit, { id, user }: RunOfCalls, call: ToolCall): void {
  const { source } = call.tool === saveToTool.name ? call.arguments : {};
  const { sequence, server, tool, definitionHash, argumentsHash, resultHash, verdict, outcome, ms } = call;
  audit.note({
    level: outcome === 'refused' ? 'warning' : 'trace',
    operation: 'tool_call',
    user,
    client: null,
    subject: tool,
    result: outcome,
    details: {
      execution_id: id,
      call: sequence,
      server,
      verdict,
      definition_sha256: definitionHash,
      arguments_sha256: argumentsHash,
      result_sha256: resultHash,
      ...(typeof source === 'string' && { source }),
      ms: Math.round(ms),
    },
  });
}

const fileForm = /^(?:workcrate:\/\/files\/)?(file_[0-9a-f]{24})$/;
const linkForm = /\/files\/([^/?#]+)$/;

async function openSource(
  { files, links, audit }: Pick<ToolCallsRooms, 'files' | 'links' | 'audit'>,
  context: ToolContext,
  source: string,
): Promise<FileSource | null> {
  const id = fileForm.exec(source)?.[1];
  if (id !== undefined) return openFile(files, context, id);
  const token = linkForm.exec(source)?.[1];
  if (token === undefined) return null;
  const { link, download } = await links.resolve(token);
  if (link.singleUse)
    throw new WorkcrateError(
      'unsupported',
      'The link is for one download only. Save a link of many, or the file_id.',
    );
  const used = (bytes: number, whole: boolean): void => {
    links.note(link, bytes, whole);
    const { filename: subject, size } = download;
    const event = { operation: 'download', user: link.owner, client: null, subject } as const;
    const details = { link: link.id, bytes, size, whole };
    audit.note({ ...event, level: 'trace', result: whole ? 'ok' : 'partial', details });
  };
  return toSource(link.id, download, used);
}

async function openFile(
  files: ToolCallsRooms['files'],
  { caller, mayUse }: ToolContext,
  id: string,
): Promise<FileSource | null> {
  const file = mayUse('files') ? await files.find(caller, id) : null;
  if (file === null) return null;
  return {
    ...file,
    origin: id,
    async *read(signal) {
      await using object = await files.open(file);
      if (object === null) throw new WorkcrateError('bytes_gone', 'The bytes of the file are gone.');
      yield* object.read(0, file.size, signal);
    },
  };
}

type Download = Awaited<ReturnType<Links['resolve']>>['download'];

/** `used` is told how much was read, and whether that was all. */
const toSource = (
  origin: string,
  download: Download,
  used: (bytes: number, whole: boolean) => void,
): FileSource => ({
  name: download.filename,
  origin,
  size: download.size,
  mediaType: download.mediaType,
  async *read(signal) {
    const opened = await download.open();
    let bytes = 0;
    try {
      for await (const chunk of readSegments(opened.segments(0, download.size), signal)) {
        bytes += chunk.length;
        yield chunk;
      }
    } finally {
      used(bytes, bytes === download.size);
      await opened.close();
    }
  },
});
