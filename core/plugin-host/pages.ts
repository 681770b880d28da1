import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { visibleName } from '../domain/text/visible-text.ts'
import type { BuiltPage, PageContribution } from '../features/pages.ts'
import { refuseWritableByOthers } from './resolve.ts'

/** A page of a plugin that runs, with its script. */
export interface OpenPage extends Omit<PageContribution, 'module'> {
  readonly plugin: string
  /** SHA-256 of the script, hex. */
  readonly sha256: string
  readonly script: Uint8Array<ArrayBuffer>
}

/** A page as its plugin has contributed it. */
export type HeldPage = Omit<OpenPage, 'plugin'>

/** Longest script, in bytes. */
const MOST_BYTES = 2 * 1024 * 1024
const title = z.string().trim().min(1).max(64).transform(visibleName)
// Names that the standard of custom elements keeps for itself have a dash too, and cannot be defined.
const contribution = z.object({
  path: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'lower-case letters, digits and dashes are wanted'),
  title: z.union([title, z.object({ en: title, zh: title.optional() })]),
  icon: z.string().regex(/^[a-z0-9-]{1,64}$/, 'the name of a lucide icon is wanted'),
  module: z.string().max(4096),
  element: z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$/, 'lower-case letters and digits with a dash are wanted')
    .refine(name => !name.startsWith('pb-') && !name.startsWith('wa-'), 'names with "pb-" and "wa-" are the console’s'),
  access: z.enum(['user', 'admin']),
})

/**
 * Checks a page and reads its script. `entry`: the plugin's entry file; undefined for a bundled plugin, whose files are the
 * hub's own. Throws Error with the reason.
 */
export function readPage(id: string, given: unknown, entry: string | undefined): HeldPage {
  const { data, error } = contribution.safeParse(given)
  if (!data) {
    const [first] = error.issues
    throw new Error(`page "${id}": "${first?.path.join('.')}" is not valid: ${first?.message}`)
  }
  const { module, ...page } = data
  const named = module.startsWith('file:') ? fileURLToPath(module) : module
  if (!isAbsolute(named)) throw new Error(`page "${id}": "module" must be an absolute path, and is "${module}"`)
  const file = realpathSync(named)
  if (entry !== undefined) {
    if (!file.startsWith(`${dirname(entry)}${sep}`))
      throw new Error(`page "${id}": ${named} is not in the plugin's folder, ${dirname(entry)}`)
    refuseWritableByOthers(file, statSync(file))
  }
  const { size } = statSync(file)
  if (size > MOST_BYTES) throw new Error(`page "${id}": ${named} has ${size} bytes; at most ${MOST_BYTES} are served`)
  const script = Uint8Array.from(readFileSync(file))
  return { ...page, title: page.title as PageContribution['title'], script, sha256: digest(script) }
}

/** A page of the console's own, by its id. */
export interface HeldBuiltPage extends BuiltPage {
  readonly id: string
}

/** The pages of one plugin. */
interface PagesOf {
  /** Undefined: it is not bundled. */
  readonly definition: object | undefined
  readonly file: string | undefined
  readonly pages: HeldPage[]
  readonly builtPages: HeldBuiltPage[]
}

/** Keeps a page of a plugin that starts. Throws Error with the reason why it cannot. */
export function holdPage(slot: PagesOf, point: 'page' | 'builtPage', id: string, given: unknown): void {
  if (point === 'builtPage') {
    if (!slot.definition) throw new Error(`page "${id}": only the pages of bundled plugins are built with the console`)
    slot.builtPages.push({ id, access: (given as BuiltPage).access })
    return
  }
  const page = readPage(id, given, slot.file)
  if (slot.pages.some(({ path }) => path === page.path))
    throw new Error(`page "${id}": the plugin has a page "${page.path}" already`)
  slot.pages.push(page)
}

function digest(script: Uint8Array): string {
  return createHash('sha256').update(script).digest('hex')
}
