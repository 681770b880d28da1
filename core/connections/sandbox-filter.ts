import { Buffer } from 'node:buffer'

/**
 * Calls of the kernel that a sandboxed program is refused with EPERM, by their numbers on x86-64 and arm64. None is of use
 * to a server; each reaches across the walls of the sandbox or into parts of the kernel that are hard to get right:
 * other processes' memory and descriptors (among them the first process of the sandbox, which ends it with the hub), keys
 * that the hub's session may hold, further namespaces and mounts, and interfaces with a long record of flaws.
 */
const REFUSED: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  syslog: [103, 116],
  // Counts against a limit of the whole machine (fs.aio-max-nr), which its databases need.
  io_setup: [206, 0],
}

const PRCTL: readonly [number, number] = [157, 167]
const IOCTL: readonly [number, number] = [16, 29]
const SOCKET: readonly [number, number] = [41, 198]
/**
 * What sockets may be of: Unix, IPv4, IPv6, and netlink, by which a runtime lists its interfaces. Others are not held by
 * the namespace of the network (VSOCK leads to the machine that this one is a guest of), or are seldom looked after.
 */
const FAMILIES = [1, 2, 10, 16]
const PR_SET_PDEATHSIG = 1
/** Typing into a terminal, and its ill-famed neighbour of the Linux console. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97
const ALLOW = 0x7fff0000
const ERRNO = 0x00050000

// Where `struct seccomp_data` has what, the low halves of the arguments.
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16
const SECOND_ARGUMENT = 24

/** One instruction of classic BPF: code, how far to jump if so and if not, operand. */
type Step = readonly [code: number, yes: number, no: number, operand: number]

const load = (offset: number): Step => [0x20, 0, 0, offset]
const give = (verdict: number): Step => [0x06, 0, 0, verdict]
/** When the loaded word is this, the next step, else the one behind it. */
const ifEqual = (word: number): Step => [0x15, 0, 1, word]
const ifAtLeast = (word: number): Step => [0x35, 0, 1, word]

/**
 * The filter of system calls for bubblewrap's `--seccomp`, which lays it on the first process of the sandbox too.
 * Undefined on an architecture whose numbers are not known here.
 */
export function syscallFilter(architecture: string = process.arch): Buffer | undefined {
  const known = { x64: { index: 0, audit: 0xc000003e }, arm64: { index: 1, audit: 0xc00000b7 } }[architecture]
  if (!known) return undefined
  const { index, audit } = known
  const number = (pair: readonly [number, number]): number => pair[index] ?? 0
  const steps: readonly Step[] = [
    load(ARCHITECTURE),
    // Another architecture's calls (32 bits) have other numbers.
    [0x15, 1, 0, audit],
    give(ERRNO | ENOSYS),
    load(NUMBER),
    // The x32 calls are the same under a number with this bit.
    ...(architecture === 'x64' ? [ifAtLeast(0x40000000), give(ERRNO | ENOSYS)] : []),
    ...Object.values(REFUSED).flatMap(pair => [ifEqual(number(pair)), give(ERRNO | EPERM)]),
    [0x15, 0, 4, number(PRCTL)],
    load(FIRST_ARGUMENT),
    ifEqual(PR_SET_PDEATHSIG),
    // Said to have worked: programs ask it for their own children, which end with the sandbox anyway. But whoever takes
    // over the sandbox's first process must not be able to cut it loose from the hub.
    give(ERRNO),
    give(ALLOW),
    [0x15, 0, 2 + 2 * FAMILIES.length, number(SOCKET)],
    load(FIRST_ARGUMENT),
    ...FAMILIES.flatMap(family => [ifEqual(family), give(ALLOW)]),
    give(ERRNO | EAFNOSUPPORT),
    [0x15, 0, 5, number(IOCTL)],
    load(SECOND_ARGUMENT),
    ifEqual(TIOCSTI),
    give(ERRNO | EPERM),
    ifEqual(TIOCLINUX),
    give(ERRNO | EPERM),
    give(ALLOW),
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
