import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { firstServer, OPENAPI_LIMITS, OPERATION_METHODS, tooManyOperations } from 'patchbay/transport-kit'
import { CannotBuild, type References } from './references.ts'

/** One operation of the document, including what its path declares for all its operations. */
export interface Operation {
  /** Lower case, as in the document. */
  readonly method: string
  readonly path: string
  readonly id: string | undefined
  readonly tags: readonly string[]
  readonly definition: JsonObject
  /** The path's and the operation's own, which override the path's; references are not resolved yet. */
  readonly parameters: readonly JsonValue[]
  /** An address of its own, which may be relative to the document. */
  readonly server: string | undefined
}

/** Every operation of the document, in its order. Unreadable ones are named in `warnings`. */
export function listOperations(root: JsonObject, references: References, warnings: string[]): readonly Operation[] {
  const paths = isJsonObject(root.paths) ? root.paths : {}
  const found: Operation[] = []
  for (const [path, value] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue
    const item = pathItem(path, value, references, warnings)
    if (!item) continue
    for (const method of OPERATION_METHODS) {
      const definition = item[method] ?? item[method.toUpperCase()]
      if (isJsonObject(definition)) found.push(operation(method, path, item, definition))
    }
    if (found.length > OPENAPI_LIMITS.operations) throw tooManyOperations(found.length)
  }
  return found
}

/** `METHOD /path`, for messages. */
export function shownOperation({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method.toUpperCase()} ${path.length > 200 ? `${path.slice(0, 200)}…` : path}`
}

function pathItem(path: string, value: JsonValue, references: References, warnings: string[]): JsonObject | undefined {
  try {
    if (!path.startsWith('/')) throw new CannotBuild('a path begins with "/"')
    const item = references.follow(value)
    return item && isJsonObject(value) ? { ...item, ...value } : undefined
  } catch (error) {
    if (!(error instanceof CannotBuild)) throw error
    warnings.push(`The path ${JSON.stringify(path.slice(0, 200))} is left out: ${error.message}`)
    return undefined
  }
}

function operation(method: string, path: string, item: JsonObject, definition: JsonObject): Operation {
  const { operationId, tags } = definition
  return {
    method,
    path,
    id: typeof operationId === 'string' && operationId.trim() !== '' ? operationId : undefined,
    tags: Array.isArray(tags) ? tags.filter(tag => typeof tag === 'string') : [],
    definition,
    parameters: [...list(item.parameters), ...list(definition.parameters)],
    server: firstServer(definition) ?? firstServer(item),
  }
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/**
 * The operations that an entry of `include` matches (all when absent or empty), except those that `exclude` matches. An entry is
 * an operationId, a tool's name, a tag, a path or `METHOD /path`; `*` matches any characters.
 */
export function chooseOperations(
  operations: readonly Operation[],
  names: readonly string[],
  { include, exclude }: { readonly include: readonly string[] | undefined; readonly exclude: readonly string[] },
  warnings: string[],
): ReadonlySet<Operation> {
  const labels = operations.map((one, index) => [
    ...(one.id === undefined ? [] : [one.id]),
    names[index] ?? '',
    ...one.tags,
    one.path,
    `${one.method.toUpperCase()} ${one.path}`,
  ])
  const named = (list: readonly string[], field: string): ReadonlySet<Operation> => {
    const chosen = new Set<Operation>()
    for (const entry of list) {
      const fits = matcher(entry)
      const matched = operations.filter((_, index) => labels[index]?.some(fits))
      if (matched.length === 0)
        warnings.push(`"operations.${field}" has ${JSON.stringify(entry.slice(0, 100))}, which names no operation`)
      for (const one of matched) chosen.add(one)
    }
    return chosen
  }
  const included = include === undefined || include.length === 0 ? new Set(operations) : named(include, 'include')
  const excluded = named(exclude, 'exclude')
  return new Set([...included].filter(one => !excluded.has(one)))
}

/** Without a regular expression, since the pattern is the user's and the texts are the document's. */
function matcher(entry: string): (label: string) => boolean {
  const parts = entry.split('*')
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return label => label === entry
  return label => {
    if (!label.startsWith(first) || !label.endsWith(last)) return false
    let at = first.length
    for (const part of rest) {
      const next = label.indexOf(part, at)
      if (next < 0) return false
      at = next + part.length
    }
    return at <= label.length - last.length
  }
}
