import { Buffer } from 'node:buffer'
import { ALLOWED_CALLS, type CallNumbers } from './calls.ts'
import { REFUSED_CALLS } from './refused-calls.ts'

const PRCTL: CallNumbers = [157, 167]
const IOCTL: CallNumbers = [16, 29]
const SOCKET: CallNumbers = [41, 198]
const SOCKETPAIR: CallNumbers = [53, 199]
const CLONE: CallNumbers = [56, 220]
const SETRLIMIT: CallNumbers = [160, 164]
const PRLIMIT64: CallNumbers = [302, 261]

const AF_UNIX = 1
const INTERNET = [2, 10] as const
const AF_NETLINK = 16
/** 0 (the type's default), ICMP, TCP, UDP, ICMPv6: others are rarely used parts of the kernel, loaded on demand. */
const INTERNET_PROTOCOLS = [0, 1, 6, 17, 58]
/** Used by runtimes to list network interfaces. Other netlink families configure the kernel. */
const NETLINK_ROUTE = 0
const PR_SET_PDEATHSIG = 1
const RLIMIT_CORE = 4
/** Simulates keyboard input on a terminal. */
const TIOCSTI = 0x5412
/** The Linux console's ioctl, which can paste a selection as keyboard input. */
const TIOCLINUX = 0x541c
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NAMESPACES = 0x7e020000

const EPERM = 1
const ENOSYS = 38
const EPROTONOSUPPORT = 93
const EAFNOSUPPORT = 97
const ALLOW = 0x7fff0000
const ERRNO = 0x00050000

// Offsets in `struct seccomp_data`; of arguments, the low half.
const NUMBER = 0
const ARCHITECTURE = 4
const argument = (index: number): number => 16 + index * 8

/** One instruction of classic BPF: code, instructions to skip if true and if false, operand. */
type Step = readonly [code: number, yes: number, no: number, operand: number]

const load = (offset: number): Step => [0x20, 0, 0, offset]
const give = (verdict: number): Step => [0x06, 0, 0, verdict]
/** Runs the next step when the loaded word equals `word`, otherwise skips it. */
const ifEqual = (word: number): Step => [0x15, 0, 1, word]
const ifAtLeast = (word: number): Step => [0x35, 0, 1, word]
const ifAnyBit = (mask: number): Step => [0x45, 0, 1, mask]

/** Applies `body`, which must end in a verdict on every path, to one call alone. */
function forCall(number: number, body: readonly Step[]): readonly Step[] {
  return [[0x15, 0, body.length, number], ...body]
}

/** Returns `verdict` when the loaded word is one of the values. */
function forWords(words: readonly number[], verdict: number): readonly Step[] {
  return words.flatMap(word => [ifEqual(word), give(verdict)])
}

/** Allows each run of consecutive numbers by one comparison of both its ends. */
function allowNumbers(numbers: readonly number[]): readonly Step[] {
  const sorted = [...numbers].sort((one, other) => one - other)
  const runs: [first: number, last: number][] = []
  for (const number of sorted) {
    const run = runs.at(-1)
    if (run && number <= run[1] + 1) run[1] = number
    else runs.push([number, number])
  }
  return runs.flatMap(([first, last]): Step[] =>
    first === last ? [ifEqual(first), give(ALLOW)] : [[0x35, 0, 2, first], [0x25, 1, 0, last], give(ALLOW)],
  )
}

const SOCKET_STEPS: readonly Step[] = [
  load(argument(0)),
  ...forWords([AF_UNIX], ALLOW),
  // Each family with its own list of protocols, the third argument.
  ...INTERNET.flatMap(family => {
    const check = [
      load(argument(2)),
      ...forWords(INTERNET_PROTOCOLS, ALLOW),
      give(ERRNO | EPROTONOSUPPORT),
    ] satisfies Step[]
    return forCall(family, check)
  }),
  ...forCall(AF_NETLINK, [load(argument(2)), ifEqual(NETLINK_ROUTE), give(ALLOW), give(ERRNO | EPROTONOSUPPORT)]),
  // Others are not confined by a network namespace (VSOCK reaches this virtual machine's host), or rarely audited.
  give(ERRNO | EAFNOSUPPORT),
]

