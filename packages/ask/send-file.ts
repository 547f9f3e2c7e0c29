/** Sends a file of this machine to the server before the model is asked, so that it can name it in calls. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import * as z from 'zod';
import { getErrno, WorkcrateError, fetchBounded, FetchError, quoteName } from 'workcrate/toolkit';
import { maxCallMs, toModelText, type AgentServer } from './server.ts';

export interface SentFile {
  readonly filename: string;
  readonly fileId: string;
  readonly size: number;
}

const uploadShape = z.object({ uploadUrl: z.url() });
const receiptShape = z.object({ file_id: z.string(), size: z.number() });

/** Sends a file of this machine to the server. */
export async function sendFile(server: AgentServer, path: string, signal: AbortSignal): Promise<SentFile> {
  const filename = basename(path);
  const size = await measureFile(path);
  const { structuredContent, ...result } = await server.call(
    'request_upload',
    { filename, size },
    { signal },
  );
  const { success, data } = uploadShape.safeParse(structuredContent);
  if (!success) throw sendError(path, toModelText(result));
  const headers = { 'Content-Length': String(size), 'Content-Type': 'application/octet-stream' };
  const policy = { timeoutMs: maxCallMs, maxBytes: 1024 ** 2, privateAddresses: 'allowed' } as const;
  try {
    const body = createReadStream(path);
    const receipt = await fetchBounded(
      data.uploadUrl,
      { method: 'PUT', headers, body, signal },
      policy,
      async (answer) => {
        const text = await answer.text();
        if (answer.status !== 201) throw sendError(path, `status ${answer.status}`);
        return receiptShape.parse(JSON.parse(text));
      },
    );
    return { filename, fileId: receipt.file_id, size: receipt.size };
  } catch (error) {
    throw error instanceof FetchError ? sendError(path, error.message, error) : error;
  }
}

async function measureFile(path: string): Promise<number> {
  try {
    const found = await stat(path);
    if (found.isFile()) return found.size;
  } catch (error) {
    if (!['ENOENT', 'EACCES', 'ENOTDIR'].includes(getErrno(error) ?? '')) throw error;
  }
  throw new WorkcrateError('config_invalid', `--file takes a file that can be read, not ${quoteName(path)}.`);
}

const sendError = (path: string, why: string, cause?: unknown): WorkcrateError =>
  new WorkcrateError('invalid_input', `${quoteName(path)} could not be sent: ${why}`, { cause });
