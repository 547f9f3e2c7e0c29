/**
 * The natural logarithm by +, −, × and ÷ alone. How exact `Math.log` is, is up to the engine; these give the same bits
 * on every machine.
 */
export function logarithm(value: number): number {
  let mantissa = value;
  let doublings = 0;
  for (; mantissa >= 1.5; doublings++) mantissa /= 2;
  for (; mantissa < 0.75; doublings--) mantissa *= 2;
  // ln m = 2 artanh z. For m in [0.75, 1.5), z² is at most 0.04, and twelve terms leave nothing behind.
  const z = (mantissa - 1) / (mantissa + 1);
  let power = z;
  let sum = 0;
  for (let term = 0; term < 12; term++, power *= z * z) sum += power / (2 * term + 1);
  return 2 * sum + doublings * Math.LN2;
}
