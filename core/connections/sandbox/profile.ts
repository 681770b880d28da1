import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { type ChildNetwork, WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { syscallFilter } from './filter.ts'

/** Folder inside the sandbox with the hub's own runtime and its helpers. */
export const RUNTIME_FOLDER = '/opt/patchbay'
/** Folder inside the sandbox with the packages of a package runner. */
export const PACKAGE_FOLDER = '/opt/package'
/** Search path for a command's name inside; the runtime's folder comes last, so that the machine's own Bun wins. */
export const SANDBOX_PATH = ['/usr/local/bin', '/usr/bin', '/bin', RUNTIME_FOLDER] as const

/** Stage that sets the user and group ids and drops capabilities. */
export const SETPRIV = '/usr/bin/setpriv'
/** Stage that sets the resource limits. */
export const PRLIMIT = '/usr/bin/prlimit'
/** bubblewrap, the stage that creates the namespaces and mounts. */
export const BWRAP = '/usr/bin/bwrap'

/** User id of owner number 0, which no owner has: the boot probe runs under it. */
const FIRST_UID = 20_000
const OPEN_FILES = 256
/** Limits private memory of one process: an address-space limit would break runtimes that reserve much. */
const DATA_BYTES = 512 * 1024 * 1024
const FILE_BYTES = 100 * 1024 * 1024
const TEMPORARY_BYTES = 64 * 1024 * 1024
/**
 * For Bun, which reserves address space for 1 GiB of compiled code at its start, or, if that fails, runs without its
 * compiler: some fifteen times slower, under the limit above.
 */
const BUN_CODE = ['BUN_JSC_jitMemoryReservationSize', String(64 * 1024 * 1024)] as const
/** The descriptor of the first input: bubblewrap's arguments, then the filter. */
const FIRST_INPUT = 3
/**
 * For Deno, which takes 512 MiB for compiled code at its start and exits if that fails; the size cannot be set. Without
 * its compiler it runs, slowly. A server's own variable wins.
 */
const DENO_CODE = ['DENO_V8_FLAGS', '--jitless'] as const
const PROCESSES_BASE = 64
const PROCESSES_PER_SERVER = 32
const PROCESSES_MOST = 4_096

/** The user id of an owner's sandboxed processes. Owner numbers are never reused. */
export function sandboxUid(ownerNumber: number): number {
  return FIRST_UID + ownerNumber
}

/** The limit of processes and threads together, per user id: a runtime has 7 to 12 threads of its own. */
export function processLimit(ownerStdioServers: number): number {
  return Math.min(PROCESSES_BASE + PROCESSES_PER_SERVER * ownerStdioServers, PROCESSES_MOST)
}

/** A bind mount of the sandbox. */
export interface Mount {
  /** Path on this machine; every folder above it must be searchable for everybody. */
  readonly from: string
  readonly to: string
  readonly writable?: boolean
}

/** The mounts of the hub's own runtime, the same in every sandbox. */
export function runtimeMounts({
  folder,
  program,
  name,
}: Readonly<Record<'folder' | 'program' | 'name', string>>): readonly Mount[] {
  return [
    { from: folder, to: RUNTIME_FOLDER },
    { from: program, to: `${RUNTIME_FOLDER}/${name}` },
  ]
}

/** The settings of one sandbox. */
export interface Enclosure {
  readonly uid: number
  readonly processes: number
  readonly mounts: readonly Mount[]
  /** Path inside the sandbox. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly network: ChildNetwork
  readonly command: readonly string[]
  /**
   * The program's stdin and stdout are passed in the two descriptors after those for `inputs`. Otherwise the stages
   * before it share them, and hold them open when the program has closed them.
   */
  readonly ownStreams?: boolean
}

/** The command line that runs a program in the sandbox. */
export interface EnclosedCommand {
  /** Start it with an empty environment: the environment of the first stages can be read inside. */
  readonly argv: readonly string[]
  /** Contents of the descriptors from 3 on, each closed at its end; those of `ownStreams` follow them. */
  readonly inputs: readonly Buffer[]
}

/**
 * The limit of core dumps, in bytes. 1 rather than 0: where `kernel.core_pattern` pipes dumps to a program, the kernel
 * starts it, as root and outside, under every limit but 1, which it takes for a crash of that program (fs/coredump.c);
 * into a file, 1 byte is too little as well. 0 where the hub's own hard limit is lower, since it cannot be raised.
 */
export function coreLimit(): number {
  return /^Max core file size +\S+ +0 /m.test(readFileSync('/proc/self/limits', 'latin1')) ? 0 : 1
}

/** The level `uid` alone: another user, no new privileges, limits. Starts as root; the rest of `argv` does not. */
export function limitedCommand(uid: number, processes: number, argv: readonly string[]): readonly string[] {
  return [
    ...[SETPRIV, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs', '--'],
    ...[PRLIMIT, `--nproc=${processes}`, `--nofile=${OPEN_FILES}`, `--data=${DATA_BYTES}`, `--fsize=${FILE_BYTES}`],
    ...[`--core=${coreLimit()}`, '--', ...argv],
  ]
}

/** The command of the complete profile. */
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
    // The rest of the root and of /dev are file systems in memory without a limit. In a writable /proc a program
    // could lower its oom_score_adj, and write to the memory of the sandbox's first process.
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

/** Runs a command with the descriptors `first` and the next one as its stdin and stdout. */
function withStreams(first: number, command: readonly string[]): readonly string[] {
  const [input, output] = [first, first + 1]
  // bubblewrap's own processes close the descriptors beyond stderr that they pass on. The shell is named like it, so
  // that its message for a missing program counts as a failure of the start. Some shells report a missing interpreter as a
  // missing program: the trap, which runs only when exec failed, says that the file itself is there.
  const there = `trap '[ $? -eq 127 ] && [ -f "$1" ] && echo "bwrap: 1: exec: $1: required file not found" >&2' EXIT`
  const run = `exec "$@" <&${input} >&${output} ${input}<&- ${output}>&-`
  return ['/bin/sh', '-c', `${there}; ${run}`, 'bwrap', ...command]
}

/** Names are resolved inside only where the host's network is shared. */
function resolverFiles(): string[] {
  return ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf'].flatMap(file => ['--ro-bind-try', file, file])
}
