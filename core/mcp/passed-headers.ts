import type { Scope } from './scope.ts'

/** The headers of a request that some member of the scope wants, by lower-case name; undefined when none wants any. */
export function passedHeaders(headers: Headers, scope: Scope): Readonly<Record<string, string>> | undefined {
  const names = scope.resolved.passthroughHeaders
  if (names.length === 0) return undefined
  const passed: Record<string, string> = {}
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null) passed[name] = value
  }
  return passed
}
