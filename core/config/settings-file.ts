import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { codeOf, writeFileAtomically } from './atomic-write.ts'
import type { FileBase } from './file-base.ts'
import { FileWatch } from './file-watch.ts'
import { type Path, setAt } from './jsonc-edit.ts'
import { type EntryName, editGroup, editServer, renameMember } from './settings-edit.ts'
import { readSettingsText, SettingsError, type SettingsText } from './settings-text.ts'
import type { FileAdditions } from './shape/additions.ts'
import type { SettingsState } from './shape/settings.ts'

/** Largest settings file, in bytes: 16 MiB. */
const MOST_BYTES = 16 * 1024 * 1024

/** Options for reading and writing the settings file. */
export interface SettingsFileOptions {
  /** Folder for a copy of the old file before it is overwritten in place. */
  readonly dataDir: string
  /** Program for `"command": "patchbay"` in the file: `process.execPath` with the hub's entry file. */
  readonly runtime: string
  readonly program?: string | undefined
  /** Additions of features and plugins. Default: none. */
  readonly additions?: FileAdditions
  /** Receives sentences for the log. Default: ignored. */
  readonly onWarning?: (message: string) => void
}

/** Sets and removes single values; the rest of the file is unchanged. */
export interface SettingsEdit {
  /** `undefined` removes the value. Missing objects on the path are created. */
  set(path: Path, value: JsonValue | undefined): void
}

/** The settings file: its content, edits by the hub, and edits by others. */
export interface SettingsFile {
  /** Absolute. */
  readonly path: string
  /** The folder that paths in the file are relative to. */
  readonly folder: string
  /** True when edits are rejected with `settings_read_only`. Determined at the start. */
  readonly readOnly: boolean
  /** The last valid content. */
  readonly state: SettingsState
  /** The same as it is written. */
  readonly document: JsonObject
  /**
   * Calls `onChange` with the new state after a valid edit by another program or person, `onRejected` after an invalid one, when
   * the old state stays in effect. May be called once.
   */
  watch(onChange: (state: SettingsState) => void, onRejected: (error: SettingsError) => void): void
  /**
   * Makes one durable edit; `state` is then the new one, and `onChange` is not called for it. Edits are queued. Throws
   * HubError: settings_read_only (also for a file that is invalid now: it is never overwritten), storage_full,
   * validation_failed when the result would be invalid. The file is then unchanged.
   */
  edit(mutator: (edit: SettingsEdit) => void): Promise<void>
  /** Replaces each of these JSON strings everywhere in the file, in one write. Throws as `edit` does. */
  replaceTexts(texts: ReadonlyMap<string, string>): Promise<void>
  /** Changes one server's entry to `body` (flat, as in the API); null removes it. Throws as `edit` does. */
  writeServer(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  writeGroup(owner: string | undefined, name: string, body: JsonObject | null): Promise<void>
  /** Renames one member of a group; its owner's spelling and its other fields are kept. */
  renameMember(group: EntryName, member: EntryName, newName: string): Promise<void>
  dispose(): void
}

/** Throws StartError: settings_json, settings_duplicate, settings_mode, settings_newer. */
export async function openSettingsFile(path: string, options: SettingsFileOptions): Promise<SettingsFile> {
  const absolute = resolve(path)
  const base: FileBase = { folder: dirname(absolute), runtime: options.runtime, program: options.program }
  const { settings, hash } = await load(absolute, base, options)
  return new OpenSettingsFile(absolute, base, options, settings, hash, await isReadOnly(absolute))
}

interface Loaded {
  readonly settings: SettingsText
  readonly hash: string
}

async function load(
  path: string,
  base: FileBase,
  { additions }: Pick<SettingsFileOptions, 'additions'>,
): Promise<Loaded> {
  let bytes: Uint8Array
  try {
    bytes = await readRegularFile(path)
  } catch (error) {
    if (error instanceof SettingsError) throw error
    const problem = codeOf(error) === 'ENOENT' ? 'it does not exist' : `it cannot be read (${codeOf(error)})`
    throw new SettingsError('settings_json', path, problem, undefined, { cause: error })
  }
  return { settings: readSettingsText(bytes, path, base, additions), hash: hashOf(bytes) }
}

/** Throws SettingsError, and the error of the file system. */
async function readRegularFile(path: string): Promise<Uint8Array> {
  // Without O_NONBLOCK, opening a named pipe would block until there is a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new SettingsError('settings_json', path, 'it is no regular file')
    if ((stats.mode & 0o002) !== 0) {
      const problem = `everybody on this machine may write it, and it names commands that the hub runs; chmod o-w ${path}`
      throw new SettingsError('settings_mode', path, problem)
    }
    if (stats.size > MOST_BYTES) {
      const problem = `it has ${stats.size} bytes, and at most ${MOST_BYTES} are read (16 MiB)`
      throw new SettingsError('settings_json', path, problem)
    }
    return await file.readFile()
  } finally {
    await file.close()
  }
}

function hashOf(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex')
}

async function isReadOnly(path: string): Promise<boolean> {
  // Root can write a file without write permissions, but the removed permissions mean that the hub should not.
  if (((await stat(path)).mode & 0o222) === 0) return true
  return access(path, constants.W_OK).then(
    () => false,
    () => true,
  )
}

