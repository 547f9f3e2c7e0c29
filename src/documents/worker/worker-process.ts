import { answerCalls, getParentData, getParentLog } from '../../workers/inside.ts';
import { createDocumentWorkerMethods, type DocumentWorkerSettings } from './worker.ts';

answerCalls(createDocumentWorkerMethods((await getParentData()) as DocumentWorkerSettings, getParentLog()));
