/** The rows of the specification about what is used again, saved code and saved guidance, in parts: `requirements.testing.ts`. */
export const reuseRequirements = {
  D12: [
    'saved-got-listed-searched-and-deleted',
    'versions-kept-and-nameable',
    'bad-input-refused',
    'quotas',
    'made-from-an-execution',
    'args-in-every-language',
    'hostile-args-stay-data',
    'run-options-of-execute-code',
    'in-record-journal-and-crate',
    'runs-counted-with-the-last-outcome',
    'missing-packages-refused-before-the-start',
    'scripts-of-others-are-unknown',
    'removed-with-their-user',
    'not-in-the-default-list',
  ],
} as const;
