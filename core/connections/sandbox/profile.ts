import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { type ChildNetwork, WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { syscallFilter } from './filter.ts'

/** Where the hub's own runtime and its helpers are inside the sandbox. */
export const RUNTIME_FOLDER = '/opt/patchbay'
/** Where the packages of a package runner are. */
export const PACKAGE_FOLDER = '/opt/package'
/** What a command's name is looked up in, inside; the runtime's folder comes last, so that a machine's own Bun wins. */
export const SANDBOX_PATH = ['/usr/local/bin', '/usr/bin', '/bin', RUNTIME_FOLDER] as const

export const SETPRIV = '/usr/bin/setpriv'
export const PRLIMIT = '/usr/bin/prlimit'
export const BWRAP = '/usr/bin/bwrap'

/** Owner number 0 is nobody: the boot probe runs under it. */
const FIRST_UID = 20_000
const OPEN_FILES = 256
/** Private memory of one process: an address-space limit would break runtimes that reserve much and use little. */
const DATA_BYTES = 512 * 1024 * 1024
const FILE_BYTES = 100 * 1024 * 1024
const TEMPORARY_BYTES = 64 * 1024 * 1024
/**
 * For Bun, which takes address space for 1 GiB of compiled code at its start, or, where it gets none, runs without its
 * compiler: some fifteen times slower, under the limit above.
 */
const BUN_CODE = ['BUN_JSC_jitMemoryReservationSize', String(64 * 1024 * 1024)] as const
/** The descriptor of the first input: bubblewrap's arguments, then the filter. */
const FIRST_INPUT = 3
/**
 * For Deno, which takes 512 MiB for compiled code at its start and ends where it gets less; how much cannot be set. Without its
 * compiler it runs, slowly. A server's own variable wins.
 */
const DENO_CODE = ['DENO_V8_FLAGS', '--jitless'] as const
const PROCESSES_BASE = 64
const PROCESSES_PER_SERVER = 32
const PROCESSES_MOST = 4_096

/** The user id of an owner's sandboxed processes. Owner numbers are never given twice. */
export function sandboxUid(ownerNumber: number): number {
  return FIRST_UID + ownerNumber
}

/** The limit of processes and threads together, per user id: a runtime has 7 to 12 threads of its own. */
export function processLimit(ownerStdioServers: number): number {
  return Math.min(PROCESSES_BASE + PROCESSES_PER_SERVER * ownerStdioServers, PROCESSES_MOST)
}

export interface Mount {
  /** On this machine; every folder above it must be searchable for everybody. */
  readonly from: string
  readonly to: string
  readonly writable?: boolean
}

/** The hub's own part, as every sandbox shows it. */
export function runtimeMounts({ folder, bun }: { readonly folder: string; readonly bun: string }): readonly Mount[] {
  return [
    { from: folder, to: RUNTIME_FOLDER },
    { from: bun, to: `${RUNTIME_FOLDER}/bun` },
  ]
}

export interface Enclosure {
  readonly uid: number
  readonly processes: number
  readonly mounts: readonly Mount[]
  /** Inside. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly network: ChildNetwork
  readonly command: readonly string[]
  /**
   * The program's standard input and output are passed in the two descriptors after those for `inputs`. Otherwise the stages
   * before it share its own, and hold them open when the program has closed them.
   */
  readonly ownStreams?: boolean
}

export interface EnclosedCommand {
  /** To be started with an empty environment: what the first stages get could be read inside. */
  readonly argv: readonly string[]
  /** For the descriptors from 3 on, each followed by its end; those of `ownStreams` come behind them. */
  readonly inputs: readonly Buffer[]
}

/**
 * The limit of core dumps, in bytes. 1 rather than 0: where `kernel.core_pattern` pipes dumps to a program, the kernel starts
 * it, as root and outside, under every limit but 1, which it takes for a crash of that program itself (fs/coredump.c); into
 * a file, 1 byte is too little as well. 0 where the hub's own hard limit is lower, since nobody may raise it.
 */
export function coreLimit(): number {
  return /^Max core file size +\S+ +0 /m.test(readFileSync('/proc/self/limits', 'latin1')) ? 0 : 1
}

/** The lower rung alone: another user, no new privileges, limits. Starts as root; the rest of `argv` runs below it. */
export function limitedCommand(uid: number, processes: number, argv: readonly string[]): readonly string[] {
  return [
    ...[SETPRIV, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs', '--'],
    ...[PRLIMIT, `--nproc=${processes}`, `--nofile=${OPEN_FILES}`, `--data=${DATA_BYTES}`, `--fsize=${FILE_BYTES}`],
    ...[`--core=${coreLimit()}`, '--', ...argv],
  ]
}

/** The whole profile. */
export function enclose(enclosure: Enclosure): EnclosedCommand {
  const { uid, processes, mounts, cwd, env, network, command, ownStreams } = enclosure
  const filter = syscallFilter()
  const size = ['--size', String(TEMPORARY_BYTES)]
  const options = [
    ...['--unshare-all', ...(network === 'host' ? ['--share-net'] : []), '--unshare-user', '--disable-userns'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/sbin', '/sbin'],
    ...['--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64'],
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives', '--ro-bind-try', '/etc/ssl', '/etc/ssl'],
    ...(network === 'host' ? resolverFiles() : []),
    ...['--proc', '/proc', '--dev', '/dev', ...size, '--tmpfs', '/dev/shm', ...size, '--tmpfs', '/tmp'],
    ...mounts.flatMap(({ from, to, writable }) => [writable ? '--bind' : '--ro-bind', from, to]),
    // What is left of the root and of /dev are file systems in memory that no limit holds. In a writable /proc a program could
    // lower its oom_score_adj, and write to the memory of the sandbox's first process.
    ...['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/', '--chdir', cwd],
    ...(filter ? ['--seccomp', String(FIRST_INPUT + 1)] : []),
    ...['--setenv', 'HOME', WORK_FOLDER, '--setenv', 'PATH', SANDBOX_PATH.join(':'), '--setenv', 'LANG', 'C.UTF-8'],
    ...['--setenv', ...BUN_CODE, '--setenv', ...DENO_CODE],
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
  const inputs = [Buffer.from(options.map(option => `${option}\0`).join('')), ...(filter ? [filter] : [])]
  const inside = ownStreams ? withStreams(FIRST_INPUT + inputs.length, command) : command
  return { argv: limitedCommand(uid, processes, [BWRAP, '--args', String(FIRST_INPUT), '--', ...inside]), inputs }
}

/** Runs a command with the descriptors `first` and the next one as its standard input and output. */
function withStreams(first: number, command: readonly string[]): readonly string[] {
  const [input, output] = [first, first + 1]
  // bubblewrap's own processes close what they pass on beyond standard error. Named like it: what the shell says when there is no
  // such program is a failure of the start.
  return ['/bin/sh', '-c', `exec "$@" <&${input} >&${output} ${input}<&- ${output}>&-`, 'bwrap', ...command]
}

/** Names are resolved inside only where the host's network is shared. */
function resolverFiles(): string[] {
  return ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'].flatMap(file => ['--ro-bind-try', file, file])
}
