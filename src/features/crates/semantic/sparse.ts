/** A matrix that is mostly zero, row by row: `columns` and `values` of row r stand from `starts[r]` to `starts[r + 1]`. */
export interface Sparse {
  readonly rows: number;
  readonly width: number;
  readonly starts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float64Array;
}

/** Rows of numbers, one after the other. */
export interface Dense {
  readonly rows: number;
  readonly width: number;
  readonly values: Float64Array;
}

export const dense = (rows: number, width: number): Dense => ({
  rows,
  width,
  values: new Float64Array(rows * width),
});

/** Sparse times dense. Sums are in the order of the rows and columns, always. */
export function times(matrix: Sparse, right: Dense): Dense {
  const product = dense(matrix.rows, right.width);
  for (let row = 0; row < matrix.rows; row++)
    for (let at = matrix.starts[row]!; at < matrix.starts[row + 1]!; at++)
      addRow(product, row, right, matrix.columns[at]!, matrix.values[at]!);
  return product;
}

/** The same with the sparse matrix turned over, so that its columns are rows. */
export function transposedTimes(matrix: Sparse, right: Dense): Dense {
  const product = dense(matrix.width, right.width);
  for (let row = 0; row < matrix.rows; row++)
    for (let at = matrix.starts[row]!; at < matrix.starts[row + 1]!; at++)
      addRow(product, matrix.columns[at]!, right, row, matrix.values[at]!);
  return product;
}

function addRow(to: Dense, toRow: number, from: Dense, fromRow: number, factor: number): void {
  const { width } = to;
  const sums = to.values;
  const added = from.values;
  const toStart = toRow * width;
  const fromStart = fromRow * width;
  for (let at = 0; at < width; at++) sums[toStart + at]! += factor * added[fromStart + at]!;
}
