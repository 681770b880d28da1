import { randomBytes } from 'node:crypto'
import { accessSync, closeSync, constants } from 'node:fs'
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SandboxLevel, WORK_FOLDER } from '../domain/spawn-policy.ts'
import { handOverAll, type MakePair, makePairs } from './descriptors.ts'
import { type ProcessMark, processesBelow, stillRuns } from './process-tree.ts'
import {
  BWRAP,
  type Enclosure,
  enclose,
  limitedCommand,
  PRLIMIT,
  RUNTIME_FOLDER,
  runtimeMounts,
  SETPRIV,
  sandboxUid,
} from './sandbox-profile.ts'
import type { Runtime } from './sandbox-runtime.ts'
import { within } from './within.ts'

/** The report takes some 60 ms; a machine that needs so long for it is no good for servers either. */
const REPORT_MS = 5_000
const GONE_MS = 2_000
const LOOK_MS = 5
const NOBODY = 0
const PROCESSES = 64

/** What this machine can enforce on child processes. */
export interface ProbeResult {
  readonly level: SandboxLevel
  /** For people: what was seen, or what stands in the way of level `full`. */
  readonly detail: string
}

interface Report {
  readonly uids: readonly number[]
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly filtered: boolean
  readonly canaryInProc: boolean
  readonly canaryFile: boolean
  readonly loopback: boolean
}

/** Why there can be no sandbox, as far as that is plain without a look; undefined where it takes one. */
export function plainObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has what the sandbox is made of'
  if (process.getuid?.() === 0) return undefined
  return 'the hub does not run as root, so that its children would share its user and its limit of processes'
}

/**
 * Runs a reporting program in the whole profile and looks at what it could see and do. `folder` is where the hub keeps its
 * data: the probe works in a folder of its own there, since a parent that others cannot search would stop servers too.
 */
export async function probeSandbox(folder: string, runtime: Runtime, makePair: MakePair): Promise<ProbeResult> {
  const missing = [SETPRIV, PRLIMIT, BWRAP].filter(path => !executable(path))
  const trouble = missing.length > 0 ? `${missing.join(', ')} is missing` : await lookInside(folder, runtime, makePair)
  if (trouble === undefined) {
    return { level: 'full', detail: 'own user, no capabilities, no new privileges, own processes, files and network' }
  }
  const limited = missing.every(path => path === BWRAP) && (await limitsWork())
  return { level: limited ? 'uid' : 'none', detail: trouble }
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Undefined when everything holds, else what does not. */
async function lookInside(folder: string, runtime: Runtime, makePair: MakePair): Promise<string | undefined> {
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
    const trouble = await runReport(makePair, {
      ...{ uid, processes: PROCESSES, cwd: WORK_FOLDER, env: {}, network: 'none' },
      mounts: [{ from: work, to: WORK_FOLDER, writable: true }, ...runtimeMounts(runtime)],
      command: [...program, backwards, file, String(listener.port)],
    })
    return trouble ?? (connections > 0 ? 'a sandboxed program reached a port of the hub on 127.0.0.1' : undefined)
  } catch (error) {
    return `the probe failed: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    listener.stop(true)
    holder.kill('SIGKILL')
    await holder.exited
    await rm(place, { recursive: true, force: true })
  }
}

async function runReport(makePair: MakePair, enclosure: Enclosure): Promise<string | undefined> {
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
  handOverAll(pairs, inputs)
  const words = new Response(running.stderr).text()
  let tree: readonly ProcessMark[] = []
  try {
    const line = await within(firstLine(running.stdout), REPORT_MS)
    if (line === undefined) return `the reporting program said nothing within ${REPORT_MS} ms`
    if (line === '') {
      const said = (await within(words, REPORT_MS)) ?? ''
      return `the sandbox could not be entered: ${said.trim().slice(0, 300) || 'no reason was given'}`
    }
    tree = processesBelow(running.pid)
    const trouble = judge(JSON.parse(line) as Report, enclosure.uid)
    if (trouble) return trouble
    if (tree.length < 3) return 'the processes of the sandbox cannot be listed'
    process.kill(-running.pid, 'SIGKILL')
    await running.exited
    const end = performance.now() + GONE_MS
    while (tree.some(stillRuns)) {
      if (performance.now() > end) return 'processes of the sandbox outlived it'
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    }
    return undefined
  } finally {
    running.kill('SIGKILL')
    await running.exited
    // Of a sandbox that does not hold, nothing may be left either.
    for (const mark of tree) if (stillRuns(mark)) process.kill(mark.pid, 'SIGKILL')
  }
}

function judge(report: Report, uid: number): string | undefined {
  if (report.uids.length !== 4 || report.uids.some(seen => seen !== uid)) return 'the program kept another user id'
  if (report.capabilities.length !== 5 || report.capabilities.some(set => !/^0+$/.test(set)))
    return 'the program kept capabilities'
  if (!report.noNewPrivileges) return 'the program could gain privileges'
  if (!report.filtered) return 'the program could make every call of the kernel'
  if (report.canaryInProc) return 'the program could read another process’s environment or command line'
  if (report.canaryFile) return 'the program could read a file of the hub'
  return report.loopback ? 'the program reached a port of the hub on 127.0.0.1' : undefined
}

/** The first line, or all there was when the stream ended before. */
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
