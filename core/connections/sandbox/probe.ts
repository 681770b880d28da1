import { randomBytes } from 'node:crypto'
import { accessSync, closeSync, constants, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SandboxLevel, WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { faultName } from '../../transport-kit/wire-error.ts'
import { raiseOomScore } from '../process/child-priority.ts'
import { handOverAll, type MakePair, makePairs } from '../process/descriptors.ts'
import { type ProcessMark, processesBelow, stillRuns } from '../process/process-tree.ts'
import { within } from '../within.ts'
import type { SandboxCgroups } from './cgroup.ts'
import {
  BWRAP,
  coreLimit,
  type Enclosure,
  enclose,
  limitedCommand,
  PRLIMIT,
  RUNTIME_FOLDER,
  runtimeMounts,
  SETPRIV,
  sandboxUid,
} from './profile.ts'
import type { Runtime } from './runtime.ts'

/** The report takes some 60 ms; a machine that takes longer than this is too slow for servers too. */
const REPORT_MS = 5_000
const GONE_MS = 2_000
const POLL_MS = 5
const NOBODY = 0
const PROCESSES = 64

/** The restrictions that this machine can enforce on child processes. */
export interface ProbeResult {
  readonly level: SandboxLevel
  /** For people: what was found, or why level `full` is not available. */
  readonly detail: string
  /** Protections that are missing although the level is `full`, in fixed sentences. */
  readonly notes: readonly string[]
}

/**
 * Decides if the probe runs. A process that runs one hub after the other may return the result of an earlier probe, which is
 * a result about its machine.
 */
export type AroundProbe = (probe: () => Promise<ProbeResult>) => Promise<ProbeResult>

/** Parts of the hub that the probe may use besides the runtime. */
export interface ProbeMeans {
  readonly makePair: MakePair
  readonly cgroups: SandboxCgroups | undefined
}

/** The result of the probe: why level `full` is not available, or which additional limits hold. */
type ProbeReport = { readonly trouble: string } | { readonly oomKept: boolean; readonly grouped: boolean }

interface Report {
  readonly uids: readonly number[]
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly filtered: boolean
  readonly canaryInProc: boolean
  readonly canaryFile: boolean
  readonly loopback: boolean
  readonly firstMemory: boolean
  readonly oomLowered: boolean
}

/** Why a sandbox is impossible, as far as that is clear without a probe; otherwise undefined. */
export function plainObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has what the sandbox is made of'
  if (process.getuid?.() === 0) return undefined
  return 'the hub does not run as root, so that its children would share its user and its limit of processes'
}

/**
 * Runs a reporting program in the complete profile and checks what it could see and do. `folder`: the hub's data
 * folder; the probe works in a subfolder, since a parent that others cannot search would stop servers too.
 */
export async function probeSandbox(folder: string, runtime: Runtime, means: ProbeMeans): Promise<ProbeResult> {
  const missing = missingStages()
  const report: ProbeReport =
    missing.length > 0 ? { trouble: `${missing.join(', ')} is missing` } : await probeInside(folder, runtime, means)
  if (!('trouble' in report)) {
    const groups = report.grouped ? '; memory and processes limited per owner by cgroups' : ''
    const detail = `own user, no capabilities, no new privileges, own processes, files and network${groups}`
    return { level: 'full', detail, notes: notesOn(report) }
  }
  const limited = missing.every(path => path === BWRAP) && (await limitsWork())
  return { level: limited ? 'uid' : 'none', detail: report.trouble, notes: [] }
}

/** The programs that make a sandbox and are not installed. */
export function missingStages(): readonly string[] {
  return [SETPRIV, PRLIMIT, BWRAP].filter(path => !executable(path))
}

/** True when the kernel passes core dumps to a program, or to a socket, outside of every sandbox. */
export function corePiped(pattern: string): boolean {
  return /^[|@]/.test(pattern)
}

function notesOn({ oomKept, grouped }: { readonly oomKept: boolean; readonly grouped: boolean }): readonly string[] {
  const notes: string[] = []
  if (!oomKept && !grouped) {
    notes.push(
      'a sandboxed program can lower its oom_score_adj, and memory cgroups (v2) cannot be used: where memory runs out, the kernel may end other processes first',
    )
  }
  if (corePiped(corePattern()) && coreLimit() === 0) {
    notes.push(
      'kernel.core_pattern hands core dumps to a program or socket outside, which a sandboxed program can start by crashing; the limit of core dumps of the hub is 0, and 1 would prevent it',
    )
  }
  return notes
}

