import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, chown, lstat, mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { OpenPrograms, StoredProgram } from '../../domain/server/programs.ts'
import type { ProgramFile } from '../../features/programs.ts'
import { sandboxUid } from '../sandbox/profile.ts'
import { type ProgramPlace, programPlace } from '../sandbox/program-folders.ts'
import type { Sandbox, SandboxPolicy } from '../sandbox/sandbox.ts'

/** Time in milliseconds for which an unused copy is kept, such as that of a trial whose process has not started. */
const HOLD_MS = 20_000

/** A program to unpack, and its owner. */
export interface CopyOrder {
  readonly confinement: Pick<SandboxPolicy, 'ownerId' | 'ownerNumber'>
  readonly program: StoredProgram
}

/** Dependencies of the copies. */
export interface CopiesParts {
  readonly sandbox: Pick<Sandbox, 'programs'>
  readonly programs: Pick<OpenPrograms, 'source' | 'folders'>
  /** The copies that enabled servers or running processes use now. */
  readonly used: () => readonly ProgramPlace[]
  readonly log: Pick<PluginLogger, 'warn'>
}

/**
 * Unpacks stored programs into folders that sandboxes mount read-only: one copy for each owner and program, with the owner's user
 * id in the sandbox. Copies that nobody uses are removed; a copy is made again when a server of it starts.
 */
