import { createHash } from 'node:crypto'
import { readableName, withoutEnd } from 'patchbay/transport-kit'

const MAX_NAME = 64
const HASH_CHARACTERS = 6

interface Nameable {
  readonly id: string | undefined
  readonly method: string
  readonly path: string
}

/**
 * The names of the tools, in the order of the operations: the operationId, otherwise method and path, as 1 to 64
 * characters `[A-Za-z0-9_-]`, other scripts transliterated. Names depend on other operations only where two would be
 * equal: the one written so in the document keeps it, the others end with a hash of their method and path.
 */
export function toolNames(operations: readonly Nameable[]): string[] {
  const wanted = operations.map(plainName)
  const all = count(wanted.map(({ name }) => name))
  const written = count(wanted.filter(({ exact }) => exact).map(({ name }) => name))
  return operations.map((operation, index) => {
    const { name, exact } = wanted[index] ?? { name: '', exact: false }
    const alone = all.get(name) === 1 || (exact && written.get(name) === 1)
    return alone ? name : withHash(name, operation)
  })
}

function plainName(operation: Nameable): { readonly name: string; readonly exact: boolean } {
  const { id, method, path } = operation
  const legal = readableName(id?.trim() ? id.trim() : `${method}_${pathWords(path)}`)
  const fits = legal !== '' && legal.length <= MAX_NAME
  return { name: fits ? legal : withHash(legal, operation), exact: legal === id }
}

/** The characters of a path that may be in a name, with one `_` between groups. */
function pathWords(path: string): string {
  const words = path.replace(/[^A-Za-z0-9_\u0080-\u{10ffff}-]+/gu, '_').replace(/^_+/, '')
  return withoutEnd(words, '_')
}

function withHash(name: string, { method, path }: Nameable): string {
  const hash = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, HASH_CHARACTERS)
  return `${name.slice(0, MAX_NAME - HASH_CHARACTERS - 1)}_${hash}`
}

function count(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Argument names that models and their interfaces accept: `[A-Za-z0-9_.-]`, 1 to 64 characters, without duplicates. */
export function argumentName(name: string, taken: ReadonlySet<string>): string {
  const words = name.replace(/[^A-Za-z0-9_.\u0080-\u{10ffff}-]+/gu, '_')
  const legal = readableName(words, '.').slice(0, MAX_NAME) || '_'
  let free = legal
  for (let round = 2; taken.has(free); round += 1) free = `${legal.slice(0, MAX_NAME - 4)}_${round}`
  return free
}
