/** Codewords of correction for QR codes: remainders of polynomials over the field of 256 elements. It corrects nothing. */

/** The field of QR codes: x⁸ + x⁴ + x³ + x² + 1. */
const fieldPolynomial = 0x1_1d;

function multiply(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product <<= 1;
    if (product > 0xff) product ^= fieldPolynomial;
    if (((other >> bit) & 1) === 1) product ^= one;
  }
  return product;
}

/** The product of (x − 2⁰) to (x − 2ⁿ⁻¹), highest power first, without the leading one. */
export function makeGenerator(degree: number): number[] {
  let [polynomial, root] = [[1], 1];
  for (let at = 0; at < degree; at++, root = multiply(root, 2)) {
    const raised = [...polynomial, 0];
    for (const [place, factor] of polynomial.entries()) raised[place + 1]! ^= multiply(factor, root);
    polynomial = raised;
  }
  return polynomial.slice(1);
}

/** As many codewords as the generator has factors. */
export function computeRemainder(data: readonly number[], generator: readonly number[]): number[] {
  const rest = generator.map(() => 0);
  for (const word of data) {
    const factor = word ^ rest.shift()!;
    rest.push(0);
    for (const [at, coefficient] of generator.entries()) rest[at]! ^= multiply(coefficient, factor);
  }
  return rest;
}
