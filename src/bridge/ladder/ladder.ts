import { setTimeout as pause } from 'node:timers/promises';
import { inputRequired } from '@modelcontextprotocol/server';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { StoredFile } from '../../files/files.ts';
import type { Question, ToolContext } from '../../mcp/tool.ts';
import type { Rung } from '../client-file.ts';
import type { From } from '../policy/policy.ts';
import { createAwaited, type AwaitedOptions } from './awaited.ts';
import type { Errand, Offer } from './errand.ts';
import { mayNot, tooLate } from './failures.ts';
import { formAnswer, formRequest } from './form.ts';
import type { Proofs } from './proofs.ts';
import { answerKey, createQuestions, type AskOptions, type Left, type Subject } from './question.ts';
import { samplingAnswer, samplingRequest } from './sampling.ts';
import { sendFile, sendListing } from './shell.ts';

export interface LadderOptions extends AwaitedOptions, AskOptions {
  readonly proofs: Proofs;
  /** The base of the URLs handed out. A function, since the port may be known only later. */
  readonly baseUrl: () => string;
  /** A file of more is not read. */
  readonly mostBytes: number;
}

/** How something came, and what was said of it. */
export interface Source {
  readonly rung: Rung;
  /** From where on the paths of a listing are told. */
  readonly from: From;
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of what was typed: it is text, and in no other. */
  readonly encoding: string | null;
}

/** What is done with that which came. It gets it once. */
export type Use<T> = (chunks: AsyncIterable<Uint8Array>, source: Source) => Promise<T>;

/** How an answer is had: from what came, or from another call that had it meanwhile. */
export interface Taking<T> {
  readonly use: Use<T>;
  readonly meanwhile: () => T | null;
}

/** An errand and the call that it is run for. */
export interface Trip {
  readonly errand: Errand;
  readonly subject: Subject;
  readonly context: ToolContext;
}

const pollMs = 200;
const pagesAsked = 2;

export type Ladder = ReturnType<typeof createLadder>;

