import type { HubError } from 'patchbay/contract'
import { hasHidden, nameKey, quoteName } from 'patchbay/plugin-kit'
import type { Entry } from 'yauzl'
import { bundleError } from './errors.ts'

const NAME_BYTES = 255
const PATH_BYTES = 1_024
const TYPE_BITS = 0o170000
const REGULAR = 0o100000
const FOLDER = 0o040000
/** setuid, setgid, sticky. */
const SPECIAL_BITS = 0o7000
const STORED = 0
const DEFLATED = 8
/** Checks one entry of a zip by its metadata. Throws `bundle_invalid`. */
export function checkEntry(entry: Entry, depth: number): { readonly isFolder: boolean; readonly executable: boolean } {
  const { fileName: name } = entry
  const isFolder = name.endsWith('/')
  checkPath(isFolder ? name.slice(0, -1) : name, depth)
  if (entry.isEncrypted()) throw refused(name, 'is encrypted')
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw refused(name, `is compressed by method ${entry.compressionMethod}, which is not read`)
  }
  const mode = entry.externalFileAttributes >>> 16
  const type = mode & TYPE_BITS
  if (type !== 0 && type !== REGULAR && type !== FOLDER) throw refused(name, 'is a link or another special file')
  if ((type === FOLDER) !== isFolder && type !== 0) throw refused(name, 'is a folder by its mode and not by its name')
  if ((mode & SPECIAL_BITS) !== 0) throw refused(name, 'has a special mode (setuid, setgid or sticky)')
  return { isFolder, executable: (mode & 0o111) !== 0 }
}

function checkPath(path: string, depth: number): void {
  const parts = path.split('/')
  const why =
    Buffer.byteLength(path) > PATH_BYTES || parts.some(part => Buffer.byteLength(part) > NAME_BYTES)
      ? 'has a name that is too long'
      : // Zip readers differ in how they decode bytes that are no UTF-8.
        path.includes('\ufffd') || hasHidden(path)
        ? 'has a name with characters that no file should have'
        : parts.length > depth
          ? `lies more than ${depth} folders deep`
          : // The zip reader refuses absolute paths, drives, ".." and backslashes; these are left.
            parts.some(part => part === '' || part === '.' || part === '..')
            ? 'has an empty or relative part in its name'
            : undefined
  if (why) throw refused(path, why)
}

/** The names of a bundle so far: each is one file or one folder wherever it is unpacked. */
export class EntryNames {
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()

  /** Number of folders. */
  get folders(): number {
    return this.#folders.size
  }

  /** Throws `bundle_invalid` for a name that is there already, in any letter case and Unicode form. */
  add(path: string, isFolder: boolean): void {
    const name = isFolder ? path.slice(0, -1) : path
    const key = nameKey(name)
    if (this.#files.has(key) || (!isFolder && this.#folders.has(key))) throw refused(path, 'is there twice')
    for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) {
      const folder = key.slice(0, at)
      if (this.#files.has(folder)) throw refused(path, 'lies below what is a file')
      this.#folders.add(folder)
    }
    if (isFolder) this.#folders.add(key)
    else this.#files.add(key)
  }
}

function refused(name: string, why: string): HubError {
  return bundleError('bundle_invalid', `The bundle cannot be used: its entry ${quoteName(name.slice(0, 200))} ${why}`)
}
