import { parseAsWritten } from '../domain/json/exact-json.ts'

interface Carried {
  readonly $json: string
}

/**
 * An MCP message as text, to be sent between threads: a number that keeps its source text is an object that a port
 * would not preserve.
 */
export function carryJson(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? ({ $json: JSON.stringify(value) } satisfies Carried) : value
}

/** Parses the result of {@link carryJson}; any other value is returned unchanged. */
export function takeJson(value: unknown): unknown {
  return typeof value === 'object' && value !== null && '$json' in value ? parseAsWritten(String(value.$json)) : value
}
