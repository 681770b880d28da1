/** Fields of a record that may have an index in the files of the history, for queries by hand. */
export const INDEXED_FIELDS = [
  'timestamp',
  'level',
  'server',
  'tool',
  'status',
  'userId',
  'requestId',
  'outcome',
] as const
