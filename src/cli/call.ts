import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readStream } from 'node:stream/consumers';
import * as z from 'zod';
import { readOperatorKey } from '../platform/config/config.ts';
import { getErrno, WorkcrateError } from '../platform/errors.ts';
import { formatBytes, toPlainJson } from '../platform/text/text.ts';
import type { ProgramInput } from './command.ts';
import { findServerAddress } from './find-server.ts';
import { requestMcp, type McpServer } from './mcp-request.ts';
import { createInterruptSignal } from '../platform/command-line/signals.ts';
import { toolShape, toToolArguments, type NamedTool } from './tool-arguments.ts';
import { didYouMean, usageError } from '../platform/command-line/usage-error.ts';

/** `workcrate call TOOL key=value …`: prints the text of a tool's answer. Exit code 1 where the tool failed. */
export async function runCall(input: ProgramInput): Promise<number> {
  const { flags, words } = input;
  using stop = createInterruptSignal();
  const progress = createProgressLine();
  const server: McpServer = {
    url: findServerAddress(input).url,
    key: readOperatorKey(flags),
    signal: stop.signal,
    onProgress: progress.show,
  };
  const tools = await listServerTools(server);
  const [name, ...pairs] = words;
  if (name === undefined) return print(formatTools(tools));
  const tool = findCalledTool(tools, name);
  const params = { name, arguments: await toToolArguments(tool, pairs, readReference) };
  const isJson = flags['json'] !== undefined;
  const meta = isJson ? { 'workcrate/structured': true } : {};
  const result = await requestMcp(server, { method: 'tools/call', params, meta }, callResultShape);
  progress.clear();
  return await printResult(result, { isJson, folder: flags['output'] ?? null });
}

const toolPageShape = z.object({ tools: z.array(toolShape), nextCursor: z.string().optional() });
const maxToolPages = 50;

async function listServerTools(server: McpServer): Promise<NamedTool[]> {
  const tools: NamedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxToolPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await requestMcp(server, { method: 'tools/list', params }, toolPageShape);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

function findCalledTool(tools: readonly NamedTool[], name: string): NamedTool {
  const tool = tools.find((one) => one.name === name);
  if (tool !== undefined) return tool;
  const names = tools.map((one) => one.name);
  throw usageError(
    `There is no tool ${JSON.stringify(name)}.${didYouMean(name, names)} The tools are ${names.join(', ')}`,
    'call',
  );
}

/** Names, each with the first sentence of its description. */
function formatTools(tools: readonly NamedTool[]): string {
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  return tools
    .map(({ name, description }) => `${name.padEnd(width)}  ${description.split(/(?<=\.)\s|\n/, 1)[0]!}\n`)
    .join('');
}

/** Code and documents are text; a file that is not cannot be an argument, but can be uploaded. */
async function readReference(reference: string): Promise<string> {
  if (reference === '-') return readStream(process.stdin);
  const path = reference.slice(1);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (!['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR'].includes(getErrno(error) ?? '')) throw error;
    throw usageError(`${JSON.stringify(path)} cannot be read (${getErrno(error)})`, 'call');
  }
}

const callResultShape = z.object({
  resultType: z.string().optional(),
  isError: z.boolean().default(false),
  content: z
    .array(
      z.object({
        type: z.string(),
        text: z.string().optional(),
        data: z.string().optional(),
        mimeType: z.string().optional(),
      }),
    )
    .default([]),
  structuredContent: z.unknown().optional(),
  inputRequests: z
    .record(z.string(), z.object({ params: z.object({ message: z.string().optional() }).optional() }))
    .default({}),
});

type CallResult = z.infer<typeof callResultShape>;

interface PrintOptions {
  readonly isJson: boolean;
  readonly folder: string | null;
}

async function printResult(result: CallResult, { isJson, folder }: PrintOptions): Promise<number> {
  if (result.resultType === 'input_required') throw questionError(result);
  const texts = result.content.flatMap(({ text }) => text ?? []);
  const shown = texts.map((text) => (text.endsWith('\n') ? text : `${text}\n`)).join('');
  if (result.isError) {
    process.stderr.write(shown);
    return 1;
  }
  print(
    isJson ? `${JSON.stringify(result.structuredContent ?? { text: texts.join('\n') }, null, 2)}\n` : shown,
  );
  for (const { data, mimeType = '' } of result.content)
    if (data !== undefined) await savePicture(Buffer.from(data, 'base64'), mimeType, folder);
  return 0;
}

/** A terminal shows no pictures. */
async function savePicture(bytes: Buffer, mimeType: string, folder: string | null): Promise<void> {
  const about = `${mimeType}, ${formatBytes(bytes.length)}`;
  if (folder === null)
    return void process.stderr.write(`A picture came with it (${about}). --output FOLDER saves it.\n`);
  const ending = /^image\/(png|jpeg|gif|webp)$/.exec(mimeType)?.[1] ?? 'bin';
  for (let count = 1; ; count++) {
    const path = join(folder, `picture-${count}.${ending}`);
    try {
      await writeFile(path, bytes, { flag: 'wx' });
      return void process.stderr.write(`Saved a picture (${about}): ${path}\n`);
    } catch (error) {
      if (getErrno(error) === 'EEXIST') continue;
      throw new WorkcrateError('invalid_input', `${path} cannot be written (${getErrno(error)}).`, {
        cause: error,
      });
    }
  }
}

function questionError({ inputRequests }: CallResult): WorkcrateError {
  const questions = Object.values(inputRequests).map(({ params }) => params?.message ?? '(without words)');
  return new WorkcrateError(
    'unsupported',
    `The tool asks a question, which this command cannot answer: ${questions.join(' ')}`,
  );
}

/** Where a person watches, the last sign of progress is on one line, until the answer comes. */
function createProgressLine() {
  const { stderr } = process;
  const write = (text: string): void => void (stderr.isTTY && stderr.write(`\r\u001b[K${text}`));
  return {
    show: (message: string) =>
      write(
        toPlainJson(message.trim())
          .slice(1, -1)
          .slice(0, (stderr.columns || 80) - 1),
      ),
    clear: () => write(''),
  };
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
