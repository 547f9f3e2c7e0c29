import {
  answerCalls,
  isAfterFailure,
  getParentData,
  getParentLog,
} from '../../../platform/workers/inside.ts';
import { createIndexingWorker, type IndexingSettings } from './workers.ts';

const indexingThreadSettings = (await getParentData()) as IndexingSettings;
answerCalls(
  createIndexingWorker(indexingThreadSettings, getParentLog(), { isAfterFailure: isAfterFailure() }),
);
