import { cutShort } from '../../core/domain/cut-short.ts'

/** Rows for `test.each` whose first value is too long for a name: its beginning, the expected value, and the value. */
export function shortlyNamed<V, E>(rows: readonly (readonly [V, E])[]): [name: string, expected: E, value: V][] {
  return rows.map(([value, expected]) => [cutShort(JSON.stringify(value), 120), expected, value])
}
