/** Spreadsheets interpret a text that begins so as a formula, some also in full width or after a blank. */
const FORMULA = /^\s*[=+\-@\t\r\n＝＋－＠]/

/** One cell of CSV (RFC 4180). A text that a spreadsheet would take for a formula begins with `'`. */
export function csvCell(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
