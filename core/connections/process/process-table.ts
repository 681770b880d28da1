import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { watchPlace } from '../../config/watch-place.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { startTimeOf } from './process-tree.ts'

interface Entry {
  readonly pid: number
  readonly startTime: string
  readonly serverId: string
}

const WRITE_DELAY_MS = 100

/** The file that lists the running children, so that the next start can kill what a crash left behind. */
export class ProcessTable {
  readonly #file: string
  readonly #log: PluginLogger
  readonly #inPlace: () => boolean
  readonly #entries = new Map<number, Entry>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(dataDir: string, log: PluginLogger) {
    this.#file = join(dataDir, 'processes.json')
    this.#log = log
    mkdirSync(dataDir, { recursive: true })
    this.#inPlace = watchPlace(dataDir)
  }

  /** Kills the process groups that an earlier run left; only those whose leader has the recorded start time. */
  sweep(): readonly number[] {
    const killed: number[] = []
    const table = this.#read()
    if (!table || (table.hub.pid !== process.pid && startTimeOf(table.hub.pid) === table.hub.startTime)) return killed
    for (const { pid, startTime } of table.children) {
      if (startTimeOf(pid) !== startTime) continue
      try {
        process.kill(-pid, 'SIGKILL')
        killed.push(pid)
      } catch {
        // It ended in between.
      }
    }
    if (killed.length > 0) this.#log.warn(`Ended ${killed.length} processes that an earlier run left`, { pids: killed })
    return killed
  }

  add(pid: number, serverId: string): void {
    const startTime = startTimeOf(pid)
    if (startTime === undefined) return
    this.#entries.set(pid, { pid, startTime, serverId })
    this.#schedule()
  }

  delete(pid: number): void {
    if (this.#entries.delete(pid)) this.#schedule()
  }

  dispose(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#write()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#write(), WRITE_DELAY_MS)
  }

  #write(): void {
    this.#timer = undefined
    const hub = { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' }
    const temporary = `${this.#file}.tmp`
    // No file is made in the place of a data folder that was moved away.
    if (!this.#inPlace()) return
    try {
      writeFileSync(temporary, JSON.stringify({ hub, children: [...this.#entries.values()] }), { mode: 0o600 })
      renameSync(temporary, this.#file)
    } catch (error) {
      // The watchdog comes first; this file is only needed when the watchdog was killed too.
      this.#log.warn(`The process table ${this.#file} cannot be written`, { error: String(error) })
    }
  }

  #read(): { readonly hub: { pid: number; startTime: string }; readonly children: readonly Entry[] } | undefined {
    try {
      const value = JSON.parse(readFileSync(this.#file, 'utf8')) as JsonValue
      if (!isJsonObject(value) || !isJsonObject(value.hub) || !Array.isArray(value.children))
        throw new Error('not a table')
      const { pid, startTime } = value.hub
      if (typeof pid !== 'number' || typeof startTime !== 'string') throw new Error('not a table')
      return { hub: { pid, startTime }, children: value.children.filter(isEntry) }
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      // It is replaced with the first process that starts.
      if (!missing) this.#log.warn(`The process table ${this.#file} cannot be read`, { error: String(error) })
      return undefined
    }
  }
}

function isEntry(value: JsonValue): value is JsonObject & Entry {
  if (!isJsonObject(value)) return false
  // 0, 1 and negative numbers would signal groups that are not a child's.
  return (
    typeof value.pid === 'number' &&
    Number.isInteger(value.pid) &&
    value.pid > 1 &&
    typeof value.startTime === 'string' &&
    typeof value.serverId === 'string'
  )
}
