import { closeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PluginLogger } from '../../contract/plugin.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import type { ServerRedactors } from '../../secrets/server-redactors.ts'
import type { ProcessInfo } from '../api.ts'
import { lowerPriority, raiseOomScore } from '../process/child-priority.ts'
import { makeRelay, watchStderr } from '../process/child-streams.ts'
import {
  descriptorShortage,
  handOverAll,
  type MakePair,
  makePairs,
  openSocketPairs,
  type SocketPair,
  TravellingDescriptor,
} from '../process/descriptors.ts'
import { ProcessTable } from '../process/process-table.ts'
import { type ProcessMark, processesBelow } from '../process/process-tree.ts'
import { StderrTail } from '../process/stderr-tail.ts'
import { signalGroup, stopOnce } from '../process/stop-child.ts'
import { Watchdog } from '../process/watchdog.ts'
import { stageFailure } from '../sandbox/command.ts'
import { type ProgramPlace, programPlace } from '../sandbox/program-folders.ts'
import type { Sandbox, SandboxPolicy } from '../sandbox/sandbox.ts'
import type { FolderPlace } from '../sandbox/work-folders.ts'
import type { Child } from './child.ts'
import { type ChildSpec, findProgram, spawnError } from './child-program.ts'

export type { Child } from './child.ts'

const GROUP_GRACE_MS = 300
/** Characters of a command in the list of processes. */
const SHOWN_COMMAND = 500

/** Variables of the hub's own environment that every child gets. */
export interface BaseEnv {
  readonly PATH?: string
  readonly HOME?: string
  readonly LANG?: string
}

/** Dependencies of `Children`. */
export interface ChildrenOptions {
  readonly dataDir: string
  /** Variables that every child gets besides its own; nothing else of the hub's environment is passed on. */
  readonly baseEnv: BaseEnv
  readonly sandbox: Sandbox
  readonly log: PluginLogger
  /** Called with each line of a child's stderr, redacted. */
  readonly heard?: (serverId: string, line: string) => void
  /** Redacts secrets in the stderr of children, and in their commands. */
  readonly redactors: Pick<ServerRedactors, 'of'>
  /** Number of free descriptors, including those reserved by the hub. Default: the system's count. */
  readonly freeDescriptors?: (() => number | undefined) | undefined
  /** Carries the bytes through main even where descriptors could be passed to a worker. */
  readonly relay?: boolean
  /** Called after a process has ended. */
  readonly ended?: () => void
}

interface Running {
  readonly child: Child
  readonly info: ProcessInfo
  /** The owner's id, for a sandboxed process. */
  readonly confinedFor: string | undefined
  /** The user for whom it runs, where another one owns the server. */
  readonly foreignUserId: string | undefined
  /** The unpacked program that it runs. */
  readonly program: ProgramPlace | undefined
}

/** The process table: the only place where servers' programs are started, awaited and killed. */
export class Children {
  readonly #options: ChildrenOptions
  readonly #makeAnyPair: MakePair | undefined
  readonly #makePair: MakePair | undefined
  readonly #table: ProcessTable
  readonly #watchdog: Watchdog
  readonly #running = new Map<number, Running>()
  readonly #tails = new Map<string, StderrTail>()
  readonly #path: string
  readonly #leftovers = new Set<ReturnType<typeof setTimeout>>()

  constructor(options: ChildrenOptions) {
    this.#options = options
    this.#makeAnyPair = openSocketPairs()
    this.#makePair = options.relay ? undefined : this.#makeAnyPair
    if (!this.#makeAnyPair) {
      options.log.warn('The C library cannot be called here: the bytes of stdio servers go through the main thread')
    }
    this.#table = new ProcessTable(options.dataDir, options.log)
    this.#watchdog = new Watchdog(options.log)
    this.#path = [options.baseEnv.PATH, dirname(process.execPath)].filter(part => part).join(':')
  }

  /** Kills the processes that an earlier run of the hub left. */
  sweep(): readonly number[] {
    return this.#table.sweep()
  }

