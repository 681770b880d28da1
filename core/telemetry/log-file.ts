import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** When the log file is rotated, and how many files are kept. */
export interface LogFileLimits {
  /** The file is rotated before it exceeds this many bytes. */
  readonly maxBytes: number
  /** Number of rotated files kept; 1 or more. */
  readonly maxFiles: number
}

/** How long after a failed rotation the next one is tried, in milliseconds; until then the file keeps growing. */
const RETRY_MS = 60_000
/** How often the path is compared with the open file, in milliseconds. */
const FOLLOW_MS = 1_000

/**
 * A log file of limited size: when it is full it becomes `<path>.1`, the former `.1` becomes `.2`, and the oldest is
 * deleted. When that fails no line is lost: writing continues in the old file.
 */
export class LogFile {
  readonly #path: string
  readonly #limits: LogFileLimits
  #handle: FileHandle
  #bytes: number
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** Replaces `#handle` before the next write. */
  #reopened: { readonly handle: FileHandle; readonly bytes: number } | undefined
  #followedAtMs = 0

  private constructor(path: string, limits: LogFileLimits, handle: FileHandle, bytes: number) {
    this.#path = path
    this.#limits = limits
    this.#handle = handle
    this.#bytes = bytes
  }

  /** Opens the file for appending. Its size is unlimited without limits and for special files. Throws the file system's
   * error. */
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

  /** Counts written bytes. */
  wrote(bytes: number): void {
    this.#bytes += bytes
  }

  /** Whether the file must be rotated before this many more bytes. An empty one accepts any number. */
  isFull(bytes: number): boolean {
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#limits.maxBytes) return false
    return performance.now() - this.#failedAtMs >= RETRY_MS
  }

  /** Rotates the file. Never rejects. Nothing may be written meanwhile. */
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
      // The folder is not writable or the disk is full: the old file is still open, possibly under its new name.
      this.#failedAtMs = performance.now()
    }
  }

  /**
   * Opens the file at its path again; `follow` then switches to it. Does not create its folder. On failure resolves
   * with the system's message, and the old file stays in use.
   */
  async reopen(): Promise<string | undefined> {
    try {
      const handle = await open(this.#path, 'a', 0o600)
      const { size } = await handle.stat()
      await this.#reopened?.handle.close()
      this.#reopened = { handle, bytes: size }
      return undefined
    } catch (error) {
      return String(error)
    }
  }

  /**
   * Call before each write, while none is under way. Switches to a reopened file, and checks once a second in the
   * background whether another program has moved the file away.
   */
  follow(): void {
    if (this.#reopened) {
      const old = this.#handle
      this.#handle = this.#reopened.handle
      this.#bytes = this.#reopened.bytes
      this.#reopened = undefined
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
    // The hub rotated the file meanwhile, so the open file is already the one at the path.
    if (handle !== this.#handle || this.#reopened) return
    if (there?.ino !== own.ino || there.dev !== own.dev) await this.reopen()
  }

  async close(): Promise<void> {
    await this.#handle.close()
    await this.#reopened?.handle.close()
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}
