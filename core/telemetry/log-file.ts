import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface LogFileLimits {
  /** The file is put aside before it grows beyond this many bytes. */
  readonly maxBytes: number
  /** Files that were put aside and are kept, the newest; 1 or more. */
  readonly maxFiles: number
}

/** How long after a failure it is tried again to put the file aside, in milliseconds; until then the file grows on. */
const RETRY_MS = 60_000
/** How often the path is compared with the open file, in milliseconds. */
const FOLLOW_MS = 1_000

/**
 * A log file with an end: when it is full it becomes `<path>.1`, what was `.1` becomes `.2`, and the oldest goes. No line is
 * lost when that fails: the old file is written on.
 */
export class LogFile {
  readonly #path: string
  readonly #limits: LogFileLimits
  #handle: FileHandle
  #bytes: number
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** Takes the place of `#handle` before the next write. */
  #fresh: { readonly handle: FileHandle; readonly bytes: number } | undefined
  #followedAtMs = 0

  private constructor(path: string, limits: LogFileLimits, handle: FileHandle, bytes: number) {
    this.#path = path
    this.#limits = limits
    this.#handle = handle
    this.#bytes = bytes
  }

  /** Opens the file to append to it. Without limits, and where it is no ordinary file, it has no end. Throws what the system says. */
  static async open(path: string, limits?: LogFileLimits): Promise<LogFile> {
    await mkdir(dirname(path), { recursive: true })
    const handle = await open(path, 'a', 0o600)
    const stats = await handle.stat()
    const endless = { maxBytes: Number.POSITIVE_INFINITY, maxFiles: 1 }
    return new LogFile(path, limits && stats.isFile() ? limits : endless, handle, stats.size)
  }

  get fd(): number {
    return this.#handle.fd
  }

  /** Counts what was written. */
  wrote(bytes: number): void {
    this.#bytes += bytes
  }

  /** Whether so many bytes more are too many for this file. One that is empty takes any number. */
  isFull(bytes: number): boolean {
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#limits.maxBytes) return false
    return performance.now() - this.#failedAtMs >= RETRY_MS
  }

  /** Puts the file aside and begins a new one. Never rejects. Nothing may be written meanwhile. */
  async rotate(): Promise<void> {
    const path = this.#path
    try {
      await rm(`${path}.${this.#limits.maxFiles}`, { force: true })
      for (let number = this.#limits.maxFiles - 1; number >= 1; number -= 1) {
        await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`)
      }
      await renameIfThere(path, `${path}.1`)
      const handle = await open(path, 'a', 0o600)
      const old = this.#handle
      this.#handle = handle
      this.#bytes = (await handle.stat()).size
      await old.close()
    } catch {
      // A folder that takes no new names, or a full disk: the old file is still open, under whatever name it has by now.
      this.#failedAtMs = performance.now()
    }
  }

  /**
   * Opens the file at its path anew, for the writes after the next call of `follow`. Its folder is not made. Resolves with the
   * system's message where that failed; the old file stays in use then.
   */
  async reopen(): Promise<string | undefined> {
    try {
      const handle = await open(this.#path, 'a', 0o600)
      const { size } = await handle.stat()
      await this.#fresh?.handle.close()
      this.#fresh = { handle, bytes: size }
      return undefined
    } catch (error) {
      return String(error)
    }
  }

  /**
   * Call before each write, while none is under way. Begins to use a file that was opened anew, and looks once a second, beside
   * the writing, whether another program has moved the file away.
   */
  follow(): void {
    if (this.#fresh) {
      const old = this.#handle
      this.#handle = this.#fresh.handle
      this.#bytes = this.#fresh.bytes
      this.#fresh = undefined
      void old.close().catch(() => undefined)
    }
    const nowMs = performance.now()
    if (nowMs - this.#followedAtMs < FOLLOW_MS) return
    this.#followedAtMs = nowMs
    void this.#reopenWhenMoved().catch(() => undefined)
  }

  async #reopenWhenMoved(): Promise<void> {
    const handle = this.#handle
    const [there, own] = await Promise.all([stat(this.#path).catch(() => undefined), handle.stat()])
    // Rotated by the hub itself meanwhile, the open file is the one at the path already.
    if (handle !== this.#handle || this.#fresh) return
    if (there?.ino !== own.ino || there.dev !== own.dev) await this.reopen()
  }

  async close(): Promise<void> {
    await this.#handle.close()
    await this.#fresh?.handle.close()
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}
