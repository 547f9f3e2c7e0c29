/** How a run is asked for again: the same code, with the files that it was given and the tools that it called. */
import { WorkcrateError } from '../../platform/errors.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

export interface RepeatedRun {
  readonly tool: 'execute_code' | 'execute_bash';
  readonly input: Readonly<Record<string, unknown>>;
}

export function toRunAgain(run: ShownRun, withFiles: boolean): RepeatedRun {
  if (run.stdin_bytes > 0)
    throw new WorkcrateError(
      'unsupported',
      'This run read its standard input, which is not kept for pages. Have your agent run it again.',
    );
  const given = withFiles ? toGivenFiles(run.inputs) : {};
  const { timeout_ms } = run.limits;
  if (run.tool === 'execute_bash')
    return { tool: 'execute_bash', input: { command: run.code, timeout_ms, ...given } };
  const { language, code, working_dir, execution_id } = run;
  // Its own folder was made for it; any other was chosen.
  const place = working_dir.includes(execution_id) ? {} : { working_dir };
  const called = new Set(
    run.tool_calls?.calls.flatMap(({ tool, outcome }) => (outcome === 'refused' ? [] : [tool])),
  );
  const tools = called.size === 0 ? {} : { tools: [...called] };
  return { tool: 'execute_code', input: { language, code, timeout_ms, ...place, ...given, ...tools } };
}

function toGivenFiles(inputs: ShownRun['inputs']): Record<string, unknown> {
  const ofOthers = inputs.filter(
    ({ file_id, origin }) => file_id === null && origin?.['crate_id'] === undefined,
  );
  if (ofOthers.length > 0)
    throw new WorkcrateError(
      'client_unsupported',
      `${ofOthers.length} of its files came from the client, which a page cannot ask. Run it again without its files, or have your agent run it.`,
    );
  const stored = inputs.flatMap(({ file_id }) => file_id ?? []);
  const ofCrates = inputs.flatMap(({ file_id, origin, name }) =>
    file_id === null ? [{ crate_id: origin!['crate_id'], path: origin!['path'], as: name }] : [],
  );
  return {
    ...(stored.length === 0 ? {} : { files: stored }),
    ...(ofCrates.length === 0 ? {} : { crate_files: ofCrates }),
  };
}
