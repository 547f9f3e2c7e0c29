import { answerCalls, getParentData } from '../../../platform/workers/inside.ts';
import { createTypstCompiler, type TypstCompilerOptions } from './compiler.ts';
import type { TypstJob, TypstResult } from './typst.ts';

let typstCompiler: ReturnType<typeof createTypstCompiler> | null = null;

const typstMethods = {
  async compile(job: TypstJob): Promise<TypstResult> {
    typstCompiler ??= createTypstCompiler((await getParentData()) as TypstCompilerOptions);
    return (await typstCompiler)(job);
  },
};

export type TypstMethods = typeof typstMethods;

answerCalls(typstMethods);
