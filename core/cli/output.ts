import { escapeHidden, visibleText } from '../domain/text/visible-text.ts'
import type { CommandIo } from './io.ts'

/** Returns text without active control characters, and hidden characters shown; line feeds and tabs stay. */
export const plain = visibleText

/** Indented by two spaces, with a line break at the end; hidden characters are escaped, so that the value stays the same. */
export function printJson(io: CommandIo, value: unknown): void {
  io.stdout(`${escapeHidden(JSON.stringify(value, null, 2))}\n`)
}

/** Prints aligned columns under their titles, or `none`. */
export function printTable(
  io: CommandIo,
  titles: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): void {
  if (rows.length === 0) return io.stdout('none\n')
  const cells = [titles, ...rows].map(row => row.map(cell => plain(String(cell ?? '').replaceAll(/[\r\n\t]+/g, ' '))))
  const widths = titles.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0)))
  for (const row of cells) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
    io.stdout(`${line.trimEnd()}\n`)
  }
}
