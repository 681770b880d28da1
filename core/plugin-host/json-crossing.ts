import { parseAsWritten } from '../domain/json/exact-json.ts'

interface Carried {
  readonly $json: string
}

/**
 * An MCP message on its way between threads, as text: a number that is kept as it was written is an object which a port would
 * turn into another one.
 */
export function carryJson(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? ({ $json: JSON.stringify(value) } satisfies Carried) : value
}

/** What {@link carryJson} made; anything else is itself. */
export function takeJson(value: unknown): unknown {
  return typeof value === 'object' && value !== null && '$json' in value ? parseAsWritten(String(value.$json)) : value
}
