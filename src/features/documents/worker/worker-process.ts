import { enableCompileCache } from 'node:module';
import { answerCalls, getParentData, getParentLog } from '../../../platform/workers/inside.ts';
import type { DocumentWorkerStart } from './open.ts';

const { compileCache, ...settings } = (await getParentData()) as DocumentWorkerStart;
// Before the rest is loaded, which takes longer than to start Node.
if (compileCache !== null) enableCompileCache(compileCache);
const { createDocumentWorkerMethods } = await import('./worker.ts');
answerCalls(createDocumentWorkerMethods(settings, getParentLog()));
