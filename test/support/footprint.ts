import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Client, Hub } from './hub.ts'
import { alive, descendants } from './processes.ts'
import { until } from './wait.ts'

/** Resources of the system that a process holds. TCP connections are left out: a test's own clients keep some open. */
export interface Footprint {
  readonly descriptors: number
  readonly children: number
  readonly zombies: number
  readonly threads: number
}

export function footprint(pid: number): Footprint {
  const tree = descendants(pid)
  const zombies = tree.filter(stat => stat.state === 'Z').length
  return {
    descriptors: descriptors(pid),
    children: tree.length - zombies,
    zombies,
    threads: readdirSync(`/proc/${pid}/task`).length,
  }
}

/** The same for a hub whose history has opened its files, which it does at its first records. */
export async function footprintWithHistory(hub: Hub, admin: Client): Promise<Footprint> {
  const records = async () => (await admin.ok('GET', '/api/logs/search?limit=1')).total
  await until(records, { what: 'the first record in the history' })
  return footprint(hub.pid)
}

/** Waits until a process holds no more descriptors and children than before, and no child that has ended. */
export async function settledTo(pid: number, before: Footprint, timeoutMs = 20_000): Promise<void> {
  let now = footprint(pid)
  await until(
    () => {
      now = footprint(pid)
      return now.descriptors <= before.descriptors && now.children <= before.children && now.zombies === 0
    },
    { timeoutMs, intervalMs: 50, what: 'everything to be given back' },
  ).catch(error => {
    const names = descendants(pid).map(stat => `${stat.pid} ${stat.state}`)
    throw new Error(`${error.message}: ${JSON.stringify({ before, now, names, alive: alive(pid) })}`)
  })
}

/**
 * Descriptors of the database's file. SQLite keeps that of the last checkpoint and uses it again for the next one, since closing
 * it would release the locks of the other connection.
 */
const OF_DATABASE = 2

function descriptors(pid: number): number {
  const tcp = new Set([...inodes(pid, 'tcp'), ...inodes(pid, 'tcp6')])
  let count = 0
  let ofDatabase = 0
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`)
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
      if (target.endsWith('/patchbay.db')) ofDatabase += 1
      else if (inode === undefined || !tcp.has(inode)) count += 1
    } catch {
      // Closed between the two looks.
    }
  }
  return count + Math.max(0, ofDatabase - OF_DATABASE)
}

function inodes(pid: number, table: 'tcp' | 'tcp6'): string[] {
  const lines = readFileSync(`/proc/${pid}/net/${table}`, 'latin1').trim().split('\n').slice(1)
  return lines.map(line => line.trim().split(/\s+/)[9] ?? '')
}
