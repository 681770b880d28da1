import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { HubError } from 'patchbay/contract'
import { nextTurn, quoteName } from 'patchbay/plugin-kit'
import type { Entry, ZipFile } from 'yauzl'
import { checkEntry, EntryNames } from './entry-check.ts'
import { bundleError } from './errors.ts'

/** Limits of one bundle; bytes are counted while inflating. */
export const BUNDLE_LIMITS = {
  bytes: 64 * 1024 * 1024,
  entries: 5_000,
  inflatedBytes: 256 * 1024 * 1024,
  /** Inflated bytes for each byte of the file. */
  ratio: 100,
  depth: 32,
} as const

/** A file may inflate to this size regardless of the ratio: a text of a few lines compresses well. */
const ALWAYS_BYTES = 1024 * 1024
/** Block size of most file systems, in bytes. */
const BLOCK_BYTES = 4_096
/** Longest work on an archive without a turn for others. */
const SLICE_MS = 5
const SIGNATURE_END = Buffer.from('MCPB_SIG_END')
const SIGNATURE_BEGIN = Buffer.from('MCPB_SIG_V1')

/** One file of a bundle. Folders are implied by the names. */
export interface BundleFile {
  /** Relative, with `/`, in NFC as it was written. */
  readonly name: string
  readonly executable: boolean
}

/** Called for each file in the archive's order; `content` must be read completely. */
export type VisitFile = (file: BundleFile, content: AsyncIterable<Buffer>) => Promise<void>

/** The zip of a bundle without the signature behind it. */
export function withoutSignature(bundle: Buffer): { readonly zip: Buffer; readonly signed: boolean } {
  if (!bundle.subarray(-SIGNATURE_END.length).equals(SIGNATURE_END)) return { zip: bundle, signed: false }
  const at = bundle.lastIndexOf(SIGNATURE_BEGIN)
  return at < 0 ? { zip: bundle, signed: false } : { zip: bundle.subarray(0, at), signed: true }
}

/** Limits for reading an archive. */
export interface ReadLimits {
  readonly signal?: AbortSignal
  /** Disk space that its files may take, see {@link diskBytes}; more is refused with `refusal`. Absent: no such limit. */
  readonly allowance?: { readonly bytes: number; refusal(bytes: number): HubError }
}

/**
 * Reads every file of a bundle and checks it: names, links, duplicates, encryption, number, depth, checksums and sizes. The
 * declared sizes are checked before anything is inflated, and the real ones meanwhile. Other work gets a turn every few
 * milliseconds. Memory: one chunk at a time besides the bundle itself. Returns the disk space of its files. Throws
 * `bundle_invalid`, and errors of the allowance and of `visit`.
 */
export async function readArchive(
  bundle: Buffer,
  visit: VisitFile,
  { signal, allowance }: ReadLimits = {},
): Promise<number> {
  const zip = await opened(withoutSignature(bundle).zip)
  if (zip.entryCount > BUNDLE_LIMITS.entries) {
    throw invalid(`it has ${zip.entryCount} entries, and at most ${BUNDLE_LIMITS.entries} are read`)
  }
  const names = new EntryNames()
  const files: { readonly entry: Entry; readonly executable: boolean }[] = []
  const declared = new Budget(bundle.length, allowance)
  const entries = zip.eachEntry()
  for (;;) {
    signal?.throwIfAborted()
    const { done, value: entry } = await zipFault(() => entries.next())
    if (done) break
    const { isFolder, executable } = checkEntry(entry, BUNDLE_LIMITS.depth)
    names.add(entry.fileName, isFolder)
    if (isFolder) continue
    declared.begin(names.folders)
    declared.take(entry.uncompressedSize, entry.fileName)
    files.push({ entry, executable })
  }
  const inflated = new Budget(bundle.length, allowance)
  const turns = new Slices()
  for (const { entry, executable } of files) {
    signal?.throwIfAborted()
    inflated.begin(names.folders)
    await visit({ name: entry.fileName, executable }, chunksOf(zip, entry, inflated, turns))
    await turns.next()
  }
  return inflated.diskBytes
}

/** Error for an invalid bundle, with the reason for the person who sent it. */
export function invalid(why: string): HubError {
  return bundleError('bundle_invalid', `The bundle cannot be used: ${why}`)
}

async function opened(zip: Buffer): Promise<ZipFile> {
  // Loaded with the first bundle: most hubs never see one.
  const { fromBufferPromise } = await import('yauzl')
  return zipFault(() =>
    fromBufferPromise(zip, {
      ...{ lazyEntries: true, autoClose: false, validateEntrySizes: true },
      ...{ decodeStrings: true, strictFileNames: true },
    }),
  )
}

async function* chunksOf(zip: ZipFile, entry: Entry, budget: Budget, turns: Slices): AsyncGenerator<Buffer> {
  const stream = await zipFault(() => zip.openReadStreamPromise(entry))
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let checksum = 0
  try {
    for (;;) {
      const { done, value } = await zipFault(() => chunks.next())
      if (done) break
      budget.take(value.length, entry.fileName)
      // The zip reader does not check checksums.
      checksum = crc32(value, checksum)
      yield value
      await turns.next()
    }
    if (checksum !== entry.crc32) throw invalid(`the checksum of ${quoteName(entry.fileName)} is wrong`)
  } finally {
    stream.destroy()
  }
}

/** Turns for others: chunks that are there already would follow each other without any. */
class Slices {
  #sinceMs = performance.now()

  async next(): Promise<void> {
    if (performance.now() - this.#sinceMs < SLICE_MS) return
    await nextTurn()
    this.#sinceMs = performance.now()
  }
}

/** Errors of the zip reader, which are about the file, as `bundle_invalid`. */
async function zipFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof HubError) throw error
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n')
    throw invalid(`it is not a readable zip file (${line.slice(0, 200)})`)
  }
}

/** The disk space of a file or folder, in bytes: whole blocks, so that many small files count with their real size. */
function diskBytes(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BLOCK_BYTES)) * BLOCK_BYTES
}

/** Counts both declared and inflated sizes: declared ones may be wrong, and entries may share bytes. */
class Budget {
  readonly #most: number
  readonly #allowance: ReadLimits['allowance']
  #taken = 0
  /** Disk space of the files that are whole. */
  #files = 0
  #folders = 0
  /** Bytes of the present file. */
  #file = 0
  #isOpen = false

  constructor(archiveBytes: number, allowance: ReadLimits['allowance']) {
    const { inflatedBytes, ratio } = BUNDLE_LIMITS
    this.#most = Math.min(inflatedBytes, Math.max(ALWAYS_BYTES, archiveBytes * ratio))
    this.#allowance = allowance
  }

  get diskBytes(): number {
    return this.#files + (this.#isOpen ? diskBytes(this.#file) : 0) + this.#folders * BLOCK_BYTES
  }

  /** The next file; `folders`: of the whole archive, so far. */
  begin(folders: number): void {
    if (this.#isOpen) this.#files += diskBytes(this.#file)
    this.#isOpen = true
    this.#file = 0
    this.#folders = folders
    this.#check()
  }

  take(bytes: number, name: string): void {
    this.#taken += bytes
    this.#file += bytes
    if (this.#taken > this.#most) throw invalid(`with ${quoteName(name)} it inflates to more than ${this.#most} bytes`)
    this.#check()
  }

  #check(): void {
    if (this.#allowance && this.diskBytes > this.#allowance.bytes) throw this.#allowance.refusal(this.diskBytes)
  }
}
