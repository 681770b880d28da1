import { csvCell } from 'patchbay/console'
import { type LogQuery, type LogRecord, searchLogs } from './api.ts'

/** Most records of one file. */
export const EXPORT_RECORDS = 10_000
/** Members that have a column of their own, in this order; others follow by name. */
const FIRST = ['timestamp', 'level', 'message', 'server', 'tool', 'duration', 'status', 'requestId', 'userId']

/** Reads the results of a query, at most 10,000 records. `isCut`: there are more. Throws ApiError. */
export async function readAll(
  query: LogQuery,
  scope: 'mine' | undefined,
): Promise<{ readonly records: readonly LogRecord[]; readonly isCut: boolean }> {
  const records: LogRecord[] = []
  let cursor: string | undefined
  do {
    const found = await searchLogs(query, { cursor, scope })
    records.push(...found.records)
    cursor = found.nextCursor
  } while (cursor !== undefined && records.length < EXPORT_RECORDS)
  return { records: records.slice(0, EXPORT_RECORDS), isCut: cursor !== undefined || records.length > EXPORT_RECORDS }
}

/** Records as lines of CSV (RFC 4180). */
export function csvOf(records: readonly LogRecord[]): string {
  const names = new Set<string>(FIRST)
  for (const record of records) for (const name of Object.keys(record)) names.add(name)
  const columns = [...FIRST, ...[...names].filter(name => !FIRST.includes(name)).sort()]
  const line = (values: readonly unknown[]): string => `${values.map(cell).join(',')}\r\n`
  return line(columns) + records.map(record => line(columns.map(name => record[name]))).join('')
}

function cell(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return csvCell(value)
  return csvCell(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))
}

/** Gives the browser a file to keep. */
export function download(name: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
