import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { StartError } from '../../config/start-error.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { faultWords } from '../../domain/fault-words.ts'
import type { StoredRow } from '../../store/rows/rows.ts'
import type { PassphraseSealed } from '../passphrase.ts'

/** First line of a backup. */
export interface BackupHeader {
  readonly format: 'patchbay-backup'
  /** Version of this format. */
  readonly version: number
  /** The version of the hub. */
  readonly hub: string
  /** The last change of the tables that the database had. */
  readonly schema: string
  /** ISO 8601 UTC. */
  readonly createdAt: string
  readonly database: 'sqlite' | 'postgres'
  /** Ids of the master keys that sealed secrets in it. */
  readonly keys: readonly string[]
  /** The master keys, as JSON of a list of base64url texts, when they were asked for. */
  readonly masterKeys?: PassphraseSealed
}

/** The settings file of the hub. */
export interface BackedUpSettings {
  readonly name: string
  readonly text: string
}

/** A part of a backup, in the order of the file. */
export type BackupPart =
  | { readonly header: BackupHeader }
  | { readonly settings: BackedUpSettings }
  | { readonly table: string; readonly row: StoredRow }

/** The content of a backup. */
export interface BackupContent {
  readonly header: BackupHeader
  readonly settings?: BackedUpSettings
  readonly rows: AsyncIterable<{ readonly table: string; readonly rows: readonly StoredRow[] }>
}

const VERSION = 1
/** Longest line: a settings file of 16 MiB whose every character is escaped. */
const LINE_BYTES = 112 * 1024 * 1024

/**
 * Writes a new file of mode 0600: gzip of JSON lines, the header first, last a line with the number of rows by table and
 * the SHA-256 of all before it. Throws the file system's error; `EEXIST` when there is such a file.
 */
export async function writeBackupFile(path: string, content: BackupContent): Promise<void> {
  const out = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(Readable.from(lines(content)), createGzip(), out)
}

async function* lines({ header, settings, rows }: BackupContent): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const line = (value: JsonValue | object): Buffer => {
    const bytes = Buffer.from(`${JSON.stringify(value)}\n`)
    hash.update(bytes)
    return bytes
  }
  yield line(header)
  if (settings) yield line({ settings })
  const counts: Record<string, number> = {}
  for await (const { table, rows: page } of rows) {
    counts[table] = (counts[table] ?? 0) + page.length
    yield Buffer.concat(page.map(row => line({ [table]: written(row) })))
  }
  yield Buffer.from(`${JSON.stringify({ end: { rows: counts, sha256: hash.digest('hex') } })}\n`)
}

/** Bytes have no form in JSON. */
function written(row: StoredRow): object {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value,
    ]),
  )
}

/**
 * Reads a backup, its header first. What is read may be used once the last part has come: only then the file is whole.
 * Throws StartError: `backup_corrupt` for a file that is none, is cut or was changed, `backup_newer` for one of a later
 * version; the file system's error when it cannot be read.
 */
export async function* readBackupFile(path: string): AsyncGenerator<BackupPart> {
  const hash = createHash('sha256')
  const counts: Record<string, number> = {}
  let number = 0
  let end: JsonObject | undefined
  for await (const bytes of wholeLines(path)) {
    number += 1
    if (end) throw corrupt(`line ${number} comes after the last`)
    const value = parse(bytes, number)
    if (isJsonObject(value.end)) {
      end = value.end
      continue
    }
    const part = number === 1 ? { header: header(value) } : partOf(value, number)
    if ('table' in part) counts[part.table] = (counts[part.table] ?? 0) + 1
    hash.update(bytes).update('\n')
    yield part
  }
  if (!end) throw corrupt('it is cut off')
  if (end.sha256 !== hash.digest('hex')) throw corrupt('its check sum is another one')
  if (!isEqual(end.rows, counts)) throw corrupt('it does not hold as many rows as it says')
}

function header(value: JsonObject): BackupHeader {
  if (value.format !== 'patchbay-backup' || typeof value.version !== 'number' || !Number.isInteger(value.version)) {
    throw corrupt('it is no backup of Patchbay')
  }
  if (value.version > VERSION) {
    throw new StartError(
      'backup_newer',
      `The backup has version ${value.version}, and ${VERSION} is the last known here`,
    )
  }
  const texts = [value.hub, value.schema, value.createdAt, value.database]
  if (!texts.every(text => typeof text === 'string') || !Array.isArray(value.keys)) throw corrupt('line 1 is not valid')
  return value as unknown as BackupHeader
}

function partOf(value: JsonObject, number: number): BackupPart {
  const [[name, content] = ['', null], ...rest] = Object.entries(value)
  if (rest.length > 0 || !isJsonObject(content)) throw corrupt(`line ${number} is not valid`)
  if (name !== 'settings') return { table: name, row: asRow(content, number) }
  if (typeof content.name !== 'string' || typeof content.text !== 'string') throw corrupt(`line ${number} is not valid`)
  return { settings: { name: content.name, text: content.text } }
}

function asRow(content: JsonObject, number: number): StoredRow {
  const entries = Object.entries(content).map(([column, value]) => {
    if (!isJsonObject(value)) return [column, value]
    if (typeof value.base64 !== 'string') throw corrupt(`line ${number} is not valid`)
    return [column, Buffer.from(value.base64, 'base64')]
  })
  return Object.fromEntries(entries)
}

function isEqual(stated: JsonValue | undefined, counts: Readonly<Record<string, number>>): boolean {
  if (!isJsonObject(stated) || Object.keys(stated).length !== Object.keys(counts).length) return false
  return Object.entries(counts).every(([table, rows]) => stated[table] === rows)
}

function parse(line: Buffer, number: number): JsonObject {
  try {
    const value = JSON.parse(line.toString('utf8')) as JsonValue
    if (isJsonObject(value)) return value
  } catch {}
  throw corrupt(`line ${number} is not valid`)
}

/** Yields the lines without their line feeds. Text after the last line feed is no line. */
async function* wholeLines(path: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const chunk of unpacked(path)) {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, at)])
      pieces = []
      bytes = 0
      from = at + 1
    }
    pieces.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > LINE_BYTES) throw corrupt('a line is longer than any of a backup')
  }
  if (bytes > 0) throw corrupt('it is cut off')
}

async function* unpacked(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path)
  const gunzip = createGunzip()
  file.on('error', error => gunzip.destroy(error))
  try {
    for await (const chunk of file.pipe(gunzip)) yield chunk as Buffer
  } catch (error) {
    if (error instanceof StartError) throw error
    if (error instanceof Error && 'syscall' in error) throw error
    throw corrupt(`it cannot be unpacked: ${faultWords(error)}`)
  } finally {
    file.destroy()
  }
}

/** A file that is no whole backup. */
export function corrupt(why: string): StartError {
  return new StartError('backup_corrupt', `The backup cannot be used: ${why}. Nothing was changed`)
}
