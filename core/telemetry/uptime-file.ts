import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { watchPlace } from '../config/watch-place.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { SavedUptime, Uptime } from './uptime.ts'

/** Its name in the data folder. */
export const UPTIME_FILE = 'uptime.json'
/** Interval of saving: a `kill -9` may lose this much of the last day's times. */
const EVERY_MS = 5 * 60_000
/** Changes that are kept of a server, and characters of the message of each: a server that flaps has 200 with long ones. */
const MOST_CHANGES = 50
const MESSAGE_CHARACTERS = 200
/** Servers that are written in one turn of the event loop. */
const SERVERS_AT_ONCE = 50

const ms = z.number().min(0).max(3_600_000)
const fileSchema = z.record(
  z.string(),
  z.object({
    hours: z.array(z.object({ number: z.number().int(), onlineMs: ms, downMs: ms })).max(24),
    changes: z.array(
      z.object({
        at: z.iso.datetime(),
        state: z.enum(['online', 'connecting', 'offline']),
        // Any code: one of an earlier version may not exist in this one.
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

  /** Restores the state that an earlier run wrote. An unreadable file causes a warning, and is replaced. Never rejects. */
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
      this.#log.warn(`${this.#path} cannot be read: the uptime of servers is counted from now on`, {
        error: String(error),
      })
    }
  }

  /** Serializes writes, so that an older state never overwrites a newer one. */
  #write(): void {
    this.#writing = this.#writing.then(async () => {
      // No file is created if the data folder was moved away.
      if (!this.#inPlace()) return
      const temporary = `${this.#path}.tmp`
      try {
        await this.#writeTo(temporary)
        await rename(temporary, this.#path)
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined)
        this.#log.warn(`${this.#path} cannot be written: a restart forgets the uptime of servers`, {
          error: String(error),
        })
      }
    })
  }

  async #writeTo(path: string): Promise<void> {
    const file = await open(path, 'w', 0o600)
    try {
      await file.writeFile('{')
      let [written, members] = [0, [] as string[]]
      for (const [id, server] of this.#uptime.saved()) {
        members.push(`${written === 0 ? '' : ','}${JSON.stringify(id)}:${JSON.stringify(shortened(server))}`)
        written += 1
        if (members.length < SERVERS_AT_ONCE) continue
        await file.writeFile(members.join(''))
        members = []
      }
      await file.writeFile(members.join(''))
      await file.writeFile('}')
    } finally {
      await file.close()
    }
  }
}

function shortened({ hours, changes }: SavedUptime): SavedUptime {
  return {
    hours,
    changes: changes
      .slice(-MOST_CHANGES)
      .map(change =>
        change.reason
          ? { ...change, reason: { ...change.reason, message: change.reason.message.slice(0, MESSAGE_CHARACTERS) } }
          : change,
      ),
  }
}
