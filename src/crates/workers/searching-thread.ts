import { workerData } from 'node:worker_threads';
import { answerCalls, outerLog } from '../../workers/inside.ts';
import { createSearching, type IndexSettings } from './workers.ts';

answerCalls(createSearching(workerData as IndexSettings, outerLog()));
