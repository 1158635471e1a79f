/**
 * The system call filter of the sandbox, as the classic BPF program that bubblewrap loads. Pure.
 *
 * It closes what namespaces leave open:
 * S1. No set-user-id or set-group-id bit can be set on a file: one left in the workspace would outlive the sandbox.
 * S2. No further namespaces, so that no capability comes back.
 * S3. No kernel keyring, no io_uring (which would go round S1), no socket to the hypervisor (which knows no namespace).
 *
 * A refused call fails with an error, as if the kernel did not have it; nothing is killed.
 */

type Arch = 'x64' | 'arm64';

const AUDIT_ARCH: Record<Arch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

interface Numbers {
  readonly chmodLike: readonly (readonly [nr: number, modeArg: number])[];
  readonly openLike: readonly (readonly [nr: number, flagsArg: number])[];
  readonly missing: readonly number[];
  readonly clone: number;
  readonly unshare: number;
  readonly setns: number;
  readonly socket: number;
}

/** clone3, openat2 and io_uring cannot be looked into; programs fall back to their older forms. */
const MISSING_EVERYWHERE = [435, 437, 425];
const FCHMODAT2 = 452;

const NUMBERS: Record<Arch, Numbers> = {
  x64: {
    // chmod, fchmod, creat, mknod, fchmodat, mknodat, fchmodat2
    chmodLike: [
      [90, 1],
      [91, 1],
      [85, 1],
      [133, 1],
      [268, 2],
      [259, 2],
      [FCHMODAT2, 2],
    ],
    openLike: [
      [2, 1],
      [257, 2],
    ],
    missing: [...MISSING_EVERYWHERE, 248, 249, 250],
    clone: 56,
    unshare: 272,
    setns: 308,
    socket: 41,
  },
  arm64: {
    // fchmod, fchmodat, mknodat, fchmodat2
    chmodLike: [
      [52, 1],
      [53, 2],
      [33, 2],
      [FCHMODAT2, 2],
    ],
    openLike: [[56, 2]],
    missing: [...MISSING_EVERYWHERE, 217, 218, 219],
    clone: 220,
    unshare: 97,
    setns: 268,
    socket: 198,
  },
};

const SET_ID_BITS = 0o6000;
/** O_CREAT and O_TMPFILE: without them the mode of an open is whatever was in the register. */
const CREATES = 0x40 | 0x400000;
const CLONE_NEWUSER = 0x10000000;
const X32_BIT = 0x40000000;
const AF_VSOCK = 40;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_EQUAL = 0x35;
const JUMP_BITS = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const errno = (code: number): number => 0x00050000 | code;

const NR_OFFSET = 0;
const ARCH_OFFSET = 4;
/** The lower half of an argument; both architectures are little-endian. */
const argument = (index: number): number => 16 + 8 * index;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const give = (value: number): Instruction => [RETURN, 0, 0, value];
/** Skips `count` instructions unless the accumulator equals the value. */
const unlessEqual = (value: number, count: number): Instruction => [JUMP_EQUAL, 0, count, value];
const unlessBits = (value: number, count: number): Instruction => [JUMP_BITS, 0, count, value];

/** The program for an architecture of Node's (`process.arch`); null where there is none. */
export function seccompProgram(arch: string): Uint8Array | null {
  return arch === 'x64' || arch === 'arm64' ? assemble(program(arch)) : null;
}

function program(arch: Arch): Instruction[] {
  const { chmodLike, openLike, missing, clone, unshare, setns, socket } = NUMBERS[arch];
  return [
    load(ARCH_OFFSET),
    [JUMP_EQUAL, 1, 0, AUDIT_ARCH[arch]],
    give(errno(ENOSYS)),
    load(NR_OFFSET),
    [JUMP_GREATER_EQUAL, 0, 1, X32_BIT],
    give(errno(ENOSYS)),
    ...missing.flatMap((nr) => onCall(nr, [give(errno(ENOSYS))])),
    ...chmodLike.flatMap(([nr, mode]) => onCall(nr, refuseBits(mode, SET_ID_BITS))),
    ...openLike.flatMap(([nr, flags]) =>
      onCall(nr, [
        load(argument(flags)),
        unlessBits(CREATES, 3),
        load(argument(flags + 1)),
        unlessBits(SET_ID_BITS, 1),
        give(errno(EPERM)),
        give(ALLOW),
      ]),
    ),
    ...[clone, unshare].flatMap((nr) => onCall(nr, refuseBits(0, CLONE_NEWUSER))),
    ...onCall(setns, [give(errno(EPERM))]),
    ...onCall(socket, [load(argument(0)), unlessEqual(AF_VSOCK, 1), give(errno(EAFNOSUPPORT)), give(ALLOW)]),
    give(ALLOW),
  ];
}

/** Runs a block, which ends by itself, for one system call. */
function onCall(nr: number, block: readonly Instruction[]): Instruction[] {
  return [unlessEqual(nr, block.length), ...block];
}

function refuseBits(index: number, bits: number): Instruction[] {
  return [load(argument(index)), unlessBits(bits, 1), give(errno(EPERM)), give(ALLOW)];
}

function assemble(instructions: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}