function corePattern(): string {
  try {
    return readFileSync('/proc/sys/kernel/core_pattern', 'latin1')
  } catch {
    return ''
  }
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function probeInside(folder: string, runtime: Runtime, means: ProbeMeans): Promise<ProbeReport> {
  const canary = randomBytes(16).toString('hex')
  const place = join(folder, `.probe-${randomBytes(6).toString('hex')}`)
  const work = join(place, 'work')
  const uid = sandboxUid(NOBODY)
  let connections = 0
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open() {
        connections += 1
      },
      data() {},
    },
  })
  // A process of the hub's user that holds the canary where a program would look for the hub's secrets.
  const holder = Bun.spawn(['/bin/sh', '-c', 'read line', canary], {
    env: { CANARY: canary },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  try {
    await mkdir(work, { recursive: true, mode: 0o711 })
    await chmod(place, 0o711)
    await chown(work, uid, uid)
    await chmod(work, 0o700)
    const file = join(place, 'canary')
    await writeFile(file, canary, { mode: 0o600 })
    const backwards = [...canary].reverse().join('')
    const program = [`${RUNTIME_FOLDER}/bun`, `${RUNTIME_FOLDER}/sandbox-report.ts`]
    const report = await runReport(means, {
      ...{ uid, processes: PROCESSES, cwd: WORK_FOLDER, env: {}, network: 'none' },
      mounts: [{ from: work, to: WORK_FOLDER, writable: true }, ...runtimeMounts(runtime)],
      command: [...program, backwards, file, String(listener.port)],
    })
    return connections > 0 ? { trouble: 'a sandboxed program reached a port of the hub on 127.0.0.1' } : report
  } catch (error) {
    return { trouble: `the probe failed (${faultName(error)})` }
  } finally {
    listener.stop(true)
    holder.kill('SIGKILL')
    await holder.exited
    await rm(place, { recursive: true, force: true })
  }
}

async function runReport({ makePair, cgroups }: ProbeMeans, enclosure: Enclosure): Promise<ProbeReport> {
  const { argv, inputs } = enclose(enclosure)
  const pairs = makePairs(makePair, inputs.length)
  let running: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  try {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
    running = Bun.spawn([...argv], {
      stdio: [...stdio, ...pairs.map(pair => pair.theirs)] as typeof stdio,
      ...{ env: {}, cwd: '/', detached: true },
    })
  } finally {
    for (const pair of pairs) closeSync(pair.theirs)
  }
  raiseOomScore(running.pid)
  const grouped = joinGroup(cgroups, running.pid, enclosure)
  handOverAll(pairs, inputs)
  const words = new Response(running.stderr).text()
  let tree: readonly ProcessMark[] = []
  try {
    const line = await within(firstLine(running.stdout), REPORT_MS)
    if (line === undefined) return { trouble: `the reporting program said nothing within ${REPORT_MS} ms` }
    if (line === '') {
      const reason = (await within(words, REPORT_MS)) ?? ''
      return { trouble: `the sandbox could not be entered: ${reason.trim().slice(0, 300) || 'no reason was given'}` }
    }
    tree = processesBelow(running.pid)
    const report = JSON.parse(line) as Report
    const trouble = check(report, enclosure.uid)
    if (trouble) return { trouble }
    if (tree.length < 3) return { trouble: 'the processes of the sandbox cannot be listed' }
    process.kill(-running.pid, 'SIGKILL')
    await running.exited
    const end = performance.now() + GONE_MS
    while (tree.some(stillRuns)) {
      if (performance.now() > end) return { trouble: 'processes of the sandbox outlived it' }
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
    return { oomKept: !report.oomLowered, grouped }
  } finally {
    running.kill('SIGKILL')
    await running.exited
    // A sandbox that does not hold must not leave processes either.
    for (const mark of tree) if (stillRuns(mark)) process.kill(mark.pid, 'SIGKILL')
  }
}

/** False also where there are no groups. */
function joinGroup(cgroups: SandboxCgroups | undefined, pid: number, { uid, processes }: Enclosure): boolean {
  try {
    cgroups?.place(pid, uid, processes)
    return cgroups?.holds(pid, uid) === true
  } catch {
    return false
  }
}

function check(report: Report, uid: number): string | undefined {
  if (report.uids.length !== 4 || report.uids.some(seen => seen !== uid)) return 'the program kept another user id'
  if (report.capabilities.length !== 5 || report.capabilities.some(set => !/^0+$/.test(set)))
    return 'the program kept capabilities'
  if (!report.noNewPrivileges) return 'the program could gain privileges'
  if (!report.filtered) return 'the program could make every call of the kernel'
  if (report.canaryInProc) return 'the program could read another process’s environment or command line'
  if (report.firstMemory) return 'the program could write to the memory of the first process of its sandbox'
  if (report.canaryFile) return 'the program could read a file of the hub'
  return report.loopback ? 'the program reached a port of the hub on 127.0.0.1' : undefined
}

/** The first line, or everything received when the stream ended before. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true })
    const end = text.indexOf('\n')
    if (end >= 0) return text.slice(0, end)
  }
  return ''
}

async function limitsWork(): Promise<boolean> {
  const argv = limitedCommand(sandboxUid(NOBODY), PROCESSES, ['/bin/true'])
  const running = Bun.spawn([...argv], { stdio: ['ignore', 'ignore', 'ignore'], env: {}, cwd: '/' })
  return (await within(running.exited, REPORT_MS)) === 0
}
