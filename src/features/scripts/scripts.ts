/**
 * Scripts: code that a user keeps under a name, in versions. This door saves, finds and deletes them, and keeps how often
 * and how well they ran. It runs none (`core/runs/` does), and installs no package.
 */
import type { Clock } from '../../platform/clock.ts';
import { yieldToEventLoop } from '../../platform/concurrency/yield.ts';
import type { Database } from '../../ports/database/database.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Execution, Executions } from '../../core/runs/executions.ts';
import type { RunPart } from '../../core/runs/extension.ts';
import { toStorable } from '../../core/runs/fields.ts';
import { maxSearchedCode, toSearchable } from '../../core/runs/store.ts';
import type { Caller } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import { quoteName } from '../../platform/text/text.ts';
import { checkNotRemoved } from '../../core/users/users.ts';
import { parseScriptReference, scriptNameRule, toScriptLabel, type ScriptReference } from './names.ts';
import type { ScriptQuota } from './quota.ts';
import {
  countRun,
  deleteVersions,
  findVersion,
  insertVersion,
  listVersionNumbers,
  readScriptWindow,
  updateOutcome,
  type FoundScript,
  type LastRun,
} from './store.ts';

export type { FoundScript } from './store.ts';
export { deleteOfOwner as deleteUserScripts } from './store.ts';

