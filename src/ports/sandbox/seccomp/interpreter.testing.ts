/** What the kernel shows to a filter. */
export interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

/** Runs a program as the kernel would, and as strictly: an unknown instruction or a jump too far throws. */
export function interpret(program: Buffer, call: Call): { verdict: number; steps: number } {
  const data = seccompData(call);
  let word = 0;
  for (let position = 0, steps = 1; ; position++, steps++) {
    const at = position * 8;
    const [code, yes, no, value] = [
      program.readUInt16LE(at),
      program.readUInt8(at + 2),
      program.readUInt8(at + 3),
      program.readUInt32LE(at + 4),
    ];
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x05) position += value;
    else if (code === 0x15) position += word === value ? yes : no;
    else if (code === 0x35) position += word >= value ? yes : no;
    else if (code === 0x45) position += (word & value) === 0 ? no : yes;
    else if (code === 0x06) return { verdict: value, steps };
    else throw new Error(`instruction 0x${code.toString(16)} at ${position}`);
  }
}

function seccompData({ arch, number, args = [] }: Call): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  return data;
}
