import { answerCalls, outerData } from '../../workers/inside.ts';
import { createCompiler, type CompilerOptions } from './compiler.ts';
import type { TypstJob, TypstResult } from './typst.ts';

let compiler: ReturnType<typeof createCompiler> | null = null;

const methods = {
  async compile(job: TypstJob): Promise<TypstResult> {
    compiler ??= createCompiler((await outerData()) as CompilerOptions);
    return (await compiler)(job);
  },
};

export type TypstMethods = typeof methods;

answerCalls(methods);
