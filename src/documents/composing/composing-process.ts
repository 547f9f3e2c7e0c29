import { answerCalls, outerData, outerLog } from '../../threads/inside.ts';
import { createComposing, type ComposingSettings } from './composing.ts';

answerCalls(createComposing((await outerData()) as ComposingSettings, outerLog()));
