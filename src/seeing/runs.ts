import type { Executions } from '../executions/executions.ts';
import type { Tool } from '../mcp/tool.ts';
import type { Run, Sandbox } from '../sandbox/sandbox.ts';
import type { Tracing } from '../tracing.ts';

/** The same tool, whose calls are told as spans. What it is called with is not told. */
export function seenTool(tool: Tool, tracing: Tracing): Tool {
  if (!tracing.isOn) return tool;
  return {
    ...tool,
    handle: (input, context) =>
      tracing.span(
        `tool ${tool.name}`,
        { 'mcp.tool.name': tool.name, 'workcrate.user': context.caller.user },
        () => tool.handle(input, context),
      ),
  };
}

/** The same room, whose runs are told as spans from the request to the record. */
export function seenExecutions(executions: Executions, tracing: Tracing): Executions {
  if (!tracing.isOn) return executions;
  return {
    ...executions,
    run: (caller, request, watching) =>
      tracing.span('execution', { 'workcrate.language': request.language }, async (tell) => {
        const ended = await executions.run(caller, request, watching);
        tell({ 'workcrate.execution': ended.execution.id, 'workcrate.reason': ended.execution.reason });
        return ended;
      }),
  };
}

/** The same sandbox, which tells how long a run waited for its interpreter, and how long it then ran. */
export function seenSandbox(sandbox: Sandbox, tracing: Tracing): Sandbox {
  if (!tracing.isOn) return sandbox;
  return {
    ...sandbox,
    async start(request) {
      const attributes = { 'workcrate.sandbox': sandbox.kind, 'workcrate.language': request.language };
      const run = await tracing.span('sandbox start', attributes, () => sandbox.start(request));
      // Whoever asked for the run waits for its end; this only watches.
      void tracing.span('sandbox run', attributes, async (tell) => tell(endOf(await run.ended)));
      return run;
    },
  };
}

function endOf({ reason, exitCode }: Awaited<Run['ended']>) {
  return { 'workcrate.reason': reason, ...(exitCode === null ? {} : { 'workcrate.exit_code': exitCode }) };
}
