/** The time in milliseconds. Rooms take it as an argument, so that tests can let hours pass. */
export type Clock = () => number;
