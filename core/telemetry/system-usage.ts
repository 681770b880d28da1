import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** A share is that of the time between two samples, in milliseconds. */
const SAMPLE_MS = 10_000
const HIGHEST_LIMIT = 2 ** 60

/** Ratios are 0 to 1, sizes in bytes. What this machine does not report is absent. */
export interface SystemUsage {
  /** Use of all cores of the machine. */
  readonly cpu?: number
  /** Use of one core by this process with its threads. */
  readonly ownCpu: number
  readonly cores: number
  readonly loadAverage: readonly [number, number, number]
  /** Memory of the machine, or of the container in which the hub runs. */
  readonly memory?: { readonly used: number; readonly total: number }
  /** Disk with the data folder. */
  readonly disk?: { readonly used: number; readonly total: number }
  /** Over all network interfaces but loopback, since the hub was started. */
  readonly network?: { readonly bytesIn: number; readonly bytesOut: number }
  /** The longest time that the event loop was held within the last sample, in milliseconds. */
  readonly eventLoopLagMs: number
}

interface Sample {
  readonly atMs: number
  readonly machine: { readonly busy: number; readonly total: number } | undefined
  readonly own: number
}

interface Traffic {
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Measures the machine and this process each 10 s. */
export class SystemMonitor {
  readonly #folder: string
  readonly #timer: Timer
  readonly #delay = monitorEventLoopDelay({ resolution: 20 })
  readonly #trafficBefore = traffic()
  #before: Sample
  #now: Sample
  #lagMs = 0

  /** `folder`: the disk that is measured. */
  constructor(folder: string) {
    this.#folder = folder
    this.#before = sample()
    this.#now = this.#before
    this.#delay.enable()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref()
  }

  /** Shares are those of the last finished sample; before the first, of the time since the start. */
  usage(): SystemUsage {
    const [from, to] = this.#before === this.#now ? [this.#before, sample()] : [this.#before, this.#now]
    const cpu = from.machine && to.machine ? share(from.machine, to.machine) : undefined
    const memory = memoryOf()
    const disk = diskOf(this.#folder)
    const network = since(this.#trafficBefore, traffic())
    const [one = 0, five = 0, fifteen = 0] = loadavg()
    return {
      ...(cpu === undefined ? {} : { cpu }),
      ownCpu: to.atMs === from.atMs ? 0 : (to.own - from.own) / (to.atMs - from.atMs),
      cores: availableParallelism(),
      loadAverage: [one, five, fifteen],
      ...(memory ? { memory } : {}),
      ...(disk ? { disk } : {}),
      ...(network ? { network } : {}),
      eventLoopLagMs: this.#lagMs,
    }
  }

  dispose(): void {
    clearInterval(this.#timer)
    this.#delay.disable()
  }

  #sample(): void {
    this.#before = this.#now
    this.#now = sample()
    this.#lagMs = this.#delay.max / 1e6
    this.#delay.reset()
  }
}

function sample(): Sample {
  const { user, system } = process.cpuUsage()
  return { atMs: performance.now(), machine: machineTime(), own: (user + system) / 1_000 }
}

/** Jiffies of all cores together. */
function machineTime(): { readonly busy: number; readonly total: number } | undefined {
  const line = textOf('/proc/stat')?.split('\n', 1)[0]
  const times = line?.trim().split(/\s+/).slice(1, 9).map(Number)
  if (!times || times.length < 5) return undefined
  const total = times.reduce((sum, each) => sum + each, 0)
  const [, , , idle = 0, waiting = 0] = times
  return { busy: total - idle - waiting, total }
}

function share(
  from: { readonly busy: number; readonly total: number },
  to: { readonly busy: number; readonly total: number },
) {
  return to.total === from.total ? 0 : Math.min(1, Math.max(0, (to.busy - from.busy) / (to.total - from.total)))
}

/** Returns the limit of the container if there is one (cgroups of version 2 or 1), else the memory of the machine. */
function memoryOf(): { readonly used: number; readonly total: number } | undefined {
  const machine = machineMemory()
  for (const [limit, used] of [
    ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory.current'],
    ['/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/memory/memory.usage_in_bytes'],
  ] as const) {
    const total = Number(textOf(limit) ?? Number.NaN)
    const now = Number(textOf(used) ?? Number.NaN)
    // Without a limit, version 1 has a number beyond any memory, version 2 `max`.
    if (total > 0 && total < Math.min(HIGHEST_LIMIT, machine?.total ?? HIGHEST_LIMIT) && now >= 0)
      return { used: now, total }
  }
  return machine
}

function machineMemory(): { readonly used: number; readonly total: number } | undefined {
  const text = textOf('/proc/meminfo') ?? ''
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1_024
  const [total, available] = [bytes('MemTotal'), bytes('MemAvailable')]
  return Number.isNaN(total + available) ? undefined : { used: total - available, total }
}

function diskOf(folder: string): { readonly used: number; readonly total: number } | undefined {
  try {
    const { blocks, bfree, bsize } = statfsSync(folder)
    return { used: (blocks - bfree) * bsize, total: blocks * bsize }
  } catch {
    return undefined
  }
}

function traffic(): Traffic | undefined {
  const lines = textOf('/proc/net/dev')?.split('\n').slice(2) ?? []
  let [bytesIn, bytesOut] = [0, 0]
  for (const line of lines) {
    const [name = '', rest = ''] = line.split(':', 2)
    const numbers = rest.trim().split(/\s+/).map(Number)
    if (name.trim() === 'lo' || numbers.length < 9) continue
    bytesIn += numbers[0] ?? 0
    bytesOut += numbers[8] ?? 0
  }
  return lines.length === 0 ? undefined : { bytesIn, bytesOut }
}

function since(before: Traffic | undefined, now: Traffic | undefined): Traffic | undefined {
  if (!before || !now) return undefined
  return { bytesIn: now.bytesIn - before.bytesIn, bytesOut: now.bytesOut - before.bytesOut }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