/** The ways of asking. What can be asked of which client is not judged here. */
export function createLadder(options: LadderOptions) {
  const { proofs, baseUrl, timeoutMs, mostBytes } = options;
  const questions = createQuestions(options);
  const awaited = createAwaited(options);

  /** What was sent meanwhile, or null. */
  const arrived = <T>({ errand, context }: Trip, use: Use<T>): Promise<T | null> =>
    awaited.taking(context.caller, errand, async ({ file, rung, read, keep }) => {
      if (file.size <= mostBytes)
        return use(read(), { rung, from: 'folder', size: null, sha256: null, encoding: null });
      keep();
      throw keptApart(file, mostBytes);
    });

  async function offer({ errand, context }: Trip): Promise<Offer> {
    const { token, expiresAt } = await awaited.expect(context.caller, errand, 'upload');
    const uploadUrl = `${baseUrl()}/uploads/${token}`;
    const command =
      errand.operation === 'read' ? sendFile(errand, uploadUrl) : sendListing(errand, uploadUrl);
    const path = errand.path.relative;
    const proofCommand = proofFor(errand, context)?.command ?? null;
    const pageUrl = `${baseUrl()}/ask/${token}`;
    return { offer: 'upload', path, rung: 'upload', command, uploadUrl, pageUrl, expiresAt, proofCommand };
  }

  function proofFor({ root }: Errand, { caller, sharesMachine }: ToolContext) {
    if (!sharesMachine || root === null || proofs.isProven(caller.user, root)) return null;
    return proofs.challenge(caller.user, root);
  }

  function offerProof({ errand, context }: Trip): Offer {
    const { command, until } = proofs.challenge(context.caller.user, errand.root!);
    const path = errand.path.relative;
    return {
      offer: 'proof',
      path,
      rung: 'direct',
      command,
      uploadUrl: null,
      pageUrl: null,
      expiresAt: until,
      proofCommand: command,
    };
  }

  async function askByPage({ errand, subject, context }: Trip, round: number): Promise<Question> {
    const { token } = await awaited.expect(context.caller, errand, 'url');
    const what = errand.operation === 'read' ? 'file' : 'names of what is in the folder';
    const request = inputRequired.elicitUrl({
      message: `The server asks for the ${what} ${JSON.stringify(errand.path.relative || '.')} of your project. Choose it on this page.`,
      url: `${baseUrl()}/ask/${token}`,
    });
    return questions.ask(subject, context, 'url', () => request, round);
  }

  /** Where nobody agreed to open the page, nothing can be sent by it any more. */
  async function demandAgreed({ errand, context }: Trip): Promise<void> {
    const { relative } = errand.path;
    try {
      const answer = context.client.answer(answerKey);
      if (answer.kind !== 'elicit') throw mayNot(relative, 'the client sent no answer to the question');
      if (answer.action !== 'accept') throw mayNot(relative, 'the person declined');
    } catch (error) {
      if (isWorkcrateError(error, 'client_refused')) await awaited.withdraw(context.caller, errand);
      throw error;
    }
  }

  /** To agree to open a page is not to have used it: most clients answer before anything was sent. */
  async function answeredByPage<T>(
    trip: Trip,
    left: Left,
    { use, meanwhile }: Taking<T>,
  ): Promise<T | Question> {
    const { relative } = trip.errand.path;
    const { context } = trip;
    await demandAgreed(trip);
    const share = timeoutMs / pagesAsked;
    const since = performance.now();
    for (;;) {
      const came = (await arrived(trip, use)) ?? meanwhile();
      if (came !== null) return came;
      const waited = performance.now() - since;
      if (waited > share) break;
      context.progress(Math.round(left.round * share + waited), null, 'waiting for the file');
      await pause(Math.min(pollMs, timeoutMs), null, { signal: context.signal });
    }
    if (left.round + 1 < pagesAsked) return askByPage(trip, left.round + 1);
    throw tooLate(relative, timeoutMs);
  }

  return {
    questions,
    arrived,
    offerProof,
    page: awaited.page,

    /** Asks by one rung; what comes back is not the answer yet. */
    async ask(rung: Exclude<Rung, 'direct'>, trip: Trip): Promise<Question | Offer> {
      const { errand, subject, context } = trip;
      if (rung === 'upload') return offer(trip);
      if (rung === 'url') return askByPage(trip, 0);
      if (rung === 'form') return questions.ask(subject, context, 'form', () => formRequest(errand));
      const withTools = context.client.capabilities.sampling?.tools !== undefined;
      const request = (mark: string) => samplingRequest(errand, mark, withTools);
      return questions.ask(subject, context, 'sampling', request);
    },

    /** What the client answered to that; null where a model says that it gave it by another way. */
    async answered<T>(trip: Trip, left: Left, taking: Taking<T>): Promise<T | Question | null> {
      const { errand, context } = trip;
      const { use } = taking;
      if (left.rung === 'url') return answeredByPage(trip, left, taking);
      const answer = context.client.answer(answerKey);
      const encoding = errand.binary ? null : 'utf-8';
      const told = { from: 'root', size: null, sha256: null, encoding } as const;
      if (left.rung === 'form') return use(once(formAnswer(errand, answer)), { ...told, rung: 'form' });
      const typed = samplingAnswer(errand, left.nonce, answer);
      if (typed === null) return null;
      const { bytes, size, sha256 } = typed;
      return use(once(bytes), { ...told, rung: 'sampling', size, sha256 });
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Nobody sends such a file twice without need. */
const keptApart = ({ id, size }: StoredFile, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The file came, but its ${size} bytes are more than the ${most} that are read at once. It is stored for an hour as ${id}: give that file_id to execute_code or share_file.`,
    { details: { limit: most, file_id: id } },
  );
