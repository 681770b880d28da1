/** A JSON Schema with any members. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** True when a value is an object and not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A step into a value: a name, or a place in a list. */
export type Path = readonly (string | number)[]

/** The JSON pointer of a path: `/filters/0/name`. */
export function pointerOf(path: Path): string {
  return path.map(step => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Value at a path. */
export function valueAt(value: unknown, path: Path): unknown {
  let part = value
  for (const step of path) {
    if (Array.isArray(part)) part = part[Number(step)]
    else if (isObject(part) && Object.hasOwn(part, String(step))) part = part[String(step)]
    else return undefined
  }
  return part
}

/** A copy with another value at a path; undefined takes it out. */
export function withValue(value: unknown, path: Path, next: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return next
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? [...value] : []
    if (next === undefined && rest.length === 0) list.splice(step, 1)
    else list[step] = withValue(list[step], rest, next)
    return list
  }
  // Entries, since a key may be `__proto__`.
  const entries = isObject(value) ? Object.entries(value) : []
  const changed = withValue(entries.find(([key]) => key === step)?.[1], rest, next)
  if (changed === undefined) return Object.fromEntries(entries.filter(([key]) => key !== step))
  if (!entries.some(([key]) => key === step)) return Object.fromEntries([...entries, [step, changed]])
  return Object.fromEntries(entries.map(([key, one]) => [key, key === step ? changed : one]))
}
