import { closeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PluginLogger } from '../contract/plugin.ts'
import type { ProcessInfo } from './api.ts'
import { type ChildSpec, findProgram, spawnError } from './child-program.ts'
import { type ChildRelay, makeRelay, watchStderr } from './child-streams.ts'
import { descriptorShortage, type MakePair, openSocketPairs, TravellingDescriptor } from './descriptors.ts'
import { ProcessTable } from './process-table.ts'
import { StderrTail } from './stderr-tail.ts'
import { Watchdog } from './watchdog.ts'
import { within } from './within.ts'

const STDIN_GRACE_MS = 500
const TERM_GRACE_MS = 2_000
const GROUP_GRACE_MS = 300

export interface BaseEnv {
  readonly PATH?: string
  readonly HOME?: string
  readonly LANG?: string
}

export interface ChildrenOptions {
  readonly dataDir: string
  /** What every child gets besides its own variables; nothing else of the hub's environment reaches it. */
  readonly baseEnv: BaseEnv
  readonly log: PluginLogger
  /** Carries the bytes through main even where descriptors could be handed over. */
  readonly relay?: boolean
}

/** A process of a server. Main owns it; a worker carries its bytes. */
export interface Child {
  readonly pid: number
  /** Undefined when its bytes go through `relay`. */
  readonly descriptors: { readonly read: TravellingDescriptor; readonly write: TravellingDescriptor } | undefined
  readonly relay: ChildRelay | undefined
  /** Resolves when the process has ended, with how, for people. Never rejects. */
  readonly exited: Promise<string>
  readonly running: boolean
  /** Asks by end of input, then TERM, then KILL, all to the group; resolves when nothing of it is left. */
  stop(): Promise<void>
}

/** The process table: the only place where servers' programs are started, waited for and killed. */
export class Children {
  readonly #options: ChildrenOptions
  readonly #makePair: MakePair | undefined
  readonly #table: ProcessTable
  readonly #watchdog: Watchdog
  readonly #running = new Map<number, { readonly child: Child; readonly info: ProcessInfo }>()
  readonly #tails = new Map<string, StderrTail>()
  readonly #path: string
  readonly #leftovers = new Set<ReturnType<typeof setTimeout>>()

  constructor(options: ChildrenOptions) {
    this.#options = options
    this.#makePair = options.relay ? undefined : openSocketPairs()
    if (!this.#makePair && !options.relay) {
      options.log.warn('The C library cannot be called here: the bytes of stdio servers go through the main thread')
    }
    this.#table = new ProcessTable(options.dataDir, options.log)
    this.#watchdog = new Watchdog(options.log)
    this.#path = [options.baseEnv.PATH, dirname(process.execPath)].filter(part => part).join(':')
  }

  /** Ends what an earlier run of the hub left. */
  sweep(): readonly number[] {
    return this.#table.sweep()
  }

