import { severityOf } from 'patchbay/log-kit'
import type { Row } from './files/segment.ts'
import type { TextTerms } from './log-terms.ts'
import { indexOf, type SearchedRecord } from './record-terms.ts'

/**
 * Converts a logged line to a record with its index entries. `readers`: ids, joined by commas. Undefined if the line is not a
 * record.
 */
export function toRow(line: string, readers: string, texts?: TextTerms): Row | undefined {
  try {
    const record = JSON.parse(line) as SearchedRecord
    const at = Date.parse(record.timestamp)
    const level = severityOf(record.level)
    if (Number.isNaN(at) || level === undefined) return undefined
    const ids = readers === '' ? [] : readers.split(',')
    return { at, level, readers, record: line.trimEnd(), ...indexOf(record, ids, texts) }
  } catch {
    return undefined
  }
}
