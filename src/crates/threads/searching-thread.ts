import { workerData } from 'node:worker_threads';
import { answerCalls, outerLog } from '../../threads/inside.ts';
import { createSearching } from './searching.ts';
import type { IndexSettings } from './settings.ts';

answerCalls(createSearching(workerData as IndexSettings, outerLog()));
