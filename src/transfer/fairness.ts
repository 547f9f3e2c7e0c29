/** After so much of one client's bytes the others have their turn. */
export const TURN_BYTES = 2 * 1024 * 1024;

/** Lets the event loop go round once; a chain of writes that the kernel takes at once never would. */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
