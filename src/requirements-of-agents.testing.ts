/** The rows of the specification about the agent's side, in parts: `requirements.testing.ts`. */
export const agentRequirements = {
  F6: [
    'none-by-default',
    'grant-cannot-be-widened',
    'values-in-python-and-node',
    'large-values-and-pictures-are-files',
    'links-can-be-saved',
    'errors-can-be-caught',
    'destructive-calls-ask',
    'budget-of-calls',
    'eight-calls-at-once',
    'forged-frames-end-the-channel',
    'no-other-run-reaches-it',
    'ends-with-the-run',
    'cancelled-with-the-run',
    'credentials-stay-outside',
    'typed-functions',
    'hostile-definitions-stay-data',
    'calls-are-recorded',
    'calls-are-in-the-crate',
    'calls-are-replayed',
  ],
} as const;
