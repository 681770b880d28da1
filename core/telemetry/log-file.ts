import type { Stats } from 'node:fs'
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OldLogFiles, periodOf, type RotationOptions } from './log-rotation.ts'

/** Time after a failed rotation until the next attempt, in milliseconds; until then the file keeps growing. */
const RETRY_MS = 60_000
/** A failing rotation is reported once in this time. */
const TELL_MS = 3_600_000
/** Interval at which the path is compared with the open file, in milliseconds. */
const FOLLOW_MS = 1_000

/**
 * A log file that is rotated when it is full, or its hour, day or week is over. If that fails no line is lost: writing continues
 * in the same file.
 */
export class LogFile {
  readonly #path: string
  readonly #isRegular: boolean
  #rotation: RotationOptions | undefined
  #old: OldLogFiles | undefined
  #handle: FileHandle
  #bytes: number
  /** When its first lines may have been written, in ms since 1970. */
  #begunAtMs: number
  #failedAtMs = Number.NEGATIVE_INFINITY
  #toldAtMs = Number.NEGATIVE_INFINITY
  /** Replaces `#handle` before the next write. */
  #reopened: { readonly handle: FileHandle; readonly bytes: number } | undefined
  #followedAtMs = 0
  /**
   * Serializes operations that rename or open the path: otherwise a file opened during a rotation could be the old or the new
   * one.
   */
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(path: string, handle: FileHandle, isRegular: boolean, bytes: number, begunAtMs: number) {
    this.#path = path
    this.#handle = handle
    this.#isRegular = isRegular
    this.#bytes = bytes
    this.#begunAtMs = begunAtMs
  }

  /** Opens the file for appending. Until `rotateBy` it only grows. Throws the file system's error. */
  static async open(path: string, rotation?: RotationOptions): Promise<LogFile> {
    await mkdir(dirname(path), { recursive: true })
    const { handle, stats } = await openToAppend(path)
    // Lines of an earlier hub belong to the time of its last line.
    const begunAtMs = stats.size > 0 ? stats.mtimeMs : (rotation?.now ?? Date.now)()
    const file = new LogFile(path, handle, stats.isFile(), stats.size, begunAtMs)
    if (rotation) file.rotateBy(rotation)
    return file
  }

  /** Rotates the file by these limits from now on. With the interval `none`, and for special files, it only grows. */
  rotateBy(rotation: RotationOptions): void {
    const rotates = rotation.interval !== 'none' && this.#isRegular
    this.#rotation = rotates ? rotation : undefined
    this.#old = rotates ? new OldLogFiles(this.#path, rotation) : undefined
    this.#old?.tidy()
  }

  /** Highest number of bytes for an empty file. */
  get maxBytes(): number {
    return this.#rotation?.maxBytes ?? Number.POSITIVE_INFINITY
  }

  get fd(): number {
    return this.#handle.fd
  }

  /** Counts written bytes. */
  wrote(bytes: number): void {
    this.#bytes += bytes
  }

  /** True when the file must be rotated before this many more bytes. An empty file accepts any number. */
  isDue(bytes: number): boolean {
    const rotation = this.#rotation
    if (!rotation || this.#bytes === 0) return false
    const isFull = this.#bytes + bytes > rotation.maxBytes
    const { interval } = rotation
    if (!isFull && periodOf(interval, this.#begunAtMs) === periodOf(interval, this.#now())) return false
    return performance.now() - this.#failedAtMs >= RETRY_MS
  }

  /**
   * Rotates the file. Never rejects. Nothing may be written meanwhile. Resolves with a description of the problem, at most once
   * an hour.
   */
  rotate(): Promise<string | undefined> {
    return this.#inTurn(() => this.#rotate())
  }

  async #rotate(): Promise<string | undefined> {
    this.#switch()
    if (!this.#old || this.#bytes === 0) return undefined
    try {
      const nowMs = this.#now()
      const aside = await this.#old.nameFor(nowMs)
      await rename(this.#path, aside)
      const { handle, stats } = await openToAppend(this.#path).catch(async error => {
        await rename(aside, this.#path)
        throw error
      })
      const last = this.#handle
      this.#handle = handle
      this.#bytes = stats.size
      this.#begunAtMs = nowMs
      await closed(last)
      this.#old.tidy()
      return undefined
    } catch (error) {
      // The folder is not writable or the disk is full: the same file is still open.
      this.#failedAtMs = performance.now()
      if (this.#failedAtMs - this.#toldAtMs < TELL_MS) return undefined
      this.#toldAtMs = this.#failedAtMs
      return String(error)
    }
  }

  /**
   * Opens the file at its path again, unless it is the open one; `follow` then switches to it. Does not create its
   * folder. On failure resolves with the system's message, and the old file stays in use.
   */
  reopen(): Promise<string | undefined> {
    return this.#inTurn(() => this.#reopen())
  }

  async #reopen(): Promise<string | undefined> {
    try {
      const { handle, stats: there } = await openToAppend(this.#path)
      const own = await (this.#reopened?.handle ?? this.#handle).stat().catch(async error => {
        await closed(handle)
        throw error
      })
      if (isSame(there, own)) {
        await closed(handle)
        return undefined
      }
      const unused = this.#reopened
      this.#reopened = { handle, bytes: there.size }
      await closed(unused?.handle)
      return undefined
    } catch (error) {
      return String(error)
    }
  }

  /**
   * Call it before each write, while no write is running. Switches to a reopened file, and checks once a second in the
   * background whether another program has moved the file away.
   */
  follow(): void {
    this.#switch()
    const nowMs = performance.now()
    if (nowMs - this.#followedAtMs < FOLLOW_MS) return
    this.#followedAtMs = nowMs
    void this.#inTurn(() => this.#reopenWhenMoved()).catch(() => undefined)
  }

  #switch(): void {
    if (!this.#reopened) return
    const old = this.#handle
    this.#handle = this.#reopened.handle
    this.#bytes = this.#reopened.bytes
    this.#begunAtMs = this.#now()
    this.#reopened = undefined
    void closed(old)
  }

  async #reopenWhenMoved(): Promise<void> {
    if (this.#reopened) return
    const [there, own] = await Promise.all([stat(this.#path).catch(() => undefined), this.#handle.stat()])
    if (!there || !isSame(there, own)) await this.#reopen()
  }

  /** Closes the files without waiting for running operations: opening a pipe without a reader can take forever. */
  async close(): Promise<void> {
    await Promise.all([closed(this.#handle), closed(this.#reopened?.handle)])
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }

  #now(): number {
    return (this.#rotation?.now ?? Date.now)()
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

/** Opens a file for appending, and creates it with the mode 0600. Throws the file system's error; nothing is open then. */
async function openToAppend(path: string): Promise<{ readonly handle: FileHandle; readonly stats: Stats }> {
  const handle = await open(path, 'a', 0o600)
  try {
    return { handle, stats: await handle.stat() }
  } catch (error) {
    await closed(handle)
    throw error
  }
}

/** Never rejects: the descriptor is released even when the disk reports an error of an earlier write at this point. */
async function closed(handle: FileHandle | undefined): Promise<void> {
  await handle?.close().catch(() => undefined)
}