class OpenSettingsFile implements SettingsFile {
  readonly path: string
  readonly readOnly: boolean
  readonly #base: FileBase
  readonly #options: SettingsFileOptions
  #settings: SettingsText
  #hash: string
  #watch: FileWatch | undefined
  #onChange: (state: SettingsState) => void = () => {}
  #queue: Promise<unknown> = Promise.resolve()
  #warnedInPlace = false
  #rejected = false

  constructor(
    path: string,
    base: FileBase,
    options: SettingsFileOptions,
    settings: SettingsText,
    hash: string,
    readOnly: boolean,
  ) {
    this.path = path
    this.#base = base
    this.#options = options
    this.#settings = settings
    this.#hash = hash
    this.readOnly = readOnly
  }

  get folder(): string {
    return this.#base.folder
  }

  get state(): SettingsState {
    return this.#settings.state
  }

  get document(): JsonObject {
    return this.#settings.document
  }

  watch(onChange: (state: SettingsState) => void, onRejected: (error: SettingsError) => void): void {
    if (this.#watch) throw new Error('The settings file is watched already')
    this.#onChange = onChange
    this.#watch = new FileWatch(this.path, settled => this.#enqueue(() => this.#reread(settled, onRejected)))
  }

  edit(mutator: (edit: SettingsEdit) => void): Promise<void> {
    return this.#write(({ text }) => {
      let edited = text
      mutator({
        set: (path, value) => {
          edited = setAt(edited, path, value)
        },
      })
      return edited
    })
  }

  replaceTexts(texts: ReadonlyMap<string, string>): Promise<void> {
    return this.#write(({ text }) =>
      [...texts].reduce(
        (edited, [old, replacement]) => edited.replaceAll(JSON.stringify(old), JSON.stringify(replacement)),
        text,
      ),
    )
  }

  writeServer(owner: string | undefined, name: string, body: JsonObject | null): Promise<void> {
    return this.#write(settings => editServer(settings, this.#base, owner, name, body))
  }

  writeGroup(owner: string | undefined, name: string, body: JsonObject | null): Promise<void> {
    return this.#write(settings => editGroup(settings, owner, name, body))
  }

  renameMember(group: EntryName, member: EntryName, newName: string): Promise<void> {
    return this.#write(settings => renameMember(settings, group, member, newName))
  }

  dispose(): void {
    this.#watch?.dispose()
    this.#watch = undefined
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => {})
    return result
  }

  #write(change: (settings: SettingsText) => string): Promise<void> {
    return this.#enqueue(async () => {
      if (this.readOnly) throw this.#refused('it is not writable')
      const present = await load(this.path, this.#base, this.#options).catch((error: unknown) => {
        if (error instanceof SettingsError) throw this.#refused(`it is broken now (${error.message})`, error)
        throw error
      })
      if (await isReadOnly(this.path)) throw this.#refused('it is not writable any more')
      const text = this.#changed(present.settings, change)
      // An external edit that the watch has not reported yet is applied together with this one.
      const others = present.hash !== this.#hash
      const settings = text === present.settings.text ? present.settings : this.#checked(text)
      if (settings !== present.settings) await this.#save(text)
      this.#settings = settings
      this.#hash = hashOf(text)
      if (others) this.#onChange(settings.state)
    })
  }

  #changed(settings: SettingsText, change: (settings: SettingsText) => string): string {
    try {
      return change(settings)
    } catch (error) {
      throw this.#refused(error instanceof Error ? error.message : String(error), error)
    }
  }

  #checked(text: string): SettingsText {
    try {
      return readSettingsText(Buffer.from(text), this.path, this.#base, this.#options.additions)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      throw new HubError('validation_failed', `This edit would make the settings file invalid. ${error.message}`, {
        cause: error,
      })
    }
  }

  async #save(text: string): Promise<void> {
    try {
      const outcome = await writeFileAtomically(this.path, text, this.#options.dataDir)
      if (outcome === 'replaced' || this.#warnedInPlace) return
      this.#warnedInPlace = true
      this.#options.onWarning?.(
        `Settings file ${this.path} cannot be replaced (a mounted single file, or a closed folder) and is written in place; a copy of the content before each write is in ${this.#options.dataDir}`,
      )
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOSPC' || code === 'EDQUOT') {
        throw new HubError('storage_full', `Cannot write settings file ${this.path}: the disk is full`, {
          cause: error,
        })
      }
      throw this.#refused(`it cannot be written (${code || 'unknown error'})`, error)
    }
  }

  #refused(why: string, cause?: unknown): HubError {
    return new HubError('settings_read_only', `Cannot change settings file ${this.path}: ${why}`, {
      hint: 'Edit the file by hand, or make it writable to the hub and restart.',
      ...(cause === undefined ? {} : { cause }),
    })
  }

  /** Returns false while the file may be partially written. */
  async #reread(settled: boolean, onRejected: (error: SettingsError) => void): Promise<boolean> {
    if (!this.#watch) return true
    try {
      const { settings, hash } = await load(this.path, this.#base, this.#options)
      // After a rejected edit, restoring the old content is a change again: it clears the error.
      if (hash === this.#hash && !this.#rejected) return true
      this.#rejected = false
      this.#settings = settings
      this.#hash = hash
      this.#onChange(settings.state)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      if (!settled) return false
      this.#rejected = true
      onRejected(error)
    }
    return true
  }
}
