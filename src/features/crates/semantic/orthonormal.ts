import { dense, type Dense } from './sparse.ts';

/** What is left of a column, in proportion to it and squared, below which it is made of the columns before it. */
const nothing = 1e-12;

/**
 * Turns the columns into ones at right angles to each other and of length 1 that span the same space. A column that
 * adds nothing to those before it becomes zero.
 *
 * By Cholesky: with G = MᵀM = RᵀR, the columns of M R⁻¹ are orthonormal. Where columns are nearly alike that is exact
 * to six digits only, which is as much as is kept of them.
 */
export function orthonormalise(matrix: Dense): void {
  const upper = cholesky(gram(matrix));
  for (let row = 0; row < matrix.rows; row++) solveRow(matrix, row, upper);
}

/** All the products of two columns; only the half with the second not before the first is filled. */
function gram({ rows, width, values }: Dense): Dense {
  const products = dense(width, width);
  const sums = products.values;
  for (let row = 0; row < rows; row++) {
    const start = row * width;
    for (let i = 0; i < width; i++) {
      const factor = values[start + i]!;
      if (factor === 0) continue;
      for (let j = i; j < width; j++) sums[i * width + j]! += factor * values[start + j]!;
    }
  }
  return products;
}

/** The upper triangle R with RᵀR = G, in place. Rows of columns that add nothing are zero. */
function cholesky(products: Dense): Dense {
  const { width, values } = products;
  for (let i = 0; i < width; i++) {
    const whole = values[i * width + i]!;
    let left = whole;
    for (let k = 0; k < i; k++) left -= values[k * width + i]! * values[k * width + i]!;
    const root = left > nothing * whole ? Math.sqrt(left) : 0;
    values[i * width + i] = root;
    for (let j = i + 1; j < width; j++) {
      let sum = values[i * width + j]!;
      for (let k = 0; k < i; k++) sum -= values[k * width + i]! * values[k * width + j]!;
      values[i * width + j] = root === 0 ? 0 : sum / root;
    }
  }
  return products;
}

/** One row of M R⁻¹, column by column. */
function solveRow({ width, values }: Dense, row: number, upper: Dense): void {
  const start = row * width;
  const triangle = upper.values;
  for (let i = 0; i < width; i++) {
    const root = triangle[i * width + i]!;
    const solved = root === 0 ? 0 : values[start + i]! / root;
    values[start + i] = solved;
    if (solved === 0) continue;
    for (let j = i + 1; j < width; j++) values[start + j]! -= solved * triangle[i * width + j]!;
  }
}
