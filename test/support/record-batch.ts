import type { LogBatch } from '../../core/features/log-store.ts'
import { RecordBlocks } from '../../core/telemetry/record-blocks.ts'

/** A batch for the history. `readers`: of each record; without them, administrators alone. */
export function batchOf(lines: readonly string[], readers: readonly string[] = []): LogBatch {
  const blocks = new RecordBlocks()
  for (const [index, line] of lines.entries()) blocks.push(line, readers[index] ?? '')
  return blocks.take(lines.length)
}
