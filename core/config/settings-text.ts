import { findNodeAtLocation } from 'jsonc-parser'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { nameKey } from '../domain/names.ts'
import { type FileBase, resolveEntry } from './file-base.ts'
import { type JsoncDocument, JsoncError, type Position, positionAt, readJsonc } from './jsonc.ts'
import { type FileAdditions, NO_ADDITIONS } from './shape/additions.ts'
import { DuplicateEntry, readSettings, type SettingsState } from './shape/settings.ts'
import { type StartCode, StartError } from './start-error.ts'

/** The newest value of the file's `version` that this hub reads. A file without it counts as this version. */
export const SETTINGS_VERSION = 1

/** An invalid settings file. At the start it ends the hub; later the old state stays in effect. */
export class SettingsError extends StartError {
  readonly line: number | undefined
  readonly column: number | undefined

  constructor(code: StartCode, path: string, problem: string, position?: Position, options?: { cause: unknown }) {
    const where = position ? `, line ${position.line}, column ${position.column}` : ''
    super(code, `Settings file ${path}${where}: ${problem}`, options)
    this.line = position?.line
    this.column = position?.column
  }
}

/** A settings file: its text, its JSON document, and the hub's reading of it. */
export interface SettingsText {
  readonly text: string
  readonly document: JsonObject
  /** Entries with absolute paths and commands. */
  readonly state: SettingsState
}

/** `additions`: see `readSettings`. Throws SettingsError: settings_json, settings_duplicate, settings_newer. */
export function readSettingsText(
  bytes: Uint8Array,
  path: string,
  base: FileBase,
  additions: FileAdditions = NO_ADDITIONS,
): SettingsText {
  const text = decode(bytes, path)
  const document = parse(text, path)
  if (!isJsonObject(document.value)) {
    const position = positionAt(text, document.root.offset)
    throw new SettingsError('settings_json', path, 'a JSON object is wanted', position)
  }
  refuseNewer(document.value.version, document, path)
  try {
    const state = readSettings(document.value, additions)
    return { text, document: document.value, state: resolveAll(state, base) }
  } catch (error) {
    if (!(error instanceof DuplicateEntry)) throw error
    const node = findNodeAtLocation(document.root, [...error.path])
    const offset = (node?.parent?.type === 'property' ? node.parent : node)?.offset ?? 0
    throw new SettingsError('settings_duplicate', path, error.message, positionAt(text, offset))
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new SettingsError('settings_json', path, 'it is not UTF-8 text', undefined, { cause })
  }
}

function parse(text: string, path: string): JsoncDocument {
  try {
    return readJsonc(text)
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    const code = error.kind === 'duplicate' ? 'settings_duplicate' : 'settings_json'
    throw new SettingsError(code, path, error.message, error)
  }
}

function refuseNewer(version: unknown, document: JsoncDocument, path: string): void {
  if (typeof version !== 'number' || version <= SETTINGS_VERSION) return
  const offset = findNodeAtLocation(document.root, ['version'])?.offset ?? 0
  throw new SettingsError(
    'settings_newer',
    path,
    `it is of version ${version}, and this hub reads up to ${SETTINGS_VERSION}; use a newer hub`,
    positionAt(document.text, offset),
  )
}

function resolveAll(state: SettingsState, base: FileBase): SettingsState {
  const admins = new Set(state.file.users.filter(user => user.role === 'admin').map(user => nameKey(user.name)))
  const servers = state.file.servers.map(server => {
    const ownFolder = server.owner !== undefined && !admins.has(nameKey(server.owner))
    return { ...server, body: resolveEntry(server.body, base, ownFolder) }
  })
  return { ...state, file: { ...state.file, servers } }
}
