import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isJsonObject, type JsonObject } from 'patchbay/contract'
import { nextTurn } from 'patchbay/plugin-kit'
import { ListBuilder, type TemplateList } from './walk.ts'

const FORMAT = 1
/** Templates that are written at once. */
const BATCH = 500

/** A list as it was read from its source. */
export interface KeptList extends TemplateList {
  readonly readAt: Date
  /** Start of the reading: an incremental source is asked for the changes since then. Absent in files of earlier versions. */
  readonly begunAt?: Date
  /** When it was last read as a whole. */
  readonly wholeAt?: Date
}

/**
 * Stores lists of sources in files of one folder, so that they survive restarts: one line with the description, then one
 * template a line.
 */
export class KeptLists {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Undefined if there is none, or if it is of another place or format. */
  async read(source: string, place: string): Promise<KeptList | undefined> {
    const input = createReadStream(this.#path(source), { encoding: 'utf8' })
    const failed = new Promise<never>((_, reject) => input.once('error', reject))
    try {
      return await Promise.race([readList(source, place, input), failed])
    } catch {
      // Absent, or written by another program: it is read from its source again.
      return undefined
    } finally {
      input.destroy()
    }
  }

  /** Replaces the list as a whole. Throws the file system's error; the old one is then unchanged. */
  async write(source: string, place: string, list: KeptList): Promise<void> {
    const { listed, leftOut, readAt, begunAt, wholeAt } = list
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const temporary = `${this.#path(source)}.tmp`
    try {
      const file = await open(temporary, 'w', 0o600)
      try {
        const head = {
          format: FORMAT,
          place: markOf(place),
          readAt: readAt.toISOString(),
          leftOut,
          templates: listed.length,
          begunAt: begunAt?.toISOString(),
          wholeAt: wholeAt?.toISOString(),
        }
        await file.writeFile(`${JSON.stringify(head)}\n`)
        for (let at = 0; at < listed.length; at += BATCH) {
          const lines = listed.slice(at, at + BATCH).map(({ template }) => `${JSON.stringify(template)}\n`)
          await file.writeFile(lines.join(''))
          await nextTurn()
        }
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, this.#path(source))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  #path(source: string): string {
    return join(this.#folder, `${encodeURIComponent(source)}.jsonl`)
  }
}

async function readList(source: string, place: string, input: NodeJS.ReadableStream): Promise<KeptList | undefined> {
  const builder = new ListBuilder(source)
  let head: ReturnType<typeof headOf>
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (head) await builder.add(JSON.parse(line))
    else {
      head = headOf(JSON.parse(line), place)
      if (!head) return undefined
    }
  }
  // Fewer than were written: the file was cut.
  if (!head || builder.listed.length !== head.templates) return undefined
  const { templates: _, ...list } = head
  return { ...list, listed: builder.listed }
}

/** An address may hold a secret. */
function markOf(place: string): string {
  return createHash('sha256').update(place).digest('hex')
}

function headOf(line: unknown, place: string) {
  if (!isJsonObject(line) || line.format !== FORMAT || line.place !== markOf(place)) return undefined
  const { readAt, leftOut, templates } = line
  const at = new Date(String(readAt))
  if (Number.isNaN(at.getTime()) || typeof leftOut !== 'number' || typeof templates !== 'number') return undefined
  return { readAt: at, leftOut, templates, ...timeOf('begunAt', line), ...timeOf('wholeAt', line) }
}

function timeOf(name: 'begunAt' | 'wholeAt', line: JsonObject): { readonly begunAt?: Date; readonly wholeAt?: Date } {
  const at = new Date(String(line[name]))
  return Number.isNaN(at.getTime()) ? {} : { [name]: at }
}