  /** Starts a program; throws `cwd_not_found`, `command_not_found` or `spawn_failed`. */
  spawn(spec: ChildSpec): Child {
    const env = this.#environment(spec)
    const program = findProgram(spec, env.PATH ?? '')
    const shortage = descriptorShortage()
    if (shortage) throw spawnError(spec, new Error(shortage))
    const pairs = this.#makePair ? this.#pairs(this.#makePair, spec) : undefined
    let ended: (how: string) => void = () => undefined
    const exited = new Promise<string>(resolve => {
      ended = resolve
    })
    let running: Bun.Subprocess
    try {
      running = Bun.spawn([program, ...spec.args], {
        stdin: pairs ? pairs.stdin.theirs : 'pipe',
        stdout: pairs ? pairs.stdout.theirs : 'pipe',
        stderr: pairs ? pairs.stderr.theirs : 'pipe',
        env,
        ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
        // A group of its own (setsid), so that what it starts ends with it.
        detached: true,
        onExit: (_, code, signal) => {
          this.#forget(running.pid)
          ended(signal === null ? `exit code ${code}` : `signal ${signalName(signal)}`)
        },
      })
    } catch (error) {
      if (pairs) for (const pair of Object.values(pairs)) closeSync(pair.ours)
      throw spawnError(spec, error)
    } finally {
      if (pairs) for (const pair of Object.values(pairs)) closeSync(pair.theirs)
    }
    const { pid } = running
    const tail = this.#tail(spec.serverId)
    if (pairs) void watchStderr(pairs.stderr.ours, tail).catch(() => tail.add('(its standard error cannot be read)'))
    const relay = pairs ? undefined : makeRelay(running, tail)
    const child: Child = {
      pid,
      descriptors: pairs && {
        read: new TravellingDescriptor(pairs.stdout.ours),
        write: new TravellingDescriptor(pairs.stdin.ours),
      },
      relay,
      exited,
      get running() {
        return running.exitCode === null && running.signalCode === null
      },
      stop: () => stopGroup(pid, exited),
    }
    const info: ProcessInfo = {
      pid,
      serverId: spec.serverId,
      ...(spec.sessionId === undefined ? {} : { sessionId: spec.sessionId }),
      command: [spec.command, ...spec.args].join(' ').slice(0, 500),
      startedAt: new Date().toISOString(),
      sandbox: 'off',
    }
    this.#running.set(pid, { child, info })
    this.#watchdog.add(pid)
    this.#table.add(pid, spec.serverId)
    return child
  }

  list(): readonly ProcessInfo[] {
    return [...this.#running.values()].map(({ info }) => info)
  }

  stderr(serverId: string): readonly { readonly at: string; readonly line: string }[] {
    return this.#tails.get(serverId)?.lines() ?? []
  }

  forgetServer(serverId: string): void {
    this.#tails.delete(serverId)
  }

  /** Stops every child; resolves when none is left. */
  async dispose(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ child }) => child.stop()))
    // At its end the watchdog kills the groups that it still knows, which are just those that these timers wait for.
    for (const timer of this.#leftovers) clearTimeout(timer)
    await this.#watchdog.dispose()
    this.#table.dispose()
  }

  #forget(pid: number): void {
    this.#running.delete(pid)
    this.#table.delete(pid)
    // What the leader left behind in its group ends with it; the watchdog keeps the group until that is sure.
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
    const tail = new StderrTail()
    this.#tails.set(serverId, tail)
    return tail
  }

  #environment(spec: ChildSpec): Record<string, string> {
    const { HOME, LANG } = this.#options.baseEnv
    return { PATH: this.#path, ...(HOME ? { HOME } : {}), ...(LANG ? { LANG } : {}), ...spec.env }
  }

  #pairs(make: MakePair, spec: ChildSpec): Record<'stdin' | 'stdout' | 'stderr', { ours: number; theirs: number }> {
    const made: { ours: number; theirs: number }[] = []
    try {
      for (let index = 0; index < 3; index += 1) made.push(make())
    } catch (error) {
      for (const pair of made) {
        closeSync(pair.ours)
        closeSync(pair.theirs)
      }
      throw spawnError(spec, error)
    }
    const [stdin, stdout, stderr] = made
    return { stdin: stdin!, stdout: stdout!, stderr: stderr! }
  }
}

function signalName(signal: unknown): string {
  return typeof signal === 'string' ? signal : String(signal)
}

function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}

async function stopGroup(pid: number, exited: Promise<string>): Promise<void> {
  // The carrying thread has closed the child's input by now; that is how most servers want to be asked.
  if ((await within(exited, STDIN_GRACE_MS)) === undefined) {
    signalGroup(pid, 'SIGTERM')
    if ((await within(exited, TERM_GRACE_MS)) === undefined) signalGroup(pid, 'SIGKILL')
  }
  await exited
  signalGroup(pid, 'SIGKILL')
}