  /** Starts a program; throws `cwd_not_found`, `command_not_found`, `command_not_executable`, `spawn_failed`, and the errors of the sandbox. */
  spawn(spec: ChildSpec): Child {
    const { confinement } = spec
    const shortage = descriptorShortage(this.#options.freeDescriptors?.())
    if (shortage) throw spawnError(spec, new Error(shortage))
    const carried = this.#makePair !== undefined && spec.carriedByMain !== true
    const start = confinement ? this.#enclosed(spec, confinement, carried) : this.#plain(spec)
    const { running, exited, pairs, inputs } = this.#run(spec, start, carried)
    const { pid } = running
    lowerPriority(pid)
    // Before it reads its options, so that nothing of the program itself runs yet.
    if (confinement) {
      raiseOomScore(pid)
      this.#limitMemory(pid, confinement)
    }
    handOverAll(inputs, start.inputs)
    const { redact = text => this.#options.redactors.of(spec.serverId).text(text) } = spec
    const tail = this.#tail(spec.serverId)
    const stderrLog = tail.writer(redact)
    const below = new Map<number, ProcessMark>()
    const poll = (seen = processesBelow(pid)): void => {
      for (const mark of seen) below.set(mark.pid, mark)
    }
    const [stdin, stdout, stderr] = pairs
    const { promise: errorsEnded, resolve: errorsOver } = Promise.withResolvers<void>()
    if (stderr)
      void watchStderr(stderr.ours, stderrLog, errorsOver).catch(() => {
        stderrLog.add('(its standard error cannot be read)')
        errorsOver()
      })
    const startedAt = new Date().toISOString()
    const child: Child = {
      pid,
      descriptors: stdin &&
        stdout && { read: new TravellingDescriptor(stdout.ours), write: new TravellingDescriptor(stdin.ours) },
      relay: pairs.length > 0 ? undefined : makeRelay(running, stderrLog, errorsOver),
      exited,
      get running() {
        return running.exitCode === null && running.signalCode === null
      },
      sandboxed: confinement !== undefined,
      errorsEnded,
      errorLines: () =>
        tail
          .lines()
          .filter(({ at }) => at >= startedAt)
          .map(({ line }) => line),
      startFailure: () => confinement && stageFailure(spec.command, running.exitCode, tail.lines().at(-1)?.line ?? ''),
      poll,
      stop: stopOnce({ pid, exited, confined: confinement !== undefined, poll, below }),
    }
    const info: ProcessInfo = {
      pid,
      serverId: spec.serverId,
      ...(spec.sessionId === undefined ? {} : { sessionId: spec.sessionId }),
      // Truncated after redaction: half a secret would not be recognized.
      command: visibleName(redact([spec.command, ...spec.args].join(' '))).slice(0, SHOWN_COMMAND),
      startedAt,
      sandbox: confinement ? 'full' : 'off',
    }
    const program =
      confinement?.program === undefined ? undefined : programPlace(confinement.ownerId, confinement.program)
    const { foreignUserId } = spec
    this.#running.set(pid, { child, info, confinedFor: confinement?.ownerId, foreignUserId, program })
    this.#watchdog.add(pid)
    this.#table.add(pid, spec.serverId)
    return child
  }

  /** Starts the program, with sockets for its standard streams if `carried`, and for its inputs. */
  #run(
    spec: ChildSpec,
    start: StartedAs,
    carried: boolean,
  ): {
    readonly running: Bun.Subprocess
    /** Resolves with how it ended. */
    readonly exited: Promise<string>
    readonly pairs: readonly SocketPair[]
    readonly inputs: readonly SocketPair[]
  } {
    let made: readonly SocketPair[] = []
    const { promise: exited, resolve } = Promise.withResolvers<string>()
    try {
      made = this.#pairs(carried, start.inputs.length)
      const pairs = carried ? made.slice(0, 3) : []
      const inputs = made.slice(pairs.length)
      const running: Bun.Subprocess = Bun.spawn([...start.argv], {
        stdio: stdioOf(pairs, inputs, spec.confinement !== undefined),
        env: start.env,
        ...(start.cwd === undefined ? {} : { cwd: start.cwd }),
        // A group of its own (setsid), so that its child processes end with it.
        detached: true,
        onExit: (_, code, signal) => {
          this.#forget(running.pid)
          start.close?.()
          this.#options.ended?.()
          resolve(signal === null ? `exit code ${code}` : `signal ${signalName(signal)}`)
        },
      })
      return { running, exited, pairs, inputs }
    } catch (error) {
      for (const pair of made) closeSync(pair.ours)
      start.close?.()
      throw spawnError(spec, error, spec.confinement ? undefined : start.argv[0])
    } finally {
      for (const pair of made) closeSync(pair.theirs)
    }
  }

  /** Number of sandboxed processes of an owner's servers; `foreign`: those for the sessions of other users, `own`: the rest. */
  confinedFor(ownerId: string, which: 'all' | 'own' | 'foreign' = 'all'): number {
    let count = 0
    for (const { confinedFor, foreignUserId } of this.#running.values())
      if (confinedFor === ownerId && (which === 'all' || (foreignUserId === undefined) === (which === 'own')))
        count += 1
    return count
  }

  /** Number of processes of other owners' servers that run for a user's sessions. */
  foreignFor(userId: string): number {
    let count = 0
    for (const running of this.#running.values()) if (running.foreignUserId === userId) count += 1
    return count
  }

  list(): readonly ProcessInfo[] {
    return [...this.#running.values()].map(({ info }) => info)
  }

  stderr(serverId: string): readonly { readonly at: string; readonly line: string }[] {
    return this.#tails.get(serverId)?.lines() ?? []
  }

  /** The server was deleted and its processes have ended: its stderr lines and folders are deleted. */
  forgetServer(serverId: string): void {
    this.#tails.delete(serverId)
    const { sandbox, log } = this.#options
    Promise.all([sandbox.folders.remove(serverId), sandbox.packages.remove(serverId)]).catch((error: unknown) => {
      log.warn('The work folder of a removed server cannot be removed', { serverId, error: String(error) })
    })
  }

  /** The unpacked programs that processes run now. */
  programPlaces(): readonly ProgramPlace[] {
    return [...this.#running.values()].flatMap(({ program }) => program ?? [])
  }

  /**
   * Deletes the folders of servers that were deleted while the hub did not run. `packaged`: those that may have packages of
   * their own, which servers with a stored program had in earlier versions.
   */
  keepFolders(places: readonly FolderPlace[], packaged: readonly FolderPlace[]): void {
    const { sandbox, log } = this.#options
    Promise.all([sandbox.folders.keepOnly(places), sandbox.packages.keepOnly(packaged)]).catch((error: unknown) => {
      log.warn('Work folders of removed servers cannot be removed', { error: String(error) })
    })
  }

  /** Stops every child; resolves when none is left. */
  async dispose(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ child }) => child.stop()))
    // When it ends, the watchdog kills the groups that it still knows, which are those that these timers wait for.
    for (const timer of this.#leftovers) clearTimeout(timer)
    await this.#watchdog.dispose()
    this.#table.dispose()
  }

  #forget(pid: number): void {
    this.#running.delete(pid)
    this.#table.delete(pid)
    // Kills what the leader left in its group; until then the watchdog keeps the group on its list.
    const timer = setTimeout(() => {
      this.#leftovers.delete(timer)
      signalGroup(pid, 'SIGKILL')
      this.#watchdog.delete(pid)
    }, GROUP_GRACE_MS)
    this.#leftovers.add(timer)
  }

  #tail(serverId: string): StderrTail {
    const known = this.#tails.get(serverId)
    if (known) return known
    const tail = new StderrTail(line => this.#options.heard?.(serverId, line))
    this.#tails.set(serverId, tail)
    return tail
  }

  #plain(spec: ChildSpec): StartedAs {
    const { HOME, LANG } = this.#options.baseEnv
    const env = { PATH: this.#path, ...(HOME ? { HOME } : {}), ...(LANG ? { LANG } : {}), ...spec.env }
    return { argv: [findProgram(spec, env.PATH), ...spec.args], env, cwd: spec.cwd, inputs: [] }
  }

  #enclosed(spec: ChildSpec, confinement: SandboxPolicy, ownStreams: boolean): StartedAs {
    return { ...this.#options.sandbox.enter(spec, { ...confinement, ownStreams }), env: {}, cwd: '/' }
  }

  #limitMemory(pid: number, confinement: SandboxPolicy): void {
    try {
      this.#options.sandbox.limitMemory(pid, confinement)
    } catch (error) {
      // Its other limits hold, and it is killed first when memory runs out.
      this.#options.log.warn('A sandboxed process cannot be moved into the cgroup of its owner', {
        error: String(error),
      })
    }
  }

  /** Three for stdin, stdout and stderr unless main carries the bytes, and those for the sandbox's inputs. */
  #pairs(carried: boolean, inputs: number): readonly SocketPair[] {
    const count = (carried ? 3 : 0) + inputs
    if (count === 0) return []
    if (!this.#makeAnyPair) throw new Error('the C library cannot be called here')
    return makePairs(this.#makeAnyPair, count)
  }
}

interface StartedAs {
  readonly argv: readonly string[]
  readonly env: Record<string, string>
  readonly cwd: string | undefined
  /** Written to the descriptors behind stderr. */
  readonly inputs: readonly Uint8Array[]
  readonly close?: () => void
}

/** In a sandboxed program stdin and stdout come behind the sandbox's own inputs: its stages get neither. */
function stdioOf(
  pairs: readonly SocketPair[],
  inputs: readonly SocketPair[],
  confined: boolean,
): [number, number, number] {
  const [stdin, stdout, stderr] = pairs.map(pair => pair.theirs)
  const rest = inputs.map(pair => pair.theirs)
  const all =
    stderr === undefined
      ? ['pipe', 'pipe', 'pipe', ...rest]
      : confined
        ? ['ignore', 'ignore', stderr, ...rest, stdin, stdout]
        : [stdin, stdout, stderr, ...rest]
  return all as [number, number, number]
}

function signalName(signal: unknown): string {
  return typeof signal === 'string' ? signal : String(signal)
}
