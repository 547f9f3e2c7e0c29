import { answerCalls, isAfterFailure, outerData, outerLog } from '../../workers/inside.ts';
import { createIndexingWorker, type IndexingSettings } from './workers.ts';

const indexingThreadSettings = (await outerData()) as IndexingSettings;
answerCalls(createIndexingWorker(indexingThreadSettings, outerLog(), { isAfterFailure: isAfterFailure() }));
