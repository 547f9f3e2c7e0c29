import { answerCalls, outerData, outerLog } from '../../workers/inside.ts';
import { createDocumentWorkerMethods, type DocumentWorkerSettings } from './worker.ts';

answerCalls(createDocumentWorkerMethods((await outerData()) as DocumentWorkerSettings, outerLog()));
