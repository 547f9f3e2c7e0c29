import { memoryStorage } from './memory.ts';
import { storageContract } from './storage.contract.ts';

storageContract('memory', async () => ({ ...memoryStorage(), [Symbol.asyncDispose]: async () => {} }));
