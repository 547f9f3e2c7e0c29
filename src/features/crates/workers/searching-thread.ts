import { workerData } from 'node:worker_threads';
import { answerCalls, getParentLog } from '../../../platform/workers/inside.ts';
import { createSearchingWorker, type IndexSettings } from './workers.ts';

answerCalls(createSearchingWorker(workerData as IndexSettings, getParentLog()));
