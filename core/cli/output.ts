import type { CommandIo } from './io.ts'

// Names and results may come from others: terminal control characters are escaped.
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are meant
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Text without terminal control characters; line feeds and tabs stay. */
export function plain(text: string): string {
  return text.replaceAll(CONTROL, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Indented by two spaces, with a line break at the end. */
export function printJson(io: CommandIo, value: unknown): void {
  io.stdout(`${JSON.stringify(value, null, 2)}\n`)
}

/** Prints aligned columns under their titles, or `none`. */
export function printTable(
  io: CommandIo,
  titles: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): void {
  if (rows.length === 0) return io.stdout('none\n')
  const cells = [titles, ...rows].map(row => row.map(cell => plain(String(cell ?? '')).replaceAll(/[\n\t]/g, ' ')))
  const widths = titles.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0)))
  for (const row of cells) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
    io.stdout(`${line.trimEnd()}\n`)
  }
}
