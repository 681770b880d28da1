import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readArchive } from '../../bundles/archive.ts'
import { HubError } from '../../contract/errors.ts'
import { quoteName } from '../../domain/names.ts'
import { sandboxUid } from '../sandbox/profile.ts'
import type { Sandbox, SandboxPolicy } from '../sandbox/sandbox.ts'
import type { FolderPlace } from '../sandbox/work-folders.ts'

/** What to unpack, for which server. */
export interface UnpackOrder {
  readonly serverId: string
  readonly confinement: Pick<SandboxPolicy, 'ownerId' | 'ownerNumber'>
  /** SHA-256 of the bundle's file. */
  readonly bundle: string
}

/** Where bundles are kept; undefined: there is none of this hash. */
export type ReadBundle = (sha256: string) => Promise<Buffer | undefined>

interface Running {
  readonly bundle: string
  readonly outcome: Promise<void>
}

/**
 * Unpacks bundles into the folder that a server's sandbox mounts read-only, once for each server: the files belong to
 * the hub, and the server's user can read them. They stay until the server is removed or runs another bundle.
 */
export class BundleUnpacker {
  readonly #sandbox: Sandbox
  readonly #read: ReadBundle
  readonly #running = new Map<string, Running>()
  /** One bundle in memory at a time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(sandbox: Sandbox, read: ReadBundle) {
    this.#sandbox = sandbox
    this.#read = read
  }

  /** Throws `bundle_not_found`, `bundle_invalid`, `storage_unavailable`. */
  async ensure(order: UnpackOrder, finish: () => Promise<void>): Promise<void> {
    if (this.#isRecorded(order)) return
    const running = this.#running.get(order.serverId)
    if (running?.bundle === order.bundle) return running.outcome
    await running?.outcome.catch(() => undefined)
    const outcome = this.#last.then(() => this.#unpack(order, finish))
    this.#last = outcome.catch(() => undefined)
    this.#running.set(order.serverId, { bundle: order.bundle, outcome })
    try {
      await outcome
    } finally {
      this.#running.delete(order.serverId)
    }
  }

  async #unpack(order: UnpackOrder, finish: () => Promise<void>): Promise<void> {
    const place = placeOf(order)
    rmSync(this.#recordFile(order), { force: true })
    const content = await this.#read(order.bundle)
    if (!content) throw new HubError('bundle_not_found', `The bundle ${quoteName(order.bundle)} of the server is gone`)
    await this.#sandbox.packages.empty(place)
    const folder = this.#sandbox.packages.make(place, sandboxUid(order.confinement.ownerNumber))
    await readArchive(content, ({ name, executable }, chunks) => writeOne(folder, name, executable, chunks))
    await finish()
    writeFileSync(this.#recordFile(order), JSON.stringify({ key: keyOf(order) }), { mode: 0o600 })
  }

  #isRecorded(order: UnpackOrder): boolean {
    try {
      const record: unknown = JSON.parse(readFileSync(this.#recordFile(order), 'utf8'))
      const isSame = typeof record === 'object' && record !== null && 'key' in record && record.key === keyOf(order)
      return isSame && existsSync(this.#sandbox.packages.path(placeOf(order)))
    } catch {
      // None, or one that cannot be read: unpacked again.
      return false
    }
  }

  #recordFile(order: UnpackOrder): string {
    return `${this.#sandbox.packages.path(placeOf(order))}.json`
  }
}

function placeOf({ serverId, confinement: { ownerId } }: UnpackOrder): FolderPlace {
  return { ownerId, serverId }
}

function keyOf({ bundle }: UnpackOrder): string {
  return `bundle ${bundle}`
}

/** The name was checked; a file that is there already is never written to. */
async function writeOne(
  folder: string,
  name: string,
  executable: boolean,
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
  const path = join(folder, name)
  await makeFolders(folder, dirname(name))
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of chunks) await file.write(chunk)
    // Whatever the hub's own umask is, the server's user reads it.
    await file.chmod(executable ? 0o755 : 0o644)
  } finally {
    await file.close()
  }
}

async function makeFolders(folder: string, inner: string): Promise<void> {
  if (inner === '.') return
  const made = await mkdir(join(folder, inner), { recursive: true })
  if (made === undefined) return
  let at = folder
  for (const part of inner.split('/')) {
    at = join(at, part)
    chmodSync(at, 0o755)
  }
}