export interface ScriptsOptions {
  readonly database: Database;
  readonly executions: Pick<Executions, 'get'>;
  readonly quota: ScriptQuota;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is to be saved. Code and language may come from an execution instead. */
export interface WantedScript {
  readonly name: string;
  readonly description: string;
  readonly language: Language | null;
  readonly code: string | null;
  readonly tags: readonly string[];
  readonly packages: readonly string[];
  readonly sourceExecution: string | null;
}

export interface ScriptSearch {
  readonly text?: string | undefined;
  readonly language?: Language | undefined;
  readonly tag?: string | undefined;
  readonly limit?: number | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
}

export interface ScriptPage {
  readonly scripts: readonly FoundScript[];
  readonly next: string | null;
}

/** One version with its code, and which others there are. */
export interface WholeScript extends FoundScript {
  readonly code: string;
  readonly allVersions: readonly number[];
}

/** The numbers of what was deleted of a script, and how many versions are left. */
export interface DeletedVersions {
  readonly name: string;
  readonly deleted: number[];
  readonly left: number;
}

export type Scripts = ReturnType<typeof createScripts>;

/** Keeps scripts of users. */
export function createScripts({ database, executions, quota, clock, log }: ScriptsOptions) {
  /** Writes that go on after the run that they are about. */
  const writing = new Set<Promise<void>>();

  async function save(caller: Caller, wanted: WantedScript): Promise<FoundScript> {
    const begunAt = clock();
    const { code, language } = await completeFromSource(executions, caller, wanted);
    const saved = {
      ...wanted,
      description: toStorable(wanted.description),
      code,
      language,
      codeBytes: Buffer.byteLength(code),
      haystack: toScriptSearchText(wanted, code),
      createdAt: begunAt,
    };
    const version = await database.transaction(async (tx) => {
      await checkNotRemoved(tx, caller, begunAt);
      return insertVersion(tx, caller.user, saved, quota);
    });
    return get(caller, toScriptLabel({ name: wanted.name, version }));
  }

  async function get(caller: Caller, named: string): Promise<WholeScript> {
    const reference = checkReference(named);
    const { name, version } = reference;
    const found = await findVersion(database, caller.user, name, version);
    const allVersions = await listVersionNumbers(database, caller.user, name);
    if (found === null) throw unknownScriptError(reference, allVersions);
    return { ...(await settleLastRun(caller, found)), code: found.code, allVersions };
  }

  /** The end of a run whose server died was written by nobody: its record knows better. */
  async function settleLastRun<T extends FoundScript>(caller: Caller, found: T): Promise<T> {
    const { lastRun } = found.script;
    if (lastRun?.outcome !== 'running') return found;
    const outcome = await readOutcome(caller, lastRun);
    return { ...found, script: { ...found.script, lastRun: { ...lastRun, outcome } } };
  }

  async function readOutcome(caller: Caller, { executionId }: LastRun): Promise<string> {
    try {
      return describeEnding(await executions.get(caller, executionId));
    } catch (error) {
      if (isWorkcrateError(error, 'not_found')) return 'unknown: its record is not kept any more';
      throw error;
    }
  }

  async function find(caller: Caller, search: ScriptSearch): Promise<ScriptPage> {
    const { limit = 50, text, language = null, tag = null } = search;
    const conditions = { text: text === undefined ? null : toSearchable(text), language, tag };
    const scripts: FoundScript[] = [];
    let after: string | null = search.after ?? null;
    do {
      if (scripts.length > 0) await yieldToEventLoop();
      const window = await readScriptWindow(database, caller.user, conditions, {
        after,
        rows: scriptWindowRows,
      });
      scripts.push(...window.found);
      after = window.last;
    } while (after !== null && scripts.length <= limit);
    const page = scripts.slice(0, limit);
    const next = scripts.length > limit ? page.at(-1)!.name : null;
    return { scripts: await Promise.all(page.map((one) => settleLastRun(caller, one))), next };
  }

  async function noteEnd(execution: Execution, name: string): Promise<void> {
    const { id, owner } = execution;
    try {
      await updateOutcome(database, owner, name, { id, outcome: describeEnding(execution) });
    } catch (error) {
      // Whoever looks asks the record of the run then.
      log.warn('script.outcome_not_written', { id, error });
    }
  }

  return {
    /** Saves the next version of a script; the first where there is none. */
    save,

    /** One version, the latest where none is named; `not_found` where there is none. */
    get,

    /** The latest version of each script that fits, by name. */
    find,

    /** Deletes one version, or the script with all of them. */
    async delete(caller: Caller, named: string): Promise<DeletedVersions> {
      const reference = checkReference(named);
      const { name, version } = reference;
      const done = await database.transaction((tx) => deleteVersions(tx, caller.user, name, version));
      if (done.deleted.length > 0) return { name, deleted: done.deleted, left: done.left.length };
      throw unknownScriptError(reference, done.left);
    },

    /** What a version adds to a run of it: its name in the record, and the run is counted. */
    toRun(caller: Caller, script: FoundScript): RunPart {
      return {
        fields: { script: toScriptLabel(script) },
        writeBegin: (queries, run) => countRun(queries, caller.user, script, run),
      };
    },

    /** To be called for every run that has ended: those of scripts are noted. */
    noteRun(execution: Execution): void {
      const name = execution.script === null ? undefined : parseScriptReference(execution.script)?.name;
      if (name === undefined) return;
      const noting = noteEnd(execution, name).finally(() => writing.delete(noting));
      writing.add(noting);
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(writing);
    },
  };
}

/** Rows that one query looks at: SQLite works in the thread of the server. */
const scriptWindowRows = 25;

const toScriptSearchText = ({ name, description, tags }: WantedScript, code: string): string =>
  toSearchable([name, description, tags.join('\n'), code.slice(0, maxSearchedCode)].join('\n'));

async function completeFromSource(
  executions: Pick<Executions, 'get'>,
  caller: Caller,
  { code, language, sourceExecution, packages }: WantedScript,
): Promise<{ readonly code: string; readonly language: Language }> {
  const source = sourceExecution === null ? null : await executions.get(caller, sourceExecution);
  const whole = { code: code ?? source?.code, language: language ?? source?.language };
  if (whole.code === undefined || whole.language === undefined)
    throw new WorkcrateError(
      'invalid_input',
      'Give code and its language, or the source_execution_id of a run to take them from.',
    );
  if (code === null && source !== null && whole.language !== source.language)
    throw new WorkcrateError(
      'invalid_input',
      `The code of ${source.id} is ${source.language}, not ${whole.language}. Leave language out, or give the code.`,
    );
  if (whole.language === 'bash' && packages.length > 0)
    throw new WorkcrateError('invalid_input', 'packages are for python and node. Leave them out.');
  if (whole.code.includes('\0') || !whole.code.isWellFormed())
    throw new WorkcrateError(
      'invalid_input',
      'The code contains NUL or a character that is not Unicode, which cannot be kept. Write it as an escape.',
    );
  return { code: whole.code, language: whole.language };
}

function describeEnding({ succeeded, reason, exitCode }: Execution): string {
  if (succeeded) return 'ok';
  return reason === 'exit' ? `exit code ${exitCode}` : reason;
}

/** Callers name a script in one text, `plot` or `plot@3`, and the audit log shows that text. */
function checkReference(named: string): ScriptReference {
  const reference = parseScriptReference(named);
  if (reference === null) throw new WorkcrateError('invalid_input', `${scriptNameRule}.`);
  return reference;
}

function unknownScriptError({ name, version }: ScriptReference, versions: readonly number[]): WorkcrateError {
  if (versions.length === 0)
    return new WorkcrateError(
      'not_found',
      `You have no script ${quoteName(name)}. list_scripts shows yours, save_script makes one.`,
    );
  return new WorkcrateError(
    'not_found',
    `The script ${quoteName(name)} has no version ${version}. It has: ${versions.join(', ')}.`,
  );
}