const PRCTL_STEPS: readonly Step[] = [
  load(argument(0)),
  ifEqual(PR_SET_PDEATHSIG),
  // Reported as success: programs request it for their own children, which end with the sandbox anyway. It must have
  // no effect, since it could detach the sandbox's first process from the hub.
  give(ERRNO),
  give(ALLOW),
]

// A limit of 1 byte keeps the kernel from starting a piped core_pattern's program, and 0 does not (see `coreLimit`).
// It is not changed; lowering it is reported as success, since programs that harden themselves insist on it.
const SETRLIMIT_STEPS: readonly Step[] = [load(argument(0)), ifEqual(RLIMIT_CORE), give(ERRNO), give(ALLOW)]
const PRLIMIT_STEPS: readonly Step[] = [
  load(argument(1)),
  [0x15, 1, 0, RLIMIT_CORE],
  give(ALLOW),
  // Without new limits the call only reads. Both halves of the pointer are checked.
  load(argument(2)),
  [0x15, 0, 3, 0],
  load(argument(2) + 4),
  [0x15, 0, 1, 0],
  give(ALLOW),
  give(ERRNO),
]

const IOCTL_STEPS: readonly Step[] = [load(argument(1)), ...forWords([TIOCSTI, TIOCLINUX], ERRNO | EPERM), give(ALLOW)]
const CLONE_STEPS: readonly Step[] = [load(argument(0)), ifAnyBit(CLONE_NAMESPACES), give(ERRNO | EPERM), give(ALLOW)]

/** Calls that are filtered by their arguments. */
const FILTERED: readonly (readonly [CallNumbers, readonly Step[]])[] = [
  [PRCTL, PRCTL_STEPS],
  [IOCTL, IOCTL_STEPS],
  [SOCKET, SOCKET_STEPS],
  [SOCKETPAIR, [load(argument(0)), ...forWords([AF_UNIX], ALLOW), give(ERRNO | EAFNOSUPPORT)]],
  [CLONE, CLONE_STEPS],
  [SETRLIMIT, SETRLIMIT_STEPS],
  [PRLIMIT64, PRLIMIT_STEPS],
]

/**
 * The system call filter for bubblewrap's `--seccomp`, which applies it to the first process of the sandbox too. A call
 * on neither list fails with ENOSYS, as on a kernel without that call, so that C libraries use an older one: that holds
 * for calls that later kernels add, and for `clone3`, whose flags a filter cannot read. Undefined on an architecture
 * whose numbers are not known here.
 */
export function syscallFilter(architecture: string = process.arch): Buffer | undefined {
  const known = { x64: { index: 0, audit: 0xc000003e }, arm64: { index: 1, audit: 0xc00000b7 } }[architecture]
  if (!known) return undefined
  const { index, audit } = known
  const numbersOf = (calls: Readonly<Record<string, CallNumbers>>): number[] =>
    Object.values(calls).flatMap(numbers => numbers[index] ?? [])
  const steps: readonly Step[] = [
    load(ARCHITECTURE),
    // Another architecture's calls (32 bits) have other numbers.
    [0x15, 1, 0, audit],
    give(ERRNO | ENOSYS),
    load(NUMBER),
    // The x32 calls are the same under a number with this bit.
    ...(architecture === 'x64' ? [ifAtLeast(0x40000000), give(ERRNO | ENOSYS)] : []),
    ...FILTERED.flatMap(([numbers, body]) => forCall(numbers[index] ?? -1, body)),
    ...allowNumbers(numbersOf(ALLOWED_CALLS)),
    ...forWords(numbersOf(REFUSED_CALLS), ERRNO | EPERM),
    give(ERRNO | ENOSYS),
  ]
  const bytes = Buffer.alloc(steps.length * 8)
  for (const [at, [code, yes, no, operand]] of steps.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(yes, at * 8 + 2)
    bytes.writeUInt8(no, at * 8 + 3)
    bytes.writeUInt32LE(operand >>> 0, at * 8 + 4)
  }
  return bytes
}
