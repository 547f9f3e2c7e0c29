import { workerData } from 'node:worker_threads';
import { answerCalls, outerLog } from '../../threads/inside.ts';
import { createIndexing } from './indexing.ts';
import type { IndexingSettings } from './settings.ts';

answerCalls(createIndexing(workerData as IndexingSettings, outerLog()));
