import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, dirname, extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip, type ZlibOptions } from 'node:zlib'
import { FEW_PROCESSORS } from '../domain/log/few-processors.ts'

/** Time at which a new log file is begun; by the UTC clock, weeks begin on Monday. `none`: never, another program does it. */
export type RotationInterval = 'hourly' | 'daily' | 'weekly' | 'none'

/** Interval of the log file's rotation, and treatment of old files. */
export interface RotationOptions {
  readonly interval: RotationInterval
  /** The file is rotated before it exceeds this many bytes; not with interval `none`. */
  readonly maxBytes: number
  /** Number of old files kept; 1 or more. */
  readonly maxFiles: number
  /** True to compress old files with gzip. */
  readonly compress: boolean
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Number of bytes that are compressed at once: 0.3 ms of work, for which a call may have to wait. */
const PIECE_BYTES = 16 * 1024
/** Pause after compressing, as a multiple of the time that it took: calls are answered as quickly as usual. */
const REST = 9
/**
 * With 20,000 records a second on two processors, pieces of 64 KiB with a pause of 9 and writes of 64 KiB made a call in a
 * hundred take 4.0 ms, these and writes of 512 KiB 2.6; without logging it took 2.4.
 */
const REST_OF_FEW = 199
/** The longest rest, in milliseconds. */
const LONGEST_REST_MS = 200
/** Suffix of a file while it is being compressed. */
const PART = '.gz.part'
/** 1970 began on a Thursday. */
const DAYS_SINCE_MONDAY = 3

/** The number of the interval that contains a time. */
export function periodOf(interval: RotationInterval, ms: number): number {
  switch (interval) {
    case 'hourly':
      return Math.floor(ms / HOUR_MS)
    case 'daily':
      return Math.floor(ms / DAY_MS)
    case 'weekly':
      return Math.floor((Math.floor(ms / DAY_MS) + DAYS_SINCE_MONDAY) / 7)
    case 'none':
      return 0
  }
}

/** The old files beside a log file: `hub.log` becomes `hub-20261122T000000.000Z.log`, then `….log.gz`. */
export class OldLogFiles {
  readonly #path: string
  readonly #options: Pick<RotationOptions, 'maxFiles' | 'compress'>
  readonly #pattern: RegExp
  readonly #rest: number
  #work: Promise<void> = Promise.resolve()
  #compressing: Promise<void> | undefined
  /** Name of the file that is being compressed. */
  #part: string | undefined
  /** True when files may have been added since they were listed. */
  #isAsked = false
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(
    path: string,
    options: Pick<RotationOptions, 'maxFiles' | 'compress'>,
    processors = availableParallelism(),
  ) {
    this.#path = path
    this.#options = options
    this.#rest = processors > FEW_PROCESSORS ? REST : REST_OF_FEW
    const [stem, extension] = this.#parts().map(part => part.replace(/[.*+?^$()|[\]{}\\]/g, '\\$&'))
    this.#pattern = new RegExp(`^${stem}-\\d{8}T\\d{6}\\.\\d{3}Z${extension}(?:\\.gz|\\.gz\\.part)?$`)
  }

  /**
   * Returns an unused name for a file that is rotated at this time. It sorts after the previous one, even when the clock was set
   * back, because the first file in order is removed first.
   */
  async nameFor(ms: number): Promise<string> {
    const [stem, extension] = this.#parts()
    for (let at = Math.max(ms, this.#lastMs + 1); ; at += 1) {
      const stamp = new Date(at).toISOString().replaceAll(/[-:]/g, '')
      const name = join(dirname(this.#path), `${stem}-${stamp}${extension}`)
      const taken = await Promise.all([exists(name), exists(`${name}.gz`)])
      if (taken.includes(true)) continue
      this.#lastMs = at
      return name
    }
  }

  /**
   * Removes the oldest files and compresses the others, in the background. Files with other names are left alone. Removal does
   * not wait for compression, which may be slower than new files appear.
   */
  tidy(): void {
    this.#work = this.#work.then(() => this.#removeOldest()).catch(() => undefined)
    if (!this.#options.compress) return
    this.#isAsked = true
    this.#compressing ??= this.#work
      .then(() => this.#compressAll())
      .catch(() => undefined)
      .finally(() => {
        this.#compressing = undefined
      })
  }

  async #removeOldest(): Promise<void> {
    const folder = dirname(this.#path)
    const names = await this.#names()
    // Left by a hub that ended while it compressed; the file itself is still there.
    const left = names.filter(name => name.endsWith('.part') && name !== this.#part)
    // A file that has just been compressed is listed twice for a moment.
    const old = [...new Set(names.filter(name => !name.endsWith('.part')).map(name => name.replace(/\.gz$/, '')))]
    const oldest = old.slice(0, Math.max(0, old.length - this.#options.maxFiles))
    for (const name of [...left, ...oldest.flatMap(each => [each, `${each}.gz`])]) {
      await rm(join(folder, name), { force: true })
    }
  }

  /** The newest first, since they stay longest; each once, since a full disk prevents compression. */
  async #compressAll(): Promise<void> {
    const tried = new Set<string>()
    for (;;) {
      this.#isAsked = false
      const name = (await this.#names()).findLast(each => !/\.(?:gz|part)$/.test(each) && !tried.has(each))
      if (name !== undefined) {
        tried.add(name)
        this.#part = `${name}${PART}`
        await compress(join(dirname(this.#path), name), this.#rest).catch(() => undefined)
        this.#part = undefined
      } else if (!this.#isAsked) return
    }
  }

  /** Old files and parts of compressed ones, the oldest first. */
  async #names(): Promise<string[]> {
    return (await readdir(dirname(this.#path))).filter(name => this.#pattern.test(name)).sort()
  }

  #parts(): [stem: string, extension: string] {
    const extension = extname(this.#path)
    return [basename(this.#path, extension), extension]
  }
}

async function compress(path: string, rest: number): Promise<void> {
  const part = `${path}${PART}`
  const { atime, mtime, size } = await stat(path)
  // With a high-water mark of 1, it requests a piece only after processing the last one.
  const gzip = createGzip({ writableHighWaterMark: 1 } as ZlibOptions)
  await pipeline(paced(path, rest), gzip, createWriteStream(part, { mode: 0o600, flush: true }))
  // A full disk can truncate a write without an error, and the file may have been removed meanwhile.
  if (!(await isWhole(part, size)) || !(await exists(path))) {
    await rm(part, { force: true })
    return
  }
  await chmod(part, 0o600)
  await utimes(part, atime, mtime)
  await rename(part, `${path}.gz`)
  await rm(path)
}

/** Yields the file in pieces, each followed by a pause `rest` times as long as compressing it took. */
async function* paced(path: string, rest: number): AsyncGenerator<Buffer> {
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) {
    const sinceMs = performance.now()
    yield piece as Buffer
    // The consumer requested the next piece, so this one has been compressed.
    const { promise, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, Math.min((performance.now() - sinceMs) * rest, LONGEST_REST_MS)).unref()
    await promise
  }
}

/** The last four bytes of a gzip file are the length of its content. */
async function isWhole(path: string, size: number): Promise<boolean> {
  const { size: packed } = await stat(path)
  if (packed < 18) return false
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(path, { start: packed - 4 })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).readUInt32LE(0) === size % 2 ** 32
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
