/**
 * `workcrate ask`: has a model work on a request with the tools of a server. It reads what it is to do, prints what happens
 * and chooses the exit code; the work is done by `agent.ts`.
 */
import type { CommandInput } from 'workcrate/feature';
import {
  chooseListedTools,
  createInterruptSignal,
  isWorkcrateError,
  loadRoutes,
  usageError,
  WorkcrateError,
} from 'workcrate/toolkit';
import { connectServer, loadModelPackages, makeOwnFolder, runAgent, saveLinks, sendFile } from './agent.ts';
import {
  createKeyFilter,
  formatAnswer,
  formatEnd,
  formatEvent,
  toAskJson,
  type AskResult,
} from './output.ts';
import { createAnswers, createApproval, findTerminal } from './terminal.ts';
import { askSettings, type AskConfig } from './settings.ts';

type AskInput = CommandInput<AskConfig>;

const interruptedCode = 130;

/** `workcrate ask REQUEST`: prints the answer and the links. */
export async function runAsk(input: AskInput): Promise<number> {
  const endpoint = checkModelEndpoint(input.config);
  const hideKey = createKeyFilter(endpoint.key);
  using stop = createInterruptSignal();
  try {
    const result = await workOn(input, endpoint, stop.signal, hideKey);
    const isJson = input.flags['json'] !== undefined;
    process.stderr.write(hideKey(formatEnd(result)));
    process.stdout.write(hideKey(isJson ? toAskJson(result) : formatAnswer(result)));
    if (result.failure === null) return 0;
    return result.failure.class === 'cancelled' ? interruptedCode : 1;
  } catch (error) {
    if (stop.signal.aborted || isWorkcrateError(error, 'cancelled')) return interruptedCode;
    throw isWorkcrateError(error) ? new WorkcrateError(error.code, hideKey(error.message)) : error;
  }
}

type AskEndpoint = ReturnType<typeof checkModelEndpoint>;

async function workOn(
  input: AskInput,
  endpoint: AskEndpoint,
  signal: AbortSignal,
  hideKey: (text: string) => string,
): Promise<AskResult> {
  const { flags, words } = input;
  const limits = {
    maxSteps: readNumber(flags['steps'], 'steps', { usual: 25, least: 1, most: 200, isWhole: true }),
    temperature: readNumber(flags['temperature'], 'temperature', { usual: 0.7, least: 0, most: 1 }),
  };
  const packages = await loadModelPackages();
  const routes = loadRoutes(input.config.toolRoutes);
  const ask = findTerminal(signal);
  const approve = createApproval(splitLines(flags['yes']), ask);
  // The server gets the settings that this command got, but not the key of the endpoint.
  const address = input.program.findServer(Object.keys(askSettings));
  const answerQuestion = ask === null ? null : createAnswers(ask);
  await using server = await connectServer(address, { answerQuestion, signal });
  const files = [];
  for (const path of splitLines(flags['file'])) files.push(await sendFile(server, path, signal));
  const result = await runAgent({
    request: words[0]!,
    files,
    packages,
    endpoint,
    server,
    chooseTools: (tools) => chooseListedTools(tools, words[0]!, { routes }),
    ...limits,
    firstPauseMs: 1000,
    signal,
    approve,
    observe: (event) => void process.stderr.write(hideKey(`${formatEvent(event)}\n`)),
  });
  // The links of a server that ends with this command end with it too.
  const isSaved = result.links.length > 0 && !signal.aborted;
  const isEnding = flags['output'] === undefined && 'command' in address;
  const folder = isSaved && isEnding ? await makeOwnFolder() : flags['output'];
  const saved = isSaved && folder !== undefined ? await saveLinks(result.links, folder, signal) : [];
  return { ...result, files, saved };
}

const splitLines = (text: string | undefined): string[] => (text === undefined ? [] : text.split('\n'));

function checkModelEndpoint({ endpoint: url, model, apiKey: key, endpointTimeout }: AskConfig) {
  const missing = [...(url === null ? ['--endpoint URL'] : []), ...(model === null ? ['--model NAME'] : [])];
  if (url === null || model === null)
    throw usageError(
      `ask needs a model: set ${missing.join(' and ')}. Any OpenAI-compatible API will do, such as that of a model on this machine (http://127.0.0.1:11434/v1)`,
      'ask',
    );
  return { url, model, key, silenceMs: endpointTimeout * 1000 };
}

interface NumberRange {
  readonly usual: number;
  readonly least: number;
  readonly most: number;
  readonly isWhole?: boolean;
}

function readNumber(
  text: string | undefined,
  flag: string,
  { usual, least, most, isWhole = false }: NumberRange,
): number {
  if (text === undefined) return usual;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
  throw usageError(`--${flag} takes a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}`, 'ask');
}
