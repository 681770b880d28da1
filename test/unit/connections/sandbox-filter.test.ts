import { describe, expect, test } from 'bun:test'
import { ALLOWED_CALLS } from '../../../core/connections/sandbox/calls.ts'
import { syscallFilter } from '../../../core/connections/sandbox/filter.ts'
import { REFUSED_CALLS } from '../../../core/connections/sandbox/refused-calls.ts'

const ALLOW = 0x7fff0000
const errno = (number: number): number => 0x00050000 | number

interface Call {
  readonly audit: number
  readonly number: number
  readonly args?: readonly number[]
}

/** The kernel's verdict by the filter; this covers the kinds of steps that the filter contains. */
function verdict(program: Buffer, { audit, number, args = [] }: Call): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(audit, 4)
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + index * 8)
  let word = 0
  for (let at = 0; at * 8 < program.length; at += 1) {
    const code = program.readUInt16LE(at * 8)
    const [yes, no] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)]
    const operand = program.readUInt32LE(at * 8 + 4)
    if (code === 0x20) word = data.readUInt32LE(operand)
    else if (code === 0x15) at += word === operand ? yes : no
    else if (code === 0x35) at += word >= operand ? yes : no
    else if (code === 0x25) at += word > operand ? yes : no
    else if (code === 0x45) at += (word & operand) !== 0 ? yes : no
    else if (code === 0x06) return operand
    else throw new Error(`Unknown step ${code}`)
  }
  throw new Error('The filter ends without a verdict')
}

const MACHINES = {
  x64: {
    audit: 0xc000003e,
    read: 0,
    ptrace: 101,
    keyctl: 250,
    unshare: 272,
    prctl: 157,
    ioctl: 16,
    bpf: 321,
    socket: 41,
    aio: 206,
    clone: 56,
    socketpair: 53,
    setrlimit: 160,
    prlimit64: 302,
    execve: 59,
  },
  arm64: {
    audit: 0xc00000b7,
    read: 63,
    ptrace: 117,
    keyctl: 219,
    unshare: 97,
    prctl: 167,
    ioctl: 29,
    bpf: 280,
    socket: 198,
    aio: 0,
    clone: 220,
    socketpair: 199,
    setrlimit: 164,
    prlimit64: 261,
    execve: 221,
  },
} as const

for (const [name, machine] of Object.entries(MACHINES)) {
  describe(`syscallFilter() for ${name}`, () => {
    const program = syscallFilter(name) ?? Buffer.alloc(0)
    const of = (number: number, ...args: number[]) => verdict(program, { audit: machine.audit, number, args })

    test('refuses what reaches out of the sandbox and lets the rest through', () => {
      for (const call of ['ptrace', 'keyctl', 'unshare', 'bpf', 'aio'] as const)
        expect(of(machine[call])).toBe(errno(1))
      for (const number of [machine.read, machine.execve]) expect(of(number)).toBe(ALLOW)
    })

    test('answers calls that it does not know, the newest ones and clone3 as a kernel without them does', () => {
      // futex_waitv, map_shadow_stack, mseal, file_setattr, and future calls.
      for (const number of [435, 449, 453, 462, 469, 500, 1_000, 0x3fffffff]) expect(of(number)).toBe(errno(38))
    })

    test('starts threads and processes, and none in namespaces of their own', () => {
      // As glibc starts a thread, and fork() a process.
      for (const flags of [0x003d0f00, 0x01200011, 0x4111]) expect(of(machine.clone, flags)).toBe(ALLOW)
      for (const bit of [17, 25, 26, 27, 28, 29, 30]) expect(of(machine.clone, 2 ** bit + 17)).toBe(errno(1))
    })

    test('leaves the limit of core dumps as it is, and says yes; reads it, and sets other limits', () => {
      expect(of(machine.setrlimit, 4, 1)).toBe(errno(0))
      expect(of(machine.setrlimit, 7, 1)).toBe(ALLOW)
      expect(of(machine.prlimit64, 0, 4, 0x1000, 0)).toBe(errno(0))
      expect(of(machine.prlimit64, 0, 4, 2 ** 32, 0)).toBe(errno(0))
      expect(of(machine.prlimit64, 0, 4, 0, 0x1000)).toBe(ALLOW)
      expect(of(machine.prlimit64, 0, 7, 0x1000, 0)).toBe(ALLOW)
    })

    test('knows sockets of the usual families and protocols alone', () => {
      for (const family of [1, 2, 10, 16]) expect(of(machine.socket, family, 1)).toBe(ALLOW)
      for (const family of [0, 3, 17, 21, 30, 38, 40, 44]) expect(of(machine.socket, family, 1)).toBe(errno(97))
      // The kernel looks at the lower half.
      expect(of(machine.socket, 0x100000028)).toBe(errno(97))
      for (const protocol of [0, 6, 17]) expect(of(machine.socket, 2, 1, protocol)).toBe(ALLOW)
      // DCCP, SCTP, SMC, MPTCP; netfilter's netlink.
      for (const protocol of [33, 132, 256, 262]) expect(of(machine.socket, 10, 1, protocol)).toBe(errno(93))
      expect(of(machine.socket, 16, 3, 12)).toBe(errno(93))
      expect([1, 30].map(family => of(machine.socketpair, family, 1))).toEqual([ALLOW, errno(97)])
    })

    test('takes a wish to outlive the parent without granting it', () => {
      expect(of(machine.prctl, 1, 0)).toBe(errno(0))
      for (const option of [0, 2, 15, 38]) expect(of(machine.prctl, option)).toBe(ALLOW)
    })

    test('refuses to type into terminals, whatever the upper half of the argument contains', () => {
      expect(of(machine.ioctl, 0, 0x5412)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x100005412)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x541c)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x5413)).toBe(ALLOW)
    })

    test('knows no calls by the numbers of another architecture', () => {
      expect(verdict(program, { audit: 0x40000003, number: machine.read })).toBe(errno(38))
      expect(of(0x40000000 + 101)).toBe(errno(38))
    })
  })
}

test('syscallFilter() has none for a machine that it does not know', () => {
  expect(syscallFilter('riscv64')).toBeUndefined()
})

test('no call is on both lists, or twice on one', () => {
  for (const index of [0, 1]) {
    const numbers = [...Object.values(ALLOWED_CALLS), ...Object.values(REFUSED_CALLS)].flatMap(
      pair => pair[index] ?? [],
    )
    expect(numbers.toSorted((one, other) => one - other)).toEqual(
      [...new Set(numbers)].sort((one, other) => one - other),
    )
  }
})
