import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { watchPlace } from '../config/watch-place.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Uptime } from './uptime.ts'

/** Its name in the data folder. */
export const UPTIME_FILE = 'uptime.json'
/** What a `kill -9` may cost of the last day's times. */
const EVERY_MS = 5 * 60_000

const ms = z.number().min(0).max(3_600_000)
const fileSchema = z.record(
  z.string(),
  z.object({
    hours: z.array(z.object({ number: z.number().int(), onlineMs: ms, downMs: ms })).max(24),
    changes: z.array(
      z.object({
        at: z.iso.datetime(),
        state: z.enum(['online', 'connecting', 'offline']),
        // Any code: an earlier version's may be none of this one's.
        reason: z.object({ code: z.string().transform(code => code as ErrorCode), message: z.string() }).optional(),
      }),
    ),
  }),
)

/** Keeps an {@link Uptime} in the data folder: read at the start, written every five minutes and at the end. */
export class UptimeFile {
  readonly #path: string
  readonly #uptime: Uptime
  readonly #log: PluginLogger
  readonly #inPlace: () => boolean
  readonly #timer: ReturnType<typeof setInterval>
  #writing: Promise<void> = Promise.resolve()

  private constructor(dataDir: string, uptime: Uptime, log: PluginLogger) {
    this.#path = join(dataDir, UPTIME_FILE)
    this.#uptime = uptime
    this.#log = log
    this.#inPlace = watchPlace(dataDir)
    this.#timer = setInterval(() => this.#write(), EVERY_MS)
    this.#timer.unref()
  }

  /** Restores what an earlier run wrote. A file that cannot be read is a warning, and is written anew. Never rejects. */
  static async open(dataDir: string, uptime: Uptime, log: PluginLogger): Promise<UptimeFile> {
    const file = new UptimeFile(dataDir, uptime, log)
    await file.#read()
    return file
  }

  /** Writes it a last time. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    this.#write()
    await this.#writing
  }

  async #read(): Promise<void> {
    try {
      const saved = fileSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')))
      this.#uptime.restore(
        new Map(
          Object.entries(saved).map(([id, { hours, changes }]) => [
            id,
            { hours, changes: changes.map(({ reason, ...change }) => ({ ...change, ...(reason ? { reason } : {}) })) },
          ]),
        ),
      )
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
      this.#log.warn(`${this.#path} cannot be read: the uptime of servers begins anew`, { error: String(error) })
    }
  }

  /** One write after the other, so that an older one never comes last. */
  #write(): void {
    this.#writing = this.#writing.then(async () => {
      // No file is made in the place of a data folder that was moved away.
      if (!this.#inPlace()) return
      const temporary = `${this.#path}.tmp`
      try {
        await writeFile(temporary, JSON.stringify(Object.fromEntries(this.#uptime.saved())), { mode: 0o600 })
        await rename(temporary, this.#path)
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined)
        this.#log.warn(`${this.#path} cannot be written: a restart forgets the uptime of servers`, {
          error: String(error),
        })
      }
    })
  }
}
