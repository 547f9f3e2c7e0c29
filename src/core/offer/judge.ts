/**
 * Who judges what is asked of tools and what is told: at every door, and in the same way whoever asks. A feature brings a
 * judge; `server/` puts it around tools, toolboxes and requests. Runs are judged where they run (`core/runs/extension.ts`).
 */
import type { Tool, ToolContext } from './tool.ts';
import type { Toolbox } from './toolbox.ts';

export interface CallJudge {
  /** The same tool, judged; the tool itself where nothing of it is. */
  judgeTool(tool: Tool): Tool;
  /** The same tools of other servers, judged. */
  judgeToolbox(toolbox: Toolbox): Toolbox;
  /** What is answered to requests that are no calls. */
  readonly judgeAnswer: JudgeAnswer;
}

/** Does the work of a request, and gives what may be shown of its answer. Rejects where nothing of it may. */
export type JudgeAnswer = <T>(
  method: string,
  context: ToolContext,
  work: (context: ToolContext) => Promise<T>,
) => Promise<T>;
