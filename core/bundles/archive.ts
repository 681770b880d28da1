import { Buffer } from 'node:buffer'
import type { Entry, ZipFile } from 'yauzl'
import { HubError } from '../contract/errors.ts'
import { quoteName } from '../domain/names.ts'
import { checkEntry, EntryNames } from './entry-check.ts'

/** Limits of one bundle; bytes are those that really come out while inflating. */
export const BUNDLE_LIMITS = {
  bytes: 64 * 1024 * 1024,
  entries: 5_000,
  inflatedBytes: 256 * 1024 * 1024,
  /** Inflated bytes for each byte of the file. */
  ratio: 100,
  depth: 32,
} as const

/** A small file may inflate to this whatever the ratio is: text of a few lines compresses well. */
const ALWAYS_BYTES = 1024 * 1024
const SIGNATURE_END = Buffer.from('MCPB_SIG_END')
const SIGNATURE_BEGIN = Buffer.from('MCPB_SIG_V1')

/** One file of a bundle. Folders are implied by the names. */
export interface BundleFile {
  /** Relative, with `/`, in NFC as it was written. */
  readonly name: string
  readonly executable: boolean
}

/** Is called for each file in the archive's order; `content` must be read whole. */
export type VisitFile = (file: BundleFile, content: AsyncIterable<Buffer>) => Promise<void>

/** The zip of a bundle without the signature behind it. */
export function withoutSignature(bundle: Buffer): { readonly zip: Buffer; readonly signed: boolean } {
  if (!bundle.subarray(-SIGNATURE_END.length).equals(SIGNATURE_END)) return { zip: bundle, signed: false }
  const at = bundle.lastIndexOf(SIGNATURE_BEGIN)
  return at < 0 ? { zip: bundle, signed: false } : { zip: bundle.subarray(0, at), signed: true }
}

/**
 * Reads every file of a bundle and checks it: names, links, duplicates, encryption, number, depth and inflated bytes.
 * Memory: one chunk at a time besides the bundle itself. Throws `bundle_invalid`, and what `visit` throws.
 */
export async function readArchive(bundle: Buffer, visit: VisitFile, signal?: AbortSignal): Promise<void> {
  const zip = await opened(withoutSignature(bundle).zip)
  if (zip.entryCount > BUNDLE_LIMITS.entries) {
    throw invalid(`it has ${zip.entryCount} entries, and at most ${BUNDLE_LIMITS.entries} are read`)
  }
  const budget = new Budget(bundle.length)
  const names = new EntryNames()
  const entries = zip.eachEntry()
  for (;;) {
    signal?.throwIfAborted()
    const { done, value: entry } = await zipFault(() => entries.next())
    if (done) break
    const { isFolder, executable } = checkEntry(entry, BUNDLE_LIMITS.depth)
    names.add(entry.fileName, isFolder)
    if (isFolder) continue
    await visit({ name: entry.fileName, executable }, chunksOf(zip, entry, budget))
  }
}

/** What is wrong with a bundle, for the person who sent it. */
export function invalid(why: string): HubError {
  return new HubError('bundle_invalid', `The bundle cannot be used: ${why}`)
}

async function opened(zip: Buffer): Promise<ZipFile> {
  // Loaded with the first bundle: most hubs never see one.
  const { fromBufferPromise } = await import('yauzl')
  return zipFault(() =>
    fromBufferPromise(zip, { lazyEntries: true, validateEntrySizes: true, decodeStrings: true, strictFileNames: true }),
  )
}

async function* chunksOf(zip: ZipFile, entry: Entry, budget: Budget): AsyncGenerator<Buffer> {
  const stream = await zipFault(() => zip.openReadStreamPromise(entry))
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  try {
    for (;;) {
      const { done, value } = await zipFault(() => chunks.next())
      if (done) return
      budget.take(value.length, entry.fileName)
      yield value
    }
  } finally {
    stream.destroy()
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

/** The sizes that a zip names may be lies, and entries may share bytes: the extracted bytes count. */
class Budget {
  readonly #most: number
  #taken = 0

  constructor(archiveBytes: number) {
    const { inflatedBytes, ratio } = BUNDLE_LIMITS
    this.#most = Math.min(inflatedBytes, Math.max(ALWAYS_BYTES, archiveBytes * ratio))
  }

  take(bytes: number, name: string): void {
    this.#taken += bytes
    if (this.#taken <= this.#most) return
    throw invalid(`with ${quoteName(name)} it inflates to more than ${this.#most} bytes`)
  }
}