export class ProgramCopies {
  readonly #parts: CopiesParts
  readonly #running = new Map<string, { readonly place: ProgramPlace; readonly outcome: Promise<void> }>()
  /** Copies whose files this process has written or compared with their record. */
  readonly #checked = new Set<string>()
  /** Copies that are kept though no enabled server uses them. */
  readonly #held = new Map<string, ProgramPlace>()
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #tidying: Promise<void> | undefined
  #isDue = false
  #isDisposed = false
  /** One program in memory at a time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: CopiesParts) {
    this.#parts = parts
  }

  /**
   * The copy, existing or new; `finish` completes a new one. After an error nothing of it is left. Throws
   * `program_unavailable`, `storage_unavailable`, and what the program's source and `finish` throw.
   */
  async ensure(order: CopyOrder, finish: () => Promise<void>): Promise<void> {
    const place = placeOf(order)
    this.#hold(place)
    await this.#tidying
    const key = keyOf(place)
    const running = this.#running.get(key)
    if (running) return running.outcome
    if (this.#checked.has(key) && this.#isThere(place)) return
    const outcome = this.#last.then(async () => {
      this.#checked.delete(key)
      if (!(await this.#isWhole(place))) await this.#unpack(order, finish)
      this.#checked.add(key)
    })
    this.#last = outcome.catch(() => undefined)
    this.#running.set(key, { place, outcome })
    try {
      await outcome
    } finally {
      this.#running.delete(key)
      // Its server may have been switched off meanwhile.
      this.tidy()
    }
  }

  /** Removes the copies that nobody uses any more. Never rejects; calls that come meanwhile lead to one more round. */
  tidy(): void {
    if (this.#isDisposed) return
    this.#isDue = true
    this.#tidying ??= Promise.resolve().then(() => this.#tidyAll())
  }

  /** Copies stay as they are from now on. */
  dispose(): void {
    this.#isDisposed = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  async #tidyAll(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false
      const unpacking = [...this.#running.values()].map(({ place }) => place)
      const { sandbox, programs } = this.#parts
      try {
        const kept = [...this.#parts.used(), ...this.#held.values(), ...unpacking]
        await sandbox.programs.keepOnly(kept, programs.folders())
      } catch (error) {
        this.#parts.log.warn('Unpacked programs that nobody uses cannot be removed', { error: String(error) })
      }
    }
    // In the same turn as the last look at `#isDue`, so that no call of `tidy` is lost.
    this.#tidying = undefined
  }

  #hold(place: ProgramPlace): void {
    const key = keyOf(place)
    if (this.#held.has(key) || this.#parts.used().some(one => keyOf(one) === key)) return
    this.#held.set(key, place)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#held.delete(key)
      this.tidy()
    }, HOLD_MS)
    timer.unref()
    this.#timers.add(timer)
  }

  async #unpack(order: CopyOrder, finish: () => Promise<void>): Promise<void> {
    const { sandbox, programs } = this.#parts
    const { program, confinement } = order
    const source = programs.source(program)
    const place = placeOf(order)
    const uid = sandboxUid(confinement.ownerNumber)
    rmSync(this.#recordFile(place), { force: true })
    await sandbox.programs.empty(place)
    try {
      const writer = new CopyWriter(() => sandbox.programs.make(place, uid), uid)
      await source.unpack(confinement.ownerId, program.id, (file, content) => writer.write(file, content))
      await finish()
      // `finish` may have changed files, such as the lock file of a project for uv.
      const files = await sizesOf(sandbox.programs.path(place), writer.written)
      const record: CopyRecord = { program: program.id, files }
      writeFileSync(this.#recordFile(place), JSON.stringify(record), { mode: 0o600 })
    } catch (error) {
      await sandbox.programs.empty(place)
      throw error
    }
  }

  #isThere(place: ProgramPlace): boolean {
    return existsSync(this.#parts.sandbox.programs.path(place)) && existsSync(this.#recordFile(place))
  }

  /**
   * True when every file of a copy is there with its size. A hub that was killed leaves no record; after a loss of power there may
   * be a record of files whose content never reached the disk.
   */
  async #isWhole(place: ProgramPlace): Promise<boolean> {
    try {
      const { program, files } = JSON.parse(readFileSync(this.#recordFile(place), 'utf8')) as CopyRecord
      if (program !== place.serverId) return false
      const folder = this.#parts.sandbox.programs.path(place)
      const found = new Map(
        await sizesOf(
          folder,
          files.map(([name]) => name),
        ),
      )
      return files.every(([name, bytes]) => found.get(name) === bytes)
    } catch {
      // No record, one that cannot be read, or one of an earlier version without files.
      return false
    }
  }

  #recordFile(place: ProgramPlace): string {
    return `${this.#parts.sandbox.programs.path(place)}.json`
  }
}

function placeOf({ confinement: { ownerId }, program }: CopyOrder): ProgramPlace {
  return programPlace(ownerId, program)
}

function keyOf({ folder, ownerId, serverId }: ProgramPlace): string {
  return `${folder}/${ownerId}/${serverId}`
}

/** Record that the hub writes beside a complete copy. */
interface CopyRecord {
  readonly program: string
  readonly files: readonly (readonly [name: string, bytes: number])[]
}

/** The regular files among these. */
async function sizesOf(folder: string, names: readonly string[]): Promise<CopyRecord['files']> {
  const sizes: [name: string, bytes: number][] = []
  for (const name of names) {
    const stats = await lstat(join(folder, name)).catch(() => undefined)
    if (stats?.isFile()) sizes.push([name, stats.size])
  }
  return sizes
}

/** Writes the files of one copy; their names were checked. */
class CopyWriter {
  readonly #makeRoot: () => string
  #root: string | undefined
  readonly #uid: number
  readonly #made = new Set(['.'])
  /** The files that were written. */
  readonly written: string[] = []

  /** `makeRoot` makes the folder of the copy, when there is a first file. */
  constructor(makeRoot: () => string, uid: number) {
    this.#makeRoot = makeRoot
    this.#uid = uid
  }

  /** A file that is there already is never written to. */
  async write({ name, executable }: ProgramFile, content: AsyncIterable<Uint8Array>): Promise<void> {
    this.#root ??= this.#makeRoot()
    await this.#makeFolder(this.#root, dirname(name))
    const file = await open(join(this.#root, name), 'wx', 0o600)
    try {
      for await (const chunk of content) await file.write(chunk)
      await file.chown(this.#uid, this.#uid)
      // Whatever the hub's own umask is, the server's user reads it.
      await file.chmod(executable ? 0o755 : 0o644)
      this.written.push(name)
    } finally {
      await file.close()
    }
  }

  async #makeFolder(root: string, inner: string): Promise<void> {
    if (this.#made.has(inner)) return
    await this.#makeFolder(root, dirname(inner))
    const path = join(root, inner)
    await mkdir(path, { mode: 0o755 })
    await chmod(path, 0o755)
    await chown(path, this.#uid, this.#uid)
    this.#made.add(inner)
  }
}
