import { describe, expect, test } from 'bun:test'
import { syscallFilter } from '../../../core/connections/sandbox-filter.ts'

const ALLOW = 0x7fff0000
const errno = (number: number): number => 0x00050000 | number

interface Call {
  readonly audit: number
  readonly number: number
  readonly args?: readonly number[]
}

/** What the kernel would do with the filter: the four kinds of steps that it is made of. */
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
  },
} as const

for (const [name, machine] of Object.entries(MACHINES)) {
  describe(`syscallFilter() for ${name}`, () => {
    const program = syscallFilter(name) ?? Buffer.alloc(0)
    const of = (number: number, ...args: number[]) => verdict(program, { audit: machine.audit, number, args })

    test('refuses what reaches out of the sandbox and lets the rest through', () => {
      for (const call of ['ptrace', 'keyctl', 'unshare', 'bpf', 'aio'] as const)
        expect(of(machine[call])).toBe(errno(1))
      for (const number of [machine.read, 1_000]) expect(of(number)).toBe(ALLOW)
    })

    test('knows sockets of the usual families alone', () => {
      for (const family of [1, 2, 10, 16]) expect(of(machine.socket, family, 1)).toBe(ALLOW)
      for (const family of [0, 3, 17, 21, 30, 38, 40, 44]) expect(of(machine.socket, family, 1)).toBe(errno(97))
      // The kernel looks at the lower half.
      expect(of(machine.socket, 0x100000028)).toBe(errno(97))
    })

    test('takes a wish to outlive the parent without granting it', () => {
      expect(of(machine.prctl, 1, 0)).toBe(errno(0))
      for (const option of [0, 2, 15, 38]) expect(of(machine.prctl, option)).toBe(ALLOW)
    })

    test('refuses to type into terminals, whatever stands in the upper half of the argument', () => {
      expect(of(machine.ioctl, 0, 0x5412)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x100005412)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x541c)).toBe(errno(1))
      expect(of(machine.ioctl, 0, 0x5413)).toBe(ALLOW)
    })

    test('knows no calls by the numbers of another architecture', () => {
      expect(verdict(program, { audit: 0x40000003, number: machine.read })).toBe(errno(38))
      expect(of(0x40000000 + 101)).toBe(name === 'x64' ? errno(38) : ALLOW)
    })
  })
}

test('syscallFilter() has none for a machine that it does not know', () => {
  expect(syscallFilter('riscv64')).toBeUndefined()
})
