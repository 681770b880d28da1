import { startHub } from '../support/hub.ts'
import { processStat } from '../support/processes.ts'
import { until } from '../support/wait.ts'
import { ECHO } from './measure.ts'

const MB = 1024 * 1024

export interface Memory {
  readonly emptyMb: number
  /** The hub alone, children not counted. */
  readonly withFewMb: number
  readonly withManyMb: number
  readonly few: number
  readonly many: number
  readonly perServerMb: number
}

/**
 * Resident memory of an empty hub, and the memory of each further idle stdio server. The first servers are not counted, since
 * the runtime warms up with them.
 */
export async function measureMemory(few = 30, many = 60): Promise<Memory> {
  // They run at the same time: most of the time they wait for their memory to settle, and they share no memory.
  const [emptyMb, withFewMb, withManyMb] = await Promise.all([residentWith(0), residentWith(few), residentWith(many)])
  return { emptyMb, withFewMb, withManyMb, few, many, perServerMb: (withManyMb - withFewMb) / (many - few) }
}

async function residentWith(servers: number): Promise<number> {
  const [command = '', ...args] = ECHO
  const entries = Array.from({ length: servers }, (_, index) => [`echo-${index}`, { command, args }])
  const hub = await startHub({ settings: { mcpServers: Object.fromEntries(entries) } })
  try {
    await until(async () => (await (await fetch(`${hub.url}/health`)).json()).servers.online === servers, {
      timeoutMs: 60_000,
      what: `${servers} servers to be online`,
    })
    return await settled(hub.pid)
  } finally {
    await hub.stop()
  }
}

/** The resident memory once it has moved by less than half a megabyte for a second; at most 6 s of waiting. */
async function settled(pid: number): Promise<number> {
  const samples: number[] = []
  for (let sample = 0; sample < 24; sample += 1) {
    samples.push((processStat(pid)?.residentBytes ?? 0) / MB)
    const recent = samples.slice(-4)
    if (recent.length === 4 && Math.max(...recent) - Math.min(...recent) < 0.5) break
    await Bun.sleep(250)
  }
  return samples.at(-1) ?? 0
}
